//! Fence and quiet (OpenSHMEM section 9.12). Fence orders, quiet completes.
use crate::context::Context;
use crate::error::{Error, Result};
use crate::world::World;
use core::sync::atomic::{Ordering, fence};

/// A full barrier: everything before it is visible to everybody before anything after it.
///
/// On x86-64 a locked instruction, which is several times faster than `mfence` and orders as much for
/// ordinary memory.
#[inline(always)]
pub fn full_barrier() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: adds zero to the top of the stack.
    unsafe {
        core::arch::asm!("lock or dword ptr [rsp], 0", options(nostack));
    }
    #[cfg(not(target_arch = "x86_64"))]
    fence(Ordering::SeqCst);
}

impl World {
    /// Orders puts, atomics, signals and this thread's stores to symmetric memory before those that
    /// follow, for each target PE, on this context.
    #[inline(always)]
    pub fn fence(&self, ctx: &Context) -> Result<()> {
        self.check_alive()?;
        self.settle(ctx);
        self.order(ctx);
        if self.has_devices() { self.flush_device() } else { Ok(()) }
    }

    /// As [`World::fence`], of what the engine has been told, in memory of the host.
    #[inline(always)]
    pub(crate) fn order(&self, ctx: &Context) {
        if !ctx.is_plain() {
            self.transport().fence(ctx.pending());
        }
        fence(Ordering::AcqRel);
    }

    /// Returns when everything issued on this context, and this thread's stores, are complete and visible
    /// to all PEs.
    #[inline(always)]
    pub fn quiet(&self, ctx: &Context) -> Result<()> {
        self.check_alive()?;
        self.settle(ctx);
        self.complete(ctx);
        if self.has_devices() { self.flush_device() } else { Ok(()) }
    }

    /// As [`World::quiet`], of what the engine has been told, in memory of the host.
    #[inline(always)]
    pub(crate) fn complete(&self, ctx: &Context) {
        if !ctx.is_plain() {
            self.transport().quiet(ctx.pending(), None);
        }
        full_barrier();
    }

    /// What kernels have asked the proxy for comes first: it is on the default context.
    #[inline(always)]
    fn settle(&self, ctx: &Context) {
        if ctx.id() == 0 {
            self.proxy().settle();
        }
    }

    /// As [`World::quiet`], for the given PEs of the context's team only. No PEs: returns at once.
    pub fn quiet_pes(&self, ctx: &Context, pes: &[i32]) -> Result<()> {
        self.check_alive()?;
        let targets = pes.iter().map(|&pe| self.world_pe(ctx, pe)).collect::<Result<Vec<usize>>>()?;
        if targets.is_empty() {
            return Ok(());
        }
        self.settle(ctx);
        if !ctx.is_plain() {
            self.transport().quiet(ctx.pending(), Some(&targets));
        }
        full_barrier();
        if self.has_devices() { self.flush_device() } else { Ok(()) }
    }
}

impl Context {
    /// An error for a handle that is no context.
    #[cold]
    pub fn invalid(handle: usize) -> Error {
        let why = "not a context, or one that was destroyed; use CTX_DEFAULT or one from ctx_create";
        Error::BadContext { handle, why }
    }
}

//! What the inline functions of the C headers read: an append-only record.
//!
//! `addr - base < limit` is the only question that an inline function asks about an address; the limit is
//! 0 whenever the library must see the call (not initialised, another transport, a profiling tool).
use crate::world::World;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

/// Largest scalar that an inline function moves: the limit leaves room for it.
pub const SCALAR_ROOM: usize = 16;

/// The record. Fields are only ever added, at the end.
#[repr(C)]
#[derive(Debug)]
pub struct FastPath {
    version: AtomicU32,
    size: AtomicU32,
    limit: AtomicUsize,
    base: AtomicUsize,
    n_pes: AtomicU32,
    me: AtomicU32,
    delta: AtomicPtr<isize>,
    doorbell: AtomicUsize,
}

impl Default for FastPath {
    fn default() -> Self {
        Self::new()
    }
}

impl FastPath {
    /// A record that sends every call to the library.
    pub const fn new() -> FastPath {
        FastPath {
            version: AtomicU32::new(1),
            size: AtomicU32::new(size_of::<FastPath>() as u32),
            limit: AtomicUsize::new(0),
            base: AtomicUsize::new(0),
            n_pes: AtomicU32::new(0),
            me: AtomicU32::new(0),
            delta: AtomicPtr::new(core::ptr::null_mut()),
            doorbell: AtomicUsize::new(0),
        }
    }

    /// Lets inline functions act on `world`'s heap, if its peers are mapped.
    pub fn publish(&self, world: &World) {
        let (base, len) = world.window().heap();
        if !world.is_mapped() || len <= SCALAR_ROOM {
            return;
        }
        self.base.store(base, Ordering::Relaxed);
        self.n_pes.store(world.n_pes() as u32, Ordering::Relaxed);
        self.me.store(world.my_pe() as u32, Ordering::Relaxed);
        self.delta.store(world.window().deltas().as_ptr().cast_mut(), Ordering::Relaxed);
        self.doorbell.store(world.internals().doorbell, Ordering::Relaxed);
        self.limit.store(len - SCALAR_ROOM + 1, Ordering::Release);
    }

    /// Sends every call to the library again.
    pub fn withdraw(&self) {
        self.limit.store(0, Ordering::Release);
    }
}

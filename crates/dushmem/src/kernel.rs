//! Kernels: closures that run once for each thread of a grid, on the CPU.
use crate::error::Result;
use crate::scope::Scope;
use dushmem_backends::emu::closure::{OwnedStream, create_stream, launch_closure};
use dushmem_core::error::Error as Cause;
use dushmem_core::wait::in_fiber;
use std::sync::{Mutex, PoisonError};

pub use dushmem_backends::emu::closure::ThreadCtx;
pub use dushmem_backends::emu::grid::Dim3;

/// The stream of a scope, made with the first launch.
#[derive(Debug, Default)]
pub(crate) struct Kernels(Mutex<Option<OwnedStream>>);

impl Kernels {
    /// Waits until all kernels have run and their closures are gone.
    pub(crate) fn finish(&self) {
        if let Some(stream) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            stream.synchronize();
        }
    }
}

/// # Kernels
impl<'scope> Scope<'scope, '_> {
    /// Launches a kernel: `kernel` runs once for each thread of each block of the grid, concurrently.
    /// Returns at once; kernels of one scope run one after another, and have run at the scope's end. What
    /// they put and what they store is complete then. A panic in a kernel ends the process.
    ///
    /// Kernels capture [`crate::Context`]s and symmetric memory, not the [`crate::World`], whose collectives
    /// are not for them. Threads that wait let other threads and blocks run.
    ///
    /// ```
    /// dushmem::run(3, |world| {
    ///     let (me, n) = (world.my_pe(), world.n_pes());
    ///     let inbox = world.alloc_zeroed::<u64>(64)?;
    ///     let ctx = world.default_context();
    ///     world.scope(|s| {
    ///         let inbox = &inbox;
    ///         s.launch(2, 32, 0, move |t| {
    ///             let i = t.global_x();
    ///             ctx.p(&inbox[i], (1000 * me + i) as u64, (me + 1) % n).unwrap();
    ///         })
    ///     })?;
    ///     world.barrier()?;
    ///     let left = (me + n - 1) % n;
    ///     assert!(inbox.iter().enumerate().all(|(i, cell)| cell.load() == (1000 * left + i) as u64));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), dushmem::Error>(())
    /// ```
    ///
    /// `shared_bytes` is what [`ThreadCtx::shared`] gives each block. Fails for a grid or a block with a side
    /// of 0, more than 1,024 threads a block, and more than 227 KiB of shared memory.
    pub fn launch(
        &'scope self,
        grid: impl Into<Dim3>,
        block: impl Into<Dim3>,
        shared_bytes: usize,
        kernel: impl Fn(&ThreadCtx) + Send + Sync + 'scope,
    ) -> Result<()> {
        let fail = |failure: &dyn std::fmt::Display| {
            self.ctx.engine.fail("launch", Cause::Device(failure.to_string()))
        };
        if in_fiber() {
            return Err(fail(&"a kernel can't launch kernels: launch from the code that opened the scope"));
        }
        let mut stream = self.kernels.0.lock().unwrap_or_else(PoisonError::into_inner);
        let stream = match &mut *stream {
            Some(stream) => stream,
            none => none.insert(create_stream().map_err(|failure| fail(&failure))?),
        };
        let kernel: Box<dyn Fn(&ThreadCtx) + Send + Sync + 'scope> = Box::new(kernel);
        // SAFETY: only the lifetime changes. The scope's end waits for the stream, in which the closure is
        // used and dropped, before anything that is borrowed for the scope can go.
        let kernel: Box<dyn Fn(&ThreadCtx) + Send + Sync + 'static> = unsafe { std::mem::transmute(kernel) };
        launch_closure(stream, grid, block, shared_bytes, kernel).map_err(|failure| fail(&failure))
    }
}

//! Locks that the PEs of a job share.
use crate::error::Result;
use crate::symmetric::Symmetric;
use crate::world::World;
use core::mem::ManuallyDrop;
use core::sync::atomic::{AtomicBool, Ordering};

/// A lock for one PE at a time, given in the order of asking. Not reentrant. Made by [`World::alloc_lock`].
///
/// ```
/// dushmem::run(4, |world| {
///     let lock = world.alloc_lock()?;
///     let total = world.alloc(0u64)?; // the one on PE 0 counts
///     for _ in 0..10 {
///         lock.with(|| {
///             let old = world.g(&total, 0)?;
///             world.p(&total, old + 1, 0)
///         })?;
///     }
///     world.barrier()?;
///     assert_eq!(world.g(&total, 0)?, 40);
///     world.barrier()
/// })?;
/// # Ok::<(), dushmem::Error>(())
/// ```
#[derive(Debug)]
pub struct Lock<'w> {
    word: ManuallyDrop<Symmetric<'w, i64>>,
    held: AtomicBool,
}

impl World {
    /// A new lock, which nobody holds. Collective.
    pub fn alloc_lock(&self) -> Result<Lock<'_>> {
        Ok(Lock { word: ManuallyDrop::new(self.alloc(0i64)?), held: AtomicBool::new(false) })
    }
}

impl Lock<'_> {
    /// Waits for the lock.
    pub fn acquire(&self) -> Result<()> {
        let engine = self.word.engine();
        // SAFETY: a symmetric word that nobody but the lock functions sees.
        let done = unsafe { engine.core.set_lock(self.word.as_ptr()) };
        engine.name("set_lock", done)?;
        self.held.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Takes the lock if it is free. True if so.
    pub fn try_acquire(&self) -> Result<bool> {
        let engine = self.word.engine();
        // SAFETY: as in `acquire`.
        let taken = unsafe { engine.core.test_lock(self.word.as_ptr()) };
        let taken = engine.name("test_lock", taken)?;
        if taken {
            self.held.store(true, Ordering::Relaxed);
        }
        Ok(taken)
    }

    /// Gives the lock to the next PE, after a quiet of the default context. Fails if this PE does not hold it.
    pub fn release(&self) -> Result<()> {
        let engine = self.word.engine();
        // Another thread of this PE may take the lock as soon as it is free.
        let held = self.held.swap(false, Ordering::Relaxed);
        // SAFETY: as in `acquire`.
        let done = unsafe { engine.core.clear_lock(self.word.as_ptr()) };
        engine.name("clear_lock", done).inspect_err(|_| self.held.store(held, Ordering::Relaxed))
    }

    /// Calls `f` with the lock held. Where `f` panics the lock stays held.
    pub fn with<R>(&self, f: impl FnOnce() -> Result<R>) -> Result<R> {
        self.acquire()?;
        let result = f();
        self.release()?;
        result
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        // The engine remembers by its address which lock a PE holds: a held one's memory is never reused.
        if !*self.held.get_mut() {
            // SAFETY: the field is not used again.
            unsafe { ManuallyDrop::drop(&mut self.word) };
        }
    }
}

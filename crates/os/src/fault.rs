//! What must be known about `fork`.
use std::sync::atomic::{AtomicU32, Ordering};

/// Process id, from the kernel.
pub fn pid() -> u32 {
    rustix::process::getpid().as_raw_nonzero().get() as u32
}

/// Remembers which process registered, so that a forked child knows that it is not that process.
#[derive(Debug)]
pub struct Owner(AtomicU32);

impl Owner {
    /// The calling process is the owner.
    pub fn this_process() -> Owner {
        Owner(AtomicU32::new(pid()))
    }

    /// True in a forked child of the owner.
    pub fn is_forked_child(&self) -> bool {
        self.0.load(Ordering::Relaxed) != pid()
    }
}

/// Registers handlers that run before `fork` in the parent, then in the parent, and in the child.
pub fn at_fork(prepare: extern "C" fn(), parent: extern "C" fn(), child: extern "C" fn()) -> bool {
    // SAFETY: the handlers are functions of this library, which is never unloaded.
    unsafe {
        libc::pthread_atfork(Some(prepare_of(prepare)), Some(prepare_of(parent)), Some(prepare_of(child)))
            == 0
    }
}

fn prepare_of(f: extern "C" fn()) -> unsafe extern "C" fn() {
    f
}

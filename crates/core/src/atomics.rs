//! Atomics and sleeping, replaced by loom's under `--cfg loom` so that the protocols in
//! [`crate::sync`] and [`crate::wait`] can be checked in every interleaving.
#[cfg(not(loom))]
pub use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering, fence};
#[cfg(loom)]
pub use loom::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering, fence};

/// loom takes sequentially consistent accesses for acquire and release only: this says the rest.
#[inline(always)]
pub fn fence_for_loom() {
    #[cfg(loom)]
    fence(Ordering::SeqCst);
}

/// Sleeping on a 32-bit word.
#[cfg(not(loom))]
pub mod park {
    pub use dushmem_os::futex::{order_all_cpus, wait, wake_all};
}

/// Sleeping on a word under loom: a lost wake-up is a deadlock that loom reports.
#[cfg(loom)]
pub mod park {
    use super::{AtomicU32, Ordering, fence};
    use loom::sync::{Condvar, Mutex};
    use std::time::Duration;

    loom::lazy_static! {
        static ref QUEUE: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
    }

    /// Sleeps while `*word == expected`, without a time limit.
    pub fn wait(word: &AtomicU32, expected: u32, _timeout: Option<Duration>) {
        let guard = QUEUE.0.lock().unwrap();
        if word.load(Ordering::SeqCst) == expected {
            drop(QUEUE.1.wait(guard).unwrap());
        }
    }

    /// Wakes everybody that sleeps on any word.
    pub fn wake_all(_word: &AtomicU32) {
        let _guard = QUEUE.0.lock().unwrap();
        QUEUE.1.notify_all();
    }

    /// loom has no asymmetric barrier; the writer's side takes the other half (`wait::Doorbell::ring`).
    pub fn order_all_cpus() -> bool {
        fence(Ordering::SeqCst);
        true
    }
}

//! The barrier of all blocks of a cooperative launch.
use crate::device;
use dushmem_core::job::WaitRecord;
use dushmem_core::wait::wait_for;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};

/// Blocks that have come, and how often all have.
#[derive(Debug, Default)]
pub(crate) struct GridBarrier {
    here: AtomicU64,
    rounds: AtomicU64,
    end: Mutex<()>,
    ended: Condvar,
}

impl GridBarrier {
    /// Has those who wait look again.
    pub(crate) fn wake(&self) {
        drop(self.end.lock());
        self.ended.notify_all();
    }

    /// Returns when `blocks` blocks have called it, or the grid has failed.
    pub(crate) fn meet(&self, blocks: u64, failed: &AtomicBool) {
        let round = self.rounds.load(Ordering::Acquire);
        if self.here.fetch_add(1, Ordering::AcqRel) + 1 == blocks {
            self.here.store(0, Ordering::Relaxed);
            self.rounds.store(round + 1, Ordering::Release);
            return self.wake();
        }
        let over = || self.rounds.load(Ordering::Acquire) != round || failed.load(Ordering::Acquire);
        wait_for(
            device::policy(),
            None,
            WaitRecord::default,
            || over().then_some(()),
            |_nap| {
                let mut guard = self.end.lock().unwrap_or_else(|e| e.into_inner());
                while !over() {
                    guard = self.ended.wait(guard).unwrap_or_else(|e| e.into_inner());
                }
            },
        );
    }
}

//! Whether lanes of a warp that have not come to a meeting without a mask will come by themselves.
//!
//! On a device the lanes that are at the same place go on together, while others are elsewhere in the program. An OS
//! thread that has not come may just as well wait for a CPU. So time alone says nothing: a lane counts as elsewhere
//! when it waits for others, or has used a CPU for a while and has not come.
use super::Team;
use crate::board::What;
use crate::warp::MAX_LANES;
use dushmem_os::clock::{ThreadClock, now};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// CPU time that a lane uses on its way from one place of the program to the next, at most.
const WORK: Duration = Duration::from_millis(40);
/// A lane that has been in the same wait for so long is not just late to leave it.
const STUCK: Duration = Duration::from_secs(1);

/// What the lanes of a warp had done when somebody began to be impatient.
pub(super) struct Mark {
    since: Instant,
    used: [Duration; MAX_LANES],
    what: [u32; MAX_LANES],
}

impl Team {
    fn lanes_of(&self, rank: u32, threads: u32, width: u32) -> std::ops::Range<u32> {
        let first = rank / width * width;
        first..(first + width).min(threads)
    }

    fn seen(&self, lane: u32) -> (Duration, u32) {
        let clock = self.clocks[lane as usize].get().map_or(Duration::ZERO, ThreadClock::read);
        (clock, self.board.slots[lane as usize].what.load(Relaxed))
    }

    /// Looks at the warp of thread `rank` of a block of so many threads.
    pub(super) fn mark(&self, rank: u32, threads: u32, width: u32) -> Mark {
        let mut mark = Mark { since: now(), used: [Duration::ZERO; MAX_LANES], what: [0; MAX_LANES] };
        for (i, lane) in self.lanes_of(rank, threads, width).enumerate() {
            (mark.used[i], mark.what[i]) = self.seen(lane);
        }
        mark
    }

    /// Waits that began after the mark count from now on.
    pub(super) fn renew(&self, mark: &mut Mark, rank: u32, threads: u32, width: u32) {
        if mark.since.elapsed() > STUCK {
            let now = self.mark(rank, threads, width);
            (mark.since, mark.what) = (now.since, now.what);
        }
    }

    /// Whether all lanes of the warp that are not in `here`, those that have returned or wait for others of the block,
    /// are elsewhere.
    pub(super) fn are_elsewhere(&self, mark: &Mark, rank: u32, threads: u32, width: u32, here: u64) -> bool {
        self.lanes_of(rank, threads, width).enumerate().all(|(i, lane)| {
            let (used, what) = self.seen(lane);
            let waits = ![What::NOTHING, What::SYNC_THREADS, What::SYNC_WARP].contains(&What(what))
                && what == mark.what[i];
            here & 1 << i != 0
                || used >= mark.used[i] + WORK
                || waits && (used > mark.used[i] || mark.since.elapsed() >= STUCK)
        })
    }
}

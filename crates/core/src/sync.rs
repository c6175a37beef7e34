//! Counted synchronisation of the members of a team on one node.
use crate::atomics::{AtomicU32, AtomicU64, Ordering, park};
use crate::job::{WaitRecord, WaitSlot};
use crate::wait::{SpinPolicy, wait_for};

/// One cache line to arrive at, one to be released by. All-zero bytes are the initial state.
///
/// Members arrive by one addition, which counts them and sums up their *tags* (which call, which size):
/// the last one sees whether all tags were the same, releases the others and wakes those that sleep.
/// Epochs count the synchronisations, so that consecutive ones need no reset in between.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct SyncLine {
    arrived: AtomicU64,
    _other_line: [u64; 7],
    released: AtomicU32,
    sleepers: AtomicU32,
    differ: [AtomicU32; 2],
    _rest: [u64; 6],
}

/// The upper 16 bits count arrivals, the lower 48 sum up the tags of at most 2^16 members.
const COUNT_SHIFT: u32 = 48;
const SUM_MASK: u64 = (1 << COUNT_SHIFT) - 1;

/// What a member adds to a word at which all arrive.
#[inline(always)]
pub(crate) const fn arrival(tag: u32) -> u64 {
    (1 << COUNT_SHIFT) | tag as u64
}

/// How many have arrived at a word that holds `sum`.
#[inline(always)]
pub(crate) const fn arrived(sum: u64) -> u64 {
    sum >> COUNT_SHIFT
}

/// Whether all `members`, who have arrived, came with `tag`.
#[inline(always)]
pub(crate) const fn all_with(sum: u64, members: u64, tag: u32) -> bool {
    sum & SUM_MASK == members * tag as u64
}

/// What a synchronisation found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Agreement {
    /// All members made the same call.
    Same,
    /// They did not: every member is told.
    Differ,
}

impl Default for SyncLine {
    fn default() -> Self {
        Self::new()
    }
}

impl SyncLine {
    /// A line at which nobody has arrived.
    pub fn new() -> SyncLine {
        SyncLine {
            arrived: AtomicU64::new(0),
            _other_line: [0; 7],
            released: AtomicU32::new(0),
            sleepers: AtomicU32::new(0),
            differ: [AtomicU32::new(0), AtomicU32::new(0)],
            _rest: [0; 6],
        }
    }

    /// Arrives as one of `members` (at most 65,535). `epoch` is the number of this synchronisation on
    /// this line: 1, 2, 3, ... Acquires and releases: what any member wrote before it arrived is visible
    /// to each member that has waited.
    #[inline]
    pub fn arrive(&self, members: u32, epoch: u32, tag: u32) {
        let mine = arrival(tag);
        let sum = self.arrived.fetch_add(mine, Ordering::AcqRel).wrapping_add(mine);
        if arrived(sum) != u64::from(members) {
            return;
        }
        let same = all_with(sum, members.into(), tag);
        // Two flags in turn: this one is read again only by members that have all arrived since.
        // They hold the epoch: a member of a destroyed team may look late, when others use the line again.
        self.differ[epoch as usize % 2].store(if same { 0 } else { epoch }, Ordering::Relaxed);
        self.arrived.store(0, Ordering::Relaxed);
        // Sequentially consistent, as is the sleepers' side: either the sleeper is seen here, or it sees
        // the release before it sleeps.
        self.released.swap(epoch, Ordering::SeqCst);
        crate::atomics::fence_for_loom();
        if self.sleepers.load(Ordering::SeqCst) != 0 {
            park::wake_all(&self.released);
        }
    }

    /// True once all members have arrived at synchronisation `epoch`.
    #[inline]
    pub fn is_released(&self, epoch: u32) -> bool {
        self.released.load(Ordering::Acquire).wrapping_sub(epoch) as i32 >= 0
    }

    /// Number of the last synchronisation that has ended.
    pub fn released_epoch(&self) -> u32 {
        self.released.load(Ordering::Acquire)
    }

    /// Waits until all members have arrived.
    #[inline]
    pub fn wait(
        &self,
        epoch: u32,
        policy: &SpinPolicy,
        slot: Option<&WaitSlot>,
        record: impl Fn() -> WaitRecord,
    ) -> Agreement {
        wait_for(policy, slot, record, || self.is_released(epoch).then_some(()), |_nap| self.sleep(epoch));
        let differ = self.differ[epoch as usize % 2].load(Ordering::Relaxed);
        if differ == epoch && epoch != 0 { Agreement::Differ } else { Agreement::Same }
    }

    /// Sleeps until released: the releaser always wakes those that it can see, so no time limit is needed.
    fn sleep(&self, epoch: u32) {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        crate::atomics::fence_for_loom();
        let seen = self.released.load(Ordering::SeqCst);
        if seen.wrapping_sub(epoch) as i32 >= 0 {
            self.sleepers.fetch_sub(1, Ordering::SeqCst);
            return;
        }
        // In a fiber whose siblings all wait, somebody else of this very thread may have to run again.
        let limit = crate::wait::in_fiber().then_some(std::time::Duration::from_millis(1));
        park::wait(&self.released, seen, limit);
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Condenses what a call is (its kind, sizes, root) to a tag that members compare.
pub fn tag(parts: &[u64]) -> u32 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for part in parts {
        hash = (hash ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^= hash >> 29;
    }
    (hash ^ (hash >> 32)) as u32
}

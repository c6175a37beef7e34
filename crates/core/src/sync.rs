//! Counted synchronisation of the members of a team on one node.
use crate::atomics::{AtomicU32, AtomicU64, Ordering, park};
use crate::job::{WaitRecord, WaitSlot};
use crate::wait::{SpinPolicy, wait_for};
use std::time::Duration;

/// Synchronisations that a member may have arrived at since the last one that all have: some don't wait for all.
pub const AHEAD: u32 = if cfg!(loom) { 2 } else { 16 };
/// A member that is as far ahead sleeps until the others have caught up with so many at once.
const ROUND: u32 = AHEAD / 2;

/// Cache lines to arrive at, one to be released by. All-zero bytes are the initial state.
///
/// Members arrive by one addition, which counts them and sums up their *tags* (which call, which size):
/// the last one sees whether all tags were the same, releases the others and wakes those that sleep.
/// Epochs count the synchronisations, so that consecutive ones need no reset in between.
///
/// A member that need not wait for all arrives and goes on, at most to epoch [`AHEAD`] behind the last one that is released
/// ([`SyncLine::has_room`]). Each epoch has all arrivals before the next one can, so releases come in order.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct SyncLine {
    arrived: [AtomicU64; AHEAD as usize],
    released: AtomicU32,
    sleepers: AtomicU32,
    /// Epochs that were found to differ, each with [`FOUND`].
    differ: [AtomicU64; 2],
    /// Members that went on were not told that an epoch differed: the next that all wait for says so.
    untold: AtomicU32,
    /// What those sleep on that are too far ahead.
    room: AtomicU32,
    room_sleepers: AtomicU32,
    _rest: [u32; 7],
}

/// The upper 16 bits count arrivals, the lower 48 sum up the tags of at most 2^16 members.
const COUNT_SHIFT: u32 = 48;
const SUM_MASK: u64 = (1 << COUNT_SHIFT) - 1;

/// Above the number of an epoch, which may be 0 after 2^32.
const FOUND: u64 = 1 << 32;

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
            arrived: core::array::from_fn(|_| AtomicU64::new(0)),
            released: AtomicU32::new(0),
            sleepers: AtomicU32::new(0),
            differ: [AtomicU64::new(0), AtomicU64::new(0)],
            untold: AtomicU32::new(0),
            room: AtomicU32::new(0),
            room_sleepers: AtomicU32::new(0),
            _rest: [0; 7],
        }
    }

    /// Arrives as one of `members` (at most 65,535). `epoch` is the number of this synchronisation on
    /// this line: 1, 2, 3, ... Acquires and releases: what any member wrote before it arrived is visible
    /// to each member that has waited.
    #[inline]
    pub fn arrive(&self, members: u32, epoch: u32, tag: u32) {
        match self.count(members, epoch, tag) {
            None => {}
            Some(true) => self.release(epoch),
            Some(false) => self.release_differing(epoch, false),
        }
    }

    /// Counts the arrival. The last one learns whether all came with the same tag; it has to release the others.
    #[inline]
    pub fn count(&self, members: u32, epoch: u32, tag: u32) -> Option<bool> {
        let mine = arrival(tag);
        let word = &self.arrived[(epoch % AHEAD) as usize];
        let sum = word.fetch_add(mine, Ordering::AcqRel).wrapping_add(mine);
        if arrived(sum) != u64::from(members) {
            return None;
        }
        word.store(0, Ordering::Relaxed);
        Some(all_with(sum, members.into(), tag))
    }

    /// Releases the members, who all came for the same and wait for all.
    #[inline]
    pub fn release(&self, epoch: u32) {
        // Only the last to arrive at an epoch writes this, and before it arrives at the next one.
        let untold = self.untold.load(Ordering::Relaxed) != 0;
        if untold {
            self.untold.store(0, Ordering::Relaxed);
        }
        self.release_all(epoch, untold);
    }

    /// Releases the members of an epoch that differs. `went_on`: some of them don't wait for all, and are told by the
    /// next epoch that all wait for.
    #[cold]
    pub fn release_differing(&self, epoch: u32, went_on: bool) {
        self.untold.store(u32::from(went_on), Ordering::Relaxed);
        self.release_all(epoch, true);
        // Who is ahead may sleep for an epoch that would have been released otherwise.
        self.make_room();
    }

    #[inline]
    fn release_all(&self, epoch: u32, differ: bool) {
        // Two flags in turn: this one is read again only by members that have all arrived since.
        // They hold the epoch: a member of a destroyed team may look late, when others use the line again.
        self.differ[epoch as usize % 2]
            .store(if differ { FOUND | u64::from(epoch) } else { 0 }, Ordering::Relaxed);
        // Sequentially consistent, as is the sleepers' side: either the sleeper is seen here, or it sees
        // the release before it sleeps.
        self.released.swap(epoch, Ordering::SeqCst);
        crate::atomics::fence_for_loom();
        if self.sleepers.load(Ordering::SeqCst) != 0 {
            park::wake_all(&self.released);
        }
    }

    /// Ends an epoch in which all came for the same and nobody waits for all: only those who are too far ahead wait for
    /// it, and one in so many of them.
    #[inline]
    pub fn release_ahead(&self, epoch: u32) {
        self.differ[epoch as usize % 2].store(0, Ordering::Relaxed);
        if !epoch.is_multiple_of(ROUND) {
            return self.released.store(epoch, Ordering::Release);
        }
        self.released.swap(epoch, Ordering::SeqCst);
        crate::atomics::fence_for_loom();
        if self.room_sleepers.load(Ordering::SeqCst) != 0 {
            self.make_room();
        }
    }

    #[cold]
    fn make_room(&self) {
        self.room.fetch_add(1, Ordering::SeqCst);
        park::wake_all(&self.room);
    }

    /// True once all members have arrived at synchronisation `epoch`.
    #[inline]
    pub fn is_released(&self, epoch: u32) -> bool {
        self.released.load(Ordering::Acquire).wrapping_sub(epoch) as i32 >= 0
    }

    /// How many have arrived at an epoch that not all have.
    pub fn arrived_at(&self, epoch: u32) -> u64 {
        arrived(self.arrived[(epoch % AHEAD) as usize].load(Ordering::Relaxed))
    }

    /// Of a line that is seen as words: the synchronisation at which some have arrived, but not all, and how many have.
    pub(crate) fn begun(words: &[u64]) -> Option<(u32, u64)> {
        let released = *words.get(core::mem::offset_of!(SyncLine, released) / 8)? as u32;
        let epoch = released.wrapping_add(1);
        let came = arrived(*words.get((epoch % AHEAD) as usize)?);
        (came != 0).then_some((epoch, came))
    }

    /// Number of the last synchronisation that has ended.
    pub fn released_epoch(&self) -> u32 {
        self.released.load(Ordering::Acquire)
    }

    /// Whether a member may arrive at `epoch`, where `released` have been: all have left the epoch whose place it takes,
    /// and what was written for it is read.
    #[inline]
    pub fn has_room(epoch: u32, released: u32) -> bool {
        epoch.wrapping_sub(released) < AHEAD
    }

    /// Waits until a member may arrive at `epoch`, and gives what has been released by then. The slowest member never
    /// waits here.
    pub fn wait_for_room(
        &self,
        epoch: u32,
        policy: &SpinPolicy,
        slot: Option<&WaitSlot>,
        record: impl Fn() -> WaitRecord,
    ) -> u32 {
        let released = self.released_epoch();
        if Self::has_room(epoch, released) {
            return released;
        }
        // Not for the first place that gets free, or each call would cost a sleep.
        let until = epoch.wrapping_sub(AHEAD - 1 - ROUND / 2).wrapping_add(ROUND - 1) & !(ROUND - 1);
        let there = || self.is_released(until).then_some(());
        let waits = || (self.released.load(Ordering::SeqCst).wrapping_sub(until) as i32) < 0;
        wait_for(policy, slot, record, there, |_nap| sleep_on(&self.room, &self.room_sleepers, |_| waits()));
        self.released_epoch()
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
        self.found(epoch)
    }

    /// What the last to arrive at `epoch`, which is released, has found.
    #[inline]
    pub fn found(&self, epoch: u32) -> Agreement {
        let differ = self.differ[epoch as usize % 2].load(Ordering::Relaxed);
        if differ == FOUND | u64::from(epoch) { Agreement::Differ } else { Agreement::Same }
    }

    /// Whether all members have been told of the epoch at which this one has just been told that it differs.
    pub fn all_are_told(&self) -> bool {
        self.untold.load(Ordering::Relaxed) == 0
    }

    /// Sleeps until released, or for a while: the releaser always wakes those that it can see.
    fn sleep(&self, epoch: u32) {
        sleep_on(&self.released, &self.sleepers, |seen| (seen.wrapping_sub(epoch) as i32) < 0);
    }
}

/// Sleeps on a word if, as it is once the sleeper can be seen, there is something to wait for. Who ends the wait changes the
/// word, and looks for sleepers behind that.
pub(crate) fn sleep_on(word: &AtomicU32, sleepers: &AtomicU32, waits: impl FnOnce(u32) -> bool) {
    sleepers.fetch_add(1, Ordering::SeqCst);
    crate::atomics::fence_for_loom();
    let seen = word.load(Ordering::SeqCst);
    if waits(seen) {
        // In a fiber whose siblings all wait, somebody else of this very thread may have to run again. Others look now and then,
        // so that who reads their wait's record knows that they are there.
        let limit = if crate::wait::in_fiber() { Duration::from_millis(1) } else { WaitSlot::LOOK };
        park::wait(word, seen, Some(limit));
    }
    sleepers.fetch_sub(1, Ordering::SeqCst);
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

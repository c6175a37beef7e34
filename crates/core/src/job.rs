//! The first part of a node's memory: what the PEs of a job tell each other before anything else exists,
//! and what the launcher reads about them.
//!
//! [`JobPage`] is a header and a [`PeCard`] for each PE at the beginning of the memfd. All-zero bytes are
//! the initial state, so whoever creates the memfd only has to size it.
use crate::atomics::{AtomicU32, AtomicU64, Ordering};
use crate::bootstrap::Bootstrap;
use crate::error::{Call, Error};
pub use crate::record::{
    IN_KERNEL, IN_STREAM, Kind, Made, Members, Noted, Place, WaitRecord, WaitSlot, Wanted,
};
use crate::sync::{Agreement, SyncLine};
use crate::wait::SpinPolicy;
use dushmem_os::memory::{self, HUGE, Mapping};
use std::cell::Cell;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

/// Bytes that one PE contributes to one exchange.
pub const BLOB: usize = 256;
/// Waits that one PE can have noted at the same time; further ones go unnoted.
pub const WAIT_SLOTS: usize = 8;

/// The slot in which the calling thread notes what it waits for.
pub fn wait_slot(boot: &dyn Bootstrap) -> &WaitSlot {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static INDEX: usize = THREADS.fetch_add(1, Ordering::Relaxed);
    }
    let (_, page) = boot.node_memory();
    &page.card(boot.place().0).waits()[INDEX.with(|&index| index) % WAIT_SLOTS]
}

/// How far a PE has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum PeState {
    /// Has not called init.
    Started = 0,
    /// Between init and finalize.
    Joined = 1,
    /// Has finalized as often as it has initialised.
    Finalized = 2,
}

/// So long PEs wait for the line of one that made a mistake.
const PATIENCE: Duration = Duration::from_secs(5);

/// Set in the place of a line that is owed.
const OWED: u64 = 1 << 63;

/// What stands for a line about the call at `place` ([`Error::found_at`]), or at one that is not known.
fn owed(place: Option<u64>) -> u64 {
    place.map_or(u64::MAX, |place| OWED | place)
}

thread_local! {
    /// The calling thread owes a line, which is noted at this place of its card: see [`JobPage::owe`].
    static OWES: Cell<Option<usize>> = const { Cell::new(None) };
}

/// One PE's part of the job page.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct PeCard {
    state: AtomicU32,
    pid: AtomicU32,
    /// Where the PE ran when a wait of it last took long: number of the CPU plus one.
    cpu: AtomicU32,
    _rest: u32,
    /// Calls of threads of the PE that others are told of as having wrong arguments, and whose own line is not out yet:
    /// [`owed`], or 0. Further ones go unnoted.
    owing: [AtomicU64; WAIT_SLOTS],
    /// Where in the file the PE's team slots are, and how many.
    team_slots_at: AtomicU64,
    team_slots: AtomicU64,
    waits: [WaitSlot; WAIT_SLOTS],
    requests: WaitSlot,
    blob: [AtomicU64; 2 * BLOB / 8],
}

impl PeCard {
    /// How far the PE has come.
    pub fn state(&self) -> PeState {
        match self.state.load(Ordering::Acquire) {
            0 => PeState::Started,
            1 => PeState::Joined,
            _ => PeState::Finalized,
        }
    }

    /// Process id of the PE itself, which is not the launcher's child where a shell stands between;
    /// 0 before init.
    pub fn pid(&self) -> u32 {
        self.pid.load(Ordering::Relaxed)
    }

    /// The CPU that the PE ran on when a wait of it last took long, if one has.
    pub fn cpu(&self) -> Option<usize> {
        (self.cpu.load(Ordering::Relaxed) as usize).checked_sub(1)
    }

    /// Says where the PE runs.
    pub fn set_cpu(&self, cpu: usize) {
        self.cpu.store(cpu as u32 + 1, Ordering::Relaxed);
    }

    /// Where in the file the PE's team slots are, and how many; none before init.
    pub(crate) fn team_slots(&self) -> (u64, u64) {
        (self.team_slots_at.load(Ordering::Acquire), self.team_slots.load(Ordering::Acquire))
    }

    /// Says that.
    pub(crate) fn set_team_slots(&self, at: u64, count: u64) {
        self.team_slots_at.store(at, Ordering::Release);
        self.team_slots.store(count, Ordering::Release);
    }

    /// The PE's wait slots.
    pub fn waits(&self) -> &[WaitSlot; WAIT_SLOTS] {
        &self.waits
    }

    /// The request that the proxy took last for kernels on a GPU, whose waits nobody sees, and since when there has been
    /// one after the other ([`Request::record`](crate::proxy::request::Request::record)). Not noted while it has none.
    pub fn requests(&self) -> &WaitSlot {
        &self.requests
    }
}

/// Last messages that are remembered: of each team one, since its members are at most one apart, unless teams share a place.
const TOLD: usize = 256;

/// The last message of a team.
#[repr(C)]
#[derive(Debug)]
struct Told {
    key: AtomicU64,
    /// The key of what is out.
    said: AtomicU64,
}

#[repr(C, align(64))]
#[derive(Debug)]
struct Header {
    /// What was told last of what all members of a collective know: see [`JobPage::tell_once`].
    told: [Told; TOLD],
    sync: SyncLine,
}

/// The job page, mapped by a PE or by the launcher.
#[derive(Debug)]
pub struct JobPage {
    map: Mapping,
    /// Of a launcher: the file, whose other parts it reads.
    file: Option<OwnedFd>,
    pes: usize,
    /// Exchanges made by this PE (two blobs in turn), and synchronisations.
    turn: Mutex<u32>,
}

/// Version of everything that PEs share by layout: job page, internals.
pub const SHARED_ABI: u32 = 10;

impl JobPage {
    /// Bytes at the beginning of the node's memory that the job page takes: a multiple of a huge page.
    pub fn reserved(pes: usize) -> usize {
        (size_of::<Header>() + pes * size_of::<PeCard>()).next_multiple_of(HUGE)
    }

    /// Maps the job page of `fd`, whose file has at least [`JobPage::reserved`] bytes.
    pub fn map(fd: BorrowedFd<'_>, pes: usize) -> io::Result<JobPage> {
        let len = (size_of::<Header>() + pes * size_of::<PeCard>()).next_multiple_of(memory::page());
        let map = Mapping::shared(fd, 0, len)?;
        Ok(JobPage { map, file: None, pes, turn: Mutex::new(0) })
    }

    /// Keeps the file, for [`JobPage::words_at`].
    pub fn keep(&mut self, file: OwnedFd) {
        self.file = Some(file);
    }

    /// What `count` words of so many bytes are now, from an offset of the file on.
    pub fn words_at(&self, offset: u64, bytes: usize, count: usize) -> Option<Vec<u64>> {
        let mut raw = vec![0; bytes * count];
        memory::read(self.file.as_ref()?, offset, &mut raw).ok()?;
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        Some(raw.chunks_exact(bytes).map(word).collect())
    }

    /// Number of PEs.
    pub fn pes(&self) -> usize {
        self.pes
    }

    /// Card of a PE.
    pub fn card(&self, pe: usize) -> &PeCard {
        assert!(pe < self.pes);
        // SAFETY: the mapping holds a header and `pes` cards, of atomics for which any bytes are valid.
        unsafe { &*self.map.base().add(size_of::<Header>()).cast::<PeCard>().add(pe) }
    }

    fn header(&self) -> &Header {
        // SAFETY: as in `card`.
        unsafe { &*self.map.base().cast::<Header>() }
    }

    /// Has the first PE that comes with `key`, which stands for a message that the PEs of `team` have, `say` it. The
    /// others wait until it is out: none of them can end the job, and with it the one that is about to say why.
    pub fn tell_once(&self, team: u64, key: u64, say: impl FnOnce()) {
        let place = team.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let told = &self.header().told[place as usize % TOLD];
        if told.key.swap(key, Ordering::AcqRel) != key {
            say();
            told.said.store(key, Ordering::Release);
            return;
        }
        // Bounded: the one that came first may have been killed meanwhile.
        let start = Instant::now();
        while told.key.load(Ordering::Acquire) == key
            && told.said.load(Ordering::Acquire) != key
            && start.elapsed() < Duration::from_secs(1)
        {
            dushmem_os::cpu::yield_now();
        }
    }

    /// Says that PE `pe`, the calling one, owes a line: others learn next that a call of this thread was wrong, but
    /// not why. They know the call by its `place`, as their error has it, if that is known.
    pub fn owe(&self, pe: usize, place: Option<u64>) {
        let (owing, owed) = (&self.card(pe).owing, owed(place));
        if let Some(at) = OWES.get() {
            return owing[at].store(owed, Ordering::Release);
        }
        let take =
            |word: &AtomicU64| word.compare_exchange(0, owed, Ordering::Release, Ordering::Relaxed).is_ok();
        OWES.set(owing.iter().position(take));
    }

    /// The line that this thread of PE `pe` owed, if it did, is out or left to its caller.
    pub fn settle(&self, pe: usize) {
        if let Some(at) = OWES.take() {
            self.card(pe).owing[at].store(0, Ordering::Release);
        }
    }

    /// Waits, before an `error` that may end the job is told, until those have said why who made the mistake: what
    /// ends the job first ends them too. Who is in a later call by now has done so, and may owe another line there, which
    /// it can't say before this PE comes, too. Bounded, since one of them may be stopped.
    pub fn hear_out(&self, error: &Error) {
        if !matches!(error, Error::Disagreement { .. }) {
            return;
        }
        let start = Instant::now();
        let owed = owed(Error::place());
        let owes = |pe: usize| self.card(pe).owing.iter().any(|word| word.load(Ordering::Acquire) == owed);
        for pe in 0..self.pes {
            while owes(pe) && start.elapsed() < PATIENCE {
                dushmem_os::cpu::yield_now();
            }
        }
    }

    /// Sets how far PE `pe`, the calling process, has come.
    pub fn set_state(&self, pe: usize, state: PeState) {
        self.card(pe).pid.store(dushmem_os::fault::pid(), Ordering::Relaxed);
        self.card(pe).state.store(state as u32, Ordering::Release);
    }

    /// Waits until all PEs have called this as often as PE `me` has.
    pub fn barrier(&self, me: usize, policy: &SpinPolicy) {
        let _ = self.exchange(me, policy, &[]);
    }

    /// Gathers one blob of at most [`BLOB`] bytes from each PE, in the order of the PEs.
    pub fn exchange(&self, me: usize, policy: &SpinPolicy, mine: &[u8]) -> Vec<[u8; BLOB]> {
        assert!(mine.len() <= BLOB, "a blob of {} bytes", mine.len());
        // Every use of the page by one PE is serialised; the guard also counts the epochs.
        let mut turn = self.turn.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if *turn == 0 {
            *turn = self.header().sync.released_epoch();
        }
        *turn = turn.wrapping_add(1);
        let half = (*turn as usize % 2) * (BLOB / 8);
        let mut padded = [0u8; BLOB];
        padded[..mine.len()].copy_from_slice(mine);
        if !mine.is_empty() {
            for (word, bytes) in self.card(me).blob[half..].iter().zip(padded.chunks_exact(8)) {
                word.store(u64::from_ne_bytes(bytes.try_into().unwrap_or_default()), Ordering::Relaxed);
            }
        }
        let sync = &self.header().sync;
        sync.arrive(self.pes as u32, *turn, 0);
        let slot = &self.card(me).waits[0];
        // Worlds gather something as they begin, and gather nothing, which is a barrier, as they end.
        let call = if mine.is_empty() { Call::Finalize } else { Call::Init };
        let record = || WaitRecord { call: call as u32, team: 0, awaited: -1, ..WaitRecord::default() };
        let agreed = sync.wait(*turn, policy, Some(slot), record);
        debug_assert_eq!(agreed, Agreement::Same);
        if mine.is_empty() {
            return Vec::new();
        }
        let read = |pe: usize| {
            let mut blob = [0u8; BLOB];
            for (bytes, word) in blob.chunks_exact_mut(8).zip(&self.card(pe).blob[half..]) {
                bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
            }
            blob
        };
        (0..self.pes).map(read).collect()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use dushmem_os::memory::memfd;
    use std::os::fd::AsFd;
    use std::sync::Arc;
    use std::thread;

    /// What a PE waits for that has been told of a mistake of PE 0 at `place`.
    fn hear_out(page: &JobPage, place: Option<u64>) -> Duration {
        let (start, told) = (Instant::now(), Error::Disagreement { text: String::new() });
        let told = if let Some(place) = place { told.found_at(place) } else { told };
        page.hear_out(&told);
        let _ = Error::take_place();
        start.elapsed()
    }

    #[test]
    fn nobody_waits_for_the_line_of_a_later_call() {
        let fd = memfd("a job page").expect("a memfd");
        memory::grow(&fd, JobPage::reserved(2) as u64).expect("room");
        let page = Arc::new(JobPage::map(fd.as_fd(), 2).expect("a page"));
        let soon = |waited: Duration| waited < PATIENCE / 2;
        for (first, second) in [(Some(7), Some(8)), (None, Some(0))] {
            page.owe(0, first);
            assert!(soon(hear_out(&page, second)), "{second:?}: a line about another call");
            let other = Arc::clone(&page);
            let waiter = thread::spawn(move || hear_out(&other, first));
            thread::sleep(Duration::from_millis(50));
            assert!(!waiter.is_finished(), "{first:?}: the line is not out");
            // In the next wrong call, before the other one has seen that it has left the first.
            page.owe(0, second);
            assert!(soon(waiter.join().expect("no panic")), "{first:?}: that PE has gone on");
            page.settle(0);
            assert!(soon(hear_out(&page, second)), "{second:?}: the line is out");
        }
    }
}

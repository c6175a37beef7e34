//! What streams wait for, for the hang report. No operation pays for that what it has not got anyway: a thread looks from
//! time to time at the words by which streams and kernels meet, from which it can tell who waits for whom. Waits for
//! words of the program, and captured meetings, whose words don't count, are put between two writes of a word of the host's.
use super::job::Job;
use super::meet::{Counts, Group};
use super::queue::{MemOp, Queue};
use super::seen::awaited_by_kernel;
use dushmem_core::error::{Call, Result};
use dushmem_core::job::WaitRecord;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// First and longest pause between two looks.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(1));

/// Notes a wait, with the time since when, or that there is none.
pub type Note = Box<dyn Fn(Option<(WaitRecord, u64)>) + Send + Sync>;

/// What is said of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct What {
    /// The call.
    pub call: Call,
    /// Its team, or -1.
    pub team: i32,
    /// Address of the word that is waited for, or 0.
    pub address: usize,
    /// Its bytes.
    pub bytes: usize,
}

impl What {
    fn record(&self, awaited: i32, detail: u64) -> WaitRecord {
        let call = self.call as u32 | dushmem_core::job::IN_STREAM;
        WaitRecord {
            call,
            team: self.team,
            awaited,
            address: self.address as u64,
            detail,
            ..WaitRecord::default()
        }
    }
}

/// What streams write into a word of the host's when they come to a wait, and when they go on; and what the thread makes of
/// the first, so that it knows a wait again.
const CAME: u32 = 1;
const WENT: u32 = 2;
const SEEN: u32 = 3;

/// A captured meeting, whose words tell who is missing.
struct Meeting {
    slot: usize,
    /// World numbers, by rank.
    pes: Box<[u32]>,
    /// Own rank.
    me: usize,
}

/// Such a word.
struct Mark {
    host: *mut u32,
    device: u64,
    what: What,
    captured: bool,
    meeting: Option<Arc<Meeting>>,
    /// When the thread has seen the wait.
    since: u64,
}

// SAFETY: a word of the queue's, accessed by atomics.
unsafe impl Send for Mark {}

impl Mark {
    fn word(&self) -> &AtomicU32 {
        // SAFETY: valid as long as the queue, which who has the marks keeps.
        unsafe { AtomicU32::from_ptr(self.host) }
    }

    /// Since when the stream waits, if it does.
    fn look(&mut self, now: u64) -> Option<u64> {
        match self.word().compare_exchange(CAME, SEEN, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => self.since = now,
            Err(SEEN) => {}
            Err(_) => return None,
        }
        Some(self.since)
    }
}

/// What was put into streams for a team slot last.
pub struct Met {
    /// Meetings by memory operations.
    pub counts: Counts,
    team: i32,
    call: Call,
    pes: Vec<u32>,
    me: usize,
    /// Kernels of the library's have met, too.
    kernels: bool,
}

impl fmt::Debug for Met {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Met").field("team", &self.team).finish_non_exhaustive()
    }
}

impl Met {
    /// Notes a call of the team of these PEs, of whom this one is `me`; `kernels`: by kernels that all reach each other.
    pub fn note(&mut self, call: Call, team: i32, pes: &[u32], me: usize, kernels: bool) {
        if self.team != team {
            (self.team, self.me) = (team, me);
            self.pes.clear();
            self.pes.extend_from_slice(pes);
            self.kernels = false;
        }
        self.call = call;
        self.kernels |= kernels;
    }
}

#[derive(Default)]
struct State {
    marks: Vec<Mark>,
    /// Words of marks that are free, by both addresses.
    free: Vec<(usize, u64)>,
    /// So many marks are looked through for free ones.
    full: usize,
    /// Waits that the CPU looks at for a stream, by a number of their own, and since when.
    looks: Vec<(usize, What, u64)>,
    stop: bool,
}

impl State {
    /// Takes words back of waits that are over, now and then.
    fn prune(&mut self) {
        if self.marks.len() < self.full.max(64) {
            return;
        }
        let State { marks, free, .. } = self;
        marks.retain(|mark| {
            let over = !mark.captured && mark.word().load(Ordering::Acquire) == WENT;
            if over {
                free.push((mark.host as usize, mark.device));
            }
            !over
        });
        self.full = 2 * self.marks.len();
    }
}

struct Shared {
    job: Arc<dyn Job>,
    queue: Arc<dyn Queue>,
    note: Note,
    met: Mutex<BTreeMap<usize, Arc<Mutex<Met>>>>,
    state: Mutex<State>,
    /// Something was put into a stream since the last look.
    used: AtomicBool,
    changed: Condvar,
}

/// A wait that the thread has seen, with a number that the next one of the same call differs in.
struct Seen {
    record: WaitRecord,
    number: u64,
    since: u64,
}

/// The thread, and what it looks at.
pub struct Records {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").finish_non_exhaustive()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The two writes around a wait.
#[derive(Clone, Copy, Debug)]
pub struct Marks(u64);

impl Marks {
    /// The word, for a kernel that writes it itself.
    pub fn address(self) -> u64 {
        self.0
    }

    /// Comes in front of the wait.
    pub fn before(self) -> MemOp {
        MemOp::Write32 { at: self.0, value: CAME }
    }

    /// Comes behind it.
    pub fn after(self) -> MemOp {
        MemOp::Write32 { at: self.0, value: WENT }
    }
}

impl Records {
    /// `note` shows a wait to the launcher.
    pub fn new(job: Arc<dyn Job>, queue: Arc<dyn Queue>, note: Note) -> Records {
        let (met, state) = (Mutex::default(), Mutex::default());
        let (used, changed) = (AtomicBool::new(false), Condvar::new());
        let shared = Shared { job, queue, note, met, state, used, changed };
        Records { shared: Arc::new(shared), thread: Mutex::new(None) }
    }

    /// What is known of a team slot.
    pub fn slot(&self, slot: usize) -> Arc<Mutex<Met>> {
        let pes = self.shared.job.n_pes();
        let none = Met {
            counts: Counts::new(pes),
            team: -1,
            call: Call::None,
            pes: Vec::new(),
            me: 0,
            kernels: false,
        };
        Arc::clone(locked(&self.shared.met).entry(slot).or_insert_with(|| Arc::new(Mutex::new(none))))
    }

    /// Something that waits was put into a stream.
    pub fn used(&self) {
        if !self.shared.used.load(Ordering::Relaxed) {
            self.shared.used.store(true, Ordering::Relaxed);
            // It is not woken: a look for each operation would cost more than the operation.
            self.start();
        }
    }

    /// The writes around a wait that is put into a stream next.
    pub fn mark(&self, what: What, captured: bool) -> Result<Marks> {
        self.add(what, captured, None)
    }

    /// The same of a captured meeting of these PEs, of whom this one is `me`, by the words of a team slot.
    pub fn mark_meeting(&self, what: What, slot: usize, pes: &[u32], me: usize) -> Result<Marks> {
        self.add(what, true, Some(Arc::new(Meeting { slot, pes: pes.into(), me })))
    }

    fn add(&self, what: What, captured: bool, meeting: Option<Arc<Meeting>>) -> Result<Marks> {
        let mut state = locked(&self.shared.state);
        state.prune();
        let free = state.free.pop();
        // The driver may make memory only when streams have done what they are at, and that may be a call of `begin`.
        drop(state);
        let (host, device) = match free {
            Some((host, device)) => (host as *mut u32, device),
            None => self.shared.queue.host_word()?,
        };
        let mark = Mark { host, device, what, captured, meeting, since: 0 };
        mark.word().store(0, Ordering::Release);
        locked(&self.shared.state).marks.push(mark);
        self.used();
        Ok(Marks(device))
    }

    /// The CPU begins to look at words for a stream. `number` differs from that of every other such wait.
    pub fn begin(&self, number: usize, what: What) {
        locked(&self.shared.state).looks.push((number, what, dushmem_os::clock::monotonic_ns()));
        self.used();
    }

    /// It has seen what the stream waits for.
    pub fn end(&self, number: usize) {
        locked(&self.shared.state).looks.retain(|look| look.0 != number);
    }

    fn start(&self) {
        let mut thread = locked(&self.thread);
        if thread.is_none() {
            let shared = Arc::clone(&self.shared);
            let named = std::thread::Builder::new().name("dushmem-records".into());
            // Without it there are no records of streams, and all else works.
            *thread = named.spawn(move || shared.watch()).ok();
        }
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        locked(&self.shared.state).stop = true;
        self.shared.changed.notify_one();
        if let Some(thread) = locked(&self.thread).take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// What the thread does.
    fn watch(&self) {
        let mut pause = PAUSES.0;
        let mut known: Vec<Seen> = Vec::new();
        loop {
            let mut state = locked(&self.state);
            if !state.stop {
                let waited = self.changed.wait_timeout(state, pause);
                state = waited.map_or_else(|poisoned| poisoned.into_inner().0, |(state, _)| state);
            }
            if state.stop {
                return (self.note)(None);
            }
            drop(state);
            let used = self.used.swap(false, Ordering::Relaxed);
            let now = dushmem_os::clock::monotonic_ns();
            if known.is_empty() {
                // The driver may keep the look waiting: for a call of another thread, or for the GPU.
                (self.note)(Some((WaitRecord::NO_ANSWER, now)));
            }
            // A device that fails says so elsewhere.
            let Ok(mut seen) = self.waits(now) else { return (self.note)(None) };
            for wait in &mut seen {
                let before = known.iter().find(|k| (k.record, k.number) == (wait.record, wait.number));
                wait.since = before.map_or(wait.since, |before| before.since.min(wait.since));
            }
            // Work that goes on meanwhile may look like a wait: what is there twice is one.
            let longest = seen.iter().filter(|wait| wait.since < now).min_by_key(|wait| wait.since);
            (self.note)(longest.map(|wait| (wait.record, wait.since)));
            pause = if used || !seen.is_empty() { PAUSES.0 } else { (pause * 2).min(PAUSES.1) };
            known = seen;
        }
    }

    /// What streams wait for now.
    fn waits(&self, now: u64) -> Result<Vec<Seen>> {
        let mut state = locked(&self.state);
        let marked = state
            .marks
            .iter_mut()
            .filter_map(|mark| Some((mark.what, mark.look(now)?, mark.meeting.clone())));
        let mut found: Vec<_> = marked.collect();
        found.extend(state.looks.iter().map(|&(_, what, since)| (what, since, None)));
        drop(state);
        let mut all = Vec::new();
        for (what, since, meeting) in found {
            let awaited = meeting.map_or(Ok(None), |meeting| self.awaited_in(&meeting))?;
            let record = what.record(awaited.unwrap_or(-1), self.word(&what)?);
            all.push(Seen { record, number: since, since });
        }
        let slots: Vec<_> = locked(&self.met).iter().map(|(&slot, met)| (slot, Arc::clone(met))).collect();
        for (slot, met) in slots {
            let (what, pes, me, kernels, counts) = {
                let met = locked(&met);
                let what = What { call: met.call, team: met.team, address: 0, bytes: 0 };
                (what, met.pes.clone(), met.me, met.kernels, met.counts.clone())
            };
            if pes.len() < 2 {
                continue;
            }
            let word = self.job.slot_words(slot);
            let group = Group { pes: &pes, me, word: &*word };
            let mut awaited = group.awaited(&counts, &mut |at| self.read_u32(at))?;
            if awaited.is_none() && kernels {
                awaited = awaited_by_kernel(&*self.job, &*self.queue, slot, &pes, me)?;
            }
            all.extend(awaited.map(|(pe, number)| Seen { record: what.record(pe, 0), number, since: now }));
        }
        Ok(all)
    }

    fn awaited_in(&self, meeting: &Meeting) -> Result<Option<i32>> {
        let word = self.job.slot_words(meeting.slot);
        let group = Group { pes: &meeting.pes, me: meeting.me, word: &*word };
        group.awaited_captured(&mut |at| self.read_u32(at))
    }

    fn read_u32(&self, at: u64) -> Result<u32> {
        let mut word = [0; 4];
        // SAFETY: a word for streams, mapped as long as the device is in use.
        unsafe { self.queue.read(at as usize, &mut word) }?;
        Ok(u32::from_le_bytes(word))
    }

    /// The word that is waited for, as it is now.
    fn word(&self, what: &What) -> Result<u64> {
        let mut word = [0; 8];
        if what.address != 0 {
            // SAFETY: symmetric memory, which is mapped as long as the device is in use: longer than this thread lives.
            unsafe { self.queue.read(what.address, &mut word[..what.bytes]) }?;
        }
        Ok(u64::from_le_bytes(word))
    }
}

#[cfg(test)]
#[path = "tests/records.rs"]
mod tests;

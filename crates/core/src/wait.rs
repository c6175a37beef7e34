//! Waiting that knows how many CPUs there are.
//!
//! Every wait of the library runs through [`wait_for`]: a fiber yields to the other fibers of its block;
//! everybody else spins for about as long as a wake-up from sleep would take, yields a few times where
//! PEs outnumber CPUs, and then sleeps and leaves a [`WaitRecord`]. [`Doorbell`] is
//! how a PE that sleeps for a user's word is woken by the library's own puts, atomics and signals.
use crate::atomics::{AtomicU32, Ordering, park};
use crate::job::{WaitRecord, WaitSlot};
use std::cell::Cell;
use std::fmt;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// What to do about PEs that share a CPU, when a wait takes long.
type Spread = Box<dyn Fn() + Send + Sync>;

/// How long to spin and how often to yield before sleeping.
pub struct SpinPolicy {
    /// Threads that may run at the same time: PEs of this node and threads of the library.
    threads: AtomicU32,
    cpus: u32,
    /// Nanoseconds; shrinks after long waits, grows back when spins succeed or would have.
    budget: AtomicU32,
    spread: OnceLock<Spread>,
}

impl fmt::Debug for SpinPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SpinPolicy { threads, cpus, budget, spread: _ } = self;
        f.debug_struct("SpinPolicy")
            .field("threads", threads)
            .field("cpus", cpus)
            .field("budget", budget)
            .finish_non_exhaustive()
    }
}

/// About one wake-up of a sleeper on another core (33 to 55 us measured in a VM).
const SPIN_MAX_NS: u32 = 40_000;
/// Longer than two PEs take that wake each other up: otherwise PEs that once slept, since something else had
/// a CPU, would find each other asleep for ever after.
const SPIN_MIN_NS: u32 = 15_000;
/// A wait that a full spin would have ended, the sleeper's own wake-up on top.
const SHORT_WAIT: Duration = Duration::from_nanos(2 * SPIN_MAX_NS as u64);

impl SpinPolicy {
    /// A policy for `threads` threads on `cpus` CPUs.
    pub fn new(threads: usize, cpus: usize) -> SpinPolicy {
        SpinPolicy {
            threads: AtomicU32::new(threads as u32),
            cpus: cpus as u32,
            budget: AtomicU32::new(SPIN_MAX_NS),
            spread: OnceLock::new(),
        }
    }

    /// Sets what a waiter does when its spin has failed: PEs that share a CPU while another one has fewer part.
    /// Set once.
    pub fn set_spread(&self, spread: impl Fn() + Send + Sync + 'static) {
        let _ = self.spread.set(Box::new(spread));
    }

    /// Counts one more thread of the library (a stream worker, a progress thread) until dropped.
    pub fn count_thread(&self, more: i32) {
        self.threads.fetch_add(more as u32, Ordering::Relaxed);
    }

    /// True where somebody else may need this CPU.
    pub fn crowded(&self) -> bool {
        self.threads.load(Ordering::Relaxed) > self.cpus
    }

    fn spin_ns(&self) -> u32 {
        // A waiter keeps a CPU from the PE that it waits for.
        if self.crowded() { 0 } else { self.budget.load(Ordering::Relaxed) }
    }

    fn yields(&self) -> u32 {
        let threads = self.threads.load(Ordering::Relaxed);
        match () {
            _ if threads <= self.cpus => 0,
            // Measured at 3 to 64 PEs on 2 CPUs: a barrier of 8 PEs takes 5 us with, 14 us without yields.
            _ if threads <= 8 * self.cpus => 8,
            _ => 4,
        }
    }

    /// After a wait that the spin ended, or that took so long in all.
    fn learn(&self, slept: Option<Duration>) {
        let old = self.budget.load(Ordering::Relaxed);
        let new = match slept {
            None => (old + old / 4).min(SPIN_MAX_NS),
            // Two PEs that answer each other and both sleep wait for each other's wake-ups, which no short spin
            // outlasts: without this they would never spin again.
            Some(time) if time < SHORT_WAIT => SPIN_MAX_NS,
            Some(_) => (old / 2).max(SPIN_MIN_NS),
        };
        if new != old {
            self.budget.store(new, Ordering::Relaxed);
        }
    }
}

/// What a fiber scheduler answers when a waiting fiber gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yielded {
    /// Other fibers ran; look again at once.
    Ran,
    /// Every fiber of this thread waits: this thread may sleep.
    Idle,
}

/// What a fiber scheduler is told by the fiber that runs.
#[derive(Clone, Copy, Debug)]
pub enum Giving<'a> {
    /// It waits for this.
    Wait(&'a WaitRecord),
    /// It has looked at something in vain, and may do so again.
    Look,
    /// What it waited for is there.
    Ended,
}

/// What a fiber scheduler sets.
pub type GiveWay = fn(Giving<'_>) -> Yielded;

thread_local! {
    static GIVE_WAY: Cell<Option<GiveWay>> = const { Cell::new(None) };
}

/// Sets what waits on this OS thread do instead of spinning: the emulator's fibers set it. Returns what
/// was set before.
pub fn set_give_way(hook: Option<GiveWay>) -> Option<GiveWay> {
    GIVE_WAY.replace(hook)
}

/// True while the caller runs inside an emulated GPU thread.
pub fn in_fiber() -> bool {
    GIVE_WAY.get().is_some()
}

/// Lets another fiber or another thread run once.
pub fn give_way() {
    match GIVE_WAY.get() {
        Some(hook) => drop(hook(Giving::Look)),
        None => dushmem_os::cpu::yield_now(),
    }
}

/// Calls `ready` until it gives a value. `sleep` blocks for at most the given time or until woken.
/// `slot` and `record` say what a hang report prints about this wait.
#[inline]
pub fn wait_for<R>(
    policy: &SpinPolicy,
    slot: Option<&WaitSlot>,
    record: impl Fn() -> WaitRecord,
    mut ready: impl FnMut() -> Option<R>,
    sleep: impl FnMut(Duration),
) -> R {
    match ready() {
        Some(value) => value,
        None => wait_slow(policy, slot, &record, &mut ready, sleep),
    }
}

#[inline(never)]
fn wait_slow<R>(
    policy: &SpinPolicy,
    slot: Option<&WaitSlot>,
    record: &dyn Fn() -> WaitRecord,
    ready: &mut dyn FnMut() -> Option<R>,
    mut sleep: impl FnMut(Duration),
) -> R {
    let hook = GIVE_WAY.get();
    // loom explores orders, not times: there a wait sleeps at once.
    let start = (hook.is_none() && !cfg!(loom)).then(Instant::now);
    if let Some(start) = start {
        if let Some(value) = spin(policy, start, ready) {
            return value;
        }
        for _ in 0..policy.yields() {
            dushmem_os::cpu::yield_now();
            if let Some(value) = ready() {
                return value;
            }
        }
    }
    let record = record();
    let _noted = slot.map(|slot| slot.note(&record));
    if let Some(hook) = hook {
        let value = wait_in_fiber(policy, hook, &record, ready, sleep);
        hook(Giving::Ended);
        return value;
    }
    let mut nap = NAP_MIN;
    loop {
        if let Some(value) = ready() {
            return value;
        }
        sleep(nap);
        if let Some(slot) = slot {
            slot.looks();
        }
        if let Some(value) = ready() {
            if let Some(start) = start {
                policy.learn(Some(start.elapsed()));
            }
            return value;
        }
        nap = (nap * 2).min(NAP_MAX);
    }
}

/// Waiters for words that a store can change which rings no bell look again after so long: at first, and at most.
const NAP_MIN: Duration = Duration::from_micros(50);
const NAP_MAX: Duration = Duration::from_millis(10);

fn wait_in_fiber<R>(
    policy: &SpinPolicy,
    hook: GiveWay,
    record: &WaitRecord,
    ready: &mut dyn FnMut() -> Option<R>,
    mut sleep: impl FnMut(Duration),
) -> R {
    let mut nap = NAP_MIN;
    // The hook spins where CPUs are free. Elsewhere, as on a host thread, who is waited for may need a moment of
    // this CPU only, which is less than a sleep and a wake-up.
    let mut yields = policy.yields();
    loop {
        while hook(Giving::Wait(record)) == Yielded::Ran {
            if let Some(value) = ready() {
                return value;
            }
        }
        if let Some(value) = ready() {
            return value;
        }
        if yields > 0 {
            yields -= 1;
            dushmem_os::cpu::yield_now();
            continue;
        }
        sleep(nap);
        if let Some(value) = ready() {
            return value;
        }
        nap = (nap * 2).min(NAP_MAX);
    }
}

/// About three switches between PEs that share a CPU.
const HOLD: Duration = Duration::from_micros(5);

/// Calls `ready` for a moment before a wait after which others wait for this PE. Where PEs outnumber CPUs it keeps its CPU so
/// long: it would get it back only after all that share it, most of which can do nothing before.
#[inline]
pub fn hold<R>(policy: &SpinPolicy, mut ready: impl FnMut() -> Option<R>) -> Option<R> {
    if cfg!(loom) || !policy.crowded() || in_fiber() {
        return None;
    }
    let start = Instant::now();
    loop {
        for _ in 0..16 {
            if let Some(value) = ready() {
                return Some(value);
            }
        }
        if start.elapsed() >= HOLD {
            return None;
        }
    }
}

/// Plain loads: a `pause` in this loop cost microseconds a hand-over in the VM that was measured.
fn spin<R>(policy: &SpinPolicy, start: Instant, ready: &mut dyn FnMut() -> Option<R>) -> Option<R> {
    let limit = Duration::from_nanos(u64::from(policy.spin_ns()));
    while !limit.is_zero() {
        for _ in 0..32 {
            if let Some(value) = ready() {
                policy.learn(None);
                return Some(value);
            }
        }
        if start.elapsed() >= limit {
            break;
        }
    }
    if let Some(spread) = policy.spread.get() {
        spread();
    }
    None
}

/// Tells a PE that sleeps until a word of its own memory changes that somebody wrote there.
///
/// The writer pays one load of `armed` after its store, and no barrier: the sleeper makes all CPUs pass
/// a barrier (`membarrier`) between arming and its last look. A writer that does not ring (a store
/// through a mapped pointer, a device) is found by the sleeper's bounded naps.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Doorbell {
    armed: AtomicU32,
    bell: AtomicU32,
}

impl Default for Doorbell {
    fn default() -> Self {
        Self::new()
    }
}

impl Doorbell {
    /// A bell for which nobody sleeps. All-zero bytes are such a bell too.
    pub fn new() -> Doorbell {
        Doorbell { armed: AtomicU32::new(0), bell: AtomicU32::new(0) }
    }

    /// The writer's side, after its store.
    #[inline(always)]
    pub fn ring(&self) {
        #[cfg(loom)]
        crate::atomics::fence(Ordering::SeqCst);
        #[cfg(not(loom))]
        core::sync::atomic::compiler_fence(Ordering::SeqCst);
        if self.armed.load(Ordering::Relaxed) != 0 {
            self.wake();
        }
    }

    /// Wakes the sleepers. They arm the bell again if they sleep again.
    #[cold]
    pub fn wake(&self) {
        // What fails writes nothing: of several that ring at a time, one disarms.
        if self.armed.compare_exchange(1, 0, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
            self.bell.fetch_add(1, Ordering::SeqCst);
            park::wake_all(&self.bell);
        }
    }

    /// The sleeper's side: sleeps until rung or for `nap`, unless `ready` holds after arming. True if it was
    /// rung.
    pub fn sleep(&self, nap: Duration, ready: impl FnOnce() -> bool) -> bool {
        // The bell is read before arming: a ring between the two is then seen as a changed bell.
        let heard = self.bell.load(Ordering::SeqCst);
        self.armed.store(1, Ordering::SeqCst);
        park::order_all_cpus();
        if !ready() {
            park::wait(&self.bell, heard, Some(nap));
        }
        self.bell.load(Ordering::SeqCst) != heard
    }
}

/// So many rings for something else than what is awaited are answered at once, in a row.
const PATIENCE: u32 = 4;
/// The nap after them in which no bell is armed.
const DOZE: Duration = Duration::from_micros(50);

/// The naps of one wait. A stream of writes to other words of this PE would cost its writer a wake-up call
/// every few microseconds; after some that were in vain every second nap is one that nobody has to end.
#[derive(Debug)]
pub struct Naps<'a> {
    bell: &'a Doorbell,
    rung: u32,
}

impl<'a> Naps<'a> {
    /// The wait begins.
    pub fn new(bell: &'a Doorbell) -> Naps<'a> {
        Naps { bell, rung: 0 }
    }

    /// Sleeps for at most `nap`, unless `ready` holds after arming.
    pub fn nap(&mut self, nap: Duration, ready: impl FnOnce() -> bool) {
        if self.rung >= PATIENCE && !cfg!(loom) {
            self.rung = PATIENCE - 1;
            park::wait(&self.bell.bell, self.bell.bell.load(Ordering::SeqCst), Some(DOZE.min(nap)));
        } else if self.bell.sleep(nap, ready) {
            self.rung += 1;
        } else {
            self.rung = 0;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn spins_shrink_after_long_waits_and_come_back_after_a_short_one() {
        let policy = SpinPolicy::new(2, 2);
        for _ in 0..10 {
            policy.learn(Some(Duration::from_secs(1)));
        }
        assert_eq!(policy.spin_ns(), SPIN_MIN_NS);
        policy.learn(None);
        assert_eq!(policy.spin_ns(), SPIN_MIN_NS + SPIN_MIN_NS / 4);
        // As long as two wake-ups: the partner slept too.
        policy.learn(Some(Duration::from_micros(60)));
        assert_eq!(policy.spin_ns(), SPIN_MAX_NS);
    }

    #[test]
    fn a_wait_that_slept_briefly_spins_longer_the_next_time() {
        let policy = SpinPolicy::new(1, 1);
        policy.budget.store(SPIN_MIN_NS, Ordering::Relaxed);
        let (mut slept, mut looked) = (0, 0);
        let record = || WaitRecord { team: -1, awaited: -1, ..WaitRecord::default() };
        let until = Instant::now() + Duration::from_micros(5);
        let ready = || {
            looked += 1;
            (Instant::now() >= until).then_some(())
        };
        wait_for(&policy, None, record, ready, |_| slept += 1);
        assert!(looked > 1 && (slept == 0 || policy.spin_ns() > SPIN_MIN_NS));
        // A long one that sleeps makes the next spin shorter.
        policy.budget.store(SPIN_MAX_NS, Ordering::Relaxed);
        let until = Instant::now() + Duration::from_millis(20);
        let ready = || (Instant::now() >= until).then_some(());
        wait_for(&policy, None, record, ready, std::thread::sleep);
        assert!(policy.spin_ns() < SPIN_MAX_NS);
    }

    #[test]
    fn rings_in_vain_are_answered_less_often() {
        let bell = Doorbell::new();
        let mut naps = Naps::new(&bell);
        let mut armed = 0;
        let mut rings = |naps: &mut Naps<'_>| {
            naps.nap(Duration::from_secs(10), || {
                armed += 1;
                bell.ring();
                false
            });
            armed
        };
        let counts: Vec<u32> = (0..8).map(|_| rings(&mut naps)).collect();
        assert_eq!(counts, [1, 2, 3, 4, 4, 5, 5, 6]);
        // A nap that nobody ends is a new start.
        naps.nap(Duration::from_micros(1), || false);
        naps.nap(Duration::from_micros(1), || false);
        let counts: Vec<u32> = (0..5).map(|_| rings(&mut naps)).collect();
        assert_eq!(counts, [7, 8, 9, 10, 10]);
    }
}

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
    /// Nanoseconds; shrinks when spins fail, grows back when they succeed.
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

    fn learn(&self, spin_worked: bool) {
        let old = self.budget.load(Ordering::Relaxed);
        let new = if spin_worked { (old + old / 4).min(SPIN_MAX_NS) } else { (old / 2).max(SPIN_MIN_NS) };
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

thread_local! {
    static GIVE_WAY: Cell<Option<fn() -> Yielded>> = const { Cell::new(None) };
}

/// Sets what waits on this OS thread do instead of spinning: the emulator's fibers set it. Returns what
/// was set before.
pub fn set_give_way(hook: Option<fn() -> Yielded>) -> Option<fn() -> Yielded> {
    GIVE_WAY.replace(hook)
}

/// True while the caller runs inside an emulated GPU thread.
pub fn in_fiber() -> bool {
    GIVE_WAY.get().is_some()
}

/// Lets another fiber or another thread run once.
pub fn give_way() {
    match GIVE_WAY.get() {
        Some(hook) => drop(hook()),
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
    if hook.is_none() && !cfg!(loom) {
        if let Some(value) = spin(policy, ready) {
            return value;
        }
        for _ in 0..policy.yields() {
            dushmem_os::cpu::yield_now();
            if let Some(value) = ready() {
                return value;
            }
        }
    }
    let _noted = slot.map(|slot| slot.note(&record()));
    let mut nap = Duration::from_micros(50);
    loop {
        if let Some(hook) = hook {
            while hook() == Yielded::Ran {
                if let Some(value) = ready() {
                    return value;
                }
            }
        }
        if let Some(value) = ready() {
            return value;
        }
        sleep(nap);
        if let Some(value) = ready() {
            return value;
        }
        nap = (nap * 2).min(Duration::from_millis(10));
    }
}

/// Plain loads: a `pause` in this loop cost microseconds a hand-over in the VM that was measured.
fn spin<R>(policy: &SpinPolicy, ready: &mut dyn FnMut() -> Option<R>) -> Option<R> {
    let limit = Duration::from_nanos(u64::from(policy.spin_ns()));
    let start = Instant::now();
    while !limit.is_zero() {
        for _ in 0..32 {
            if let Some(value) = ready() {
                policy.learn(true);
                return Some(value);
            }
        }
        if start.elapsed() >= limit {
            policy.learn(false);
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
        if self.armed.swap(0, Ordering::SeqCst) != 0 {
            self.bell.fetch_add(1, Ordering::SeqCst);
            park::wake_all(&self.bell);
        }
    }

    /// The sleeper's side: sleeps until rung or for `nap`, unless `ready` holds after arming.
    pub fn sleep(&self, nap: Duration, ready: impl FnOnce() -> bool) {
        // The bell is read before arming: a ring between the two is then seen as a changed bell.
        let heard = self.bell.load(Ordering::SeqCst);
        self.armed.store(1, Ordering::SeqCst);
        park::order_all_cpus();
        if !ready() {
            park::wait(&self.bell, heard, Some(nap));
        }
    }
}

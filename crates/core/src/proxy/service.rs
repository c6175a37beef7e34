//! The thread that takes requests, its sleeping, and who waits for it.
use super::execute::Executor;
use super::memory::Memory;
use super::request::{Request, flags};
use super::ring::{Ring, WORDS};
use crate::bootstrap::Bootstrap;
use crate::card::cpus;
use crate::error::{Call, Error, Result};
use crate::job::{WaitRecord, WaitSlot, wait_slot};
use crate::process;
use crate::wait::{Doorbell, Naps, SpinPolicy, in_fiber, wait_for};
use crate::world::World;
use dushmem_os::fault::Owner;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How an idle proxy learns of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Producers ring: kernels run on CPUs. It sleeps until then.
    Rung,
    /// Nobody can ring: it looks again after naps of at most this time.
    Polls(Duration),
}

/// Times that a GPU thread gives the CPU away before its OS thread sleeps, where CPUs are scarce.
const YIELDS: u32 = 8;
/// After a request, a proxy that nobody can ring stays awake for so long: kernels ask for one thing after another, and
/// a nap takes longer than what they ask for.
const AWAKE: Duration = Duration::from_millis(1);
/// Longest sleep of a proxy that is rung, where the system orders the two sides' accesses.
const SLEEP: Duration = Duration::from_secs(3600);
/// And where it refuses to: a ring can be missed then.
const SLEEP_UNSURE: Duration = Duration::from_millis(5);

/// What producers, the proxy and the host share.
#[derive(Debug)]
pub struct Shared {
    memory: Memory,
    /// Rung after each request, for those who wait for one.
    done: Doorbell,
    /// Requests executed so far: all with smaller tickets.
    executed: AtomicU64,
    stop: AtomicBool,
    policy: SpinPolicy,
    boot: Arc<dyn Bootstrap>,
    owner: Owner,
}

impl Shared {
    /// The ring itself.
    pub fn ring(&self) -> Ring<'_> {
        self.memory.ring()
    }

    /// The address of the ring for kernels.
    pub fn device_address(&self) -> u64 {
        self.memory.device_address()
    }

    /// Where kernels count tickets: see [`Memory::count_at`].
    pub fn tickets(&self) -> u64 {
        self.memory.tickets()
    }

    /// Requests executed so far.
    pub fn executed(&self) -> u64 {
        self.executed.load(Ordering::Acquire)
    }

    /// Posts a request from the host; waits while the ring is full. Its ticket. Where kernels count the tickets
    /// elsewhere ([`Memory::count_at`]) the host has none.
    pub fn post(&self, request: &Request) -> u64 {
        assert!(self.memory.tickets() == 0, "a request of the host's, where a device counts the tickets");
        let words: [u64; WORDS] = request.encode();
        loop {
            if let Some(ticket) = self.ring().try_post(&words) {
                self.memory.bell().ring();
                return ticket;
            }
            self.wait(self.ring().reserved(), || self.ring().has_room().then_some(()));
        }
    }

    /// Posts a request from the host and waits until it has been executed. Its result, if it asks for one.
    pub fn call(&self, request: &Request) -> Option<[u64; 2]> {
        let ticket = self.post(request);
        if request.has(flags::RESULT) {
            let result = self.wait(ticket, || self.ring().take_result(ticket));
            self.freed();
            return Some(result);
        }
        self.wait(ticket, || self.ring().is_executed(ticket).then_some(()));
        None
    }

    /// Waits until `ready` gives a value: it is looked at after each request that is executed.
    pub fn wait<R>(&self, detail: u64, ready: impl FnMut() -> Option<R>) -> R {
        let ready = core::cell::RefCell::new(ready);
        let seen = core::cell::RefCell::new(None);
        let mut naps = Naps::new(&self.done);
        // Other threads of a block have run before this sleeps; the proxy may only want this CPU.
        let mut yields = if in_fiber() && self.policy.crowded() { YIELDS } else { 0 };
        let (call, none) = (Call::Proxy as u32, WaitRecord::default());
        let record = || WaitRecord { call, team: -1, awaited: -1, detail, ..none };
        wait_for(
            &self.policy,
            Some(wait_slot(&*self.boot)),
            record,
            || seen.borrow_mut().take().or_else(|| (ready.borrow_mut())()),
            |nap| {
                if yields > 0 {
                    yields -= 1;
                    return dushmem_os::cpu::yield_now();
                }
                naps.nap(nap, || {
                    let found = (ready.borrow_mut())();
                    let held = found.is_some();
                    *seen.borrow_mut() = found;
                    held
                });
            },
        )
    }

    /// Wakes the proxy, if it sleeps.
    pub fn wake(&self) {
        self.memory.bell().wake();
    }

    /// A slot is free, or a request has been executed: wakes those who sleep for that.
    pub fn freed(&self) {
        self.done.ring();
    }

    /// Waits until all requests have been executed whose tickets are taken now.
    fn settle(&self) {
        let upto = self.ring().reserved();
        // A forked child has the ring without the thread.
        if self.executed() >= upto || self.owner.is_forked_child() {
            return;
        }
        self.wait(upto, || (self.executed() >= upto).then_some(()));
    }

    /// The next request; `None` when the proxy ends. `idle` is told where none comes for a while.
    fn next(&self, ticket: u64, wake: Wake, idle: impl FnOnce()) -> Option<Request> {
        let ready = || match self.ring().next(ticket) {
            Some(words) => Some(Some(Request::decode(&words))),
            None if self.stop.load(Ordering::SeqCst) => Some(None),
            None => None,
        };
        if matches!(wake, Wake::Polls(_)) {
            if let Some(found) = self.look_out(ready) {
                return found;
            }
            idle();
        }
        let sure = matches!(wake, Wake::Rung) && dushmem_os::futex::is_ordered();
        let sleep = |nap: Duration| match wake {
            Wake::Rung => {
                let bell = self.memory.bell();
                bell.sleep(if sure { SLEEP } else { SLEEP_UNSURE }, || ready().is_some());
            }
            Wake::Polls(longest) => std::thread::sleep(nap.min(longest)),
        };
        wait_for(&self.policy, None, WaitRecord::default, ready, sleep)
    }

    /// Looks again and again, without a sleep.
    fn look_out<R>(&self, ready: impl Fn() -> Option<R>) -> Option<R> {
        let mut begun = None;
        loop {
            for _ in 0..64 {
                if let Some(found) = ready() {
                    return Some(found);
                }
            }
            if begun.get_or_insert_with(Instant::now).elapsed() >= AWAKE {
                return None;
            }
            if self.policy.crowded() {
                dushmem_os::cpu::yield_now();
            }
        }
    }

    fn run(&self, world: &World, wake: Wake) {
        let mut executor = Executor::new(world);
        let mut ticket = 0;
        // Threads of kernels on CPUs note what they wait for.
        let mut busy = Busy {
            slot: matches!(wake, Wake::Polls(_)).then(|| {
                let (me, _) = self.boot.place();
                self.boot.node_memory().1.card(me).requests()
            }),
            since: 0,
        };
        while let Some(request) = self.next(ticket, wake, || busy.ends()) {
            busy.takes(&request, ticket);
            match executor.execute(&request) {
                Ok(result) => self.ring().finish(ticket, result),
                Err(error) => fail(world, &request, &error),
            }
            ticket += 1;
            self.executed.store(ticket, Ordering::Release);
            self.freed();
        }
    }
}

/// Says in the job page what a proxy does, and since when without a break.
struct Busy<'a> {
    slot: Option<&'a WaitSlot>,
    /// 0: it has nothing to do.
    since: u64,
}

impl Busy<'_> {
    fn takes(&mut self, request: &Request, executed: u64) {
        let Some(slot) = self.slot else { return };
        if self.since == 0 {
            self.since = dushmem_os::clock::monotonic_ns();
        }
        slot.show(Some((request.record(executed), self.since)));
    }

    fn ends(&mut self) {
        self.since = 0;
        self.slot.into_iter().for_each(|slot| slot.show(None));
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.ends();
    }
}

/// Ends the job: nobody is there to get the error.
fn fail(world: &World, request: &Request, error: &Error) -> ! {
    let Request { pe, block, thread, .. } = *request;
    let whom = if pe >= 0 { format!(" to PE {pe}") } else { String::new() };
    let block = if block == 0xff_ffff { "16777215 or more".to_owned() } else { block.to_string() };
    let call = format!("{} in a kernel{whom} (block {block}, thread {thread})", request.call());
    process::fail(world, &call, error)
}

/// A proxy that runs. Dropped: it executes what has been posted, and ends.
#[derive(Debug)]
pub struct Proxy {
    shared: Arc<Shared>,
    world: Arc<World>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Starts the proxy of a PE, with a ring in this memory.
    pub fn start(world: &Arc<World>, memory: Memory, wake: Wake) -> Result<Proxy> {
        // A proxy for each PE of the node.
        let policy = SpinPolicy::new(2 * world.n_pes() as usize, cpus(world.settings()));
        let shared = Arc::new(Shared {
            memory,
            done: Doorbell::new(),
            executed: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            policy,
            boot: Arc::clone(world.boot()),
            owner: Owner::this_process(),
        });
        shared.memory.set_host(Arc::as_ptr(&shared) as u64);
        let (for_thread, for_world) = (Arc::clone(&shared), Arc::clone(world));
        let thread = std::thread::Builder::new()
            .name("dushmem-proxy".into())
            .stack_size(256 << 10)
            .spawn(move || for_thread.run(&for_world, wake))
            .map_err(|e| Error::System {
                what: "starting the proxy's thread".into(),
                why: dushmem_os::reason::reason(&e),
            })?;
        world.policy().count_thread(1);
        world.proxy().set(Some(Arc::clone(&shared)));
        Ok(Proxy { shared, world: Arc::clone(world), thread: Some(thread) })
    }

    /// What producers use.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        if self.shared.owner.is_forked_child() {
            // The thread is the parent's.
            std::mem::forget(thread);
            return;
        }
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.memory.bell().ring();
        let _ = thread.join();
        self.world.proxy().set(None);
        self.world.policy().count_thread(-1);
    }
}

/// Where a world finds its proxy.
#[derive(Debug, Default)]
pub struct Slot {
    present: AtomicBool,
    shared: Mutex<Option<Arc<Shared>>>,
}

impl Slot {
    fn set(&self, shared: Option<Arc<Shared>>) {
        let mut slot = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        self.present.store(shared.is_some(), Ordering::Release);
        *slot = shared;
    }

    /// Waits until what kernels have posted so far has been executed.
    #[inline(always)]
    pub(crate) fn settle(&self) {
        if self.present.load(Ordering::Acquire) {
            self.settle_slow();
        }
    }

    #[cold]
    fn settle_slow(&self) {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(shared) = shared {
            shared.settle();
        }
    }
}

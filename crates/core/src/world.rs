//! One PE's view of its job.
mod target;

use crate::bootstrap::Bootstrap;
use crate::buffers::Buffers;
use crate::card;
use crate::coll::device_slot::DeviceSlot;
use crate::coll::slot::{TeamSlot, small_limit};
use crate::context::Context;
use crate::device::Device;
use crate::device_heap::stream_bytes;
use crate::diary::Diary;
use crate::env::{DebugLevel, Hidden, Settings, TransportKind};
use crate::error::{Call, Error, Result};
use crate::heap::alloc::Allocator;
use crate::job::{PeState, WaitSlot};
use crate::laps::Laps;
use crate::lock::LocalLocks;
use crate::statics::{self, Refusal};
use crate::sync::tag;
use crate::team::{Team, Teams};
use crate::transport::{Transport, loopback::Loopback, shm::Shm};
use crate::wait::{Doorbell, SpinPolicy};
use crate::window::{Layout, Window};
use dushmem_os::memory;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// What [`World`] is ready for, in one word that the data path reads anyway.
mod stage {
    /// Not any more.
    pub const OVER: u8 = 0;
    /// All memory is the host's.
    pub const HOST: u8 = 1;
    /// There are devices with memory of their own: addresses need a closer look.
    pub const DEVICES: u8 = 2;
}

/// What a skin decides about its PEs.
#[derive(Clone, Copy, Debug, Default)]
pub struct InitOptions {
    /// C globals are symmetric unless the environment says otherwise.
    pub static_data: bool,
    /// The PE is a thread among others of its process: no globals, no fixed addresses.
    pub thread_pe: bool,
    /// The device whose memory the PEs use, where it has some.
    pub device: Option<&'static dyn Device>,
}

/// Own addresses of the internals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Internals {
    pub doorbell: usize,
    pub slots: usize,
    pub device_slots: usize,
    /// Words for streams, where there are devices.
    pub streams: usize,
}

/// One PE's view of its job. All methods may be called from any thread, collectives of one team from one
/// thread at a time.
#[derive(Debug)]
pub struct World {
    // What the data path reads comes first.
    /// One of [`stage`].
    stage: AtomicU8,
    me: usize,
    n: usize,
    mapped: bool,
    window: Arc<Window>,
    internals: Internals,
    default_context: Context,
    policy: SpinPolicy,
    transport: Box<dyn Transport>,
    world_team: OnceLock<Arc<Team>>,
    teams: Teams,
    heap: Mutex<Allocator>,
    /// Allocations of size zero, which do not synchronise.
    empty_calls: AtomicU64,
    contexts: AtomicU32,
    team_ids: AtomicU64,
    registered: Buffers,
    diary: Diary,
    turns: AtomicUsize,
    locks: LocalLocks,
    proxy: crate::proxy::Slot,
    devices: crate::device_heap::Slot,
    statics: Option<Refusal>,
    layout: Layout,
    settings: Settings,
    /// What init did, step by step.
    start: Mutex<Laps>,
    /// A thread that registers the process for `membarrier`.
    registration: Mutex<Option<std::thread::JoinHandle<bool>>>,
    boot: Arc<dyn Bootstrap>,
}

impl World {
    /// Joins the job that `boot` knows of. Collective over all its PEs.
    pub fn init(boot: Arc<dyn Bootstrap>, settings: &Settings, options: InitOptions) -> Result<Arc<World>> {
        let (me, n) = boot.place();
        crate::env::keep(&settings.names);
        if settings.attach_delay > 0 {
            let (pid, seconds) = (dushmem_os::fault::pid(), settings.attach_delay);
            dushmem_os::say::say(&format!(
                "dushmem: PE {me} is process {pid} and waits {seconds} s for a debugger"
            ));
            std::thread::sleep(std::time::Duration::from_secs(seconds));
        }
        let mut laps = Laps::begin();
        let wants_static = !options.thread_pe && settings.static_data.unwrap_or(options.static_data);
        let offered = if wants_static { statics::offer() } else { Err(Refusal::Off) };
        let offer = offered.clone().unwrap_or_default();
        let device = options.device.filter(|device| device.has_memory());
        laps.lap("globals");
        // The kernel takes 10 to 25 ms for this in a process that has threads, as one with a device does: nobody waits for it.
        // Until it is done a ring of this PE's may come between another's last look and its sleep, and costs that one a nap.
        let registration = device.and_then(|_| {
            let named = std::thread::Builder::new().name("dushmem-init".into());
            named.spawn(dushmem_os::futex::register_membarrier).ok()
        });
        let cards = card::exchange(&*boot, settings, &offered, &offer, device)?;
        laps.lap("cards");
        let same_image = cards.iter().all(|c| c.flags & 1 != 0 && c.static_identity == offer.identity);
        let moved = cards.iter().map(|c| c.moved).max().unwrap_or(0);
        let (fd, page) = boot.node_memory();
        let streams = device.map_or(0, |_| stream_bytes(n));
        let layout = Layout {
            pes: n,
            reserved: crate::job::JobPage::reserved(page.pes()),
            // Globals that an earlier init has moved stay where they are, also if this one does not want them.
            static_area: statics::area(if same_image { offer.len } else { moved as usize }),
            internals: memory::page()
                + settings.team_slots * (size_of::<TeamSlot>() + DeviceSlot::bytes(n) + streams),
            heap: (settings.heap_size as usize).next_multiple_of(memory::page()),
        };
        let window = Window::map(fd, me, &layout, settings.equal_addresses && !options.thread_pe);
        let placed = match offered {
            Err(refusal) => Err(refusal),
            Ok(_) if !same_image => Err(Refusal::OtherExecutable),
            Ok(_) if window.is_err() => Err(Refusal::System),
            Ok(offer) => statics::share(&offer, fd, layout.statics_at(me)),
        };
        laps.lap("window");
        // What one PE can't have, none can. Nobody writes to a PE's globals before they have been moved.
        let verdicts = boot.allgather(&[u8::from(window.is_ok()), u8::from(placed.is_ok())]);
        laps.lap("verdicts");
        let mut window = window?;
        if let Some(pe) = verdicts.iter().position(|verdict| verdict[0] == 0) {
            return Err(Error::Bootstrap(format!("PE {pe} could not map the symmetric memory and stops")));
        }
        let statics = match placed {
            Ok(placed) if verdicts.iter().all(|verdict| verdict[1] == 1) => {
                window.set_placed(placed);
                None
            }
            Ok(_) => Some(Refusal::System),
            Err(refusal) => Some(refusal),
        };
        let window = Arc::new(window);
        let slice = window.slice() as usize;
        let slots = slice + memory::page();
        let device_slots = slots + settings.team_slots * size_of::<TeamSlot>();
        let streams = device_slots + settings.team_slots * DeviceSlot::bytes(n);
        let at = window.offset_in_file(slots, &layout).unwrap_or(0);
        boot.node_memory().1.card(me).set_team_slots(at, settings.team_slots as u64);
        let internals = Internals { doorbell: slice, slots, device_slots, streams };
        let policy = SpinPolicy::new(n, card::cpus(settings));
        let fewest = cards.iter().map(|card| card.cpus as usize).min().unwrap_or(1);
        crate::placement::spread(&policy, Arc::clone(&boot), me);
        let transport: Box<dyn Transport> = match settings.transport {
            TransportKind::Shm => Box::new(Shm::new(Arc::clone(&window))),
            TransportKind::Loopback => {
                policy.count_thread(1);
                let seed = settings.loopback_seed.wrapping_mul(0x1_0001).wrapping_add(me as u64);
                Box::new(Loopback::new(Arc::clone(&window), internals.doorbell, seed))
            }
        };
        if registration.is_none() {
            dushmem_os::futex::register_membarrier();
        }
        let mapped = (0..n).all(|pe| transport.maps(pe));
        let world = Arc::new(World {
            stage: AtomicU8::new(if device.is_some() { stage::DEVICES } else { stage::HOST }),
            me,
            n,
            mapped,
            window,
            internals,
            default_context: Context::new(0, n, None, 0, mapped),
            policy,
            transport,
            world_team: OnceLock::new(),
            teams: Teams::new(settings.team_slots, small_limit(n, fewest)),
            heap: Mutex::new(Allocator::new(layout.heap, layout.heap_at())),
            empty_calls: AtomicU64::new(0),
            contexts: AtomicU32::new(1),
            team_ids: AtomicU64::new(0),
            registered: Buffers::default(),
            diary: Diary::open(settings, me),
            turns: AtomicUsize::new(0),
            locks: LocalLocks::default(),
            proxy: crate::proxy::Slot::default(),
            devices: crate::device_heap::Slot::new(device),
            statics,
            layout,
            settings: settings.clone(),
            start: Mutex::new(laps),
            registration: Mutex::new(registration),
            boot,
        });
        let everybody = world.make_predefined_teams();
        let _ = world.world_team.set(everybody);
        world.start().lap("teams");
        if device.is_some() {
            world.devices.belong_to(&world);
            world.bind_device(Call::Init, false)?;
            world.start().lap("device");
        }
        world.boot.report(PeState::Joined);
        Ok(world)
    }

    /// Leaves the job. Collective over all PEs; every later call fails. The memory stays mapped until the
    /// last reference to this world is dropped.
    pub fn finalize(&self) -> Result<()> {
        self.check_alive()?;
        if let Some(heap) = self.device_heap() {
            self.unregister_all_buffers()?;
            heap.device().leave()?;
        }
        // Whatever context it was issued on: nothing may arrive in memory that has been given back.
        self.transport.drain();
        crate::order::full_barrier();
        // A PE that is somewhere else will not come to the barrier below: then nobody leaves.
        self.synchronise(self.world_team(), Call::Finalize, tag(&[Call::Finalize as u64]), 0)?;
        let all_made = self.check_for_lost_calls();
        self.stage.store(stage::OVER, Ordering::Release);
        let registration = self.registration.lock().unwrap_or_else(PoisonError::into_inner).take();
        // No thread outlives the library's use.
        let _ = registration.map(std::thread::JoinHandle::join);
        // The synchronisation's own memory is given back below: wait until nobody looks at it any more.
        let closed = self.device_heap().map_or(Ok(()), |heap| heap.close_peers(self));
        self.boot.barrier();
        if let Some(heap) = self.device_heap() {
            heap.close();
            // Address space of one PE's device may have held all of it.
            self.boot.barrier();
        }
        if let Some(stride) = self.layout.stride() {
            let (fd, _) = self.boot.node_memory();
            let at = self.layout.slices_at() + (self.me * stride) as u64;
            let _ = memory::punch(fd, at, (self.layout.heap_at() + self.layout.heap) as u64);
        }
        self.boot.report(PeState::Finalized);
        self.note(DebugLevel::Info, || "finalized".into());
        all_made.and(closed)
    }

    /// This PE's number.
    #[inline(always)]
    pub fn my_pe(&self) -> i32 {
        self.me as i32
    }

    /// Number of PEs.
    #[inline(always)]
    pub fn n_pes(&self) -> i32 {
        self.n as i32
    }

    /// False after finalize.
    #[inline(always)]
    pub fn is_alive(&self) -> bool {
        self.stage.load(Ordering::Relaxed) != stage::OVER
    }

    /// True for an address in this PE's heap in a device's memory.
    #[inline(always)]
    pub(crate) fn is_on_device(&self, addr: usize) -> bool {
        self.has_devices() && self.device_heap().is_some_and(|heap| heap.contains(addr, 1))
    }

    /// True where there are devices with memory of their own.
    #[inline(always)]
    pub(crate) fn has_devices(&self) -> bool {
        self.stage.load(Ordering::Relaxed) == stage::DEVICES
    }

    /// True where all peers are reached by load and store.
    pub fn is_mapped(&self) -> bool {
        self.mapped
    }

    /// Name of the transport in use.
    pub fn transport_name(&self) -> &'static str {
        self.transport.name()
    }

    /// What the environment said at init.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// How this PE waits.
    pub fn policy(&self) -> &SpinPolicy {
        &self.policy
    }

    /// What this PE was started by.
    pub fn boot(&self) -> &Arc<dyn Bootstrap> {
        &self.boot
    }

    /// Whether C globals are symmetric: `None` if so, otherwise why not.
    pub fn statics(&self) -> Option<Refusal> {
        self.statics
    }

    /// The context of calls that name none.
    #[inline(always)]
    pub fn default_context(&self) -> &Context {
        &self.default_context
    }

    /// A new context with the PE numbers of `team` (`None`: the world) and the bits of
    /// [`crate::context::options`].
    pub fn create_context(&self, team: Option<Arc<Team>>, options: i64) -> Result<Context> {
        self.check_alive()?;
        crate::context::options::check(options)?;
        let id = self.contexts.fetch_add(1, Ordering::Relaxed);
        let team = team.filter(|team| team.slot() != 0);
        self.note(DebugLevel::Trace, || format!("context {id} of options {options:#x}"));
        Ok(Context::new(id, self.n, team, options, self.mapped))
    }

    /// Ends a context: completes what was issued on it.
    pub fn destroy_context(&self, ctx: &Context) -> Result<()> {
        self.quiet(ctx)
    }

    /// The team of all PEs.
    #[inline]
    pub fn world_team(&self) -> &Team {
        match self.world_team.get() {
            Some(team) => team,
            None => unreachable!("made at init"),
        }
    }

    /// Teams that a PE can be a member of.
    pub fn team_slots(&self) -> usize {
        self.settings.team_slots
    }

    pub(crate) fn teams(&self) -> &Teams {
        &self.teams
    }

    /// The mapped memory.
    pub fn window(&self) -> &Window {
        &self.window
    }

    pub(crate) fn internals(&self) -> Internals {
        self.internals
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(crate) fn transport(&self) -> &dyn Transport {
        &*self.transport
    }

    pub(crate) fn heap(&self) -> MutexGuard<'_, Allocator> {
        self.heap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, unless a thread of this PE is at it.
    pub(crate) fn heap_at_rest(&self) -> Option<MutexGuard<'_, Allocator>> {
        self.heap.try_lock().ok()
    }

    pub(crate) fn locks(&self) -> &LocalLocks {
        &self.locks
    }

    pub(crate) fn empty_calls(&self) -> u64 {
        self.empty_calls.load(Ordering::Relaxed)
    }

    pub(crate) fn set_empty_calls(&self, count: u64) {
        self.empty_calls.store(count, Ordering::Relaxed);
    }

    pub(crate) fn count_empty_call(&self) {
        self.empty_calls.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn registered(&self) -> &Buffers {
        &self.registered
    }

    /// Where the proxy of kernels is, if one runs.
    #[inline(always)]
    pub(crate) fn proxy(&self) -> &crate::proxy::Slot {
        &self.proxy
    }

    /// True where kernels may load and store PE `pe`'s memory themselves.
    pub fn kernels_reach(&self, pe: usize) -> bool {
        let hidden = match self.settings.hidden {
            Hidden::Nobody => false,
            Hidden::Others => pe != self.me,
            Hidden::All => true,
        };
        self.transport.maps(pe) && !hidden
    }

    pub(crate) fn devices(&self) -> &crate::device_heap::Slot {
        &self.devices
    }

    /// What init did.
    pub(crate) fn start(&self) -> MutexGuard<'_, Laps> {
        self.start.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn diary(&self) -> &Diary {
        &self.diary
    }

    pub(crate) fn next_team_id(&self) -> u64 {
        self.team_ids.fetch_add(1, Ordering::Relaxed)
    }

    /// An error after finalize.
    #[inline(always)]
    pub fn check_alive(&self) -> Result<()> {
        if self.is_alive() { Ok(()) } else { Err(Error::NotInitialised) }
    }

    /// Another starting point each time. Scattered: with plain counting, calls that alternate between two
    /// sets of two words would begin at the same word of a set each time.
    pub(crate) fn next_turn(&self) -> usize {
        let turn = self.turns.fetch_add(1, Ordering::Relaxed) as u64;
        (tag(&[turn]) >> 8) as usize
    }

    /// A test that failed is usually repeated: where PEs outnumber CPUs, let another one run first.
    pub(crate) fn failed_test(&self) {
        if crate::wait::in_fiber() || self.policy.crowded() {
            crate::wait::give_way();
        }
    }

    /// Rings PE `pe`'s bell after a store to its memory.
    #[inline(always)]
    pub fn ring(&self, pe: usize) {
        // SAFETY: the doorbell lies in mapped internals, for which all-zero bytes are valid.
        unsafe { &*(self.window.peer(self.internals.doorbell, pe) as *const Doorbell) }.ring();
    }

    pub(crate) fn doorbell(&self) -> &Doorbell {
        // SAFETY: as in `ring`.
        unsafe { &*(self.internals.doorbell as *const Doorbell) }
    }

    /// The slot in which the calling thread notes what it waits for.
    pub(crate) fn wait_slot(&self) -> &WaitSlot {
        crate::job::wait_slot(&*self.boot)
    }
}

//! The job of this process: one PE a process, initialised and finalized as often as the program likes.
use crate::context::Ctx;
use crate::front;
use crate::name::{Family, Name};
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, Ordering};
use dushmem_backends::UniqueId;
use dushmem_core::bootstrap::Bootstrap;
use dushmem_core::env::{Settings, variable};
use dushmem_core::error::{Error, Result};
use dushmem_core::fastpath::FastPath;
use dushmem_core::process::Place;
use dushmem_core::world::{InitOptions, World};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

/// Release of the library.
pub const VERSION: [i32; 3] = [
    number(env!("CARGO_PKG_VERSION_MAJOR")),
    number(env!("CARGO_PKG_VERSION_MINOR")),
    number(env!("CARGO_PKG_VERSION_PATCH")),
];

const fn number(digits: &str) -> i32 {
    let (mut value, mut at) = (0, 0);
    while at < digits.len() {
        value = value * 10 + (digits.as_bytes()[at] - b'0') as i32;
        at += 1;
    }
    value
}

/// The world between init and the last finalize.
static WORLD: AtomicPtr<World> = AtomicPtr::new(core::ptr::null_mut());

/// Whether this process is about to exit and has ended the job's other PEs.
static EXITING: AtomicBool = AtomicBool::new(false);

/// Whether the library has been finalized before.
static LEFT: AtomicBool = AtomicBool::new(false);

/// How often the job has been joined.
static JOINED: AtomicU32 = AtomicU32::new(0);

/// What the inline functions of the headers read.
static RECORD: FastPath = FastPath::new();

/// Where they find it. Programs may get a copy of this pointer, never of the record.
#[unsafe(export_name = "dushmem_fast_path_v1")]
static RECORD_POINTER: &FastPath = &RECORD;

#[derive(Default)]
struct Job {
    world: Option<Arc<World>>,
    place: Option<Place>,
    /// What the job is reached by, from the first init on.
    boot: Option<Arc<dyn Bootstrap>>,
    /// Which is what the program said, not what started it.
    told: bool,
    /// Calls of init without their finalize.
    uses: u32,
    thread_level: i32,
}

static JOB: Mutex<Job> =
    Mutex::new(Job { world: None, place: None, boot: None, told: false, uses: 0, thread_level: 0 });

/// In a forked child, what stands for [`JOB`], which some thread of the parent may have held at the fork.
static CHILDS_JOB: AtomicPtr<Mutex<Job>> = AtomicPtr::new(core::ptr::null_mut());

/// In a forked child that has not called init itself: the parent's PE. Else -1.
static FORKED_FROM: AtomicI32 = AtomicI32::new(-1);

static WATCHES_FORKS: Once = Once::new();

fn job_of_process() -> &'static Mutex<Job> {
    // SAFETY: null, or what `after_fork_child` leaked.
    unsafe { CHILDS_JOB.load(Ordering::Acquire).as_ref() }.unwrap_or(&JOB)
}

fn job() -> MutexGuard<'static, Job> {
    job_of_process().lock().unwrap_or_else(PoisonError::into_inner)
}

/// A forked child shares the parent's memory, and would count as the PE where it joined in a barrier: it is
/// no PE, until it calls init and is a job of its own.
extern "C" fn after_fork_child() {
    let Some(world) = world() else { return };
    FORKED_FROM.store(world.my_pe(), Ordering::Relaxed);
    RECORD.withdraw();
    WORLD.store(core::ptr::null_mut(), Ordering::Release);
    dushmem_core::process::forked();
    CHILDS_JOB.store(Box::leak(Box::new(Mutex::new(Job::default()))), Ordering::Release);
}

extern "C" fn around_fork() {}

/// The PE that this process was forked from, where it is no PE itself.
pub fn forked_from() -> Option<i32> {
    Some(FORKED_FROM.load(Ordering::Relaxed)).filter(|pe| *pe >= 0)
}

/// The world, if the library is initialised.
#[inline(always)]
pub fn world() -> Option<&'static World> {
    // SAFETY: points to the world that `JOB` owns, or is null. The last finalize, after which it goes away,
    // may not be concurrent with other calls: that is the program's part.
    unsafe { WORLD.load(Ordering::Acquire).as_ref() }
}

/// The same, for what outlives the call.
pub fn shared_world() -> Option<Arc<World>> {
    job().world.clone()
}

/// What the job is reached by. `None` before the first init and in the middle of one.
pub fn boot() -> Option<Arc<dyn Bootstrap>> {
    let job = job_of_process().try_lock().ok()?;
    job.boot.clone()
}

/// This PE's number, as soon as it is known.
pub fn place() -> Option<usize> {
    boot().map(|boot| boot.place().0)
}

/// True after the last finalize.
pub fn was_initialised() -> bool {
    LEFT.load(Ordering::Relaxed)
}

/// How often the job has been joined.
pub fn times_joined() -> u32 {
    JOINED.load(Ordering::Relaxed)
}

/// True between init and the last finalize.
pub fn is_initialised() -> bool {
    world().is_some()
}

/// The thread level that init provided.
pub fn thread_level() -> i32 {
    job().thread_level
}

/// How a program says which job it is a PE of.
#[derive(Clone, Copy)]
pub enum By<'a> {
    /// Not at all: by what started it, or as before.
    Start,
    /// By a unique id, its number, and the number of PEs.
    Id(&'a UniqueId, i32, i32),
    /// By the address of an MPI communicator.
    Mpi(*const c_void),
}

impl By<'_> {
    fn connect(self, job: &Job) -> Result<Arc<dyn Bootstrap>> {
        match (self, &job.boot) {
            (By::Start, Some(before)) if job.told => Ok(Arc::clone(before)),
            (By::Start, _) => dushmem_backends::connect(),
            (By::Id(id, rank, nranks), _) => dushmem_backends::connect_by_id(id, rank, nranks),
            // SAFETY: the program's communicator.
            (By::Mpi(communicator), _) => unsafe { dushmem_backends::connect_by_mpi(communicator) },
        }
    }

    /// A job that has been joined is the one that is meant.
    fn check(self, world: &World) -> Result<()> {
        let (me, n) = (world.my_pe(), world.n_pes());
        match self {
            By::Id(_, rank, nranks) if (rank, nranks) != (me, n) => Err(Error::Bootstrap(format!(
                "myrank = {rank}, nranks = {nranks}: this process is initialised already, as PE {me} of {n}; finalize \
                 as often as init was called before it joins another job"
            ))),
            _ => Ok(()),
        }
    }
}

/// Joins the job, or counts one more use; provides at least the thread level `requested`.
pub fn enter(name: Name, requested: i32, by: By<'_>) -> Result<i32> {
    if !(0..=3).contains(&requested) {
        let why = "no thread level; there are THREAD_SINGLE to THREAD_MULTIPLE";
        return Err(Error::BadValue { arg: "requested", value: requested.into(), why });
    }
    let begun = std::time::Instant::now();
    let mut job = job();
    job.thread_level = if job.uses == 0 { requested } else { job.thread_level.max(requested) };
    if let Some(world) = &job.world {
        by.check(world)?;
    } else {
        let family = name.family();
        let place = Place::process()?;
        let boot = by.connect(&job)?;
        job.told |= !matches!(by, By::Start);
        job.boot = Some(Arc::clone(&boot));
        let settings = Settings::read(family.variables(), &variable)?;
        let units = crate::modules::count();
        let device = dushmem_backends::choose(settings.device, units)?;
        crate::modules::give_to(device)?;
        let static_data = family == Family::Shmem;
        let options = InitOptions { static_data, thread_pe: false, device: Some(device) };
        let world = World::init(boot, &settings, options)?;
        dushmem_core::process::set_global_exit(crate::ops::setup::end);
        device.attach(&world, world.n_pes() as usize)?;
        JOINED.fetch_add(1, Ordering::Relaxed);
        world.greet(begun);
        if world.my_pe() == 0 && units > 0 && !device.has_memory() {
            let why =
                dushmem_backends::choice(settings.device, units).map_or_else(|e| e.to_string(), |c| c.why);
            let why = why.strip_prefix("the program has kernels for a GPU, but ").unwrap_or(&why);
            dushmem_os::say::say(&format!(
                "dushmem: this program has kernels for a GPU, and does not run on one ({why}): kernels that call the \
                 library, and calls on streams, end with an error; compile with dushcc to run all of it on the CPU"
            ));
        }
        WORLD.store(Arc::as_ptr(&world).cast_mut(), Ordering::Release);
        // With memory of devices about, the library has to look at every address.
        if !device.has_memory() && !front::is_taken((&raw const RECORD).cast()) {
            RECORD.publish(&world);
        }
        job.world = Some(world);
        job.place = Some(place);
        FORKED_FROM.store(-1, Ordering::Relaxed);
        WATCHES_FORKS.call_once(|| {
            dushmem_os::fault::at_fork(around_fork, around_fork, after_fork_child);
        });
    }
    job.uses += 1;
    Ok(job.thread_level)
}

/// From here on nothing waits for the other PEs any more. False from the second call on.
pub fn begin_exit() -> bool {
    !EXITING.swap(true, Ordering::AcqRel)
}

/// Counts one use less; the last one leaves the job. Nothing in a forked child, whose exit handlers, the
/// parent's, may come here, and nothing in the exit handlers of a PE that ends the job.
pub fn leave() -> Result<()> {
    if forked_from().is_some() || EXITING.load(Ordering::Acquire) {
        return Ok(());
    }
    let mut job = job();
    let Some(world) = job.world.clone() else { return Err(Error::NotInitialised) };
    if job.uses > 1 {
        job.uses -= 1;
        drop(job);
        return world.barrier_all();
    }
    RECORD.withdraw();
    // What streams still do with the heap comes first.
    dushmem_backends::device().detach(&world);
    // Pending operations of every context are completed, then the contexts go.
    for context in Ctx::leave_all(|_| true) {
        world.destroy_context(&context)?;
    }
    let left = world.finalize();
    WORLD.store(core::ptr::null_mut(), Ordering::Release);
    LEFT.store(true, Ordering::Relaxed);
    *job = Job { boot: job.boot.take(), told: job.told, ..Job::default() };
    left
}

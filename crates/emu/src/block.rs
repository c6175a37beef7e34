//! The threads of one block, as fibers on one OS thread.
//!
//! A fiber runs GPU threads one after another: one that never waits gives its stack to the next, so a
//! plain kernel needs one stack. A thread that waits keeps its fiber, and another fiber goes on with the
//! threads that haven't begun. Fibers never change their OS thread: compilers keep addresses of
//! thread-local variables. Idle fibers stay with their OS thread for its next block.
use crate::grid::{Dim3, Grid};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use dushmem_core::wait::{Yielded, set_give_way};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

mod parts;
pub use parts::sync_part;

/// Where the compiled program keeps its `threadIdx` and companions: thread-local variables of the image
/// that holds the kernel. The scheduler writes them before a GPU thread runs on.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Place {
    /// Bytes of this struct, as the library knows it: the program fills in no more.
    pub size: usize,
    /// `threadIdx`
    pub thread: *mut Dim3,
    /// `blockIdx`
    pub block: *mut Dim3,
    /// `blockDim`
    pub block_dim: *mut Dim3,
    /// `gridDim`
    pub grid_dim: *mut Dim3,
    /// First byte of the block's dynamic shared memory.
    pub shared: *mut *mut c_void,
    /// True while the OS thread runs a kernel: names for host and device then mean the device's.
    pub in_kernel: *mut bool,
}

impl Place {
    /// A place that names nothing yet.
    pub const NONE: Place = Place {
        size: size_of::<Place>(),
        thread: ptr::null_mut(),
        block: ptr::null_mut(),
        block_dim: ptr::null_mut(),
        grid_dim: ptr::null_mut(),
        shared: ptr::null_mut(),
        in_kernel: ptr::null_mut(),
    };
}

/// Stack of a GPU thread. Pages cost memory when touched.
const STACK: usize = 256 << 10;
/// Fibers that an OS thread keeps between blocks.
const KEEP_FIBERS: usize = 1024;
/// Alignment of dynamic shared memory, as the devices have it.
const SHARED_ALIGN: usize = 128;

/// Why a fiber came back to the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pause {
    /// No GPU thread is left to begin: the fiber is idle.
    Idle,
    /// Its GPU thread waits for others of the block; they resume it.
    Rendezvous,
    /// Its GPU thread looks again at something when the others have run.
    Again,
}

type Fiber = Coroutine<*mut Block, Pause, (), DefaultStack>;

/// A fiber with GPU threads of the block.
struct Slot {
    /// None when it has run out of threads.
    fiber: Option<Fiber>,
    /// Where it suspends.
    yielder: *const Yielder<*mut Block, Pause>,
    /// The thread that it runs.
    index: Dim3,
}

impl Slot {
    /// The slot whose fiber runs, by address: the scheduler holds a reference to its fiber meanwhile, so no
    /// reference to the whole slot may be made.
    ///
    /// # Safety
    /// `block` is the active block, and the caller runs in one of its fibers.
    unsafe fn current(block: *mut Block) -> *mut Slot {
        // SAFETY: as the caller promises; `current` is a valid index.
        unsafe { (*block).slots.as_mut_ptr().add((*block).current as usize) }
    }
}

/// A block that is being run. Lives on the stack of [`run`].
struct Block {
    grid: *const Grid,
    place: Place,
    dims: Dim3,
    threads: u32,
    /// Threads that have begun, and that have returned.
    begun: u32,
    returned: u32,
    /// Threads at the barrier, and which fibers wait there.
    arrived: u32,
    at_barrier: Vec<u32>,
    ready: VecDeque<u32>,
    slots: Vec<Slot>,
    /// Parts that have synchronised: few blocks have any.
    parts: Vec<parts::Part>,
    /// The slot whose fiber runs.
    current: u32,
    /// Counts everything that may end somebody's wait.
    progress: u64,
    /// Since when nothing has happened: the waiting fibers look again for a while before they sleep.
    idle_since: Option<Instant>,
}

/// What an OS thread keeps between blocks.
#[derive(Default)]
struct Kit {
    fibers: Vec<Fiber>,
    shared: Vec<u8>,
    at_barrier: Vec<u32>,
    ready: VecDeque<u32>,
    slots: Vec<Slot>,
}

impl Drop for Kit {
    fn drop(&mut self) {
        self.fibers.drain(..).for_each(end);
    }
}

thread_local! {
    static ACTIVE: Cell<*mut Block> = const { Cell::new(ptr::null_mut()) };
    static KIT: RefCell<Kit> = RefCell::new(Kit::default());
}

/// True in a GPU thread.
pub fn inside() -> bool {
    !ACTIVE.get().is_null()
}

/// Runs block `index` of the grid to its end on the calling OS thread.
pub(crate) fn run(grid: &Grid, index: Dim3, place: Place) {
    let mut kit = KIT.take();
    let shared = shared_memory(&mut kit.shared, grid.shared_bytes());
    // SAFETY: the place holds addresses of the calling thread's variables, or Rust's own.
    unsafe {
        place.block.write(index);
        place.block_dim.write(grid.block_dim());
        place.grid_dim.write(grid.grid_dim());
        place.shared.write(shared.cast());
        place.in_kernel.write(true);
    }
    let mut block = Block {
        grid,
        place,
        dims: grid.block_dim(),
        threads: grid.block_dim().count() as u32,
        begun: 0,
        returned: 0,
        arrived: 0,
        at_barrier: std::mem::take(&mut kit.at_barrier),
        ready: std::mem::take(&mut kit.ready),
        slots: std::mem::take(&mut kit.slots),
        parts: Vec::new(),
        current: 0,
        progress: 0,
        idle_since: None,
    };
    let outer = ACTIVE.replace(&raw mut block);
    let hook = set_give_way(Some(give_way));
    schedule(&raw mut block, &mut kit.fibers);
    set_give_way(hook);
    ACTIVE.set(outer);
    // SAFETY: as above.
    unsafe { place.in_kernel.write(!outer.is_null()) };
    kit.at_barrier = block.at_barrier;
    kit.ready = block.ready;
    kit.slots = block.slots;
    kit.slots.clear();
    let surplus = kit.fibers.len().saturating_sub(KEEP_FIBERS);
    kit.fibers.drain(..surplus).for_each(end);
    KIT.set(kit);
}

fn shared_memory(buffer: &mut Vec<u8>, bytes: usize) -> *mut u8 {
    if buffer.len() < bytes + SHARED_ALIGN {
        *buffer = vec![0; bytes + SHARED_ALIGN];
    }
    let base = buffer.as_mut_ptr();
    base.wrapping_add(base.align_offset(SHARED_ALIGN))
}

/// Resumes fibers until every thread of the block has returned. Threads that haven't begun come first:
/// those that wait may wait for them.
fn schedule(block: *mut Block, idle: &mut Vec<Fiber>) {
    loop {
        // SAFETY: only this OS thread touches the block, and no reference is kept across a resume.
        let slot = unsafe {
            let block = &mut *block;
            if block.begun < block.threads {
                let fiber = Some(idle.pop().unwrap_or_else(new_fiber));
                let slot = block.slots.len() as u32;
                block.slots.push(Slot { fiber, yielder: ptr::null(), index: Dim3::new(0, 0, 0) });
                slot
            } else if let Some(slot) = block.ready.pop_front() {
                slot
            } else {
                break;
            }
        };
        // SAFETY: as above. The slots don't move while a fiber runs: only this loop adds one.
        let fiber: *mut Option<Fiber> = unsafe {
            let block = &mut *block;
            block.current = slot;
            let slot = &mut block.slots[slot as usize];
            block.place.thread.write(slot.index);
            &mut slot.fiber
        };
        // SAFETY: as above; a running fiber doesn't touch its own entry.
        let paused = match unsafe { (*fiber).as_mut() } {
            Some(fiber) => fiber.resume(block),
            None => continue,
        };
        match paused {
            CoroutineResult::Yield(Pause::Rendezvous) => {}
            // SAFETY: as above.
            CoroutineResult::Yield(Pause::Again) => unsafe { (*block).ready.push_back(slot) },
            // SAFETY: as above.
            CoroutineResult::Yield(Pause::Idle) => idle.extend(unsafe { (*fiber).take() }),
            CoroutineResult::Return(()) => {}
        }
    }
}

/// Fibers of the process. Each stack takes two of the mappings that the kernel allows a process (65,530).
static FIBERS: AtomicU32 = AtomicU32::new(0);
const MAX_FIBERS: u32 = 28_000;

/// True if there can be stacks for so many GPU threads more, should all of them wait.
pub(crate) fn room_for(threads: u64) -> bool {
    u64::from(FIBERS.load(Ordering::Relaxed)) + threads <= u64::from(MAX_FIBERS)
}

/// Ends an idle fiber: a fiber must not be dropped while suspended, and a null block tells it to return.
fn end(mut fiber: Fiber) {
    fiber.resume(ptr::null_mut());
    FIBERS.fetch_sub(1, Ordering::Relaxed);
}

fn new_fiber() -> Fiber {
    FIBERS.fetch_add(1, Ordering::Relaxed);
    let stack = DefaultStack::new(STACK).unwrap_or_else(|error| {
        // No caller could go on: threads of this block already wait for the one that can't begin.
        dushmem_os::say::say(&format!("dushmem: no stack of {STACK} bytes for a GPU thread: {error}"));
        std::process::abort();
    });
    Coroutine::with_stack(stack, |yielder: &Yielder<*mut Block, Pause>, mut block: *mut Block| {
        while !block.is_null() {
            // SAFETY: the scheduler resumes idle fibers with the block that it runs.
            unsafe { run_threads(yielder, block) };
            block = yielder.suspend(Pause::Idle);
        }
    })
}

/// Runs threads that haven't begun until none is left.
///
/// # Safety
/// `block` is the active block of this OS thread.
unsafe fn run_threads(yielder: &Yielder<*mut Block, Pause>, block: *mut Block) {
    // SAFETY: `block` is valid as the caller promises. References end before any call of user code.
    unsafe {
        let slot = Slot::current(block);
        (*slot).yielder = yielder;
        let grid = (*block).grid;
        while (*block).begun < (*block).threads {
            let index = (*block).dims.at((*block).begun);
            (*block).begun += 1;
            (*block).progress += 1;
            (*slot).index = index;
            (*block).place.thread.write(index);
            (*grid).call();
            (*block).returned += 1;
            (*block).progress += 1;
            if !(*block).parts.is_empty() {
                parts::leave(&mut *block, index);
            }
            release_if_complete(&mut *block);
        }
    }
}

/// Lets the threads at the barrier go when all that haven't returned are there. They are those that have
/// begun and those that will: a thread that hasn't begun holds the barrier up.
fn release_if_complete(block: &mut Block) {
    if block.arrived == 0 || block.arrived < block.threads - block.returned {
        return;
    }
    block.arrived = 0;
    block.progress += 1;
    let Block { at_barrier, ready, .. } = block;
    ready.extend(at_barrier.drain(..));
}

/// `__syncthreads`: waits for all threads of the block that haven't returned. Does nothing outside a kernel.
pub fn sync_threads() {
    let block = ACTIVE.get();
    if block.is_null() {
        return;
    }
    // SAFETY: the active block of this OS thread; no reference is kept across the suspend.
    unsafe {
        {
            let block = &mut *block;
            block.arrived += 1;
            block.progress += 1;
            if block.arrived == block.threads - block.returned {
                release_if_complete(block);
                return;
            }
            block.at_barrier.push(block.current);
        }
        suspend(block, Pause::Rendezvous);
    }
}

/// Times that a loop of GPU threads gives the CPU away before its OS thread sleeps a little each time.
const YIELDS: u32 = 16;
const NAP: Duration = Duration::from_micros(50);

/// Lets the other threads of the block run once; where all of them wait, other OS threads. For loops of
/// GPU threads that wait for something by looking at it again and again.
pub fn yield_thread() {
    thread_local! {
        static IDLE: Cell<u32> = const { Cell::new(0) };
    }
    if inside() && give_way() == Yielded::Ran {
        IDLE.set(0);
        return;
    }
    IDLE.set(IDLE.get().saturating_add(1));
    if IDLE.get() <= YIELDS || !inside() { dushmem_os::cpu::yield_now() } else { std::thread::sleep(NAP) }
}

/// # Safety
/// `block` is the active block, and one of its fibers calls.
unsafe fn suspend(block: *mut Block, pause: Pause) {
    // SAFETY: the yielder lives on the running fiber's stack; `current` is restored by the scheduler.
    unsafe {
        let yielder = (*Slot::current(block)).yielder;
        (*yielder).suspend(pause);
    }
}

/// How long the fibers of a block look again before their OS thread sleeps, where CPUs are free.
const LOOK_AGAIN: Duration = Duration::from_micros(20);

/// What a wait of the engine does in a GPU thread.
fn give_way() -> Yielded {
    let block = ACTIVE.get();
    if block.is_null() {
        return Yielded::Idle;
    }
    // SAFETY: the active block of this OS thread; no reference is kept across the suspend.
    unsafe {
        let (before, alone) = {
            let block = &mut *block;
            (block.progress, block.ready.is_empty() && block.begun == block.threads)
        };
        if !alone {
            suspend(block, Pause::Again);
        }
        let block = &mut *block;
        if block.progress != before {
            block.idle_since = None;
            return Yielded::Ran;
        }
        if !crate::device::policy().crowded() {
            let now = Instant::now();
            if now.duration_since(*block.idle_since.get_or_insert(now)) < LOOK_AGAIN {
                return Yielded::Ran;
            }
        }
        block.idle_since = None;
        (*block.grid).a_block_waits();
        Yielded::Idle
    }
}

/// The position in the grid of the calling GPU thread, for messages: kernel, block, thread.
pub fn describe() -> Option<(String, Dim3, Dim3)> {
    let block = ACTIVE.get();
    if block.is_null() {
        return None;
    }
    // SAFETY: the active block of this OS thread.
    unsafe {
        let name = (*(*block).grid).name().to_owned();
        Some((name, *(*block).place.block, (*Slot::current(block)).index))
    }
}

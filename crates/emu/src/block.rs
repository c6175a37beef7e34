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
use std::time::{Duration, Instant};

/// Where the compiled program keeps its `threadIdx` and companions: thread-local variables of the image
/// that holds the kernel. The scheduler writes them before a GPU thread runs on.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Place {
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
}

impl Place {
    /// A place that names nothing yet.
    pub const NONE: Place = Place {
        thread: ptr::null_mut(),
        block: ptr::null_mut(),
        block_dim: ptr::null_mut(),
        grid_dim: ptr::null_mut(),
        shared: ptr::null_mut(),
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
    fibers: Vec<Option<Fiber>>,
    /// The fiber that runs, where it suspends, and its GPU thread.
    current: u32,
    yielders: Vec<*const Yielder<*mut Block, Pause>>,
    indices: Vec<Dim3>,
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
    slots: Vec<Option<Fiber>>,
    yielders: Vec<*const Yielder<*mut Block, Pause>>,
    indices: Vec<Dim3>,
}

impl Drop for Kit {
    fn drop(&mut self) {
        for fiber in &mut self.fibers {
            // A null block tells the fiber to return; a fiber must not be dropped while suspended.
            fiber.resume(ptr::null_mut());
        }
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
        fibers: std::mem::take(&mut kit.slots),
        current: 0,
        yielders: std::mem::take(&mut kit.yielders),
        indices: std::mem::take(&mut kit.indices),
        progress: 0,
        idle_since: None,
    };
    let outer = ACTIVE.replace(&raw mut block);
    let hook = set_give_way(Some(give_way));
    schedule(&raw mut block, &mut kit.fibers);
    set_give_way(hook);
    ACTIVE.set(outer);
    kit.at_barrier = block.at_barrier;
    kit.ready = block.ready;
    kit.slots = block.fibers;
    kit.yielders = block.yielders;
    kit.indices = block.indices;
    kit.slots.clear();
    kit.yielders.clear();
    kit.indices.clear();
    while kit.fibers.len() > KEEP_FIBERS {
        if let Some(mut fiber) = kit.fibers.pop() {
            fiber.resume(ptr::null_mut());
        }
    }
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
                let fiber = idle.pop().unwrap_or_else(new_fiber);
                let slot = free_slot(block);
                block.fibers[slot as usize] = Some(fiber);
                slot
            } else if let Some(slot) = block.ready.pop_front() {
                slot
            } else {
                break;
            }
        };
        // SAFETY: as above; the fiber is taken out of the block while it runs.
        let mut fiber = unsafe {
            let block = &mut *block;
            block.current = slot;
            let index = block.indices[slot as usize];
            block.place.thread.write(index);
            block.fibers[slot as usize].take()
        };
        let Some(running) = fiber.as_mut() else { continue };
        let pause = match running.resume(block) {
            CoroutineResult::Yield(pause) => pause,
            CoroutineResult::Return(()) => continue,
        };
        // SAFETY: as above.
        let block = unsafe { &mut *block };
        match pause {
            Pause::Idle => idle.extend(fiber),
            Pause::Rendezvous => block.fibers[slot as usize] = fiber,
            Pause::Again => {
                block.fibers[slot as usize] = fiber;
                block.ready.push_back(slot);
            }
        }
    }
}

fn free_slot(block: &mut Block) -> u32 {
    let slot = block.fibers.len() as u32;
    block.fibers.push(None);
    block.yielders.push(ptr::null());
    block.indices.push(Dim3::new(0, 0, 0));
    slot
}

fn new_fiber() -> Fiber {
    let stack = DefaultStack::new(STACK).unwrap_or_else(|error| {
        // No caller could go on: threads of this block already wait for the one that can't begin.
        eprintln!("dushmem: no stack of {STACK} bytes for a GPU thread: {error}");
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
        let slot = (*block).current as usize;
        (&mut (*block).yielders)[slot] = yielder;
        let grid = (*block).grid;
        while (*block).begun < (*block).threads {
            let index = (*block).dims.at((*block).begun);
            (*block).begun += 1;
            (*block).progress += 1;
            (&mut (*block).indices)[slot] = index;
            (*block).place.thread.write(index);
            (*grid).call();
            (*block).returned += 1;
            (*block).progress += 1;
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
        let slot = {
            let block = &mut *block;
            block.arrived += 1;
            block.progress += 1;
            if block.arrived == block.threads - block.returned {
                release_if_complete(block);
                return;
            }
            let slot = block.current;
            block.at_barrier.push(slot);
            slot
        };
        suspend(block, slot, Pause::Rendezvous);
    }
}

/// Lets the other threads of the block run once. Outside a kernel, lets other OS threads run.
pub fn yield_thread() {
    if give_way() == Yielded::Idle {
        dushmem_os::cpu::yield_now();
    }
}

/// # Safety
/// `block` is the active block, `slot` the fiber that calls.
unsafe fn suspend(block: *mut Block, slot: u32, pause: Pause) {
    // SAFETY: the yielder lives on the running fiber's stack; `current` is restored by the scheduler.
    unsafe {
        let yielder = (&(*block).yielders)[slot as usize];
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
        let (before, slot, alone) = {
            let block = &mut *block;
            (block.progress, block.current, block.ready.is_empty() && block.begun == block.threads)
        };
        if !alone {
            suspend(block, slot, Pause::Again);
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
        let block = &*block;
        let index = *block.place.block;
        Some(((*block.grid).name().to_owned(), index, block.indices[block.current as usize]))
    }
}

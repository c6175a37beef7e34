//! Launches: their limits, and which OS thread runs which block.
//!
//! The thread that runs the stream runs blocks itself. Others help when the launch takes long, when a
//! block waits for something (a block, a PE, the host), and when no block ends for a while because one
//! spins on its own. Up to [`device::RESIDENT_BLOCKS`] blocks of a launch run or wait at a time.
use crate::block::{self, Place};
use crate::device::{self, Threads};
use crate::error::{Code, Failure, Result};
use crate::grid_barrier::GridBarrier;
use crate::random::{self, Permutation, Random};
use crate::urgent::Urgency;
use crate::{board, helpers, os_block};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// Three extents, or a position: x runs fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Dim3 {
    /// Columns.
    pub x: u32,
    /// Rows.
    pub y: u32,
    /// Planes.
    pub z: u32,
}

impl Dim3 {
    /// All three.
    pub const fn new(x: u32, y: u32, z: u32) -> Dim3 {
        Dim3 { x, y, z }
    }

    /// Number of positions.
    pub fn count(self) -> u64 {
        u64::from(self.x) * u64::from(self.y) * u64::from(self.z)
    }

    /// The position with this number, in blocks of these extents.
    #[inline]
    pub(crate) fn at(self, number: u32) -> Dim3 {
        if number < self.x {
            return Dim3::new(number, 0, 0);
        }
        let row = number / self.x;
        Dim3::new(number % self.x, row % self.y, row / self.y)
    }

    /// The number of a position; the inverse of [`Dim3::at`].
    #[inline]
    pub(crate) fn number(self, at: Dim3) -> u32 {
        (at.z * self.y + at.y) * self.x + at.x
    }

    /// The position after this one, in blocks of these extents.
    #[inline]
    pub(crate) fn step(&mut self, dims: Dim3) {
        self.x += 1;
        if self.x == dims.x {
            self.x = 0;
            self.y += 1;
            if self.y == dims.y {
                self.y = 0;
                self.z += 1;
            }
        }
    }

    /// The same as `at` for grids, whose number of blocks can exceed 32 bits.
    #[inline]
    pub(crate) fn at_wide(self, number: u64) -> Dim3 {
        if number < u64::from(self.x) {
            return Dim3::new(number as u32, 0, 0);
        }
        let (x, row) = (number % u64::from(self.x), number / u64::from(self.x));
        Dim3::new(x as u32, (row % u64::from(self.y)) as u32, (row / u64::from(self.y)) as u32)
    }

    fn sides(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

impl From<u32> for Dim3 {
    fn from(x: u32) -> Dim3 {
        Dim3::new(x, 1, 1)
    }
}

impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Dim3 {
        Dim3::new(x, y, 1)
    }
}

impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Dim3 {
        Dim3::new(x, y, z)
    }
}

impl std::fmt::Display for Dim3 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({}, {}, {})", self.x, self.y, self.z)
    }
}

/// What the threads of a grid run.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Called once for each GPU thread.
    pub body: unsafe extern "C" fn(*mut c_void),
    /// Its argument, shared by all GPU threads.
    pub args: *mut c_void,
    /// Called once when the last thread has returned, or the launch has failed.
    pub release: Option<unsafe extern "C" fn(*mut c_void)>,
    /// Gives the place of the calling OS thread.
    pub locate: unsafe extern "C" fn(*mut Place),
}

// SAFETY: whoever launches promises that `body` can run on any thread with `args` (`Grid::new`).
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

/// A launch.
#[derive(Debug)]
pub struct Grid {
    name: Arc<str>,
    kernel: Kernel,
    grid: Dim3,
    block: Dim3,
    shared: usize,
    cooperative: bool,
    /// Each GPU thread has an OS thread.
    os_threads: bool,
    blocks: u64,
    /// Key of the random orders, and that of the blocks.
    seed: Option<(u64, Permutation)>,
    next: AtomicU64,
    ended: AtomicU64,
    workers: AtomicU32,
    crew_called: AtomicBool,
    start: Instant,
    end: Mutex<()>,
    ended_all: Condvar,
    released: AtomicBool,
    barrier: GridBarrier,
    device: u32,
    failed: AtomicBool,
    urgency: Urgency,
}

/// Launches that this process has made: the orders of each are its own.
static LAUNCHES: AtomicU64 = AtomicU64::new(0);

/// A launch that has run this long gets help from other CPUs.
const HELP_AFTER: Duration = Duration::from_micros(50);

impl Grid {
    /// Checks the shape of a launch.
    ///
    /// # Safety
    /// `kernel.body` may be called with `kernel.args` from any OS thread until `release` has been called.
    pub unsafe fn new(
        name: &str,
        kernel: Kernel,
        grid: Dim3,
        block: Dim3,
        shared: usize,
        limit: usize,
    ) -> Result<Grid> {
        let mut made = Grid {
            name: name.into(),
            kernel,
            grid,
            block,
            shared,
            cooperative: false,
            os_threads: false,
            blocks: grid.count(),
            seed: None,
            next: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            workers: AtomicU32::new(1),
            crew_called: AtomicBool::new(false),
            start: Instant::now(),
            end: Mutex::new(()),
            ended_all: Condvar::new(),
            released: AtomicBool::new(false),
            barrier: GridBarrier::default(),
            device: device::current(),
            failed: AtomicBool::new(false),
            urgency: Urgency::default(),
        };
        check_shape(name, grid, block)?;
        made.seed = random::seed().map(|seed| {
            // Launches of one host thread come in the same order in each run.
            let launch = LAUNCHES.fetch_add(1, Ordering::Relaxed);
            let key = Random::new(&[seed, launch]).next();
            (key, Permutation::new(made.blocks, key))
        });
        if shared > limit {
            let remedy = if limit < device::SHARED_OPT_IN && shared <= device::SHARED_OPT_IN {
                "; raise it with the kernel's MaxDynamicSharedMemorySize attribute"
            } else {
                ""
            };
            let detail = format!(
                "{name}: {shared} bytes of dynamic shared memory; a block gets at most {limit}{remedy}"
            );
            return Err(Failure::new(Code::InvalidValue, detail));
        }
        Ok(made)
    }

    /// Has each GPU thread run on an OS thread of its own, if the environment agrees. `compiled`: the kernel's
    /// `__shared__` variables can be shared by OS threads.
    pub fn threads(mut self, compiled: bool) -> Result<Grid> {
        self.os_threads = match (device::threads(), compiled) {
            (None, compiled) => compiled,
            (Some(Threads::Fibers), _) => false,
            (Some(Threads::Os), true) => true,
            (Some(Threads::Os), false) => {
                let detail = format!(
                    "{}: {} = os, but the kernel's __shared__ variables can't be shared by OS threads: compile \
                     all files with dushcc -fdushmem-os-threads",
                    self.name,
                    device::THREADS_VARIABLE
                );
                return Err(Failure::new(Code::InvalidConfiguration, detail));
            }
        };
        Ok(self)
    }

    /// The device of the stream that runs it, where that isn't the calling thread's.
    pub fn on_device(mut self, device: u32) -> Grid {
        self.device = device;
        self
    }

    pub(crate) fn device(&self) -> u32 {
        self.device
    }

    pub(crate) fn threads_in_all(&self) -> u64 {
        self.blocks * self.block.count()
    }

    /// The priority of the stream that runs it.
    pub fn with_priority(mut self, priority: i32) -> Grid {
        self.urgency = Urgency::of(priority);
        self
    }

    /// Ends the grid, and has later calls for its device return the code.
    pub(crate) fn fail(&self, code: Code, what: &str) {
        device::fail(self.device, code, what);
        self.failed.store(true, Ordering::Release);
        self.barrier.wake();
    }

    /// True if a thread of the grid has trapped: none runs on.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Has all blocks run at the same time, so that they can wait for each other.
    pub fn cooperative(mut self) -> Result<Grid> {
        crate::occupancy::check_cooperative(&self.name, self.grid, self.block, self.shared)?;
        let most = u64::from(os_block::MOST_MEMBERS);
        if self.os_threads && self.blocks * self.block.count() > most {
            let detail = format!(
                "{}: {} blocks of {} threads, each an OS thread: a process has at most {most}",
                self.name,
                self.blocks,
                self.block.count()
            );
            return Err(Failure::new(Code::CooperativeLaunchTooLarge, detail));
        }
        self.cooperative = true;
        Ok(self)
    }

    /// The kernel, for launches of the same shape; its arguments aren't released with this launch.
    pub(crate) fn into_kernel(self) -> Kernel {
        self.released.store(true, Ordering::Relaxed);
        self.kernel
    }

    /// True if all blocks run at the same time.
    pub(crate) fn is_cooperative(&self) -> bool {
        self.cooperative
    }

    /// One thread of each block calls this, and returns when all blocks have.
    pub(crate) fn meet(&self) {
        self.barrier.meet(self.blocks, &self.failed);
    }

    /// The kernel's name as the program wrote it.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn shared_name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// What the watch shows about the launch.
    pub(crate) fn launch(&self) -> board::Launch {
        board::Launch { name: self.shared_name(), block: self.block }
    }

    pub(crate) fn grid_dim(&self) -> Dim3 {
        self.grid
    }

    pub(crate) fn block_dim(&self) -> Dim3 {
        self.block
    }

    pub(crate) fn shared_bytes(&self) -> usize {
        self.shared
    }

    /// Runs one GPU thread.
    ///
    /// # Safety
    /// The place of the calling OS thread names that thread.
    #[inline]
    pub(crate) unsafe fn call(&self) {
        // SAFETY: `Grid::new`'s contract.
        unsafe { (self.kernel.body)(self.kernel.args) }
    }

    /// Runs the whole grid; returns when its last block has ended.
    pub fn run(mut self) {
        if self.blocks == 1 {
            self.run_blocks();
            return self.release();
        }
        self.start = Instant::now();
        let grid = Arc::new(self);
        grid.urgency.begin();
        helpers::watch(&grid);
        if grid.cooperative {
            for _ in 1..grid.blocks {
                grid.add_worker();
            }
        }
        grid.work();
        let mut guard = grid.end.lock().unwrap_or_else(|e| e.into_inner());
        while grid.ended.load(Ordering::Acquire) < grid.blocks {
            guard = grid.ended_all.wait(guard).unwrap_or_else(|e| e.into_inner());
        }
        drop(guard);
        // Here, not when the last reference goes: who waits for the stream may rely on it.
        grid.release();
    }

    fn release(&self) {
        if let (Some(release), false) = (self.kernel.release, self.released.swap(true, Ordering::AcqRel)) {
            // SAFETY: no GPU thread is left, and this is the only call.
            unsafe { release(self.kernel.args) };
        }
    }

    pub(crate) fn place(&self) -> Place {
        let mut place = Place::NONE;
        // SAFETY: `locate` fills in the place of the calling thread (`Grid::new`'s contract).
        unsafe { (self.kernel.locate)(&mut place) };
        place
    }

    fn run_blocks(&self) -> u64 {
        if self.os_threads { os_block::run(self) } else { block::run(self, self.place()) }
    }

    /// Runs blocks until none is left to begin.
    pub(crate) fn work(self: &Arc<Self>) {
        let ended = self.run_blocks();
        if self.ended.fetch_add(ended, Ordering::AcqRel) + ended == self.blocks {
            drop(self.end.lock());
            self.ended_all.notify_all();
        }
    }

    /// The number of the block that the calling OS thread, which has run so many, runs next.
    #[inline]
    pub(crate) fn begin_block(&self, ended: u64) -> Option<u64> {
        self.urgency.give_way();
        let position = self.next.fetch_add(1, Ordering::Relaxed);
        if position + 1 >= self.blocks {
            self.urgency.end();
            if position >= self.blocks {
                return None;
            }
        }
        // A look at the clock costs as much as a small block.
        if self.blocks > 1
            && self.seed.is_none()
            && (ended.is_power_of_two() || ended.is_multiple_of(16))
            && !self.crew_called.load(Ordering::Relaxed)
        {
            self.call_crew_if_late();
        }
        Some(self.seed.map_or(position, |(_, order)| order.at(position)))
    }

    /// Blocks that haven't begun.
    pub(crate) fn not_begun(&self) -> u64 {
        self.blocks.saturating_sub(self.next.load(Ordering::Relaxed))
    }

    /// No block begins any more. Gives how many haven't.
    pub(crate) fn give_up(&self) -> u64 {
        self.blocks.saturating_sub(self.next.swap(self.blocks, Ordering::Relaxed))
    }

    /// What decides about the order of threads in this block, where a seed is set.
    #[inline]
    pub(crate) fn random(&self, number: u64) -> Option<Random> {
        self.seed.map(|(key, _)| Random::new(&[key, number]))
    }

    #[cold]
    fn call_crew_if_late(&self) {
        if self.start.elapsed() > HELP_AFTER && !self.crew_called.swap(true, Ordering::Relaxed) {
            for _ in 1..device::parallel_blocks() {
                helpers::add_worker_to(self);
            }
        }
    }

    /// One OS thread more, unless all blocks have begun or as many run as a device has room for.
    pub(crate) fn add_worker(self: &Arc<Self>) {
        let room = if self.os_threads { os_block::room_for } else { block::room_for };
        if self.next.load(Ordering::Relaxed) >= self.blocks || !room(self.block.count()) {
            return;
        }
        let add = |workers| (workers < device::RESIDENT_BLOCKS).then_some(workers + 1);
        if self.workers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok() {
            helpers::start(Arc::clone(self));
        }
    }

    /// A block has nothing to do until somebody outside acts: the next one begins elsewhere.
    pub(crate) fn a_block_waits(&self) {
        if self.blocks > 1 && self.next.load(Ordering::Relaxed) < self.blocks {
            helpers::add_worker_to(self);
        }
    }

    /// How many times the watch looks before it takes a block for one that spins. Blocks that run at the same time
    /// come in no order that a seed could repeat.
    pub(crate) fn patience(&self) -> u32 {
        if self.seed.is_some() { 50 } else { 1 }
    }

    /// Blocks that have begun, and whether some haven't: what the watch goes by. Where a block ends, another one
    /// begins.
    pub(crate) fn state(&self) -> (u64, bool) {
        let begun = self.next.load(Ordering::Relaxed);
        (begun, begun < self.blocks)
    }
}

impl Drop for Grid {
    fn drop(&mut self) {
        self.release();
    }
}

fn check_shape(name: &str, grid: Dim3, block: Dim3) -> Result<()> {
    let bad = |what: &str, is: Dim3, why: String| {
        let detail = format!("{name}: {what} {is}: {why}");
        Err(Failure::new(Code::InvalidConfiguration, detail))
    };
    for (what, is, limits) in [("grid", grid, device::MAX_GRID), ("block", block, device::MAX_BLOCK)] {
        for (side, (have, most)) in is.sides().into_iter().zip(limits).enumerate() {
            let side = ["x", "y", "z"][side];
            if have == 0 {
                return bad(what, is, format!("{side} is 0"));
            }
            if have > most {
                return bad(what, is, format!("{side} is at most {most}"));
            }
        }
    }
    let most = u64::from(device::MAX_THREADS_PER_BLOCK);
    if block.count() > most {
        return bad("block", block, format!("{} threads; a block has at most {most}", block.count()));
    }
    Ok(())
}

//! The threads of one block, as fibers on one OS thread.
//!
//! A fiber runs GPU threads one after another: one that never waits gives its stack to the next, so a
//! plain kernel needs one stack; it goes on with the next block, too. A thread that waits keeps its fiber, and
//! another fiber goes on with the threads that haven't begun. A fiber that gives way switches straight to the
//! next. Fibers never change their OS thread: compilers keep addresses of thread-local variables. Idle fibers
//! stay with their OS thread for its next block.
use crate::board::{Board, Slot, What, lock, pack, unpack};
use crate::error::Code;
use crate::fiber::{self, Stack};
use crate::grid::{Dim3, Grid};
use crate::random::Random;
use crate::warp::{Came, Meeting, Warps};
use crate::{os_block, watch};
use dushmem_core::wait::{Giving, Yielded, set_give_way};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

pub(crate) use crate::fiber::room_for;

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

    /// What is the same for all blocks of the grid that this OS thread runs.
    ///
    /// # Safety
    /// The place holds addresses of the calling thread's variables.
    pub(crate) unsafe fn enter(&self, grid: &Grid, shared: *mut u8) {
        // SAFETY: as the caller promises.
        unsafe {
            self.block_dim.write(grid.block_dim());
            self.grid_dim.write(grid.grid_dim());
            self.shared.write(shared.cast());
            self.in_kernel.write(true);
        }
    }

    /// The calling OS thread runs no GPU thread any more.
    ///
    /// # Safety
    /// As for [`Place::enter`].
    pub(crate) unsafe fn leave(&self) {
        // SAFETY: as the caller promises.
        unsafe { self.in_kernel.write(false) };
    }
}

/// Most threads of a block, and most fibers of an OS thread.
const MOST: usize = crate::device::MAX_THREADS_PER_BLOCK as usize;
/// Alignment of dynamic shared memory, as the devices have it.
const SHARED_ALIGN: usize = 128;

/// Fibers that can go on, first come, first served. Each is in it once at most.
#[derive(Debug)]
struct Ready {
    ring: Box<[u16; MOST]>,
    head: u32,
    tail: u32,
}

impl Extend<u32> for Ready {
    fn extend<T: IntoIterator<Item = u32>>(&mut self, slots: T) {
        slots.into_iter().for_each(|slot| self.push(slot as u16));
    }
}

impl Ready {
    fn len(&self) -> u32 {
        self.tail.wrapping_sub(self.head)
    }

    fn push(&mut self, slot: u16) {
        self.ring[self.tail as usize % MOST] = slot;
        self.tail = self.tail.wrapping_add(1);
    }

    /// The one that comes after so many others.
    fn peek(&self, after: u32) -> Option<u16> {
        (self.len() > after).then(|| self.ring[self.head.wrapping_add(after) as usize % MOST])
    }

    fn pop(&mut self) -> Option<u16> {
        (self.head != self.tail).then(|| {
            let slot = self.ring[self.head as usize % MOST];
            self.head = self.head.wrapping_add(1);
            slot
        })
    }

    /// The one at this place of the queue; the first one takes its place.
    fn take(&mut self, nth: u32) -> Option<u16> {
        let at = self.head.wrapping_add(nth) as usize % MOST;
        self.ring.swap(at, self.head as usize % MOST);
        self.pop()
    }
}

/// What an OS thread that runs blocks has: the block that it runs, and the fibers for it. Its address stays,
/// since fibers hold it. No reference to it lives across a switch.
struct Block {
    grid: *const Grid,
    place: Place,
    dims: Dim3,
    threads: u32,
    /// Threads that have begun, and that have returned.
    begun: u32,
    returned: u32,
    /// Position of the next one to begin.
    next: Dim3,
    /// The fiber that runs.
    current: u16,
    /// Where the OS thread goes on when no block is left.
    root: *mut u8,
    /// Blocks that have ended since the OS thread began with this grid.
    ended: u64,
    ready: Ready,
    /// Fibers whose threads wait in `__syncthreads`.
    arrived: Vec<u16>,
    idle: Vec<u16>,
    stacks: Vec<Stack>,
    shared: Vec<u8>,
    /// Those of the board.
    slots: *const Slot,
    board: Arc<Board>,
    /// Operations of warps.
    warps: Warps,
    /// Barriers that have let go, and the last of them for which a thread was elected.
    barriers: u64,
    elected: u64,
    /// Threads at the barrier that voted yes; how many did at the last one, and how many were there.
    votes: u32,
    voted: (u32, u32),
    /// Fibers that have looked in vain, in a row, since anything happened.
    looks: u32,
    /// Since when nothing has happened: the waiting fibers look again for a while before they sleep.
    idle_since: Option<Instant>,
    random: Option<Random>,
    /// Numbers of the threads in the order in which they begin, where that is random.
    order: Vec<u16>,
}

impl Drop for Block {
    fn drop(&mut self) {
        Stack::give_back(self.stacks.drain(..));
    }
}

thread_local! {
    static ACTIVE: Cell<*mut Block> = const { Cell::new(ptr::null_mut()) };
    static KEPT: Cell<Option<Box<Block>>> = const { Cell::new(None) };
}

/// True in a GPU thread.
pub fn inside() -> bool {
    !ACTIVE.get().is_null() || os_block::inside()
}

/// Runs blocks of the grid on the calling OS thread until none is left to begin. Gives how many ended here.
pub(crate) fn run(grid: &Grid, place: Place) -> u64 {
    crate::fault::watch_thread();
    let mut block = KEPT.take().unwrap_or_else(Block::new);
    block.grid = grid;
    block.place = place;
    block.dims = grid.block_dim();
    block.threads = grid.block_dim().count() as u32;
    block.ended = 0;
    let shared = shared_memory(&mut block.shared, grid.shared_bytes());
    // SAFETY: the place holds addresses of the calling thread's variables, or Rust's own.
    unsafe { place.enter(grid, shared) };
    *lock(&block.board.launch) = Some(grid.launch());
    block.board.busy.store(true, Relaxed);
    watch::start();
    let kept = Box::into_raw(block);
    let outer = ACTIVE.replace(kept);
    let hook = set_give_way(Some(give_way));
    // SAFETY: only this OS thread uses the block. A fiber comes back here when no block is left.
    unsafe {
        if begin_block(kept) {
            let first = (*kept).fresh();
            (*kept).current = first;
            let to = (*slot_of(kept, first)).sp.load(Relaxed);
            fiber::switch(&raw mut (*kept).root, to);
        }
    }
    set_give_way(hook);
    ACTIVE.set(outer);
    // SAFETY: from `into_raw` above; every fiber is idle or abandoned.
    let mut block = unsafe { Box::from_raw(kept) };
    if block.returned < block.threads {
        block.renew_fibers();
    }
    block.board.busy.store(false, Relaxed);
    *lock(&block.board.launch) = None;
    // SAFETY: as for `enter`.
    unsafe { place.leave() };
    let ended = block.ended;
    KEPT.set(Some(block));
    ended
}

/// Shared memory of so many bytes, aligned as devices align it.
pub(crate) fn shared_memory(buffer: &mut Vec<u8>, bytes: usize) -> *mut u8 {
    if buffer.len() < bytes + SHARED_ALIGN {
        *buffer = vec![0; bytes + SHARED_ALIGN];
    }
    let base = buffer.as_mut_ptr();
    base.wrapping_add(base.align_offset(SHARED_ALIGN))
}

impl Block {
    fn new() -> Box<Block> {
        let board = Board::new(MOST);
        Box::new(Block {
            grid: ptr::null(),
            place: Place::NONE,
            dims: Dim3::new(0, 0, 0),
            threads: 0,
            begun: 0,
            returned: 0,
            next: Dim3::new(0, 0, 0),
            current: 0,
            root: ptr::null_mut(),
            ended: 0,
            ready: Ready { ring: Box::new([0; MOST]), head: 0, tail: 0 },
            arrived: Vec::with_capacity(MOST),
            idle: Vec::with_capacity(MOST),
            stacks: Vec::new(),
            shared: Vec::new(),
            slots: board.slots.as_ptr(),
            board,
            warps: Warps::default(),
            barriers: 0,
            elected: 0,
            votes: 0,
            voted: (0, 0),
            looks: 0,
            idle_since: None,
            random: None,
            order: Vec::new(),
        })
    }

    /// A fiber that goes on with threads that haven't begun.
    fn fresh(&mut self) -> u16 {
        if let Some(slot) = self.idle.pop() {
            return slot;
        }
        let number = self.stacks.len();
        let stack = Stack::new().unwrap_or_else(|error| {
            // No caller could go on: threads of this block already wait for the one that can't begin.
            dushmem_os::say::say(&format!(
                "dushmem: no stack of {} bytes for a GPU thread: {error}; {} makes stacks smaller",
                fiber::stack_bytes(),
                fiber::STACK_VARIABLE
            ));
            dushmem_os::crash::silence();
            std::process::abort();
        });
        let sp = stack.prepare(number, live, self);
        self.board.slots[number].sp.store(sp, Relaxed);
        self.stacks.push(stack);
        number as u16
    }

    /// All fibers are idle again, whatever they were in: their stacks are used anew.
    fn renew_fibers(&mut self) {
        let this: *mut Block = self;
        self.arrived.clear();
        self.idle.clear();
        self.ready.head = self.ready.tail;
        for (number, stack) in self.stacks.iter().enumerate() {
            self.idle.push(number as u16);
            let slot = &self.board.slots[number];
            slot.what.store(0, Relaxed);
            slot.sp.store(stack.prepare(number, live, this), Relaxed);
        }
        self.returned = self.threads;
    }

    /// The fiber to go on with. Threads that haven't begun come first: those that wait may wait for them.
    #[inline]
    fn pick(&mut self) -> Option<u16> {
        let some_left = self.begun < self.threads;
        if let Some(random) = &mut self.random {
            let waiting = self.ready.len();
            let all = waiting + u32::from(some_left);
            let chosen = if all > 1 { random.below(all) } else { 0 };
            return match all {
                0 => None,
                _ if chosen < waiting => self.ready.take(chosen),
                _ => Some(self.fresh()),
            };
        }
        if some_left {
            return Some(self.fresh());
        }
        let next = self.ready.pop();
        if let Some(later) = self.ready.peek(AHEAD) {
            // SAFETY: the number of a stack.
            prefetch(unsafe { (*slot_of(self, later)).sp.load(Relaxed) });
        }
        next
    }

    /// The same where every thread that is left waits for others.
    #[cold]
    fn pick_settled(&mut self) -> u16 {
        if self.settle()
            && let Some(next) = self.pick()
        {
            return next;
        }
        self.stuck()
    }

    /// Says that something has happened that may end somebody's wait.
    #[inline]
    fn progress(&self) {
        let count = &self.board.progress;
        count.store(count.load(Relaxed).wrapping_add(1), Relaxed);
    }

    #[inline]
    fn count_turn(&self) {
        let turns = &self.board.turns;
        turns.store(turns.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// Lets the threads at the barrier go when all that haven't returned are there. They are those that have
    /// begun and those that will: a thread that hasn't begun holds the barrier up.
    #[inline]
    fn release_if_complete(&mut self, arriving: u32) -> bool {
        let there = self.arrived.len() as u32 + arriving;
        if there == 0 || there < self.threads - self.returned {
            return false;
        }
        self.voted = (std::mem::take(&mut self.votes), there);
        self.barriers += 1;
        self.progress();
        let Block { arrived, ready, .. } = self;
        arrived.drain(..).for_each(|slot| ready.push(slot));
        true
    }

    /// Position of the GPU thread that runs.
    fn here(&self) -> Dim3 {
        unpack(self.board.slots[self.current as usize].index.load(Relaxed))
    }

    /// Number of the running GPU thread in its block.
    fn rank(&self) -> u32 {
        self.dims.number(self.here())
    }

    /// Lets lanes go that wait for nobody in particular, as nobody else can run.
    fn settle(&mut self) -> bool {
        let any = self.warps.busy() && self.warps.settle(&mut self.ready);
        if any {
            self.progress();
        }
        any
    }

    /// Every thread that is left waits for others of the block. Nobody can end that.
    #[cold]
    fn stuck(&self) -> ! {
        watch::stuck(&self.board, &self.warps.explain(|number| self.dims.at(number).to_string()))
    }
}

/// So many switches ahead a fiber's stack is fetched: where the block has copied something large, stacks have left
/// the second-level cache.
const AHEAD: u32 = 3;

/// Has the processor fetch what a fiber with this stack pointer needs when it goes on.
#[inline]
fn prefetch(sp: *const u8) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..3 {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch of any address does nothing else.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(sp.wrapping_add(64 * line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = sp;
}

/// A fiber's slot.
///
/// # Safety
/// `block` is a block, and `fiber` the number of one of its stacks, of which there are never more than slots.
#[inline]
unsafe fn slot_of(block: *const Block, fiber: u16) -> *const Slot {
    // SAFETY: as the caller promises.
    unsafe { (*block).slots.add(fiber as usize) }
}

/// The next block of the grid, on the fiber that runs. False when all have begun.
///
/// # Safety
/// `block` is the block of this OS thread, all threads of its last block have returned.
unsafe fn begin_block(block: *mut Block) -> bool {
    // SAFETY: as the caller promises; the grid lives while OS threads work at it.
    let (block, grid) = unsafe { (&mut *block, &*(*block).grid) };
    let Some(number) = grid.begin_block(block.ended) else { return false };
    let index = grid.grid_dim().at_wide(number);
    // SAFETY: the place holds addresses of the calling thread's variables.
    unsafe { block.place.block.write(index) };
    let board = &block.board;
    board.block[0].store(index.x, Relaxed);
    board.block[1].store(index.y, Relaxed);
    board.block[2].store(index.z, Relaxed);
    block.begun = 0;
    block.returned = 0;
    block.next = Dim3::new(0, 0, 0);
    block.progress();
    block.warps.begin(block.threads, crate::device::warp());
    block.barriers = 0;
    block.elected = 0;
    block.votes = 0;
    if let Some(mut random) = grid.random(number) {
        random.shuffle(&mut block.order, block.threads as u16);
        block.random = Some(random);
    } else {
        block.random = None;
    }
    true
}

/// What a fiber does, as long as its OS thread lives.
unsafe extern "C" fn live(block: *mut Block) -> ! {
    loop {
        // SAFETY: whoever switches to a fiber without a thread has made it current. No reference is kept across
        // a switch.
        unsafe {
            run_threads(block);
            if (*block).returned == (*block).threads {
                (*block).ended += 1;
                if begin_block(block) {
                    continue;
                }
                let me = (*block).current;
                (*block).idle.push(me);
                let save = (*slot_of(block, me)).sp.as_ptr();
                fiber::switch(save, (*block).root);
            } else {
                let me = (*block).current;
                (*block).idle.push(me);
                (*slot_of(block, me)).what.store(0, Relaxed);
                leave(block);
            }
        }
    }
}

/// Runs threads that haven't begun until none is left.
///
/// # Safety
/// `block` is the active block of this OS thread.
unsafe fn run_threads(block: *mut Block) {
    // SAFETY: `block` is valid as the caller promises. References end before any call of user code.
    unsafe {
        let slot = slot_of(block, (*block).current);
        let grid = (*block).grid;
        while (*block).begun < (*block).threads {
            {
                let block = &mut *block;
                let index = match &block.random {
                    None => block.next,
                    Some(_) => block.dims.at(u32::from(block.order[block.begun as usize])),
                };
                block.next.step(block.dims);
                block.begun += 1;
                block.board.begun.store(block.begun, Relaxed);
                block.board.returned.store(block.returned, Relaxed);
                (*slot).index.store(pack(index), Relaxed);
                (*slot).what.store(0, Relaxed);
                block.board.current.store(u32::from(block.current), Relaxed);
                block.place.thread.write(index);
            }
            (*grid).call();
            let block = &mut *block;
            block.returned += 1;
            block.progress();
            if !block.arrived.is_empty() {
                block.release_if_complete(0);
            }
            let number = block.rank();
            if block.warps.note_return(number) {
                block.warps.after_return(number, &mut block.ready);
            }
            if let Some(random) = &mut block.random
                && block.ready.len() > 0
                && random.below(2) == 0
            {
                return;
            }
        }
    }
}

/// Goes on with another fiber until somebody switches back: at once where the running one is the next.
///
/// # Safety
/// `block` is the active block of this OS thread, and one of its fibers calls. No reference to it is alive.
#[inline]
unsafe fn leave(block: *mut Block) {
    // SAFETY: as the caller promises.
    unsafe {
        let (save, to) = {
            let block = &mut *block;
            let next = match block.pick() {
                Some(next) => next,
                None => block.pick_settled(),
            };
            let me = block.current;
            if next == me {
                return;
            }
            block.current = next;
            block.board.current.store(u32::from(next), Relaxed);
            block.count_turn();
            let slot = slot_of(block, next);
            block.place.thread.write(unpack((*slot).index.load(Relaxed)));
            ((*slot_of(block, me)).sp.as_ptr(), (*slot).sp.load(Relaxed))
        };
        fiber::switch(save, to);
    }
}

/// Gives way until [`Block::wake`].
///
/// # Safety
/// As for [`leave`].
unsafe fn park(block: *mut Block, what: What) {
    // SAFETY: as the caller promises; a fiber's slot stays its own.
    unsafe {
        let slot = slot_of(block, (*block).current);
        (*slot).what.store(what.0, Relaxed);
        leave(block);
        (*slot).what.store(0, Relaxed);
    }
}

/// Ends the block that the calling GPU thread belongs to: none of its threads runs on, and what objects on their
/// stacks hold is lost. Blocks of the grid that haven't begun never will. Returns where no GPU thread calls.
pub(crate) fn abandon() {
    let block = ACTIVE.get();
    if block.is_null() {
        return os_block::abandon();
    }
    // SAFETY: the active block of this OS thread. Nobody comes back to the running stack.
    unsafe {
        let (save, root) = {
            let block = &mut *block;
            block.ended += 1 + (*block.grid).give_up();
            ((*slot_of(block, block.current)).sp.as_ptr(), block.root)
        };
        fiber::switch(save, root);
    }
}

/// Lets the others run, and comes back.
///
/// # Safety
/// As for [`leave`].
unsafe fn again(block: *mut Block) {
    // SAFETY: as the caller promises.
    unsafe {
        let me = (*block).current;
        (*block).ready.push(me);
        leave(block);
    }
}

/// `__syncthreads`: waits for all threads of the block that haven't returned. Does nothing outside a kernel.
#[inline]
pub fn sync_threads() {
    let active = ACTIVE.get();
    if active.is_null() {
        return os_block::sync_threads();
    }
    // SAFETY: the active block of this OS thread; no reference is kept across the switch.
    unsafe {
        {
            let block = &mut *active;
            if block.release_if_complete(1) {
                if block.random.is_none() {
                    return;
                }
                return again(active);
            }
            block.arrived.push(block.current);
        }
        park(active, What::SYNC_THREADS);
    }
}

/// `__syncthreads` with a vote: how many threads said yes, of how many.
pub fn sync_threads_vote(yes: bool) -> (u32, u32) {
    let block = ACTIVE.get();
    if block.is_null() {
        return os_block::sync_threads_vote(yes);
    }
    // SAFETY: the active block of this OS thread; no reference is kept across the wait. The next barrier
    // lets nobody go before all threads have read this one's votes.
    unsafe {
        (*block).votes += u32::from(yes);
        sync_threads();
        (*block).voted
    }
}

/// `__syncthreads`; then true for one of the block's threads, until the next barrier.
fn sync_and_elect() -> bool {
    sync_threads();
    let block = ACTIVE.get();
    if block.is_null() {
        return os_block::elect();
    }
    // SAFETY: the active block of this OS thread.
    let block = unsafe { &mut *block };
    std::mem::replace(&mut block.elected, block.barriers) != block.barriers
}

/// `__syncthreads`, after which one thread acts for all. Bit 0: the calling one. It runs before the others do, and
/// until it waits; bit 1 says that they may run at the same time, so that they have to be synchronised afterwards.
pub fn sync_once() -> u32 {
    let acts = sync_and_elect();
    u32::from(acts) | u32::from(os_block::inside()) << 1
}

/// Waits for all threads of the grid that haven't returned. An error in a launch that isn't cooperative.
pub fn sync_grid() -> Result<(), &'static str> {
    let Some(grid) = current_grid() else { return Ok(()) };
    // SAFETY: the grid outlives its blocks, and changes through atomics only.
    let grid = unsafe { &*grid };
    if !grid.is_cooperative() {
        return Err("grid sync: the kernel was not launched cooperatively");
    }
    if sync_and_elect() {
        grid.meet();
        if grid.has_failed() {
            abandon();
        }
    }
    sync_threads();
    Ok(())
}

/// True in a cooperative launch.
pub fn cooperative() -> bool {
    // SAFETY: the grid outlives its blocks, and changes through atomics only.
    current_grid().is_some_and(|grid| unsafe { (*grid).is_cooperative() })
}

/// The grid of the calling GPU thread.
fn current_grid() -> Option<*const Grid> {
    let block = ACTIVE.get();
    if block.is_null() {
        return os_block::grid();
    }
    // SAFETY: the active block of this OS thread.
    Some(unsafe { (*block).grid })
}

/// An operation of the calling thread's warp. An error says what is wrong with the call.
///
/// # Safety
/// What the meeting points to is valid.
pub unsafe fn warp_meet(what: &Meeting) -> Result<(), String> {
    let active = ACTIVE.get();
    // SAFETY: the active block of this OS thread; no reference is kept across the switch. The part lies on
    // the stack of the calling fiber, which stays where it is.
    unsafe {
        if active.is_null() {
            return os_block::warp_meet(what);
        }
        let came = {
            let block = &mut *active;
            block.progress();
            block.warps.come(block.rank(), u32::from(block.current), what, &mut block.ready)?
        };
        if came == Came::Waits {
            park(active, What::SYNC_WARP);
        }
    }
    Ok(())
}

/// The grid of the calling GPU thread has failed: its blocks end where they wait, and so says its device.
pub(crate) fn fail_grid(code: Code, what: &str) {
    if let Some(grid) = current_grid() {
        // SAFETY: the grid outlives its blocks, and changes through atomics only.
        unsafe { (*grid).fail(code, what) };
    }
}

/// Ends the process for something that a kernel must not do, after a line that says what, and where.
pub fn fail(what: &str) -> ! {
    let place = position().map(|position| format!("{position}: "));
    dushmem_os::say::say(&format!("{}{}{what}", watch::heading(), place.unwrap_or_default()));
    dushmem_os::crash::silence();
    std::process::abort();
}

/// Times that a loop of GPU threads gives the CPU away before its OS thread sleeps a little each time.
pub(crate) const YIELDS: u32 = 16;
pub(crate) const NAP: Duration = Duration::from_micros(50);

/// Lets the other threads of the block run once; where all of them wait, other OS threads. For loops of
/// GPU threads that wait for something by looking at it again and again.
pub fn yield_thread() {
    thread_local! {
        static IDLE: Cell<u32> = const { Cell::new(0) };
    }
    let block = ACTIVE.get();
    if block.is_null() {
        return os_block::yield_thread();
    }
    if turn(What::YIELD, 0) == Yielded::Ran {
        IDLE.set(0);
    } else {
        IDLE.set(IDLE.get().saturating_add(1));
        if IDLE.get() <= YIELDS { dushmem_os::cpu::yield_now() } else { std::thread::sleep(NAP) }
    }
    // SAFETY: the active block of this OS thread.
    unsafe { (*slot_of(block, (*block).current)).what.store(0, Relaxed) };
}

/// How long the fibers of a block look again before their OS thread sleeps, where CPUs are free.
const LOOK_AGAIN: Duration = Duration::from_micros(20);

/// What a wait of the engine does in a GPU thread.
fn give_way(giving: Giving<'_>) -> Yielded {
    match giving {
        Giving::Wait(record) => turn(What::call(record.call), record.address),
        Giving::Look => turn(What::TEST, 0),
        Giving::Ended => {
            let block = ACTIVE.get();
            if !block.is_null() {
                // SAFETY: the active block of this OS thread.
                unsafe {
                    let block = &*block;
                    block.progress();
                    block.board.slots[block.current as usize].what.store(0, Relaxed);
                }
            }
            Yielded::Ran
        }
    }
}

/// Gives way once. `Idle` when all fibers of the block have looked in vain: their OS thread may sleep.
fn turn(what: What, address: u64) -> Yielded {
    let active = ACTIVE.get();
    if active.is_null() {
        return Yielded::Idle;
    }
    // SAFETY: the active block of this OS thread; no reference is kept across the switch.
    unsafe {
        if (*(*active).grid).has_failed() {
            abandon();
        }
        let (before, alone) = {
            let block = &mut *active;
            let alone = block.ready.len() == 0 && block.begun == block.threads;
            (block.board.progress.load(Relaxed), alone)
        };
        let slot = slot_of(active, (*active).current);
        (*slot).what.store(what.0, Relaxed);
        (*slot).address.store(address, Relaxed);
        if alone {
            (*active).count_turn();
        } else {
            again(active);
        }
        let block = &mut *active;
        if block.board.progress.load(Relaxed) != before {
            block.looks = 0;
            block.idle_since = None;
            (*slot).what.store(0, Relaxed);
            return Yielded::Ran;
        }
        // Each of the others looks before one of them sleeps for all.
        block.looks += 1;
        if block.looks <= block.ready.len() {
            return Yielded::Ran;
        }
        block.looks = 0;
        if block.settle() {
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

/// A GPU thread's position, for messages.
#[derive(Clone, Debug)]
pub struct Position {
    /// The kernel as the program names it.
    pub kernel: Arc<str>,
    /// `blockIdx`
    pub block: Dim3,
    /// `threadIdx`
    pub thread: Dim3,
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "kernel {}, block {}, thread {}", self.kernel, self.block, self.thread)
    }
}

/// The position of the calling GPU thread. Takes no lock and allocates nothing.
pub fn position() -> Option<Position> {
    let block = ACTIVE.get();
    if block.is_null() {
        return os_block::position();
    }
    // SAFETY: the active block of this OS thread, whose grid it works at.
    unsafe {
        let block = &*block;
        Some(Position {
            kernel: (*block.grid).shared_name(),
            block: block.board.block_index(),
            thread: block.here(),
        })
    }
}

/// The GPU thread that runs on the calling OS thread, if `address` is in the page below its stack: it has used
/// that up. For a signal handler on a stack of its own.
pub fn overflow(address: usize) -> Option<Position> {
    let block = ACTIVE.get();
    if block.is_null() {
        return None;
    }
    // SAFETY: the active block of this OS thread; `stacks` changes in `fresh` only, which touches no guard.
    let block = unsafe { &*block };
    let guarded = block.stacks.get(block.current as usize).is_some_and(|stack| stack.guards(address));
    guarded.then(position).flatten()
}

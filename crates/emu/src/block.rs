//! The threads of one block, as fibers on one OS thread.
//!
//! A fiber runs GPU threads one after another: one that never waits gives its stack to the next, so a
//! plain kernel needs one stack; it goes on with the next block, too. A thread that waits keeps its fiber, and
//! another fiber goes on with the threads that haven't begun. A fiber that gives way switches straight to the
//! next. Fibers never change their OS thread: compilers keep addresses of thread-local variables. Idle fibers
//! stay with their OS thread for its next block.
use crate::board::{Board, Slot, What, lock, pack, unpack};
use crate::called::{self, Name, Roll};
use crate::error::Code;
use crate::fiber::{self, Stack};
use crate::grid::{Dim3, Grid};
use crate::random::Random;
use crate::warp::{Came, Meeting, Warps, Wrong};
use crate::{os_block, watch};
use dushmem_core::wait::{Giving, Yielded, set_give_way};
use std::cell::Cell;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

mod calls;
mod place;
mod ready;

pub(crate) use crate::fiber::room_for;
pub use calls::*;
pub use place::Place;
use ready::Ready;

/// Most threads of a block, and most fibers of an OS thread.
const MOST: usize = crate::device::MAX_THREADS_PER_BLOCK as usize;
/// Alignment of dynamic shared memory, as the devices have it.
const SHARED_ALIGN: usize = 128;

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
    /// What they came for.
    roll: Roll,
    /// Where the call's name is, where the program notes none.
    no_call: Name,
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

/// Whether this process has run a kernel.
static KERNELS_HAVE_RUN: AtomicBool = AtomicBool::new(false);

/// A kernel runs.
pub(crate) fn note_kernel() {
    if !KERNELS_HAVE_RUN.load(Relaxed) {
        KERNELS_HAVE_RUN.store(true, Relaxed);
    }
}

/// True in a GPU thread. Costs next to nothing where there are no kernels.
#[inline]
pub fn inside() -> bool {
    KERNELS_HAVE_RUN.load(Relaxed) && (!ACTIVE.get().is_null() || os_block::inside())
}

/// Runs blocks of the grid on the calling OS thread until none is left to begin. Gives how many ended here.
pub(crate) fn run(grid: &Grid, place: Place) -> u64 {
    note_kernel();
    crate::fault::watch_thread();
    // A program may launch while its thread ends, in an exit handler: nothing is kept then.
    let mut block = KEPT.try_with(Cell::take).ok().flatten().unwrap_or_else(Block::new);
    block.grid = grid;
    block.place = place;
    if place.call.is_null() {
        block.place.call = &raw mut block.no_call;
    }
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
    let _ = KEPT.try_with(|kept| kept.set(Some(block)));
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
            ready: Ready::new(),
            arrived: Vec::with_capacity(MOST),
            roll: Roll::default(),
            no_call: Name::NONE,
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
        self.ready.clear();
        for (number, stack) in self.stacks.iter().enumerate() {
            self.idle.push(number as u16);
            let slot = &self.board.slots[number];
            slot.what.store(0, Relaxed);
            slot.set_name(Name::NONE);
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
        if self.roll.is_partial(there < self.threads) {
            self.only_a_part(arriving != 0);
        }
        self.voted = (std::mem::take(&mut self.votes), there);
        self.barriers += 1;
        self.progress();
        let Block { arrived, ready, .. } = self;
        arrived.drain(..).for_each(|slot| ready.push(slot));
        true
    }

    /// The call that the GPU thread is in that runs.
    #[inline]
    fn call(&self) -> Name {
        // SAFETY: the place holds addresses of the OS thread's variables.
        unsafe { self.place.call() }
    }

    /// The running thread comes to the barrier.
    #[inline]
    fn join_roll(&mut self) {
        // SAFETY: the place holds addresses of the OS thread's variables.
        let made = unsafe { self.place.made() };
        self.roll.come(self.arrived.is_empty(), made, u32::from(self.current), &self.board);
    }

    /// Those at the barrier, among which is the running thread if it `arrives`, came for different things.
    #[cold]
    fn only_a_part(&self, arrives: bool) -> ! {
        let slot = &self.board.slots[self.current as usize];
        slot.what.store(if arrives { What::SYNC_THREADS.0 } else { 0 }, Relaxed);
        slot.set_name(self.call());
        called::part_of_block(&self.board, self.threads, self.returned)
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
            if block.warps.note_return(number)
                && let Err(wrong) = block.warps.after_return(number, &mut block.ready)
            {
                wrong.end(&block.board);
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
            let me = block.current;
            (*slot_of(block, me)).set_name(block.call());
            let next = match block.pick() {
                Some(next) => next,
                None => block.pick_settled(),
            };
            if next == me {
                return;
            }
            block.current = next;
            block.board.current.store(u32::from(next), Relaxed);
            block.count_turn();
            let slot = slot_of(block, next);
            block.place.thread.write(unpack((*slot).index.load(Relaxed)));
            block.place.call.write((*slot).name());
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

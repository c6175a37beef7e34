//! What GPU threads call: barriers, operations of warps, waits; and where they are.
use super::*;

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
            block.join_roll();
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
            let (rank, made) = (block.rank(), block.place.made());
            match block.warps.come(rank, u32::from(block.current), what, made, &mut block.ready) {
                Ok(came) => came,
                Err(Wrong::Call(text)) => return Err(text),
                Err(wrong) => wrong.end(&block.board),
            }
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
pub(super) fn give_way(giving: Giving<'_>) -> Yielded {
    match giving {
        Giving::Wait(record) => turn(What::call(record.number()), record.address),
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

/// The call of the library that the calling GPU thread is in.
pub(crate) fn call() -> Name {
    let block = ACTIVE.get();
    if block.is_null() {
        return os_block::call();
    }
    // SAFETY: the active block of this OS thread.
    unsafe { (*block).call() }
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

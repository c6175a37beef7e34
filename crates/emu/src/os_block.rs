//! The threads of a block, each with an OS thread of its own: for kernels whose threads wait for each other in loops
//! on plain memory, which never give way.
//!
//! An OS thread that runs blocks leads a team of others, one for each thread of a block, which stays with it. What
//! the block's threads share (barriers, meetings of warps) is under one lock; a thread that waits sleeps on a word.
//! `__shared__` variables can't be thread-local here: dushcc makes them references into [`Statics`].
mod elsewhere;

use crate::block::{NAP, Place, Position, YIELDS as YIELDS_IN_LOOPS, shared_memory};
use crate::board::{Board, What, lock, pack};
use crate::called::{self, Name, Roll};
use crate::grid::{Dim3, Grid};
use crate::warp::{Came, Meeting, Warps, Wrong};
use crate::{device, fiber, watch};
use dushmem_core::wait::{Giving, Yielded, set_give_way};
use dushmem_os::clock::ThreadClock;
use dushmem_os::futex;
use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

/// OS threads of all teams.
static MEMBERS: AtomicU32 = AtomicU32::new(0);
/// Most of them.
pub(crate) const MOST_MEMBERS: u32 = 4096;

/// Whether there can be so many OS threads more.
pub(crate) fn room_for(threads: u64) -> bool {
    u64::from(MEMBERS.load(Relaxed)) + threads <= u64::from(MOST_MEMBERS)
}

/// The block that a team runs.
#[derive(Clone, Copy)]
struct Job {
    grid: *const Grid,
    threads: u32,
    index: Dim3,
    shared: *mut u8,
}

// SAFETY: the leader keeps the grid and the memory until every member has returned.
unsafe impl Send for Job {}

/// What the threads of the block do to each other.
#[derive(Default)]
struct State {
    threads: u32,
    returned: u32,
    /// Threads at the barrier, which these are, and threads in meetings of warps.
    arrived: u32,
    at_barrier: Vec<u32>,
    /// What those at the barrier came for.
    roll: Roll,
    seated: u32,
    warps: Warps,
    barriers: u64,
    elected: u64,
    votes: u32,
    voted: (u32, u32),
}

// SAFETY: the addresses in it are those of parts of meetings, whose threads wait while they are there.
unsafe impl Send for State {}

/// What a leader and its members share.
struct Team {
    /// Counts the blocks: members sleep until it changes.
    start: AtomicU32,
    /// Threads of the block that haven't returned: the leader sleeps until it is 0.
    left: AtomicU32,
    quit: AtomicBool,
    job: Mutex<Option<Job>>,
    state: Mutex<State>,
    /// Counts the barriers that have let go.
    epoch: AtomicU32,
    /// By thread: 1 when its meeting is over.
    seats: Vec<AtomicU32>,
    /// By thread: the CPU time that it has used.
    clocks: Vec<OnceLock<ThreadClock>>,
    statics: Statics,
    board: Arc<Board>,
}

/// A leader's own: its team, and what only it uses.
struct Lead {
    team: Arc<Team>,
    members: u32,
    shared: Vec<u8>,
}

impl Drop for Lead {
    fn drop(&mut self) {
        self.team.quit.store(true, Release);
        self.team.start.fetch_add(1, AcqRel);
        futex::wake_all(&self.team.start);
    }
}

/// A member at work.
struct Member {
    team: Arc<Team>,
    rank: u32,
    job: Job,
    /// Where its calls are noted.
    place: Place,
    /// Where this member has found shared variables before.
    found: RefCell<Vec<(usize, *mut u8)>>,
    looks: Cell<u32>,
}

thread_local! {
    static LEAD: Cell<Option<Lead>> = const { Cell::new(None) };
    static MEMBER: Cell<*const Member> = const { Cell::new(ptr::null()) };
    /// Shared variables of OS threads that are no members: they run one block at a time.
    static OWN: Statics = Statics::default();
}

fn member() -> Option<&'static Member> {
    let member = MEMBER.get();
    // SAFETY: set while the member lives on this OS thread's stack; no caller keeps it beyond the GPU thread.
    (!member.is_null()).then(|| unsafe { &*member })
}

/// Runs blocks of the grid until none is left to begin. Gives how many ended here.
pub(crate) fn run(grid: &Grid) -> u64 {
    const MOST: usize = device::MAX_THREADS_PER_BLOCK as usize;
    crate::block::note_kernel();
    let mut lead = LEAD.try_with(Cell::take).ok().flatten().unwrap_or_else(|| Lead {
        team: Arc::new(Team {
            start: AtomicU32::new(0),
            left: AtomicU32::new(0),
            quit: AtomicBool::new(false),
            job: Mutex::new(None),
            state: Mutex::default(),
            epoch: AtomicU32::new(0),
            seats: (0..MOST).map(|_| AtomicU32::new(0)).collect(),
            clocks: (0..MOST).map(|_| OnceLock::new()).collect(),
            statics: Statics::default(),
            board: Board::new(MOST),
        }),
        members: 0,
        shared: Vec::new(),
    });
    let threads = grid.block_dim().count() as u32;
    lead.grow(threads);
    let shared = shared_memory(&mut lead.shared, grid.shared_bytes());
    let (team, board) = (&*lead.team, &*lead.team.board);
    *lock(&board.launch) = Some(grid.launch());
    board.os_threads.store(true, Relaxed);
    board.busy.store(true, Relaxed);
    watch::start();
    // They all want a CPU: nobody should spin.
    device::policy().count_thread(threads as i32);
    let mut ended = 0;
    while let Some(number) = grid.begin_block(ended) {
        let index = grid.grid_dim().at_wide(number);
        team.begin(threads, index);
        *lock(&team.job) = Some(Job { grid, threads, index, shared });
        team.left.store(threads, Release);
        team.start.fetch_add(1, AcqRel);
        futex::wake_all(&team.start);
        loop {
            let left = team.left.load(Acquire);
            if left == 0 {
                break;
            }
            futex::wait(&team.left, left, None);
        }
        ended += 1;
    }
    device::policy().count_thread(-(threads as i32));
    board.busy.store(false, Relaxed);
    *lock(&board.launch) = None;
    let _ = LEAD.try_with(|kept| kept.set(Some(lead)));
    ended
}

impl Lead {
    fn grow(&mut self, threads: u32) {
        while self.members < threads {
            let (team, rank) = (Arc::clone(&self.team), self.members);
            let builder = std::thread::Builder::new().name("dushmem thread".into());
            // What has been started so far must not be taken for the next block.
            let seen = team.start.load(Acquire);
            let spawned = builder.stack_size(fiber::stack_bytes()).spawn(move || team.serve(rank, seen));
            if let Err(error) = spawned {
                dushmem_os::say::say(&format!(
                    "dushmem: no OS thread for GPU thread {rank} of a block of {threads}: {error}; smaller blocks, \
                     or -fdushmem-os-threads left out, need fewer"
                ));
                dushmem_os::crash::silence();
                std::process::abort();
            }
            MEMBERS.fetch_add(1, Relaxed);
            self.members += 1;
        }
    }
}

/// Times that a thread gives its CPU away before it sleeps.
const YIELDS: u32 = 4;

/// Sleeps until the word is no longer `old`, or for `limit`.
fn doze(word: &AtomicU32, old: u32, limit: Option<Duration>) -> bool {
    for _ in 0..YIELDS {
        if word.load(Acquire) != old {
            return true;
        }
        dushmem_os::cpu::yield_now();
    }
    while word.load(Acquire) == old {
        futex::wait(word, old, limit);
        if limit.is_some() {
            return word.load(Acquire) != old;
        }
    }
    true
}

impl Team {
    fn begin(&self, threads: u32, index: Dim3) {
        let mut state = lock(&self.state);
        *state = State { threads, warps: std::mem::take(&mut state.warps), ..State::default() };
        state.warps.begin(threads, device::warp());
        let board = &*self.board;
        for (word, side) in board.block.iter().zip([index.x, index.y, index.z]) {
            word.store(side, Relaxed);
        }
        board.begun.store(threads, Relaxed);
        board.returned.store(0, Relaxed);
        board.progress.fetch_add(1, Relaxed);
    }

    /// What a member does until its leader ends.
    fn serve(self: Arc<Self>, rank: u32, mut seen: u32) {
        crate::fault::watch_thread();
        if let Some(clock) = ThreadClock::own() {
            let _ = self.clocks[rank as usize].set(clock);
        }
        loop {
            doze(&self.start, seen, None);
            if self.quit.load(Acquire) {
                MEMBERS.fetch_sub(1, Relaxed);
                return;
            }
            seen = self.start.load(Acquire);
            let job = *lock(&self.job);
            if let Some(job) = job.filter(|job| rank < job.threads) {
                // SAFETY: the leader keeps the grid until `left` is 0.
                unsafe { self.perform(rank, job) };
                if self.left.fetch_sub(1, AcqRel) == 1 {
                    futex::wake_all(&self.left);
                }
            }
        }
    }

    /// # Safety
    /// The job's grid and memory live.
    unsafe fn perform(self: &Arc<Self>, rank: u32, job: Job) {
        // SAFETY: as the caller promises.
        let grid = unsafe { &*job.grid };
        let place: Place = grid.place();
        let index = grid.block_dim().at(rank);
        let slot = &self.board.slots[rank as usize];
        slot.index.store(pack(index), Relaxed);
        slot.what.store(0, Relaxed);
        let (found, looks) = (RefCell::default(), Cell::new(0));
        let member = Member { team: Arc::clone(self), rank, job, place, found, looks };
        // SAFETY: the place holds addresses of this thread's variables.
        unsafe {
            place.enter(grid, job.shared);
            place.block.write(job.index);
            place.thread.write(index);
        }
        MEMBER.set(&member);
        let hook = set_give_way(Some(give_way));
        // SAFETY: the place names the thread.
        unsafe { grid.call() };
        set_give_way(hook);
        MEMBER.set(ptr::null());
        // SAFETY: as above.
        unsafe { place.leave() };
        let mut state = lock(&self.state);
        state.returned += 1;
        self.board.returned.store(state.returned, Relaxed);
        self.board.progress.fetch_add(1, Relaxed);
        if state.warps.note_return(rank) {
            let mut woken = Vec::new();
            if let Err(wrong) = state.warps.after_return(rank, &mut woken) {
                wrong.end(&self.board);
            }
            self.wake(&mut state, &woken);
        }
        if state.arrived != 0 && state.arrived == state.threads - state.returned {
            self.release(&mut state);
        }
        self.check(state);
    }

    fn wake(&self, state: &mut State, woken: &[u32]) {
        for &who in woken {
            let seat = &self.seats[who as usize];
            seat.store(1, Release);
            futex::wake_all(seat);
        }
        state.seated -= woken.len() as u32;
        self.board.progress.fetch_add(1, Relaxed);
    }

    /// The barrier lets all go.
    fn release(&self, state: &mut State) {
        if state.roll.is_partial(state.returned != 0) {
            called::part_of_block(&self.board, state.threads, state.returned);
        }
        state.voted = (std::mem::take(&mut state.votes), state.threads - state.returned);
        state.barriers += 1;
        state.arrived = 0;
        state.at_barrier.clear();
        self.board.progress.fetch_add(1, Relaxed);
        self.epoch.fetch_add(1, AcqRel);
        futex::wake_all(&self.epoch);
    }

    /// Where every thread that is left waits for others of the block, lets those go that wait for nobody in
    /// particular, or ends the process.
    fn check(&self, mut state: MutexGuard<'_, State>) {
        let waiting = state.arrived + state.seated;
        if waiting == 0 || waiting < state.threads - state.returned || self.settle(&mut state) {
            return;
        }
        let dims = lock(&self.board.launch).as_ref().map(|launch| launch.block);
        let spell = |number| dims.map_or_else(String::new, |dims| dims.at(number).to_string());
        watch::stuck(&self.board, &state.warps.explain(spell))
    }

    /// The lanes of a thread's warp that are at the first line go on.
    fn settle_warp(&self, state: &mut State, rank: u32) {
        let mut woken = Vec::new();
        state.warps.settle_warp(rank, &mut woken);
        self.wake(state, &woken);
    }

    fn settle(&self, state: &mut State) -> bool {
        let mut woken = Vec::new();
        let any = state.warps.busy() && state.warps.settle(&mut woken);
        if any {
            self.wake(state, &woken);
        }
        any
    }
}

impl Member {
    fn begin_wait(&self, what: What) {
        let slot = &self.team.board.slots[self.rank as usize];
        slot.set_name(self.call());
        slot.what.store(what.0, Relaxed);
    }

    /// The call of the library that it is in.
    fn call(&self) -> Name {
        // SAFETY: addresses of variables of this OS thread.
        unsafe { self.place.call() }
    }

    fn end_wait(&self) {
        self.begin_wait(What::NOTHING);
    }

    fn sync(&self, yes: bool) {
        let team = &*self.team;
        // Before the lock goes: who finds everybody waiting tells what for.
        self.begin_wait(What::SYNC_THREADS);
        let mut state = lock(&team.state);
        state.votes += u32::from(yes);
        let alone = state.arrived == 0;
        // SAFETY: addresses of variables of this OS thread.
        state.roll.come(alone, unsafe { self.place.made() }, self.rank, &team.board);
        state.arrived += 1;
        if state.arrived == state.threads - state.returned {
            team.release(&mut state);
        } else {
            let epoch = team.epoch.load(Acquire);
            state.at_barrier.push(self.rank);
            team.check(state);
            doze(&team.epoch, epoch, None);
        }
        self.end_wait();
    }
}

/// What waits of the engine do here: they give the CPU away a few times, and sleep.
fn give_way(giving: Giving<'_>) -> Yielded {
    let Some(member) = member() else { return Yielded::Idle };
    let slot = &member.team.board.slots[member.rank as usize];
    match giving {
        Giving::Wait(record) => {
            slot.address.store(record.address, Relaxed);
            member.begin_wait(What::call(record.number()));
            let looks = member.looks.replace(member.looks.get().saturating_add(1));
            if looks < YIELDS {
                dushmem_os::cpu::yield_now();
                return Yielded::Ran;
            }
            if looks == YIELDS {
                // SAFETY: the grid lives while its threads run.
                unsafe { (*member.job.grid).a_block_waits() };
            }
            Yielded::Idle
        }
        Giving::Look => {
            dushmem_os::cpu::yield_now();
            Yielded::Idle
        }
        Giving::Ended => {
            member.looks.set(0);
            slot.what.store(0, Relaxed);
            member.team.board.progress.fetch_add(1, Relaxed);
            Yielded::Ran
        }
    }
}

/// Lets other OS threads run: for loops that look at something again and again.
pub(crate) fn yield_thread() {
    let Some(member) = member() else { return dushmem_os::cpu::yield_now() };
    member.begin_wait(What::YIELD);
    let looks = member.looks.replace(member.looks.get().wrapping_add(1));
    if looks % YIELDS_IN_LOOPS == YIELDS_IN_LOOPS - 1 {
        std::thread::sleep(NAP);
    } else {
        dushmem_os::cpu::yield_now();
    }
    member.end_wait();
}

/// The call of the library that the calling GPU thread is in.
pub(crate) fn call() -> Name {
    member().map_or(Name::NONE, Member::call)
}

pub(crate) fn inside() -> bool {
    !MEMBER.get().is_null()
}

/// `__syncthreads`; nothing outside a GPU thread.
pub(crate) fn sync_threads() {
    if let Some(member) = member() {
        member.sync(false);
    }
}

/// How many threads said yes, of how many.
pub(crate) fn sync_threads_vote(yes: bool) -> (u32, u32) {
    let Some(member) = member() else { return (u32::from(yes), 1) };
    member.sync(yes);
    // The next barrier lets nobody go before this thread is there.
    lock(&member.team.state).voted
}

/// True for one of the block's threads after each barrier.
pub(crate) fn elect() -> bool {
    let Some(member) = member() else { return true };
    let state = &mut *lock(&member.team.state);
    std::mem::replace(&mut state.elected, state.barriers) != state.barriers
}

pub(crate) fn grid() -> Option<*const Grid> {
    member().map(|member| member.job.grid)
}

/// After this time a lane that waits in a meeting without a mask asks where the others are.
const PATIENCE: Duration = Duration::from_millis(10);

/// # Safety
/// What the meeting points to is valid.
pub(crate) unsafe fn warp_meet(what: &Meeting) -> Result<(), String> {
    let Some(member) = member() else {
        // SAFETY: as the caller promises.
        unsafe { what.alone() };
        return Ok(());
    };
    let (team, rank) = (&*member.team, member.rank);
    let seat = &team.seats[rank as usize];
    member.begin_wait(What::SYNC_WARP);
    let mut state = lock(&team.state);
    let mut woken = Vec::new();
    // SAFETY: as the caller promises; the part lies on this thread's stack, and the thread stays here.
    let came = unsafe { state.warps.come(rank, rank, what, member.place.made(), &mut woken) };
    if let Err(wrong @ Wrong::Apart { .. }) = came {
        wrong.end(&team.board);
    }
    team.wake(&mut state, &woken);
    if matches!(came, Ok(Came::Waits)) {
        state.seated += 1;
        team.check(state);
        let limit = (what.mask == 0).then_some(PATIENCE);
        let (threads, width) = (member.job.threads, device::warp());
        let mut mark = None;
        while !doze(seat, 0, limit) {
            let mark = mark.get_or_insert_with(|| team.mark(rank, threads, width));
            let mut state = lock(&team.state);
            let at_barrier = state.at_barrier.iter().filter(|&&other| other / width == rank / width);
            let here =
                at_barrier.fold(state.warps.accounted(rank), |lanes, other| lanes | 1 << (other % width));
            if seat.load(Acquire) == 0 && team.are_elsewhere(mark, rank, threads, width, here) {
                team.settle_warp(&mut state, rank);
            }
            team.renew(mark, rank, threads, width);
        }
        seat.store(0, Release);
    } else {
        drop(state);
    }
    member.end_wait();
    match came {
        Err(Wrong::Call(text)) => Err(text),
        _ => Ok(()),
    }
}

pub(crate) fn position() -> Option<Position> {
    let member = member()?;
    // SAFETY: the grid lives while its threads run.
    let grid = unsafe { &*member.job.grid };
    let thread = grid.block_dim().at(member.rank);
    Some(Position { kernel: grid.shared_name(), block: member.job.index, thread })
}

/// A block whose threads are OS threads can't be abandoned: nobody can take them out of what they are in.
pub(crate) fn abandon() {
    if inside() {
        dushmem_os::say::say(
            "dushmem: a block with an OS thread for each GPU thread (-fdushmem-os-threads) can't go on without one of \
             them: the process ends",
        );
        dushmem_os::crash::silence();
        std::process::abort();
    }
}

/// `__shared__` variables that are no thread-local ones: one of each for a block.
#[derive(Default)]
pub(crate) struct Statics(Mutex<Vec<(usize, *mut u8, Layout)>>);

// SAFETY: memory that it owns.
unsafe impl Send for Statics {}
// SAFETY: as above; the list is under its lock.
unsafe impl Sync for Statics {}

impl Statics {
    fn find(&self, key: usize, layout: Layout) -> *mut u8 {
        let mut all = lock(&self.0);
        if let Some((_, at, _)) = all.iter().find(|one| one.0 == key) {
            return *at;
        }
        // SAFETY: the layout's size isn't 0 (`shared_variable`).
        let at = unsafe { std::alloc::alloc_zeroed(layout) };
        if at.is_null() {
            std::alloc::handle_alloc_error(layout);
        }
        all.push((key, at, layout));
        at
    }
}

impl Drop for Statics {
    fn drop(&mut self) {
        for (_, at, layout) in lock(&self.0).drain(..) {
            // SAFETY: allocated in `find` with this layout.
            unsafe { std::alloc::dealloc(at, layout) };
        }
    }
}

/// The calling block's `__shared__` variable with this key. Its contents are undefined at first. None for an
/// alignment that is no power of two.
pub(crate) fn shared_variable(key: usize, bytes: usize, align: usize) -> Option<*mut u8> {
    let layout = Layout::from_size_align(bytes.max(1), align.max(16)).ok()?;
    let Some(member) = member() else { return Some(OWN.with(|own| own.find(key, layout))) };
    let mut found = member.found.borrow_mut();
    if let Some((_, at)) = found.iter().find(|one| one.0 == key) {
        return Some(*at);
    }
    let at = member.team.statics.find(key, layout);
    found.push((key, at));
    Some(at)
}

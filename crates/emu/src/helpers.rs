//! OS threads that help with the blocks of a launch, and the watch that calls them.
use crate::grid::Grid;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::time::Duration;

struct Pool {
    jobs: VecDeque<Arc<Grid>>,
    idle: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { jobs: VecDeque::new(), idle: 0 });
static WORK: Condvar = Condvar::new();

/// An idle helper ends after this time.
const LINGER: Duration = Duration::from_secs(2);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// Has another OS thread run blocks of the grid.
pub(crate) fn start(grid: Arc<Grid>) {
    let mut pool = lock(&POOL);
    pool.jobs.push_back(grid);
    if pool.idle >= pool.jobs.len() {
        WORK.notify_one();
        return;
    }
    drop(pool);
    let spawned = std::thread::Builder::new().name("dushmem block".into()).spawn(help);
    if let Err(error) = spawned {
        // The job stays queued: a helper that ends its block takes it.
        dushmem_os::say::say(&format!("dushmem: no thread for another block of a kernel: {error}"));
    }
}

fn help() {
    let mut pool = lock(&POOL);
    loop {
        if let Some(grid) = pool.jobs.pop_front() {
            drop(pool);
            grid.work();
            drop(grid);
            pool = lock(&POOL);
            continue;
        }
        pool.idle += 1;
        let (guard, timeout) = WORK.wait_timeout(pool, LINGER).unwrap_or_else(|e| e.into_inner());
        pool = guard;
        pool.idle -= 1;
        if timeout.timed_out() && pool.jobs.is_empty() {
            return;
        }
    }
}

/// Launches whose blocks haven't all begun, with the number that had begun at the last look, and for how many
/// looks that has been so.
struct Watch {
    grids: Vec<(Weak<Grid>, u64, u32)>,
    running: bool,
}

static WATCH: Mutex<Watch> = Mutex::new(Watch { grids: Vec::new(), running: false });
static WATCHED: Condvar = Condvar::new();

/// How often the watch looks. A block that spins by itself holds the next one up for this long.
const LOOK: Duration = Duration::from_millis(4);
/// Looks without a launch after which the watch sleeps until called.
const LOOKS_WITHOUT_WORK: u32 = 250;

/// Starts looking after a launch of several blocks.
pub(crate) fn watch(grid: &Arc<Grid>) {
    let mut watch = lock(&WATCH);
    watch.grids.push((Arc::downgrade(grid), 0, 0));
    if !watch.running {
        watch.running = true;
        let spawned = std::thread::Builder::new().name("dushmem watch".into()).spawn(look);
        watch.running = spawned.is_ok();
    }
}

/// Adds a worker to each launch of which no block has begun since the last look. Ends when there has been
/// nothing to watch for a while.
fn look() {
    let mut without_work = 0;
    let mut watch = lock(&WATCH);
    loop {
        watch = WATCHED.wait_timeout(watch, LOOK).unwrap_or_else(|e| e.into_inner()).0;
        watch.grids.retain_mut(|(grid, begun_before, looks)| {
            let Some(grid) = grid.upgrade() else { return false };
            let (begun, some_left) = grid.state();
            *looks = if begun == *begun_before { *looks + 1 } else { 0 };
            if some_left && *looks >= grid.patience() {
                grid.add_worker();
            }
            *begun_before = begun;
            some_left
        });
        without_work = if watch.grids.is_empty() { without_work + 1 } else { 0 };
        if without_work > LOOKS_WITHOUT_WORK {
            watch.running = false;
            return;
        }
    }
}

/// Finds the launch among the watched ones and adds a worker to it.
pub(crate) fn add_worker_to(grid: &Grid) {
    let found =
        lock(&WATCH).grids.iter().filter_map(|(weak, ..)| weak.upgrade()).find(|g| std::ptr::eq(&**g, grid));
    if let Some(grid) = found {
        grid.add_worker();
    }
}

/// Blocks that haven't begun of the launch with this name, the very same string.
pub(crate) fn not_begun(name: &Arc<str>) -> u64 {
    let grids = lock(&WATCH);
    let mut all = grids.grids.iter().filter_map(|(weak, ..)| weak.upgrade());
    all.find(|grid| Arc::ptr_eq(&grid.shared_name(), name)).map_or(0, |grid| grid.not_begun())
}

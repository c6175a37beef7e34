//! OS threads that run branches of graphs. A branch may wait for another one, so none queues behind another
//! as long as threads can be made.
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

type Job = Box<dyn FnOnce() + Send>;

struct Pool {
    jobs: VecDeque<Job>,
    idle: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { jobs: VecDeque::new(), idle: 0 });
static WORK: Condvar = Condvar::new();

/// An idle thread ends after this time.
const LINGER: Duration = Duration::from_secs(2);

/// Has another OS thread do it.
pub(super) fn start(job: Job) {
    let mut pool = POOL.lock().unwrap_or_else(|e| e.into_inner());
    pool.jobs.push_back(job);
    if pool.idle >= pool.jobs.len() {
        WORK.notify_one();
        return;
    }
    drop(pool);
    if let Err(error) = std::thread::Builder::new().name("dushmem graph".into()).spawn(serve) {
        // The job stays queued: a thread that ends its branch takes it.
        dushmem_os::say::say(&format!("dushmem: no thread for another branch of a graph: {error}"));
    }
}

fn serve() {
    let mut pool = POOL.lock().unwrap_or_else(|e| e.into_inner());
    loop {
        if let Some(job) = pool.jobs.pop_front() {
            drop(pool);
            job();
            pool = POOL.lock().unwrap_or_else(|e| e.into_inner());
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

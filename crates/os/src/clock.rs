//! Monotonic time, and the CPU time of threads.
use std::time::{Duration, Instant};

/// Nanoseconds of `CLOCK_MONOTONIC`: comparable between the processes of one machine.
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// A moment after which a spin should have ended. Reading it costs one vDSO call, about 25 ns.
pub fn now() -> Instant {
    Instant::now()
}

/// The CPU time of a thread, which others may read while it lives.
#[derive(Clone, Copy, Debug)]
pub struct ThreadClock(libc::clockid_t);

impl ThreadClock {
    /// That of the calling thread.
    pub fn own() -> Option<ThreadClock> {
        let mut id = 0;
        // SAFETY: the calling thread lives; `id` is written.
        let failed = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut id) };
        (failed == 0).then_some(ThreadClock(id))
    }

    /// CPU time that the thread has used; zero where it has ended.
    pub fn read(&self) -> Duration {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is written; the kernel refuses the clock of a thread that has ended.
        match unsafe { libc::clock_gettime(self.0, &mut time) } {
            0 => Duration::new(time.tv_sec as u64, time.tv_nsec as u32),
            _ => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threads_clock_counts_its_work_and_not_its_sleep() {
        let clock = ThreadClock::own().unwrap();
        let before = clock.read();
        std::thread::sleep(Duration::from_millis(30));
        let slept = clock.read() - before;
        assert!(slept < Duration::from_millis(25), "{slept:?}");
        // Read by another thread, as it is meant.
        while std::thread::scope(|scope| scope.spawn(|| clock.read()).join().unwrap()) < before + slept * 2 {}
    }
}

//! Futexes on words in memory that several processes map.
use rustix::thread::futex;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::time::Duration;

/// Sleeps while `*word == expected`, at most for `timeout`. Returns for any reason (woken, changed,
/// timed out, signal): the caller looks at its condition again.
pub fn wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
    let limit =
        timeout.map(|t| futex::Timespec { tv_sec: t.as_secs() as i64, tv_nsec: t.subsec_nanos() as i64 });
    let _ = futex::wait(word, futex::Flags::empty(), expected, limit.as_ref());
}

/// Wakes everybody that sleeps on `word`, in any process.
pub fn wake_all(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::empty(), i32::MAX as u32);
}

/// Registers this process for [`order_all_cpus`]. False where the kernel or a seccomp filter refuses.
pub fn register_membarrier() -> bool {
    // SAFETY: membarrier takes no pointers.
    unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0 }
}

/// Whether [`order_all_cpus`] works in this process.
///
/// Threads of the library ask, and a fork may come while one does: a child would wait for ever for a thread that it
/// does not have. So nobody waits here, and two threads may ask the kernel the same.
pub fn is_ordered() -> bool {
    const UNKNOWN: u8 = 0;
    const NO: u8 = 1;
    const YES: u8 = 2;
    static WORKS: AtomicU8 = AtomicU8::new(UNKNOWN);
    match WORKS.load(Ordering::Relaxed) {
        UNKNOWN => {
            let works = register_membarrier() && order_all_cpus();
            WORKS.store(if works { YES } else { NO }, Ordering::Relaxed);
            works
        }
        known => known == YES,
    }
}

/// Makes every running thread of every registered process pass a full memory barrier, so that a
/// writer's "store the data, then load the sleeper word" needs no barrier instruction of its own.
/// False where the call is refused.
pub fn order_all_cpus() -> bool {
    // SAFETY: membarrier takes no pointers.
    unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// The kernel takes its time for the first answer in a process with threads.
    #[test]
    fn a_child_forked_while_a_thread_asks_gets_an_answer() {
        let asks = std::thread::spawn(is_ordered);
        let mut children = Vec::new();
        for _ in 0..20 {
            // SAFETY: the child makes system calls only.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let _ = is_ordered();
                crate::process::exit_now(7);
            }
            assert!(child > 0);
            children.push(child);
            std::thread::sleep(Duration::from_millis(1));
        }
        let began = Instant::now();
        while !children.is_empty() {
            children.retain(|child| {
                let mut status = 0;
                // SAFETY: the status is this frame's.
                let ended = unsafe { libc::waitpid(*child, &mut status, libc::WNOHANG) } == *child;
                assert!(!ended || libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7, "{status:#x}");
                !ended
            });
            if began.elapsed() > Duration::from_secs(20) {
                for child in &children {
                    // SAFETY: a child of this process that nobody has waited for.
                    unsafe { libc::kill(*child, libc::SIGKILL) };
                }
                panic!("{} children wait for a thread of their parent", children.len());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(asks.join().expect("no panic"), is_ordered());
    }
}

//! Futexes on words in memory that several processes map.
use rustix::thread::futex;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;
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
pub fn is_ordered() -> bool {
    static WORKS: OnceLock<bool> = OnceLock::new();
    *WORKS.get_or_init(|| register_membarrier() && order_all_cpus())
}

/// Makes every running thread of every registered process pass a full memory barrier, so that a
/// writer's "store the data, then load the sleeper word" needs no barrier instruction of its own.
/// False where the call is refused.
pub fn order_all_cpus() -> bool {
    // SAFETY: membarrier takes no pointers.
    unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0 }
}

//! Monotonic time.
use std::time::Instant;

/// Nanoseconds of `CLOCK_MONOTONIC`: comparable between the processes of one machine.
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// A moment after which a spin should have ended. Reading it costs one vDSO call, about 25 ns.
pub fn now() -> Instant {
    Instant::now()
}

//! Variables that only some ways to start, or other programs, make use of: dushrun, and the emulator, which can run without
//! a job.
use super::found::{Get, own};
use super::{BootstrapKind, Share, Words};
use crate::error::Result;
use crate::size::Size;
use std::time::Duration;

/// Most devices of the emulator: a bound for absurd values of the variable.
pub const EMU_DEVICES_MAX: u32 = 4096;
/// Bytes of a GPU thread's stack on the CPU where nobody says anything. Pages cost memory when touched.
pub const EMU_STACK: u64 = 256 << 10;
const EMU_STACK_LEAST: u64 = 64 << 10;
const EMU_STACK_MOST: u64 = 1 << 30;
/// After how long a kernel on the CPU that makes no progress is told about where nobody says anything.
pub const EMU_WATCHDOG: Duration = Duration::from_secs(10);
/// Threads of a warp on the CPU where nobody says anything.
pub const EMU_WARP: u32 = 32;

/// What a GPU thread is on the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// A fiber.
    Fibers,
    /// An OS thread.
    Os,
}

impl Words for Threads {
    const WORDS: &'static [(&'static str, Self)] = &[("fibers", Self::Fibers), ("os", Self::Os)];
}

/// How PEs find each other, by `DUSHMEM_BOOTSTRAP`.
pub fn bootstrap(get: Get<'_>) -> Result<BootstrapKind> {
    own("BOOTSTRAP", get).map_or(Ok(BootstrapKind::Auto), |found| {
        found.word("there is no such bootstrap; use auto, launcher or singleton")
    })
}

/// Seconds that a start by a unique id waits for the other PEs, by `DUSHMEM_BOOTSTRAP_TIMEOUT`.
pub fn bootstrap_timeout(get: Get<'_>) -> Result<u64> {
    own("BOOTSTRAP_TIMEOUT", get).map_or(Ok(300), |found| found.number(1, 1 << 31))
}

/// How dushrun has PEs share a GPU, by `DUSHMEM_GPU_SHARE`.
pub fn gpu_share(get: Get<'_>) -> Result<Option<Share>> {
    own("GPU_SHARE", get).map(|found| found.word("write mps, plain or auto, or unset it")).transpose()
}

/// Number of devices of the emulator, by `DUSHMEM_EMU_DEVICES`.
fn emu_devices(get: Get<'_>) -> Result<Option<u64>> {
    own("EMU_DEVICES", get).map(|found| found.number(1, EMU_DEVICES_MAX.into())).transpose()
}

/// The number that the order of threads and blocks of kernels on the CPU follows from, by `DUSHMEM_EMU_SEED`.
pub fn emu_seed(get: Get<'_>) -> Result<Option<u64>> {
    own("EMU_SEED", get).map(|found| found.number(0, u64::MAX)).transpose()
}

/// Bytes of a GPU thread's stack on the CPU, by `DUSHMEM_EMU_STACK`.
pub fn emu_stack(get: Get<'_>) -> Result<u64> {
    let Some(found) = own("EMU_STACK", get) else { return Ok(EMU_STACK) };
    match found.bare_size()? {
        bytes if (EMU_STACK_LEAST..=EMU_STACK_MOST).contains(&bytes) => Ok(bytes),
        _ => {
            let (least, most) = (Size::show(EMU_STACK_LEAST), Size::show(EMU_STACK_MOST));
            Err(found.refused(&format!("a size from {least} to {most} is needed")))
        }
    }
}

/// What GPU threads on the CPU shall be, by `DUSHMEM_EMU_THREADS`; None: what their program was compiled for.
pub fn emu_threads(get: Get<'_>) -> Result<Option<Threads>> {
    own("EMU_THREADS", get).map(|found| found.word("neither fibers nor os")).transpose()
}

/// Threads of a warp on the CPU, by `DUSHMEM_EMU_WARP`.
pub fn emu_warp(get: Get<'_>) -> Result<u32> {
    let Some(found) = own("EMU_WARP", get) else { return Ok(EMU_WARP) };
    match found.value.trim() {
        "32" => Ok(32),
        "64" => Ok(64),
        _ => Err(found.refused("a warp has 32 or 64 lanes")),
    }
}

/// After how long a kernel on the CPU that makes no progress is told about, by `DUSHMEM_EMU_WATCHDOG`; None: never.
pub fn emu_watchdog(get: Get<'_>) -> Result<Option<Duration>> {
    let Some(found) = own("EMU_WATCHDOG", get) else { return Ok(Some(EMU_WATCHDOG)) };
    let seconds = found.value.trim().parse::<f64>().ok();
    match seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
        Some(limit) => Ok((!limit.is_zero()).then_some(limit)),
        None => Err(found.refused("not a number of seconds; 0 stands for never")),
    }
}

/// What is wrong with these variables: told however the program was started.
pub(super) fn check(get: Get<'_>) -> Result<()> {
    bootstrap(get)?;
    bootstrap_timeout(get)?;
    gpu_share(get)?;
    emu_devices(get)?;
    emu_seed(get)?;
    emu_stack(get)?;
    emu_threads(get)?;
    emu_warp(get)?;
    emu_watchdog(get)?;
    Ok(())
}

//! The emulated devices.
//!
//! All of them are this machine's CPUs and memory; they exist so that a program that gives every PE its
//! own device finds one. Each has its own default stream.
use crate::error::{Code, Failure, Result};
pub use dushmem_core::env::Threads;
use dushmem_core::env::{self, EMU_DEVICES_MAX, Get};
use dushmem_core::wait::SpinPolicy;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

/// Most threads of a block.
pub const MAX_THREADS_PER_BLOCK: u32 = 1024;
/// Most threads along each side of a block.
pub const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
/// Most blocks along each side of a grid.
pub const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
/// Bytes of dynamic shared memory that a launch gets without asking.
pub const SHARED_DEFAULT: usize = 48 << 10;
/// Bytes of dynamic shared memory that a kernel can ask for by its attribute.
pub const SHARED_OPT_IN: usize = 227 << 10;
/// Blocks that a launch can have running (or waiting) at the same time: multiprocessors times blocks on
/// one. Each needs an OS thread of its own only while others wait.
pub const RESIDENT_BLOCKS: u32 = MULTIPROCESSORS * BLOCKS_PER_MULTIPROCESSOR;
/// Multiprocessors that a device reports.
pub const MULTIPROCESSORS: u32 = 16;
/// Blocks that one multiprocessor takes at a time.
pub const BLOCKS_PER_MULTIPROCESSOR: u32 = 16;
/// Threads that one multiprocessor takes at a time. All threads of all multiprocessors can have a stack.
pub const THREADS_PER_MULTIPROCESSOR: u32 = 1536;
/// Bytes of shared memory of a multiprocessor; each block takes [`SHARED_RESERVED`] beside its own.
pub const SHARED_PER_MULTIPROCESSOR: usize = 228 << 10;
/// See [`SHARED_PER_MULTIPROCESSOR`].
pub const SHARED_RESERVED: usize = 1 << 10;

/// Devices there are when nobody says anything.
const DEFAULT_DEVICES: u32 = 8;

static COUNT: OnceLock<AtomicU32> = OnceLock::new();
static PES: AtomicU32 = AtomicU32::new(1);
static POLICY: OnceLock<SpinPolicy> = OnceLock::new();

thread_local! {
    static CURRENT: Cell<u32> = const { Cell::new(0) };
}

fn counter() -> &'static AtomicU32 {
    COUNT.get_or_init(|| {
        let asked = std::env::var("DUSHMEM_EMU_DEVICES").ok();
        let (count, complaint) = asked.map_or((DEFAULT_DEVICES, None), |text| read_count(&text));
        complaint.into_iter().for_each(|line| say_once(&line));
        AtomicU32::new(count)
    })
}

/// The number that the variable asks for; what is wrong with it, where another one is taken.
fn read_count(text: &str) -> (u32, Option<String>) {
    let number = text.trim().parse::<u32>();
    let count = number.as_ref().map_or(DEFAULT_DEVICES, |n| (*n).clamp(1, EMU_DEVICES_MAX));
    let right = number == Ok(count) || text.trim().is_empty();
    let complaint = || {
        format!(
            "dushmem: DUSHMEM_EMU_DEVICES={text}: write a number from 1 to {EMU_DEVICES_MAX}; {count} is taken instead"
        )
    };
    (count, (!right).then(complaint))
}

/// What the environment says, where a program may run without a job: `usual` where that can't be right, which is told.
/// `init` refuses it.
pub(crate) fn setting<T>(read: fn(Get<'_>) -> dushmem_core::error::Result<T>, usual: T, told: &str) -> T {
    read(&env::variable).unwrap_or_else(|error| {
        say_once(&format!("dushmem: {error}; {told}"));
        usual
    })
}

/// Once a job is enough.
fn say_once(line: &str) {
    if std::env::var("DUSHMEM_PE").map_or(true, |pe| pe == "0") {
        dushmem_os::say::say(line);
    }
}

/// Number of devices.
pub fn count() -> u32 {
    counter().load(Ordering::Relaxed)
}

/// Tells the emulator how many PEs share this node: there are at least as many devices, and threads that
/// wait leave the CPUs to others where PEs outnumber them.
pub fn set_local_pes(pes: usize) {
    let pes = u32::try_from(pes).unwrap_or(EMU_DEVICES_MAX).clamp(1, EMU_DEVICES_MAX);
    counter().fetch_max(pes, Ordering::Relaxed);
    let before = PES.swap(pes, Ordering::Relaxed);
    policy().count_thread(pes as i32 - before as i32);
}

/// How the emulator's threads wait for each other.
pub fn policy() -> &'static SpinPolicy {
    // The host thread and one stream worker are what usually runs.
    POLICY.get_or_init(|| SpinPolicy::new(2, dushmem_os::cpu::usable_cpus()))
}

/// OS threads that run the blocks of one launch before any block waits.
pub fn parallel_blocks() -> u32 {
    static CPUS: OnceLock<u32> = OnceLock::new();
    let cpus = *CPUS.get_or_init(|| dushmem_os::cpu::usable_cpus() as u32);
    (cpus / PES.load(Ordering::Relaxed)).max(1)
}

/// Threads of a warp: 32, or 64 if `DUSHMEM_EMU_WARP` says so.
pub fn warp() -> u32 {
    static WIDTH: OnceLock<u32> = OnceLock::new();
    *WIDTH.get_or_init(|| setting(env::emu_warp, env::EMU_WARP, "32 it is"))
}

/// The variable that says what GPU threads are.
pub const THREADS_VARIABLE: &str = "DUSHMEM_EMU_THREADS";

/// What GPU threads shall be; None: what their program was compiled for.
pub fn threads() -> Option<Threads> {
    static THREADS: OnceLock<Option<Threads>> = OnceLock::new();
    *THREADS.get_or_init(|| setting(env::emu_threads, None, "taking what the program was compiled for"))
}

/// Devices on which a kernel has failed, with what calls return from then on.
static FAILED: Mutex<BTreeMap<u32, (Code, String)>> = Mutex::new(BTreeMap::new());
static ANY_FAILED: AtomicBool = AtomicBool::new(false);

/// A kernel has failed: what is called for the device from now on does, too. The first failure counts.
pub fn fail(device: u32, code: Code, what: &str) {
    let mut failed = FAILED.lock().unwrap_or_else(|e| e.into_inner());
    failed.entry(device).or_insert_with(|| (code, what.to_owned()));
    ANY_FAILED.store(true, Ordering::Release);
}

/// An error if a kernel has failed on the device.
#[inline]
pub fn alive(device: u32) -> Result<()> {
    if ANY_FAILED.load(Ordering::Acquire) { look_at(device) } else { Ok(()) }
}

#[cold]
fn look_at(device: u32) -> Result<()> {
    match FAILED.lock().unwrap_or_else(|e| e.into_inner()).get(&device) {
        Some((code, what)) => Err(Failure::new(*code, what.clone())),
        None => Ok(()),
    }
}

/// The device works again.
pub fn reset(device: u32) {
    FAILED.lock().unwrap_or_else(|e| e.into_inner()).remove(&device);
}

/// Pairs of devices of which the first may reach the second one's memory.
static PEERS: Mutex<BTreeSet<(u32, u32)>> = Mutex::new(BTreeSet::new());

/// Lets the calling thread's device reach another one's memory, or no longer. Kernels reach all memory anyway.
pub fn enable_peer(peer: i32, enable: bool) -> Result<()> {
    check(peer)?;
    let pair = (current(), peer as u32);
    if pair.0 == pair.1 {
        return Err(Failure::new(Code::InvalidDevice, format!("peer = {peer}: is the current device")));
    }
    let mut peers = PEERS.lock().unwrap_or_else(|e| e.into_inner());
    let (changed, code) = match enable {
        true => (peers.insert(pair), Code::PeerAccessAlreadyEnabled),
        false => (peers.remove(&pair), Code::PeerAccessNotEnabled),
    };
    if changed { Ok(()) } else { Err(Failure::new(code, format!("peer = {peer}, device {}", pair.0))) }
}

/// The calling thread's device.
pub fn current() -> u32 {
    CURRENT.get()
}

/// Makes `device` the calling thread's device.
pub fn select(device: i32) -> Result<()> {
    check(device)?;
    CURRENT.set(device as u32);
    Ok(())
}

/// An error for numbers that no device has.
pub fn check(device: i32) -> Result<()> {
    let count = count();
    if device < 0 || device as u32 >= count {
        let detail = format!(
            "device = {device}: there are devices 0 to {}; DUSHMEM_EMU_DEVICES sets how many",
            count - 1
        );
        return Err(Failure::new(Code::InvalidDevice, detail));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_devices_that_cannot_be_is_told() {
        for (text, count) in [("3", 3), (" 4096 ", 4096), ("", DEFAULT_DEVICES)] {
            assert_eq!(read_count(text), (count, None), "{text}");
        }
        for (text, count) in [("0", 1), ("5000", 4096), ("-1", DEFAULT_DEVICES), ("many", DEFAULT_DEVICES)] {
            let (found, complaint) = read_count(text);
            let complaint = complaint.expect("it is wrong");
            assert!(
                found == count
                    && complaint.contains(&format!("={text}: write a number from 1 to 4096; {count} is"))
            );
        }
    }
}

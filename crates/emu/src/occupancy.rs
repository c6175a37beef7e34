//! How many blocks are resident at once: what occupancy queries report, and what cooperative launches need.
//!
//! Resident are as many blocks as the multiprocessors have room for, by threads, shared memory and number.
//! The numbers are such that the emulator can really have all of them wait at the same time.
use crate::device::{
    BLOCKS_PER_MULTIPROCESSOR, MAX_THREADS_PER_BLOCK, MULTIPROCESSORS, SHARED_OPT_IN,
    SHARED_PER_MULTIPROCESSOR, SHARED_RESERVED, THREADS_PER_MULTIPROCESSOR, warp,
};
use crate::error::{Code, Failure, Result};
use crate::grid::Dim3;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex};

/// Blocks of so many threads and bytes of dynamic shared memory that one multiprocessor holds.
pub fn blocks_per_multiprocessor(threads: u64, shared: usize) -> u32 {
    if threads == 0 || threads > u64::from(MAX_THREADS_PER_BLOCK) || shared > SHARED_OPT_IN {
        return 0;
    }
    let whole_warps = (threads as u32).next_multiple_of(warp());
    let by_threads = THREADS_PER_MULTIPROCESSOR / whole_warps;
    let by_shared = (SHARED_PER_MULTIPROCESSOR / (shared + SHARED_RESERVED)) as u32;
    by_threads.min(by_shared).min(BLOCKS_PER_MULTIPROCESSOR)
}

/// Blocks that are resident at once on the whole device.
pub fn resident_blocks(threads: u64, shared: usize) -> u32 {
    blocks_per_multiprocessor(threads, shared) * MULTIPROCESSORS
}

/// The block size, at most `limit` (0: no limit), with which most threads are resident, and the smallest grid
/// of it that fills the device. `shared` gives a block's bytes of dynamic shared memory for its size.
pub fn best_block(limit: u32, shared: impl Fn(u32) -> usize) -> (u32, u32) {
    let most = if limit == 0 { MAX_THREADS_PER_BLOCK } else { limit.min(MAX_THREADS_PER_BLOCK) };
    let (mut best, mut best_threads, mut best_blocks) = (0, 0, 0);
    let mut size = most;
    while size > 0 {
        let blocks = blocks_per_multiprocessor(u64::from(size), shared(size));
        if blocks * size > best_threads {
            (best, best_threads, best_blocks) = (size, blocks * size, blocks);
        }
        size = size.saturating_sub(1) / warp() * warp();
    }
    (best_blocks * MULTIPROCESSORS, best)
}

/// An error for a cooperative launch whose blocks can't all be resident.
pub fn check_cooperative(name: &str, grid: Dim3, block: Dim3, shared: usize) -> Result<()> {
    let most = resident_blocks(block.count(), shared);
    if grid.count() <= u64::from(most) {
        return Ok(());
    }
    let detail = format!(
        "{name}: grid {grid} has {} blocks; with {} threads and {shared} bytes of dynamic shared memory each, at most \
         {most} are resident at once (the occupancy and grid size queries tell)",
        grid.count(),
        block.count(),
    );
    Err(Failure::new(Code::CooperativeLaunchTooLarge, detail))
}

/// Threads of cooperative launches under way, by device.
static RESERVED: Mutex<BTreeMap<u32, u64>> = Mutex::new(BTreeMap::new());
static FREED: Condvar = Condvar::new();
const ALL_THREADS: u64 = MULTIPROCESSORS as u64 * THREADS_PER_MULTIPROCESSOR as u64;

/// Room for the threads of a cooperative launch, until dropped.
#[derive(Debug)]
pub struct Room {
    device: u32,
    threads: u64,
}

/// Waits until all threads of a cooperative launch can be resident on the device beside those of others, as a
/// device would.
pub fn reserve(device: u32, threads: u64) -> Room {
    let threads = threads.min(ALL_THREADS);
    let mut reserved = RESERVED.lock().unwrap_or_else(|e| e.into_inner());
    while reserved.get(&device).copied().unwrap_or(0) + threads > ALL_THREADS {
        reserved = FREED.wait(reserved).unwrap_or_else(|e| e.into_inner());
    }
    *reserved.entry(device).or_default() += threads;
    Room { device, threads }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut reserved = RESERVED.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(used) = reserved.get_mut(&self.device) {
            *used -= self.threads;
        }
        drop(reserved);
        FREED.notify_all();
    }
}

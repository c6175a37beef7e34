//! Checks of arguments, before anything is enqueued: an operation is in the stream as a whole, or not at all.
use super::job::{Job, Target};
use super::queue::Queue;
use dushmem_core::coll::checks;
use dushmem_core::error::{Error, Result};

/// Why an operation can't use memory that only the CPU reaches.
const HOST_ONLY: &str = "memory of the host that the device can't address; pass device memory, memory from \
                         cudaMallocHost or cudaHostRegister, or an object from malloc, of either heap";
/// Why a copy can't be captured.
const PAGEABLE: &str = "memory of the host that the device can't address: a graph can't copy it; pass device memory, \
                        or memory from cudaMallocHost or cudaHostRegister";

/// A local buffer may be anywhere, but not at NULL. False where there is nothing to transfer.
pub fn local(arg: &'static str, addr: usize, bytes: usize) -> Result<bool> {
    match bytes {
        0 => Ok(false),
        _ if bytes > isize::MAX as usize => Err(checks::negative(bytes)),
        _ if addr == 0 => Err(Error::Null { arg }),
        _ => Ok(true),
    }
}

/// The device's address of a symmetric object, which the program knows by `addr`.
pub fn reached_target(queue: &dyn Queue, arg: &'static str, addr: usize, target: Target) -> Result<u64> {
    if target.on_device {
        return Ok(target.at as u64);
    }
    queue.device_address(target.at).ok_or(Error::BadAddress { arg, addr, why: HOST_ONLY })
}

/// In a graph, copies need memory that the device addresses; elsewhere the driver takes any. `addr`: as the program knows
/// it.
pub fn copyable(
    queue: &dyn Queue,
    arg: &'static str,
    addr: usize,
    target: Target,
    captured: bool,
) -> Result<()> {
    if captured && !target.on_device && queue.device_address(target.at).is_none() {
        return Err(Error::BadAddress { arg, addr, why: PAGEABLE });
    }
    Ok(())
}

/// Both buffers of a collective: own symmetric memory that the device addresses, the same or apart.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "addresses and lengths in bytes")]
pub struct Buffers {
    pub dest: usize,
    pub dest_len: usize,
    pub source: usize,
    pub source_len: usize,
    pub align: usize,
    pub in_place: bool,
}

impl Buffers {
    /// Checks them, and gives the device's addresses.
    pub fn check(&self, job: &dyn Job, queue: &dyn Queue) -> Result<(u64, u64)> {
        let me = job.my_pe() as i32;
        let one = |arg: &'static str, addr: usize, len: usize| {
            let target = job.target(arg, addr, len, self.align, me)?;
            if len > 0 { reached_target(queue, arg, addr, target) } else { Ok(addr as u64) }
        };
        let (dest, source) = (self.dest, self.source);
        let addresses = (one("dest", dest, self.dest_len)?, one("source", source, self.source_len)?);
        checks::apart((dest, self.dest_len), (source, self.source_len), self.in_place)?;
        Ok(addresses)
    }
}

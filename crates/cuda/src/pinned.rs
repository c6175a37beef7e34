//! Memory of the host that the device addresses.
use crate::context::Context;
use crate::lane::Lane;
use crate::types::{self, HOST_DEVICEMAP, HOST_PORTABLE};
use crate::waiting::Waiting;
use dushmem_core::error::{Error, Result};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

/// A piece of such memory, zeroed, until dropped.
#[derive(Debug)]
pub struct Pinned {
    _block: Arc<Block>,
    host: NonNull<u8>,
    device: types::Address,
    bytes: usize,
}

// SAFETY: memory that host and device share by design; users keep order by streams and locks.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

/// What the driver gives at once, in which pieces lie.
#[derive(Debug)]
struct Block {
    context: Arc<Context>,
    host: NonNull<u8>,
}

// SAFETY: as for its pieces.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

/// Pieces begin at multiples of this.
const APART: usize = 256;

impl Pinned {
    /// A piece of `bytes` bytes, whole pages of them.
    pub fn new(context: &Arc<Context>, bytes: usize) -> Result<Pinned> {
        let [one] = Pinned::several(context, [bytes])?;
        Ok(one)
    }

    /// Several pieces, for which the driver is asked once: it takes long, however few bytes it is asked for.
    pub fn several<const N: usize>(context: &Arc<Context>, sizes: [usize; N]) -> Result<[Pinned; N]> {
        let bytes = sizes.iter().map(|bytes| bytes.next_multiple_of(APART)).sum();
        let driver = context.driver();
        let _relaxed = context.enter_relaxed()?;
        let mut host = core::ptr::null_mut();
        let mut device = 0;
        // SAFETY: a place for an address, and then that address.
        let block = unsafe {
            driver
                .mem_host_alloc(&raw mut host, bytes, HOST_PORTABLE | HOST_DEVICEMAP)
                .map_err(|why| why.doing(format_args!("allocating {bytes} bytes of pinned host memory")))?;
            let Some(found) = NonNull::new(host.cast::<u8>()) else {
                return Err(Error::Device("the driver gave pinned host memory at NULL".into()));
            };
            found.as_ptr().write_bytes(0, bytes);
            let block = Arc::new(Block { context: Arc::clone(context), host: found });
            driver
                .mem_host_get_device_pointer(&raw mut device, host, 0)
                .map_err(|why| why.doing("finding the device's address of pinned host memory"))?;
            block
        };
        let mut at = 0;
        Ok(sizes.map(|bytes| {
            let from = at;
            at += bytes.next_multiple_of(APART);
            // SAFETY: within the block.
            let host = unsafe { block.host.add(from) };
            Pinned { _block: Arc::clone(&block), host, device: device + from as u64, bytes }
        }))
    }

    /// Where the host finds it.
    pub fn host(&self) -> NonNull<u8> {
        self.host
    }

    /// Where the device finds it.
    pub fn device(&self) -> types::Address {
        self.device
    }

    /// Bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.context.is_forked() {
            return;
        }
        let Ok(_relaxed) = self.context.enter_relaxed() else { return };
        // SAFETY: allocated for this, and nobody uses a piece of it any more.
        let _ = unsafe { self.context.driver().mem_free_host(self.host.as_ptr().cast()) };
    }
}

/// Pinned memory for what an own stream reads a moment later: values of small puts, tables of addresses. Taken in turn;
/// when it is used up, the stream is waited for.
#[derive(Debug)]
pub struct Arena {
    block: Pinned,
    next: Mutex<usize>,
}

impl Arena {
    /// As much room as `block` has.
    pub fn new(block: Pinned) -> Arena {
        Arena { block, next: Mutex::new(0) }
    }

    /// Has `begin` put work into the stream that reads a copy of `bytes`, whose address on the device it gets.
    pub fn with(
        &self,
        bytes: &[u8],
        lane: &Lane,
        waiting: &Waiting,
        begin: impl FnOnce(types::Address) -> Result<()>,
    ) -> Result<()> {
        let room = self.block.bytes();
        if bytes.len() > room {
            let (value, why) = (bytes.len() as i64, "more than the library's pinned memory for tables");
            return Err(Error::BadValue { arg: "bytes", value, why });
        }
        // Held until the work is in the stream: what is taken is either done or known to be under way.
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if *next + bytes.len() > room {
            lane.finish(waiting)?;
            *next = 0;
        }
        let at = *next;
        // SAFETY: within the block; nothing under way reads it.
        unsafe { self.block.host().as_ptr().add(at).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        *next = (at + bytes.len()).next_multiple_of(16);
        begin(self.block.device() + at as u64)
    }
}

/// A few bytes for what the device tells the host.
#[derive(Debug)]
pub struct Cell {
    block: Pinned,
    lock: Mutex<()>,
}

impl Cell {
    /// Bytes.
    pub const BYTES: usize = 16;

    /// One in `block`, which has room for it.
    pub fn new(block: Pinned) -> Cell {
        Cell { block, lock: Mutex::new(()) }
    }

    /// Has `fill` write to the cell, whose address on the device it gets, and gives what is there afterwards.
    pub fn filled_by(&self, fill: impl FnOnce(types::Address) -> Result<()>) -> Result<[u8; Cell::BYTES]> {
        let _held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let at = self.block.host().cast::<[u8; Cell::BYTES]>();
        // SAFETY: the cell, which nothing under way writes to: the last user has waited.
        unsafe {
            at.write_volatile([0; Cell::BYTES]);
            fill(self.block.device())?;
            Ok(at.read_volatile())
        }
    }
}

//! Arrays that a wait in a stream compares with, where only the CPU reaches them. The call takes a copy, as the driver does
//! of such memory when it copies from there, and the wait reads that: until the stream has passed it, or in a graph for ever.
use super::queue::{MemOp, Queue};
use dushmem_core::error::Result;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An array that a wait reads.
#[derive(Clone, Copy, Debug)]
pub struct Array {
    at: usize,
    bytes: usize,
    /// Where the device reaches it, if it does.
    device: Option<u64>,
}

/// A copy, for the CPU.
pub type Copied = Box<[u64]>;

impl Array {
    /// At an address of the program's; 0: there is none.
    pub fn new(queue: &dyn Queue, at: usize, bytes: usize) -> Array {
        let device = if at == 0 { Some(0) } else { queue.device_address(at) };
        Array { at, bytes, device }
    }

    fn is_copied(&self) -> bool {
        self.device.is_none()
    }

    /// Where the CPU shall read it, and the copy that has to live as long.
    ///
    /// # Safety
    /// The array is valid.
    pub unsafe fn for_cpu(&self) -> (usize, Option<Copied>) {
        if !self.is_copied() {
            return (self.at, None);
        }
        let mut copy: Copied = vec![0; self.bytes.div_ceil(8)].into();
        // SAFETY: as the caller promises; the copy has as many bytes.
        unsafe { (self.at as *const u8).copy_to_nonoverlapping(copy.as_mut_ptr().cast(), self.bytes) };
        (copy.as_ptr() as usize, Some(copy))
    }
}

/// Memory of the host that the device addresses: a word that a stream sets when it has passed the wait, and copies.
#[derive(Debug)]
struct Block {
    host: usize,
    device: u64,
    bytes: usize,
}

impl Block {
    fn word(&self) -> &AtomicU32 {
        // SAFETY: the first word of the block, which lives as long as the queue; only accessed by atomics, and by the device.
        unsafe { AtomicU32::from_ptr(self.host as *mut u32) }
    }
}

/// Copies begin at multiples of this; the word is in front of the first.
const APART: usize = 16;
/// Bytes of the smallest block.
const SMALLEST: usize = 256;
/// Bytes that are allocated at a time, if one block is not larger.
const AT_A_TIME: usize = 16 << 10;

/// The blocks that streams have had.
#[derive(Debug, Default)]
pub struct Kept {
    blocks: Mutex<Vec<Block>>,
}

impl Kept {
    /// Where the device shall read the arrays, and what the stream does behind the wait, if anything.
    ///
    /// # Safety
    /// The arrays are valid.
    pub unsafe fn for_device<const N: usize>(
        &self,
        queue: &dyn Queue,
        captured: bool,
        arrays: [Array; N],
    ) -> Result<([u64; N], Option<MemOp>)> {
        let copied = arrays.iter().filter(|array| array.is_copied());
        let bytes: usize = copied.map(|array| array.bytes.next_multiple_of(APART)).sum();
        if bytes == 0 {
            return Ok((arrays.map(|array| array.device.unwrap_or(0)), None));
        }
        let block = self.take(queue, APART + bytes)?;
        let mut next = APART;
        let found = arrays.map(|array| {
            array.device.unwrap_or_else(|| {
                let at = next;
                next += array.bytes.next_multiple_of(APART);
                // SAFETY: as the caller promises; within the block, which nobody else has.
                unsafe {
                    (array.at as *const u8).copy_to_nonoverlapping((block.host + at) as *mut u8, array.bytes);
                }
                block.device + at as u64
            })
        });
        // A graph may be launched at any time: its block is nobody else's again.
        if captured {
            return Ok((found, None));
        }
        let passed = MemOp::Write32 { at: block.device, value: 1 };
        self.blocks().push(block);
        Ok((found, Some(passed)))
    }

    fn blocks(&self) -> MutexGuard<'_, Vec<Block>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A block that no stream uses, with its word at 0.
    fn take(&self, queue: &dyn Queue, bytes: usize) -> Result<Block> {
        let mut blocks = self.blocks();
        let bytes = bytes.next_power_of_two().max(SMALLEST);
        let free = |block: &Block| block.bytes == bytes && block.word().load(Ordering::Acquire) != 0;
        let at = match blocks.iter().position(free) {
            Some(at) => at,
            None => {
                let n = (AT_A_TIME / bytes).max(1);
                let (host, device) = queue.host_block(n * bytes)?;
                let block =
                    |i: usize| Block { host: host + i * bytes, device: device + (i * bytes) as u64, bytes };
                blocks.extend((0..n).map(block).inspect(|block| block.word().store(1, Ordering::Release)));
                blocks.len() - 1
            }
        };
        let block = blocks.swap_remove(at);
        block.word().store(0, Ordering::Release);
        Ok(block)
    }
}

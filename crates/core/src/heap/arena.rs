//! One of the heaps of a PE, as the calls that allocate use it: the host's, or the device's.
use super::alloc::{Allocator, GRAIN};
use crate::device_heap::DeviceHeap;
use crate::error::{Call, Error, Result};
use crate::size::Size;
use crate::sync::tag;
use crate::window::{HOST_LIMIT, Layout};
use crate::world::World;
use core::ptr;
use dushmem_os::memory::HUGE;
use std::sync::MutexGuard;

/// A heap.
pub(super) struct Arena<'a> {
    pub(super) world: &'a World,
    /// `None`: the host's.
    pub(super) device: Option<&'a DeviceHeap>,
}

impl Arena<'_> {
    pub(super) fn name(&self) -> &'static str {
        if self.device.is_some() { "device heap" } else { "heap" }
    }

    pub(super) fn base(&self) -> usize {
        self.device.map_or_else(|| self.world.window().heap().0, |heap| heap.heap().0)
    }

    pub(super) fn blocks(&self) -> MutexGuard<'_, Allocator> {
        self.device.map_or_else(|| self.world.heap(), DeviceHeap::blocks)
    }

    /// What members of a call must agree on.
    pub(super) fn sign(&self, call: Call, a: usize, b: usize) -> u32 {
        tag(&[call as u64, a as u64, b as u64, self.device.is_some().into()])
    }

    /// Makes a new block usable, and zeroes what of it was in use before, below `zero_below`. On a device the heap
    /// grows if it has to, which is collective.
    pub(super) fn prepare(
        &self,
        call: Call,
        at: usize,
        bytes: usize,
        zero_below: Option<usize>,
    ) -> Result<()> {
        let block = self.base() + at;
        let dirty = zero_below.map_or(0, |fresh_from| fresh_from.saturating_sub(at).min(bytes));
        let Some(heap) = self.device else {
            if self.world.settings().huge_pages && bytes >= 2 * HUGE {
                self.world.window().use_huge_pages(block, bytes);
            }
            // SAFETY: the block was just allocated on this PE and is known to nobody else.
            unsafe { ptr::write_bytes(block as *mut u8, 0, dirty) };
            return Ok(());
        };
        self.world.grow_device_heap(call, heap, at + bytes)?;
        if dirty > 0 {
            // SAFETY: as above, in memory by now.
            let zeroed = unsafe { heap.device().zero(block, dirty) }.and_then(|()| heap.device().flush());
            if let Err(error) = zeroed {
                return self.world.refuse(self.world.world_team(), call, error);
            }
        }
        Ok(())
    }

    /// Has kernels of devices reach a new block of the host's heap. Collective, when all know that they have the same.
    pub(super) fn publish(&self, call: Call, at: usize, bytes: usize) -> Result<()> {
        if self.device.is_some() { Ok(()) } else { self.world.let_kernels_reach(call, at + bytes) }
    }

    /// Copies the contents of a block to another one.
    pub(super) fn copy(&self, to: usize, from: usize, bytes: usize) -> Result<()> {
        let (to, from) = (self.base() + to, self.base() + from);
        match self.device {
            // SAFETY: both blocks are this PE's own and distinct; nobody writes to them between the barriers.
            None => unsafe { ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, bytes) },
            Some(heap) => {
                // SAFETY: as above.
                unsafe { heap.device().copy(to, from, bytes)? };
                heap.device().flush()?;
            }
        }
        Ok(())
    }

    /// Offset of the block in use that begins at `block`, for `call`, free or realloc.
    pub(super) fn block_offset(&self, block: *mut u8, call: Call) -> Result<usize> {
        let addr = block as usize;
        let bad = |why| Error::BadAddress { arg: "ptr", addr, why };
        if self.device.is_none() && !self.world.window().in_heap(addr, 1) {
            return Err(bad(match call {
                Call::Free => {
                    "not in the symmetric heap; free takes what malloc, calloc, align or realloc returned"
                }
                _ => {
                    "not in the symmetric heap; realloc takes what malloc, calloc, align or realloc returned"
                }
            }));
        }
        let (blocks, offset) = (self.blocks(), addr - self.base());
        match (blocks.block(offset), blocks.containing(offset)) {
            (Some(_), _) => Ok(offset),
            (None, Some(_)) => Err(bad(match call {
                Call::Free => "inside a block; free takes the address of its beginning",
                _ => "inside a block; realloc takes the address of its beginning",
            })),
            (None, None) => Err(bad("not a block in use; it may have been freed before")),
        }
    }

    #[cold]
    pub(super) fn exhausted(&self, request: usize, align: usize) -> Error {
        let (total, used, largest) = self.blocks().usage();
        let enough = self.blocks().enough(request, align);
        let (most, variable) = match self.device {
            None => (self.most(), "DUSHMEM_SYMMETRIC_SIZE"),
            Some(heap) => (heap.device().identity().memory as usize, "DUSHMEM_DEVICE_HEAP_SIZE"),
        };
        let remedy = match self.device {
            _ if enough <= most => {
                format!("set {variable} to {} or more", Size::show(sensible(enough, most) as u64))
            }
            None => format!("no heap can be larger than {most} bytes with this number of PEs"),
            Some(_) => format!("the device has {most} bytes of memory"),
        };
        let more = if align > GRAIN { format!(" aligned to {align}") } else { String::new() };
        let error = Error::OutOfMemory { request, more, total, used, largest, remedy };
        error.found_at(self.world.world_team().place())
    }

    /// Bytes of the largest heap of the host that the window has room for.
    fn most(&self) -> usize {
        let layout = Layout { heap: HUGE, ..*self.world.layout() };
        let stride = 1 << (HOST_LIMIT / layout.pes).ilog2();
        stride - layout.heap_at()
    }
}

/// A size of at least `bytes` and at most `most` that one writes in an environment, with some room left where there is any.
fn sensible(bytes: usize, most: usize) -> usize {
    let unit = (bytes / 16).next_power_of_two().max(1 << 20);
    (bytes + bytes / 16).next_multiple_of(unit).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_to_set_are_round_and_enough() {
        for (bytes, shown) in
            [(1, "1M"), ((8 << 20) + 1, "9M"), ((3 << 30) + 64, "3328M"), (5 << 40, "5632G")]
        {
            assert_eq!(Size::show(sensible(bytes, usize::MAX) as u64), shown);
        }
        assert_eq!(sensible(1 << 20, (1 << 20) + 64), (1 << 20) + 64);
    }
}

//! One of the heaps of a PE, as the calls that allocate use it: the host's, or the device's.
use super::alloc::{Allocator, GRAIN};
use crate::device_heap::DeviceHeap;
use crate::error::{Call, Error, Result};
use crate::size::Size;
use crate::sync::tag;
use crate::window::Layout;
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

    /// The error about a heap without room; `grows`: as for [`Allocator::enough`].
    #[cold]
    pub(super) fn exhausted(&self, request: usize, align: usize, grows: Option<usize>) -> Error {
        let (total, used, largest) = self.blocks().usage();
        let (most, variable) = match self.device {
            None => (self.world.layout().largest_heap(), "DUSHMEM_SYMMETRIC_SIZE"),
            Some(heap) => (heap.device().identity().memory as usize, "DUSHMEM_DEVICE_HEAP_SIZE"),
        };
        let enough = |size| {
            let phase = self.phase(size);
            let enough = self.blocks().enough(request, align, phase, grows);
            self.device.map_or(enough, |heap| heap.least_bound(enough))
        };
        let round = |size: usize| (Size::round_up(size as u64) as usize).min(most);
        // A larger heap may begin at another place, again and again; one with room for the alignment beside is always enough.
        let next = |size: &usize| (enough(*size) > *size).then(|| round(enough(*size)));
        let least = std::iter::successors(Some(round(enough(total))), next).take(4).last().unwrap_or(most);
        let size = if enough(least) <= least { least } else { round(enough(least).saturating_add(align)) };
        let remedy = match self.device {
            _ if enough(size) <= size => format!("set {variable} to {} or more", Size::show(size as u64)),
            None => format!("no heap can be larger than {most} bytes with this number of PEs"),
            Some(_) => format!("the device has {most} bytes of memory"),
        };
        let more = if align > GRAIN { format!(" aligned to {align}") } else { String::new() };
        let error = Error::OutOfMemory { request, more, total, used, largest, remedy };
        error.found_at(self.world.world_team().place())
    }

    /// Where a heap of `size` bytes begins: behind an address that is aligned as far as anybody asks.
    fn phase(&self, size: usize) -> usize {
        match self.device {
            None => Layout { heap: size, ..*self.world.layout() }.heap_at(),
            Some(_) => self.blocks().phase(),
        }
    }
}

//! Collective memory management (OpenSHMEM section 9.3).
//!
//! Each PE's allocator answers alike, since all see the same calls; that they do is checked at the
//! synchronisation that every one of these calls contains anyway. Size zero does not synchronise, as the
//! text demands; the next call that does finds out if others passed another size.
use super::alloc::GRAIN;
use crate::env::DebugLevel;
use crate::error::{Call, Error, Result};
use crate::size::Size;
use crate::sync::tag;
use crate::window::HOST_LIMIT;
use crate::world::World;
use core::ptr;
use dushmem_os::memory::HUGE;

/// Bytes of a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapUsage {
    /// All.
    pub total: usize,
    /// Reserved by blocks in use.
    pub used: usize,
    /// Largest block that could be allocated.
    pub largest_free: usize,
}

impl World {
    /// Allocates `bytes` bytes, aligned for any type. Null for 0 bytes, without a barrier; otherwise
    /// collective over all PEs with a barrier at the end.
    pub fn malloc(&self, bytes: usize) -> Result<*mut u8> {
        self.allocate(Call::Malloc, bytes, GRAIN, false)
    }

    /// As [`World::malloc`], for `count * size` zero bytes.
    pub fn calloc(&self, count: usize, size: usize) -> Result<*mut u8> {
        match count.checked_mul(size) {
            Some(bytes) => self.allocate(Call::Calloc, bytes, GRAIN, true),
            None => self.allocate(Call::Calloc, usize::MAX, GRAIN, true),
        }
    }

    /// As [`World::malloc`], at a multiple of `align`: a power of two and a multiple of the pointer size.
    pub fn align(&self, align: usize, bytes: usize) -> Result<*mut u8> {
        self.check_alive()?;
        let why = match () {
            _ if !align.is_power_of_two() || align < size_of::<usize>() => "not a power of two of at least 8",
            _ if align > self.layout().alignment() => {
                "more than the slices of the symmetric memory are aligned to; a larger heap is aligned further"
            }
            _ => return self.allocate(Call::Align, bytes, align, false),
        };
        let error = Error::BadValue { arg: "alignment", value: align as i64, why };
        if bytes == 0 {
            self.count_empty_call();
            return Err(error);
        }
        self.refuse(self.world_team(), Call::Align, error)
    }

    fn allocate(&self, call: Call, bytes: usize, align: usize, zero: bool) -> Result<*mut u8> {
        self.check_alive()?;
        if bytes == 0 {
            self.count_empty_call();
            return Ok(ptr::null_mut());
        }
        if bytes > isize::MAX as usize {
            let why = "larger than any heap; was the number negative, or the product of two too large?";
            let error = Error::BadValue { arg: "size", value: bytes as i64, why };
            return self.refuse(self.world_team(), call, error);
        }
        let fresh_from = self.heap().high_water();
        let found = self.place(bytes, align);
        if let Ok(block) = found {
            self.prepare(block, bytes, zero.then_some(fresh_from));
        }
        // The barrier comes after zeroing: a neighbour may write to the new block as soon as it has returned.
        let agreed = self
            .quiet(self.default_context())
            .and_then(|()| self.synchronise(self.world_team(), call, sign(call, bytes, align), bytes as u64));
        match (agreed, found) {
            (Ok(()), Ok(block)) => {
                self.note(DebugLevel::Trace, || format!("{bytes} bytes of heap at {block:#x}"));
                Ok(block as *mut u8)
            }
            (Ok(()), Err(())) => Err(self.exhausted(bytes)),
            (Err(error), found) => {
                if let Ok(block) = found {
                    self.heap().release(self.offset(block));
                }
                Err(error)
            }
        }
    }

    fn place(&self, bytes: usize, align: usize) -> core::result::Result<usize, ()> {
        self.heap().alloc(bytes, align).map(|offset| self.window().heap().0 + offset).ok_or(())
    }

    /// Backs a large block by huge pages, and zeroes what was in use before.
    fn prepare(&self, block: usize, bytes: usize, zero_below: Option<usize>) {
        if self.settings().huge_pages && bytes >= 2 * HUGE {
            self.window().use_huge_pages(block, bytes);
        }
        if let Some(fresh_from) = zero_below {
            let dirty = fresh_from.saturating_sub(self.offset(block)).min(bytes);
            // SAFETY: the block was just allocated on this PE and is known to nobody else.
            unsafe { ptr::write_bytes(block as *mut u8, 0, dirty) };
        }
    }

    /// Frees a block of the malloc family. Collective over all PEs with a barrier at the beginning; nothing
    /// happens for null.
    pub fn free(&self, block: *mut u8) -> Result<()> {
        self.check_alive()?;
        if block.is_null() {
            return Ok(());
        }
        let offset = self.block_offset(block, Call::Free)?;
        let call = Call::Free;
        self.quiet(self.default_context())?;
        self.synchronise(self.world_team(), call, sign(call, offset, 0), offset as u64)?;
        self.heap().release(offset);
        self.note(DebugLevel::Trace, || format!("heap at {block:p} given back"));
        Ok(())
    }

    /// Changes the size of a block, keeping its contents up to the smaller size. Null: as
    /// [`World::malloc`]; size 0: as [`World::free`], and null. Collective over all PEs with barriers at
    /// beginning and end. On failure the block stays as it was.
    #[allow(clippy::not_unsafe_ptr_arg_deref, reason = "only a pointer to a block in use is followed")]
    pub fn realloc(&self, block: *mut u8, bytes: usize) -> Result<*mut u8> {
        self.check_alive()?;
        if block.is_null() {
            return self.malloc(bytes);
        }
        if bytes == 0 {
            self.free(block)?;
            return Ok(ptr::null_mut());
        }
        let call = Call::Realloc;
        let offset = match self.block_offset(block, call) {
            Ok(offset) => offset,
            Err(error) => return self.refuse(self.world_team(), call, error),
        };
        self.quiet(self.default_context())?;
        let sign = tag(&[call as u64, bytes as u64, offset as u64]);
        self.synchronise(self.world_team(), call, sign, bytes as u64)?;
        let resized = self.heap().resize(offset, bytes);
        let moved = if resized { Ok(block as usize) } else { self.place(bytes, GRAIN) };
        if let Ok(new) = moved
            && new != block as usize
        {
            let kept = self.heap().block(offset).map_or(0, |old| old.asked).min(bytes);
            self.prepare(new, bytes, None);
            // SAFETY: both blocks are this PE's own and distinct; nobody writes to them between the barriers.
            unsafe { ptr::copy_nonoverlapping(block, new as *mut u8, kept) };
            self.heap().release(offset);
        }
        self.synchronise(self.world_team(), call, sign, bytes as u64)?;
        moved.map(|new| new as *mut u8).map_err(|()| self.exhausted(bytes))
    }

    /// Size and use of the symmetric heap.
    pub fn heap_usage(&self) -> HeapUsage {
        let (total, used, largest_free) = self.heap().usage();
        HeapUsage { total, used, largest_free }
    }

    fn offset(&self, block: usize) -> usize {
        block - self.window().heap().0
    }

    /// Offset of the block in use that begins at `block`, for `call`, free or realloc.
    fn block_offset(&self, block: *mut u8, call: Call) -> Result<usize> {
        let addr = block as usize;
        let bad = |why| Error::BadAddress { arg: "ptr", addr, why };
        if !self.window().in_heap(addr, 1) {
            return Err(bad(match call {
                Call::Free => {
                    "not in the symmetric heap; free takes what malloc, calloc, align or realloc returned"
                }
                _ => {
                    "not in the symmetric heap; realloc takes what malloc, calloc, align or realloc returned"
                }
            }));
        }
        let heap = self.heap();
        let offset = self.offset(addr);
        match (heap.block(offset), heap.containing(offset)) {
            (Some(_), _) => Ok(offset),
            (None, Some(_)) => Err(bad(match call {
                Call::Free => "inside a block; free takes the address of its beginning",
                _ => "inside a block; realloc takes the address of its beginning",
            })),
            (None, None) => Err(bad("not a block in use; it may have been freed before")),
        }
    }

    #[cold]
    fn exhausted(&self, request: usize) -> Error {
        let HeapUsage { total, used, largest_free: largest } = self.heap_usage();
        let wanted = used.saturating_add(request).saturating_add(request / 8).max(total + 1);
        let most = HOST_LIMIT / self.n_pes() as usize;
        let remedy = if wanted > most {
            format!("no heap can be larger than {most} bytes with this number of PEs")
        } else {
            let size = (wanted as u64).next_multiple_of(1 << 20);
            format!("set DUSHMEM_SYMMETRIC_SIZE to {} or more", Size::show(size))
        };
        Error::OutOfMemory { request, total, used, largest, remedy }
    }
}

fn sign(call: Call, bytes: usize, align: usize) -> u32 {
    tag(&[call as u64, bytes as u64, align as u64])
}

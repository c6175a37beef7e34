//! Collective memory management (OpenSHMEM section 9.3).
//!
//! Each PE's allocator answers alike, since all see the same calls; that they do is checked at the
//! synchronisation that every one of these calls contains anyway. Size zero does not synchronise, as the
//! text demands; the next call that does finds out if others passed another size.
use super::alloc::GRAIN;
use super::arena::Arena;
use crate::coll::announced;
use crate::env::{DebugLevel, HeapKind};
use crate::error::{Call, Error, Result};
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
    /// Allocates `bytes` bytes of the host's heap, aligned for any type. Null for 0 bytes, without a barrier; otherwise
    /// collective over all PEs with a barrier at the end.
    pub fn malloc(&self, bytes: usize) -> Result<*mut u8> {
        self.malloc_on(HeapKind::Host, bytes)
    }

    /// As [`World::malloc`], for `count * size` zero bytes.
    pub fn calloc(&self, count: usize, size: usize) -> Result<*mut u8> {
        self.calloc_on(HeapKind::Host, count, size)
    }

    /// As [`World::malloc`], at a multiple of `align`: a power of two and a multiple of the pointer size.
    pub fn align(&self, align: usize, bytes: usize) -> Result<*mut u8> {
        self.align_on(HeapKind::Host, align, bytes)
    }

    /// As [`World::malloc`], in the heap of that kind: that of the device is the host's where no device has memory of
    /// its own, and where [`Settings::heap_kind`](crate::env::Settings::heap_kind) says so.
    pub fn malloc_on(&self, kind: HeapKind, bytes: usize) -> Result<*mut u8> {
        self.allocate(Call::Malloc, kind, bytes, GRAIN, false)
    }

    /// As [`World::calloc`], in the heap of that kind.
    pub fn calloc_on(&self, kind: HeapKind, count: usize, size: usize) -> Result<*mut u8> {
        self.allocate(Call::Calloc, kind, count.saturating_mul(size), GRAIN, true).map_err(
            |error| match error {
                Error::BadValue { arg: "size", why, .. } => {
                    let text = format!("count = {}, size = {}: {why}", count as i64, size as i64);
                    Error::BadSet { text }
                }
                Error::OutOfMemory { request, total, used, largest, remedy, .. } => {
                    let more = format!(" (count = {count}, size = {size})");
                    Error::OutOfMemory { request, more, total, used, largest, remedy }
                }
                other => other,
            },
        )
    }

    /// As [`World::align`], in the heap of that kind.
    pub fn align_on(&self, kind: HeapKind, align: usize, bytes: usize) -> Result<*mut u8> {
        self.check_alive()?;
        let why = match () {
            _ if !align.is_power_of_two() || align < size_of::<usize>() => "not a power of two of at least 8",
            _ if align > self.layout().alignment() || (kind == HeapKind::Device && align > HUGE) => {
                "more than the slices of the symmetric memory are aligned to; a larger heap is aligned further"
            }
            _ => return self.allocate(Call::Align, kind, bytes, align, false),
        };
        let error = Error::BadValue { arg: "alignment", value: align as i64, why };
        if bytes == 0 {
            self.count_empty_call();
            return Err(error);
        }
        self.refuse(self.world_team(), Call::Align, error)
    }

    fn allocate(
        &self,
        call: Call,
        kind: HeapKind,
        bytes: usize,
        align: usize,
        zero: bool,
    ) -> Result<*mut u8> {
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
        let arena = self.arena(call, kind)?;
        let fresh_from = arena.blocks().high_water();
        let found = arena.blocks().alloc(bytes, align);
        let prepared = found.map_or(Ok(()), |at| arena.prepare(call, at, bytes, zero.then_some(fresh_from)));
        // The barrier comes after zeroing: a neighbour may write to the new block as soon as it has returned.
        let agreed = prepared.and_then(|()| self.quiet(self.default_context())).and_then(|()| {
            let sign = arena.sign(call, bytes, align);
            let argument = announced::of_heap(align, arena.device.is_some());
            self.synchronise_as(self.world_team(), call, sign, bytes as u64, argument)
        });
        match (agreed, found) {
            (Ok(()), Some(at)) => {
                arena.publish(call, at, bytes)?;
                let block = arena.base() + at;
                self.note(DebugLevel::Trace, || format!("{bytes} bytes of {} at {block:#x}", arena.name()));
                Ok(block as *mut u8)
            }
            (Ok(()), None) => Err(arena.exhausted(bytes, align, None)),
            (Err(error), found) => {
                if let Some(at) = found {
                    arena.blocks().release(at);
                }
                Err(error)
            }
        }
    }

    /// The heap of that kind, for an allocation.
    fn arena(&self, call: Call, kind: HeapKind) -> Result<Arena<'_>> {
        let device = match self.has_devices() {
            true => self.bind_device(call, kind == HeapKind::Device)?,
            false => None,
        };
        let device = device.filter(|heap| kind == HeapKind::Device && heap.kind() == HeapKind::Device);
        Ok(Arena { world: self, device })
    }

    /// The heap that a block was allocated in, if it is one's of the device.
    pub(super) fn arena_of(&self, addr: usize) -> Arena<'_> {
        Arena { world: self, device: self.device_heap().filter(|heap| heap.contains(addr, 1)) }
    }

    /// Frees a block of the malloc family. Collective over all PEs with a barrier at the beginning; nothing
    /// happens for null.
    pub fn free(&self, block: *mut u8) -> Result<()> {
        self.check_alive()?;
        if block.is_null() {
            return Ok(());
        }
        let arena = self.arena_of(block as usize);
        let offset = arena.block_offset(block, Call::Free)?;
        let call = Call::Free;
        self.quiet(self.default_context())?;
        let argument = announced::of_heap(0, arena.device.is_some());
        let sign = arena.sign(call, offset, 0);
        self.synchronise_as(self.world_team(), call, sign, offset as u64, argument)?;
        arena.blocks().release(offset);
        self.note(DebugLevel::Trace, || format!("{} at {block:p} given back", arena.name()));
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
        let arena = self.arena_of(block as usize);
        let offset = match arena.block_offset(block, call) {
            Ok(offset) => offset,
            Err(error) => return self.refuse(self.world_team(), call, error),
        };
        self.quiet(self.default_context())?;
        let sign = arena.sign(call, bytes, offset);
        let argument = announced::of_heap(offset, arena.device.is_some());
        self.synchronise_as(self.world_team(), call, sign, bytes as u64, argument)?;
        let old = arena.blocks().block(offset).map_or(0, |old| old.asked);
        let resized = arena.blocks().resize(offset, bytes);
        let found = if resized { Some(offset) } else { arena.blocks().alloc(bytes, GRAIN) };
        if let Some(new) = found {
            let moved = new != offset;
            let done = arena.prepare(call, new, bytes, None).and_then(|()| match moved {
                true => arena.copy(new, offset, old.min(bytes)),
                false => Ok(()),
            });
            if let Err(error) = done {
                // As it was before.
                if moved {
                    arena.blocks().release(new);
                } else {
                    arena.blocks().resize(offset, old);
                }
                return Err(error);
            }
            if moved {
                arena.blocks().release(offset);
            }
        }
        self.synchronise(self.world_team(), call, sign, bytes as u64)?;
        if let Some(new) = found {
            arena.publish(call, new, bytes)?;
        }
        found
            .map(|new| (arena.base() + new) as *mut u8)
            .ok_or_else(|| arena.exhausted(bytes, GRAIN, Some(offset)))
    }

    /// Size and use of the symmetric heap.
    pub fn heap_usage(&self) -> HeapUsage {
        let (total, used, largest_free) = self.heap().usage();
        HeapUsage { total, used, largest_free }
    }

    /// The same of the heap of the device; zeros where there is none.
    pub fn device_heap_usage(&self) -> HeapUsage {
        let (total, used, largest_free) = self.device_heap().map_or((0, 0, 0), |heap| heap.blocks().usage());
        HeapUsage { total, used, largest_free }
    }
}

//! Where the device memory of the PEs lies, and what it is used for.
//!
//! A slice is `[internals | heap]`, as in the host's memory. A process reserves address space for the slices of all
//! PEs, rotated as there: its own at the base, so that a heap object has one address on all PEs. PEs that are
//! threads share one reservation, in which each has its place. Memory is put into the slices in chunks, all PEs alike.
use super::beside::Beside;
use super::courier::Courier;
use super::driver::{Agreed, HeapDevice, Sharing};
use super::kernels::Tables;
use crate::coll::device_slot::DeviceSlot;
use crate::device::DeviceMemory;
use crate::env::HeapKind;
use crate::error::Result;
use crate::heap::alloc::Allocator;
use crate::world::World;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Arrays of words, one a PE of the world, that each team slot has for synchronisation in streams.
pub const STREAM_ARRAYS: usize = 8;

/// Bytes of the words for streams in one team slot of a world of so many PEs.
pub(crate) fn stream_bytes(pes: usize) -> usize {
    STREAM_ARRAYS * DeviceSlot::words(pes) * 8
}

/// What all PEs know of the slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) pes: usize,
    pub(super) slots: usize,
    /// Bytes of a slice that can become memory, a multiple of the granule.
    pub(super) slice: usize,
    /// Bytes from one slice to the next.
    pub(super) stride: usize,
    pub(super) granule: usize,
    /// Bytes of the words that blocks of grids send with their numbers.
    pub(super) flagged: usize,
}

impl Plan {
    /// Where the words for streams begin in a slice.
    fn streams_at(&self) -> usize {
        self.slots * DeviceSlot::bytes(self.pes)
    }

    /// Where the tables for kernels begin in a slice.
    pub(super) fn tables_at(&self) -> usize {
        (self.streams_at() + self.slots * stream_bytes(self.pes)).next_multiple_of(64)
    }

    /// Where the words begin in a slice that blocks of grids send with their numbers.
    pub(super) fn flagged_at(&self) -> usize {
        (self.tables_at() + Tables::bytes(self.pes, self.slots)).next_multiple_of(4096)
    }

    /// Where the heap begins in a slice.
    pub(super) fn heap_at(&self) -> usize {
        (self.flagged_at() + self.flagged).next_multiple_of(64 << 10)
    }
}

/// The memory that a PE's device has for the job.
#[derive(Debug)]
pub struct DeviceHeap {
    pub(super) device: Arc<dyn HeapDevice>,
    pub(super) agreed: Agreed,
    pub(super) kind: HeapKind,
    pub(super) me: usize,
    pub(super) plan: Plan,
    /// First address of the own slice; 0 where kernels use the host's heap only.
    pub(super) slice: usize,
    /// What to add to an own address to get that of a peer's copy.
    pub(super) delta: Box<[isize]>,
    /// Bytes of every slice that are memory by now.
    pub(super) mapped: AtomicUsize,
    blocks: Mutex<Allocator>,
    pub(super) chunks: Mutex<Chunks>,
    pub(super) courier: Option<Courier>,
    pub(super) tables: Tables,
    pub(super) beside: Mutex<Beside>,
    /// By PE: the lowest one that uses the same device.
    first: Box<[usize]>,
    /// Own address of the words for streams.
    streams: usize,
}

/// The memory itself.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    pub(super) own: Vec<Box<dyn DeviceMemory>>,
    /// That of peers, as far as it had to be brought into this process.
    pub(super) theirs: Vec<Box<dyn DeviceMemory>>,
}

/// What a [`DeviceHeap`] is made of.
pub(super) struct Parts {
    pub(super) device: Arc<dyn HeapDevice>,
    pub(super) agreed: Agreed,
    pub(super) kind: HeapKind,
    pub(super) me: usize,
    pub(super) plan: Plan,
    pub(super) first: Box<[usize]>,
    /// Own address of the words for streams in the host's memory.
    pub(super) host_streams: usize,
    pub(super) slice: usize,
    pub(super) delta: Box<[isize]>,
    pub(super) mapped: usize,
    pub(super) chunks: Chunks,
    pub(super) courier: Option<Courier>,
    pub(super) tables: Tables,
}

impl DeviceHeap {
    pub(super) fn new(parts: Parts) -> DeviceHeap {
        let Parts { device, agreed, kind, me, plan, first, .. } = parts;
        let Parts { host_streams, slice, delta, mapped, chunks, courier, tables, .. } = parts;
        let at = plan.heap_at();
        let room = if slice == 0 { 0 } else { plan.slice - at };
        DeviceHeap {
            device,
            agreed,
            kind,
            me,
            plan,
            slice,
            delta,
            mapped: AtomicUsize::new(mapped),
            blocks: Mutex::new(Allocator::new(room, at)),
            chunks: Mutex::new(chunks),
            courier,
            tables,
            beside: Mutex::default(),
            first,
            streams: if slice == 0 { host_streams } else { slice + plan.streams_at() },
        }
    }

    /// The device.
    pub fn device(&self) -> &Arc<dyn HeapDevice> {
        &self.device
    }

    /// What the PEs have agreed on.
    pub fn agreed(&self) -> Agreed {
        self.agreed
    }

    /// How PEs share devices.
    pub fn sharing(&self) -> Sharing {
        self.agreed.sharing
    }

    /// How this PE shares its device: alone, where only others share theirs.
    pub fn own_sharing(&self) -> Sharing {
        let others = (0..self.plan.pes).filter(|&pe| pe != self.me);
        let shared = others.map(|pe| self.first[pe]).any(|first| first == self.first[self.me]);
        if shared || self.sharing() == Sharing::Threads { self.sharing() } else { Sharing::Alone }
    }

    /// Which heap kernels use.
    pub fn kind(&self) -> HeapKind {
        self.kind
    }

    /// First address of this PE's heap in device memory, and the bytes of it that are memory by now. 0 bytes where
    /// kernels use the host's heap.
    pub fn heap(&self) -> (usize, usize) {
        let (at, mapped) = (self.plan.heap_at(), self.mapped.load(Ordering::Acquire));
        (self.slice + at, mapped.saturating_sub(at))
    }

    /// True where `[addr, addr + len)` lies in this PE's heap in device memory.
    #[inline]
    pub fn contains(&self, addr: usize, len: usize) -> bool {
        let (heap, room) = self.heap();
        let offset = addr.wrapping_sub(heap);
        offset <= room && len <= room - offset && room > 0
    }

    /// The same of the whole slice, with the library's part.
    pub fn in_slice(&self, addr: usize, len: usize) -> bool {
        let room = self.mapped.load(Ordering::Acquire);
        let offset = addr.wrapping_sub(self.slice);
        offset <= room && len <= room - offset && room > 0
    }

    /// The address of PE `pe`'s copy of an own address of the slice, as this process and its device see it.
    #[inline]
    pub fn peer(&self, addr: usize, pe: usize) -> usize {
        addr.wrapping_add_signed(self.delta[pe])
    }

    /// Whose memory an address lies in, if it is a peer's.
    pub(crate) fn peer_of(&self, addr: usize) -> Option<usize> {
        (0..self.plan.pes)
            .filter(|&pe| pe != self.me && self.slice != 0)
            .find(|&pe| addr.wrapping_sub(self.peer(self.slice, pe)) < self.plan.slice)
    }

    /// The lowest PE that uses the same device as PE `pe`.
    pub fn first_on_device(&self, pe: usize) -> usize {
        self.first[pe]
    }

    /// Own address of the words of a team slot for synchronisation in streams: [`STREAM_ARRAYS`] arrays of
    /// [`DeviceHeap::stream_words`] 64-bit words, zero at first, which stay as they are when the slot becomes another
    /// team's. [`DeviceHeap::peer`] leads to those of the others.
    pub fn stream_slot(&self, slot: usize) -> usize {
        self.streams + slot * stream_bytes(self.plan.pes)
    }

    /// Own address and bytes of the words that blocks of grids send with their numbers, of which [`Agreed::flagged`] bytes are
    /// data of a call: zero at first; `None` where kernels of other PEs are not to be waited for, or reach none.
    pub fn flagged_words(&self) -> Option<(usize, usize)> {
        (self.slice != 0 && self.plan.flagged != 0)
            .then(|| (self.slice + self.plan.flagged_at(), self.plan.flagged))
    }

    /// Words of each of these arrays.
    pub fn stream_words(&self) -> usize {
        DeviceSlot::words(self.plan.pes)
    }

    pub(super) fn chunks(&self) -> MutexGuard<'_, Chunks> {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives peers' memory back. The own memory goes when all PEs have done that.
    pub(crate) fn close_peers(&self, world: &World) -> Result<()> {
        self.mapped.store(0, Ordering::Release);
        self.chunks().theirs.clear();
        self.close_beside();
        if self.kind == HeapKind::Host {
            let slice = world.window().slice() as usize;
            for pe in 0..self.plan.pes {
                self.device.unpin(world.window().peer(slice, pe))?;
            }
        }
        Ok(())
    }

    /// Gives the own memory back.
    pub(crate) fn close(&self) {
        self.chunks().own.clear();
    }

    /// The least bound on the heap that gives one of `bytes`: a slice is whole granules.
    pub(crate) fn least_bound(&self, bytes: usize) -> usize {
        let (own, granule) = (self.plan.heap_at(), self.plan.granule);
        let slice = bytes.checked_add(own).and_then(|slice| slice.checked_next_multiple_of(granule));
        slice.map_or(usize::MAX, |slice| (slice - granule + 1).saturating_sub(own))
    }

    /// The allocator.
    pub(crate) fn blocks(&self) -> MutexGuard<'_, Allocator> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Where a ring lies: `[header | descriptors | replies]` in memory that a back end gives.
use super::ring::{Descriptor, Reply, Ring};
use crate::atomics::AtomicU64;
use crate::error::{Error, Result};
use crate::wait::Doorbell;
use core::any::Any;
use core::mem::offset_of;
use core::ptr::NonNull;

/// First bytes of a ring. The device headers define the same struct (`dushmem_impl_proxy_ring`): fields are
/// only added at the end, and [`Header::VERSION`] counts incompatible changes.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Header {
    magic: u64,
    version: u32,
    size: u32,
    slots: u32,
    shift: u32,
    /// Addresses as kernels see them.
    descriptors: u64,
    replies: u64,
    /// What the emulator's functions take.
    host: u64,
    reserved: [u64; 2],
    head: Line<AtomicU64>,
    bell: Doorbell,
}

#[derive(Debug)]
#[repr(C, align(64))]
struct Line<T>(T);

// loom's atomics are larger; no header is made there.
const _: () = assert!(cfg!(loom) || size_of::<Header>() == 192 && offset_of!(Header, head) == 64);
const _: () = assert!(cfg!(loom) || offset_of!(Header, bell) == 128);
const _: () = assert!(cfg!(loom) || size_of::<Descriptor>() == 64 && size_of::<Reply>() == 32);

impl Header {
    /// First word of a ring.
    pub const MAGIC: u64 = 0x6475_7368_6d70_7831;
    /// Version of the layout.
    pub const VERSION: u32 = 1;
}

/// Zeroed memory for a ring, writable by the host and by kernels until dropped.
#[derive(Debug)]
pub struct Memory {
    base: NonNull<u8>,
    /// The same place as kernels see it.
    device: u64,
    slots: usize,
    /// See [`Memory::count_at`].
    tickets: u64,
    _keep: Box<dyn Any + Send + Sync>,
}

// SAFETY: the memory is shared by design; everything in it that changes is atomic.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

/// 64 bytes of zeroes.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Zeroes([u64; 8]);

impl Memory {
    /// Bytes that a ring of so many slots takes.
    pub const fn bytes(slots: usize) -> usize {
        size_of::<Header>() + slots * (size_of::<Descriptor>() + size_of::<Reply>())
    }

    /// Memory of a back end: [`Memory::bytes`] zeroed bytes at `base`, which kernels see at `device`. `keep` is
    /// dropped when the ring is.
    ///
    /// # Safety
    /// The memory is valid, and nobody else's, for as long as `keep` exists; `base` is a multiple of 64.
    pub unsafe fn new(
        base: NonNull<u8>,
        device: u64,
        slots: usize,
        keep: Box<dyn Any + Send + Sync>,
    ) -> Result<Memory> {
        if !slots.is_power_of_two() || !(2..=1 << 24).contains(&slots) {
            let why = "the ring of requests has a power of two of slots, from 2 to 2^24";
            return Err(Error::BadValue { arg: "slots", value: slots as i64, why });
        }
        let (descriptors, replies) =
            (size_of::<Header>(), size_of::<Header>() + slots * size_of::<Descriptor>());
        let header = Header {
            magic: Header::MAGIC,
            version: Header::VERSION,
            size: size_of::<Header>() as u32,
            slots: slots as u32,
            shift: slots.ilog2(),
            descriptors: device + descriptors as u64,
            replies: device + replies as u64,
            host: 0,
            reserved: [0; 2],
            head: Line(AtomicU64::new(0)),
            bell: Doorbell::new(),
        };
        // SAFETY: aligned, and large enough.
        unsafe { base.cast::<Header>().write(header) };
        Ok(Memory { base, device, slots, tickets: 0, _keep: keep })
    }

    /// Has kernels count tickets in the word at `at` of their device's memory, which is zero, and a multiple of 64: their way
    /// there leads across no bus. All threads that post at a time try for one ticket, and one gets it, so for a
    /// thousand requests of a thousand threads a million tries are made. In the header they only show the host how many
    /// tickets are taken, so the host takes none then.
    pub fn count_at(&mut self, at: u64) {
        debug_assert!(at.is_multiple_of(64) && at != 0);
        self.tickets = at + u64::from(self.slots.ilog2());
    }

    /// What kernels have to know of that: [`KernelState::tickets`](crate::device::KernelState::tickets).
    pub fn tickets(&self) -> u64 {
        self.tickets
    }

    /// Memory of this process, for kernels that run in it.
    pub fn of_process(slots: usize) -> Result<Memory> {
        struct Keep(*mut [Zeroes]);
        impl Drop for Keep {
            fn drop(&mut self) {
                // SAFETY: made by `into_raw` below.
                drop(unsafe { Box::from_raw(self.0) });
            }
        }
        // SAFETY: the pointer is that of a box, which can be sent.
        unsafe impl Send for Keep {}
        // SAFETY: it is used for nothing but the drop.
        unsafe impl Sync for Keep {}
        let lines = vec![Zeroes([0; 8]); Memory::bytes(slots).div_ceil(64)].into_boxed_slice();
        let keep = Keep(Box::into_raw(lines));
        let base = NonNull::new(keep.0.cast::<u8>()).unwrap_or(NonNull::dangling());
        // SAFETY: zeroed, aligned to 64, and kept.
        unsafe { Memory::new(base, base.as_ptr() as u64, slots, Box::new(keep)) }
    }

    /// The address that kernels get.
    pub fn device_address(&self) -> u64 {
        self.device
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.slots
    }

    fn header(&self) -> &Header {
        // SAFETY: written by `new`; afterwards only its atomics change, and `host` once, before it is used.
        unsafe { self.base.cast::<Header>().as_ref() }
    }

    /// What the emulator's functions get as `host`. Called before kernels know the ring.
    pub(super) fn set_host(&self, host: u64) {
        // SAFETY: as above; nobody else has the address yet.
        unsafe { (&raw mut (*self.base.cast::<Header>().as_ptr()).host).write(host) }
    }

    pub(super) fn bell(&self) -> &Doorbell {
        &self.header().bell
    }

    pub(super) fn ring(&self) -> Ring<'_> {
        let at = |offset: usize| self.base.as_ptr().wrapping_add(offset);
        let descriptors = at(size_of::<Header>()).cast::<Descriptor>();
        let replies = at(size_of::<Header>() + self.slots * size_of::<Descriptor>()).cast::<Reply>();
        // SAFETY: the memory holds so many of each, of atomics, for which zeroes are valid.
        let (descriptors, replies) = unsafe {
            (
                core::slice::from_raw_parts(descriptors, self.slots),
                core::slice::from_raw_parts(replies, self.slots),
            )
        };
        Ring::new(&self.header().head.0, descriptors, replies)
    }
}

//! The part of the internals that a member of a team shows to the others.
use crate::sync::SyncLine;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU64, Ordering};

/// Bytes of one payload buffer.
pub const PAYLOAD: usize = 8096;

/// Up to so many bytes a collective's data travel in the payload buffers: one synchronisation less, one copy
/// more. Measured on two CPUs: with a CPU for each PE the copies cost more from 2 KiB on; where PEs take turns
/// a synchronisation costs so much more that all that fits is worth copying.
pub fn small_limit(pes: usize, cpus: usize) -> usize {
    if pes <= cpus { SMALL } else { PAYLOAD }
}

/// [`small_limit`] with a CPU for each PE.
pub const SMALL: usize = 2048;

/// One team slot of one PE. All-zero bytes are the initial state.
///
/// Payload and announcements are there twice and used in turn. That suffices: a PE writes buffer `e` again
/// at synchronisation `e + 2`, and gets there only when all members have arrived at `e + 1`, hence have
/// read what they wanted of `e`.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct TeamSlot {
    /// Used in rank 0's slot.
    pub line: SyncLine,
    said: [Said; 2],
    payload: [UnsafeCell<[u8; PAYLOAD]>; 2],
}

// loom's atomics are larger.
#[cfg(not(loom))]
const _: () = assert!(size_of::<TeamSlot>() == 16384);

#[repr(C)]
#[derive(Debug)]
struct Said {
    call: AtomicU64,
    detail: AtomicU64,
    argument: AtomicU64,
    empty_calls: AtomicU64,
}

/// What a member announced before it synchronised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced {
    /// Number of the call.
    pub call: u32,
    /// Size, or what else distinguishes calls of that kind for a reader.
    pub detail: u64,
    /// What else members must agree on: a root, an operation, an alignment.
    pub argument: u64,
    /// Allocations of size zero so far, which don't synchronise.
    pub empty_calls: u64,
}

impl TeamSlot {
    /// Announces the call that is about to synchronise.
    #[inline]
    pub fn say(&self, epoch: u32, what: Announced) {
        let said = &self.said[epoch as usize % 2];
        said.call.store(u64::from(what.call), Ordering::Relaxed);
        said.detail.store(what.detail, Ordering::Relaxed);
        said.argument.store(what.argument, Ordering::Relaxed);
        said.empty_calls.store(what.empty_calls, Ordering::Relaxed);
    }

    /// What the owner announced for synchronisation `epoch`.
    pub fn said(&self, epoch: u32) -> Announced {
        let said = &self.said[epoch as usize % 2];
        Announced {
            call: said.call.load(Ordering::Relaxed) as u32,
            detail: said.detail.load(Ordering::Relaxed),
            argument: said.argument.load(Ordering::Relaxed),
            empty_calls: said.empty_calls.load(Ordering::Relaxed),
        }
    }

    /// The payload buffer of synchronisation `epoch`: written by its owner before, read by others after.
    #[inline]
    pub fn payload(&self, epoch: u32) -> *mut u8 {
        self.payload[epoch as usize % 2].get().cast()
    }
}

//! The part of the internals that a member of a team shows to the others.
use super::post::Posts;
use crate::sync::{AHEAD, SyncLine};
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

/// Bytes of what is told about members that differ.
const TEXT: usize = 2048;

/// Number of a synchronisation, and which of the payload buffers it uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Epoch {
    pub number: u32,
    pub turn: u32,
}

impl Epoch {
    /// Where members meet in something else.
    pub(crate) const NONE: Epoch = Epoch { number: 0, turn: 0 };
}

/// One team slot of one PE. All-zero bytes are the initial state.
///
/// Payload is there twice and used in turn by what all members wait for. That suffices: a PE writes buffer `t` again
/// two such synchronisations later, and gets there only when all members have arrived at the one in between, hence have
/// read what they wanted. Announcements are there for each synchronisation that a member may be ahead: the last one to
/// arrive reads them.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct TeamSlot {
    /// Used in rank 0's slot.
    pub line: SyncLine,
    said: [Said; AHEAD as usize],
    payload: [UnsafeCell<[u8; PAYLOAD]>; 2],
    /// Used in rank 0's slot.
    told: Told,
    /// Those of this PE as a root.
    pub posts: Posts,
}

// loom's atomics are larger.
#[cfg(not(loom))]
const _: () = assert!(size_of::<TeamSlot>().is_multiple_of(4096));

/// What the last to arrive has told of members that differ. It is the only one that can write this, and only once all have
/// left the call in which they have read what stood there before.
#[repr(C)]
#[derive(Debug)]
struct Told {
    empty_calls: AtomicU64,
    len: AtomicU64,
    text: UnsafeCell<[u8; TEXT]>,
    /// To whole pages.
    _rest: [u8; 1456],
}

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
        let said = &self.said[(epoch % AHEAD) as usize];
        // The number is for those who can't know what else is left here.
        said.call.store(u64::from(epoch) << 32 | u64::from(what.call), Ordering::Relaxed);
        said.detail.store(what.detail, Ordering::Relaxed);
        said.argument.store(what.argument, Ordering::Relaxed);
        said.empty_calls.store(what.empty_calls, Ordering::Relaxed);
    }

    /// Where in a slot its line is, and its length in words.
    pub(crate) const LINE: (usize, usize) =
        (core::mem::offset_of!(TeamSlot, line), size_of::<SyncLine>() / 8);

    /// Where in a slot the word is that names the call which the owner has announced for synchronisation `epoch`.
    pub(crate) fn call_at(epoch: u32) -> usize {
        core::mem::offset_of!(TeamSlot, said) + (epoch % AHEAD) as usize * size_of::<Said>()
    }

    /// The call in such a word, if it is that of this synchronisation.
    pub(crate) fn call_of(word: u64, epoch: u32) -> Option<u32> {
        ((word >> 32) as u32 == epoch).then_some(word as u32)
    }

    /// What the owner announced for synchronisation `epoch`.
    pub fn said(&self, epoch: u32) -> Announced {
        let said = &self.said[(epoch % AHEAD) as usize];
        Announced {
            call: said.call.load(Ordering::Relaxed) as u32,
            detail: said.detail.load(Ordering::Relaxed),
            argument: said.argument.load(Ordering::Relaxed),
            empty_calls: said.empty_calls.load(Ordering::Relaxed),
        }
    }

    /// The payload buffer of a turn: written by its owner before a synchronisation, read by others after.
    #[inline]
    pub fn payload(&self, turn: u32) -> *mut u8 {
        self.payload[turn as usize % 2].get().cast()
    }

    /// Tells all how members differ, and how many empty calls the one has made that has made most.
    pub fn tell(&self, text: &str, empty_calls: u64) {
        let bytes = &text.as_bytes()[..text.len().min(TEXT)];
        // SAFETY: nobody reads before the release that follows, or what was told before.
        unsafe { self.told.text.get().cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        self.told.len.store(bytes.len() as u64, Ordering::Relaxed);
        self.told.empty_calls.store(empty_calls, Ordering::Relaxed);
    }

    /// What was told last.
    pub fn told(&self) -> (String, u64) {
        let mut text = vec![0; (self.told.len.load(Ordering::Relaxed) as usize).min(TEXT)];
        // SAFETY: written before the release that the caller has seen; not again before it arrives anew.
        unsafe { text.as_mut_ptr().copy_from_nonoverlapping(self.told.text.get().cast(), text.len()) };
        (String::from_utf8_lossy(&text).into_owned(), self.told.empty_calls.load(Ordering::Relaxed))
    }
}

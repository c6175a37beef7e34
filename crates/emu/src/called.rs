//! Under which names GPU threads call the library, as the program writes them; and calls that all threads of a block or
//! warp have to make, where only some of them do.
use crate::board::{Board, What, unpack};
use crate::kernel;
use crate::watch;
use std::ffi::{CStr, c_char};
use std::fmt::Write;
use std::ptr;
use std::sync::atomic::Ordering::Relaxed;

/// A string literal of the program, or null in no call. The same name may stand at several addresses.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Name(*const c_char);

// SAFETY: literals are never written, and live as long as the program.
unsafe impl Send for Name {}

impl Default for Name {
    fn default() -> Name {
        Name::NONE
    }
}

impl Name {
    /// That of no call.
    pub const NONE: Name = Name(ptr::null());

    /// The name at an address.
    ///
    /// # Safety
    /// `at` is null or a C string that lives for ever.
    pub const unsafe fn new(at: *const c_char) -> Name {
        Name(at)
    }

    /// Where it stands.
    pub fn address(self) -> *const c_char {
        self.0
    }

    /// The name; None in no call.
    pub fn text(self) -> Option<&'static str> {
        // SAFETY: as `new`'s caller promises.
        (!self.0.is_null()).then(|| unsafe { CStr::from_ptr(self.0) }.to_str().unwrap_or("a call"))
    }

    fn is_some(self) -> bool {
        !self.0.is_null()
    }

    /// Whether both are the same call.
    #[inline]
    pub fn same(self, other: Name) -> bool {
        self.0 == other.0 || self.same_text(other)
    }

    #[cold]
    fn same_text(self, other: Name) -> bool {
        self.text() == other.text()
    }
}

/// What those came for who are at a barrier.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Roll {
    name: Name,
    mixed: bool,
}

impl Roll {
    /// The first one comes.
    #[inline]
    pub fn of(name: Name) -> Roll {
        Roll { name, mixed: false }
    }

    /// One more comes.
    #[inline]
    pub fn join(&mut self, name: Name) {
        self.mixed |= !self.name.same(name);
    }

    /// True if they must not go on, now that nobody is left who could come: they are in a call that all have to
    /// make, and some are elsewhere.
    #[inline]
    pub fn is_partial(self, some_have_ended: bool) -> bool {
        self.mixed || (some_have_ended && self.name.is_some())
    }
}

/// Ends the job: of the `all` threads of a block, `ended` have returned, and the others are at a barrier, but not all of them
/// in the same call.
#[cold]
pub(crate) fn part_of_block(board: &Board, all: u32, ended: u32) -> ! {
    let in_call = |slot: &&crate::board::Slot| slot.what.load(Relaxed) == What::SYNC_THREADS.0;
    let names = || board.slots.iter().filter(in_call).map(|slot| (slot, slot.name()));
    // Of several calls, that of the thread with the lowest number.
    let first = names().filter(|(_, name)| name.is_some()).min_by_key(|(slot, _)| {
        let at = unpack(slot.index.load(Relaxed));
        (at.z, at.y, at.x)
    });
    let name = first.map_or(Name::NONE, |(_, name)| name);
    let made = names().filter(|(_, other)| other.same(name)).count();
    let mut text = format!(
        "{made} of the {all} threads of the block make{} this call, and all have to: {}",
        if made == 1 { "s" } else { "" },
        watch::waits(board)
    );
    if ended != 0 {
        let _ = write!(text, "; {ended} {} ended", if ended == 1 { "has" } else { "have" });
    }
    kernel::end_at(name.text().unwrap_or_default(), &text, 1, &format!(" ({})", watch::place(board)))
}

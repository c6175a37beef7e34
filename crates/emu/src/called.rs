//! Under which names GPU threads call the library, as the program writes them; and calls that all threads of a block or
//! warp have to make alike, where only some of them do, or with other arguments than the others.
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

/// What the arguments of a call are, as the headers describe them.
#[derive(Debug)]
#[repr(C)]
pub struct Parameters {
    /// What they are called, with commas between.
    names: *const c_char,
    count: u32,
    /// Bit i: value i is an address.
    addresses: u32,
}

/// Those that a thread has passed: so many values follow.
#[derive(Debug)]
#[repr(C)]
pub struct Arguments {
    are: *const Parameters,
}

/// Where the arguments of a call stand, on the stack of the GPU thread that makes it, which waits as long as others look at them;
/// or null.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Passed(*const Arguments);

impl Default for Passed {
    fn default() -> Passed {
        Passed::NONE
    }
}

impl Passed {
    /// None to compare.
    pub const NONE: Passed = Passed(ptr::null());

    fn parameters(self) -> &'static Parameters {
        // SAFETY: as the type says; they are a constant of the program.
        unsafe { &*(*self.0).are }
    }

    fn values(self) -> &'static [u64] {
        // SAFETY: as the type says; nobody keeps them.
        unsafe { std::slice::from_raw_parts(self.0.add(1).cast(), self.parameters().count as usize) }
    }

    /// Whether there is nothing in which the two differ, as far as they are known.
    #[inline]
    fn agrees(self, other: Passed) -> bool {
        if self.0.is_null() || other.0.is_null() {
            return true;
        }
        // A few words: comparing them here takes less than a call that compares memory.
        let (one, two) = (self.values(), other.values());
        one.len() == two.len() && one.iter().zip(two).fold(0, |all, (a, b)| all | (a ^ b)) == 0
    }

    /// The first argument that is another one in `other`, with what both have.
    #[cold]
    fn difference(self, other: Passed) -> (String, [String; 2]) {
        let (one, two) = (self.values(), other.values());
        let at = one.iter().zip(two).position(|(one, two)| one != two).unwrap_or(one.len().min(two.len()));
        let Parameters { names, addresses, .. } = *self.parameters();
        // SAFETY: a literal.
        let names = unsafe { CStr::from_ptr(names) };
        let name = names.to_str().unwrap_or_default().split(", ").nth(at).unwrap_or("an argument");
        let show = |values: &[u64]| match values.get(at) {
            Some(value) if addresses >> at & 1 == 1 => format!("{value:#x}"),
            Some(&value) => (value as i64).to_string(),
            None => "nothing".into(),
        };
        (name.into(), [show(one), show(two)])
    }
}

/// A call that a GPU thread is in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Made {
    /// Under which name.
    pub name: Name,
    /// With what, if nobody has looked at that yet.
    pub passed: Passed,
}

impl Made {
    /// Of two threads in the same call, named `whose`: what they have passed, if that is not the same.
    #[inline]
    pub(crate) fn differs(&self, other: &Made, whose: impl FnOnce() -> [String; 2]) -> Option<String> {
        if self.passed.agrees(other.passed) {
            return None;
        }
        let ((arg, [one, two]), [first, second]) = (self.passed.difference(other.passed), whose());
        Some(format!("{arg} = {one} in {first}, and {two} in {second}"))
    }
}

/// What those came for who are at a barrier.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Roll {
    made: Made,
    /// Slot of the first one.
    first: u32,
    mixed: bool,
}

impl Roll {
    /// One comes, whose slot has this number; `first`: nobody else is there. Ends the job where it makes the same call with other
    /// arguments.
    #[inline]
    pub fn come(&mut self, first: bool, made: Made, slot: u32, board: &Board) {
        if first {
            *self = Roll { made, first: slot, mixed: false };
        } else if !self.made.name.same(made.name) {
            self.mixed = true;
        } else if !self.made.passed.agrees(made.passed) {
            self.differ(made, slot, board);
        }
    }

    #[cold]
    fn differ(&self, made: Made, slot: u32, board: &Board) -> ! {
        let thread = |slot: u32| format!("thread {}", unpack(board.slots[slot as usize].index.load(Relaxed)));
        let text = self.made.differs(&made, || [thread(self.first), thread(slot)]).unwrap_or_default();
        let why = format!("{text}; all threads of the block make this call with the same arguments");
        kernel::end_at(made.name.text().unwrap_or_default(), &why, 1, &format!(" ({})", watch::place(board)))
    }

    /// True if they must not go on, now that nobody is left who could come: they are in a call that all have to
    /// make, and some are elsewhere.
    #[inline]
    pub fn is_partial(self, some_have_ended: bool) -> bool {
        self.mixed || (some_have_ended && self.made.name.is_some())
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

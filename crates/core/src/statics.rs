//! C globals of the executable as symmetric data (OpenSHMEM section 3).
//!
//! The pages of the executable's writable segments are moved into the node's memory and mapped at their
//! old addresses, so that puts, atomics and locks on globals are plain loads and stores. They lie in an
//! area of their own, before the slices: it does not move when a second init asks for another heap.
//! Only PEs that are processes have them, so the state here is global to the process.
use dushmem_os::fault;
use dushmem_os::image::{self, Segment, Snapshot};
use dushmem_os::memory::page;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Why globals are not symmetric in this job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Switched off, or not the default of this name family.
    Off,
    /// Not every PE runs the same executable.
    OtherExecutable,
    /// Threads were already running at init: their writes could have been lost.
    Threads,
    /// The kernel refused.
    System,
}

impl Refusal {
    /// Text that follows "pass the address of an object from malloc".
    pub fn hint(self) -> &'static str {
        match self {
            Refusal::Off => " (C globals are not symmetric here: DUSHMEM_STATIC=1 makes them so)",
            Refusal::OtherExecutable => " (C globals are not symmetric: the PEs run different executables)",
            Refusal::Threads => " (C globals are not symmetric: other threads were running at init)",
            Refusal::System => " (C globals are not symmetric: the kernel refused to remap them)",
        }
    }
}

/// What a PE offers: sent to the others before the layout is fixed.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    segments: Vec<Segment>,
    /// Equal on PEs that run the same executable.
    pub identity: u64,
    /// Bytes of all segments.
    pub len: usize,
}

/// The executable's globals, if they can be shared: not while threads other than this one run.
pub fn offer() -> Result<Offer, Refusal> {
    if SHARED.get().is_none() && image::threads() > 1 {
        return Err(Refusal::Threads);
    }
    let (segments, identity) = image::writable_segments();
    let len = segments.iter().map(|s| s.len).sum();
    Ok(Offer { segments, identity, len })
}

#[derive(Debug)]
struct Shared {
    segments: Vec<Segment>,
    memory: OwnedFd,
    offset: u64,
    owner: fault::Owner,
}

static SHARED: OnceLock<Shared> = OnceLock::new();
static SNAPSHOT: Mutex<Option<Snapshot>> = Mutex::new(None);

/// One segment of this PE and where its bytes begin in the PE's static area.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// First address in this process.
    pub start: usize,
    /// Length in bytes.
    pub len: usize,
    /// Offset in the static area of any PE.
    pub offset: usize,
}

/// Moves the globals into `memory` at `offset`, once in the life of a process, and says where they are.
pub fn share(offer: &Offer, memory: impl AsFd, offset: u64) -> Result<Vec<Placed>, Refusal> {
    if SHARED.get().is_none() {
        let memory = memory.as_fd().try_clone_to_owned().map_err(|_| Refusal::System)?;
        // SAFETY: `offer` has found no other thread; the area is fresh, nobody else uses it.
        unsafe { image::share_segments(&offer.segments, memory.as_fd(), offset) }
            .map_err(|_| Refusal::System)?;
        let owner = fault::Owner::this_process();
        let _ = SHARED.set(Shared { segments: offer.segments.clone(), memory, offset, owner });
        fault::at_fork(before_fork, after_fork_parent, after_fork_child);
    }
    // Globals that an earlier job of this process has moved stay in the memory of that job.
    let same = |shared: &Shared| dushmem_os::socket::same_file(&shared.memory, memory.as_fd());
    if !SHARED.get().is_some_and(same) {
        return Err(Refusal::System);
    }
    let mut at = 0;
    let place = |s: &Segment| {
        let placed = Placed { start: s.start, len: s.len, offset: at };
        at += s.len;
        placed
    };
    Ok(offer.segments.iter().map(place).collect())
}

/// Bytes of globals that this process has moved already: they stay in the node's memory to its end.
pub fn moved() -> usize {
    SHARED.get().map_or(0, |shared| shared.segments.iter().map(|s| s.len).sum())
}

/// Bytes of one PE's static area for `len` bytes of globals.
pub fn area(len: usize) -> usize {
    len.next_multiple_of(page())
}

impl Shared {
    /// True if this library's own state lies in what is shared: it is part of the executable.
    fn holds_the_library(&self) -> bool {
        let own = &raw const SHARED as usize;
        self.segments.iter().any(|s| (s.start..s.start + s.len).contains(&own))
    }
}

extern "C" fn before_fork() {
    if let Some(shared) = SHARED.get().filter(|s| !s.owner.is_forked_child()) {
        let taken = image::snapshot(&shared.segments, shared.memory.as_fd(), shared.offset);
        if shared.holds_the_library() {
            // Parent and child would get at the note of the snapshot, and libc's at its own state, in the
            // same memory: the fork itself runs on the private copy, and the parent changes back.
            // SAFETY: the snapshot was taken just now; `after_fork_parent` shares again.
            unsafe { image::restore(&shared.segments, shared.memory.as_fd(), shared.offset, &taken) };
            return;
        }
        *SNAPSHOT.lock().unwrap_or_else(PoisonError::into_inner) = Some(taken);
    }
}

extern "C" fn after_fork_parent() {
    if let Some(shared) = SHARED.get().filter(|s| !s.owner.is_forked_child() && s.holds_the_library()) {
        // SAFETY: these are the arguments of the snapshot that `before_fork` took.
        unsafe { image::share_again(&shared.segments, shared.memory.as_fd(), shared.offset) };
        return;
    }
    let taken = SNAPSHOT.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let (Some(shared), Some(taken)) = (SHARED.get(), taken) {
        image::discard(&shared.segments, &taken);
    }
}

extern "C" fn after_fork_child() {
    let taken = SNAPSHOT.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let (Some(shared), Some(taken)) = (SHARED.get(), taken) {
        // SAFETY: this is the child of the fork for which the snapshot was taken.
        unsafe { image::restore(&shared.segments, shared.memory.as_fd(), shared.offset, &taken) };
    }
}

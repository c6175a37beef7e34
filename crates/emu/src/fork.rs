//! Forks while streams are at work.
//!
//! A child has the streams of its parent without the threads that run them, so it can't use them. What it may do is
//! call init, and be a job of its own; the locks that this takes must not be those that a stream held at the fork.
use crate::{kernel, memory};
use std::cell::RefCell;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_CHILD: AtomicBool = AtomicBool::new(false);
static WATCHES: Once = Once::new();

thread_local! {
    /// Held from before a fork to after it, by the thread that forks.
    static HELD: RefCell<Option<(kernel::Held, memory::Held)>> = const { RefCell::new(None) };
}

extern "C" fn before() {
    // No holder of the second lock asks for the first one.
    HELD.set(Some((kernel::hold(), memory::hold())));
}

extern "C" fn after_in_parent() {
    HELD.set(None);
}

extern "C" fn after_in_child() {
    IS_CHILD.store(true, Ordering::Relaxed);
    HELD.set(None);
}

/// From here on a fork waits until the locks are free. Before the first stream runs.
pub(crate) fn watch() {
    WATCHES.call_once(|| {
        dushmem_os::fault::at_fork(before, after_in_parent, after_in_child);
    });
}

/// True in a child forked from a process that has used streams.
pub(crate) fn is_child() -> bool {
    IS_CHILD.load(Ordering::Relaxed)
}

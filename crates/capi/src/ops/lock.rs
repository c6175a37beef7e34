//! Distributed locks.
use super::prelude::*;
use crate::report::{must, outside_kernels};

// A lock is a C long, which the engine takes as 64 bits.
const _: () = assert!(size_of::<c_long>() == 8);

pub unsafe fn set(lock: *mut c_long, name: Name) {
    outside_kernels(name);
    // SAFETY: the caller's.
    must(name, |w| unsafe { w.set_lock(lock.cast()) });
}

pub unsafe fn test(lock: *mut c_long, name: Name) -> i32 {
    // SAFETY: the caller's.
    let taken = must(name, |w| unsafe { w.test_lock(lock.cast()) });
    i32::from(!taken)
}

pub unsafe fn clear(lock: *mut c_long, name: Name) {
    // SAFETY: the caller's.
    must(name, |w| unsafe { w.clear_lock(lock.cast()) });
}

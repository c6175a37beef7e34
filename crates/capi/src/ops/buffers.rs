//! Buffers of the program's own, and queue pairs.
use super::prelude::*;
use crate::report::{must, or_else, status};
use core::ptr::null_mut;
use dushmem_core::error::Error;
use dushmem_core::team::handles;

pub unsafe fn register(addr: *mut u8, length: usize, name: Name) -> i32 {
    status(name, |w| w.register_buffer(addr as usize, length))
}

pub unsafe fn unregister(addr: *mut u8, name: Name) -> i32 {
    status(name, |w| w.unregister_buffer(addr as usize))
}

pub unsafe fn unregister_all(name: Name) {
    must(name, |w| w.unregister_all_buffers());
}

pub unsafe fn register_symmetric(buf_ptr: *mut u8, size: usize, _flags: i32, name: Name) -> *mut u8 {
    or_else(name, |w| w.register_symmetric_buffer(buf_ptr, size), |_| null_mut())
}

pub unsafe fn unregister_symmetric(mmap_ptr: *mut u8, size: usize, name: Name) -> i32 {
    status(name, |w| w.unregister_symmetric_buffer(mmap_ptr, size))
}

/// No memory here has an address at which a store reaches all PEs of a team.
pub unsafe fn multicast(team: i32, _ptr: *const u8, name: Name) -> *mut u8 {
    if team == handles::INVALID {
        return null_mut();
    }
    or_else(name, |w| w.team(team).map(|_| null_mut()), |_| null_mut())
}

/// Queue pairs: numbers of contexts of kernels. What a kernel issues on one is ordered and completed apart from what
/// it issues on others, where it goes by the proxy; a context is made when it is first used. The array is the
/// program's.
pub unsafe fn create_qps(num_qps: i32, out_qp_array: *mut *mut i32, name: Name) -> i32 {
    status(name, |world| {
        if out_qp_array.is_null() {
            return Err(Error::NoObject { arg: "out_qp_array" });
        }
        if !(1..=1 << 16).contains(&num_qps) {
            let why = "a number from 1 to 65536 is wanted";
            return Err(Error::BadValue { arg: "num_qps", value: num_qps.into(), why });
        }
        let first = world.create_queue_pairs(num_qps)?;
        let handles: Box<[i32]> = (first..first + num_qps).collect();
        // SAFETY: the caller's variable. The array comes from the C library's `malloc`, so it may be freed.
        unsafe { out_qp_array.write(Box::into_raw(handles).cast()) };
        Ok(())
    })
}

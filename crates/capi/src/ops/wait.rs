//! Point-to-point synchronization.
use super::prelude::*;
use crate::report::{must, outside_kernels};
use dushmem_core::error::Call;
use dushmem_core::until::{Cmp, CmpValues, WaitInt};

#[inline(never)]
pub unsafe fn until<T: WaitInt>(ivar: *mut T, cmp: i32, cmp_value: T, name: Name) {
    outside_kernels(name);
    // SAFETY: the caller's.
    must(name, |w| unsafe { w.wait_until(Call::WaitUntil, ivar, Cmp::from_number(cmp)?, cmp_value) });
}

#[inline(never)]
pub unsafe fn signal_until(sig_addr: *mut u64, cmp: i32, cmp_value: u64, name: Name) -> u64 {
    outside_kernels(name);
    // SAFETY: the caller's.
    must(name, |w| unsafe {
        w.wait_until(Call::SignalWaitUntil, sig_addr, Cmp::from_number(cmp)?, cmp_value)
    })
}

#[inline(never)]
pub unsafe fn test<T: WaitInt>(ivar: *mut T, cmp: i32, cmp_value: T, name: Name) -> i32 {
    // SAFETY: the caller's.
    must(name, |w| unsafe { w.test(ivar, Cmp::from_number(cmp)?, cmp_value) }).into()
}

/// The forms for sets of words: with one value for all, and with one for each.
macro_rules! sets {
    ($($one:ident $each:ident $call:ident -> $result:ty;)*) => {$(
        #[inline(never)]
        pub unsafe fn $one<T: WaitInt>(
            ivars: *mut T,
            nelems: usize,
            status: *const i32,
            cmp: i32,
            cmp_value: T,
            name: Name,
        ) -> $result {
            outside_kernels(name);
            let value = CmpValues::One(cmp_value);
            // SAFETY: the caller's.
            must(name, |w| unsafe { w.$call(ivars, nelems, status, Cmp::from_number(cmp)?, value) }).into()
        }

        #[inline(never)]
        pub unsafe fn $each<T: WaitInt>(
            ivars: *mut T,
            nelems: usize,
            status: *const i32,
            cmp: i32,
            cmp_values: *const T,
            name: Name,
        ) -> $result {
            outside_kernels(name);
            let values = CmpValues::Each(cmp_values);
            // SAFETY: the caller's.
            must(name, |w| unsafe { w.$call(ivars, nelems, status, Cmp::from_number(cmp)?, values) }).into()
        }
    )*};
}
sets! {
    until_all until_all_vector wait_until_all -> ();
    until_any until_any_vector wait_until_any -> usize;
    test_all test_all_vector test_all -> i32;
    test_any test_any_vector test_any -> usize;
}

/// The forms that store indices.
macro_rules! indexed {
    ($($one:ident $each:ident $call:ident;)*) => {$(
        #[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
        #[inline(never)]
        pub unsafe fn $one<T: WaitInt>(
            ivars: *mut T,
            nelems: usize,
            indices: *mut usize,
            status: *const i32,
            cmp: i32,
            cmp_value: T,
            name: Name,
        ) -> usize {
            outside_kernels(name);
            let value = CmpValues::One(cmp_value);
            // SAFETY: the caller's.
            must(name, |w| unsafe { w.$call(ivars, nelems, indices, status, Cmp::from_number(cmp)?, value) })
        }

        #[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
        #[inline(never)]
        pub unsafe fn $each<T: WaitInt>(
            ivars: *mut T,
            nelems: usize,
            indices: *mut usize,
            status: *const i32,
            cmp: i32,
            cmp_values: *const T,
            name: Name,
        ) -> usize {
            outside_kernels(name);
            let values = CmpValues::Each(cmp_values);
            // SAFETY: the caller's.
            must(name, |w| unsafe { w.$call(ivars, nelems, indices, status, Cmp::from_number(cmp)?, values) })
        }
    )*};
}
indexed! {
    until_some until_some_vector wait_until_some;
    test_some test_some_vector test_some;
}

//! Collectives of active sets, the deprecated forms: their members meet in `pSync`.
use super::coll::reducer;
use super::prelude::*;
use crate::report::{must, outside_kernels};
use dushmem_core::coll::reduce::{ReduceNum, ReduceOp};
use dushmem_core::error::{Error, Result};
use dushmem_core::team::Team;
use dushmem_core::world::World;

/// The three numbers that describe an active set.
type Members = (i32, i32, i32);

/// Calls with the active set of those arguments.
fn on(
    name: Name,
    (start, log_stride, size): Members,
    psync: *mut c_long,
    call: impl FnOnce(&World, &Team) -> Result<()>,
) {
    outside_kernels(name);
    must(name, |w| call(w, &w.active_set(start, log_stride, size, psync)?));
}

pub unsafe fn barrier(start: i32, log_stride: i32, size: i32, psync: *mut c_long, name: Name) {
    on(name, (start, log_stride, size), psync, World::barrier);
}

pub unsafe fn sync(start: i32, log_stride: i32, size: i32, psync: *mut c_long, name: Name) {
    on(name, (start, log_stride, size), psync, World::team_sync);
}

/// Elements of `E` bytes.
#[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
pub unsafe fn broadcast<const E: usize>(
    dest: *mut u8,
    source: *const u8,
    nelems: usize,
    root: i32,
    start: i32,
    log_stride: i32,
    size: i32,
    psync: *mut c_long,
    name: Name,
) {
    let bytes = nelems.saturating_mul(E);
    // SAFETY: the caller's.
    on(name, (start, log_stride, size), psync, |w, set| unsafe {
        w.broadcast(set, dest, source, bytes, root).map_err(|error| error.counting("nelems", nelems, E))
    });
}

macro_rules! gathers {
    ($($function:ident)*) => {$(
        /// Elements of `E` bytes.
        #[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
        pub unsafe fn $function<const E: usize>(
            dest: *mut u8,
            source: *const u8,
            nelems: usize,
            start: i32,
            log_stride: i32,
            size: i32,
            psync: *mut c_long,
            name: Name,
        ) {
            let bytes = nelems.saturating_mul(E);
            // SAFETY: the caller's.
            on(name, (start, log_stride, size), psync, |w, set| unsafe { w.$function(set, dest, source, bytes).map_err(|error| error.counting("nelems", nelems, E)) });
        }
    )*};
}
gathers! { fcollect alltoall }

/// Elements of `E` bytes.
#[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
pub unsafe fn collect<const E: usize>(
    dest: *mut u8,
    source: *const u8,
    nelems: usize,
    start: i32,
    log_stride: i32,
    size: i32,
    psync: *mut c_long,
    name: Name,
) {
    let bytes = nelems.saturating_mul(E);
    // SAFETY: the caller's.
    on(name, (start, log_stride, size), psync, |w, set| unsafe {
        w.collect(set, dest, usize::MAX, source, bytes)
            .map(drop)
            .map_err(|error| error.counting("nelems", nelems, E))
    });
}

/// Elements of `E` bytes.
#[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
pub unsafe fn alltoalls<const E: usize>(
    dest: *mut u8,
    source: *const u8,
    dst: isize,
    sst: isize,
    nelems: usize,
    start: i32,
    log_stride: i32,
    size: i32,
    psync: *mut c_long,
    name: Name,
) {
    // SAFETY: the caller's.
    on(name, (start, log_stride, size), psync, |w, set| unsafe {
        w.alltoalls(set, dest, source, dst, sst, nelems, E)
    });
}

macro_rules! reductions {
    ($($function:ident $op:ident;)*) => {$(
        #[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
        pub unsafe fn $function<T: ReduceNum>(
            dest: *mut T,
            source: *const T,
            nreduce: i32,
            start: i32,
            log_stride: i32,
            size: i32,
            _pwrk: *mut T,
            psync: *mut c_long,
            name: Name,
        ) {
            let why = "the number of elements is 0 or more";
            let negative = Error::BadValue { arg: "nreduce", value: nreduce.into(), why };
            on(name, (start, log_stride, size), psync, |w, set| {
                let n = usize::try_from(nreduce).map_err(|_| negative)?;
                // SAFETY: the caller's.
                unsafe { w.reduce(set, dest.cast(), source.cast(), n, &reducer::<T>(ReduceOp::$op)?).map_err(in_elements::<T>("nreduce", n)) }
            });
        }
    )*};
}
reductions! {
    and_to_all And;
    or_to_all Or;
    xor_to_all Xor;
    max_to_all Max;
    min_to_all Min;
    sum_to_all Sum;
    prod_to_all Prod;
}

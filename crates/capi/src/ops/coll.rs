//! Collectives.
use super::prelude::*;
use crate::report::{must, outside_kernels, status};
use dushmem_core::coll::reduce::{ReduceNum, ReduceOp, Reducer};
use dushmem_core::coll::scan::Scan;
use dushmem_core::error::{Error, Result};
use dushmem_core::team::{Team, handles};
use dushmem_core::world::World;

/// Calls with the team of that handle.
#[inline(always)]
fn on(name: Name, handle: i32, call: impl FnOnce(&World, &Team) -> Result<()>) -> i32 {
    outside_kernels(name);
    status(name, |w| match handle {
        handles::WORLD => call(w, w.world_team()),
        _ => call(w, &*w.team(handle)?),
    })
}

#[inline(never)]
pub unsafe fn barrier_all(name: Name) {
    outside_kernels(name);
    must(name, World::barrier_all);
}

#[inline(never)]
pub unsafe fn sync_all(name: Name) {
    outside_kernels(name);
    must(name, World::sync_all);
}

#[inline(never)]
pub unsafe fn barrier(team: i32, name: Name) -> i32 {
    on(name, team, World::barrier)
}

#[inline(never)]
pub unsafe fn team_sync(team: i32, name: Name) -> i32 {
    on(name, team, World::team_sync)
}

#[inline(never)]
pub unsafe fn broadcast<T>(
    team: i32,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    root: i32,
    name: Name,
) -> i32 {
    let (dest, source, bytes) = (dest.cast(), source.cast(), bytes::<T>(nelems));
    // SAFETY: the caller's.
    on(name, team, |w, team| unsafe {
        w.broadcast(team, dest, source, bytes, root).map_err(in_elements::<T>("nelems", nelems))
    })
}

macro_rules! gathers {
    ($($function:ident)*) => {$(
        #[inline(never)]
        pub unsafe fn $function<T>(team: i32, dest: *mut T, source: *const T, nelems: usize, name: Name) -> i32 {
            let (dest, source, bytes) = (dest.cast(), source.cast(), bytes::<T>(nelems));
            // SAFETY: the caller's.
            on(name, team, |w, team| unsafe { w.$function(team, dest, source, bytes).map_err(in_elements::<T>("nelems", nelems)) })
        }
    )*};
}
gathers! { fcollect alltoall }

#[inline(never)]
pub unsafe fn collect<T>(team: i32, dest: *mut T, source: *const T, nelems: usize, name: Name) -> i32 {
    let (dest, source, bytes) = (dest.cast(), source.cast(), bytes::<T>(nelems));
    // SAFETY: the caller's.
    on(name, team, |w, team| unsafe {
        w.collect(team, dest, usize::MAX, source, bytes).map(drop).map_err(in_elements::<T>("nelems", nelems))
    })
}

#[inline(never)]
pub unsafe fn alltoalls<T>(
    team: i32,
    dest: *mut T,
    source: *const T,
    dst: isize,
    sst: isize,
    nelems: usize,
    name: Name,
) -> i32 {
    let (dest, source, elem) = (dest.cast(), source.cast(), size_of::<T>());
    // SAFETY: the caller's.
    on(name, team, |w, team| unsafe { w.alltoalls(team, dest, source, dst, sst, nelems, elem) })
}

/// The reducer of an operation and type.
pub fn reducer<T: ReduceNum>(op: ReduceOp) -> Result<Reducer> {
    T::reducer(op).ok_or_else(|| Error::NotSupported("this type has no such reduction".into()))
}

/// # Safety
/// As for the exported reductions.
unsafe fn reduce<T: ReduceNum>(
    op: ReduceOp,
    team: i32,
    dest: *mut T,
    source: *const T,
    nreduce: usize,
    name: Name,
) -> i32 {
    // SAFETY: the caller's.
    on(name, team, |w, team| unsafe {
        w.reduce(team, dest.cast(), source.cast(), nreduce, &reducer::<T>(op)?)
            .map_err(in_elements::<T>("nreduce", nreduce))
    })
}

macro_rules! reductions {
    ($($function:ident $op:ident;)*) => {$(
        #[inline(never)]
        pub unsafe fn $function<T: ReduceNum>(
            team: i32,
            dest: *mut T,
            source: *const T,
            nreduce: usize,
            name: Name,
        ) -> i32 {
            // SAFETY: the caller's.
            unsafe { reduce(ReduceOp::$op, team, dest, source, nreduce, name) }
        }
    )*};
}
reductions! {
    and_reduce And;
    or_reduce Or;
    xor_reduce Xor;
    max_reduce Max;
    min_reduce Min;
    sum_reduce Sum;
    prod_reduce Prod;
}

macro_rules! scatters {
    ($($function:ident $op:ident;)*) => {$(
        #[inline(never)]
        pub unsafe fn $function<T: ReduceNum>(
            team: i32,
            dest: *mut T,
            source: *const T,
            nreduce: usize,
            name: Name,
        ) -> i32 {
            // SAFETY: the caller's.
            on(name, team, |w, team| unsafe {
                w.reduce_scatter(team, dest.cast(), source.cast(), nreduce, &reducer::<T>(ReduceOp::$op)?).map_err(in_elements::<T>("nreduce", nreduce))
            })
        }
    )*};
}
scatters! {
    and_reducescatter And;
    or_reducescatter Or;
    xor_reducescatter Xor;
    max_reducescatter Max;
    min_reducescatter Min;
    sum_reducescatter Sum;
    prod_reducescatter Prod;
}

macro_rules! scans {
    ($($function:ident $kind:ident;)*) => {$(
        #[inline(never)]
        pub unsafe fn $function<T: ReduceNum>(
            team: i32,
            dest: *mut T,
            source: *const T,
            nelems: usize,
            name: Name,
        ) -> i32 {
            // SAFETY: the caller's.
            on(name, team, |w, team| unsafe {
                let sum = reducer::<T>(ReduceOp::Sum)?;
                w.scan(team, dest.cast(), source.cast(), nelems, &sum, Scan::$kind).map_err(in_elements::<T>("nelems", nelems))
            })
        }
    )*};
}
scans! {
    sum_inscan Inclusive;
    sum_exscan Exclusive;
}

unsafe extern "C" {
    fn longdouble_max(acc: *mut LongDouble, other: *const LongDouble, n: usize);
    fn longdouble_min(acc: *mut LongDouble, other: *const LongDouble, n: usize);
    fn longdouble_sum(acc: *mut LongDouble, other: *const LongDouble, n: usize);
    fn longdouble_prod(acc: *mut LongDouble, other: *const LongDouble, n: usize);
}

impl ReduceNum for LongDouble {
    fn reducer(op: ReduceOp) -> Option<Reducer> {
        macro_rules! in_c {
            ($function:ident) => {{
                unsafe fn combine(acc: *mut u8, other: *const u8, n: usize) {
                    // SAFETY: the caller's vectors.
                    unsafe { $function(acc.cast(), other.cast(), n) }
                }
                combine as unsafe fn(*mut u8, *const u8, usize)
            }};
        }
        let combine = match op {
            ReduceOp::Max => in_c!(longdouble_max),
            ReduceOp::Min => in_c!(longdouble_min),
            ReduceOp::Sum => in_c!(longdouble_sum),
            ReduceOp::Prod => in_c!(longdouble_prod),
            _ => return None,
        };
        // Unlike the tags of other types of 16 bytes, which carry a hash of their name.
        let tag = (op as u32) << 8 | 0x4c44_0000;
        // Devices have no such type.
        Some(Reducer { elem: size_of::<LongDouble>(), kind: None, op, combine, tag })
    }
}

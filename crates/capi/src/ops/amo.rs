//! Atomic memory operations.
use super::prelude::*;
use crate::report::must;
use dushmem_core::amo::{Amo, AmoInt, AmoOp};

/// An integer's 0 and 1.
pub trait Unit {
    const ZERO: Self;
    const ONE: Self;
}

macro_rules! units {
    ($($t:ty),*) => {$(
        impl Unit for $t {
            const ZERO: $t = 0;
            const ONE: $t = 1;
        }
    )*};
}
units!(i32, u32, i64, u64);

#[inline(never)]
pub unsafe fn fetch<T: Amo + Default>(source: *const T, pe: i32, ctx: Ctx, name: Name) -> T {
    let none = T::default();
    // SAFETY: the caller's.
    must(name, |w| unsafe { w.amo(ctx.of(w)?, source.cast_mut(), AmoOp::Fetch, none, none, pe) })
}

#[inline(never)]
pub unsafe fn set<T: Amo>(dest: *mut T, value: T, pe: i32, ctx: Ctx, name: Name) {
    // SAFETY: the caller's.
    must(name, |w| unsafe { w.amo_post(ctx.of(w)?, dest, AmoOp::Set, value, pe) });
}

#[inline(never)]
pub unsafe fn swap<T: Amo>(dest: *mut T, value: T, pe: i32, ctx: Ctx, name: Name) -> T {
    // SAFETY: the caller's.
    must(name, |w| unsafe { w.amo(ctx.of(w)?, dest, AmoOp::Swap, value, value, pe) })
}

#[inline(never)]
pub unsafe fn compare_swap<T: AmoInt>(dest: *mut T, cond: T, value: T, pe: i32, ctx: Ctx, name: Name) -> T {
    // SAFETY: the caller's.
    must(name, |w| unsafe { w.amo(ctx.of(w)?, dest, AmoOp::CompareSwap, value, cond, pe) })
}

#[inline(never)]
pub unsafe fn inc<T: AmoInt + Unit>(dest: *mut T, pe: i32, ctx: Ctx, name: Name) {
    // SAFETY: the caller's.
    must(name, |w| unsafe { w.amo_post(ctx.of(w)?, dest, AmoOp::Add, T::ONE, pe) });
}

#[inline(never)]
pub unsafe fn fetch_inc<T: AmoInt + Unit>(dest: *mut T, pe: i32, ctx: Ctx, name: Name) -> T {
    // SAFETY: the caller's.
    must(name, |w| unsafe { w.amo(ctx.of(w)?, dest, AmoOp::Add, T::ONE, T::ZERO, pe) })
}

macro_rules! operations {
    ($($op:ident: $post:ident $fetch:ident $fetch_nbi:ident;)*) => {$(
        #[inline(never)]
        pub unsafe fn $post<T: AmoInt>(dest: *mut T, value: T, pe: i32, ctx: Ctx, name: Name) {
            // SAFETY: the caller's.
            must(name, |w| unsafe { w.amo_post(ctx.of(w)?, dest, AmoOp::$op, value, pe) });
        }

        #[inline(never)]
        pub unsafe fn $fetch<T: AmoInt>(dest: *mut T, value: T, pe: i32, ctx: Ctx, name: Name) -> T {
            // SAFETY: the caller's.
            must(name, |w| unsafe { w.amo(ctx.of(w)?, dest, AmoOp::$op, value, value, pe) })
        }

        #[inline(never)]
        pub unsafe fn $fetch_nbi<T: AmoInt>(
            fetch: *mut T,
            dest: *mut T,
            value: T,
            pe: i32,
            ctx: Ctx,
            name: Name,
        ) {
            // SAFETY: the caller's.
            must(name, |w| unsafe { w.amo_nbi(ctx.of(w)?, fetch, dest, AmoOp::$op, value, value, pe) });
        }
    )*};
}
operations! {
    Add: add fetch_add fetch_add_nbi;
    And: and fetch_and fetch_and_nbi;
    Or: or fetch_or fetch_or_nbi;
    Xor: xor fetch_xor fetch_xor_nbi;
}

#[inline(never)]
pub unsafe fn fetch_nbi<T: Amo + Default>(fetch: *mut T, source: *const T, pe: i32, ctx: Ctx, name: Name) {
    let (none, source) = (T::default(), source.cast_mut());
    // SAFETY: the caller's.
    must(name, |w| unsafe { w.amo_nbi(ctx.of(w)?, fetch, source, AmoOp::Fetch, none, none, pe) });
}

#[inline(never)]
pub unsafe fn swap_nbi<T: Amo>(fetch: *mut T, dest: *mut T, value: T, pe: i32, ctx: Ctx, name: Name) {
    // SAFETY: the caller's.
    must(name, |w| unsafe { w.amo_nbi(ctx.of(w)?, fetch, dest, AmoOp::Swap, value, value, pe) });
}

#[inline(never)]
pub unsafe fn compare_swap_nbi<T: AmoInt>(
    fetch: *mut T,
    dest: *mut T,
    cond: T,
    value: T,
    pe: i32,
    ctx: Ctx,
    name: Name,
) {
    // SAFETY: the caller's.
    must(name, |w| unsafe { w.amo_nbi(ctx.of(w)?, fetch, dest, AmoOp::CompareSwap, value, cond, pe) });
}

#[inline(never)]
pub unsafe fn fetch_inc_nbi<T: AmoInt + Unit>(fetch: *mut T, dest: *mut T, pe: i32, ctx: Ctx, name: Name) {
    // SAFETY: the caller's.
    must(name, |w| unsafe { w.amo_nbi(ctx.of(w)?, fetch, dest, AmoOp::Add, T::ONE, T::ZERO, pe) });
}

//! Signals.
use super::prelude::*;
use crate::report::must;
use dushmem_core::signal::SignalOp;

#[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
#[inline(never)]
pub unsafe fn put_signal<T>(
    dest: *mut T,
    source: *const T,
    nelems: usize,
    sig_addr: *mut u64,
    signal: u64,
    sig_op: i32,
    pe: i32,
    ctx: Ctx,
    name: Name,
) {
    let (dest, source, bytes) = (dest.cast(), source.cast(), bytes::<T>(nelems));
    must(name, |w| {
        let op = SignalOp::from_number(sig_op)?;
        // SAFETY: the caller's.
        unsafe { w.put_signal(ctx.of(w)?, dest, source, bytes, sig_addr, signal, op, pe) }
    });
}

#[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
#[inline(never)]
pub unsafe fn put_signal_nbi<T>(
    dest: *mut T,
    source: *const T,
    nelems: usize,
    sig_addr: *mut u64,
    signal: u64,
    sig_op: i32,
    pe: i32,
    ctx: Ctx,
    name: Name,
) {
    let (dest, source, bytes) = (dest.cast(), source.cast(), bytes::<T>(nelems));
    must(name, |w| {
        let op = SignalOp::from_number(sig_op)?;
        // SAFETY: the caller's.
        unsafe { w.put_signal_nbi(ctx.of(w)?, dest, source, bytes, sig_addr, signal, op, pe) }
    });
}

#[inline(never)]
pub unsafe fn set(sig_addr: *mut u64, signal: u64, pe: i32, ctx: Ctx, name: Name) {
    // SAFETY: the caller's.
    must(name, |w| unsafe { w.signal_op(ctx.of(w)?, sig_addr, signal, SignalOp::Set, pe) });
}

#[inline(never)]
pub unsafe fn add(sig_addr: *mut u64, signal: u64, pe: i32, ctx: Ctx, name: Name) {
    // SAFETY: the caller's.
    must(name, |w| unsafe { w.signal_op(ctx.of(w)?, sig_addr, signal, SignalOp::Add, pe) });
}

#[inline(never)]
pub unsafe fn op(sig_addr: *mut u64, signal: u64, sig_op: i32, pe: i32, name: Name) {
    must(name, |w| {
        let op = SignalOp::from_number(sig_op)?;
        // SAFETY: the caller's.
        unsafe { w.signal_op(w.default_context(), sig_addr, signal, op, pe) }
    });
}

#[inline(never)]
pub unsafe fn fetch(sig_addr: *const u64, name: Name) -> u64 {
    // SAFETY: the caller's.
    must(name, |w| unsafe { w.signal_fetch(sig_addr) })
}

//! Signals.
use super::prelude::*;
use crate::report::must;
use dushmem_core::signal::SignalOp;

macro_rules! with_signal {
    ($($function:ident)*) => {$(
        #[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
        #[inline(never)]
        pub unsafe fn $function<T>(
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
                unsafe { w.$function(ctx.of(w)?, dest, source, bytes, sig_addr, signal, op, pe) }
                    .map_err(in_elements::<T>("nelems", nelems))
            });
        }
    )*};
}
with_signal! { put_signal put_signal_nbi }

macro_rules! signals {
    ($($function:ident $op:ident;)*) => {$(
        #[inline(never)]
        pub unsafe fn $function(sig_addr: *mut u64, signal: u64, pe: i32, ctx: Ctx, name: Name) {
            // SAFETY: the caller's.
            must(name, |w| unsafe { w.signal_op(ctx.of(w)?, sig_addr, signal, SignalOp::$op, pe) });
        }
    )*};
}
signals! {
    set Set;
    add Add;
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

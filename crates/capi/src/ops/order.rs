//! Fence and quiet. They do nothing on the invalid context (OpenSHMEM 1.6, section 9.5).
use super::prelude::*;
use crate::report::must;

#[inline(never)]
pub unsafe fn fence(ctx: Ctx, name: Name) {
    if ctx != Ctx::INVALID {
        must(name, |w| w.fence(ctx.of(w)?));
    }
}

#[inline(never)]
pub unsafe fn quiet(ctx: Ctx, name: Name) {
    if ctx != Ctx::INVALID {
        must(name, |w| w.quiet(ctx.of(w)?));
    }
}

#[inline(never)]
pub unsafe fn pe_quiet(target_pes: *const i32, npes: usize, ctx: Ctx, name: Name) {
    if ctx == Ctx::INVALID || npes == 0 {
        return;
    }
    must(name, |w| {
        if target_pes.is_null() {
            return Err(dushmem_core::error::Error::Null { arg: "target_pes" });
        }
        // SAFETY: the caller's array of `npes` numbers.
        w.quiet_pes(ctx.of(w)?, unsafe { core::slice::from_raw_parts(target_pes, npes) })
    });
}

//! Put and get.
use super::prelude::*;
use crate::report::must;
use dushmem_core::rma::Scalar;
use dushmem_core::strided::Blocks;

macro_rules! copies {
    ($($function:ident)*) => {$(
        #[inline(never)]
        pub unsafe fn $function<T>(
            dest: *mut T,
            source: *const T,
            nelems: usize,
            pe: i32,
            ctx: Ctx,
            name: Name,
        ) {
            let (dest, source, bytes) = (dest.cast(), source.cast(), bytes::<T>(nelems));
            // SAFETY: the caller's.
            must(name, |w| unsafe {
                w.$function(ctx.of(w)?, dest, source, bytes, pe).map_err(in_elements::<T>("nelems", nelems))
            });
        }
    )*};
}
copies! { put put_nbi get get_nbi }

#[inline(never)]
pub unsafe fn p<T: Scalar>(dest: *mut T, value: T, pe: i32, ctx: Ctx, name: Name) {
    // SAFETY: the caller's.
    must(name, |w| unsafe { w.p(ctx.of(w)?, dest, value, pe) });
}

#[inline(never)]
pub unsafe fn g<T: Scalar>(source: *const T, pe: i32, ctx: Ctx, name: Name) -> T {
    // SAFETY: the caller's.
    must(name, |w| unsafe { w.g(ctx.of(w)?, source, pe) })
}

macro_rules! strided {
    ($($function:ident)*) => {$(
        #[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
        #[inline(never)]
        pub unsafe fn $function<T>(
            dest: *mut T,
            source: *const T,
            dst: isize,
            sst: isize,
            nelems: usize,
            pe: i32,
            ctx: Ctx,
            name: Name,
        ) {
            let (dest, source, elem) = (dest.cast(), source.cast(), size_of::<T>());
            // SAFETY: the caller's.
            must(name, |w| unsafe {
                w.$function(ctx.of(w)?, dest, source, dst, sst, elem, nelems, pe)
                    .map_err(in_elements::<T>("nelems", nelems))
            });
        }
    )*};
}
strided! { iput iget }

macro_rules! blocked {
    ($($function:ident)*) => {$(
        #[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
        #[inline(never)]
        pub unsafe fn $function<T>(
            dest: *mut T,
            source: *const T,
            dst: isize,
            sst: isize,
            bsize: usize,
            nblocks: usize,
            pe: i32,
            ctx: Ctx,
            name: Name,
        ) {
            let blocks = Blocks { dst, sst, elem: size_of::<T>(), bsize, nblocks };
            // SAFETY: the caller's.
            must(name, |w| unsafe { w.$function(ctx.of(w)?, dest.cast(), source.cast(), &blocks, pe) });
        }
    )*};
}
blocked! { ibput ibget }

/// For `c/longdouble.c`, which holds the value.
#[unsafe(export_name = "dushmem_impl_longdouble_put")]
unsafe extern "C" fn longdouble_put(dest: *mut u8, value: *const u8, pe: i32, ctx: Ctx, name: *const c_char) {
    // SAFETY: a literal; 16 bytes behind `value`.
    unsafe { put::<u8>(dest, value, size_of::<LongDouble>(), pe, ctx, Name::new(name)) }
}

/// For `c/longdouble.c`, which has room for the value.
#[unsafe(export_name = "dushmem_impl_longdouble_get")]
unsafe extern "C" fn longdouble_get(
    value: *mut u8,
    source: *const u8,
    pe: i32,
    ctx: Ctx,
    name: *const c_char,
) {
    // SAFETY: a literal; room for 16 bytes at `value`.
    unsafe { get::<u8>(value, source, size_of::<LongDouble>(), pe, ctx, Name::new(name)) }
}

/// For the inline functions of the headers: wakes those of PE `pe` that sleep until something is written.
#[unsafe(export_name = "dushmem_impl_ring_bell")]
extern "C" fn ring_bell(pe: i32) {
    if let Some(world) = crate::job::world() {
        world.ring(pe as usize);
    }
}

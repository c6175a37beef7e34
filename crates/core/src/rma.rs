//! Put and get (OpenSHMEM section 9.6).
use crate::context::Context;
use crate::error::{Error, Result};
use crate::transport::{Get, Put, Reuse, mapped};
use crate::world::World;

/// Plain values of 1, 2, 4, 8 or 16 bytes.
///
/// # Safety
/// Any bytes are a valid value, and there is no padding.
pub unsafe trait Scalar: Copy + 'static {}

macro_rules! scalars {
    ($($t:ty),*) => {$(
        // SAFETY: plain numbers.
        unsafe impl Scalar for $t {}
    )*};
}
// SAFETY: two bytes each.
unsafe impl Scalar for crate::half::Half {}
// SAFETY: as above.
unsafe impl Scalar for crate::half::BFloat16 {}
scalars!(i8, u8, i16, u16, i32, u32, i64, u64, isize, usize, f32, f64, i128, u128);

impl World {
    /// Copies `bytes` bytes from local `source` to `dest` on PE `pe`. Returns when `source` may be reused;
    /// the data arrives no later than a quiet. Zero bytes are legal with any pointers.
    ///
    /// # Safety
    /// `source` is readable for `bytes` bytes; the destination is not accessed by others meanwhile except
    /// by the rules of the memory model.
    #[inline(always)]
    pub unsafe fn put(
        &self,
        ctx: &Context,
        dest: *mut u8,
        source: *const u8,
        bytes: usize,
        pe: i32,
    ) -> Result<()> {
        // SAFETY: passed on.
        unsafe { self.put_as(ctx, dest, source, bytes, pe, Reuse::AtReturn) }
    }

    /// As [`World::put`], but `source` is in use until a quiet.
    ///
    /// # Safety
    /// As for [`World::put`], until a quiet.
    #[inline(always)]
    pub unsafe fn put_nbi(
        &self,
        ctx: &Context,
        dest: *mut u8,
        source: *const u8,
        bytes: usize,
        pe: i32,
    ) -> Result<()> {
        // SAFETY: passed on.
        unsafe { self.put_as(ctx, dest, source, bytes, pe, Reuse::AtQuiet) }
    }

    #[inline(always)]
    unsafe fn put_as(
        &self,
        ctx: &Context,
        dest: *mut u8,
        source: *const u8,
        bytes: usize,
        pe: i32,
        reuse: Reuse,
    ) -> Result<()> {
        if !source.is_null()
            && let Some(at) = self.direct(ctx, dest as usize, bytes, pe)
        {
            // SAFETY: `at` is mapped symmetric memory of that length, `source` the caller's.
            unsafe { mapped::copy(at as *mut u8, source, bytes) };
            self.ring(pe as usize);
            return Ok(());
        }
        // SAFETY: passed on.
        unsafe { self.put_slow(ctx, dest as usize, source, bytes, pe, reuse) }
    }

    #[cold]
    #[inline(never)]
    unsafe fn put_slow(
        &self,
        ctx: &Context,
        dest: usize,
        source: *const u8,
        bytes: usize,
        pe: i32,
        reuse: Reuse,
    ) -> Result<()> {
        // SAFETY: passed on.
        if self.has_devices() && unsafe { self.device_put(ctx, dest, source, bytes, pe, reuse)? } {
            return Ok(());
        }
        let target = self.target_or_empty(ctx, "dest", dest, bytes, pe)?;
        if near("source", source, bytes)? {
            let put = Put { pe: target, dest, source, bytes, reuse };
            // SAFETY: passed on.
            unsafe { self.transport().put(ctx.pending(), put) };
            self.ring(target);
        }
        Ok(())
    }

    /// Copies `bytes` bytes from `source` on PE `pe` to local `dest`. Returns when they are there.
    ///
    /// # Safety
    /// `dest` is writable for `bytes` bytes.
    #[inline(always)]
    pub unsafe fn get(
        &self,
        ctx: &Context,
        dest: *mut u8,
        source: *const u8,
        bytes: usize,
        pe: i32,
    ) -> Result<()> {
        // SAFETY: passed on.
        unsafe { self.get_as(ctx, dest, source, bytes, pe, Reuse::AtReturn) }
    }

    /// As [`World::get`], but the data is there after a quiet, and `dest` in use until then.
    ///
    /// # Safety
    /// As for [`World::get`], until a quiet.
    #[inline(always)]
    pub unsafe fn get_nbi(
        &self,
        ctx: &Context,
        dest: *mut u8,
        source: *const u8,
        bytes: usize,
        pe: i32,
    ) -> Result<()> {
        // SAFETY: passed on.
        unsafe { self.get_as(ctx, dest, source, bytes, pe, Reuse::AtQuiet) }
    }

    #[inline(always)]
    unsafe fn get_as(
        &self,
        ctx: &Context,
        dest: *mut u8,
        source: *const u8,
        bytes: usize,
        pe: i32,
        reuse: Reuse,
    ) -> Result<()> {
        if !dest.is_null()
            && let Some(at) = self.direct(ctx, source as usize, bytes, pe)
        {
            // SAFETY: `at` is mapped symmetric memory of that length, `dest` the caller's.
            unsafe { mapped::copy(dest, at as *const u8, bytes) };
            return Ok(());
        }
        // SAFETY: passed on.
        unsafe { self.get_slow(ctx, dest, source as usize, bytes, pe, reuse) }
    }

    #[cold]
    #[inline(never)]
    unsafe fn get_slow(
        &self,
        ctx: &Context,
        dest: *mut u8,
        source: usize,
        bytes: usize,
        pe: i32,
        reuse: Reuse,
    ) -> Result<()> {
        // SAFETY: passed on.
        if self.has_devices() && unsafe { self.device_get(ctx, dest, source, bytes, pe, reuse)? } {
            return Ok(());
        }
        let target = match self.target_or_empty(ctx, "source", source, bytes, pe) {
            // The same executable has the same constants: a get from read-only data reads the own copy.
            Err(Error::NotSymmetric { .. }) if self.is_own_constant(source, bytes) && !dest.is_null() => {
                // SAFETY: `dest` is the caller's; the constant is mapped for as long as the program runs.
                unsafe { mapped::copy(dest, source as *const u8, bytes) };
                return Ok(());
            }
            other => other?,
        };
        if near("dest", dest, bytes)? {
            let get = Get { pe: target, dest, source, bytes, reuse };
            // SAFETY: passed on.
            unsafe { self.transport().get(ctx.pending(), get) };
        }
        Ok(())
    }

    /// Writes one value to `dest` on PE `pe`.
    ///
    /// # Safety
    /// As for [`World::put`].
    #[inline(always)]
    pub unsafe fn p<T: Scalar>(&self, ctx: &Context, dest: *mut T, value: T, pe: i32) -> Result<()> {
        if let Some(at) = self.direct_word(ctx, dest as usize, size_of::<T>(), pe) {
            // SAFETY: mapped symmetric memory of that length.
            unsafe { mapped::copy(at as *mut u8, (&raw const value).cast(), size_of::<T>()) };
            self.ring(pe as usize);
            return Ok(());
        }
        // SAFETY: the source is a local variable, reusable at return.
        unsafe {
            self.put_slow(ctx, dest as usize, (&raw const value).cast(), size_of::<T>(), pe, Reuse::AtReturn)
        }
        .map_err(Error::without_length)
    }

    /// Reads one value from `source` on PE `pe`.
    ///
    /// # Safety
    /// As for [`World::get`].
    #[inline(always)]
    pub unsafe fn g<T: Scalar>(&self, ctx: &Context, source: *const T, pe: i32) -> Result<T> {
        let mut value = core::mem::MaybeUninit::<T>::uninit();
        // SAFETY: the destination is a local variable, filled at return.
        unsafe {
            self.get(ctx, value.as_mut_ptr().cast(), source.cast(), size_of::<T>(), pe)
                .map_err(Error::without_length)?;
            Ok(value.assume_init())
        }
    }
}

/// Checks the local buffer of a transfer; false where there is nothing to transfer.
pub(crate) fn near(arg: &'static str, buffer: *const u8, bytes: usize) -> Result<bool> {
    match bytes {
        0 => Ok(false),
        _ if buffer.is_null() => Err(Error::Null { arg }),
        _ => Ok(true),
    }
}

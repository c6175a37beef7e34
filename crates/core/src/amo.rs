//! Atomic memory operations (OpenSHMEM section 9.7).
//!
//! One executor for every word: CPU atomics of the node. Adding and incrementing wrap around.
use crate::context::Context;
use crate::error::{Error, Result};
use crate::transport::mapped;
use crate::world::World;

/// What is done to the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the standard")]
pub enum AmoOp {
    Fetch,
    Set,
    Swap,
    CompareSwap,
    Add,
    And,
    Or,
    Xor,
}

/// An operation with its operands as bits.
#[derive(Clone, Copy, Debug)]
pub struct AmoRequest {
    /// What to do.
    pub op: AmoOp,
    /// 8 bytes, otherwise 4.
    pub wide: bool,
    /// Operand.
    pub value: u64,
    /// Value compared with, for [`AmoOp::CompareSwap`].
    pub cond: u64,
}

impl AmoRequest {
    /// Bytes of the word.
    pub fn width(&self) -> usize {
        if self.wide { 8 } else { 4 }
    }

    /// Stores a word of this operation's width.
    ///
    /// # Safety
    /// `to` is writable for that many bytes.
    pub unsafe fn store(&self, to: *mut u8, bits: u64) {
        // SAFETY: the caller's memory.
        unsafe {
            if self.wide {
                to.cast::<u64>().write_unaligned(bits)
            } else {
                to.cast::<u32>().write_unaligned(bits as u32)
            }
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// Types that atomics work on: 4 or 8 bytes. Floating-point types have fetch, set and swap only, which
/// move bits.
pub trait Amo: Copy + sealed::Sealed + 'static {
    /// 8 bytes, otherwise 4.
    const WIDE: bool;
    /// The value's bits, zero-extended.
    fn to_bits(self) -> u64;
    /// The value of such bits.
    fn from_bits(bits: u64) -> Self;
}

/// Types with the arithmetic and bitwise operations.
pub trait AmoInt: Amo {}

macro_rules! amo_int {
    ($($int:ty, $unsigned:ty, $wide:literal;)*) => {$(
        impl sealed::Sealed for $int {}
        impl AmoInt for $int {}
        impl Amo for $int {
            const WIDE: bool = $wide;
            #[inline(always)]
            fn to_bits(self) -> u64 {
                self as $unsigned as u64
            }
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                bits as Self
            }
        }
    )*};
}
amo_int! {
    i32, u32, false;
    u32, u32, false;
    i64, u64, true;
    u64, u64, true;
    isize, usize, true;
    usize, usize, true;
}
const _: () = assert!(size_of::<usize>() == 8, "dushmem is for 64-bit machines");

impl sealed::Sealed for f32 {}
impl Amo for f32 {
    const WIDE: bool = false;
    #[inline(always)]
    fn to_bits(self) -> u64 {
        u64::from(self.to_bits())
    }
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        f32::from_bits(bits as u32)
    }
}

impl sealed::Sealed for f64 {}
impl Amo for f64 {
    const WIDE: bool = true;
    #[inline(always)]
    fn to_bits(self) -> u64 {
        self.to_bits()
    }
    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        f64::from_bits(bits)
    }
}

impl World {
    /// Performs `op` on the word `dest` of PE `pe` and returns the old value (nothing meaningful for
    /// [`AmoOp::Set`], which returns no old value and may complete later).
    ///
    /// # Safety
    /// `dest` is an own symmetric word that is accessed by atomics only while others may access it.
    #[inline(always)]
    pub unsafe fn amo<T: Amo>(
        &self,
        ctx: &Context,
        dest: *mut T,
        op: AmoOp,
        value: T,
        cond: T,
        pe: i32,
    ) -> Result<T> {
        let request = AmoRequest { op, wide: T::WIDE, value: value.to_bits(), cond: cond.to_bits() };
        let addr = dest as usize;
        if addr.is_multiple_of(size_of::<T>())
            && let Some(at) = self.direct_word(ctx, addr, size_of::<T>(), pe)
        {
            // SAFETY: an aligned word of mapped symmetric memory.
            let old = unsafe { mapped::execute(at as *mut u8, request) };
            if op != AmoOp::Fetch {
                self.ring(pe as usize);
            }
            return Ok(T::from_bits(old));
        }
        self.amo_slow(ctx, addr, request, pe, None).map(T::from_bits)
    }

    /// Performs `op` without returning a value: it may complete at any time up to a quiet.
    ///
    /// # Safety
    /// As for [`World::amo`].
    #[inline(always)]
    pub unsafe fn amo_post<T: Amo>(
        &self,
        ctx: &Context,
        dest: *mut T,
        op: AmoOp,
        value: T,
        pe: i32,
    ) -> Result<()> {
        let (addr, value) = (dest as usize, value.to_bits());
        let request = AmoRequest { op, wide: T::WIDE, value, cond: 0 };
        if addr.is_multiple_of(size_of::<T>())
            && let Some(at) = self.direct_word(ctx, addr, size_of::<T>(), pe)
        {
            // SAFETY: an aligned word of mapped symmetric memory.
            unsafe { mapped::execute(at as *mut u8, request) };
            self.ring(pe as usize);
            return Ok(());
        }
        self.amo_slow(ctx, addr, request, pe, Some(core::ptr::null_mut())).map(drop)
    }

    /// Performs `op` and stores the old value at `fetch`, both at any time up to a quiet.
    ///
    /// # Safety
    /// As for [`World::amo`]; `fetch` is writable, and not touched by the caller until a quiet.
    #[inline]
    #[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
    pub unsafe fn amo_nbi<T: Amo>(
        &self,
        ctx: &Context,
        fetch: *mut T,
        dest: *mut T,
        op: AmoOp,
        value: T,
        cond: T,
        pe: i32,
    ) -> Result<()> {
        if fetch.is_null() {
            return Err(Error::NoObject { arg: "fetch" });
        }
        let request = AmoRequest { op, wide: T::WIDE, value: value.to_bits(), cond: cond.to_bits() };
        let addr = dest as usize;
        if addr.is_multiple_of(size_of::<T>())
            && let Some(at) = self.direct(ctx, addr, size_of::<T>(), pe)
        {
            // SAFETY: an aligned word of mapped symmetric memory; `fetch` is the caller's.
            unsafe { request.store(fetch.cast(), mapped::execute(at as *mut u8, request)) };
            if op != AmoOp::Fetch {
                self.ring(pe as usize);
            }
            return Ok(());
        }
        self.amo_slow(ctx, addr, request, pe, Some(fetch.cast())).map(drop)
    }

    /// Everything but a heap word of a mapped peer of the world. `later`: store the old value there.
    #[cold]
    #[inline(never)]
    pub(crate) fn amo_slow(
        &self,
        ctx: &Context,
        addr: usize,
        request: AmoRequest,
        pe: i32,
        later: Option<*mut u8>,
    ) -> Result<u64> {
        if self.has_devices()
            && let Some(old) = self.device_amo(ctx, addr, request, pe, later)?
        {
            return Ok(old);
        }
        let pe = self.target(ctx, "dest", addr, request.width(), pe).map_err(Error::without_length)?;
        if !addr.is_multiple_of(request.width()) {
            return Err(Error::Misaligned { arg: "dest", addr, align: request.width() });
        }
        let pending = ctx.pending();
        let old = match later {
            None if request.op == AmoOp::Set => {
                // SAFETY: no old value is stored.
                unsafe { self.transport().amo_later(pending, pe, addr, request, core::ptr::null_mut()) };
                0
            }
            None => self.transport().amo(pending, pe, addr, request),
            Some(fetch) => {
                // SAFETY: null, or the caller's word until a quiet.
                unsafe { self.transport().amo_later(pending, pe, addr, request, fetch) };
                0
            }
        };
        self.ring(pe);
        Ok(old)
    }
}

//! Put with signal, and signal words (OpenSHMEM section 9.8).
use crate::amo::{AmoOp, AmoRequest};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::rma::near;
use crate::transport::{Put, Reuse, mapped};
use crate::world::World;
use core::sync::atomic::{AtomicU64, Ordering};

/// How a signal word is updated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalOp {
    /// Replaced.
    Set,
    /// Added to, wrapping.
    Add,
}

impl SignalOp {
    /// From NVSHMEM's numbers, which all name families use: 9 sets, 10 adds.
    pub fn from_number(number: i32) -> Result<SignalOp> {
        match number {
            9 => Ok(SignalOp::Set),
            10 => Ok(SignalOp::Add),
            _ => Err(Error::BadValue {
                arg: "sig_op",
                value: number.into(),
                why: "no signal operator; there are SIGNAL_SET and SIGNAL_ADD",
            }),
        }
    }
}

impl From<SignalOp> for AmoOp {
    #[inline]
    fn from(op: SignalOp) -> AmoOp {
        match op {
            SignalOp::Set => AmoOp::Set,
            SignalOp::Add => AmoOp::Add,
        }
    }
}

/// An update of a signal word.
#[derive(Clone, Copy, Debug)]
pub struct Signal {
    /// The caller's own symmetric address of the word.
    pub addr: usize,
    /// Operand.
    pub value: u64,
    /// Operator.
    pub op: SignalOp,
}

impl Signal {
    /// The atomic operation that the update is.
    pub fn request(&self) -> AmoRequest {
        AmoRequest { op: self.op.into(), wide: true, value: self.value, cond: 0 }
    }
}

impl World {
    /// Copies `bytes` bytes from local `source` to `dest` on PE `pe`, then updates the signal word there:
    /// whoever sees the signal sees this data (but not that of earlier puts). With zero bytes only the
    /// signal is updated.
    ///
    /// # Safety
    /// As for [`World::put`]; `sig` is an own symmetric word.
    #[inline]
    #[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
    pub unsafe fn put_signal(
        &self,
        ctx: &Context,
        dest: *mut u8,
        source: *const u8,
        bytes: usize,
        sig: *mut u64,
        value: u64,
        op: SignalOp,
        pe: i32,
    ) -> Result<()> {
        let signal = Signal { addr: sig as usize, value, op };
        // SAFETY: passed on.
        unsafe { self.put_signal_as(ctx, dest, source, bytes, signal, pe, Reuse::AtReturn) }
    }

    /// As [`World::put_signal`], but `source` is in use until a quiet.
    ///
    /// # Safety
    /// As for [`World::put_signal`], until a quiet.
    #[inline]
    #[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
    pub unsafe fn put_signal_nbi(
        &self,
        ctx: &Context,
        dest: *mut u8,
        source: *const u8,
        bytes: usize,
        sig: *mut u64,
        value: u64,
        op: SignalOp,
        pe: i32,
    ) -> Result<()> {
        let signal = Signal { addr: sig as usize, value, op };
        // SAFETY: passed on.
        unsafe { self.put_signal_as(ctx, dest, source, bytes, signal, pe, Reuse::AtQuiet) }
    }

    #[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
    unsafe fn put_signal_as(
        &self,
        ctx: &Context,
        dest: *mut u8,
        source: *const u8,
        bytes: usize,
        signal: Signal,
        pe: i32,
        reuse: Reuse,
    ) -> Result<()> {
        if !source.is_null()
            && signal.addr.is_multiple_of(8)
            && let Some(at) = self.direct(ctx, dest as usize, bytes, pe)
            && let Some(word) = self.direct(ctx, signal.addr, 8, pe)
        {
            // SAFETY: mapped symmetric memory; the atomic operation releases the data before it.
            unsafe {
                mapped::copy(at as *mut u8, source, bytes);
                mapped::execute(word as *mut u8, signal.request());
            }
            self.ring(pe as usize);
            return Ok(());
        }
        if self.has_devices() {
            // SAFETY: passed on.
            let done =
                unsafe { self.device_put_signal(ctx, dest as usize, source, bytes, signal, pe, reuse)? };
            if done {
                return Ok(());
            }
        }
        let target = self.target(ctx, "sig_addr", signal.addr, 8, pe).map_err(Error::without_length)?;
        if !signal.addr.is_multiple_of(8) {
            return Err(Error::Misaligned { arg: "sig_addr", addr: signal.addr, align: 8 });
        }
        self.target_or_empty(ctx, "dest", dest as usize, bytes, pe)?;
        near("source", source, bytes)?;
        let put = Put { pe: target, dest: dest as usize, source, bytes, reuse };
        // SAFETY: passed on.
        unsafe { self.transport().put_signal(ctx.pending(), put, signal) };
        self.ring(target);
        Ok(())
    }

    /// Updates the signal word `sig` on PE `pe`.
    ///
    /// # Safety
    /// As for [`World::amo`].
    #[inline]
    pub unsafe fn signal_op(
        &self,
        ctx: &Context,
        sig: *mut u64,
        value: u64,
        op: SignalOp,
        pe: i32,
    ) -> Result<()> {
        // SAFETY: passed on.
        unsafe { self.amo_post(ctx, sig, op.into(), value, pe) }.map_err(|why| why.of_word("sig_addr"))
    }

    /// The value of this PE's own signal word.
    ///
    /// # Safety
    /// `sig` is an own symmetric word.
    #[inline]
    pub unsafe fn signal_fetch(&self, sig: *const u64) -> Result<u64> {
        if let Some(heap) = self.word_place("sig_addr", sig as usize, 8)? {
            return heap.seen(sig);
        }
        // SAFETY: an aligned own symmetric word.
        Ok(unsafe { AtomicU64::from_ptr(sig.cast_mut()) }.load(Ordering::Acquire))
    }
}

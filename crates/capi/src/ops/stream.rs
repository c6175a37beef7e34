//! Operations on a stream: put into it, and done when the stream comes to them.
use super::prelude::*;
use crate::job;
use crate::report::{must, status};
use core::mem::MaybeUninit;
use dushmem_core::coll::reduce::{ReduceNum, ReduceOp};
use dushmem_core::device::{StreamHandle, StreamOp, Word};
use dushmem_core::error::{Error, Result};
use dushmem_core::rma::Scalar;
use dushmem_core::signal::SignalOp;
use dushmem_core::team::Team;
use dushmem_core::until::Cmp;
use std::sync::Arc;

/// A stream as programs have it: whatever the runtime's handle is, it has the size of a pointer.
type Stream = *mut c_void;

fn handle(stream: Stream) -> StreamHandle {
    StreamHandle(stream as usize)
}

/// Puts an operation into a stream.
///
/// # Safety
/// The operation's pointers are valid when the stream comes to it.
unsafe fn enqueue(name: Name, stream: Stream, op: StreamOp) -> Result<()> {
    let world = job::shared().ok_or(Error::NotInitialised)?;
    // SAFETY: the caller's.
    unsafe { dushmem_backends::device().enqueue(&world, handle(stream), name.as_str(), op) }
}

/// The team of that handle.
fn team_of(team: i32) -> Result<Arc<Team>> {
    job::world().ok_or(Error::NotInitialised)?.team(team)
}

/// Transfers, which differ in nothing but the operation.
macro_rules! transfers {
    ($($function:ident $op:ident;)*) => {$(
        #[inline(never)]
        pub unsafe fn $function<T>(
            dest: *mut T,
            source: *const T,
            nelems: usize,
            pe: i32,
            stream: Stream,
            name: Name,
        ) {
            let (dest, source) = (dest.cast(), source.cast_mut().cast());
            let op = StreamOp::$op { dest, source, bytes: bytes::<T>(nelems), pe };
            // SAFETY: the caller's.
            must(name, |_| unsafe { enqueue(name, stream, op) });
        }
    )*};
}
transfers! {
    put Put;
    put_nbi PutNbi;
    get Get;
    get_nbi GetNbi;
}

#[inline(never)]
pub unsafe fn p<T: Scalar>(dest: *mut T, value: T, pe: i32, stream: Stream, name: Name) {
    let mut room = [0u8; 16];
    // SAFETY: a scalar has at most 16 bytes.
    unsafe { room.as_mut_ptr().cast::<T>().write_unaligned(value) };
    let op = StreamOp::P { dest: dest.cast(), value: room, bytes: size_of::<T>(), pe };
    // SAFETY: the caller's.
    must(name, |_| unsafe { enqueue(name, stream, op) });
}

#[inline(never)]
pub unsafe fn g<T: Scalar>(source: *const T, pe: i32, stream: Stream, name: Name) -> T {
    let mut value = MaybeUninit::<T>::uninit();
    let dest = value.as_mut_ptr().cast();
    let op = StreamOp::Get { dest, source: source.cast_mut().cast(), bytes: size_of::<T>(), pe };
    // SAFETY: the caller's; the local variable outlives the waiting.
    must(name, |_| unsafe { enqueue(name, stream, op) });
    must(name, |_| dushmem_backends::device().synchronize(handle(stream)));
    // SAFETY: the stream has filled it, or the job has ended.
    unsafe { value.assume_init() }
}

/// Strided transfers.
macro_rules! strided {
    ($($function:ident $op:ident;)*) => {$(
        #[inline(never)]
        #[allow(clippy::too_many_arguments, reason = "those of NVSHMEM's call")]
        pub unsafe fn $function<T>(
            dest: *mut T,
            source: *const T,
            dst: isize,
            sst: isize,
            nelems: usize,
            pe: i32,
            stream: Stream,
            name: Name,
        ) {
            let (dest, source) = (dest.cast(), source.cast_mut().cast());
            let op = StreamOp::$op { dest, source, dst, sst, elem: size_of::<T>(), nelems, pe };
            // SAFETY: the caller's.
            must(name, |_| unsafe { enqueue(name, stream, op) });
        }
    )*};
}
strided! {
    iput Iput;
    iget Iget;
}

/// Puts with a signal.
macro_rules! signalled {
    ($($function:ident $op:ident;)*) => {$(
        #[inline(never)]
        #[allow(clippy::too_many_arguments, reason = "those of NVSHMEM's call")]
        pub unsafe fn $function<T>(
            dest: *mut T,
            source: *const T,
            nelems: usize,
            sig_addr: *mut u64,
            signal: u64,
            sig_op: i32,
            pe: i32,
            stream: Stream,
            name: Name,
        ) {
            let (dest, source) = (dest.cast(), source.cast_mut().cast());
            let bytes = bytes::<T>(nelems);
            must(name, |_| {
                let op = SignalOp::from_number(sig_op)?;
                let op = StreamOp::$op { dest, source, bytes, sig: sig_addr, value: signal, op, pe };
                // SAFETY: the caller's.
                unsafe { enqueue(name, stream, op) }
            });
        }
    )*};
}
signalled! {
    put_signal PutSignal;
    put_signal_nbi PutSignalNbi;
}

pub unsafe fn signal_op(sig_addr: *mut u64, signal: u64, sig_op: i32, pe: i32, stream: Stream, name: Name) {
    must(name, |_| {
        let op = StreamOp::SignalOp { sig: sig_addr, value: signal, op: SignalOp::from_number(sig_op)?, pe };
        // SAFETY: the caller's.
        unsafe { enqueue(name, stream, op) }
    });
}

/// Integers that a stream can wait for.
pub trait StreamWord: Copy {
    /// The value with its type.
    fn word(self) -> Word;
}

macro_rules! words {
    ($($t:ty: $word:ident;)*) => {$(
        impl StreamWord for $t {
            fn word(self) -> Word {
                Word::$word(self)
            }
        }
    )*};
}
words! {
    i16: I16;
    u16: U16;
    i32: I32;
    u32: U32;
    i64: I64;
    u64: U64;
}

#[inline(never)]
pub unsafe fn wait_until<T: StreamWord>(ivar: *mut T, cmp: i32, cmp_value: T, stream: Stream, name: Name) {
    must(name, |_| {
        let cmp = Cmp::from_number(cmp)?;
        let op = StreamOp::WaitUntil { ivar: ivar.cast(), cmp, value: cmp_value.word() };
        // SAFETY: the caller's.
        unsafe { enqueue(name, stream, op) }
    });
}

pub unsafe fn signal_wait_until(sig_addr: *mut u64, cmp: i32, cmp_value: u64, stream: Stream, name: Name) {
    must(name, |_| {
        let op = StreamOp::SignalWaitUntil { sig: sig_addr, cmp: Cmp::from_number(cmp)?, value: cmp_value };
        // SAFETY: the caller's.
        unsafe { enqueue(name, stream, op) }
    });
}

pub unsafe fn quiet(stream: Stream, name: Name) {
    // SAFETY: without pointers.
    must(name, |_| unsafe { enqueue(name, stream, StreamOp::Quiet) });
}

pub unsafe fn barrier_all(stream: Stream, name: Name) {
    // SAFETY: without pointers.
    must(name, |_| unsafe { enqueue(name, stream, StreamOp::BarrierAll) });
}

pub unsafe fn sync_all(stream: Stream, name: Name) {
    // SAFETY: without pointers.
    must(name, |_| unsafe { enqueue(name, stream, StreamOp::SyncAll) });
}

pub unsafe fn barrier(team: i32, stream: Stream, name: Name) -> i32 {
    // SAFETY: without pointers.
    status(name, |_| unsafe { enqueue(name, stream, StreamOp::Barrier { team: team_of(team)? }) })
}

pub unsafe fn team_sync(team: i32, stream: Stream, name: Name) -> i32 {
    // SAFETY: without pointers.
    status(name, |_| unsafe { enqueue(name, stream, StreamOp::Sync { team: team_of(team)? }) })
}

#[inline(never)]
pub unsafe fn broadcast<T>(
    team: i32,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    root: i32,
    stream: Stream,
    name: Name,
) -> i32 {
    let (dest, source, bytes) = (dest.cast(), source.cast_mut().cast(), bytes::<T>(nelems));
    status(name, |_| {
        let op = StreamOp::Broadcast { team: team_of(team)?, dest, source, bytes, root };
        // SAFETY: the caller's.
        unsafe { enqueue(name, stream, op) }
    })
}

/// Collectives in which every PE gives as much.
macro_rules! exchanges {
    ($($function:ident $op:ident;)*) => {$(
        #[inline(never)]
        pub unsafe fn $function<T>(
            team: i32,
            dest: *mut T,
            source: *const T,
            nelems: usize,
            stream: Stream,
            name: Name,
        ) -> i32 {
            let (dest, source, bytes) = (dest.cast(), source.cast_mut().cast(), bytes::<T>(nelems));
            status(name, |_| {
                let op = StreamOp::$op { team: team_of(team)?, dest, source, bytes };
                // SAFETY: the caller's.
                unsafe { enqueue(name, stream, op) }
            })
        }
    )*};
}
exchanges! {
    fcollect Fcollect;
    alltoall Alltoall;
}

macro_rules! reductions {
    ($($function:ident $op:ident;)*) => {$(
        #[inline(never)]
        pub unsafe fn $function<T: ReduceNum>(
            team: i32,
            dest: *mut T,
            source: *const T,
            nreduce: usize,
            stream: Stream,
            name: Name,
        ) -> i32 {
            let (dest, source, n) = (dest.cast(), source.cast_mut().cast(), nreduce);
            status(name, |_| {
                let missing = || Error::NotSupported("this type has no such reduction".into());
                let reducer = T::reducer(ReduceOp::$op).ok_or_else(missing)?;
                let op = StreamOp::Reduce { team: team_of(team)?, dest, source, n, reducer };
                // SAFETY: the caller's.
                unsafe { enqueue(name, stream, op) }
            })
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

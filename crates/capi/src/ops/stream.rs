//! Operations on a stream: enqueued on the device, run later.
//!
//! What is wrong with the arguments is found when the operation runs; it ends the job then, with the name
//! that it was enqueued under.
use super::prelude::*;
use crate::job;
use crate::report::{fail, print};
use core::ffi::c_void;
use core::mem::MaybeUninit;
use dushmem_core::coll::reduce::{ReduceNum, ReduceOp};
use dushmem_core::device::{StreamHandle, StreamOp, Word, Words};
use dushmem_core::error::{Error, Result};
use dushmem_core::signal::SignalOp;
use dushmem_core::team::Team;
use dushmem_core::until::Cmp;
use dushmem_core::world::World;
use std::sync::Arc;

/// Puts an operation into a stream.
fn enqueue(name: Name, stream: *mut c_void, make: impl FnOnce(&World) -> Result<StreamOp>) -> Result<()> {
    let world = job::shared_world().ok_or(Error::NotInitialised)?;
    let op = make(&world)?;
    if world.awaits_device()
        && let Some(call) = op.of_world()
    {
        world.bind_device(call, true)?;
    }
    let device = dushmem_backends::device();
    if !device.has_memory() && crate::modules::count() > 0 {
        return Err(Error::Device(format!(
            "stream = {stream:p}: the program is compiled for a GPU, and its streams are CUDA's, but it does not run on one; \
             dushinfo says why; compile it with dushcc to run it on the CPU"
        )));
    }
    // SAFETY: the program's promises about the arguments hold until the stream has run the operation.
    unsafe { device.enqueue(&world, StreamHandle(stream as usize), name.as_str(), op) }
}

/// For functions without a status.
fn must(name: Name, stream: *mut c_void, make: impl FnOnce(&World) -> Result<StreamOp>) {
    if let Err(error) = enqueue(name, stream, make) {
        fail(name, &error);
    }
}

/// The same with buffers of `nelems` elements.
fn must_move<T>(
    name: Name,
    stream: *mut c_void,
    nelems: usize,
    make: impl FnOnce(&World) -> Result<StreamOp>,
) {
    if let Err(error) = enqueue(name, stream, make) {
        fail(name, &in_elements::<T>("nelems", nelems)(error));
    }
}

/// For functions with a status.
fn on(name: Name, handle: i32, stream: *mut c_void, make: impl FnOnce(Arc<Team>) -> Result<StreamOp>) -> i32 {
    status(name, enqueue(name, stream, |world| make(world.team(handle)?)))
}

/// The same with buffers of so many elements, and what the argument is called.
fn move_on<T>(
    name: Name,
    handle: i32,
    stream: *mut c_void,
    (many, n): (&'static str, usize),
    make: impl FnOnce(Arc<Team>) -> Result<StreamOp>,
) -> i32 {
    let done = enqueue(name, stream, |world| make(world.team(handle)?));
    status(name, done.map_err(in_elements::<T>(many, n)))
}

fn status(name: Name, done: Result<()>) -> i32 {
    match done {
        Ok(()) => 0,
        Err(error) => {
            print(name, &error);
            error.code()
        }
    }
}

/// A scalar's bytes.
fn scalar<T>(value: T) -> [u8; 16] {
    const { assert!(size_of::<T>() <= 16) };
    let mut bytes = [0; 16];
    // SAFETY: there is room for the value.
    unsafe { bytes.as_mut_ptr().cast::<T>().write_unaligned(value) };
    bytes
}

pub unsafe fn p<T>(dest: *mut T, value: T, pe: i32, stream: *mut c_void, name: Name) {
    let (value, bytes) = (scalar(value), size_of::<T>());
    must(name, stream, |_| Ok(StreamOp::P { dest: dest.cast(), value, bytes, pe }));
}

/// The value is returned, so this one waits for the stream.
pub unsafe fn g<T>(source: *const T, pe: i32, stream: *mut c_void, name: Name) -> T {
    let mut value = MaybeUninit::<T>::uninit();
    let dest = value.as_mut_ptr().cast();
    let (source, bytes) = (source.cast_mut().cast(), size_of::<T>());
    must(name, stream, |_| Ok(StreamOp::Get { dest, source, bytes, pe }));
    if let Err(error) = dushmem_backends::device().synchronize(StreamHandle(stream as usize)) {
        fail(name, &error);
    }
    // SAFETY: the stream has run the get; a failed one would have ended the job.
    unsafe { value.assume_init() }
}

macro_rules! copies {
    ($($function:ident $op:ident;)*) => {$(
        pub unsafe fn $function<T>(
            dest: *mut T,
            source: *const T,
            nelems: usize,
            pe: i32,
            stream: *mut c_void,
            name: Name,
        ) {
            let (dest, source, bytes) = (dest.cast(), source.cast_mut().cast(), bytes::<T>(nelems));
            must_move::<T>(name, stream, nelems, |_| Ok(StreamOp::$op { dest, source, bytes, pe }));
        }
    )*};
}
copies! {
    put Put;
    put_nbi PutNbi;
    get Get;
    get_nbi GetNbi;
}

macro_rules! strided {
    ($($function:ident $op:ident;)*) => {$(
        #[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
        pub unsafe fn $function<T>(
            dest: *mut T,
            source: *const T,
            dst: isize,
            sst: isize,
            nelems: usize,
            pe: i32,
            stream: *mut c_void,
            name: Name,
        ) {
            let (dest, source, elem) = (dest.cast(), source.cast_mut().cast(), size_of::<T>());
            must_move::<T>(name, stream, nelems, |_| Ok(StreamOp::$op { dest, source, dst, sst, elem, nelems, pe }));
        }
    )*};
}
strided! {
    iput Iput;
    iget Iget;
}

macro_rules! with_signal {
    ($($function:ident $op:ident;)*) => {$(
        #[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
        pub unsafe fn $function<T>(
            dest: *mut T,
            source: *const T,
            nelems: usize,
            sig_addr: *mut u64,
            signal: u64,
            sig_op: i32,
            pe: i32,
            stream: *mut c_void,
            name: Name,
        ) {
            let (dest, source, bytes) = (dest.cast(), source.cast_mut().cast(), bytes::<T>(nelems));
            must_move::<T>(name, stream, nelems, |_| {
                let op = SignalOp::from_number(sig_op)?;
                Ok(StreamOp::$op { dest, source, bytes, sig: sig_addr, value: signal, op, pe })
            });
        }
    )*};
}
with_signal! {
    put_signal PutSignal;
    put_signal_nbi PutSignalNbi;
}

pub unsafe fn signal_op(sig: *mut u64, value: u64, sig_op: i32, pe: i32, stream: *mut c_void, name: Name) {
    must(name, stream, |_| Ok(StreamOp::SignalOp { sig, value, op: SignalOp::from_number(sig_op)?, pe }));
}

/// Integers that a stream can wait for.
pub trait StreamWord: Copy {
    /// Any value of the type.
    const KIND: Word;
    /// The value, with its type.
    fn word(self) -> Word;
}

macro_rules! words {
    ($($t:ty: $variant:ident $of:ty;)*) => {$(
        impl StreamWord for $t {
            const KIND: Word = Word::$variant(0);

            fn word(self) -> Word {
                Word::$variant(self as $of)
            }
        }
    )*};
}
words! {
    i16: I16 i16;
    u16: U16 u16;
    i32: I32 i32;
    u32: U32 u32;
    i64: I64 i64;
    u64: U64 u64;
    isize: I64 i64;
    usize: U64 u64;
}

pub unsafe fn until<T: StreamWord>(ivar: *mut T, cmp: i32, cmp_value: T, stream: *mut c_void, name: Name) {
    must(name, stream, |_| {
        Ok(StreamOp::WaitUntil { ivar: ivar.cast(), cmp: Cmp::from_number(cmp)?, value: cmp_value.word() })
    });
}

macro_rules! all {
    ($($function:ident $value:ty, $words:expr;)*) => {$(
        #[allow(clippy::too_many_arguments, reason = "those of NVSHMEM's call")]
        pub unsafe fn $function<T: StreamWord>(
            ivars: *mut T,
            nelems: usize,
            status: *const i32,
            cmp: i32,
            cmp_value: $value,
            stream: *mut c_void,
            name: Name,
        ) {
            let words: fn($value) -> Words = $words;
            let (ivars, len, values) = (ivars.cast(), nelems, words(cmp_value));
            must(name, stream, |_| {
                Ok(StreamOp::WaitUntilAll { ivars, len, status, cmp: Cmp::from_number(cmp)?, values })
            });
        }
    )*};
}
all! {
    until_all T, |value| Words::One(value.word());
    until_all_vector *mut T, |values| Words::Each(values.cast_const().cast(), T::KIND);
}

pub unsafe fn signal_until(sig: *mut u64, cmp: i32, value: u64, stream: *mut c_void, name: Name) {
    must(name, stream, |_| Ok(StreamOp::SignalWaitUntil { sig, cmp: Cmp::from_number(cmp)?, value }));
}

pub unsafe fn quiet(stream: *mut c_void, name: Name) {
    must(name, stream, |_| Ok(StreamOp::Quiet));
}

pub unsafe fn barrier_all(stream: *mut c_void, name: Name) {
    must(name, stream, |_| Ok(StreamOp::BarrierAll));
}

pub unsafe fn sync_all(stream: *mut c_void, name: Name) {
    must(name, stream, |_| Ok(StreamOp::SyncAll));
}

pub unsafe fn barrier(team: i32, stream: *mut c_void, name: Name) -> i32 {
    on(name, team, stream, |team| Ok(StreamOp::Barrier { team }))
}

pub unsafe fn team_sync(team: i32, stream: *mut c_void, name: Name) -> i32 {
    on(name, team, stream, |team| Ok(StreamOp::Sync { team }))
}

pub unsafe fn broadcast<T>(
    team: i32,
    dest: *mut T,
    source: *const T,
    nelems: usize,
    root: i32,
    stream: *mut c_void,
    name: Name,
) -> i32 {
    let (dest, source, bytes) = (dest.cast(), source.cast_mut().cast(), bytes::<T>(nelems));
    move_on::<T>(name, team, stream, ("nelems", nelems), |team| {
        Ok(StreamOp::Broadcast { team, dest, source, bytes, root })
    })
}

macro_rules! gathers {
    ($($function:ident $op:ident;)*) => {$(
        pub unsafe fn $function<T>(
            team: i32,
            dest: *mut T,
            source: *const T,
            nelems: usize,
            stream: *mut c_void,
            name: Name,
        ) -> i32 {
            let (dest, source, bytes) = (dest.cast(), source.cast_mut().cast(), bytes::<T>(nelems));
            move_on::<T>(name, team, stream, ("nelems", nelems), |team| Ok(StreamOp::$op { team, dest, source, bytes }))
        }
    )*};
}
gathers! {
    fcollect Fcollect;
    alltoall Alltoall;
}

macro_rules! reductions {
    ($($function:ident $how:ident $op:ident;)*) => {$(
        pub unsafe fn $function<T: ReduceNum>(
            team: i32,
            dest: *mut T,
            source: *const T,
            nreduce: usize,
            stream: *mut c_void,
            name: Name,
        ) -> i32 {
            move_on::<T>(name, team, stream, ("nreduce", nreduce), |team| {
                let reducer = super::coll::reducer::<T>(ReduceOp::$op)?;
                let (dest, source) = (dest.cast(), source.cast_mut().cast());
                Ok(StreamOp::$how { team, dest, source, n: nreduce, reducer })
            })
        }
    )*};
}
reductions! {
    and_reduce Reduce And;
    or_reduce Reduce Or;
    xor_reduce Reduce Xor;
    max_reduce Reduce Max;
    min_reduce Reduce Min;
    sum_reduce Reduce Sum;
    prod_reduce Reduce Prod;
    and_reducescatter ReduceScatter And;
    or_reducescatter ReduceScatter Or;
    xor_reducescatter ReduceScatter Xor;
    max_reducescatter ReduceScatter Max;
    min_reducescatter ReduceScatter Min;
    sum_reducescatter ReduceScatter Sum;
    prod_reducescatter ReduceScatter Prod;
}

/// What `c/longdouble.c` does for a value that Rust can't receive.
///
/// # Safety
/// `value` has 16 bytes; `name` is a literal.
#[unsafe(no_mangle)]
unsafe extern "C" fn dushmem_impl_longdouble_put_on_stream(
    dest: *mut LongDouble,
    value: *const LongDouble,
    pe: i32,
    stream: *mut c_void,
    name: *const c_char,
) {
    // SAFETY: as the C code promises.
    unsafe { p(dest, value.read(), pe, stream, Name::new(name)) }
}

/// See above; waits for the stream.
///
/// # Safety
/// `value` has room for 16 bytes; `name` is a literal.
#[unsafe(no_mangle)]
unsafe extern "C" fn dushmem_impl_longdouble_get_on_stream(
    value: *mut LongDouble,
    source: *const LongDouble,
    pe: i32,
    stream: *mut c_void,
    name: *const c_char,
) {
    // SAFETY: as the C code promises.
    unsafe { value.write(g(source, pe, stream, Name::new(name))) }
}

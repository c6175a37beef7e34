//! What the generated lists and the implementations use.
pub use super::{
    active_set, amo, attributes, buffers, coll, context, lock, memory, old, order, rma, setup, signal,
    stream, team, wait,
};
pub use crate::context::Ctx;
pub use crate::name::{Family, Name};
pub use core::ffi::{c_char, c_long, c_void};
use dushmem_core::coll::reduce::Complex;
use dushmem_core::error::Error;
pub use dushmem_core::half::{BFloat16, Half};

/// Contexts that a PE can have at the same time.
pub const CONTEXTS_MAX: usize = 4096;

/// An element of the 128-bit operations.
pub type Wide = u128;
/// C's `float _Complex`.
pub type ComplexF = Complex<f32>;
/// C's `double _Complex`.
pub type ComplexD = Complex<f64>;

/// The bytes of a `long double`, of which only C code knows the value.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
pub struct LongDouble(pub [u8; 16]);

/// `nvshmemi_version_t`: the release of what a program was linked with.
#[allow(dead_code, reason = "only some versions of the table have a function with it")]
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LibraryVersion(pub [i32; 3]);

/// Has an error about a call's buffers say the caller's count, `n` elements as argument `many`, where the engine knows bytes.
#[inline(always)]
pub fn in_elements<T>(many: &'static str, n: usize) -> impl Fn(Error) -> Error {
    move |error| error.counting(many, n, size_of::<T>())
}

/// Bytes of `n` elements; more than any memory has where that is no number.
#[inline(always)]
pub fn bytes<T>(n: usize) -> usize {
    n.saturating_mul(size_of::<T>())
}

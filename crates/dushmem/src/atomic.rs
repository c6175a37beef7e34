//! Atomic memory operations.
use crate::context::Context;
use crate::data::Data;
use crate::engine::pe_number;
use crate::error::Result;
use crate::memory::SymCell;
use dushmem_core::amo::{Amo, AmoInt, AmoOp};

macro_rules! fetching {
    ($($(#[$doc:meta])* $name:ident: $bound:ident, $op:ident($($value:ident),*), $given:expr, $cond:expr;)*) => {$(
        $(#[$doc])*
        #[inline]
        pub fn $name<T: Data + $bound>(&self, dest: &SymCell<T>, $($value: T,)* pe: usize) -> Result<T> {
            // SAFETY: a symmetric word, of a type that the engine has atomics for.
            let old = unsafe {
                self.engine.core.amo(self.core(), dest.as_ptr(), AmoOp::$op, $given, $cond, pe_number(pe))
            };
            self.engine.name(stringify!($name), old)
        }
    )*};
}

macro_rules! posting {
    ($($(#[$doc:meta])* $name:ident: $bound:ident, $op:ident($($value:ident),*), $given:expr;)*) => {$(
        $(#[$doc])*
        #[inline]
        pub fn $name<T: Data + $bound>(&self, dest: &SymCell<T>, $($value: T,)* pe: usize) -> Result<()> {
            // SAFETY: as for the fetching ones.
            let done = unsafe {
                self.engine.core.amo_post(self.core(), dest.as_ptr(), AmoOp::$op, $given, pe_number(pe))
            };
            self.engine.name(stringify!($name), done)
        }
    )*};
}

/// # Atomic operations
/// Atomic against each other, on words of 4 and 8 bytes; put and store on a word at the same time are not.
/// Those that return the old value have been performed at return; the others are by the next quiet.
/// Addition wraps. Floats have fetch, set and swap.
///
/// ```
/// let seen = dushmem::run(4, |world| {
///     let counter = world.alloc(0u64)?;
///     let ticket = world.atomic_fetch_add(&counter, 1, 0)?; // all on PE 0's counter
///     world.barrier()?;
///     assert_eq!(world.atomic_fetch(&counter, 0)?, 4);
///     Ok(ticket)
/// })?;
/// let mut tickets = seen.clone();
/// tickets.sort();
/// assert_eq!(tickets, [0, 1, 2, 3]);
/// # Ok::<(), dushmem::Error>(())
/// ```
impl Context {
    fetching! {
        /// The value of `dest` on PE `pe`.
        atomic_fetch: Amo, Fetch(), T::from_bits(0), T::from_bits(0);
        /// Replaces `dest` on PE `pe` and returns the old value.
        atomic_swap: Amo, Swap(value), value, value;
        /// Replaces `dest` on PE `pe` by `value` if it is `cond`, and returns the old value.
        atomic_compare_swap: AmoInt, CompareSwap(cond, value), value, cond;
        /// Adds to `dest` on PE `pe` and returns the old value.
        atomic_fetch_add: AmoInt, Add(value), value, value;
        /// Adds one to `dest` on PE `pe` and returns the old value.
        atomic_fetch_inc: AmoInt, Add(), T::from_bits(1), T::from_bits(0);
        /// Bitwise and; returns the old value.
        atomic_fetch_and: AmoInt, And(value), value, value;
        /// Bitwise or; returns the old value.
        atomic_fetch_or: AmoInt, Or(value), value, value;
        /// Bitwise exclusive or; returns the old value.
        atomic_fetch_xor: AmoInt, Xor(value), value, value;
    }

    posting! {
        /// Replaces `dest` on PE `pe`.
        atomic_set: Amo, Set(value), value;
        /// Adds to `dest` on PE `pe`.
        atomic_add: AmoInt, Add(value), value;
        /// Adds one to `dest` on PE `pe`.
        atomic_inc: AmoInt, Add(), T::from_bits(1);
        /// Bitwise and.
        atomic_and: AmoInt, And(value), value;
        /// Bitwise or.
        atomic_or: AmoInt, Or(value), value;
        /// Bitwise exclusive or.
        atomic_xor: AmoInt, Xor(value), value;
    }
}

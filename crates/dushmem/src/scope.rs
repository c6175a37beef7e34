//! Non-blocking operations.
use crate::context::Context;
use crate::data::Data;
use crate::engine::pe_number;
use crate::error::Result;
use crate::kernel::Kernels;
use crate::memory::{SymCell, SymSlice, same_length};
use crate::source::Source;
use core::marker::PhantomData;
use dushmem_core::amo::{Amo, AmoInt, AmoOp};
use dushmem_core::signal::SignalOp;

/// In which non-blocking operations may be under way. See [`Context::scope`].
///
/// Everything that an operation is given stays borrowed until the scope's end: sources shared, targets of
/// gets and of fetching atomics exclusively.
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    pub(crate) ctx: &'env Context,
    pub(crate) kernels: Kernels,
    _scope: PhantomData<&'scope mut &'scope ()>,
    _env: PhantomData<&'env mut &'env ()>,
}

/// Completes what the scope has issued, also when its closure panics.
struct QuietAtEnd<'a, 'scope, 'env>(&'a Scope<'scope, 'env>);

impl Drop for QuietAtEnd<'_, '_, '_> {
    fn drop(&mut self) {
        self.0.kernels.finish();
        let ctx = self.0.ctx;
        if ctx.engine.core.quiet(ctx.core()).is_err() {
            // Buffers could still be in use, and this function must not return while they are.
            eprintln!("PE {}: scope: what is under way can't be completed", ctx.engine.me());
            std::process::abort();
        }
    }
}

impl Context {
    /// Calls `f` with a scope in which operations need not be complete when they return: puts, gets and
    /// atomics that borrow their buffers, and kernels that borrow what they use. When `f` returns or panics,
    /// everything issued in the scope is completed before this function returns, as by [`Context::quiet`].
    ///
    /// ```
    /// dushmem::run(2, |world| {
    ///     let other = 1 - world.my_pe();
    ///     let theirs = world.alloc_from(&[world.my_pe() as u32; 1000])?;
    ///     let (a, mut b) = ([5; 500], [0; 500]);
    ///     world.scope(|s| {
    ///         s.put(&theirs[..500], &a, other)?;
    ///         s.get(&mut b, &theirs[500..], other)?;
    ///         // Work that needs neither `a` changed nor `b` read.
    ///         Ok(())
    ///     })?;
    ///     assert_eq!(b, [other as u32; 500]);
    ///     world.barrier()?;
    ///     assert_eq!(theirs[499].load(), 5);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), dushmem::Error>(())
    /// ```
    ///
    /// What a get fetches can't be looked at in the scope:
    ///
    /// ```compile_fail,E0502
    /// dushmem::run(2, |world| {
    ///     let x = world.alloc_zeroed::<u8>(8)?;
    ///     let mut copy = [0; 8];
    ///     world.scope(|s| {
    ///         s.get(&mut copy, &x, 1)?;
    ///         println!("{copy:?}");
    ///         Ok(())
    ///     })
    /// });
    /// ```
    pub fn scope<'env, R, F>(&'env self, f: F) -> Result<R>
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> Result<R>,
    {
        let scope = Scope { ctx: self, kernels: Kernels::default(), _scope: PhantomData, _env: PhantomData };
        let _end = QuietAtEnd(&scope);
        f(&scope)
    }
}

impl<'scope> Scope<'scope, '_> {
    /// As [`Context::put`]; `source` is in use until the scope's end.
    #[inline]
    pub fn put<T: Data>(
        &'scope self,
        dest: &'scope SymSlice<T>,
        source: &'scope (impl Source<T> + ?Sized),
        pe: usize,
    ) -> Result<()> {
        let engine = &self.ctx.engine;
        let (from, len) = source.parts();
        same_length(engine.me(), "put_nbi", "source", len, dest.len(), ", as many as dest has")?;
        // SAFETY: both are valid for the length of `dest`, and borrowed until after the quiet.
        let done = unsafe {
            let (to, bytes) = (dest.as_ptr().cast(), size_of_val(dest));
            engine.core.put_nbi(self.ctx.core(), to, from.cast(), bytes, pe_number(pe))
        };
        engine.name("put_nbi", done)
    }

    /// As [`Context::get`]; `dest` is filled at the scope's end.
    #[inline]
    pub fn get<T: Data>(
        &'scope self,
        dest: &'scope mut [T],
        source: &'scope SymSlice<T>,
        pe: usize,
    ) -> Result<()> {
        let me = self.ctx.engine.me();
        same_length(me, "get_nbi", "dest", dest.len(), source.len(), ", as many as source has")?;
        self.get_bytes(dest.as_mut_ptr(), source, pe)
    }

    /// As [`Scope::get`], to own symmetric memory.
    pub fn get_into<T: Data>(
        &'scope self,
        dest: &'scope SymSlice<T>,
        source: &'scope SymSlice<T>,
        pe: usize,
    ) -> Result<()> {
        let me = self.ctx.engine.me();
        same_length(me, "get_nbi", "dest", dest.len(), source.len(), ", as many as source has")?;
        self.get_bytes(dest.as_ptr(), source, pe)
    }

    fn get_bytes<T: Data>(&self, to: *mut T, source: &SymSlice<T>, pe: usize) -> Result<()> {
        let engine = &self.ctx.engine;
        // SAFETY: the callers' destinations are as long as `source` and borrowed until after the quiet.
        let done = unsafe {
            let (from, bytes) = (source.as_ptr().cast(), size_of_val(source));
            engine.core.get_nbi(self.ctx.core(), to.cast(), from, bytes, pe_number(pe))
        };
        engine.name("get_nbi", done)
    }

    /// As [`Context::put_signal`]; `source` is in use until the scope's end.
    pub fn put_signal<T: Data>(
        &'scope self,
        dest: &'scope SymSlice<T>,
        source: &'scope (impl Source<T> + ?Sized),
        signal: &'scope SymCell<u64>,
        value: u64,
        op: SignalOp,
        pe: usize,
    ) -> Result<()> {
        let engine = &self.ctx.engine;
        let (from, len) = source.parts();
        same_length(engine.me(), "put_signal_nbi", "source", len, dest.len(), ", as many as dest has")?;
        // SAFETY: as in `put`.
        let done = unsafe {
            engine.core.put_signal_nbi(
                self.ctx.core(),
                dest.as_ptr().cast(),
                from.cast(),
                size_of_val(dest),
                signal.as_ptr(),
                value,
                op,
                pe_number(pe),
            )
        };
        engine.name("put_signal_nbi", done)
    }
}

macro_rules! fetching {
    ($($(#[$doc:meta])* $name:ident: $bound:ident, $op:ident($($value:ident),*), $given:expr, $cond:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name<T: Data + $bound>(
            &'scope self,
            old: &'scope mut T,
            dest: &'scope SymCell<T>,
            $($value: T,)*
            pe: usize,
        ) -> Result<()> {
            let engine = &self.ctx.engine;
            // SAFETY: a symmetric word; `old` is borrowed until after the quiet.
            let done = unsafe {
                let (ctx, dest) = (self.ctx.core(), dest.as_ptr());
                engine.core.amo_nbi(ctx, old, dest, AmoOp::$op, $given, $cond, pe_number(pe))
            };
            engine.name(concat!(stringify!($name), "_nbi"), done)
        }
    )*};
}

/// # Atomic operations
/// As those of [`Context`] that return the old value, which is here stored at `old` by the scope's end.
impl<'scope> Scope<'scope, '_> {
    fetching! {
        /// The value of `dest`.
        atomic_fetch: Amo, Fetch(), T::from_bits(0), T::from_bits(0);
        /// Replaces `dest`.
        atomic_swap: Amo, Swap(value), value, value;
        /// Replaces `dest` by `value` if it is `cond`.
        atomic_compare_swap: AmoInt, CompareSwap(cond, value), value, cond;
        /// Adds to `dest`.
        atomic_fetch_add: AmoInt, Add(value), value, value;
        /// Adds one to `dest`.
        atomic_fetch_inc: AmoInt, Add(), T::from_bits(1), T::from_bits(0);
        /// Bitwise and.
        atomic_fetch_and: AmoInt, And(value), value, value;
        /// Bitwise or.
        atomic_fetch_or: AmoInt, Or(value), value, value;
        /// Bitwise exclusive or.
        atomic_fetch_xor: AmoInt, Xor(value), value, value;
    }
}

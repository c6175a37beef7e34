//! Contexts, put and get, fence and quiet.
use crate::data::Data;
use crate::engine::{Engine, pe_number};
use crate::error::Result;
use crate::memory::{SymCell, SymSlice, same_length};
use crate::source::Source;
use crate::world::World;
use core::marker::PhantomData;
use core::ops::Deref;
use dushmem_core::context::Context as CoreContext;
use dushmem_core::error::Error as Cause;
use std::sync::Arc;

/// A stream of one-sided operations with its own order and completion: [`Context::fence`] and
/// [`Context::quiet`] concern the operations of their context only. A [`World`] dereferences to the
/// default context, others come from [`World::context`] and [`crate::Team::context`].
///
/// All its methods may be called from several threads at once. The PE numbers that they take are those of
/// the context's team.
///
/// Puts return when their source may be reused, gets when the data is there. When a put's data is at its
/// target is only known after a [quiet](Context::quiet), a barrier, or to a PE that sees a signal
/// ([`Context::put_signal`]). Non-blocking operations stand in [`Context::scope`].
#[derive(Debug)]
pub struct Context {
    pub(crate) engine: Arc<Engine>,
    /// `None`: the default context.
    own: Option<Arc<CoreContext>>,
}

impl Context {
    pub(crate) fn default_of(engine: Arc<Engine>) -> Context {
        Context { engine, own: None }
    }

    #[inline(always)]
    pub(crate) fn core(&self) -> &CoreContext {
        match &self.own {
            None => self.engine.core.default_context(),
            Some(own) => own,
        }
    }

    /// Writes `value` to `dest` on PE `pe`.
    ///
    /// ```
    /// dushmem::run(2, |world| {
    ///     let x = world.alloc(0.0f64)?;
    ///     world.p(&x, 0.5 + world.my_pe() as f64, 1 - world.my_pe())?;
    ///     world.barrier()?;
    ///     assert_eq!(x.load(), 1.5 - world.my_pe() as f64);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), dushmem::Error>(())
    /// ```
    #[inline]
    pub fn p<T: Data>(&self, dest: &SymCell<T>, value: T, pe: usize) -> Result<()> {
        let source = (&raw const value).cast();
        // SAFETY: `value` is a local variable that may go at return; the engine checks the destination.
        let done = unsafe {
            let dest = dest.as_ptr().cast();
            self.engine.core.put(self.core(), dest, source, size_of::<T>(), pe_number(pe))
        };
        self.engine.name("p", done)
    }

    /// Reads `source` on PE `pe`.
    #[inline]
    pub fn g<T: Data>(&self, source: &SymCell<T>, pe: usize) -> Result<T> {
        let mut value = T::zeroed();
        // SAFETY: `value` is filled at return with bytes, any of which are a value.
        let done = unsafe {
            let dest = (&raw mut value).cast();
            self.engine.core.get(self.core(), dest, source.as_ptr().cast(), size_of::<T>(), pe_number(pe))
        };
        self.engine.name("g", done)?;
        Ok(value)
    }

    /// Copies `source` to `dest` on PE `pe`. The source can be local or own symmetric memory.
    ///
    /// ```
    /// dushmem::run(3, |world| {
    ///     let row = world.alloc_zeroed::<u32>(6)?;
    ///     if world.my_pe() == 0 {
    ///         world.put(&row[2..5], &[7, 8, 9], 2)?;
    ///     }
    ///     world.barrier()?;
    ///     let expected = if world.my_pe() == 2 { [0, 0, 7, 8, 9, 0] } else { [0; 6] };
    ///     assert_eq!(row.to_vec(), expected);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), dushmem::Error>(())
    /// ```
    #[inline]
    pub fn put<T: Data>(
        &self,
        dest: &SymSlice<T>,
        source: &(impl Source<T> + ?Sized),
        pe: usize,
    ) -> Result<()> {
        let (from, len) = source.parts();
        same_length(self.engine.me(), "put", "source", len, dest.len(), ", as many as dest has")?;
        // SAFETY: both are valid for the length of `dest`, the source until return.
        let done = unsafe {
            let (to, bytes) = (dest.as_ptr().cast(), size_of_val(dest));
            self.engine.core.put(self.core(), to, from.cast(), bytes, pe_number(pe))
        };
        self.engine.name("put", done)
    }

    /// Copies `source` on PE `pe` to `dest`, which is filled at return.
    #[inline]
    pub fn get<T: Data>(&self, dest: &mut [T], source: &SymSlice<T>, pe: usize) -> Result<()> {
        same_length(self.engine.me(), "get", "dest", dest.len(), source.len(), ", as many as source has")?;
        self.get_bytes("get", dest.as_mut_ptr(), source, pe)
    }

    /// As [`Context::get`], to own symmetric memory.
    pub fn get_into<T: Data>(&self, dest: &SymSlice<T>, source: &SymSlice<T>, pe: usize) -> Result<()> {
        same_length(
            self.engine.me(),
            "get_into",
            "dest",
            dest.len(),
            source.len(),
            ", as many as source has",
        )?;
        self.get_bytes("get_into", dest.as_ptr(), source, pe)
    }

    #[inline]
    fn get_bytes<T: Data>(
        &self,
        call: &'static str,
        to: *mut T,
        source: &SymSlice<T>,
        pe: usize,
    ) -> Result<()> {
        // SAFETY: the callers' destinations are as long as `source` and valid until return.
        let done = unsafe {
            let (from, bytes) = (source.as_ptr().cast(), size_of_val(source));
            self.engine.core.get(self.core(), to.cast(), from, bytes, pe_number(pe))
        };
        self.engine.name(call, done)
    }

    /// Copies every `source_step`-th element of `source`, `n` of them, to every `dest_step`-th of `dest` on
    /// PE `pe`. Steps are at least 1.
    pub fn iput<T: Data>(
        &self,
        (dest, dest_step): (&SymSlice<T>, usize),
        (source, source_step): (&(impl Source<T> + ?Sized), usize),
        n: usize,
        pe: usize,
    ) -> Result<()> {
        let (from, len) = source.parts();
        self.check_steps("iput", "dest", dest.len(), dest_step, n)?;
        self.check_steps("iput", "source", len, source_step, n)?;
        // SAFETY: both hold `n` elements that far apart.
        let done = unsafe {
            self.engine.core.iput(
                self.core(),
                dest.as_ptr().cast(),
                from.cast(),
                dest_step as isize,
                source_step as isize,
                size_of::<T>(),
                n,
                pe_number(pe),
            )
        };
        self.engine.name("iput", done)
    }

    /// Copies every `source_step`-th element of `source` on PE `pe`, `n` of them, to every `dest_step`-th of
    /// `dest`. Steps are at least 1.
    ///
    /// ```
    /// dushmem::run(2, |world| {
    ///     let matrix = world.alloc_from(&[1, 2, 3, 4, 5, 6])?; // 2 x 3, by rows
    ///     let mut column = [0; 2];
    ///     world.iget((&mut column, 1), (&matrix[1..], 3), 2, 1 - world.my_pe())?;
    ///     assert_eq!(column, [2, 5]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), dushmem::Error>(())
    /// ```
    pub fn iget<T: Data>(
        &self,
        (dest, dest_step): (&mut [T], usize),
        (source, source_step): (&SymSlice<T>, usize),
        n: usize,
        pe: usize,
    ) -> Result<()> {
        self.check_steps("iget", "dest", dest.len(), dest_step, n)?;
        self.check_steps("iget", "source", source.len(), source_step, n)?;
        // SAFETY: both hold `n` elements that far apart.
        let done = unsafe {
            self.engine.core.iget(
                self.core(),
                dest.as_mut_ptr().cast(),
                source.as_ptr().cast(),
                dest_step as isize,
                source_step as isize,
                size_of::<T>(),
                n,
                pe_number(pe),
            )
        };
        self.engine.name("iget", done)
    }

    /// `n` elements `step` apart must lie in `len` elements.
    fn check_steps(
        &self,
        call: &'static str,
        arg: &'static str,
        len: usize,
        step: usize,
        n: usize,
    ) -> Result<()> {
        let wanted = match n.checked_sub(1) {
            None => 0,
            Some(last) => last.checked_mul(step).and_then(|at| at.checked_add(1)).unwrap_or(usize::MAX),
        };
        let why = " for these steps and n";
        let enough = if len >= wanted { wanted } else { len };
        if step < 1 || isize::try_from(step).is_err() {
            let why = "steps count elements and are at least 1";
            return Err(self.engine.fail(call, Cause::BadValue { arg: "step", value: step as i64, why }));
        }
        same_length(self.engine.me(), call, arg, enough, wanted, why)
    }

    /// Orders what this context has issued, and this thread's stores to symmetric memory, before what it
    /// issues later, at each target. Completes nothing: see [`Context::quiet`].
    #[inline]
    pub fn fence(&self) -> Result<()> {
        self.engine.name("fence", self.engine.core.fence(self.core()))
    }

    /// Returns when what this context has issued, and this thread's stores to symmetric memory, are
    /// complete and visible to all PEs.
    ///
    /// ```
    /// dushmem::run(2, |world| {
    ///     let x = world.alloc(0)?;
    ///     if world.my_pe() == 0 {
    ///         world.p(&x, 5, 1)?;
    ///         world.quiet()?; // with a fence here the get below could see 0
    ///         assert_eq!(world.g(&x, 1)?, 5);
    ///     }
    ///     world.barrier()
    /// })?;
    /// # Ok::<(), dushmem::Error>(())
    /// ```
    #[inline]
    pub fn quiet(&self) -> Result<()> {
        self.engine.name("quiet", self.engine.core.quiet(self.core()))
    }
}

/// A context of the program's own, which can't outlive its world. Dropping it does not communicate: what it
/// has issued is completed by the next collective allocation, if not by a quiet before.
#[derive(Debug)]
pub struct OwnedContext<'w> {
    ctx: Context,
    _world: PhantomData<&'w Engine>,
}

impl<'w> OwnedContext<'w> {
    pub(crate) fn new(
        world: &'w World,
        team: Option<Arc<dushmem_core::team::Team>>,
    ) -> Result<OwnedContext<'w>> {
        let engine = Arc::clone(world.engine());
        let own = Arc::new(engine.name("context", engine.core.create_context(team, 0))?);
        engine.keep_context(&own);
        Ok(OwnedContext { ctx: Context { engine, own: Some(own) }, _world: PhantomData })
    }
}

impl Deref for OwnedContext<'_> {
    type Target = Context;

    #[inline]
    fn deref(&self) -> &Context {
        &self.ctx
    }
}

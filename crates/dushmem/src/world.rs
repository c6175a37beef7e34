//! A PE's view of its job, and the memory that it allocates with the others.
use crate::builder::{Builder, bytes_of};
use crate::coll::Group;
use crate::context::{Context, OwnedContext};
use crate::data::Data;
use crate::engine::Engine;
use crate::error::Result;
use crate::symmetric::{Shape, Symmetric};
use core::cell::Cell;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::NonNull;
use dushmem_core::error::Call;
use dushmem_core::heap::ops::HeapUsage;
use std::sync::Arc;

/// One PE's view of its job: who it is, memory, teams, collectives. It dereferences to the default
/// [`Context`], which has the one-sided operations.
///
/// Collectives are for one thread at a time, so a world can be sent to another thread but not shared.
/// Threads that put, get and wait share [`World::default_context`] or contexts of their own.
///
/// Every PE ends with [`World::finalize`]. A world that is dropped without leaves the job waiting for this
/// PE; a process that does so and ends is an error for `dushrun`.
#[derive(Debug)]
#[must_use = "a PE leaves its job by finalize"]
pub struct World {
    ctx: Context,
    _one_thread: PhantomData<Cell<()>>,
}

/// The first values of a block.
enum Fill<'a, T> {
    Zero,
    With(T),
    From(&'a [T]),
}

impl World {
    pub(crate) fn new(engine: Engine) -> World {
        World { ctx: Context::default_of(Arc::new(engine)), _one_thread: PhantomData }
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.ctx.engine
    }

    /// Joins the job that this process was started in by `dushrun`; a process started alone is PE 0 of 1.
    /// Collective over all PEs. A process can have one such world at a time, and another one after it.
    ///
    /// ```standalone_crate
    /// let world = dushmem::World::init()?;
    /// println!("PE {} of {}", world.my_pe(), world.n_pes());
    /// world.finalize()?;
    /// # Ok::<(), dushmem::Error>(())
    /// ```
    pub fn init() -> Result<World> {
        Builder::from_env()?.init()
    }

    /// Leaves the job: completes what was issued, on all contexts, and waits for all PEs. Memory, teams and
    /// contexts of this world are gone, so none may be left:
    ///
    /// ```compile_fail,E0505
    /// let world = dushmem::World::init()?;
    /// let x = world.alloc(1)?;
    /// world.finalize()?;
    /// println!("{}", x.load());
    /// # Ok::<(), dushmem::Error>(())
    /// ```
    pub fn finalize(self) -> Result<()> {
        let engine = self.engine();
        engine.name("finalize", engine.quiet_all().and_then(|()| engine.core.finalize()))
    }

    /// This PE's number.
    #[inline]
    pub fn my_pe(&self) -> usize {
        self.engine().me()
    }

    /// Number of PEs.
    #[inline]
    pub fn n_pes(&self) -> usize {
        self.engine().core.n_pes() as usize
    }

    /// The context of operations on the world itself, to be shared with other threads.
    ///
    /// ```
    /// dushmem::run(2, |world| {
    ///     let counter = world.alloc(0u32)?;
    ///     let ctx = world.default_context();
    ///     std::thread::scope(|threads| {
    ///         for _ in 0..3 {
    ///             threads.spawn(|| ctx.atomic_inc(&counter, 0).unwrap());
    ///         }
    ///     });
    ///     world.barrier()?;
    ///     assert_eq!(world.g(&counter, 0)?, 6);
    ///     world.barrier()
    /// })?;
    /// # Ok::<(), dushmem::Error>(())
    /// ```
    pub fn default_context(&self) -> &Context {
        &self.ctx
    }

    /// A new context, with order and completion of its own.
    pub fn context(&self) -> Result<OwnedContext<'_>> {
        OwnedContext::new(self, None)
    }

    /// Waits for all PEs; everything issued on the default context is complete at its target.
    #[inline]
    pub fn barrier(&self) -> Result<()> {
        self.engine().name("barrier_all", self.engine().core.barrier_all())
    }

    /// Waits for all PEs. Completes this thread's stores to symmetric memory only, no puts.
    #[inline]
    pub fn sync(&self) -> Result<()> {
        self.engine().name("sync_all", self.engine().core.sync_all())
    }

    /// Size and use of the symmetric heap of this PE.
    pub fn heap_usage(&self) -> HeapUsage {
        self.engine().core.heap_usage()
    }

    pub(crate) fn group(&self) -> Group<'_> {
        Group { engine: self.engine(), team: self.engine().core.world_team() }
    }
}

/// # Symmetric memory
/// Collective over all PEs, with equal types and lengths: PEs that disagree get an error, all of them. The
/// values may differ. Each call waits for all PEs, and frees first what all PEs have dropped.
impl World {
    /// One element on every PE, with this PE's own `value`.
    pub fn alloc<T: Data>(&self, value: T) -> Result<Symmetric<'_, T>> {
        self.allocate("alloc", 1, Fill::With(value))
    }

    /// `len` zero elements on every PE.
    pub fn alloc_zeroed<T: Data>(&self, len: usize) -> Result<Symmetric<'_, [T]>> {
        self.allocate("alloc_zeroed", len, Fill::Zero)
    }

    /// `len` elements on every PE, each with this PE's own `value`.
    pub fn alloc_filled<T: Data>(&self, len: usize, value: T) -> Result<Symmetric<'_, [T]>> {
        self.allocate("alloc_filled", len, Fill::With(value))
    }

    /// As many elements on every PE as `values` has, with this PE's own values.
    pub fn alloc_from<T: Data>(&self, values: &[T]) -> Result<Symmetric<'_, [T]>> {
        self.allocate("alloc_from", values.len(), Fill::From(values))
    }

    /// Frees memory at once. Collective, as a call for the same block on all PEs; waits for all of them
    /// before. Dropping on all PEs has the same effect by the next allocation.
    pub fn free<T: ?Sized + Shape>(&self, memory: Symmetric<'_, T>) -> Result<()> {
        let engine = self.engine();
        let Some((id, first)) = memory.block() else { return self.sync() };
        engine.name("free", engine.quiet_all().and_then(|()| engine.core.free(first.cast())))?;
        engine.note_freed(id);
        core::mem::forget(memory);
        Ok(())
    }

    /// Frees the blocks that every PE has dropped, and returns how many there were. Collective. Allocations
    /// do the same.
    ///
    /// ```
    /// dushmem::run(2, |world| {
    ///     let x = world.alloc_zeroed::<u8>(1000)?;
    ///     if world.my_pe() == 0 {
    ///         drop(x);
    ///         assert_eq!(world.reclaim()?, 0); // PE 1 still has it
    ///     } else {
    ///         assert_eq!(world.reclaim()?, 0);
    ///         drop(x);
    ///     }
    ///     assert_eq!(world.reclaim()?, 1);
    ///     assert_eq!(world.heap_usage().used, 0);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), dushmem::Error>(())
    /// ```
    pub fn reclaim(&self) -> Result<usize> {
        self.engine().name("reclaim", self.engine().reclaim(Call::Free, 0))
    }

    fn allocate<S: ?Sized + Shape>(
        &self,
        call: &'static str,
        len: usize,
        fill: Fill<'_, S::Elem>,
    ) -> Result<Symmetric<'_, S>> {
        /// What any allocation is aligned to.
        const NATURAL: usize = 64;
        let engine = self.engine();
        let bytes = engine.name(call, engine.reclaim_for(bytes_of::<S::Elem>(len)))?;
        if bytes == 0 {
            // SAFETY: elements without bytes are anywhere.
            return Ok(unsafe { Symmetric::new(NonNull::dangling(), len, None, engine) });
        }
        let (core, align) = (&engine.core, align_of::<S::Elem>());
        let block = match fill {
            _ if align > NATURAL => core.align(align, bytes),
            Fill::Zero => core.calloc(1, bytes),
            _ => core.malloc(bytes),
        };
        let block = engine.name(call, block)?.cast::<S::Elem>();
        let set = |i: usize, value: S::Elem| {
            // SAFETY: element `i < len` of the new block, which nobody else writes to before they have met.
            unsafe { block.add(i).write(value) }
        };
        match fill {
            Fill::Zero if align <= NATURAL => {}
            Fill::Zero => (0..len).for_each(|i| set(i, bytemuck::Zeroable::zeroed())),
            Fill::With(value) => (0..len).for_each(|i| set(i, value)),
            Fill::From(values) => values.iter().enumerate().for_each(|(i, &value)| set(i, value)),
        }
        if !matches!(fill, Fill::Zero) || align > NATURAL {
            // Peers may write as soon as the call has returned there.
            engine.name(call, core.sync_all())?;
        }
        let first = match NonNull::new(block) {
            Some(first) => first,
            None => unreachable!("only an empty block is null"),
        };
        let id = engine.note_made(block as usize);
        // SAFETY: the new block, of `len` elements.
        Ok(unsafe { Symmetric::new(first, len, Some(id), engine) })
    }
}

impl Deref for World {
    type Target = Context;

    #[inline]
    fn deref(&self) -> &Context {
        &self.ctx
    }
}

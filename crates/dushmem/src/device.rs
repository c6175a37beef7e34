//! Symmetric memory where kernels run.
use crate::builder::bytes_of;
use crate::coll::Reduction;
use crate::data::Data;
use crate::engine::{Engine, pe_number};
use crate::error::Result;
use crate::memory::same_length;
use crate::world::World;
use core::fmt;
use core::marker::PhantomData;
use dushmem_core::env::HeapKind;
use dushmem_core::error::Error as Cause;

/// An array of `T` on every PE, in the memory of the PE's GPU; where PEs have none it is in the symmetric heap of the
/// host. Made by [`World::alloc_on_device`]. The host reaches it by copies; kernels by [`DeviceArray::as_ptr`].
///
/// Dropping it does not communicate, as for [`crate::Symmetric`].
///
/// ```
/// dushmem::run(2, |world| {
///     let array = world.alloc_on_device::<f32>(1000)?;
///     array.put(10, &[1.5, 2.5], 1 - world.my_pe())?;
///     world.barrier()?;
///     assert_eq!(array.to_vec()?[9..13], [0.0, 1.5, 2.5, 0.0]);
///     Ok(())
/// })?;
/// # Ok::<(), dushmem::Error>(())
/// ```
pub struct DeviceArray<'w, T: Data> {
    first: *mut T,
    len: usize,
    /// `None` where there is no memory because it would have no bytes.
    id: Option<u64>,
    engine: &'w Engine,
    _owns: PhantomData<T>,
}

// SAFETY: an address, which only the engine and kernels follow; the list of dropped blocks is behind a lock.
unsafe impl<T: Data> Send for DeviceArray<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Data> Sync for DeviceArray<'_, T> {}

impl<T: Data> Drop for DeviceArray<'_, T> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.engine.note_dropped(id);
        }
    }
}

impl<T: Data> fmt::Debug for DeviceArray<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceArray").field("at", &self.first).field("len", &self.len).finish()
    }
}

impl<T: Data> DeviceArray<'_, T> {
    /// Elements on each PE.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True for no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address of this PE's copy, for kernels. On a GPU the host can't follow it.
    pub fn as_ptr(&self) -> *mut T {
        self.first
    }

    /// The address of `len` elements from `at` on.
    fn part(&self, call: &'static str, at: usize, len: usize) -> Result<*mut T> {
        if at <= self.len && len <= self.len - at {
            return Ok(self.first.wrapping_add(at));
        }
        let why = "the first element; from there on the array has fewer than are copied";
        Err(self.engine.fail(call, Cause::BadValue { arg: "at", value: at as i64, why }))
    }

    /// Copies `values` to the elements of PE `pe`'s copy from `at` on. They have arrived after the next barrier, at the
    /// latest.
    pub fn put(&self, at: usize, values: &[T], pe: usize) -> Result<()> {
        let (dest, core) = (self.part("put", at, values.len())?, &self.engine.core);
        let (source, bytes) = (values.as_ptr().cast(), size_of_val(values));
        // SAFETY: the source is a slice; the destination was checked.
        let done = unsafe { core.put(core.default_context(), dest.cast(), source, bytes, pe_number(pe)) };
        self.engine.name("put", done)
    }

    /// Copies `len` elements of another array of this PE, from `from` on, to those of PE `pe`'s copy from `at` on.
    pub fn put_array(
        &self,
        at: usize,
        source: &DeviceArray<'_, T>,
        from: usize,
        len: usize,
        pe: usize,
    ) -> Result<()> {
        let (dest, source) = (self.part("put", at, len)?, source.part("put", from, len)?);
        let (core, bytes) = (&self.engine.core, len * size_of::<T>());
        // SAFETY: both were checked. What others write meanwhile is any bytes.
        let done = unsafe {
            core.put(core.default_context(), dest.cast(), source.cast_const().cast(), bytes, pe_number(pe))
        };
        self.engine.name("put", done)
    }

    /// Copies the elements of PE `pe`'s copy from `at` on to `values`.
    pub fn get(&self, at: usize, values: &mut [T], pe: usize) -> Result<()> {
        let (source, core) = (self.part("get", at, values.len())?, &self.engine.core);
        let (dest, bytes) = (values.as_mut_ptr().cast(), size_of_val(values));
        // SAFETY: the destination is a slice; the source was checked.
        let done = unsafe {
            core.get(core.default_context(), dest, source.cast_const().cast(), bytes, pe_number(pe))
        };
        self.engine.name("get", done)
    }

    /// This PE's copy.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut values = vec![T::zeroed(); self.len];
        self.get(0, &mut values, self.engine.me())?;
        Ok(values)
    }
}

impl World {
    /// True where PEs have GPUs whose memory [`World::alloc_on_device`] gives. Before the first allocation there this
    /// can be false where it will be true.
    pub fn has_device(&self) -> bool {
        self.engine().core.device_heap().is_some_and(|heap| heap.kind() == HeapKind::Device)
    }

    /// `len` zero elements on every PE, in the memory of its GPU. Collective, with a barrier.
    pub fn alloc_on_device<T: Data>(&self, len: usize) -> Result<DeviceArray<'_, T>> {
        let (engine, call) = (self.engine(), "alloc_on_device");
        let bytes = engine.name(call, engine.reclaim_for(bytes_of::<T>(len)))?;
        if bytes == 0 {
            let first = core::ptr::NonNull::dangling().as_ptr();
            return Ok(DeviceArray { first, len, id: None, engine, _owns: PhantomData });
        }
        let block = engine.name(call, engine.core.calloc_on(HeapKind::Device, 1, bytes))?;
        let id = Some(engine.note_made(block as usize));
        Ok(DeviceArray { first: block.cast(), len, id, engine, _owns: PhantomData })
    }

    /// Copies `source` of PE `root` to `dest` of every PE. Collective, as are the other calls for arrays on devices;
    /// in place is fine.
    pub fn broadcast_on_device<T: Data>(
        &self,
        dest: &DeviceArray<'_, T>,
        source: &DeviceArray<'_, T>,
        root: usize,
    ) -> Result<()> {
        let (engine, call) = (self.engine(), "broadcast_on_device");
        same_length(engine.me(), call, "dest", dest.len, source.len, ", as many as source has")?;
        let (core, bytes) = (&engine.core, source.len * size_of::<T>());
        // SAFETY: symmetric memory of that length.
        let done = unsafe {
            core.broadcast(core.world_team(), dest.first.cast(), source.first.cast(), bytes, pe_number(root))
        };
        engine.name(call, done)
    }

    /// Concatenates `source` of every PE, in their order, at `dest` of every PE.
    pub fn fcollect_on_device<T: Data>(
        &self,
        dest: &DeviceArray<'_, T>,
        source: &DeviceArray<'_, T>,
    ) -> Result<()> {
        let (engine, call) = (self.engine(), "fcollect_on_device");
        let wanted = source.len.saturating_mul(self.n_pes());
        same_length(engine.me(), call, "dest", dest.len, wanted, ", as many as source has for each PE")?;
        let (core, bytes) = (&engine.core, source.len * size_of::<T>());
        // SAFETY: symmetric memory of those lengths.
        let done = unsafe { core.fcollect(core.world_team(), dest.first.cast(), source.first.cast(), bytes) };
        engine.name(call, done)
    }

    /// Combines `source` of all PEs, element by element in the order of the PEs, into `dest` of every PE. In place is
    /// fine.
    pub fn reduce_on_device<T: Data, R: Reduction<T>>(
        &self,
        dest: &DeviceArray<'_, T>,
        source: &DeviceArray<'_, T>,
        reduction: R,
    ) -> Result<()> {
        let (engine, call) = (self.engine(), "reduce_on_device");
        same_length(engine.me(), call, "dest", dest.len, source.len, ", as many as source has")?;
        let (core, reducer) = (&engine.core, reduction.reducer());
        // SAFETY: symmetric memory of that length, of the reducer's type.
        let done = unsafe {
            core.reduce(core.world_team(), dest.first.cast(), source.first.cast(), source.len, &reducer)
        };
        engine.name(call, done)
    }
}

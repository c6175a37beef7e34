//! A peer's memory by load and store.
use crate::data::Data;
use crate::engine::pe_number;
use crate::error::Result;
use crate::memory::{SymSlice, copy_shared};
use crate::world::World;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

/// Another PE's copy of a symmetric slice, mapped here. See [`World::peer`].
#[derive(Debug)]
pub struct PeerSlice<'a, T> {
    first: NonNull<T>,
    len: usize,
    _own: PhantomData<&'a SymSlice<T>>,
}

// SAFETY: every access is as those of `SymCell`.
unsafe impl<T: Data> Send for PeerSlice<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Data> Sync for PeerSlice<'_, T> {}

impl World {
    /// PE `pe`'s copy of `slice`, where it can be loaded and stored; `None` where it can't. Stores are
    /// ordered and completed like puts, by fence and quiet; they wake a peer that waits for them later than
    /// a put does.
    ///
    /// ```
    /// dushmem::run(2, |world| {
    ///     let x = world.alloc_from(&[world.my_pe(); 3])?;
    ///     if let Some(theirs) = world.peer(&x[1..], 1 - world.my_pe())? {
    ///         assert_eq!(theirs.load(0), 1 - world.my_pe());
    ///     }
    ///     world.barrier()
    /// })?;
    /// # Ok::<(), dushmem::Error>(())
    /// ```
    pub fn peer<'a, T: Data>(&self, slice: &'a SymSlice<T>, pe: usize) -> Result<Option<PeerSlice<'a, T>>> {
        let engine = self.engine();
        let at = engine.core.ptr(slice.as_ptr().cast_const().cast(), pe_number(pe));
        let at = NonNull::new(engine.name("ptr", at)?.cast());
        Ok(at.map(|first| PeerSlice { first, len: slice.len(), _own: PhantomData }))
    }
}

impl<T: Data> PeerSlice<'_, T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Address at which this process sees the first element.
    pub fn as_ptr(&self) -> *mut T {
        self.first.as_ptr()
    }

    fn at(&self, i: usize) -> *mut T {
        assert!(i < self.len, "index {i} of {} elements of a peer", self.len);
        self.first.as_ptr().wrapping_add(i)
    }

    /// Element `i`. Panics if there is none.
    pub fn load(&self, i: usize) -> T {
        let mut value = MaybeUninit::<T>::uninit();
        // SAFETY: an element of mapped memory; any bytes are a value.
        unsafe {
            copy_shared(value.as_mut_ptr().cast(), self.at(i).cast(), size_of::<T>());
            value.assume_init()
        }
    }

    /// Replaces element `i`. Panics if there is none.
    pub fn store(&self, i: usize, value: T) {
        // SAFETY: an element of mapped memory.
        unsafe { copy_shared(self.at(i).cast(), (&raw const value).cast(), size_of::<T>()) }
    }

    /// Copies all elements. Panics if the lengths differ.
    pub fn copy_to(&self, dest: &mut [T]) {
        assert_eq!(self.len, dest.len(), "copy_to: the slices differ in length");
        // SAFETY: equally long, both valid.
        unsafe { copy_shared(dest.as_mut_ptr().cast(), self.as_ptr().cast(), size_of_val(dest)) }
    }

    /// Replaces all elements. Panics if the lengths differ.
    pub fn copy_from(&self, source: &[T]) {
        assert_eq!(self.len, source.len(), "copy_from: the slices differ in length");
        // SAFETY: equally long, both valid.
        unsafe { copy_shared(self.as_ptr().cast(), source.as_ptr().cast(), size_of_val(source)) }
    }
}

//! Ownership of symmetric memory.
use crate::data::Data;
use crate::engine::Engine;
use crate::memory::{SymCell, SymSlice};
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::NonNull;

mod sealed {
    pub trait Sealed {}
}

/// Shapes of allocations: one element, or a slice of them.
pub trait Shape: sealed::Sealed {
    /// The element.
    type Elem: Data;
    /// What the owner dereferences to.
    type Place: ?Sized;

    #[doc(hidden)]
    fn place(cells: &[SymCell<Self::Elem>]) -> &Self::Place;
}

impl<T: Data> sealed::Sealed for T {}
impl<T: Data> Shape for T {
    type Elem = T;
    type Place = SymCell<T>;

    fn place(cells: &[SymCell<T>]) -> &SymCell<T> {
        &cells[0]
    }
}

impl<T: Data> sealed::Sealed for [T] {}
impl<T: Data> Shape for [T] {
    type Elem = T;
    type Place = SymSlice<T>;

    fn place(cells: &[SymCell<T>]) -> &SymSlice<T> {
        SymSlice::new(cells)
    }
}

/// A block of symmetric memory, made by [`crate::World::alloc`] and its like. `Symmetric<T>` is one
/// element and dereferences to [`SymCell`], `Symmetric<[T]>` dereferences to [`SymSlice`].
///
/// It can't outlive its world. Dropping it does not communicate: the memory is reused when every PE has
/// dropped its own handle, from the next collective allocation on ([`crate::World::reclaim`]). Until then
/// peers that still have theirs may write to it.
pub struct Symmetric<'w, T: ?Sized + Shape> {
    first: NonNull<SymCell<T::Elem>>,
    len: usize,
    /// Number of the block; `None` where there is no memory because it would have no bytes.
    id: Option<u64>,
    engine: &'w Engine,
    _owns: PhantomData<T::Elem>,
}

// SAFETY: cells are `Sync`, the list of dropped blocks is behind a lock.
unsafe impl<T: ?Sized + Shape> Send for Symmetric<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Shape> Sync for Symmetric<'_, T> {}

impl<'w, T: ?Sized + Shape> Symmetric<'w, T> {
    /// # Safety
    /// `first` is the block `id` of `len` elements, which nobody else owns.
    pub(crate) unsafe fn new(
        first: NonNull<T::Elem>,
        len: usize,
        id: Option<u64>,
        engine: &'w Engine,
    ) -> Symmetric<'w, T> {
        Symmetric { first: first.cast(), len, id, engine, _owns: PhantomData }
    }

    /// Number and first element of the block, if it has one.
    pub(crate) fn block(&self) -> Option<(u64, *mut T::Elem)> {
        self.id.map(|id| (id, self.first.as_ptr().cast()))
    }

    pub(crate) fn engine(&self) -> &'w Engine {
        self.engine
    }
}

impl<T: ?Sized + Shape> Deref for Symmetric<'_, T> {
    type Target = T::Place;

    #[inline]
    fn deref(&self) -> &T::Place {
        // SAFETY: `len` elements of symmetric memory, mapped and not reused while `self` is there.
        T::place(unsafe { core::slice::from_raw_parts(self.first.as_ptr(), self.len) })
    }
}

impl<T: ?Sized + Shape> Drop for Symmetric<'_, T> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.engine.note_dropped(id);
        }
    }
}

impl<T: ?Sized + Shape> fmt::Debug for Symmetric<'_, T>
where
    T::Place: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

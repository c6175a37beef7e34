//! Elements of symmetric memory, and slices of them.
use crate::data::Data;
use crate::error::{Error, Result};
use core::cell::UnsafeCell;
use core::fmt;
use core::mem::MaybeUninit;
use core::ops::{Deref, Index, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};
use core::sync::atomic::{AtomicU64, Ordering};
use dushmem_core::transport::mapped;

/// One element of symmetric memory: this PE's own copy of it. References to it name the element in
/// operations to other PEs.
///
/// Values of 1, 2, 4 or 8 bytes are loaded and stored in one access, larger ones piece by piece. Neither
/// orders anything.
#[repr(transparent)]
pub struct SymCell<T>(UnsafeCell<T>);

// SAFETY: `T` is plain data, and every access to the cell is one that races are harmless for: word by
// word, into or from a value of the caller's.
unsafe impl<T: Data> Sync for SymCell<T> {}

impl<T: Data> SymCell<T> {
    /// This PE's own value.
    #[inline]
    pub fn load(&self) -> T {
        let mut value = MaybeUninit::<T>::uninit();
        // SAFETY: a valid element; any bytes that arrive in `value` are a value of plain data.
        unsafe {
            copy_shared(value.as_mut_ptr().cast(), self.as_ptr().cast(), size_of::<T>());
            value.assume_init()
        }
    }

    /// Replaces this PE's own value.
    #[inline]
    pub fn store(&self, value: T) {
        // SAFETY: a valid element, and a local variable.
        unsafe { copy_shared(self.as_ptr().cast(), (&raw const value).cast(), size_of::<T>()) }
    }

    /// Address of this PE's own copy. On one node it is the same on every PE that is a process.
    pub fn as_ptr(&self) -> *mut T {
        self.0.get()
    }

    /// The element as a slice of one.
    pub fn as_slice(&self) -> &SymSlice<T> {
        SymSlice::new(core::slice::from_ref(self))
    }
}

impl<T: Data + fmt::Debug> fmt::Debug for SymCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load().fmt(f)
    }
}

/// Consecutive elements of symmetric memory: this PE's own copy of them. Indexed like a slice; ranges
/// give parts, which name that part in operations to other PEs.
///
/// ```
/// dushmem::run(1, |world| {
///     let array = world.alloc_from(&[1, 2, 3, 4])?;
///     array[1..3].fill(9);
///     array[0].store(7);
///     assert_eq!(array.to_vec(), [7, 9, 9, 4]);
///     assert_eq!(array.iter().map(|cell| cell.load()).max(), Some(9));
///     for cell in &array[2..] {
///         cell.store(cell.load() + 1);
///     }
///     assert_eq!(array.to_vec(), [7, 9, 10, 5]);
///     Ok(())
/// })?;
/// # Ok::<(), dushmem::Error>(())
/// ```
#[repr(transparent)]
pub struct SymSlice<T>([SymCell<T>]);

impl<T: Data> SymSlice<T> {
    pub(crate) fn new(cells: &[SymCell<T>]) -> &SymSlice<T> {
        // SAFETY: a transparent wrapper of the same slice.
        unsafe { &*(cells as *const [SymCell<T>] as *const SymSlice<T>) }
    }

    /// Address of the first element of this PE's own copy.
    pub fn as_ptr(&self) -> *mut T {
        self.0.as_ptr().cast_mut().cast()
    }

    /// Copies this PE's own values.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn copy_to(&self, dest: &mut [T]) {
        assert_eq!(self.len(), dest.len(), "copy_to: the slices differ in length");
        // SAFETY: equally long, both valid.
        unsafe { copy_shared(dest.as_mut_ptr().cast(), self.as_ptr().cast(), size_of_val(self)) }
    }

    /// Replaces this PE's own values.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn copy_from(&self, source: &[T]) {
        assert_eq!(self.len(), source.len(), "copy_from: the slices differ in length");
        // SAFETY: equally long, both valid.
        unsafe { copy_shared(self.as_ptr().cast(), source.as_ptr().cast(), size_of_val(self)) }
    }

    /// Sets all of this PE's own values.
    pub fn fill(&self, value: T) {
        self.iter().for_each(|cell| cell.store(value));
    }

    /// A copy of this PE's own values.
    pub fn to_vec(&self) -> Vec<T> {
        let mut values = vec![T::zeroed(); self.len()];
        self.copy_to(&mut values);
        values
    }

    /// This PE's own values as a slice.
    ///
    /// # Safety
    /// Until the slice is gone, nobody writes to this memory: no peer by put, atomic, signal or collective,
    /// none that was issued before and has not completed, and this PE neither.
    pub unsafe fn as_slice(&self) -> &[T] {
        // SAFETY: valid elements of plain data, which the caller promises not to change.
        unsafe { core::slice::from_raw_parts(self.as_ptr(), self.len()) }
    }

    /// This PE's own values as a slice to write to.
    ///
    /// # Safety
    /// Until the slice is gone, nobody else reads or writes this memory: no peer, no operation that was
    /// issued before and has not completed, and this PE only through the slice.
    #[allow(clippy::mut_from_ref, reason = "the caller promises that there is no other access")]
    pub unsafe fn as_mut_slice(&self) -> &mut [T] {
        // SAFETY: as the caller promises.
        unsafe { core::slice::from_raw_parts_mut(self.as_ptr(), self.len()) }
    }
}

impl<T> Deref for SymSlice<T> {
    type Target = [SymCell<T>];

    fn deref(&self) -> &[SymCell<T>] {
        &self.0
    }
}

impl<'a, T> IntoIterator for &'a SymSlice<T> {
    type Item = &'a SymCell<T>;
    type IntoIter = core::slice::Iter<'a, SymCell<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T> Index<usize> for SymSlice<T> {
    type Output = SymCell<T>;

    fn index(&self, i: usize) -> &SymCell<T> {
        &self.0[i]
    }
}

macro_rules! ranges {
    ($($range:ty),*) => {$(
        impl<T: Data> Index<$range> for SymSlice<T> {
            type Output = SymSlice<T>;

            fn index(&self, range: $range) -> &SymSlice<T> {
                SymSlice::new(&self.0[range])
            }
        }
    )*};
}
ranges!(
    Range<usize>,
    RangeFrom<usize>,
    RangeTo<usize>,
    RangeInclusive<usize>,
    RangeToInclusive<usize>,
    RangeFull
);

impl<T: Data + fmt::Debug> fmt::Debug for SymSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Copies between own symmetric memory and a local buffer, so that the compiler can't read or write the
/// symmetric side twice: as whole words, or behind a call that it does not look into.
///
/// # Safety
/// `dest` is writable and `source` readable for `bytes` bytes.
#[inline]
pub(crate) unsafe fn copy_shared(dest: *mut u8, source: *const u8, bytes: usize) {
    const INLINE: usize = 128;
    let aligned = (dest as usize | source as usize).is_multiple_of(8);
    // SAFETY: the caller's ranges; words where both are aligned.
    unsafe {
        if bytes <= 8 && bytes.is_power_of_two() {
            mapped::copy(dest, source, bytes);
        } else if aligned && bytes.is_multiple_of(8) && bytes <= INLINE {
            for i in 0..bytes / 8 {
                let word =
                    AtomicU64::from_ptr(source.cast_mut().cast::<u64>().add(i)).load(Ordering::Relaxed);
                AtomicU64::from_ptr(dest.cast::<u64>().add(i)).store(word, Ordering::Relaxed);
            }
        } else {
            copy_opaque(dest, source, bytes);
        }
    }
}

/// # Safety
/// As for [`copy_shared`].
#[inline(never)]
unsafe fn copy_opaque(dest: *mut u8, source: *const u8, bytes: usize) {
    // SAFETY: the caller's ranges.
    unsafe { core::ptr::copy(source, dest, bytes) }
}

/// An error unless `len` is `wanted`.
#[inline]
pub(crate) fn same_length(
    pe: usize,
    call: &'static str,
    arg: &'static str,
    len: usize,
    wanted: usize,
    why: &'static str,
) -> Result<()> {
    if len == wanted { Ok(()) } else { Err(Error::Length { pe, call, arg, len, wanted, why }) }
}

//! What can be the source of a put.
use crate::data::Data;
use crate::memory::SymSlice;
use crate::symmetric::Symmetric;

mod sealed {
    pub trait Sealed {}
}

/// Elements that a put can send: local slices, arrays and vectors, and own symmetric memory.
pub trait Source<T: Data>: sealed::Sealed {
    #[doc(hidden)]
    fn parts(&self) -> (*const T, usize);
}

macro_rules! sources {
    ($([$($generics:tt)*] $t:ty;)*) => {$(
        impl<$($generics)*> sealed::Sealed for $t {}
        impl<$($generics)*> Source<T> for $t {
            #[inline]
            fn parts(&self) -> (*const T, usize) {
                (self.as_ptr().cast(), self.len())
            }
        }
    )*};
}
sources! {
    [T: Data] [T];
    [T: Data, const N: usize] [T; N];
    [T: Data] Vec<T>;
    [T: Data] SymSlice<T>;
    [T: Data] Symmetric<'_, [T]>;
}

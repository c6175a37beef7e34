//! Collectives: calls that every member of a team makes, in the same order, with equal arguments.
use crate::data::Data;
use crate::engine::{Engine, pe_number};
use crate::error::Result;
use crate::memory::{SymSlice, same_length};
use crate::team::Team;
use crate::world::World;
use dushmem_core::coll::reduce::{ReduceInt, ReduceNum, ReduceOp, Reducer};
use dushmem_core::coll::scan::Scan;
use dushmem_core::error::Error as Cause;
use dushmem_core::team::Team as CoreTeam;

mod sealed {
    pub trait Sealed {}
}

/// What a reduction computes from elements of type `T`.
pub trait Reduction<T: Data>: Copy + sealed::Sealed {
    #[doc(hidden)]
    fn reducer(self) -> Reducer;
}

macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident: $bound:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name;

        impl sealed::Sealed for $name {}

        impl<T: Data + $bound> Reduction<T> for $name {
            fn reducer(self) -> Reducer {
                match T::reducer(ReduceOp::$name) {
                    Some(reducer) => reducer,
                    None => unreachable!("the bound is on types that have the operation"),
                }
            }
        }
    )*};
}
reductions! {
    /// Sum, wrapping for integers; floats are added in the order of the PEs, so all get the same bits.
    Sum: ReduceNum;
    /// Product, wrapping for integers.
    Prod: ReduceNum;
    /// Smallest; a NaN if there is one.
    Min: ReduceNum;
    /// Largest; a NaN if there is one.
    Max: ReduceNum;
    /// Bitwise and, of integers.
    And: ReduceInt;
    /// Bitwise or, of integers.
    Or: ReduceInt;
    /// Bitwise exclusive or, of integers.
    Xor: ReduceInt;
}

/// The members that a call is for.
pub(crate) struct Group<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) team: &'a CoreTeam,
}

impl Group<'_> {
    /// Buffers of one collective are the same or apart.
    fn check<T: Data>(
        &self,
        call: &'static str,
        (dest, wanted): (&SymSlice<T>, usize),
        source: &SymSlice<T>,
        in_place: bool,
        why: &'static str,
    ) -> Result<()> {
        same_length(self.engine.me(), call, "dest", dest.len(), wanted, why)?;
        let (to, from) = (dest.as_ptr() as usize, source.as_ptr() as usize);
        let overlap = to < from + size_of_val(source) && from < to + size_of_val(dest);
        if overlap && !(in_place && to == from) {
            let why = "overlaps dest; the two must be apart";
            return Err(self.engine.fail(call, Cause::BadValue { arg: "source", value: from as i64, why }));
        }
        Ok(())
    }

    fn broadcast<T: Data>(&self, dest: &SymSlice<T>, source: &SymSlice<T>, root: usize) -> Result<()> {
        self.check("broadcast", (dest, source.len()), source, true, ", as many as source has")?;
        // SAFETY: symmetric memory of that length.
        let done = unsafe {
            let (to, from, bytes) = (dest.as_ptr().cast(), source.as_ptr().cast(), size_of_val(source));
            self.engine.core.broadcast(self.team, to, from, bytes, pe_number(root))
        };
        self.engine.name("broadcast", done)
    }

    fn fcollect<T: Data>(&self, dest: &SymSlice<T>, source: &SymSlice<T>) -> Result<()> {
        let wanted = source.len().saturating_mul(self.team.n_pes() as usize);
        self.check("fcollect", (dest, wanted), source, false, ", as many as source has for each PE")?;
        // SAFETY: symmetric memory of those lengths.
        let done = unsafe {
            let (to, from, bytes) = (dest.as_ptr().cast(), source.as_ptr().cast(), size_of_val(source));
            self.engine.core.fcollect(self.team, to, from, bytes)
        };
        self.engine.name("fcollect", done)
    }

    fn alltoall<T: Data>(&self, dest: &SymSlice<T>, source: &SymSlice<T>) -> Result<()> {
        let n = self.team.n_pes() as usize;
        let (me, blocks) = (self.engine.me(), source.len().next_multiple_of(n));
        same_length(me, "alltoall", "source", source.len(), blocks, ", a multiple of the number of PEs")?;
        self.check("alltoall", (dest, source.len()), source, false, ", as many as source has")?;
        // SAFETY: symmetric memory of `n` blocks each.
        let done = unsafe {
            let (to, from, bytes) = (dest.as_ptr().cast(), source.as_ptr().cast(), size_of_val(source) / n);
            self.engine.core.alltoall(self.team, to, from, bytes)
        };
        self.engine.name("alltoall", done)
    }

    fn reduce<T: Data>(&self, dest: &SymSlice<T>, source: &SymSlice<T>, reducer: Reducer) -> Result<()> {
        self.check("reduce", (dest, source.len()), source, true, ", as many as source has")?;
        // SAFETY: symmetric memory of that length, of the reducer's type.
        let done = unsafe {
            let (to, from) = (dest.as_ptr().cast(), source.as_ptr().cast());
            self.engine.core.reduce(self.team, to, from, source.len(), &reducer)
        };
        self.engine.name("reduce", done)
    }

    fn collect<T: Data>(&self, dest: &SymSlice<T>, source: &SymSlice<T>) -> Result<usize> {
        self.check("collect", (dest, dest.len()), source, false, "")?;
        // SAFETY: symmetric memory of those lengths; the engine is told how long `dest` is.
        let done = unsafe {
            let (to, from) = (dest.as_ptr().cast(), source.as_ptr().cast());
            let (room, bytes) = (size_of_val(dest), size_of_val(source));
            self.engine.core.collect(self.team, to, room, from, bytes)
        };
        self.engine.name("collect", done).map(|bytes| bytes.checked_div(size_of::<T>()).unwrap_or(0))
    }

    fn reduce_scatter<T: Data>(
        &self,
        dest: &SymSlice<T>,
        source: &SymSlice<T>,
        reducer: Reducer,
    ) -> Result<()> {
        let n = self.team.n_pes() as usize;
        let (me, blocks) = (self.engine.me(), source.len().next_multiple_of(n));
        same_length(
            me,
            "reduce_scatter",
            "source",
            source.len(),
            blocks,
            ", a multiple of the number of PEs",
        )?;
        self.check("reduce_scatter", (dest, source.len() / n), source, false, ", one block of source")?;
        // SAFETY: symmetric memory of those lengths, of the reducer's type.
        let done = unsafe {
            let (to, from) = (dest.as_ptr().cast(), source.as_ptr().cast());
            self.engine.core.reduce_scatter(self.team, to, from, dest.len(), &reducer)
        };
        self.engine.name("reduce_scatter", done)
    }

    fn scan<T: Data + ReduceNum>(
        &self,
        call: &'static str,
        dest: &SymSlice<T>,
        source: &SymSlice<T>,
        kind: Scan,
    ) -> Result<()> {
        self.check(call, (dest, source.len()), source, true, ", as many as source has")?;
        // SAFETY: symmetric memory of that length, of the reducer's type.
        let done = unsafe {
            let (to, from) = (dest.as_ptr().cast(), source.as_ptr().cast());
            self.engine.core.scan(self.team, to, from, source.len(), &Sum.reducer_of::<T>(), kind)
        };
        self.engine.name(call, done)
    }
}

impl Sum {
    fn reducer_of<T: Data + ReduceNum>(self) -> Reducer {
        Reduction::<T>::reducer(self)
    }
}

macro_rules! collectives {
    ($target:ty, $who:literal) => {
        /// # Collectives
        #[doc = concat!("Called by all PEs of the ", $who, ", in the same order and with equal lengths. ")]
        /// At return the own `dest` is filled and the own `source` may be reused. Every PE's `dest` must be
        /// ready to be written to when the first one calls.
        impl $target {
            /// Copies `source` of PE `root` to `dest` of every PE. In place is fine.
            pub fn broadcast<T: Data>(
                &self,
                dest: &SymSlice<T>,
                source: &SymSlice<T>,
                root: usize,
            ) -> Result<()> {
                self.group().broadcast(dest, source, root)
            }

            /// Concatenates `source` of every PE, in their order, in `dest` of every PE.
            ///
            /// ```
            /// dushmem::run(3, |world| {
            ///     let mine = world.alloc(10 * world.my_pe())?;
            ///     let all = world.alloc_zeroed(world.n_pes())?;
            ///     world.fcollect(&all, mine.as_slice())?;
            ///     assert_eq!(all.to_vec(), [0, 10, 20]);
            ///     Ok(())
            /// })?;
            /// # Ok::<(), dushmem::Error>(())
            /// ```
            pub fn fcollect<T: Data>(&self, dest: &SymSlice<T>, source: &SymSlice<T>) -> Result<()> {
                self.group().fcollect(dest, source)
            }

            /// Sends block `j` of `source` to PE `j`, where it becomes the block of this PE's number. Both
            /// have one block for each PE, all equally long.
            pub fn alltoall<T: Data>(&self, dest: &SymSlice<T>, source: &SymSlice<T>) -> Result<()> {
                self.group().alltoall(dest, source)
            }

            /// Combines `source` of all PEs element by element, in the order of the PEs, into `dest` of
            /// every PE. In place is fine.
            ///
            /// ```
            /// dushmem::run(4, |world| {
            ///     let x = world.alloc_from(&[1.5, world.my_pe() as f64])?;
            ///     world.reduce(&x, &x, dushmem::Sum)?;
            ///     assert_eq!(x.to_vec(), [6.0, 6.0]);
            ///     Ok(())
            /// })?;
            /// # Ok::<(), dushmem::Error>(())
            /// ```
            pub fn reduce<T: Data>(
                &self,
                dest: &SymSlice<T>,
                source: &SymSlice<T>,
                op: impl Reduction<T>,
            ) -> Result<()> {
                self.group().reduce(dest, source, op.reducer())
            }

            /// Combines `source` of all PEs element by element, in the order of the PEs; each PE gets the
            /// block of its number. `source` has one block for each PE, all as long as `dest`.
            pub fn reduce_scatter<T: Data>(
                &self,
                dest: &SymSlice<T>,
                source: &SymSlice<T>,
                op: impl Reduction<T>,
            ) -> Result<()> {
                self.group().reduce_scatter(dest, source, op.reducer())
            }

            /// Concatenates `source` of every PE, in their order, at the beginning of `dest` of every PE, and
            /// gives the number of elements. PEs may contribute different numbers.
            ///
            /// ```
            /// dushmem::run(3, |world| {
            ///     let (all, mine) = (world.alloc_zeroed(6)?, world.alloc_from(&[world.my_pe(); 3])?);
            ///     let total = world.collect(&all, &mine[..world.my_pe() + 1])?;
            ///     assert_eq!(all.to_vec(), [0, 1, 1, 2, 2, 2]);
            ///     assert_eq!(total, 6);
            ///     Ok(())
            /// })?;
            /// # Ok::<(), dushmem::Error>(())
            /// ```
            pub fn collect<T: Data>(&self, dest: &SymSlice<T>, source: &SymSlice<T>) -> Result<usize> {
                self.group().collect(dest, source)
            }

            /// Adds up, element by element, `source` of the PEs up to this one. In place is fine.
            ///
            /// ```
            /// dushmem::run(3, |world| {
            ///     let x = world.alloc_from(&[10u64])?;
            ///     world.sum_inscan(&x, &x)?;
            ///     assert_eq!(x.to_vec(), [10 * (world.my_pe() as u64 + 1)]);
            ///     Ok(())
            /// })?;
            /// # Ok::<(), dushmem::Error>(())
            /// ```
            pub fn sum_inscan<T: Data + ReduceNum>(
                &self,
                dest: &SymSlice<T>,
                source: &SymSlice<T>,
            ) -> Result<()> {
                self.group().scan("sum_inscan", dest, source, Scan::Inclusive)
            }

            /// Adds up, element by element, `source` of the PEs below this one; zeros on PE 0. In place is
            /// fine.
            pub fn sum_exscan<T: Data + ReduceNum>(
                &self,
                dest: &SymSlice<T>,
                source: &SymSlice<T>,
            ) -> Result<()> {
                self.group().scan("sum_exscan", dest, source, Scan::Exclusive)
            }
        }
    };
}
collectives!(World, "job");
collectives!(Team<'_>, "team");

//! Waiting for words of the own memory that peers update.
use crate::context::Context;
use crate::data::Data;
use crate::error::Result;
use crate::memory::{SymCell, SymSlice, same_length};
use dushmem_core::error::Call;
use dushmem_core::until::{Cmp, CmpValues, WaitInt};

/// # Waiting
/// For own words that peers update by atomics, signals, or puts of one word. What the updater ordered before
/// the update (by a fence, a quiet, or in one put with signal) is visible after the wait.
impl Context {
    /// Waits until `cell cmp value` and returns the value seen.
    ///
    /// ```
    /// use dushmem::Cmp;
    ///
    /// dushmem::run(2, |world| {
    ///     let (data, ready) = (world.alloc(0.0f32)?, world.alloc(0i32)?);
    ///     if world.my_pe() == 0 {
    ///         world.p(&data, 2.5, 1)?;
    ///         world.fence()?;
    ///         world.atomic_set(&ready, 1, 1)?;
    ///     } else {
    ///         world.wait_until(&ready, Cmp::Eq, 1)?;
    ///         assert_eq!(data.load(), 2.5);
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), dushmem::Error>(())
    /// ```
    pub fn wait_until<T: Data + WaitInt>(&self, cell: &SymCell<T>, cmp: Cmp, value: T) -> Result<T> {
        // SAFETY: an own symmetric word.
        let seen = unsafe { self.engine.core.wait_until(Call::WaitUntil, cell.as_ptr(), cmp, value) };
        self.engine.name("wait_until", seen)
    }

    /// True if `cell cmp value`.
    pub fn test<T: Data + WaitInt>(&self, cell: &SymCell<T>, cmp: Cmp, value: T) -> Result<bool> {
        // SAFETY: an own symmetric word.
        self.engine.name("test", unsafe { self.engine.core.test(cell.as_ptr(), cmp, value) })
    }

    /// Several words to wait for: any, some or all of them.
    ///
    /// ```
    /// use dushmem::Cmp;
    ///
    /// dushmem::run(3, |world| {
    ///     let flags = world.alloc_zeroed::<u64>(world.n_pes())?;
    ///     for pe in 0..world.n_pes() {
    ///         world.atomic_set(&flags[world.my_pe()], 1, pe)?;
    ///     }
    ///     let mut seen = vec![false; world.n_pes()];
    ///     while let Some(pe) = world.wait_set(&flags).except(&seen)?.wait_any(Cmp::Eq, 1)? {
    ///         seen[pe] = true; // in the order of arrival
    ///     }
    ///     assert_eq!(seen, [true; 3]);
    ///     world.barrier()
    /// })?;
    /// # Ok::<(), dushmem::Error>(())
    /// ```
    pub fn wait_set<'a, T: Data + WaitInt>(&'a self, cells: &'a SymSlice<T>) -> WaitSet<'a, T> {
        WaitSet { ctx: self, cells, excluded: Vec::new() }
    }
}

/// What the words of a set are compared with: one value, or one for each.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a, T> {
    /// All with the same.
    One(T),
    /// Each with its own; as many as the set has words.
    Each(&'a [T]),
}

impl<T: WaitInt> From<T> for Values<'_, T> {
    fn from(value: T) -> Self {
        Values::One(value)
    }
}

impl<'a, T: WaitInt> From<&'a [T]> for Values<'a, T> {
    fn from(values: &'a [T]) -> Self {
        Values::Each(values)
    }
}

impl<'a, T: WaitInt, const N: usize> From<&'a [T; N]> for Values<'a, T> {
    fn from(values: &'a [T; N]) -> Self {
        Values::Each(values)
    }
}

/// Own words to wait for. See [`Context::wait_set`].
#[derive(Debug)]
pub struct WaitSet<'a, T: Data> {
    ctx: &'a Context,
    cells: &'a SymSlice<T>,
    /// As long as the set, or empty where none is excluded.
    excluded: Vec<i32>,
}

impl<T: Data + WaitInt> WaitSet<'_, T> {
    /// Leaves out the words for which `excluded` is true; as many as the set has words.
    pub fn except(mut self, excluded: &[bool]) -> Result<Self> {
        let why = ", one for each word";
        let (me, len) = (self.ctx.engine.me(), self.cells.len());
        same_length(me, "except", "excluded", excluded.len(), len, why)?;
        self.excluded = excluded.iter().map(|&out| i32::from(out)).collect();
        Ok(self)
    }

    /// Waits until all words compare. Returns at once if there are none.
    pub fn wait_all<'v>(&self, cmp: Cmp, values: impl Into<Values<'v, T>>) -> Result<()> {
        let values = self.values("wait_until_all", values.into())?;
        let core = &self.ctx.engine.core;
        // SAFETY: the set is own symmetric memory, status and values are as long or not there.
        let done =
            unsafe { core.wait_until_all(self.cells.as_ptr(), self.len(), self.status(), cmp, values) };
        self.ctx.engine.name("wait_until_all", done)
    }

    /// Waits until one word compares and returns its index; `None` at once if there are no words. In a
    /// series of calls every word that compares has its turn.
    pub fn wait_any<'v>(&self, cmp: Cmp, values: impl Into<Values<'v, T>>) -> Result<Option<usize>> {
        let values = self.values("wait_until_any", values.into())?;
        let core = &self.ctx.engine.core;
        // SAFETY: as in `wait_all`.
        let found =
            unsafe { core.wait_until_any(self.cells.as_ptr(), self.len(), self.status(), cmp, values) };
        Ok(Some(self.ctx.engine.name("wait_until_any", found)?).filter(|&i| i != usize::MAX))
    }

    /// Waits until at least one word compares and returns the indices of all that do; empty at once if there
    /// are no words.
    pub fn wait_some<'v>(&self, cmp: Cmp, values: impl Into<Values<'v, T>>) -> Result<Vec<usize>> {
        let values = self.values("wait_until_some", values.into())?;
        let mut found = vec![0; self.len()];
        let core = &self.ctx.engine.core;
        // SAFETY: as in `wait_all`; as many indices as words.
        let n = unsafe {
            let (cells, len) = (self.cells.as_ptr(), self.len());
            core.wait_until_some(cells, len, found.as_mut_ptr(), self.status(), cmp, values)
        };
        found.truncate(self.ctx.engine.name("wait_until_some", n)?);
        Ok(found)
    }

    /// True if all words compare, also if there are none.
    pub fn test_all<'v>(&self, cmp: Cmp, values: impl Into<Values<'v, T>>) -> Result<bool> {
        let values = self.values("test_all", values.into())?;
        let core = &self.ctx.engine.core;
        // SAFETY: as in `wait_all`.
        let held = unsafe { core.test_all(self.cells.as_ptr(), self.len(), self.status(), cmp, values) };
        self.ctx.engine.name("test_all", held)
    }

    /// Index of one word that compares.
    pub fn test_any<'v>(&self, cmp: Cmp, values: impl Into<Values<'v, T>>) -> Result<Option<usize>> {
        let values = self.values("test_any", values.into())?;
        let core = &self.ctx.engine.core;
        // SAFETY: as in `wait_all`.
        let found = unsafe { core.test_any(self.cells.as_ptr(), self.len(), self.status(), cmp, values) };
        Ok(Some(self.ctx.engine.name("test_any", found)?).filter(|&i| i != usize::MAX))
    }

    /// Indices of all words that compare.
    pub fn test_some<'v>(&self, cmp: Cmp, values: impl Into<Values<'v, T>>) -> Result<Vec<usize>> {
        let values = self.values("test_some", values.into())?;
        let mut found = vec![0; self.len()];
        let core = &self.ctx.engine.core;
        // SAFETY: as in `wait_some`.
        let n = unsafe {
            let (cells, len) = (self.cells.as_ptr(), self.len());
            core.test_some(cells, len, found.as_mut_ptr(), self.status(), cmp, values)
        };
        found.truncate(self.ctx.engine.name("test_some", n)?);
        Ok(found)
    }

    fn len(&self) -> usize {
        self.cells.len()
    }

    fn status(&self) -> *const i32 {
        if self.excluded.is_empty() { core::ptr::null() } else { self.excluded.as_ptr() }
    }

    fn values(&self, call: &'static str, values: Values<'_, T>) -> Result<CmpValues<T>> {
        match values {
            Values::One(value) => Ok(CmpValues::One(value)),
            Values::Each(values) => {
                let why = ", one for each word";
                same_length(self.ctx.engine.me(), call, "values", values.len(), self.len(), why)?;
                Ok(CmpValues::Each(values.as_ptr()))
            }
        }
    }
}

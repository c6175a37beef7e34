//! Put with signal.
use crate::context::Context;
use crate::data::Data;
use crate::engine::pe_number;
use crate::error::Result;
use crate::memory::{SymCell, SymSlice, same_length};
use crate::source::Source;
use dushmem_core::error::Call;
use dushmem_core::signal::SignalOp;
use dushmem_core::until::Cmp;

/// # Signals
impl Context {
    /// Copies `source` to `dest` on PE `pe`, then updates the signal word `signal` there. Whoever sees the
    /// signal sees this data (but not that of earlier puts, without a fence). An empty source only signals.
    ///
    /// ```
    /// use dushmem::{Cmp, SignalOp};
    ///
    /// dushmem::run(2, |world| {
    ///     let (data, arrived) = (world.alloc_zeroed::<i32>(100)?, world.alloc(0u64)?);
    ///     if world.my_pe() == 0 {
    ///         world.put_signal(&data, &[3; 100], &arrived, 1, SignalOp::Set, 1)?;
    ///     } else {
    ///         world.signal_wait_until(&arrived, Cmp::Eq, 1)?;
    ///         assert_eq!(data.to_vec(), [3; 100]);
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), dushmem::Error>(())
    /// ```
    pub fn put_signal<T: Data>(
        &self,
        dest: &SymSlice<T>,
        source: &(impl Source<T> + ?Sized),
        signal: &SymCell<u64>,
        value: u64,
        op: SignalOp,
        pe: usize,
    ) -> Result<()> {
        let (from, len) = source.parts();
        same_length(self.engine.me(), "put_signal", "source", len, dest.len(), ", as many as dest has")?;
        // SAFETY: both are valid for the length of `dest`, the source until return.
        let done = unsafe {
            self.engine.core.put_signal(
                self.core(),
                dest.as_ptr().cast(),
                from.cast(),
                size_of_val(dest),
                signal.as_ptr(),
                value,
                op,
                pe_number(pe),
            )
        };
        self.engine.name("put_signal", done)
    }

    /// Updates the signal word `signal` on PE `pe`.
    pub fn signal_op(&self, signal: &SymCell<u64>, value: u64, op: SignalOp, pe: usize) -> Result<()> {
        // SAFETY: a symmetric word.
        let done =
            unsafe { self.engine.core.signal_op(self.core(), signal.as_ptr(), value, op, pe_number(pe)) };
        self.engine.name("signal_op", done)
    }

    /// The value of this PE's own signal word.
    pub fn signal_fetch(&self, signal: &SymCell<u64>) -> Result<u64> {
        // SAFETY: an own symmetric word.
        self.engine.name("signal_fetch", unsafe { self.engine.core.signal_fetch(signal.as_ptr()) })
    }

    /// Waits until this PE's own signal word compares, and returns its value.
    pub fn signal_wait_until(&self, signal: &SymCell<u64>, cmp: Cmp, value: u64) -> Result<u64> {
        // SAFETY: an own symmetric word.
        let seen = unsafe { self.engine.core.wait_until(Call::SignalWaitUntil, signal.as_ptr(), cmp, value) };
        self.engine.name("signal_wait_until", seen)
    }
}

//! Waits for own words: by the stream itself where it compares as the API does, otherwise by a kernel that spins, or, where
//! PEs take turns on the device, by the CPU as long as it gets at the words.
use super::check::reached_target;
use super::compare::{How, Shape};
use super::kept::{Array, Copied};
use super::kernels::{self, WaitAll};
use super::queue::Launch;
use super::stream::Enqueue;
use super::watch::{Look, Values, Wait};
use dushmem_core::coll::checks;
use dushmem_core::device::{Word, Words};
use dushmem_core::device_heap::driver::Sharing;
use dushmem_core::error::{Error, Result};
use dushmem_core::until::Cmp;

/// Up to this many words the stream waits for one after the other.
const FEW: usize = 64;

/// The arguments of `wait_until_all`.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "see there")]
pub struct Set {
    pub ivars: usize,
    pub len: usize,
    pub status: usize,
    pub cmp: Cmp,
    pub values: Words,
}

impl Enqueue<'_> {
    /// Waits until the own word at `ivar`, argument `arg`, compares.
    ///
    /// # Safety
    /// The word is valid while the stream waits.
    pub unsafe fn wait_until(&self, arg: &'static str, ivar: usize, cmp: Cmp, value: Word) -> Result<()> {
        let shape = Shape::from(value);
        let target = self.job.word(arg, ivar, shape.bytes, self.job.my_pe() as i32)?;
        if !ivar.is_multiple_of(shape.bytes) {
            return Err(Error::Misaligned { arg, addr: ivar, align: shape.bytes });
        }
        let at = reached_target(self.queue, arg, ivar, target)?;
        let how = shape.how(cmp, self.queue.has_nor());
        // SAFETY: as the caller promises.
        unsafe {
            match how {
                How::Always => Ok(()),
                How::Stream(until, value) if self.by_stream() => {
                    let marks = self.mark(target.at, shape.bytes)?;
                    self.memory_ops(&[marks.before(), shape.operation(at, until, value), marks.after()])
                }
                _ if self.turns() => {
                    let look = Look { at: target.at, shape, cmp, n: 1, status: 0, values: Values::One };
                    let mark = self.mark(target.at, shape.bytes)?.address();
                    self.watched(target.at, look, [None, None], &|said| {
                        kernels::wait(at, shape, cmp, mark, said)
                    })
                }
                _ => {
                    let mark = self.mark(target.at, shape.bytes)?.address();
                    self.queue.launch(self.stream, kernels::wait(at, shape, cmp, mark, 0))
                }
            }
        }
    }

    /// Waits until all own words of a set compare.
    ///
    /// # Safety
    /// The words are valid while the stream waits, and so are the arrays, except where only the CPU reaches them.
    pub unsafe fn wait_until_all(&self, set: &Set) -> Result<()> {
        let (Words::One(kind) | Words::Each(_, kind)) = set.values;
        let shape = Shape::from(kind);
        let span = checks::bytes("nelems", set.len, shape.bytes)?;
        let target = self.job.target("ivars", set.ivars, span, shape.bytes, self.job.my_pe() as i32)?;
        if set.len == 0 {
            return Ok(());
        }
        let at = reached_target(self.queue, "ivars", set.ivars, target)?;
        let (values, each) = match set.values {
            Words::One(_) => (0, false),
            Words::Each(values, _) if values.is_null() => return Err(Error::Null { arg: "cmp_values" }),
            Words::Each(values, _) => (values as usize, true),
        };
        let how = if each { How::Look } else { shape.how(set.cmp, self.queue.has_nor()) };
        // What the device reaches is read when the stream comes to the wait, and anything else now.
        let status = || Array::new(self.queue, set.status, set.len * 4);
        let values = || Array::new(self.queue, values, span);
        let cmp = set.cmp;
        let by_kernel = || -> Result<_> {
            // SAFETY: as the caller promises.
            let (arrays, passed) =
                unsafe { self.all.kept.for_device(self.queue, self.captured(), [status(), values()])? };
            let (bytes, signed, n) = (shape.bytes, shape.signed, set.len);
            let values = if each { arrays[1] } else { shape.bits };
            let mark = self.mark(target.at, bytes)?.address();
            Ok((WaitAll { at, bytes, signed, n, status: arrays[0], cmp, values, each }, mark, passed))
        };
        // SAFETY: as the caller promises.
        unsafe {
            match how {
                How::Always => Ok(()),
                How::Stream(until, value) if self.by_stream() && set.status == 0 && set.len <= FEW => {
                    let marks = self.mark(target.at, shape.bytes)?;
                    let mut ops = vec![marks.before()];
                    let each = (0..set.len).map(|i| at + (i * shape.bytes) as u64);
                    ops.extend(each.map(|at| shape.operation(at, until, value)));
                    ops.push(marks.after());
                    self.memory_ops(&ops)
                }
                _ if self.turns() => {
                    let ((status, left_out), (values, wanted)) = (status().for_cpu(), values().for_cpu());
                    let values = if each { Values::Each(values) } else { Values::One };
                    let look = Look { at: target.at, shape, cmp, n: set.len, status, values };
                    let (all, mark, passed) = by_kernel()?;
                    self.watched(target.at, look, [left_out, wanted], &|said| {
                        kernels::wait_all(&all, mark, said)
                    })?;
                    passed.map_or(Ok(()), |passed| self.memory_ops(&[passed]))
                }
                _ => {
                    let (all, mark, passed) = by_kernel()?;
                    self.queue.launch(self.stream, kernels::wait_all(&all, mark, 0))?;
                    passed.map_or(Ok(()), |passed| self.memory_ops(&[passed]))
                }
            }
        }
    }

    /// A wait for own words from `at` on, by the CPU as long as it gets at them, otherwise by `kernel`.
    ///
    /// # Safety
    /// As for [`Watch::enqueue`].
    unsafe fn watched(
        &self,
        at: usize,
        look: Look,
        copied: [Option<Copied>; 2],
        kernel: &dyn Fn(u64) -> Launch,
    ) -> Result<()> {
        let what = self.what(at, look.shape.bytes);
        let wait = Wait { call: self.call, what, captured: self.captured() };
        // SAFETY: as the caller promises.
        unsafe { self.watch.enqueue(self.stream, wait, look, copied, kernel) }
    }

    /// Streams of one process share few queues of the device, in which one that waits holds up the others: their waits
    /// are kernels.
    fn by_stream(&self) -> bool {
        self.job.sharing() != Sharing::Threads
    }
}

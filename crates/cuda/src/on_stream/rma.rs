//! Puts, gets, single values and signals in a stream: copies and memory operations; kernels for what these can't do.
use super::check::{copyable, local, reached_target};
use super::job::Target;
use super::kernels;
use super::queue::{MemOp, Place, Rows};
use super::stream::Enqueue;
use dushmem_core::amo::AmoOp;
use dushmem_core::coll::checks;
use dushmem_core::error::{Error, Result};
use dushmem_core::signal::SignalOp;
use dushmem_core::strided;

/// A strided transfer, as the program describes it.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the arguments of iput and iget")]
pub struct Strided {
    pub dest: usize,
    pub source: usize,
    pub dst: isize,
    pub sst: isize,
    pub elem: usize,
    pub nelems: usize,
    pub pe: i32,
}

impl Strided {
    fn checked(&self) -> Result<strided::Strided> {
        let Strided { dst, sst, elem, nelems, .. } = *self;
        strided::Strided::check(&strided::Blocks { dst, sst, elem, bsize: 1, nblocks: nelems }, false)
    }
}

/// A signal, as the program describes it.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the arguments of signal_op")]
pub struct Signal {
    pub sig: usize,
    pub value: u64,
    pub op: SignalOp,
    pub pe: i32,
}

/// A word of memory that the device addresses, found by the checks.
#[derive(Clone, Copy, Debug)]
pub struct SignalWord {
    at: u64,
    /// Whether the CPU adds to it.
    by_cpu: bool,
}

/// A copy that was checked, to, from, bytes; `None`: nothing to do.
type Checked = Option<(Target, Target, usize)>;

impl Enqueue<'_> {
    /// Copies to PE `pe`.
    ///
    /// # Safety
    /// As for `World::put`, whenever it runs.
    pub unsafe fn put(&self, dest: usize, source: usize, bytes: usize, pe: i32) -> Result<()> {
        let checked = self.check_put(dest, source, bytes, pe)?;
        // SAFETY: as the caller promises.
        unsafe { self.copy_checked(checked) }
    }

    fn check_put(&self, dest: usize, source: usize, bytes: usize, pe: i32) -> Result<Checked> {
        let target = self.job.target("dest", dest, bytes, 1, pe)?;
        if !local("source", source, bytes)? {
            return Ok(None);
        }
        let from = Target::local(source);
        copyable(self.queue, "dest", dest, target, self.captured())?;
        copyable(self.queue, "source", source, from, self.captured())?;
        Ok(Some((target, from, bytes)))
    }

    /// # Safety
    /// Both ranges are valid whenever it runs.
    unsafe fn copy_checked(&self, checked: Checked) -> Result<()> {
        // SAFETY: as the caller promises.
        checked.map_or(Ok(()), |(dest, source, bytes)| unsafe { self.copy(dest, source, bytes) })
    }

    /// Enqueues a copy between places that are the same or apart. Between two places of the host's memory the driver makes
    /// it during the call, when all that is in front of it in the stream is done: then the host would wait for what its
    /// peers do, which may come after what it does next. So a kernel makes it, where the device addresses both; and small
    /// ones within the memory of a device, for which the driver takes longer than for a kernel. Over a link it takes 1.8 us
    /// for 8 bytes, a kernel 3.1.
    ///
    /// # Safety
    /// Both ranges are valid whenever it runs.
    pub(super) unsafe fn copy(&self, dest: Target, source: Target, bytes: usize) -> Result<()> {
        if bytes == 0 || dest.at == source.at {
            return Ok(());
        }
        // SAFETY: as the caller promises.
        unsafe {
            match self.by_kernel(dest, source, bytes) {
                true => {
                    self.queue.launch(self.stream, kernels::copy(dest.at as u64, source.at as u64, bytes))
                }
                false => self.queue.copy(self.stream, dest.at, source.at, bytes),
            }
        }
    }

    fn by_kernel(&self, dest: Target, source: Target, bytes: usize) -> bool {
        let place = |of: Target| if of.on_device { Place::Device } else { self.queue.place(of.at) };
        let small = bytes <= self.job.copied_by_kernel() && !dest.far && !source.far;
        if (dest.on_device || source.on_device) && !small {
            return false;
        }
        // The program may have pinned a part of its buffer only.
        let to_the_end = |of: Target| self.queue.place(of.at + bytes - 1) == Place::Pinned;
        match (place(dest), place(source)) {
            (Place::Pinned, Place::Pinned) => to_the_end(dest) && to_the_end(source),
            (Place::Device, Place::Device) => small,
            _ => false,
        }
    }

    /// Copies from PE `pe`.
    ///
    /// # Safety
    /// As for `World::get`, whenever it runs.
    pub unsafe fn get(&self, dest: usize, source: usize, bytes: usize, pe: i32) -> Result<()> {
        let target = self.job.target("source", source, bytes, 1, pe)?;
        if !local("dest", dest, bytes)? {
            return Ok(());
        }
        let to = Target::local(dest);
        copyable(self.queue, "source", source, target, self.captured())?;
        copyable(self.queue, "dest", dest, to, self.captured())?;
        // SAFETY: as the caller promises.
        unsafe { self.copy(to, target, bytes) }
    }

    /// Stores one value of up to 16 bytes on PE `pe`. The value is taken now.
    ///
    /// # Safety
    /// As for `World::put`, whenever it runs.
    pub unsafe fn p(&self, dest: usize, value: [u8; 16], bytes: usize, pe: i32) -> Result<()> {
        let target = self.job.word("dest", dest, bytes, pe)?;
        let reached =
            if target.on_device { Some(target.at as u64) } else { self.queue.device_address(target.at) };
        let at = match reached {
            Some(at) => at,
            // A copy between two places that only the CPU reaches is over when the call returns.
            None if !self.captured() => {
                // SAFETY: as the caller promises.
                return unsafe { self.queue.copy(self.stream, target.at, value.as_ptr() as usize, bytes) };
            }
            None => return reached_target(self.queue, "dest", dest, target).map(drop),
        };
        // SAFETY: as the caller promises.
        unsafe {
            match target.on_device && self.is_copied(at, bytes) {
                // Taken before the call returns, as few bytes from pageable memory are.
                true => self.queue.copy(self.stream, target.at, value.as_ptr() as usize, bytes),
                false => self.store(at, &value[..bytes]),
            }
        }
    }

    /// Whether a value is copied: a stream's write of a value makes a fence of the system, and took 2.5 us on a machine on
    /// which the driver copied it in 1.3 to 1.9, to the own device or over a link. A graph would keep the value's address, and
    /// where PEs take turns a write needs none.
    fn is_copied(&self, at: u64, bytes: usize) -> bool {
        matches!(bytes, 4 | 8) && at.is_multiple_of(bytes as u64) && !self.captured() && !self.turns()
    }

    /// # Safety
    /// The destination is valid whenever it runs.
    unsafe fn store(&self, at: u64, value: &[u8]) -> Result<()> {
        let mut ops = Vec::new();
        let mut done = 0;
        while done < value.len() {
            let (to, rest) = (at + done as u64, value.len() - done);
            // One access for what is aligned, as programs expect of a number.
            let size = [8, 4, 2].into_iter().find(|&s| s <= rest && to % s as u64 == 0).unwrap_or(1);
            let mut word = [0; 8];
            word[..size].copy_from_slice(&value[done..done + size]);
            let word = u64::from_le_bytes(word);
            match size {
                8 => ops.push(MemOp::Write64 { at: to, value: word }),
                4 => ops.push(MemOp::Write32 { at: to, value: word as u32 }),
                // SAFETY: as the caller promises; the value is aligned.
                _ => unsafe { self.queue.store_small(self.stream, to, word as u16, size)? },
            }
            done += size;
        }
        // SAFETY: as the caller promises; the words are aligned.
        unsafe { self.memory_ops(&ops) }
    }

    /// Copies elements to PE `pe`.
    ///
    /// # Safety
    /// As for `World::iput`, whenever it runs.
    pub unsafe fn iput(&self, what: &Strided) -> Result<()> {
        let all = what.checked()?;
        let target = self
            .job
            .target("dest", what.dest, all.dest_span, 1, what.pe)
            .map_err(|error| all.told(error, "dst"))?;
        if !local("source", what.source, all.source_span)? {
            return Ok(());
        }
        copyable(self.queue, "dest", what.dest, target, self.captured())?;
        copyable(self.queue, "source", what.source, Target::local(what.source), self.captured())?;
        let rows = Rows {
            dest: target.at,
            dest_pitch: all.dst,
            source: what.source,
            source_pitch: all.sst,
            width: what.elem,
            rows: what.nelems,
        };
        // SAFETY: as the caller promises.
        unsafe { self.copy_rows(&rows) }
    }

    /// Copies elements from PE `pe`.
    ///
    /// # Safety
    /// As for `World::iget`, whenever it runs.
    pub unsafe fn iget(&self, what: &Strided) -> Result<()> {
        let all = what.checked()?;
        let target = self
            .job
            .target("source", what.source, all.source_span, 1, what.pe)
            .map_err(|error| all.told(error, "sst"))?;
        if !local("dest", what.dest, all.dest_span)? {
            return Ok(());
        }
        copyable(self.queue, "source", what.source, target, self.captured())?;
        copyable(self.queue, "dest", what.dest, Target::local(what.dest), self.captured())?;
        let rows = Rows {
            dest: what.dest,
            dest_pitch: all.dst,
            source: target.at,
            source_pitch: all.sst,
            width: what.elem,
            rows: what.nelems,
        };
        // SAFETY: as the caller promises.
        unsafe { self.copy_rows(&rows) }
    }

    /// # Safety
    /// Both sides are valid whenever it runs.
    unsafe fn copy_rows(&self, rows: &Rows) -> Result<()> {
        if rows.dest_pitch == rows.width && rows.source_pitch == rows.width {
            // SAFETY: as the caller promises.
            return unsafe {
                let bytes = checks::bytes("nelems", rows.rows, rows.width)?;
                self.copy(Target::local(rows.dest), Target::local(rows.source), bytes)
            };
        }
        let reached = |at| self.queue.place(at).is_reached();
        // SAFETY: as the caller promises.
        unsafe {
            if reached(rows.dest) && reached(rows.source) {
                // Elements are small, and copy engines slow with rows of a few bytes.
                let launch = kernels::copy_strided(rows.dest as u64, rows.source as u64, rows);
                return self.queue.launch(self.stream, launch);
            }
            self.queue.copy_rows(self.stream, rows)
        }
    }

    /// Copies to PE `pe`, then updates a signal there.
    ///
    /// # Safety
    /// As for `World::put_signal`, whenever it runs.
    pub unsafe fn put_signal(&self, dest: usize, source: usize, bytes: usize, signal: &Signal) -> Result<()> {
        let word = self.check_signal(signal)?;
        let checked = self.check_put(dest, source, bytes, signal.pe)?;
        // SAFETY: as the caller promises.
        unsafe {
            self.copy_checked(checked)?;
            self.update(word, signal)
        }
    }

    /// Updates a signal on its PE.
    ///
    /// # Safety
    /// As for `World::signal_op`, whenever it runs.
    pub unsafe fn signal(&self, signal: &Signal) -> Result<()> {
        let word = self.check_signal(signal)?;
        // SAFETY: as the caller promises.
        unsafe { self.update(word, signal) }
    }

    fn check_signal(&self, signal: &Signal) -> Result<SignalWord> {
        let target = self.job.word("sig_addr", signal.sig, 8, signal.pe)?;
        if !signal.sig.is_multiple_of(8) {
            return Err(Error::Misaligned { arg: "sig_addr", addr: signal.sig, align: 8 });
        }
        let at = reached_target(self.queue, "sig_addr", signal.sig, target)?;
        Ok(SignalWord { at, by_cpu: !target.on_device && self.job.changes_by_cpu(signal.sig) })
    }

    /// # Safety
    /// The word is valid whenever it runs.
    unsafe fn update(&self, SignalWord { at, by_cpu }: SignalWord, signal: &Signal) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe {
            match signal.op {
                SignalOp::Set => self.memory_ops(&[MemOp::Write64 { at, value: signal.value }]),
                SignalOp::Add if by_cpu => {
                    self.queue.launch(self.stream, kernels::signal_add(signal.sig, signal.value, signal.pe))
                }
                SignalOp::Add => {
                    self.queue.launch(self.stream, kernels::amo(at, AmoOp::Add, true, signal.value))
                }
            }
        }
    }
}

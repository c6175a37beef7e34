//! Data between memories: copies, small stores and loads, atomics, vectors combined.
use crate::error::{Driven, Failure};
use crate::gpu::{Gpu, THREADS};
use crate::kernels::Shape;
use crate::lane::Lane;
use crate::on_stream::queue::Place;
use crate::pinned::Cell;
use crate::types::{self, *};
use crate::waiting::Waiting;
use dushmem_core::amo::{AmoOp, AmoRequest};
use dushmem_core::device_heap::driver::Combine;
use dushmem_core::error::{Error, Result};

const AMO: &str = "dushmem_k_amo";
const COMBINE: &str = "dushmem_k_combine";
const COPY_STRIDED: &str = "dushmem_k_copy_strided";

/// Bytes that a thread of a kernel moves before more blocks pay.
const BYTES_PER_THREAD: usize = 64;
/// Rows of a strided copy that are longer than this go to the copy engine, one by one.
const LONG_ROW: usize = 64 << 10;

impl Gpu {
    /// Asks the driver about an address.
    pub(crate) fn place(&self, address: usize) -> Place {
        if self.spaces.contain(address) {
            return Place::Device;
        }
        let Ok(_entered) = self.context().enter() else { return Place::Pageable };
        let (mut kind, mut device, mut ordinal) = (0u32, 0 as Address, 0i32);
        let which = [POINTER_MEMORY_TYPE, POINTER_DEVICE_POINTER, POINTER_DEVICE_ORDINAL];
        let places = [
            (&raw mut kind).cast::<core::ffi::c_void>(),
            (&raw mut device).cast(),
            (&raw mut ordinal).cast(),
        ];
        // SAFETY: places for what is asked for. Unknown addresses are no error of this function.
        let asked = unsafe {
            self.driver().pointer_get_attributes(3, which.as_ptr(), places.as_ptr(), address as Address)
        };
        match (asked, kind) {
            (Ok(()), MEMORY_DEVICE) if ordinal == self.context().device() => Place::Device,
            (Ok(()), MEMORY_DEVICE) => Place::Elsewhere,
            (Ok(()), MEMORY_HOST) if device == address as Address => Place::Pinned,
            _ => Place::Pageable,
        }
    }

    /// # Safety
    /// As for [`dushmem_core::device_heap::driver::HeapDevice::copy`].
    pub(crate) unsafe fn begin_copy(&self, dest: usize, source: usize, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.data
            // SAFETY: as the caller promises.
            .begin(|stream| unsafe { self.copy_in(stream, dest, source, bytes) })
            .map_err(|why| why.doing(format_args!("copying {bytes} bytes from {source:#x} to {dest:#x}")))
    }

    /// A copy in a stream: more than one where a side goes from one pinned range into another.
    ///
    /// # Safety
    /// As for [`dushmem_core::device_heap::driver::HeapDevice::copy`].
    pub(crate) unsafe fn copy_in(
        &self,
        stream: types::Stream,
        dest: usize,
        source: usize,
        bytes: usize,
    ) -> Driven {
        let (driver, mut done) = (self.driver(), 0);
        while done < bytes {
            let (to, from) = (dest + done, source + done);
            let part = self.pins.together(from, self.pins.together(to, bytes - done));
            // SAFETY: as the caller promises.
            unsafe { driver.memcpy_async(to as Address, from as Address, part, stream) }?;
            done += part;
        }
        Ok(())
    }

    /// Whether a side of a strided copy lies in one pinned range, or in none.
    pub(crate) fn is_together(&self, at: usize, stride: usize, elem: usize, n: usize) -> bool {
        let span = stride.saturating_mul(n.saturating_sub(1)).saturating_add(elem);
        self.pins.together(at, span) == span
    }

    /// # Safety
    /// As for [`dushmem_core::device_heap::driver::HeapDevice::copy_strided`].
    pub(crate) unsafe fn begin_copy_strided(
        &self,
        (dest, dest_stride): (usize, usize),
        (source, source_stride): (usize, usize),
        elem: usize,
        n: usize,
    ) -> Result<()> {
        if n <= 1 || (dest_stride == elem && source_stride == elem) {
            // SAFETY: contiguous on both sides.
            return unsafe { self.begin_copy(dest, source, elem * n) };
        }
        let what = |why: Failure| {
            why.doing(format_args!("copying {n} elements of {elem} bytes from {source:#x} to {dest:#x}"))
        };
        // A copy engine takes about as long for a row of 4 bytes as for one of 64.
        let reached = self.place(dest).is_reached() && self.place(source).is_reached();
        if reached && elem < LONG_ROW {
            let kernel = self.kernel(COPY_STRIDED)?;
            let parameters =
                [dest as u64, dest_stride as u64, source as u64, source_stride as u64, elem as u64, n as u64];
            let shape = self.shape(elem * n, 256);
            // SAFETY: the kernel's parameters; the memory is the caller's.
            return self
                .data
                .begin(|stream| unsafe { self.launch(kernel, shape, stream, &parameters) })
                .map_err(what);
        }
        let together =
            self.is_together(dest, dest_stride, elem, n) && self.is_together(source, source_stride, elem, n);
        if dest_stride > self.facts.max_pitch || source_stride > self.facts.max_pitch || !together {
            for i in 0..n {
                // SAFETY: one element.
                unsafe { self.begin_copy(dest + i * dest_stride, source + i * source_stride, elem) }?;
            }
            return Ok(());
        }
        let copy = rows(dest, dest_stride, source, source_stride, elem, n);
        let driver = self.driver();
        // SAFETY: as the caller promises.
        self.data.begin(|stream| unsafe { driver.memcpy_2d_async(&raw const copy, stream) }).map_err(what)
    }

    /// How many threads move so many bytes.
    fn shape(&self, bytes: usize, threads: u32) -> Shape {
        let blocks = bytes.div_ceil(threads as usize * BYTES_PER_THREAD).max(1);
        Shape { blocks: blocks.min(self.resident_blocks() as usize) as u32, threads }
    }

    /// # Safety
    /// As for [`dushmem_core::device_heap::driver::HeapDevice::store`].
    pub(crate) unsafe fn begin_store(&self, dest: usize, value: [u8; 16], bytes: usize) -> Result<()> {
        let (driver, at) = (self.driver(), dest as Address);
        let word = |from: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&value[from..from + 8]);
            u64::from_le_bytes(word)
        };
        let what = |why: Failure| why.doing(format_args!("storing {bytes} bytes at {dest:#x}"));
        match bytes {
            4 if dest.is_multiple_of(4) => self
                .data
                // SAFETY: the caller's word.
                .begin(|stream| unsafe {
                    driver.stream_write_value32(stream, at, word(0) as u32, WRITE_DEFAULT)
                })
                .map_err(what),
            8 if dest.is_multiple_of(8) && self.facts.write64 => self
                .data
                // SAFETY: as above.
                .begin(|stream| unsafe { driver.stream_write_value64(stream, at, word(0), WRITE_DEFAULT) })
                .map_err(what),
            16 if dest.is_multiple_of(8) && self.facts.write64 => {
                let mut both = [MemOp::write64(at, word(0)), MemOp::write64(at + 8, word(8))];
                self.data
                    // SAFETY: as above.
                    .begin(|stream| unsafe { driver.stream_batch_mem_op(stream, 2, both.as_mut_ptr(), 0) })
                    .map_err(what)
            }
            0 => Ok(()),
            _ => {
                let bytes = value.get(..bytes).ok_or(Error::BadValue {
                    arg: "bytes",
                    value: bytes as i64,
                    why: "a small store has at most 16 bytes",
                })?;
                self.arena.with(bytes, &self.data, &self.waiting, |from| {
                    // SAFETY: as the caller promises, from memory that stays until the copy is done.
                    unsafe { self.begin_copy(dest, from as usize, bytes.len()) }
                })
            }
        }
    }

    /// # Safety
    /// As for [`dushmem_core::device_heap::driver::HeapDevice::zero`].
    pub(crate) unsafe fn begin_zero(&self, at: usize, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let driver = self.driver();
        self.data
            // SAFETY: as the caller promises.
            .begin(|stream| unsafe { driver.memset_d8_async(at as Address, 0, bytes, stream) })
            .map_err(|why| why.doing(format_args!("clearing {bytes} bytes at {at:#x}")))
    }

    /// # Safety
    /// As for [`dushmem_core::device_heap::driver::HeapDevice::load`].
    pub(crate) unsafe fn load_now(&self, source: usize, bytes: usize) -> Result<[u8; 16]> {
        let bytes = bytes.min(Cell::BYTES);
        self.answer.filled_by(|to| {
            // SAFETY: as the caller promises; the cell is this call's until the copy is done.
            unsafe { self.fetch(&self.data, &self.waiting, to, source, bytes) }
        })
    }

    /// # Safety
    /// As for [`dushmem_core::device_heap::driver::HeapDevice::peek`].
    pub(crate) unsafe fn peek_now(&self, source: usize, to: &mut [u8]) -> Result<()> {
        let bytes = to.len();
        if bytes > Cell::BYTES {
            let into = to.as_mut_ptr() as Address;
            // SAFETY: as the caller promises; the destination is the caller's until this returns.
            return unsafe { self.fetch(&self.side, &self.short, into, source, bytes) };
        }
        let found = self.peeked.filled_by(|cell| {
            // SAFETY: as the caller promises; the cell is this call's until the copy is done.
            unsafe { self.fetch(&self.side, &self.short, cell, source, bytes) }
        })?;
        to.copy_from_slice(&found[..bytes]);
        Ok(())
    }

    /// Copies and waits.
    ///
    /// # Safety
    /// Both ranges are valid.
    unsafe fn fetch(
        &self,
        lane: &Lane,
        waiting: &Waiting,
        to: Address,
        source: usize,
        bytes: usize,
    ) -> Result<()> {
        let driver = self.driver();
        // SAFETY: as the caller promises.
        lane.begin(|stream| unsafe { driver.memcpy_async(to, source as Address, bytes, stream) })
            .and_then(|()| lane.finish(waiting))
            .map_err(|why| why.doing(format_args!("loading {bytes} bytes from {source:#x}")))
    }

    /// # Safety
    /// As for [`dushmem_core::device_heap::driver::HeapDevice::amo`].
    pub(crate) unsafe fn begin_amo(&self, at: usize, request: AmoRequest, fetch: bool) -> Result<u64> {
        let mut value = [0; 16];
        match (request.op, fetch) {
            // SAFETY: as the caller promises. Words of these widths are loaded and stored by one access.
            (AmoOp::Fetch, _) => return unsafe { self.load_now(at, request.width()) }.map(number),
            (AmoOp::Set, false) => {
                value[..8].copy_from_slice(&request.value.to_le_bytes());
                // SAFETY: as above.
                return unsafe { self.begin_store(at, value, request.width()) }.map(|()| 0);
            }
            _ => {}
        }
        let op = if request.op == AmoOp::Set { AmoOp::Swap } else { request.op };
        let kernel = self.kernel(AMO)?;
        let begin = |to: types::Address| {
            let parameters = [at as u64, request.value, request.cond, op as u64, request.wide.into(), to];
            self.data
                // SAFETY: the kernel's parameters; the word is the caller's.
                .begin(|stream| unsafe { self.launch(kernel, Shape::ONE, stream, &parameters) })
                .map_err(|why| why.doing(format_args!("an atomic operation on {at:#x}")))
        };
        if !fetch {
            return begin(0).map(|()| 0);
        }
        let old = self.answer.filled_by(|to| {
            begin(to)?;
            self.data
                .finish(&self.waiting)
                .map_err(|why| why.doing(format_args!("an atomic operation on {at:#x}")))
        })?;
        Ok(number(old))
    }

    /// # Safety
    /// As for [`dushmem_core::device_heap::driver::HeapDevice::combine`].
    pub(crate) unsafe fn begin_combine(&self, what: &Combine<'_>) -> Result<()> {
        let Some(kind) = what.reducer.kind else {
            return Err(Error::NotSupported(
                "no kernel combines vectors of this type: the host has to".into(),
            ));
        };
        if what.n == 0 {
            return Ok(());
        }
        let kernel = self.kernel(COMBINE)?;
        let table: Vec<u8> =
            what.sources.iter().chain(what.dests).flat_map(|&at| (at as u64).to_le_bytes()).collect();
        let shape = self.shape(what.n * what.reducer.elem, THREADS);
        let (sources, dests) = (what.sources.len() as u64, what.dests.len() as u64);
        self.arena.with(&table, &self.data, &self.waiting, |table| {
            let parameters = [table, sources, dests, what.n as u64, kind as u64, what.reducer.op as u64];
            self.data
                // SAFETY: the kernel's parameters; the vectors are the caller's, and the table stays until all is done.
                .begin(|stream| unsafe { self.launch(kernel, shape, stream, &parameters) })
                .map_err(|why| why.doing(format_args!("combining {sources} vectors of {} elements", what.n)))
        })
    }

    /// Waits for all that was begun.
    #[inline]
    pub(crate) fn finish_all(&self) -> Result<()> {
        if self.data.is_idle() {
            return Ok(());
        }
        self.data
            .finish(&self.waiting)
            .map_err(|why| why.doing("waiting for copies to or from the device heap"))?;
        self.notice.look();
        Ok(())
    }
}

impl Gpu {
    /// Waits for all that uses the PE's memory: its kernels may.
    pub(crate) fn wait_for_program(&self) -> Result<()> {
        let _relaxed = self.context().enter_relaxed()?;
        // SAFETY: the context is current. This waits for the program's kernels, which is what is asked for.
        let done = unsafe { self.driver().ctx_synchronize() };
        self.notice.look();
        self.proxy.stop();
        done.map_err(|why| why.doing("waiting for the kernels of the program at the end"))?;
        self.finish_all()
    }
}

fn number(bytes: [u8; 16]) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[..8]);
    u64::from_le_bytes(word)
}

/// A strided copy as one of rows: an element each, whose pitches are the strides.
pub(crate) fn rows(
    dest: usize,
    dest_stride: usize,
    source: usize,
    source_stride: usize,
    elem: usize,
    n: usize,
) -> Memcpy2D {
    Memcpy2D {
        src_x: 0,
        src_y: 0,
        src_kind: MEMORY_UNIFIED,
        src_host: core::ptr::null(),
        src_device: source as Address,
        src_array: core::ptr::null_mut(),
        src_pitch: source_stride,
        dst_x: 0,
        dst_y: 0,
        dst_kind: MEMORY_UNIFIED,
        dst_host: core::ptr::null_mut(),
        dst_device: dest as Address,
        dst_array: core::ptr::null_mut(),
        dst_pitch: dest_stride,
        width: elem,
        height: n,
    }
}

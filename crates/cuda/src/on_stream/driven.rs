//! The calls of the driver behind [`Queue`].
use super::queue::{BATCH, Capture, HostFunction, Launch, MemOp, Place, Queue, Rows};
use crate::error::{Driven, Failure};
use crate::facts;
use crate::gpu::Gpu;
use crate::kernels::Shape;
use crate::moves;
use crate::types::{
    self, ATTRIBUTE_CAN_FLUSH, ATTRIBUTE_STREAM_WAIT_NOR, Address, CAPTURE_ACTIVE, CAPTURE_NONE,
};
use dushmem_core::device::StreamHandle;
use dushmem_core::error::Result;
use std::ffi::c_void;
use std::fmt::Display;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Words of host memory that are allocated at a time.
const WORDS: usize = 1024;

/// Streams of the program on a PE's device.
#[derive(Debug)]
pub struct GpuQueue {
    gpu: Arc<Gpu>,
    nor: bool,
    /// A wait is followed by a flush of what other devices have written, where that has an order of its own.
    flush: bool,
    /// Words that nobody has had, as both sides see them.
    words: Mutex<Vec<(usize, Address)>>,
}

/// The driver's handle.
fn handle(stream: StreamHandle) -> types::Stream {
    types::Stream(stream.0 as *mut c_void)
}

/// Loads words of the host's memory that others write meanwhile, each by one access.
///
/// # Safety
/// The source is valid, and each word that somebody writes is aligned.
unsafe fn load_words(source: usize, into: &mut [u8]) {
    let mut at = 0;
    while at < into.len() {
        let (from, left) = (source + at, into.len() - at);
        let size = [8, 4, 2].into_iter().find(|&size| size <= left && from.is_multiple_of(size)).unwrap_or(1);
        // SAFETY: as the caller promises; `size` divides the address.
        let word = unsafe {
            match size {
                8 => AtomicU64::from_ptr(from as *mut u64).load(Ordering::Acquire),
                4 => AtomicU32::from_ptr(from as *mut u32).load(Ordering::Acquire).into(),
                2 => AtomicU16::from_ptr(from as *mut u16).load(Ordering::Acquire).into(),
                _ => AtomicU8::from_ptr(from as *mut u8).load(Ordering::Acquire).into(),
            }
        };
        into[at..at + size].copy_from_slice(&word.to_le_bytes()[..size]);
        at += size;
    }
}

impl From<MemOp> for types::MemOp {
    fn from(op: MemOp) -> types::MemOp {
        match op {
            MemOp::Write32 { at, value } => types::MemOp::write32(at, value),
            MemOp::Write64 { at, value } => types::MemOp::write64(at, value),
            MemOp::Wait32 { at, value, until } => types::MemOp::wait32(at, value, until as u32),
            MemOp::Wait64 { at, value, until } => types::MemOp::wait64(at, value, until as u32),
        }
    }
}

impl GpuQueue {
    /// Of that device.
    pub fn new(gpu: Arc<Gpu>) -> GpuQueue {
        let has = |which| facts::attribute(gpu.driver(), gpu.context().device(), which) != 0;
        let nor = has(ATTRIBUTE_STREAM_WAIT_NOR);
        let flush = gpu.has_other_devices() && has(ATTRIBUTE_CAN_FLUSH);
        GpuQueue { gpu, nor, flush, words: Mutex::default() }
    }

    /// Allocates words for waits now: later a kernel of the program may be in the way.
    pub fn prepare(&self) -> Result<()> {
        self.host_word().map(|(host, device)| self.words().push((host as usize, device)))
    }

    fn operation(&self, op: MemOp) -> types::MemOp {
        let mut made = types::MemOp::from(op);
        if self.flush && matches!(op, MemOp::Wait32 { .. } | MemOp::Wait64 { .. }) {
            made.flags |= types::WAIT_FLUSH;
        }
        made
    }

    fn words(&self) -> MutexGuard<'_, Vec<(usize, Address)>> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts something into a stream of the program.
    fn begin(
        &self,
        stream: StreamHandle,
        what: impl Display,
        work: impl FnOnce(types::Stream) -> Driven,
    ) -> Result<()> {
        let failed = |why: Failure| why.doing(format_args!("stream = {:#x}: {what}", stream.0));
        let _entered = self.gpu.context().enter().map_err(failed)?;
        work(handle(stream)).map_err(failed)
    }
}

impl Queue for GpuQueue {
    fn capture(&self, stream: StreamHandle) -> Result<Capture> {
        let (stream, mut context, mut status) = (handle(stream), types::Context::NULL, CAPTURE_NONE);
        let driver = self.gpu.driver();
        let special = [types::Stream::NULL, types::Stream::LEGACY, types::Stream::PER_THREAD];
        if special.contains(&stream) {
            self.gpu.check_stream(stream)?;
        }
        let entered = self.gpu.context().enter();
        // SAFETY: places for a handle and a number, and the program's stream.
        let asked = entered.and_then(|_entered| unsafe {
            if !special.contains(&stream) {
                driver.stream_get_ctx(stream, &raw mut context)?;
            }
            driver.stream_is_capturing(stream, &raw mut status)
        });
        asked.map_err(|why| why.doing(format_args!("stream = {:p}", stream.0)))?;
        if !context.is_null() && context != self.gpu.context().handle() {
            // Says whose it is.
            self.gpu.check_stream(stream)?;
        }
        Ok(match status {
            CAPTURE_NONE => Capture::No,
            CAPTURE_ACTIVE => Capture::Yes,
            _ => Capture::Invalid,
        })
    }

    fn has_nor(&self) -> bool {
        self.nor
    }

    fn place(&self, address: usize) -> Place {
        self.gpu.place(address)
    }

    unsafe fn memory_ops(&self, stream: StreamHandle, captured: bool, ops: &[MemOp]) -> Result<()> {
        let driver = self.gpu.driver();
        self.begin(stream, "memory operations", |stream| {
            // SAFETY: as the caller promises; the driver takes the operations at once.
            unsafe {
                match ops {
                    [] => Ok(()),
                    // Cheaper than a batch; only batches are known to be taken by captures.
                    [MemOp::Write32 { at, value }] if !captured => {
                        driver.stream_write_value32(stream, *at, *value, types::WRITE_DEFAULT)
                    }
                    [MemOp::Write64 { at, value }] if !captured => {
                        driver.stream_write_value64(stream, *at, *value, types::WRITE_DEFAULT)
                    }
                    _ => {
                        let mut room = [types::MemOp::write32(0, 0); BATCH];
                        room.iter_mut().zip(ops).for_each(|(to, &op)| *to = self.operation(op));
                        driver.stream_batch_mem_op(stream, ops.len() as u32, room.as_mut_ptr(), 0)
                    }
                }
            }
        })
    }

    unsafe fn copy(&self, stream: StreamHandle, dest: usize, source: usize, bytes: usize) -> Result<()> {
        // SAFETY: as the caller promises.
        self.begin(stream, "a copy", |stream| unsafe { self.gpu.copy_in(stream, dest, source, bytes) })
    }

    unsafe fn copy_rows(&self, stream: StreamHandle, rows: &Rows) -> Result<()> {
        let most = self.gpu.facts.max_pitch;
        let Rows { dest, dest_pitch, source, source_pitch, width, rows } = *rows;
        let together = self.gpu.is_together(dest, dest_pitch, width, rows)
            && self.gpu.is_together(source, source_pitch, width, rows);
        if dest_pitch.max(source_pitch) > most || dest_pitch.min(source_pitch) < width || !together {
            // SAFETY: one row of both.
            return (0..rows).try_for_each(|i| unsafe {
                self.copy(stream, dest + i * dest_pitch, source + i * source_pitch, width)
            });
        }
        let driver = self.gpu.driver();
        let copy = moves::rows(dest, dest_pitch, source, source_pitch, width, rows);
        // SAFETY: as the caller promises.
        self.begin(stream, "a strided copy", |stream| unsafe {
            driver.memcpy_2d_async(&raw const copy, stream)
        })
    }

    unsafe fn store_small(&self, stream: StreamHandle, dest: u64, value: u16, bytes: usize) -> Result<()> {
        let driver = self.gpu.driver();
        // SAFETY: as the caller promises.
        self.begin(stream, "a store", |stream| unsafe {
            match bytes {
                1 => driver.memset_d8_async(dest, value as u8, 1, stream),
                _ => driver.memset_d16_async(dest, value, 1, stream),
            }
        })
    }

    unsafe fn launch(&self, stream: StreamHandle, launch: Launch) -> Result<()> {
        let kernel = self.gpu.kernel(launch.kernel)?;
        let Launch { blocks, threads, mut args, kernel: name } = launch;
        let (mut pointers, n) = args.pointers();
        let shape = Shape { blocks, threads };
        // SAFETY: as the caller promises; the driver takes the arguments at once.
        unsafe { self.gpu.launch_raw(kernel, shape, handle(stream), &mut pointers[..n]) }
            .map_err(|why| why.doing(format_args!("stream = {:#x}: a launch of {name}", stream.0)))
    }

    unsafe fn call(&self, stream: StreamHandle, function: HostFunction, data: *mut c_void) -> Result<()> {
        let driver = self.gpu.driver();
        // SAFETY: as the caller promises.
        self.begin(stream, "a call of the host", |stream| unsafe {
            driver.launch_host_func(stream, function, data)
        })
    }

    fn join(&self, stream: StreamHandle, captured: bool) -> Result<()> {
        if self.gpu.data.is_idle() {
            return Ok(());
        }
        self.begin(stream, "waiting for what the host has begun", |stream| self.gpu.join(stream, captured))
    }

    unsafe fn read(&self, source: usize, into: &mut [u8]) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe {
            match self.place(source) {
                Place::Device | Place::Elsewhere => self.gpu.peek_now(source, into),
                // What the host reaches itself needs no turn on the device.
                Place::Pinned | Place::Pageable => {
                    load_words(source, into);
                    Ok(())
                }
            }
        }
    }

    fn host_word(&self) -> Result<(*mut u32, u64)> {
        let mut words = self.words();
        if words.is_empty() {
            // The driver's own allocation has nothing to do with the capture, if there is one.
            let (host, device) = self.gpu.host_words(4 * WORDS)?;
            let host = host.as_ptr() as usize;
            words.extend((0..WORDS).rev().map(|i| (host + 4 * i, device + 4 * i as u64)));
        }
        let last = words.len() - 1;
        let (host, device) = words.swap_remove(last);
        Ok((host as *mut u32, device))
    }

    fn host_block(&self, bytes: usize) -> Result<(usize, u64)> {
        let (host, device) = self.gpu.host_words(bytes)?;
        Ok((host.as_ptr() as usize, device))
    }
}

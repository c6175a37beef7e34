//! The calls of the driver behind [`Queue`].
use super::queue::{BATCH, Capture, HostFunction, Launch, MemOp, Queue, Rows};
use crate::error::{Driven, Failure};
use crate::facts;
use crate::gpu::{self, Gpu};
use crate::kernels::Shape;
use crate::moves::{self, Kind};
use crate::types::{self, ATTRIBUTE_CAN_FLUSH, ATTRIBUTE_STREAM_WAIT_NOR, Address};
use dushmem_core::device::StreamHandle;
use dushmem_core::error::Result;
use std::ffi::c_void;
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
        what: &str,
        work: impl FnOnce(types::Stream) -> Driven,
    ) -> Result<()> {
        let failed = |why: Failure| why.doing(format_args!("stream = {:#x}: {what}", stream.0));
        let _entered = self.gpu.context().enter().map_err(failed)?;
        work(handle(stream)).map_err(failed)
    }
}

impl Queue for GpuQueue {
    fn capture(&self, stream: StreamHandle) -> Result<Capture> {
        let stream = handle(stream);
        self.gpu.check_stream(stream)?;
        let asked = self.gpu.capture(stream);
        let asked = asked.map_err(|why| why.doing(format_args!("stream = {:p}", stream.0)))?;
        Ok(match asked {
            gpu::Capture::None => Capture::No,
            gpu::Capture::Active { .. } => Capture::Yes,
            gpu::Capture::Invalidated => Capture::Invalid,
        })
    }

    fn has_nor(&self) -> bool {
        self.nor
    }

    fn device_address(&self, address: usize) -> Option<u64> {
        (self.gpu.kind_of(address) != Kind::Host).then_some(address as u64)
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
        let driver = self.gpu.driver();
        let (dest, source) = (dest as Address, source as Address);
        // SAFETY: as the caller promises.
        self.begin(stream, "a copy", |stream| unsafe { driver.memcpy_async(dest, source, bytes, stream) })
    }

    unsafe fn copy_rows(&self, stream: StreamHandle, rows: &Rows) -> Result<()> {
        let most = self.gpu.facts.max_pitch;
        let Rows { dest, dest_pitch, source, source_pitch, width, rows } = *rows;
        if dest_pitch.max(source_pitch) > most || dest_pitch.min(source_pitch) < width {
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
        let mut pointers = args.pointers();
        let shape = Shape { blocks, threads };
        let what = format!("a launch of {name}");
        // SAFETY: as the caller promises; the driver takes the arguments at once.
        self.begin(stream, &what, |stream| unsafe {
            self.gpu.launch_raw(kernel, shape, stream, &mut pointers)
        })
    }

    unsafe fn call(&self, stream: StreamHandle, function: HostFunction, data: *mut c_void) -> Result<()> {
        let driver = self.gpu.driver();
        // SAFETY: as the caller promises.
        self.begin(stream, "a call of the host", |stream| unsafe {
            driver.launch_host_func(stream, function, data)
        })
    }

    fn join(&self, stream: StreamHandle, captured: bool) -> Result<()> {
        self.begin(stream, "waiting for what the host has begun", |stream| self.gpu.join(stream, captured))
    }

    unsafe fn read(&self, source: usize, into: &mut [u8]) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.gpu.peek_now(source, into) }
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
}

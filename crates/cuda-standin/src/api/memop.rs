//! Memory operations of streams.
use crate::call::get;
use crate::code::{self, Out};
use crate::knobs::KNOBS;
use crate::reach::for_device;
use crate::stream::{Stream, find};
use crate::work::{Work, aligned};
use std::sync::Arc;

/// `CUstreamBatchMemOpParams` of a wait or a write.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Operation {
    operation: u32,
    address: usize,
    value: u64,
    flags: u32,
    alias: usize,
    pad: u64,
}

const _: () = assert!(size_of::<Operation>() == 48);

/// Flag of a wait: what other devices have written before is seen behind it.
const FLUSH: u32 = 1 << 30;

fn word(stream: &Stream, at: usize, wide: bool) -> Out {
    let bytes = if wide { 8 } else { 4 };
    aligned(at, bytes)?;
    for_device(at, bytes, stream.context.device).map(drop).map_err(|_| code::INVALID_VALUE)
}

/// Only the default flags: the way without a barrier is refused, as drivers do it.
fn write(stream: &Stream, at: usize, value: u64, flags: u32, wide: bool) -> Out<Work> {
    word(stream, at, wide)?;
    if flags == 0 { Ok(Work::Write { at, value, wide }) } else { Err(code::INVALID_VALUE) }
}

fn wait(stream: &Stream, at: usize, value: u64, flags: u32, wide: bool) -> Out<Work> {
    word(stream, at, wide)?;
    match flags & !FLUSH {
        // A flush has nothing to do where all is ordered.
        how @ 0..=3 if flags & FLUSH == 0 || KNOBS.flushes => Ok(Work::Wait { at, value, wide, how }),
        0..=3 => Err(code::NOT_SUPPORTED),
        _ => Err(code::INVALID_VALUE),
    }
}

fn submit(stream: &Arc<Stream>, work: Out<Work>) -> Out {
    stream.submit(work?).map(drop)
}

driver! {
    fn cuStreamWriteValue32_v2(stream: usize, at: usize, value: u32, flags: u32) {
        let stream = find(stream)?;
        submit(&stream, write(&stream, at, u64::from(value), flags, false))
    }

    fn cuStreamWriteValue64_v2(stream: usize, at: usize, value: u64, flags: u32) {
        let stream = find(stream)?;
        submit(&stream, write(&stream, at, value, flags, true))
    }

    fn cuStreamWaitValue32_v2(stream: usize, at: usize, value: u32, flags: u32) {
        let stream = find(stream)?;
        submit(&stream, wait(&stream, at, u64::from(value), flags, false))
    }

    fn cuStreamWaitValue64_v2(stream: usize, at: usize, value: u64, flags: u32) {
        let stream = find(stream)?;
        submit(&stream, wait(&stream, at, value, flags, true))
    }

    fn cuStreamBatchMemOp_v2(stream: usize, count: u32, operations: *const Operation, flags: u32) {
        let stream = find(stream)?;
        if flags != 0 || count == 0 || count > 256 {
            return Err(code::INVALID_VALUE);
        }
        let mut all = Vec::new();
        for i in 0..count as usize {
            let Operation { operation, address, value, flags, .. } = get(operations.wrapping_add(i))?;
            let narrow = value & 0xffff_ffff;
            all.push(match operation {
                1 => wait(&stream, address, narrow, flags, false)?,
                2 => write(&stream, address, narrow, flags, false)?,
                4 => wait(&stream, address, value, flags, true)?,
                5 => write(&stream, address, value, flags, true)?,
                // A barrier: all is ordered here.
                6 => Work::Nothing,
                3 => return Err(code::NOT_SUPPORTED),
                _ => return Err(code::INVALID_VALUE),
            });
        }
        submit(&stream, Ok(Work::Batch(all.into())))
    }
}

//! Copies and fills.
use crate::call::get;
use crate::capture::forbid;
use crate::code::{self, Out};
use crate::context::current;
use crate::reach::{Place, check_copy, for_device};
use crate::stream::{Stream, find};
use crate::work::{Rows, Source, Work, aligned};
use std::sync::Arc;

/// `CUDA_MEMCPY2D`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Copy2D {
    source_x: usize,
    source_y: usize,
    source_kind: u32,
    source_host: usize,
    source_device: usize,
    source_array: usize,
    source_pitch: usize,
    dest_x: usize,
    dest_y: usize,
    dest_kind: u32,
    dest_host: usize,
    dest_device: usize,
    dest_array: usize,
    dest_pitch: usize,
    width: usize,
    height: usize,
}

/// From pageable memory, up to this size is taken at the call; more waits for its turn in the stream.
const STAGED: usize = 64 << 10;

/// Submits a copy. One with pageable memory as destination, or from the host to the host, pinned or not, has taken place
/// at return.
fn copy(stream: &Arc<Stream>, dest: usize, source: usize, len: usize) -> Out {
    let device = stream.context.device;
    let (to, from) = (check_copy(dest, len, device)?, check_copy(source, len, device)?);
    let capturing = stream.inner().capture.is_some();
    let host = to != Place::Device && from != Place::Device;
    let work = |source| Work::Copy { dest, source, len };
    if capturing {
        stream.submit(work(Source::At(source))).map(drop)
    } else if to == Place::Pageable || host || from == Place::Pageable && len > STAGED {
        stream.perform(work(Source::At(source)))
    } else if from == Place::Pageable {
        let mut bytes = vec![0; len];
        crate::work::move_bytes(bytes.as_mut_ptr(), source as *const u8, len);
        stream.submit(work(Source::Staged(bytes.into()))).map(drop)
    } else {
        stream.submit(work(Source::At(source))).map(drop)
    }
}

/// Submits a fill.
fn fill(stream: usize, dest: usize, value: u32, bytes: usize, n: usize) -> Out {
    current()?;
    let stream = find(stream)?;
    aligned(dest, bytes)?;
    let len = bytes.checked_mul(n).ok_or(code::INVALID_VALUE)?;
    if n == 0 {
        return Ok(());
    }
    for_device(dest, len, stream.context.device).map_err(|_| code::INVALID_VALUE)?;
    stream.submit(Work::Fill { dest, value, bytes, n }).map(drop)
}

driver! {
    fn cuMemcpyAsync(dest: usize, source: usize, bytes: usize, stream: usize) {
        current()?;
        let stream = find(stream)?;
        if bytes == 0 { Ok(()) } else { copy(&stream, dest, source, bytes) }
    }

    /// Synchronous, on the legacy stream.
    fn cuMemcpy(dest: usize, source: usize, bytes: usize) {
        forbid()?;
        let stream = find(0)?;
        check_copy(dest, bytes, stream.context.device)?;
        check_copy(source, bytes, stream.context.device)?;
        stream.perform(Work::Copy { dest, source: Source::At(source), len: bytes })
    }

    fn cuMemcpyHtoDAsync_v2(dest: usize, source: usize, bytes: usize, stream: usize) {
        current()?;
        copy(&find(stream)?, dest, source, bytes)
    }

    fn cuMemcpyDtoHAsync_v2(dest: usize, source: usize, bytes: usize, stream: usize) {
        current()?;
        copy(&find(stream)?, dest, source, bytes)
    }

    fn cuMemcpyDtoDAsync_v2(dest: usize, source: usize, bytes: usize, stream: usize) {
        current()?;
        copy(&find(stream)?, dest, source, bytes)
    }

    fn cuMemcpy2DAsync_v2(rows: *const Copy2D, stream: usize) {
        current()?;
        let stream = find(stream)?;
        let rows = get(rows)?;
        let side = |kind, host, device, x: usize, y: usize, pitch: usize| match kind {
            1 => Ok(host + y * pitch + x),
            // By unified addresses the device's field is used.
            2 | 4 => Ok(device + y * pitch + x),
            _ => Err(code::INVALID_VALUE),
        };
        let Copy2D { width, height, source_pitch, dest_pitch, .. } = rows;
        let source = side(
            rows.source_kind, rows.source_host, rows.source_device, rows.source_x, rows.source_y, source_pitch,
        )?;
        let dest = side(rows.dest_kind, rows.dest_host, rows.dest_device, rows.dest_x, rows.dest_y, dest_pitch)?;
        if width == 0 || height == 0 {
            return Ok(());
        }
        // 0 stands for rows without gaps; the pitch that devices can use ends at 2 GiB.
        let pitch = |pitch: usize, x: usize| match pitch {
            0 => Ok(width),
            pitch if pitch < width + x || pitch > i32::MAX as usize => Err(code::INVALID_VALUE),
            pitch => Ok(pitch),
        };
        let (source_pitch, dest_pitch) = (pitch(source_pitch, rows.source_x)?, pitch(dest_pitch, rows.dest_x)?);
        let device = stream.context.device;
        let to = check_copy(dest, (height - 1) * dest_pitch + width, device)?;
        let from = check_copy(source, (height - 1) * source_pitch + width, device)?;
        let work = Work::CopyRows(Rows { dest, dest_pitch, source, source_pitch, width, height });
        let host = to != Place::Device && from != Place::Device;
        let waits = host || to == Place::Pageable || from == Place::Pageable;
        if waits { stream.perform(work) } else { stream.submit(work).map(drop) }
    }

    fn cuMemsetD8Async(dest: usize, value: u8, n: usize, stream: usize) {
        fill(stream, dest, u32::from(value), 1, n)
    }

    fn cuMemsetD16Async(dest: usize, value: u16, n: usize, stream: usize) {
        fill(stream, dest, u32::from(value), 2, n)
    }

    fn cuMemsetD32Async(dest: usize, value: u32, n: usize, stream: usize) {
        fill(stream, dest, value, 4, n)
    }
}

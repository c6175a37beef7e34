//! Streams and their capture.
use crate::call::{get, set};
use crate::capture::{self, Capture, none_of, not_capturing};
use crate::code;
use crate::context::{CONTEXTS, current};
use crate::stream::{NON_BLOCKING, STREAMS, Stream, find};
use crate::work::Work;
use std::ffi::c_void;
use std::sync::Arc;

/// Results of cuStreamGetCaptureInfo; those that are null are left out.
fn capture_info(
    stream: usize,
    status: *mut u32,
    id: *mut u64,
    graph: *mut usize,
    nodes: *mut *const usize,
    edges: *mut *const c_void,
    count: *mut usize,
) -> code::Out {
    let stream = find(stream)?;
    legacy_is_free(&stream)?;
    let mut inner = stream.inner();
    let found = inner.capture.as_ref().map(|joined| {
        let tips: Vec<usize> = joined.tips.iter().map(|tip| joined.capture.graph + 1 + tip).collect();
        (joined.capture.clone(), tips)
    });
    set(status, found.as_ref().map_or(0, |(capture, _)| if capture.is_invalid() { 2 } else { 1 }))?;
    if let Some((capture, tips)) = found.filter(|(capture, _)| !capture.is_invalid()) {
        inner.shown = tips;
        if !id.is_null() {
            set(id, capture.id)?;
        }
        if !graph.is_null() {
            set(graph, capture.graph)?;
        }
        if !nodes.is_null() {
            set(nodes, inner.shown.as_ptr())?;
        }
        if !edges.is_null() {
            set(edges, std::ptr::null())?;
        }
        if !count.is_null() {
            set(count, inner.shown.len())?;
        }
    }
    Ok(())
}

/// The legacy stream can't be asked about while a blocking stream captures.
fn legacy_is_free(stream: &Arc<Stream>) -> code::Out {
    if !stream.legacy {
        return Ok(());
    }
    let mut others = stream.context.streams.all();
    others.retain(|other| !other.legacy && other.flags & NON_BLOCKING == 0);
    none_of(&others)
}

driver! {
    fn cuStreamCreate(found: *mut usize, flags: u32) {
        let context = current()?;
        if found.is_null() || flags > NON_BLOCKING {
            return Err(code::INVALID_VALUE);
        }
        let stream = Stream::new(&context, flags, 0, false);
        set(found, STREAMS.insert(stream.handle, stream))
    }

    fn cuStreamCreateWithPriority(found: *mut usize, flags: u32, priority: i32) {
        let context = current()?;
        if found.is_null() || flags > NON_BLOCKING {
            return Err(code::INVALID_VALUE);
        }
        let stream = Stream::new(&context, flags, priority.clamp(-5, 0), false);
        set(found, STREAMS.insert(stream.handle, stream))
    }

    fn cuStreamDestroy_v2(handle: usize) {
        if handle <= 2 {
            return Err(code::INVALID_HANDLE);
        }
        STREAMS.remove(handle, code::INVALID_HANDLE)?.close();
        Ok(())
    }

    fn cuStreamSynchronize(handle: usize) {
        let stream = find(handle)?;
        legacy_is_free(&stream)?;
        not_capturing(&stream)?;
        if stream.legacy {
            return stream.perform(Work::Nothing);
        }
        match stream.pending() {
            Some(count) => stream.wait(count),
            None => stream.context.check(),
        }
    }

    fn cuStreamQuery(handle: usize) {
        let stream = find(handle)?;
        legacy_is_free(&stream)?;
        not_capturing(&stream)?;
        let busy = |stream: &Arc<Stream>| stream.pending().is_some_and(|count| !stream.is_done(count));
        let others = stream.context.streams.all();
        let others = others.iter().any(|other| stream.legacy && other.flags & NON_BLOCKING == 0 && busy(other));
        if busy(&stream) || others { Err(code::NOT_READY) } else { stream.context.check() }
    }

    fn cuStreamGetCtx(handle: usize, found: *mut usize) {
        let stream = find(handle)?;
        legacy_is_free(&stream)?;
        set(found, CONTEXTS.get(stream.context.handle, code::CONTEXT_IS_DESTROYED)?.handle)
    }

    fn cuStreamGetFlags(handle: usize, flags: *mut u32) {
        set(flags, find(handle)?.flags)
    }

    fn cuStreamGetPriority(handle: usize, priority: *mut i32) {
        set(priority, find(handle)?.priority)
    }

    fn cuStreamBeginCapture_v2(handle: usize, mode: u32) {
        Capture::begin(&find(handle)?, mode)
    }

    fn cuStreamEndCapture(handle: usize, graph: *mut usize) {
        if graph.is_null() {
            return Err(code::INVALID_VALUE);
        }
        set(graph, 0)?;
        set(graph, Capture::end(&find(handle)?)?)
    }

    fn cuStreamIsCapturing(handle: usize, status: *mut u32) {
        let stream = find(handle)?;
        legacy_is_free(&stream)?;
        let joined = stream.inner().capture.as_ref().map(|joined| joined.capture.is_invalid());
        set(status, joined.map_or(0, |invalid| if invalid { 2 } else { 1 }))
    }

    fn cuStreamGetCaptureInfo_v2(
        handle: usize, status: *mut u32, id: *mut u64, graph: *mut usize, nodes: *mut *const usize, count: *mut usize,
    ) {
        capture_info(handle, status, id, graph, nodes, std::ptr::null_mut(), count)
    }

    fn cuStreamGetCaptureInfo_v3(
        handle: usize, status: *mut u32, id: *mut u64, graph: *mut usize, nodes: *mut *const usize,
        edges: *mut *const c_void, count: *mut usize,
    ) {
        capture_info(handle, status, id, graph, nodes, edges, count)
    }

    fn cuThreadExchangeStreamCaptureMode(mode: *mut u32) {
        set(mode, capture::exchange_mode(get(mode)?)?)
    }

    fn cuLaunchHostFunc(handle: usize, function: Option<extern "C" fn(*mut c_void)>, data: usize) {
        let function = function.ok_or(code::INVALID_VALUE)?;
        find(handle)?.submit(Work::Host { function, data }).map(drop)
    }
}

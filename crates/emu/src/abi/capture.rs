//! Captures of streams.
use super::graph::list;
use super::runtime::{give, null};
use crate::error::note;
use crate::graph::{capture, model};
use crate::stream;
use std::ffi::{c_int, c_uint, c_void};

/// Begins a capture; into a graph behind `count` of its nodes unless `graph` is null.
///
/// # Safety
/// `after` has `count` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_capture_begin(
    on: *mut c_void,
    mode: c_int,
    graph: *mut c_void,
    after: *const *mut c_void,
    count: usize,
) -> c_int {
    let begin = || {
        let stream = stream::find(on as usize)?;
        let into = if graph.is_null() {
            None
        } else {
            // SAFETY: as the caller promises.
            Some((model::find(graph as usize)?, unsafe { list("dependencies", after, count) }?))
        };
        capture::begin(&stream, mode, into)
    };
    note(begin())
}

/// Ends a capture; `graph` gets what was captured, null where that failed.
///
/// # Safety
/// `graph` is null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_capture_end(on: *mut c_void, graph: *mut *mut c_void) -> c_int {
    let end = || {
        if graph.is_null() {
            return Err(null("pGraph"));
        }
        // SAFETY: as the caller promises.
        unsafe { graph.write(std::ptr::null_mut()) };
        let made = capture::end(&stream::find(on as usize)?)?;
        // SAFETY: as the caller promises.
        unsafe { give("pGraph", graph, model::own(made) as *mut c_void) }
    };
    note(end())
}

/// What there is to know about a stream's capture.
#[derive(Debug)]
#[repr(C)]
pub struct CaptureInfo {
    /// Size of this struct as the caller knows it.
    pub size: u32,
    /// 0 none, 1 active, 2 invalidated.
    pub status: c_int,
    /// Number of the capture.
    pub id: u64,
    /// The graph that is being made.
    pub graph: *mut c_void,
    /// What the stream's next operation will depend on: valid until the thread asks again.
    pub after: *const *mut c_void,
    /// How many those are.
    pub count: usize,
}

/// Tells about a stream's capture.
///
/// # Safety
/// `info` is valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_capture_info(on: *mut c_void, info: *mut CaptureInfo) -> c_int {
    thread_local! {
        static TIPS: std::cell::RefCell<Vec<usize>> = const { std::cell::RefCell::new(Vec::new()) };
    }
    let ask = || {
        let found = capture::info(&stream::find(on as usize)?)?;
        // SAFETY: as the caller promises.
        let info = unsafe { &mut *info };
        (info.status, info.id, info.graph) = (found.status, found.id, found.graph as *mut c_void);
        info.count = found.tips.len();
        info.after = TIPS.with_borrow_mut(|tips| {
            *tips = found.tips;
            tips.as_ptr().cast()
        });
        Ok(())
    };
    note(ask())
}

/// Adds to, or if `replace` replaces, what the next operation of a captured stream will depend on.
///
/// # Safety
/// `nodes` has `count` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_capture_update(
    on: *mut c_void,
    nodes: *const *mut c_void,
    count: usize,
    replace: c_uint,
) -> c_int {
    let update = || {
        // SAFETY: as the caller promises.
        let nodes = unsafe { list("dependencies", nodes, count) }?;
        capture::update_tips(&stream::find(on as usize)?, &nodes, replace != 0)
    };
    note(update())
}

/// Exchanges the calling thread's mode: what captures forbid to it.
///
/// # Safety
/// `mode` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_capture_mode(mode: *mut c_int) -> c_int {
    let exchange = || {
        if mode.is_null() {
            return Err(null("mode"));
        }
        // SAFETY: as the caller promises.
        unsafe { mode.write(capture::exchange_mode(*mode)?) };
        Ok(())
    };
    note(exchange())
}

//! Allocation, copies, fills.
use super::runtime::null;
use crate::error::{Code, Failure, Result, note};
use crate::graph::capture;
use crate::graph::work::{CopyWork, FillWork, Held, Work};
use crate::memory::{self, Kind, Rows};
use crate::stream;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

fn kind_of(number: c_int) -> Result<Kind> {
    match number {
        1 => Ok(Kind::Pinned),
        2 => Ok(Kind::Device),
        3 => Ok(Kind::Managed),
        _ => Err(Failure::new(Code::InvalidValue, format!("kind = {number}: unknown kind of memory"))),
    }
}

/// Allocates `bytes` of pinned (1), device (2) or managed (3) memory.
///
/// # Safety
/// `ptr` is null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_malloc(ptr: *mut *mut c_void, bytes: usize, kind: c_int) -> c_int {
    let allocate = || {
        if ptr.is_null() {
            return Err(null("ptr"));
        }
        capture::check_unsafe("an allocation outside of streams")?;
        let made = memory::allocate(bytes, kind_of(kind)?)?;
        // SAFETY: not null, and valid as the caller promises.
        unsafe { ptr.write(made.cast()) };
        Ok(())
    };
    note(allocate())
}

/// Frees pinned memory (`kind` 1), or device and managed memory (2).
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_free(ptr: *mut c_void, kind: c_int) -> c_int {
    let kinds: &[Kind] = if kind == 1 { &[Kind::Pinned] } else { &[Kind::Device, Kind::Managed] };
    note(capture::check_unsafe("freeing memory").and_then(|()| memory::free(ptr.cast(), kinds)))
}

/// Allocates device memory in stream order: in a stream that is being captured, memory of the graph.
///
/// # Safety
/// `ptr` is null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_malloc_later(
    ptr: *mut *mut c_void,
    bytes: usize,
    on: *mut c_void,
) -> c_int {
    let allocate = || {
        if ptr.is_null() {
            return Err(null("ptr"));
        }
        let stream = stream::find(on as usize)?;
        capture::check_legacy(&stream)?;
        let made = if bytes != 0 && capture::is_capturing(&stream) {
            let held = Arc::new(Held::new(bytes)?);
            let base = held.base;
            stream.add(Work::Allocate(held))?;
            base
        } else {
            memory::allocate(bytes, Kind::Device)?
        };
        // SAFETY: not null, and valid as the caller promises.
        unsafe { ptr.write(made.cast()) };
        Ok(())
    };
    note(allocate())
}

/// Makes the program's own memory pinned.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_host_register(ptr: *mut c_void, bytes: usize) -> c_int {
    note(
        capture::check_unsafe("registering host memory")
            .and_then(|()| memory::register_host(ptr.cast(), bytes)),
    )
}

/// Ends what [`dushmem_emu_host_register`] began.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_host_unregister(ptr: *mut c_void) -> c_int {
    note(memory::unregister_host(ptr.cast()))
}

/// Frees device or managed memory in stream order.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_free_later(ptr: *mut c_void, on: *mut c_void) -> c_int {
    let free = || {
        let stream = stream::find(on as usize)?;
        if !capture::is_capturing(&stream) {
            capture::check_legacy(&stream)?;
            return memory::free_later(ptr.cast(), &stream);
        }
        match memory::find(ptr as usize) {
            Some(a) if a.kind == Kind::Graph && a.base == ptr as usize => stream.add(Work::Free(a.base)),
            _ => {
                let why = format!("ptr = {ptr:p}: a graph can free only what a graph has allocated");
                Err(Failure::new(Code::InvalidValue, why))
            }
        }
    };
    note(free())
}

/// Rows that a copy of pageable host memory was made of when the copy was asked for: the program may
/// change that memory as soon as the call returns.
fn staged(source: Rows, width: usize, rows: usize) -> Vec<u8> {
    let mut bytes = vec![0; width * rows];
    let dest = Rows { base: bytes.as_mut_ptr(), pitch: width };
    // SAFETY: `check_copy` accepted the source, and the vector has room for all rows.
    unsafe { memory::copy(dest, source, width, rows) };
    bytes
}

/// # Safety
/// Host memory that is named must be valid, until the copy is done if `later`; as long as it runs in launches of
/// a graph, if it is captured.
unsafe fn put_copy(work: CopyWork, on: *mut c_void, later: bool) -> Result<()> {
    let stream = stream::find(on as usize)?;
    if !later {
        capture::check_legacy(&stream)?;
        capture::check_unsafe("a copy that is waited for")?;
    }
    let something = work.check()?;
    // SAFETY: checked; host memory stays valid as the caller promises.
    let act = move || unsafe { work.run() };
    if !later {
        return stream.run(move || {
            if something {
                act()
            }
        });
    }
    if capture::is_capturing(&stream) {
        return stream.add(Work::Copy(work));
    }
    if !something {
        return capture::check_legacy(&stream);
    }
    let source = work.source;
    let pageable = memory::find(source.base as usize).is_none()
        && !dushmem_os::machine::in_loaded_object(source.base as usize, work.width);
    if work.planes != 1 || !pageable {
        return stream.submit(act);
    }
    let bytes = staged(source, work.width, work.rows);
    stream.submit(move || {
        let source = Rows { base: bytes.as_ptr().cast_mut(), pitch: work.width };
        // SAFETY: see above.
        unsafe { CopyWork { source, ..work }.run() }
    })
}

/// Copies `planes` planes, `dest_plane` and `source_plane` bytes apart, of `rows` rows, in a stream; waits for
/// it unless `later`.
///
/// # Safety
/// As [`dushmem_emu_copy`]; `work` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_copy_planes(
    work: *const super::graph::Copy,
    on: *mut c_void,
    later: c_int,
) -> c_int {
    // SAFETY: as the caller promises.
    note(unsafe { put_copy((*work).work(), on, later != 0) })
}

/// Copies `rows` rows of `width` bytes in a stream; waits for it unless `later`.
///
/// # Safety
/// Host memory that is named must be valid, until the copy is done if `later`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_copy(
    dest: *mut c_void,
    dest_pitch: usize,
    source: *const c_void,
    source_pitch: usize,
    width: usize,
    rows: usize,
    direction: c_int,
    on: *mut c_void,
    later: c_int,
) -> c_int {
    let copy = || {
        let dest = Rows { base: dest.cast(), pitch: dest_pitch };
        let source = Rows { base: source.cast_mut().cast(), pitch: source_pitch };
        let work = CopyWork::flat(dest, source, width, rows, direction);
        // SAFETY: as the caller of this function promises.
        unsafe { put_copy(work, on, later != 0) }
    };
    note(copy())
}

/// Fills `rows` rows of `width` bytes in a stream; waits for it unless `later`.
///
/// # Safety
/// As [`dushmem_emu_copy`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_fill(
    dest: *mut c_void,
    pitch: usize,
    value: c_int,
    width: usize,
    rows: usize,
    on: *mut c_void,
    later: c_int,
) -> c_int {
    let fill = || {
        let stream = stream::find(on as usize)?;
        let dest = Rows { base: dest.cast(), pitch };
        // The fill's value is the lowest byte, as for C's memset.
        let work = FillWork { dest, value: value as u32, elem: 1, width, rows };
        if later == 0 {
            capture::check_legacy(&stream)?;
            capture::check_unsafe("a fill that is waited for")?;
        }
        let something = work.check()?;
        if capture::is_capturing(&stream) && later != 0 {
            return stream.add(Work::Fill(work));
        }
        // SAFETY: checked above.
        let act = move || unsafe { work.run() };
        match (later, something) {
            (0, _) => stream.run(move || {
                if something {
                    act()
                }
            }),
            (_, true) => stream.submit(act),
            (_, false) => capture::check_legacy(&stream),
        }
    };
    note(fill())
}

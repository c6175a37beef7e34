//! Allocation, copies, fills.
use super::runtime::null;
use crate::error::{Code, Failure, Result, note};
use crate::memory::{self, Kind, Rows};
use crate::stream;
use std::ffi::{c_int, c_void};

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
    note(memory::free(ptr.cast(), kinds))
}

/// Makes the program's own memory pinned.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_host_register(ptr: *mut c_void, bytes: usize) -> c_int {
    note(memory::register_host(ptr.cast(), bytes))
}

/// Ends what [`dushmem_emu_host_register`] began.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_host_unregister(ptr: *mut c_void) -> c_int {
    note(memory::unregister_host(ptr.cast()))
}

/// Frees device or managed memory in stream order.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_free_later(ptr: *mut c_void, on: *mut c_void) -> c_int {
    note(stream::find(on as usize).and_then(|stream| memory::free_later(ptr.cast(), &stream)))
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
        let stream = stream::find(on as usize)?;
        let dest = Rows { base: dest.cast(), pitch: dest_pitch };
        let source = Rows { base: source.cast_mut().cast(), pitch: source_pitch };
        if !memory::check_copy(dest, source, width, rows, direction)? {
            return if later == 0 { stream.run(|| ()) } else { Ok(()) };
        }
        let pageable = |at: Rows| {
            memory::find(at.base as usize).is_none()
                && !dushmem_os::machine::in_loaded_object(at.base as usize, width)
        };
        // SAFETY (of both closures): checked above; host memory stays valid as the caller promises.
        let act = move || {
            let (dest, source) = (dest, source);
            // SAFETY: see above.
            unsafe { memory::copy(dest, source, width, rows) }
        };
        if later == 0 {
            stream.run(act)
        } else if pageable(source) {
            let bytes = staged(source, width, rows);
            stream.submit(move || {
                let dest = dest;
                let source = Rows { base: bytes.as_ptr().cast_mut(), pitch: width };
                // SAFETY: see above.
                unsafe { memory::copy(dest, source, width, rows) }
            })
        } else {
            stream.submit(act)
        }
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
        if !memory::check_fill(dest, width, rows)? {
            return Ok(());
        }
        let act = move || {
            let dest = dest;
            // SAFETY: checked above.
            unsafe { memory::fill(dest, value as u8, width, rows) }
        };
        if later == 0 { stream.run(act) } else { stream.submit(act) }
    };
    note(fill())
}

//! Memory of the host that devices use, and what is known of pointers.
use crate::call::{get, set};
use crate::capture::forbid;
use crate::code::{self, Out};
use crate::context::current;
use crate::{memory, peers, pinned};
use std::ffi::c_void;

/// What is known of an address.
struct Known {
    device: bool,
    context: usize,
    ordinal: i32,
    start: usize,
    len: usize,
    number: u64,
}

fn known(at: usize) -> Option<Known> {
    let of_device = memory::read(|spaces| {
        let (base, space) = spaces.find(at)?;
        let (start, chunk) = space.chunks.range(..=at - base).next_back()?;
        let context = if let memory::Kind::Allocated(context) = space.kind { context } else { 0 };
        (at - base < start + chunk.len).then(|| Known {
            device: true,
            context,
            // A device that this process does not see has no number here.
            ordinal: peers::ordinal(chunk.memory.physical).unwrap_or(-1),
            start: base + start,
            len: chunk.len,
            number: std::os::fd::AsRawFd::as_raw_fd(&chunk.memory.fd) as u64 + 1,
        })
    });
    of_device.or_else(|| {
        let (start, len, context) = pinned::find(at)?;
        let ordinal = crate::context::CONTEXTS.get(context, 0).map_or(0, |context| context.device);
        Some(Known { device: false, context, ordinal, start, len, number: start as u64 })
    })
}

/// Writes an attribute of a pointer; for an unknown one what the driver's call for several gives, 0.
fn attribute(data: *mut c_void, attribute: u32, at: usize, known: Option<&Known>) -> Out {
    let word = |f: fn(&Known) -> u64| set(data.cast::<u64>(), known.map_or(0, f));
    let half = |f: fn(&Known) -> u32| set(data.cast::<u32>(), known.map_or(0, f));
    let flag = |f: fn(&Known) -> bool| set(data.cast::<u8>(), u8::from(known.is_some_and(f)));
    match attribute {
        1 => word(|known| known.context as u64),
        2 => half(|known| if known.device { 2 } else { 1 }),
        3 => set(data.cast::<usize>(), known.map_or(0, |_| at)),
        4 => set(data.cast::<usize>(), known.filter(|known| !known.device).map_or(0, |_| at)),
        6 => half(|_| 0),
        7 => word(|known| known.number),
        8 => half(|_| 0),
        9 => set(data.cast::<i32>(), known.map_or(-2, |known| known.ordinal)),
        10 => flag(|known| known.device && known.context != 0),
        11 => word(|known| known.start as u64),
        12 => word(|known| known.len as u64),
        13 => flag(|_| true),
        14 => word(|known| u64::from(known.device && known.context == 0)),
        15 => flag(|known| known.device),
        16 => half(|_| 3),
        17 => word(|_| 0),
        18 => word(|known| known.len as u64),
        19 => word(|known| known.start as u64),
        20 => word(|known| known.number),
        _ => Err(code::INVALID_VALUE),
    }
}

driver! {
    fn cuPointerGetAttribute(data: *mut c_void, which: u32, at: usize) {
        current()?;
        if data.is_null() {
            return Err(code::INVALID_VALUE);
        }
        let known = known(at).ok_or(code::INVALID_VALUE)?;
        if which == 4 && known.device {
            return Err(code::INVALID_VALUE);
        }
        attribute(data, which, at, Some(&known))
    }

    fn cuPointerGetAttributes(count: u32, which: *const u32, data: *const *mut c_void, at: usize) {
        current()?;
        let known = known(at);
        for i in 0..count as usize {
            attribute(get(data.wrapping_add(i))?, get(which.wrapping_add(i))?, at, known.as_ref())?;
        }
        Ok(())
    }

    fn cuMemHostAlloc(found: *mut usize, bytes: usize, flags: u32) {
        let context = current()?;
        forbid()?;
        if found.is_null() || bytes == 0 || flags > 7 {
            return Err(code::INVALID_VALUE);
        }
        set(found, pinned::allocate(bytes, context.handle)?)
    }

    fn cuMemAllocHost_v2(found: *mut usize, bytes: usize) {
        let context = current()?;
        forbid()?;
        if found.is_null() || bytes == 0 {
            return Err(code::INVALID_VALUE);
        }
        set(found, pinned::allocate(bytes, context.handle)?)
    }

    fn cuMemFreeHost(at: usize) {
        current()?;
        forbid()?;
        pinned::remove(at, true).map(drop).ok_or(code::INVALID_VALUE)
    }

    fn cuMemHostGetDevicePointer_v2(found: *mut usize, at: usize, flags: u32) {
        current()?;
        if flags != 0 || pinned::find(at).is_none() {
            return Err(code::INVALID_VALUE);
        }
        set(found, at)
    }

    fn cuMemHostRegister_v2(at: usize, bytes: usize, flags: u32) {
        let context = current()?;
        forbid()?;
        let mapped = dushmem_os::memory::is_mapped(at, bytes);
        if at == 0 || bytes == 0 || flags > 15 || !mapped || memory::read(|spaces| spaces.find(at).is_some()) {
            return Err(code::INVALID_VALUE);
        }
        if flags & 4 != 0 {
            return Err(code::NOT_SUPPORTED);
        }
        pinned::register(at, bytes, context.handle)
    }

    fn cuMemHostUnregister(at: usize) {
        current()?;
        forbid()?;
        pinned::remove(at, false).map(drop).ok_or(code::HOST_MEMORY_NOT_REGISTERED)
    }
}

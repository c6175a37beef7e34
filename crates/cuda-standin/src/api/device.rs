//! Driver, devices, contexts.
use crate::call::{name as text, ready, set};
use crate::code::{self, describe};
use crate::context::{self, CONTEXTS, DEVICES, current, device};
use crate::knobs::KNOBS;
use crate::module::capability;
use crate::peers;
use std::ffi::c_char;
use std::sync::atomic::Ordering;

/// What a device says about itself, by the number of the attribute.
fn attribute(number: u32, ordinal: i32) -> Option<i32> {
    let on = |yes: bool| i32::from(yes);
    Some(match number {
        1..=3 => 1024,
        4 => 64,
        5 => i32::MAX,
        6 | 7 => 65535,
        8 => 48 << 10,
        9 => 64 << 10,
        10 => 32,
        12 | 82 => 65536,
        13 => 1_980_000,
        16 => KNOBS.sms,
        33 => ordinal + 1,
        36 => 3_201_000,
        37 => 6144,
        38 => 60 << 20,
        39 => 2048,
        40 => 3,
        75 => capability().0 as i32,
        76 => capability().1 as i32,
        81 => 228 << 10,
        97 => 227 << 10,
        98 => on(KNOBS.flushes),
        102 | 103 => on(KNOBS.vmm),
        106 => 32,
        133 => on(KNOBS.mps),
        // Yes: overlap, mapped host memory, concurrent kernels, unified addresses, priorities, caches, preemption, host
        // pointers of registered memory, 64-bit memory operations, NOR, cooperative launches, registration, IPC events.
        15 | 19 | 31 | 32 | 41 | 78 | 79 | 80 | 83 | 89 | 90 | 91 | 92 | 93 | 94 | 95 | 99 | 113 | 115
        | 116 | 120 | 122 | 123 | 124 | 125 => 1,
        // No: native atomics on host memory, pageable memory, and whatever is not used.
        11..148 => 0,
        _ => return None,
    })
}

driver! {
    fn cuInit(flags: u32) {
        if flags != 0 {
            return Err(code::INVALID_VALUE);
        }
        if DEVICES.is_empty() {
            return Err(code::NO_DEVICE);
        }
        ready();
        Ok(())
    }

    fn cuDriverGetVersion(version: *mut i32) {
        set(version, KNOBS.version)
    }

    fn cuGetErrorName(error: u32, name: *mut *const c_char) {
        let found = describe(error);
        set(name, found.map_or(std::ptr::null(), |found| found.0))?;
        found.map(drop).ok_or(code::INVALID_VALUE)
    }

    fn cuGetErrorString(error: u32, words: *mut *const c_char) {
        let found = describe(error);
        set(words, found.map_or(std::ptr::null(), |found| found.1))?;
        found.map(drop).ok_or(code::INVALID_VALUE)
    }

    fn cuDeviceGetCount(count: *mut i32) {
        set(count, DEVICES.len() as i32)
    }

    fn cuDeviceGet(found: *mut i32, ordinal: i32) {
        device(ordinal)?;
        set(found, ordinal)
    }

    fn cuDeviceGetName(name: *mut c_char, len: i32, ordinal: i32) {
        device(ordinal)?;
        put_text(name, len, "NVIDIA stand-in")
    }

    fn cuDeviceGetPCIBusId(name: *mut c_char, len: i32, ordinal: i32) {
        put_text(name, len, &format!("0000:{:02X}:00.0", device(ordinal)?.physical + 1))
    }

    fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], ordinal: i32) {
        set(uuid, context::uuid(device(ordinal)?.physical))
    }

    fn cuDeviceGetUuid(uuid: *mut [u8; 16], ordinal: i32) {
        set(uuid, context::uuid(device(ordinal)?.physical))
    }

    fn cuDeviceGetAttribute(value: *mut i32, number: u32, ordinal: i32) {
        let physical = device(ordinal)?.physical as i32;
        set(value, attribute(number, physical).ok_or(code::INVALID_VALUE)?)
    }

    fn cuDeviceTotalMem_v2(bytes: *mut usize, ordinal: i32) {
        device(ordinal)?;
        set(bytes, KNOBS.memory)
    }

    fn cuDeviceCanAccessPeer(can: *mut i32, ordinal: i32, peer: i32) {
        device(ordinal)?;
        let physical = device(peer)?.physical;
        set(can, i32::from(ordinal != peer && peers::reaches(ordinal, physical)))
    }

    /// By the number of the attribute: rank, access, atomic operations, access to arrays.
    fn cuDeviceGetP2PAttribute(value: *mut i32, number: u32, ordinal: i32, peer: i32) {
        let (own, other) = (device(ordinal)?.physical, device(peer)?.physical);
        if own == other {
            return Err(code::INVALID_DEVICE);
        }
        let reaches = peers::reaches(ordinal, other);
        match number {
            1 => set(value, 0),
            2 | 4 => set(value, i32::from(reaches)),
            3 => set(value, i32::from(reaches && !KNOBS.no_peer_atomics.have(own, other))),
            _ => Err(code::INVALID_VALUE),
        }
    }

    fn cuCtxEnablePeerAccess(peer: usize, flags: u32) {
        let context = current()?;
        if flags != 0 {
            return Err(code::INVALID_VALUE);
        }
        let other = CONTEXTS.get(peer, code::INVALID_CONTEXT)?.device;
        peers::enable(context.device, peer, other)
    }

    fn cuDevicePrimaryCtxRetain(found: *mut usize, ordinal: i32) {
        if found.is_null() {
            return Err(code::INVALID_VALUE);
        }
        set(found, context::retain_primary(ordinal)?)
    }

    fn cuDevicePrimaryCtxRelease_v2(ordinal: i32) {
        context::release_primary(ordinal)
    }

    fn cuDevicePrimaryCtxGetState(ordinal: i32, flags: *mut u32, active: *mut i32) {
        let is = context::primary_is_active(ordinal)?;
        set(flags, 0)?;
        set(active, i32::from(is))
    }

    fn cuCtxGetCurrent(found: *mut usize) {
        set(found, context::top())
    }

    fn cuCtxSetCurrent(handle: usize) {
        context::replace(handle)
    }

    fn cuCtxPushCurrent_v2(handle: usize) {
        context::push(handle)
    }

    fn cuCtxPopCurrent_v2(found: *mut usize) {
        let handle = context::pop()?;
        if found.is_null() { Ok(()) } else { set(found, handle) }
    }

    fn cuCtxGetDevice(ordinal: *mut i32) {
        match context::top() {
            0 => Err(code::INVALID_CONTEXT),
            handle => set(ordinal, CONTEXTS.get(handle, code::CONTEXT_IS_DESTROYED)?.device),
        }
    }

    fn cuCtxGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) {
        current()?;
        for (at, value) in [(least, 0), (greatest, -5)] {
            if !at.is_null() {
                set(at, value)?;
            }
        }
        Ok(())
    }

    fn cuCtxSynchronize() {
        let context = current()?;
        crate::capture::forbid()?;
        for stream in context.streams.all() {
            if let Some(count) = stream.pending() {
                stream.wait(count)?;
            }
        }
        context.check()
    }

    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        let used = device(current()?.device)?.used.load(Ordering::Relaxed);
        set(free, KNOBS.memory - used)?;
        set(total, KNOBS.memory)
    }
}

/// Writes a text of C, cut to what fits.
fn put_text(at: *mut c_char, len: i32, words: &str) -> code::Out {
    if at.is_null() || len <= 0 {
        return Err(code::INVALID_VALUE);
    }
    let fits = words.len().min(len as usize - 1);
    for (i, byte) in words.as_bytes()[..fits].iter().chain([&0]).enumerate() {
        set(at.wrapping_add(i), *byte as c_char)?;
    }
    Ok(())
}

/// How many objects of a kind live.
#[unsafe(no_mangle)]
pub extern "C" fn standin_live(kind: *const c_char) -> u64 {
    let count = match text(kind).unwrap_or_default().as_str() {
        "memory" => crate::memory::LIVE.load(Ordering::Relaxed),
        "mappings" => crate::memory::read(|spaces| spaces.mappings()),
        "reservations" => crate::memory::read(|spaces| spaces.iter().count()),
        "streams" => crate::stream::STREAMS.len(),
        "events" => crate::event::EVENTS.len(),
        "modules" => crate::module::MODULES.len(),
        "graphs" => crate::capture::GRAPHS.len() + crate::capture::EXECS.len(),
        "host" => crate::pinned::count(),
        "contexts" => CONTEXTS.len(),
        _ => return u64::MAX,
    };
    count as u64
}

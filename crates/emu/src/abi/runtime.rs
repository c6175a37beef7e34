//! Devices, streams, events, errors.
use crate::error::{Code, Failure, note};
use crate::graph::capture;
use crate::graph::work::{HostWork, Work};
use crate::{device, error, event, fiber, kernel, memory, stream};
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a device reports of itself.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Properties {
    /// Size of this struct as the caller knows it.
    pub size: u32,
    /// Threads of a warp.
    pub warp: u32,
    /// Most threads of a block, and along each of its sides.
    pub threads_per_block: u32,
    /// See [`device::MAX_BLOCK`].
    pub block: [u32; 3],
    /// See [`device::MAX_GRID`].
    pub grid: [u32; 3],
    /// Number of multiprocessors.
    pub multiprocessors: u32,
    /// Blocks that a multiprocessor takes.
    pub blocks_per_multiprocessor: u32,
    /// CPUs that really run them.
    pub cpus: u32,
    /// Bytes of shared memory of a block, without and with opting in.
    pub shared: u64,
    /// See [`device::SHARED_OPT_IN`].
    pub shared_opt_in: u64,
    /// Bytes of memory.
    pub memory: u64,
    /// Threads, and bytes of shared memory, of a multiprocessor.
    pub threads_per_multiprocessor: u32,
    /// See [`device::SHARED_PER_MULTIPROCESSOR`].
    pub shared_per_multiprocessor: u32,
}

/// Number of devices.
///
/// # Safety
/// `count` is null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_device_count(count: *mut c_int) -> c_int {
    // SAFETY: as the caller promises.
    note(unsafe { give("count", count, device::count() as c_int) })
}

/// Makes a device the calling thread's.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_device_select(number: c_int) -> c_int {
    note(device::select(number))
}

/// Number of the calling thread's device.
///
/// # Safety
/// `number` is null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_device_current(number: *mut c_int) -> c_int {
    // SAFETY: as the caller promises.
    note(unsafe { give("device", number, device::current() as c_int) })
}

/// What device `number` reports.
///
/// # Safety
/// `properties` is null or valid, with its `size` set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_device_properties(properties: *mut Properties, number: c_int) -> c_int {
    note(device::check(number).and_then(|()| {
        if properties.is_null() {
            return Err(null("prop"));
        }
        let all = Properties {
            // SAFETY: as the caller promises.
            size: unsafe { (*properties).size },
            warp: device::warp(),
            threads_per_block: device::MAX_THREADS_PER_BLOCK,
            block: device::MAX_BLOCK,
            grid: device::MAX_GRID,
            multiprocessors: device::MULTIPROCESSORS,
            blocks_per_multiprocessor: device::BLOCKS_PER_MULTIPROCESSOR,
            cpus: dushmem_os::cpu::usable_cpus() as u32,
            shared: device::SHARED_DEFAULT as u64,
            shared_opt_in: device::SHARED_OPT_IN as u64,
            memory: dushmem_os::machine::memory().0,
            threads_per_multiprocessor: device::THREADS_PER_MULTIPROCESSOR,
            shared_per_multiprocessor: device::SHARED_PER_MULTIPROCESSOR as u32,
        };
        let known = (all.size as usize).min(size_of::<Properties>());
        // SAFETY: the caller's struct has `size` bytes, and no more are written.
        unsafe { (&raw const all).cast::<u8>().copy_to(properties.cast(), known) };
        Ok(())
    }))
}

/// Whether a device can reach another one's memory: all can.
///
/// # Safety
/// `can` is valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_peer_access(can: *mut c_int, number: c_int, peer: c_int) -> c_int {
    let both = device::check(number).and_then(|()| device::check(peer));
    // SAFETY: as the caller promises.
    note(both.and_then(|()| unsafe { give("canAccessPeer", can, c_int::from(number != peer)) }))
}

/// Lets the calling thread's device reach another one's memory, or no longer.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_peer_enable(peer: c_int, enable: c_int) -> c_int {
    note(device::enable_peer(peer, enable != 0))
}

/// What kernels may print and allocate before it is taken: the process alone limits that, so the numbers are
/// remembered and nothing else.
static REMEMBERED: [AtomicUsize; 2] = [AtomicUsize::new(1 << 20), AtomicUsize::new(8 << 20)];

/// Gives a limit (0 bytes of a stack, 1 of printed text, 2 of allocations in kernels), or changes it if `set`.
///
/// # Safety
/// `value` is null or valid for one read and write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_limit(which: c_int, value: *mut usize, set: c_int) -> c_int {
    let limit = || {
        if value.is_null() {
            return Err(null("value"));
        }
        // SAFETY: not null, and valid as the caller promises.
        let value = unsafe { &mut *value };
        match (which, set != 0) {
            (0, true) if *value > fiber::stack_bytes() => {
                let detail = format!(
                    "value = {value}: stacks have {} bytes; {} makes them larger",
                    fiber::stack_bytes(),
                    fiber::STACK_VARIABLE
                );
                return Err(Failure::new(Code::InvalidValue, detail));
            }
            (0, true) => {}
            (0, false) => *value = fiber::stack_bytes(),
            (1 | 2, true) => REMEMBERED[which as usize - 1].store(*value, Ordering::Relaxed),
            (1 | 2, false) => *value = REMEMBERED[which as usize - 1].load(Ordering::Relaxed),
            _ => return Err(Failure::new(Code::InvalidValue, format!("limit = {which}: unknown"))),
        }
        Ok(())
    };
    note(limit())
}

/// Waits for all streams of the calling thread's device.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_device_synchronize() -> c_int {
    kernel::host_only("cudaDeviceSynchronize (hipDeviceSynchronize)");
    let all = || {
        let device = device::current();
        capture::check_device(device, "waiting for the device")?;
        stream::synchronize_device(device)?;
        device::alive(device)
    };
    note(all())
}

/// Waits for all streams of the calling thread's device, which works again if a kernel had failed.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_device_reset() -> c_int {
    kernel::host_only("cudaDeviceReset (hipDeviceReset)");
    let device = device::current();
    let all = || {
        capture::check_device(device, "waiting for the device")?;
        stream::synchronize_device(device)
    };
    let waited = all();
    device::reset(device);
    error::take_last();
    note(waited)
}

/// Total and free bytes of memory.
///
/// # Safety
/// Both are null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_memory_info(free: *mut usize, total: *mut usize) -> c_int {
    let (all, left) = dushmem_os::machine::memory();
    // SAFETY: as the caller promises.
    unsafe { note(give("free", free, left as usize).and_then(|()| give("total", total, all as usize))) }
}

/// Makes a stream.
///
/// # Safety
/// `handle` is null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_stream_create(
    handle: *mut *mut c_void,
    flags: u32,
    priority: c_int,
) -> c_int {
    if handle.is_null() {
        return note::<()>(Err(null("stream")));
    }
    // SAFETY: as the caller promises.
    note(
        stream::create(flags, priority)
            .and_then(|made| unsafe { give("stream", handle, made as *mut c_void) }),
    )
}

/// Destroys a stream; what is in it still runs.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_stream_destroy(handle: *mut c_void) -> c_int {
    note(stream::destroy(handle as usize))
}

/// Waits for what is in the stream.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_stream_synchronize(handle: *mut c_void) -> c_int {
    kernel::host_only("cudaStreamSynchronize (hipStreamSynchronize)");
    let wait = || {
        let stream = stream::find(handle as usize)?;
        capture::refuse(&stream, "waiting for it")?;
        stream.synchronize();
        device::alive(stream.device())
    };
    note(wait())
}

/// 0 if the stream is empty, else `NotReady`.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_stream_query(handle: *mut c_void) -> c_int {
    let query = || {
        let stream = stream::find(handle as usize)?;
        capture::refuse(&stream, "asking whether it has ended")?;
        stream.query()
    };
    note(query())
}

/// Flags, priority and device of a stream.
///
/// # Safety
/// Each is null (not wanted) or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_stream_info(
    handle: *mut c_void,
    flags: *mut u32,
    priority: *mut c_int,
    number: *mut c_int,
) -> c_int {
    note(stream::find(handle as usize).map(|stream| {
        // SAFETY: as the caller promises.
        unsafe {
            if !flags.is_null() {
                flags.write(stream.flags());
            }
            if !priority.is_null() {
                priority.write(stream.priority());
            }
            if !number.is_null() {
                number.write(stream.device() as c_int);
            }
        }
    }))
}

/// Has later operations of the stream wait for the event's newest recording. `flags`: 0, or 1 for a node of
/// its own where the stream is being captured.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_stream_wait_event(handle: *mut c_void, of: *mut c_void, flags: u32) -> c_int {
    let wait = || event::wait_in_stream(&event::find(of as usize)?, &stream::find(handle as usize)?, flags);
    note(wait())
}

/// Calls a host function in stream order; `captures` is 0 if it can't become a node of a graph.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_stream_call(
    handle: *mut c_void,
    function: Option<extern "C" fn(*mut c_void)>,
    data: *mut c_void,
    captures: c_int,
) -> c_int {
    let call = || {
        let host = HostWork { function: function.ok_or_else(|| null("fn"))?, data };
        let stream = stream::find(handle as usize)?;
        if captures == 0 {
            capture::refuse(&stream, "adding a callback")?;
        }
        stream.add(Work::Host(host))
    };
    note(call())
}

/// Makes an event.
///
/// # Safety
/// `handle` is null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_event_create(handle: *mut *mut c_void, flags: u32) -> c_int {
    if handle.is_null() {
        return note::<()>(Err(null("event")));
    }
    // SAFETY: as the caller promises.
    note(event::create(flags).and_then(|made| unsafe { give("event", handle, made as *mut c_void) }))
}

/// Destroys an event.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_event_destroy(handle: *mut c_void) -> c_int {
    note(event::destroy(handle as usize))
}

/// Records an event after what is in the stream now. `flags`: 0, or 1 for a node of its own where the stream
/// is being captured.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_event_record(handle: *mut c_void, on: *mut c_void, flags: u32) -> c_int {
    note(event::find(handle as usize).and_then(|event| event.record(&stream::find(on as usize)?, flags)))
}

/// Waits for the event's newest recording.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_event_synchronize(handle: *mut c_void) -> c_int {
    kernel::host_only("cudaEventSynchronize (hipEventSynchronize)");
    let wait = || {
        event::find(handle as usize)?.synchronize()?;
        device::alive(device::current())
    };
    note(wait())
}

/// 0 if the event's newest recording has been reached, else `NotReady`.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_event_query(handle: *mut c_void) -> c_int {
    note(event::find(handle as usize).and_then(|event| event.query()))
}

/// Milliseconds between two events.
///
/// # Safety
/// `milliseconds` is null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_event_elapsed(
    milliseconds: *mut f32,
    start: *mut c_void,
    end: *mut c_void,
) -> c_int {
    let elapsed = || event::find(end as usize)?.elapsed_since(&*event::find(start as usize)?);
    // SAFETY: as the caller promises.
    note(elapsed().and_then(|time| unsafe { give("ms", milliseconds, time) }))
}

/// The calling thread's last error; cleared if `clear`.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_last_error(clear: c_int) -> c_int {
    let last = if clear != 0 { error::take_last() } else { error::peek_last() };
    if last != 0 {
        return last;
    }
    // What a kernel's failure has left behind can't be cleared, and belongs to its device.
    let stays = note(device::alive(device::current()));
    error::take_last();
    stays
}

/// What a code means, with the argument at fault if the calling thread's newest failure had this code.
/// The text lives for ever.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_error_text(code: c_int) -> *const c_char {
    error::text(code).as_ptr()
}

/// A code's name, in HIP's spelling if `hip`, else in CUDA's. It lives for ever.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_error_name(code: c_int, hip: c_int) -> *const c_char {
    error::name(code, hip != 0).as_ptr()
}

/// Fails with a code that the headers found out themselves; `detail` is null or what is wrong.
///
/// # Safety
/// `detail` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_fail(code: c_int, detail: *const c_char) -> c_int {
    let detail = if detail.is_null() {
        String::new()
    } else {
        // SAFETY: as the caller promises.
        unsafe { std::ffi::CStr::from_ptr(detail) }.to_string_lossy().into_owned()
    };
    note::<()>(Err(Failure::new(Code::from_number(code), detail)))
}

/// Prints a line about a launch.
///
/// # Safety
/// Both are C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_say(call: *const c_char, text: *const c_char) {
    // SAFETY: as the caller promises.
    let [call, text] = [call, text].map(|text| unsafe { std::ffi::CStr::from_ptr(text) }.to_string_lossy());
    kernel::say(&call, &text);
}

/// Kind (0 host, 1 pinned host, 2 device, 3 managed, 4 symmetric), device and base of an address.
///
/// # Safety
/// The pointers are valid for one write each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_pointer_info(addr: *const c_void, kind: *mut c_int, on: *mut c_int) {
    let found = memory::find(addr as usize);
    // SAFETY: as the caller promises.
    unsafe {
        kind.write(found.map_or(0, |a| match a.kind {
            memory::Kind::Pinned | memory::Kind::Registered => 1,
            memory::Kind::Device | memory::Kind::Graph => 2,
            memory::Kind::Managed => 3,
            memory::Kind::Symmetric => 4,
        }));
        on.write(found.map_or(0, |a| a.device as c_int));
    }
}

/// # Safety
/// `to` is null or valid for one write.
pub(super) unsafe fn give<T>(arg: &str, to: *mut T, value: T) -> error::Result<()> {
    if to.is_null() {
        return Err(null(arg));
    }
    // SAFETY: as the caller promises.
    unsafe { to.write(value) };
    Ok(())
}

pub(super) fn null(arg: &str) -> Failure {
    Failure::new(Code::InvalidValue, format!("{arg} is NULL"))
}

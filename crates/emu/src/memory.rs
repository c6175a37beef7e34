//! Allocations of the emulated devices, and copies between them and the host.
//!
//! Device memory is ordinary memory, so a kernel could use any address. Runtime calls are strict all the
//! same: a host address where a device address is due would fail on a GPU, and fails here.
use crate::device;
use crate::error::{Code, Failure, Result};
use crate::stream::{self, Stream};
use std::alloc::{Layout, alloc, dealloc};
use std::collections::BTreeMap;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// How memory was allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// By the device allocation calls.
    Device,
    /// Host memory that devices can use.
    Pinned,
    /// Memory of the program's own that it has registered: used as pinned memory, freed by the program.
    Registered,
    /// Memory that both sides use by the same address.
    Managed,
    /// Device memory of a graph: freed with the graph.
    Graph,
    /// Part of a symmetric heap: both sides use it; it is freed by the library's own calls.
    Symmetric,
}

/// Allocated memory.
#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    /// First byte.
    pub base: usize,
    /// Bytes, as asked for.
    pub len: usize,
    /// How it was allocated.
    pub kind: Kind,
    /// Device that was current.
    pub device: u32,
}

/// Alignment of allocations, as the devices have it.
const ALIGN: usize = 256;

static ALLOCATIONS: RwLock<BTreeMap<usize, Allocation>> = RwLock::new(BTreeMap::new());

fn read() -> RwLockReadGuard<'static, BTreeMap<usize, Allocation>> {
    ALLOCATIONS.read().unwrap_or_else(|e| e.into_inner())
}

fn write() -> RwLockWriteGuard<'static, BTreeMap<usize, Allocation>> {
    ALLOCATIONS.write().unwrap_or_else(|e| e.into_inner())
}

/// Keeps others from looking up what has been allocated.
pub(crate) struct Held(
    #[expect(dead_code, reason = "held, not read")] RwLockWriteGuard<'static, BTreeMap<usize, Allocation>>,
);

pub(crate) fn hold() -> Held {
    Held(write())
}

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.checked_next_multiple_of(ALIGN)?, ALIGN).ok()
}

/// Allocates; contents are undefined. Zero bytes give null.
pub fn allocate(bytes: usize, kind: Kind) -> Result<*mut u8> {
    device::alive(device::current())?;
    if bytes == 0 {
        return Ok(std::ptr::null_mut());
    }
    let (total, _) = dushmem_os::machine::memory();
    let used: usize = read()
        .values()
        .filter(|a| !matches!(a.kind, Kind::Symmetric | Kind::Registered))
        .map(|a| a.len)
        .sum();
    let too_much = || {
        let detail =
            format!("{bytes} bytes: the emulated devices share {total} bytes, {used} of which are in use");
        Failure::new(Code::MemoryAllocation, detail)
    };
    if bytes as u64 > total.saturating_sub(used as u64) {
        return Err(too_much());
    }
    let layout = layout(bytes).ok_or_else(too_much)?;
    // SAFETY: the layout's size is not zero.
    let base = unsafe { alloc(layout) };
    if base.is_null() {
        return Err(too_much());
    }
    let made = Allocation { base: base as usize, len: bytes, kind, device: device::current() };
    write().insert(base as usize, made);
    Ok(base)
}

/// Frees what [`allocate`] gave for one of `kinds`. As on a device, waits for everything that has been
/// put into the device's streams. Null is nothing.
pub fn free(ptr: *mut u8, kinds: &[Kind]) -> Result<()> {
    if let Some(a) = freeable(ptr, kinds)? {
        stream::synchronize_device(a.device)?;
        release(take(a)?);
    }
    Ok(())
}

/// Frees device memory when the stream has come here. The address is unknown to later calls at once.
pub fn free_later(ptr: *mut u8, on: &Arc<Stream>) -> Result<()> {
    match freeable(ptr, &[Kind::Device, Kind::Managed])? {
        Some(a) => {
            let a = take(a)?;
            on.submit(move || release(a))
        }
        None => Ok(()),
    }
}

fn take(allocation: Allocation) -> Result<Allocation> {
    // Another thread may have been faster.
    let twice = || Failure::new(Code::InvalidValue, format!("ptr = {:#x}: freed twice", allocation.base));
    write().remove(&allocation.base).ok_or_else(twice)
}

/// The allocation that `ptr` is the address of; nothing for null.
fn freeable(ptr: *mut u8, kinds: &[Kind]) -> Result<Option<Allocation>> {
    if ptr.is_null() {
        return Ok(None);
    }
    let known = find(ptr as usize);
    let why = match known {
        None => "not allocated by a runtime call, or freed already",
        // Freed in the sense that the program uses it no more; the next launch of the graph has it again.
        Some(a) if a.kind == Kind::Graph && a.base == ptr as usize => return Ok(None),
        Some(a) if a.kind == Kind::Symmetric => "part of the symmetric heap: free it with the library's free",
        Some(a) if a.base != ptr as usize => {
            "inside an allocation; pass the address that the allocation gave"
        }
        Some(a) if !kinds.contains(&a.kind) => match a.kind {
            Kind::Pinned => "pinned host memory: free it with the host free call",
            Kind::Registered => "registered host memory: unregister it, then free it as it was allocated",
            _ => "device memory: free it with the device free call",
        },
        Some(a) => return Ok(Some(a)),
    };
    Err(Failure::new(Code::InvalidValue, format!("ptr = {ptr:p}: {why}")))
}

fn release(allocation: Allocation) {
    if let Some(layout) = layout(allocation.len) {
        // SAFETY: allocated with this layout, and removed from the table by the caller, so never again.
        unsafe { dealloc(allocation.base as *mut u8, layout) };
    }
}

/// Makes host memory known as pinned.
pub fn register_host(base: *mut u8, len: usize) -> Result<()> {
    let at = base as usize;
    let bad = |code, why: &str| Err(Failure::new(code, format!("ptr = {base:p}, {len} bytes: {why}")));
    match at.checked_add(len) {
        _ if base.is_null() || len == 0 => return bad(Code::InvalidValue, "no memory"),
        None => return bad(Code::InvalidValue, "beyond the end of the address space"),
        Some(_) => {}
    }
    let mut table = write();
    let before = table.range(..at + len).next_back();
    if before.is_some_and(|(_, known)| known.base + known.len > at) {
        return bad(
            Code::HostMemoryAlreadyRegistered,
            "part of it is registered, or was allocated by the runtime",
        );
    }
    table.insert(at, Allocation { base: at, len, kind: Kind::Registered, device: device::current() });
    Ok(())
}

/// Takes back [`register_host`].
pub fn unregister_host(base: *mut u8) -> Result<()> {
    let mut table = write();
    if table.get(&(base as usize)).is_some_and(|a| a.kind == Kind::Registered) {
        table.remove(&(base as usize));
        return Ok(());
    }
    Err(Failure::new(
        Code::HostMemoryNotRegistered,
        format!("ptr = {base:p}: not the begin of registered memory"),
    ))
}

/// Gives memory of a graph back.
pub(crate) fn release_graph(base: *mut u8) {
    let known = write().remove(&(base as usize));
    known.into_iter().for_each(release);
}

/// Makes symmetric memory known, so that copies take its addresses for device addresses.
pub fn register_symmetric(base: *mut u8, len: usize) {
    let made = Allocation { base: base as usize, len, kind: Kind::Symmetric, device: 0 };
    write().insert(base as usize, made);
}

/// Takes back [`register_symmetric`].
pub fn unregister_symmetric(base: *mut u8) {
    let mut table = write();
    if table.get(&(base as usize)).is_some_and(|a| a.kind == Kind::Symmetric) {
        table.remove(&(base as usize));
    }
}

/// The allocation that the address lies in.
pub fn find(addr: usize) -> Option<Allocation> {
    let (_, allocation) = read().range(..=addr).next_back().map(|(k, v)| (*k, *v))?;
    (addr - allocation.base < allocation.len).then_some(allocation)
}

/// Directions of copies, by the number that both families give them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// 0
    HostToHost,
    /// 1
    HostToDevice,
    /// 2
    DeviceToHost,
    /// 3
    DeviceToDevice,
    /// 4: by the addresses
    Default,
}

impl Direction {
    /// From the number.
    pub fn from_number(number: i32) -> Result<Direction> {
        Ok(match number {
            0 => Direction::HostToHost,
            1 => Direction::HostToDevice,
            2 => Direction::DeviceToHost,
            3 => Direction::DeviceToDevice,
            4 => Direction::Default,
            _ => {
                let detail = format!("kind = {number}: directions are 0 to 4");
                return Err(Failure::new(Code::InvalidMemcpyDirection, detail));
            }
        })
    }
}

#[derive(Clone, Copy)]
enum Side {
    Host,
    Device,
    Any,
}

/// A rectangle of bytes: `rows` rows of `width` bytes, `pitch` bytes apart.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// First byte.
    pub base: *mut u8,
    /// Bytes from row to row.
    pub pitch: usize,
}

// SAFETY: an address; whoever copies promises that the bytes are there.
unsafe impl Send for Rows {}

fn check(what: &str, addr: *const u8, bytes: usize, side: Side) -> Result<()> {
    let bad = |why: String| Err(Failure::new(Code::InvalidValue, format!("{what} = {addr:p}: {why}")));
    if addr.is_null() {
        return bad(format!("NULL for {bytes} bytes"));
    }
    match (find(addr as usize), side) {
        (Some(a), _) if bytes > a.len - (addr as usize - a.base) => bad(format!(
            "{bytes} bytes from here end after the allocation of {} bytes at {:#x}",
            a.len, a.base
        )),
        (Some(a), Side::Host) if matches!(a.kind, Kind::Device | Kind::Graph) => {
            bad("device memory where the direction says host memory".into())
        }
        (None, Side::Device) if !dushmem_os::machine::in_loaded_object(addr as usize, bytes) => {
            bad("not device memory (not allocated by a runtime call, or freed), but the direction says so"
                .into())
        }
        _ => Ok(()),
    }
}

/// Checks a copy of `rows` rows of `width` bytes. True if there is something to copy.
pub fn check_copy(dest: Rows, source: Rows, width: usize, rows: usize, direction: i32) -> Result<bool> {
    let (to, from) = match Direction::from_number(direction)? {
        Direction::HostToHost => (Side::Host, Side::Host),
        Direction::HostToDevice => (Side::Device, Side::Host),
        Direction::DeviceToHost => (Side::Host, Side::Device),
        Direction::DeviceToDevice => (Side::Device, Side::Device),
        Direction::Default => (Side::Any, Side::Any),
    };
    if width == 0 || rows == 0 {
        return Ok(false);
    }
    check("dst", dest.base, extent("dpitch", dest.pitch, width, rows)?, to)?;
    check("src", source.base, extent("spitch", source.pitch, width, rows)?, from)?;
    Ok(true)
}

/// Checks a fill. True if there is something to fill.
pub fn check_fill(dest: Rows, width: usize, rows: usize) -> Result<bool> {
    if width == 0 || rows == 0 {
        return Ok(false);
    }
    check("devPtr", dest.base, extent("pitch", dest.pitch, width, rows)?, Side::Device)?;
    Ok(true)
}

fn extent(what: &str, pitch: usize, width: usize, rows: usize) -> Result<usize> {
    if rows > 1 && pitch < width {
        let detail = format!("{what} = {pitch}: less than the width of {width} bytes");
        return Err(Failure::new(Code::InvalidValue, detail));
    }
    let whole = pitch.checked_mul(rows - 1).and_then(|most| most.checked_add(width));
    whole.ok_or_else(|| {
        Failure::new(Code::InvalidValue, format!("{what} = {pitch}: {rows} rows are too many"))
    })
}

/// Copies; the two may overlap.
///
/// # Safety
/// [`check_copy`] accepted the rectangles, and host memory among them is valid.
pub unsafe fn copy(dest: Rows, source: Rows, width: usize, rows: usize) {
    for row in 0..rows {
        // SAFETY: as the caller promises.
        unsafe { source.base.add(row * source.pitch).copy_to(dest.base.add(row * dest.pitch), width) };
    }
}

/// Fills with a byte.
///
/// # Safety
/// [`check_fill`] accepted the rectangle.
pub unsafe fn fill(dest: Rows, value: u8, width: usize, rows: usize) {
    for row in 0..rows {
        // SAFETY: as the caller promises.
        unsafe { dest.base.add(row * dest.pitch).write_bytes(value, width) };
    }
}

//! Virtual memory management.
use crate::call::{get, set};
use crate::capture::forbid;
use crate::code::{self, Out};
use crate::context::device;
use crate::handles::Table;
use crate::knobs::KNOBS;
use crate::memory::{self, Allocation, GRANULE, Kind};
use std::ffi::c_void;
use std::os::fd::{AsFd, BorrowedFd, IntoRawFd};

/// `CUmemLocation`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Location {
    kind: u32,
    id: i32,
}

/// `CUmemAllocationProp`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Properties {
    kind: u32,
    handles: u32,
    location: Location,
    windows: usize,
    flags: [u8; 8],
}

/// `CUmemAccessDesc`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Access {
    location: Location,
    flags: u32,
}

const PINNED: u32 = 1;
const DEVICE: u32 = 1;
const FILE_DESCRIPTOR: u32 = 1;
const READ_WRITE: u32 = 3;

static HANDLES: Table<std::sync::Arc<Allocation>> = Table::new();

fn supported() -> Out {
    if KNOBS.vmm { Ok(()) } else { Err(code::NOT_SUPPORTED) }
}

fn whole(bytes: usize) -> Out {
    if bytes > 0 && bytes.is_multiple_of(GRANULE) { Ok(()) } else { Err(code::INVALID_VALUE) }
}

fn check(properties: &Properties) -> Out<i32> {
    let Properties { kind, handles, location, .. } = *properties;
    if kind != PINNED || location.kind != DEVICE || handles & !FILE_DESCRIPTOR != 0 {
        return Err(if handles & !0xf != 0 { code::INVALID_VALUE } else { code::NOT_SUPPORTED });
    }
    device(location.id)?;
    Ok(location.id)
}

driver! {
    fn cuMemAddressReserve(found: *mut usize, bytes: usize, align: usize, hint: usize, flags: u64) {
        supported()?;
        whole(bytes)?;
        if found.is_null() || flags != 0 || align != 0 && !align.is_power_of_two() {
            return Err(code::INVALID_VALUE);
        }
        let hint = (hint != 0).then_some(hint);
        set(found, memory::write(|spaces| spaces.reserve(hint, bytes, align, Kind::Reserved))?)
    }

    fn cuMemAddressFree(at: usize, bytes: usize) {
        supported()?;
        memory::write(|spaces| {
            let space = spaces.at(at).filter(|space| space.kind == Kind::Reserved && space.len() == bytes);
            match space {
                Some(space) if space.chunks.is_empty() => {
                    spaces.remove(at);
                    Ok(())
                }
                _ => Err(code::INVALID_VALUE),
            }
        })
    }

    fn cuMemGetAllocationGranularity(found: *mut usize, properties: *const Properties, option: u32) {
        supported()?;
        check(&get(properties)?)?;
        if option > 1 {
            return Err(code::INVALID_VALUE);
        }
        set(found, GRANULE)
    }

    fn cuMemCreate(found: *mut usize, bytes: usize, properties: *const Properties, flags: u64) {
        supported()?;
        forbid()?;
        let properties = get(properties)?;
        let device = check(&properties)?;
        whole(bytes)?;
        if found.is_null() || flags != 0 {
            return Err(code::INVALID_VALUE);
        }
        let exportable = properties.handles & FILE_DESCRIPTOR != 0;
        set(found, HANDLES.add(Allocation::new(bytes, device, exportable, true)?.into()))
    }

    fn cuMemRelease(handle: usize) {
        supported()?;
        HANDLES.remove(handle, code::INVALID_VALUE).map(drop)
    }

    fn cuMemMap(at: usize, bytes: usize, offset: usize, handle: usize, flags: u64) {
        supported()?;
        forbid()?;
        let memory = HANDLES.get(handle, code::INVALID_VALUE)?;
        whole(bytes)?;
        if offset != 0 || flags != 0 || bytes > memory.len || !at.is_multiple_of(GRANULE) {
            return Err(code::INVALID_VALUE);
        }
        memory::write(|spaces| match spaces.find_mut(at) {
            Some((base, space)) if space.kind == Kind::Reserved => space.map(at - base, bytes, (*memory).clone(), 0),
            _ => Err(code::INVALID_VALUE),
        })
    }

    fn cuMemUnmap(at: usize, bytes: usize) {
        supported()?;
        memory::write(|spaces| match spaces.find_mut(at) {
            Some((base, space)) if space.kind == Kind::Reserved => space.unmap(at - base, bytes),
            _ => Err(code::INVALID_VALUE),
        })
    }

    fn cuMemSetAccess(at: usize, bytes: usize, who: *const Access, count: usize) {
        supported()?;
        for i in 0..count {
            let Access { location, flags } = get(who.wrapping_add(i))?;
            if location.kind != DEVICE || ![0, 1, READ_WRITE].contains(&flags) {
                return Err(code::INVALID_VALUE);
            }
            device(location.id)?;
            memory::write(|spaces| match spaces.find_mut(at) {
                Some((base, space)) if space.kind == Kind::Reserved => {
                    space.set_access(at - base, bytes, location.id, flags == READ_WRITE)
                }
                _ => Err(code::INVALID_VALUE),
            })?;
        }
        Ok(())
    }

    fn cuMemExportToShareableHandle(found: *mut c_void, handle: usize, kind: u32, flags: u64) {
        supported()?;
        let memory = HANDLES.get(handle, code::INVALID_VALUE)?;
        if found.is_null() || kind != FILE_DESCRIPTOR || flags != 0 || !memory.exportable {
            return Err(code::INVALID_VALUE);
        }
        let fd = memory.fd.try_clone().map_err(|_| code::OPERATING_SYSTEM)?;
        set(found.cast::<i32>(), fd.into_raw_fd())
    }

    fn cuMemImportFromShareableHandle(found: *mut usize, handle: *mut c_void, kind: u32) {
        supported()?;
        forbid()?;
        let number = handle as isize as i32;
        if found.is_null() || kind != FILE_DESCRIPTOR || number < 0 {
            return Err(code::INVALID_VALUE);
        }
        let physical = memory::device_of_file(&format!("/proc/self/fd/{number}"))?;
        // SAFETY: open, as the line above found; it stays the caller's.
        let file = unsafe { BorrowedFd::borrow_raw(number) }.as_fd().try_clone_to_owned();
        let file = std::fs::File::from(file.map_err(|_| code::OPERATING_SYSTEM)?);
        let len = file.metadata().map_err(|_| code::OPERATING_SYSTEM)?.len() as usize;
        set(found, HANDLES.add(Allocation::imported(file.into(), len, physical, true).into()))
    }

    fn cuMemRetainAllocationHandle(found: *mut usize, at: usize) {
        supported()?;
        let memory = memory::read(|spaces| {
            let (base, space) = spaces.find(at)?;
            let (start, chunk) = space.chunks.range(..=at - base).next_back()?;
            (at - base < start + chunk.len && chunk.memory.virtual_memory).then(|| chunk.memory.clone())
        });
        set(found, HANDLES.add(memory.ok_or(code::INVALID_VALUE)?))
    }
}

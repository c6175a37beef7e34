//! Memory of a device that the driver places, and its sharing by IPC handles.
use crate::call::set;
use crate::capture::forbid;
use crate::code::{self, Out};
use crate::context::current;
use crate::memory::{self, Allocation, GRANULE, Kind};
use crate::peers;
use std::fs::{self, OpenOptions};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

/// `CUipcMemHandle`: where the exporter holds the memory file open.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct IpcHandle {
    magic: u64,
    process: u32,
    fd: i32,
    inode: u64,
    /// By its number on the machine.
    device: u32,
    reserved: [u32; 9],
}

const MAGIC: u64 = u64::from_le_bytes(*b"standin1");
const _: () = assert!(size_of::<IpcHandle>() == 64);

/// Opens the memory file behind a handle.
fn open(handle: &IpcHandle) -> Out<OwnedFd> {
    let path = format!("/proc/{}/fd/{}", handle.process, handle.fd);
    if memory::device_of_file(&path)? != handle.device as usize {
        return Err(code::INVALID_VALUE);
    }
    let file = OpenOptions::new().read(true).write(true).open(path).map_err(|_| code::INVALID_VALUE)?;
    let inode = file.metadata().map_err(|_| code::INVALID_VALUE)?.ino();
    if inode == handle.inode { Ok(file.into()) } else { Err(code::INVALID_VALUE) }
}

driver! {
    fn cuMemAlloc_v2(found: *mut usize, bytes: usize) {
        let context = current()?;
        forbid()?;
        if found.is_null() || bytes == 0 {
            return Err(code::INVALID_VALUE);
        }
        let len = bytes.checked_next_multiple_of(GRANULE).ok_or(code::OUT_OF_MEMORY)?;
        let memory = Allocation::new(len, context.device, false, false)?;
        set(found, memory::write(|spaces| spaces.place(memory, context.device, Kind::Allocated(context.handle)))?)
    }

    /// Waits for all work of the context, as the driver's does.
    fn cuMemFree_v2(at: usize) {
        let context = current()?;
        forbid()?;
        if at == 0 {
            return Ok(());
        }
        for stream in context.streams.all() {
            if let Some(count) = stream.pending() {
                stream.wait(count)?;
            }
        }
        memory::write(|spaces| match spaces.at(at).map(|space| space.kind) {
            Some(Kind::Allocated(_)) => {
                spaces.remove(at);
                Ok(())
            }
            _ => Err(code::INVALID_VALUE),
        })
    }

    fn cuIpcGetMemHandle(found: *mut IpcHandle, at: usize) {
        current()?;
        let (fd, device) = memory::read(|spaces| {
            let (_, space) = spaces.find(at).filter(|(_, space)| matches!(space.kind, Kind::Allocated(_)))?;
            let memory = &space.chunks.get(&0)?.memory;
            Some((memory.fd.as_raw_fd(), memory.physical as u32))
        })
        .ok_or(code::INVALID_VALUE)?;
        let data = fs::metadata(format!("/proc/self/fd/{fd}")).map_err(|_| code::OPERATING_SYSTEM)?;
        let process = std::process::id();
        set(found, IpcHandle { magic: MAGIC, process, fd, inode: data.ino(), device, reserved: [0; 9] })
    }

    fn cuIpcOpenMemHandle_v2(found: *mut usize, handle: IpcHandle, flags: u32) {
        let context = current()?;
        forbid()?;
        if found.is_null() || flags > 1 || handle.magic != MAGIC {
            return Err(code::INVALID_VALUE);
        }
        if handle.process == std::process::id() {
            return Err(code::INVALID_CONTEXT);
        }
        let fd = open(&handle)?;
        if !peers::reaches(context.device, handle.device as usize) {
            return Err(code::PEER_ACCESS_UNSUPPORTED);
        }
        memory::write(|spaces| {
            let same = spaces.iter().find_map(|(base, space)| match space.kind {
                Kind::Opened { inode, .. } if inode == handle.inode => Some(base),
                _ => None,
            });
            if let Some(base) = same {
                if let Some(Kind::Opened { times, .. }) = spaces.at(base).map(|space| &mut space.kind) {
                    *times += 1;
                }
                return set(found, base);
            }
            let len = fs::File::from(fd.try_clone().map_err(|_| code::OPERATING_SYSTEM)?);
            let len = len.metadata().map_err(|_| code::OPERATING_SYSTEM)?.len() as usize;
            let memory = Allocation::imported(fd, len, handle.device as usize, false);
            set(found, spaces.place(memory, context.device, Kind::Opened { times: 1, inode: handle.inode })?)
        })
    }

    fn cuIpcCloseMemHandle(at: usize) {
        current()?;
        memory::write(|spaces| {
            let left = match spaces.at(at).map(|space| &mut space.kind) {
                Some(Kind::Opened { times, .. }) => {
                    *times -= 1;
                    *times
                }
                _ => return Err(code::INVALID_VALUE),
            };
            if left == 0 {
                spaces.remove(at);
            }
            Ok(())
        })
    }
}

//! What an address names, and where its bytes are.
use crate::code::{self, Out};
use crate::memory::{self, Kind};
use crate::{peers, pinned};

/// Whose memory it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Device,
    Pinned,
    Pageable,
}

pub fn place(address: usize) -> Place {
    if memory::read(|spaces| spaces.find(address).is_some()) {
        Place::Device
    } else if pinned::find(address).is_some() {
        Place::Pinned
    } else {
        Place::Pageable
    }
}

/// A range that a copy of a device reads or writes: of a device or of the host. What was mapped has to be mapped for it;
/// all else may be any device's, since the driver finds a way.
pub fn for_copy(address: usize, len: usize, device: i32) -> Out<*mut u8> {
    let found = memory::read(|spaces| {
        spaces.view(address, len, |kind, access| kind != Kind::Reserved || access & 1 << device != 0)
    });
    found.unwrap_or(Ok(address as *mut u8))
}

/// A range that a kernel or a memory operation of a device uses: mapped with access for it, allocated where it may reach,
/// or pinned.
pub fn for_device(address: usize, len: usize, device: i32) -> Out<*mut u8> {
    let reaches = |kind, access: u64| {
        access & 1 << device != 0
            || matches!(kind, Kind::Allocated(context) if peers::is_enabled(device, context))
    };
    if let Some(found) = memory::read(|spaces| spaces.view(address, len, reaches)) {
        return found;
    }
    if pinned::covers(address, len) { Ok(address as *mut u8) } else { Err(code::ILLEGAL_ADDRESS) }
}

/// Where the program may touch the byte at an address of device memory, for tests; 0 where there is none.
#[unsafe(no_mangle)]
pub extern "C" fn standin_reach(address: usize) -> usize {
    memory::read(|spaces| spaces.view(address, 1, |_, _| true))
        .and_then(Result::ok)
        .map_or(0, |at| at as usize)
}

/// Whether a call may name this range in a copy; of pageable memory, that it is there at all.
pub fn check_copy(address: usize, len: usize, device: i32) -> Out<Place> {
    let place = place(address);
    let good = match place {
        Place::Device => for_copy(address, len, device).is_ok(),
        // A driver knows the range that the first byte lies in, and takes no copy that goes on beyond it.
        Place::Pinned => pinned::holds(address, len),
        Place::Pageable => address != 0 && dushmem_os::memory::is_mapped(address, len),
    };
    if good { Ok(place) } else { Err(code::INVALID_VALUE) }
}

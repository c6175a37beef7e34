//! Memory of the devices, and the address space that it is mapped in.
//!
//! The program's addresses are reserved and inaccessible; the bytes are reached through a second mapping, the `view`,
//! at a distance that is constant within a reservation.
use crate::code::{self, Out};
use crate::context::{DEVICES, device};
use crate::knobs::KNOBS;
use crate::peers;
use dushmem_os::memory::{self, Mapping};
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

/// Allocations are multiples of this, and begin at multiples.
pub const GRANULE: usize = 2 << 20;
/// As memory files of devices are called.
pub const LABEL: &str = "cuda-standin";
/// Bytes of junk at the start of new memory.
const JUNK: usize = 64 << 10;

/// Allocations of this process that live.
pub static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Physical memory of a device.
pub struct Allocation {
    pub fd: OwnedFd,
    pub len: usize,
    /// The device that it is memory of, by its number on the machine: a process may not see it.
    pub physical: usize,
    /// Made here, rather than imported: counts against the device's memory.
    own: bool,
    /// May be exported by descriptor.
    pub exportable: bool,
    /// From cuMemCreate.
    pub virtual_memory: bool,
}

impl Allocation {
    pub fn new(len: usize, device_number: i32, exportable: bool, virtual_memory: bool) -> Out<Allocation> {
        let made_on = device(device_number)?;
        let (used, physical) = (&made_on.used, made_on.physical);
        let fits = |used: usize| used.checked_add(len).filter(|sum| *sum <= KNOBS.memory);
        used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).map_err(|_| code::OUT_OF_MEMORY)?;
        let made = memory::memfd(&format!("{LABEL}-{physical}"))
            .and_then(|fd| memory::grow(&fd, len as u64).map(|()| fd));
        let made = made.and_then(|fd| Mapping::shared(&fd, 0, len.min(JUNK)).map(|start| (fd, start)));
        let Ok((fd, start)) = made else {
            used.fetch_sub(len, Ordering::Relaxed);
            return Err(code::OPERATING_SYSTEM);
        };
        // SAFETY: a fresh mapping of that length.
        unsafe { start.base().write_bytes(0xdb, start.len()) };
        LIVE.fetch_add(1, Ordering::Relaxed);
        Ok(Allocation { fd, len, physical, own: true, exportable, virtual_memory })
    }

    pub fn imported(fd: OwnedFd, len: usize, physical: usize, virtual_memory: bool) -> Allocation {
        LIVE.fetch_add(1, Ordering::Relaxed);
        Allocation { fd, len, physical, own: false, exportable: virtual_memory, virtual_memory }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::Relaxed);
        if self.own
            && let Some(device) = DEVICES.iter().find(|device| device.physical == self.physical)
        {
            device.used.fetch_sub(self.len, Ordering::Relaxed);
        }
    }
}

/// Whose memory the file is that a link of /proc leads to.
pub fn device_of_file(link: &str) -> Out<usize> {
    let number = fs::read_link(link).ok().and_then(|name| {
        let name = name.to_str()?.strip_prefix("/memfd:")?.strip_prefix(LABEL)?.strip_prefix('-')?.to_owned();
        name.split(' ').next()?.parse().ok()
    });
    number.ok_or(code::INVALID_VALUE)
}

/// Physical memory in a reservation.
pub struct Chunk {
    pub len: usize,
    pub memory: Arc<Allocation>,
    /// A bit a device that may access it.
    pub access: u64,
}

/// How a reservation came to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Reserved,
    /// cuMemAlloc, and the context's handle.
    Allocated(usize),
    /// A module's globals.
    Globals,
    /// cuIpcOpenMemHandle: how often, and the file's number.
    Opened {
        times: usize,
        inode: u64,
    },
}

/// Reserved address space.
pub struct Space {
    user: Mapping,
    view: Option<Mapping>,
    pub kind: Kind,
    pub chunks: BTreeMap<usize, Chunk>,
}

impl Space {
    fn new(at: Option<usize>, len: usize, align: usize, kind: Kind) -> Out<Space> {
        let align = align.max(GRANULE);
        let at = at.filter(|at| KNOBS.hints && at.is_multiple_of(align));
        let user = match at.map(|at| Mapping::reserve(Some(at), len)) {
            Some(Ok(user)) => user,
            _ => Mapping::reserve_aligned(len, align).map_err(|_| code::OUT_OF_MEMORY)?,
        };
        let view = match KNOBS.host_access {
            true => None,
            false => Some(Mapping::reserve(None, len).map_err(|_| code::OUT_OF_MEMORY)?),
        };
        Ok(Space { user, view, kind, chunks: BTreeMap::new() })
    }

    fn view(&self) -> &Mapping {
        self.view.as_ref().unwrap_or(&self.user)
    }

    pub fn len(&self) -> usize {
        self.user.len()
    }

    /// Maps memory at an offset, where there is none.
    pub fn map(&mut self, at: usize, len: usize, memory: Arc<Allocation>, access: u64) -> Out {
        let below = self.chunks.range(..at + len).next_back();
        if at + len > self.len() || below.is_some_and(|(start, chunk)| start + chunk.len > at) {
            return Err(code::INVALID_VALUE);
        }
        self.view().place(at, memory.fd.as_fd(), 0, len).map_err(|_| code::OPERATING_SYSTEM)?;
        self.chunks.insert(at, Chunk { len, memory, access });
        Ok(())
    }

    /// The chunks of a range that begins and ends with one, without holes.
    fn whole(&self, at: usize, len: usize) -> Out<Vec<usize>> {
        let found: Vec<usize> = self.chunks.range(at..at + len).map(|(start, _)| *start).collect();
        let mut next = at;
        for start in &found {
            if *start != next {
                return Err(code::INVALID_VALUE);
            }
            next = start + self.chunks[start].len;
        }
        if next == at + len && len > 0 { Ok(found) } else { Err(code::INVALID_VALUE) }
    }

    pub fn unmap(&mut self, at: usize, len: usize) -> Out {
        for start in self.whole(at, len)? {
            let chunk = self.chunks.remove(&start).expect("found above");
            self.view().clear(start, chunk.len).map_err(|_| code::OPERATING_SYSTEM)?;
        }
        Ok(())
    }

    /// Refuses access for a device without a way to the memory.
    pub fn set_access(&mut self, at: usize, len: usize, device: i32, on: bool) -> Out {
        let chunks = self.whole(at, len)?;
        if on && chunks.iter().any(|start| !peers::reaches(device, self.chunks[start].memory.physical)) {
            return Err(code::PEER_ACCESS_UNSUPPORTED);
        }
        for start in chunks {
            let chunk = self.chunks.get_mut(&start).expect("found above");
            let bit = 1 << device;
            chunk.access = if on { chunk.access | bit } else { chunk.access & !bit };
        }
        Ok(())
    }

    /// Whether all of a range is mapped, and so that it may be used.
    fn allows(&self, at: usize, len: usize, may: impl Fn(Kind, u64) -> bool) -> bool {
        let mut next = at;
        let end = at + len.max(1);
        while next < end {
            match self.chunks.range(..=next).next_back() {
                Some((start, chunk)) if start + chunk.len > next && may(self.kind, chunk.access) => {
                    next = start + chunk.len;
                }
                _ => return false,
            }
        }
        true
    }

    /// Where the stand-in finds a byte.
    pub fn seen(&self, at: usize) -> *mut u8 {
        self.view().base().wrapping_add(at)
    }
}

/// All reservations, by first address.
#[derive(Default)]
pub struct Spaces(BTreeMap<usize, Space>);

static SPACES: RwLock<Spaces> = RwLock::new(Spaces(BTreeMap::new()));

impl Spaces {
    /// Reserves, and gives the first address.
    pub fn reserve(&mut self, at: Option<usize>, len: usize, align: usize, kind: Kind) -> Out<usize> {
        let space = Space::new(at, len, align, kind)?;
        let base = space.user.base() as usize;
        self.0.insert(base, space);
        Ok(base)
    }

    /// Reserves for one piece of memory that is mapped at once, for a device of this process.
    pub fn place(&mut self, memory: Allocation, device: i32, kind: Kind) -> Out<usize> {
        let (len, access) = (memory.len, 1 << device);
        let base = self.reserve(None, len, GRANULE, kind)?;
        let mapped = self.0.get_mut(&base).expect("reserved above").map(0, len, Arc::new(memory), access);
        mapped.inspect_err(|_| drop(self.0.remove(&base)))?;
        Ok(base)
    }

    /// The reservation that begins there.
    pub fn at(&mut self, base: usize) -> Option<&mut Space> {
        self.0.get_mut(&base)
    }

    pub fn remove(&mut self, base: usize) -> Option<Space> {
        self.0.remove(&base)
    }

    pub fn retain(&mut self, keep: impl Fn(&Space) -> bool) {
        self.0.retain(|_, space| keep(space));
    }

    pub fn iter(&self) -> impl Iterator<Item = (usize, &Space)> {
        self.0.iter().map(|(base, space)| (*base, space))
    }

    /// The reservation that an address lies in, and where.
    pub fn find(&self, address: usize) -> Option<(usize, &Space)> {
        let (base, space) = self.0.range(..=address).next_back()?;
        (address - base < space.len()).then_some((*base, space))
    }

    pub fn find_mut(&mut self, address: usize) -> Option<(usize, &mut Space)> {
        let (base, space) = self.0.range_mut(..=address).next_back()?;
        (address - base < space.len()).then_some((*base, space))
    }

    /// Where the stand-in finds a range, if by the kind of its reservation and the bits of the devices that have access it
    /// may be used. `None`: the address lies in no reservation.
    pub fn view(&self, address: usize, len: usize, may: impl Fn(Kind, u64) -> bool) -> Option<Out<*mut u8>> {
        let (base, space) = self.find(address)?;
        let at = address - base;
        let inside = len <= space.len() - at && space.allows(at, len, may);
        Some(if inside { Ok(space.seen(at)) } else { Err(code::ILLEGAL_ADDRESS) })
    }

    /// Zeroes a large range by giving its pages back. False where it isn't made of whole pages of one piece of memory.
    pub fn clear(&self, address: usize, len: usize) -> bool {
        let pages =
            address.is_multiple_of(memory::page()) && len.is_multiple_of(memory::page()) && len >= 1 << 20;
        let Some((base, space)) = self.find(address).filter(|_| pages) else { return false };
        let Some((start, chunk)) = space.chunks.range(..=address - base).next_back() else { return false };
        let at = address - base - start;
        at + len <= chunk.len && memory::punch(&chunk.memory.fd, at as u64, len as u64).is_ok()
    }

    pub fn mappings(&self) -> usize {
        self.0.values().map(|space| space.chunks.len()).sum()
    }
}

pub fn read<T>(f: impl FnOnce(&Spaces) -> T) -> T {
    f(&SPACES.read().expect("no panic"))
}

pub fn write<T>(f: impl FnOnce(&mut Spaces) -> T) -> T {
    f(&mut SPACES.write().expect("no panic"))
}

//! Memory of a device: chunks in reserved address space, whose descriptors other processes import; where the driver
//! can't make these, one allocation that lies anywhere, and handles of the driver's own.
use crate::context::Context;
use crate::error::Failure;
use crate::types::{self, *};
use dushmem_core::device::{DeviceMemory, Export};
use dushmem_core::error::{Error, Result};
use dushmem_core::size::Size;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// Address space that the PE has reserved; given back when nothing uses it any more.
#[derive(Debug)]
pub struct Spaces {
    context: Arc<Context>,
    ranges: RwLock<Vec<Range<usize>>>,
}

impl Spaces {
    /// None yet.
    pub fn new(context: &Arc<Context>) -> Spaces {
        Spaces { context: Arc::clone(context), ranges: RwLock::default() }
    }

    /// Reserves `bytes` bytes, at `at` if that is free. Gives where.
    pub fn reserve(&self, at: Option<usize>, bytes: usize) -> Result<usize> {
        let driver = self.context.driver();
        let _relaxed = self.context.enter_relaxed()?;
        let mut found = 0;
        let hint = at.unwrap_or(0) as Address;
        // SAFETY: a place for an address. The driver takes free address space only.
        unsafe { driver.mem_address_reserve(&raw mut found, bytes, 0, hint, 0) }.map_err(|why| {
            why.doing(format_args!(
                "reserving {} of address space for the device heaps; DUSHMEM_DEVICE_HEAP_SIZE makes it smaller",
                Size::show(bytes as u64)
            ))
        })?;
        let range = found as usize..found as usize + bytes;
        self.ranges.write().unwrap_or_else(PoisonError::into_inner).push(range);
        Ok(found as usize)
    }

    /// Whether an address lies in it.
    #[inline]
    pub fn contain(&self, address: usize) -> bool {
        let ranges = self.ranges.read().unwrap_or_else(PoisonError::into_inner);
        ranges.iter().any(|range| range.contains(&address))
    }
}

impl Drop for Spaces {
    fn drop(&mut self) {
        if self.context.is_forked() {
            return;
        }
        let ranges = core::mem::take(self.ranges.get_mut().unwrap_or_else(PoisonError::into_inner));
        left_over().extend(ranges);
        give_back(&self.context);
    }
}

/// Address space that nobody needs any more, but in which another PE of this process may still have memory.
static LEFT_OVER: Mutex<Vec<Range<usize>>> = Mutex::new(Vec::new());

fn left_over() -> MutexGuard<'static, Vec<Range<usize>>> {
    LEFT_OVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives back what is left over, as far as nothing is mapped in it: the driver refuses the rest.
fn give_back(context: &Context) {
    let mut left = left_over();
    if left.is_empty() {
        return;
    }
    let Ok(_relaxed) = context.enter_relaxed() else { return };
    left.retain(|range| {
        // SAFETY: reserved by this library, and taken from its owner.
        unsafe { context.driver().mem_address_free(range.start as Address, range.len()) }.is_err()
    });
}

/// What memory of the device is made of.
pub fn properties(device: types::Device) -> AllocationProp {
    AllocationProp {
        kind: ALLOCATION_PINNED,
        handle_types: HANDLE_FD,
        location: Location { kind: LOCATION_DEVICE, id: device },
        windows: core::ptr::null_mut(),
        flags: [0; 8],
    }
}

/// Chunks are multiples of this.
pub fn granule(context: &Context) -> Result<usize> {
    let mut bytes = 0;
    let prop = properties(context.device());
    // SAFETY: a place for a number, and the properties.
    unsafe {
        context.driver().mem_get_allocation_granularity(&raw mut bytes, &raw const prop, GRANULARITY_MINIMUM)
    }
    .map_err(|why| why.doing("asking for the granularity of device memory"))?;
    Ok(bytes)
}

/// A chunk of a device's memory, mapped.
#[derive(Debug)]
pub struct Chunk {
    spaces: Arc<Spaces>,
    allocation: Allocation,
    at: usize,
    bytes: usize,
    /// Made at the first export, since that takes the driver most of the time of all that makes a chunk.
    exported: Mutex<Option<OwnedFd>>,
}

impl Chunk {
    /// New memory of the device at `at`, in reserved address space.
    pub fn new(spaces: &Arc<Spaces>, devices: &[types::Device], at: usize, bytes: usize) -> Result<Chunk> {
        let context = &spaces.context;
        let _relaxed = context.enter_relaxed()?;
        let (mut allocation, prop) = (0, properties(context.device()));
        // SAFETY: a place for a handle, and the properties.
        unsafe { context.driver().mem_create(&raw mut allocation, bytes, &raw const prop, 0) }
            .map_err(|why| no_memory(context, why, bytes))?;
        Chunk::map(spaces, allocation, devices, at, bytes)
    }

    /// Memory of a peer, whose descriptor it has exported.
    pub fn import(
        spaces: &Arc<Spaces>,
        fd: &OwnedFd,
        devices: &[types::Device],
        at: usize,
        bytes: usize,
    ) -> Result<Chunk> {
        let context = &spaces.context;
        let _relaxed = context.enter_relaxed()?;
        let mut allocation = 0;
        // The driver takes the number itself where it takes an address elsewhere, and keeps no hold of it.
        let number = fd.as_raw_fd() as usize as *mut core::ffi::c_void;
        // SAFETY: a place for a handle, and an open descriptor.
        unsafe { context.driver().mem_import_from_shareable_handle(&raw mut allocation, number, HANDLE_FD) }
            .map_err(|why| why.doing("importing a peer's device memory"))?;
        Chunk::map(spaces, allocation, devices, at, bytes)
    }

    fn map(
        spaces: &Arc<Spaces>,
        allocation: Allocation,
        devices: &[types::Device],
        at: usize,
        bytes: usize,
    ) -> Result<Chunk> {
        let driver = spaces.context.driver();
        let access: Vec<AccessDesc> = devices
            .iter()
            .map(|&id| AccessDesc {
                location: Location { kind: LOCATION_DEVICE, id },
                flags: ACCESS_READ_WRITE,
            })
            .collect();
        // SAFETY: an own allocation, at a place that the caller has reserved and not used.
        unsafe {
            if let Err(why) = driver.mem_map(at as Address, bytes, 0, allocation, 0) {
                let _ = driver.mem_release(allocation);
                return Err(why.doing(format_args!("mapping {bytes} bytes of device memory at {at:#x}")));
            }
            if let Err(why) = driver.mem_set_access(at as Address, bytes, access.as_ptr(), access.len()) {
                let _ = driver.mem_unmap(at as Address, bytes);
                let _ = driver.mem_release(allocation);
                return Err(
                    why.doing(format_args!("giving GPU {devices:?} access to device memory at {at:#x}"))
                );
            }
        }
        Ok(Chunk { spaces: Arc::clone(spaces), allocation, at, bytes, exported: Mutex::new(None) })
    }
}

/// What users have to know where the device has no memory left.
fn no_memory(context: &Context, why: Failure, bytes: usize) -> Error {
    let show = |bytes: usize| Size::show(bytes as u64);
    let (free, total) = free_memory(context).unwrap_or((0, 0));
    let name = crate::facts::name(context.driver(), context.device());
    why.doing(format_args!(
        "{} of device memory on {name}, of which {} of {} are free; DUSHMEM_DEVICE_HEAP_SIZE bounds what a PE asks for",
        show(bytes),
        show(free),
        show(total)
    ))
}

/// Free and all memory of the device, in bytes.
pub fn free_memory(context: &Context) -> Result<(usize, usize)> {
    let _entered = context.enter()?;
    let (mut free, mut total) = (0, 0);
    // SAFETY: places for two numbers.
    unsafe { context.driver().mem_get_info(&raw mut free, &raw mut total) }
        .map_err(|why| why.doing("asking for the free memory of the device"))?;
    Ok((free, total))
}

impl DeviceMemory for Chunk {
    fn base(&self) -> usize {
        self.at
    }

    fn len(&self) -> usize {
        self.bytes
    }

    fn export(&self) -> Result<Export> {
        let mut exported = self.exported.lock().unwrap_or_else(PoisonError::into_inner);
        if exported.is_none() {
            let context = &self.spaces.context;
            let _relaxed = context.enter_relaxed()?;
            let mut number = -1i32;
            // SAFETY: a place for a descriptor, which is this process's own from then on.
            let fd = unsafe {
                context
                    .driver()
                    .mem_export_to_shareable_handle((&raw mut number).cast(), self.allocation, HANDLE_FD, 0)
                    .map_err(|why| why.doing("exporting device memory to the other PEs"))?;
                OwnedFd::from_raw_fd(number)
            };
            dushmem_os::socket::close_on_exec(&fd)
                .map_err(|why| system("a descriptor of device memory", &why))?;
            *exported = Some(fd);
        }
        let copy = exported.as_ref().map(OwnedFd::try_clone).transpose();
        match copy.map_err(|why| system("a descriptor of device memory", &why))? {
            Some(fd) => Ok(Export::Fd(fd)),
            None => Err(Error::Device("device memory has no descriptor".into())),
        }
    }
}

fn system(what: &str, why: &std::io::Error) -> Error {
    Error::System { what: what.into(), why: dushmem_os::reason::reason(why) }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let context = &self.spaces.context;
        if context.is_forked() {
            return;
        }
        let Ok(_relaxed) = context.enter_relaxed() else { return };
        // SAFETY: mapped by this. Neither waits for kernels: the owner has seen to it that nobody uses it.
        unsafe {
            let _ = context.driver().mem_unmap(self.at as Address, self.bytes);
            let _ = context.driver().mem_release(self.allocation);
        }
        give_back(context);
    }
}

/// Memory where there are no chunks: one allocation, where the driver likes.
#[derive(Debug)]
pub struct Plain {
    context: Arc<Context>,
    at: Address,
    bytes: usize,
    imported: bool,
}

impl Plain {
    /// New memory of the device.
    pub fn new(context: &Arc<Context>, bytes: usize) -> Result<Plain> {
        let _relaxed = context.enter_relaxed()?;
        let mut at = 0;
        // SAFETY: a place for an address.
        unsafe { context.driver().mem_alloc(&raw mut at, bytes) }
            .map_err(|why| no_memory(context, why, bytes))?;
        Ok(Plain { context: Arc::clone(context), at, bytes, imported: false })
    }

    /// Memory of a peer, from what it exported.
    pub fn import(context: &Arc<Context>, handle: &[u8], bytes: usize) -> Result<Plain> {
        let _relaxed = context.enter_relaxed()?;
        let handle: [u8; 64] = handle.try_into().map_err(|_| {
            Error::Device("a heap of another kind of device can't be imported by CUDA".into())
        })?;
        let mut at = 0;
        // SAFETY: a place for an address, and a handle.
        unsafe {
            context.driver().ipc_open_mem_handle(&raw mut at, IpcMemHandle(handle), IPC_LAZY_PEER_ACCESS)
        }
        .map_err(|why| why.doing("importing a peer's device memory"))?;
        Ok(Plain { context: Arc::clone(context), at, bytes, imported: true })
    }
}

impl DeviceMemory for Plain {
    fn base(&self) -> usize {
        self.at as usize
    }

    fn len(&self) -> usize {
        self.bytes
    }

    fn export(&self) -> Result<Export> {
        let _relaxed = self.context.enter_relaxed()?;
        let mut handle = IpcMemHandle([0; 64]);
        // SAFETY: a place for a handle, and own memory.
        unsafe { self.context.driver().ipc_get_mem_handle(&raw mut handle, self.at) }
            .map_err(|why| why.doing("exporting device memory to the other PEs"))?;
        Ok(Export::Opaque(Box::new(handle.0)))
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        if self.context.is_forked() {
            return;
        }
        let Ok(_relaxed) = self.context.enter_relaxed() else { return };
        // SAFETY: allocated, or opened, by this. Freeing waits for kernels, but the heap goes away at the end only.
        unsafe {
            let _ = match self.imported {
                true => self.context.driver().ipc_close_mem_handle(self.at),
                false => self.context.driver().mem_free(self.at),
            };
        }
    }
}

/// Memory for tables that kernels read: taken bit by bit from chunks of their own, which live as long as the device.
#[derive(Debug, Default)]
pub struct Tables {
    blocks: Mutex<Blocks>,
}

#[derive(Debug, Default)]
struct Blocks {
    /// All of them; tables come from the last.
    all: Vec<Box<dyn DeviceMemory>>,
    used: usize,
}

impl Tables {
    /// `bytes` bytes, from a block of `new(bytes)` where the last has no room. Such a block is zeroed.
    pub fn take(
        &self,
        bytes: usize,
        new: impl FnOnce(usize) -> Result<Box<dyn DeviceMemory>>,
    ) -> Result<usize> {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let room = blocks.all.last().map_or(0, |block| block.len());
        if blocks.used + bytes > room {
            blocks.all.push(new(bytes)?);
            blocks.used = 0;
        }
        let at = blocks.used;
        blocks.used = (at + bytes).next_multiple_of(256);
        Ok(blocks.all.last().map_or(0, |block| block.base()) + at)
    }
}

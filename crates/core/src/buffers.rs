//! Buffers of the program's own that it registers: every memory of the host can be source and destination of
//! transfers as it is, so this only finds mistakes, remembers what a network will have to know, and has a device with
//! memory of its own reach the buffer directly.
use crate::device_heap::DeviceHeap;
use crate::error::{Error, Result};
use crate::world::World;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The registered buffers of a PE, by first address.
#[derive(Debug, Default)]
pub(crate) struct Buffers(Mutex<BTreeMap<usize, Buffer>>);

/// A registered buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    len: usize,
    /// A device reaches it since, and until, it is registered.
    pinned: bool,
}

impl World {
    fn buffers(&self) -> MutexGuard<'_, BTreeMap<usize, Buffer>> {
        self.registered().0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a buffer of the program. Local. Fails for memory that is not there, and for a part of a buffer that
    /// is registered.
    pub fn register_buffer(&self, addr: usize, len: usize) -> Result<()> {
        self.check_alive()?;
        let bad = |why| Err(Error::BadAddress { arg: "addr", addr, why });
        if addr == 0 {
            return Err(Error::NoObject { arg: "addr" });
        }
        let Some(end) = addr.checked_add(len).filter(|_| len > 0) else {
            let why = "a buffer has at least one byte, and ends within the address space";
            return Err(Error::BadValue { arg: "length", value: len as i64, why });
        };
        let mut buffers = self.buffers();
        if buffers.range(..end).next_back().is_some_and(|(start, buffer)| start + buffer.len > addr) {
            return bad("some of the buffer is registered already; unregister that first");
        }
        let device = self.device_heap().map(DeviceHeap::device);
        let on_device = device.is_some_and(|device| device.is_device(addr));
        if !on_device && !dushmem_os::memory::is_mapped(addr, len) {
            return bad("not all of the buffer is memory of this process");
        }
        // What can't be pinned, or is already, is copied as any memory is.
        // SAFETY: the caller unregisters it before it goes away.
        let pinned = !on_device && device.is_some_and(|device| unsafe { device.pin(addr, len) }.is_ok());
        buffers.insert(addr, Buffer { len, pinned });
        Ok(())
    }

    /// Forgets a registered buffer.
    pub fn unregister_buffer(&self, addr: usize) -> Result<()> {
        self.check_alive()?;
        let why = "no registered buffer begins there";
        let buffer = self.buffers().remove(&addr).ok_or(Error::BadAddress { arg: "addr", addr, why })?;
        self.unpin(addr, buffer)
    }

    /// Forgets all registered buffers.
    pub fn unregister_all_buffers(&self) -> Result<()> {
        self.check_alive()?;
        let all = std::mem::take(&mut *self.buffers());
        all.iter().try_for_each(|(&addr, &buffer)| self.unpin(addr, buffer))
    }

    fn unpin(&self, addr: usize, buffer: Buffer) -> Result<()> {
        match self.device_heap().filter(|_| buffer.pinned) {
            Some(heap) => heap.device().unpin(addr),
            None => Ok(()),
        }
    }

    /// The registered buffers: first address, bytes.
    pub fn registered_buffers(&self) -> Vec<(usize, usize)> {
        self.buffers().iter().map(|(&addr, buffer)| (addr, buffer.len)).collect()
    }

    /// The symmetric address of a buffer of the program. Memory of the symmetric heap is its own; other memory of the
    /// host can't be mapped by peers where it is.
    pub fn register_symmetric_buffer(&self, addr: *mut u8, len: usize) -> Result<*mut u8> {
        self.check_alive()?;
        if addr.is_null() {
            return Err(Error::NoObject { arg: "buf_ptr" });
        }
        if len > 0
            && (self.window().in_heap(addr as usize, len)
                || self.device_heap().is_some_and(|heap| heap.contains(addr as usize, len)))
        {
            return Ok(addr);
        }
        Err(Error::NotSupported(format!(
            "buf_ptr = {addr:p} ({len} bytes): memory of the host that other PEs do not map can't become symmetric \
             where it is; allocate the buffer with malloc of this library"
        )))
    }

    /// Ends what [`World::register_symmetric_buffer`] began.
    pub fn unregister_symmetric_buffer(&self, addr: *mut u8, len: usize) -> Result<()> {
        self.check_alive()?;
        if len > 0
            && (self.window().in_heap(addr as usize, len)
                || self.device_heap().is_some_and(|heap| heap.contains(addr as usize, len)))
        {
            return Ok(());
        }
        let why = "not the address and size of a buffer that was made symmetric";
        Err(Error::BadAddress { arg: "mmap_ptr", addr: addr as usize, why })
    }
}

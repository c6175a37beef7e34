//! Memory of the program that the device addresses for a while.
use crate::error::Failure;
use crate::gpu::Gpu;
use crate::types::{HOST_DEVICEMAP, HOST_PORTABLE, errors};
use dushmem_core::error::{Error, Result};
use dushmem_core::size::Size;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A range that is pinned.
#[derive(Clone, Copy, Debug)]
pub struct Pin {
    at: usize,
    bytes: usize,
    /// Somebody else had pinned it before, and ends that.
    theirs: bool,
}

/// The ranges that are pinned.
#[derive(Debug, Default)]
pub struct Pins {
    all: Mutex<Vec<Pin>>,
    /// How many.
    count: AtomicUsize,
}

impl Pins {
    fn with<R>(&self, change: impl FnOnce(&mut MutexGuard<'_, Vec<Pin>>) -> R) -> R {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut all);
        self.count.store(all.len(), Ordering::Release);
        result
    }

    /// How many of `bytes` bytes from `at` on lie on one side of every end of a range: a driver takes no copy from or to
    /// host memory that goes from one into the next.
    pub(crate) fn together(&self, at: usize, bytes: usize) -> usize {
        if self.count.load(Ordering::Acquire) == 0 {
            return bytes;
        }
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let ends = all.iter().flat_map(|pin| [pin.at, pin.at + pin.bytes]);
        ends.filter(|&end| end > at).map(|end| end - at).fold(bytes, usize::min)
    }
}

impl Gpu {
    /// # Safety
    /// The range is mapped until it is unpinned.
    pub(crate) unsafe fn pin_range(&self, at: usize, bytes: usize) -> Result<()> {
        let driver = self.driver();
        let _relaxed = self.context().enter_relaxed()?;
        let start = at as *mut core::ffi::c_void;
        // SAFETY: as the caller promises.
        let theirs = match unsafe { driver.mem_host_register(start, bytes, HOST_PORTABLE | HOST_DEVICEMAP) } {
            Ok(()) => false,
            Err(Failure { code: errors::HOST_MEMORY_ALREADY_REGISTERED, .. }) => true,
            Err(why) => {
                return Err(why.doing(format_args!(
                    "pinning {} of host memory at {at:#x} for the GPU; it has to fit into the machine's memory, and \
                     DUSHMEM_SYMMETRIC_SIZE makes the host heap smaller",
                    Size::show(bytes as u64)
                )));
            }
        };
        let pin = Pin { at, bytes, theirs };
        let mut device = 0;
        // SAFETY: a place for an address, and pinned memory.
        let found = unsafe { driver.mem_host_get_device_pointer(&raw mut device, start, 0) };
        let why = match found {
            Ok(()) if device == at as u64 => {
                self.pins.with(|pins| pins.push(pin));
                return Ok(());
            }
            Ok(()) => Error::NotSupported(format!(
                "{} sees pinned host memory at other addresses than the host does, so heaps can't be shared with it",
                self.facts.name
            )),
            Err(why) => why.doing(format_args!("finding the device's address of host memory at {at:#x}")),
        };
        self.end_pin(pin);
        Err(why)
    }

    fn end_pin(&self, pin: Pin) {
        if !pin.theirs {
            // SAFETY: pinned by this, and no longer in use.
            let _ = unsafe { self.driver().mem_host_unregister(pin.at as *mut core::ffi::c_void) };
        }
    }

    pub(crate) fn unpin_range(&self, at: usize) -> Result<()> {
        let found = self.pins.with(|pins| {
            let found = pins.iter().position(|pin| pin.at == at);
            found.map(|found| pins.swap_remove(found))
        });
        let Some(pin) = found else {
            return Err(Error::BadAddress {
                arg: "addr",
                addr: at,
                why: "no memory that was pinned begins there",
            });
        };
        let _relaxed = self.context().enter_relaxed()?;
        self.end_pin(pin);
        Ok(())
    }

    pub(crate) fn unpin_all(&self) {
        let Ok(_relaxed) = self.context().enter_relaxed() else { return };
        let all = self.pins.with(|pins| std::mem::take(&mut **pins));
        all.into_iter().for_each(|pin| self.end_pin(pin));
    }
}

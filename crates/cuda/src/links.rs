//! What the devices of PEs can do with each other's memory.
use crate::driver::Driver;
use crate::facts;
use crate::gpu::Gpu;
use crate::types::{self, PEER_NATIVE_ATOMICS};
use dushmem_core::device_heap::driver::Link;

/// What one device of this process can do with the memory of another one.
pub(crate) fn between(driver: &Driver, own: types::Device, other: types::Device) -> Link {
    if other == own {
        return Link::Whole;
    }
    let (mut can, mut atomics) = (0, 0);
    // SAFETY: places for two numbers.
    let (reached, asked) = unsafe {
        let reached = driver.device_can_access_peer(&raw mut can, own, other);
        (reached, driver.device_get_p2p_attribute(&raw mut atomics, PEER_NATIVE_ATOMICS, own, other))
    };
    match (reached, asked) {
        (Ok(()), _) if can == 0 => Link::Missing,
        (Ok(()), Ok(())) if atomics == 0 => Link::WithoutAtomics,
        (Ok(()), _) => Link::Whole,
        (Err(_), _) => Link::Unseen,
    }
}

impl Gpu {
    /// See [`dushmem_core::device_heap::driver::HeapDevice::link`].
    pub(crate) fn link_to(&self, other: &[u8; 16]) -> Link {
        let (driver, own) = (self.driver(), self.context().device());
        let mut seen = facts::seen(driver).map(|(_, device)| device);
        let is = |device: &types::Device| facts::uuid(driver, *device).is_ok_and(|uuid| uuid == *other);
        let Some(other) = seen.find(is) else { return Link::Unseen };
        between(driver, own, other)
    }

    /// Lets kernels of this device use what the driver has placed in the memory of the others that PEs of this process
    /// use. What is mapped says for itself who may.
    pub(crate) fn enable_peers(&self) {
        let Ok(_entered) = self.context().enter() else { return };
        for (_, context) in crate::gpu::used().iter().filter(|(device, _)| *device != self.context().device())
        {
            // SAFETY: a context of a PE that lives. Fails where it is so already, and where there is no link, which the
            // engine tells.
            let _ = unsafe { self.driver().ctx_enable_peer_access(*context, 0) };
        }
    }
}

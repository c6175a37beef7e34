//! What can be known of the driver and its devices without using one.
use crate::driver::{self, Driver as Loaded};
use crate::error::Driven;
use crate::types::{self, *};
use core::ffi::CStr;
pub use dushmem_core::device_heap::driver::Link;

/// The driver, or why there is none.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The library, by the name that is looked for.
    pub library: String,
    /// What it says, or one line that says why it doesn't.
    pub driver: Result<Driver, String>,
}

/// A driver that works.
#[derive(Clone, Debug)]
pub struct Driver {
    /// The newest CUDA that it serves: major and minor.
    pub version: (u32, u32),
    /// The devices that this process may use.
    pub gpus: Vec<Gpu>,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// Its number in this process.
    pub ordinal: u32,
    /// Its identity, as nvidia-smi writes it.
    pub uuid: String,
    /// What the vendor calls it.
    pub name: String,
    /// Bytes.
    pub memory: u64,
    /// Compute capability.
    pub compute: (u32, u32),
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Whether this process is a client of MPS.
    pub mps: bool,
    /// Whether memory can be made in chunks, which processes pass to each other by descriptors.
    pub vmm: bool,
    /// Where it is plugged in.
    pub pci: String,
    /// What it can do with the memory of the other devices, by their numbers.
    pub links: Vec<(u32, Link)>,
}

/// Asks the driver. Makes no context.
pub fn facts() -> Facts {
    let driver = driver::get().map_err(|why| why.to_string()).and_then(|driver| {
        let all = ordinals(driver).map_err(|why| why.doing("counting the GPUs").to_string())?;
        let gpus = all.map(|ordinal| Gpu::of(driver, device(driver, ordinal)?, ordinal));
        let gpus = gpus.collect::<Driven<Vec<_>>>().map_err(|why| why.to_string())?;
        Ok(Driver { version: driver.version(), gpus })
    });
    Facts { library: driver::library_name(), driver }
}

/// Numbers of the devices that this process may use.
pub(crate) fn ordinals(driver: &Loaded) -> Driven<std::ops::Range<i32>> {
    let mut count = 0;
    // SAFETY: a place for a number.
    unsafe { driver.device_get_count(&raw mut count) }?;
    Ok(0..count.max(0))
}

/// The driver's handles of them; for questions that have an answer without a driver that works.
pub(crate) fn seen(driver: &Loaded) -> impl Iterator<Item = (i32, types::Device)> {
    let all = ordinals(driver).unwrap_or(0..0);
    all.filter_map(|ordinal| Some((ordinal, device(driver, ordinal).ok()?)))
}

/// The driver's handle of the device with that number.
pub(crate) fn device(driver: &Loaded, ordinal: i32) -> Driven<types::Device> {
    let mut device = 0;
    // SAFETY: a place for a handle.
    unsafe { driver.device_get(&raw mut device, ordinal) }?;
    Ok(device)
}

/// A property of a device; 0 where the driver does not know it.
pub(crate) fn attribute(driver: &Loaded, device: types::Device, attribute: u32) -> i32 {
    let mut value = 0;
    // SAFETY: a place for a number.
    match unsafe { driver.device_get_attribute(&raw mut value, attribute, device) } {
        Ok(()) => value,
        Err(_) => 0,
    }
}

/// What a device can do with the memory of the others.
fn links(driver: &Loaded, own: types::Device) -> Vec<(u32, Link)> {
    let others = seen(driver).filter(|(_, other)| *other != own);
    others.map(|(ordinal, other)| (ordinal as u32, crate::links::between(driver, own, other))).collect()
}

/// A device's identity.
pub(crate) fn uuid(driver: &Loaded, device: types::Device) -> Driven<[u8; 16]> {
    let mut uuid = Uuid::default();
    // SAFETY: a place for an identity.
    unsafe { driver.device_get_uuid(&raw mut uuid, device) }?;
    Ok(uuid.0)
}

/// An identity, as nvidia-smi writes it.
pub fn show_uuid(uuid: &[u8; 16]) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let (a, b, c, d, e) = (&uuid[..4], &uuid[4..6], &uuid[6..8], &uuid[8..10], &uuid[10..]);
    format!("GPU-{}-{}-{}-{}-{}", hex(a), hex(b), hex(c), hex(d), hex(e))
}

/// What the vendor calls a device.
pub(crate) fn name(driver: &Loaded, device: types::Device) -> String {
    let mut name = [0; 256];
    // SAFETY: room for that many bytes.
    let status: Driven = unsafe { driver.device_get_name(name.as_mut_ptr(), name.len() as i32 - 1, device) };
    match status {
        // SAFETY: the last byte is zero.
        Ok(()) => unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned(),
        Err(_) => format!("GPU {device}"),
    }
}

impl Gpu {
    fn of(driver: &Loaded, device: types::Device, ordinal: i32) -> Driven<Gpu> {
        let number = |which| attribute(driver, device, which).max(0) as u32;
        let mut memory = 0;
        // SAFETY: a place for a number.
        unsafe { driver.device_total_mem(&raw mut memory, device) }?;
        let (domain, bus, slot) =
            (number(ATTRIBUTE_PCI_DOMAIN), number(ATTRIBUTE_PCI_BUS), number(ATTRIBUTE_PCI_DEVICE));
        Ok(Gpu {
            ordinal: ordinal as u32,
            uuid: show_uuid(&uuid(driver, device)?),
            name: name(driver, device),
            memory: memory as u64,
            compute: (number(ATTRIBUTE_COMPUTE_MAJOR), number(ATTRIBUTE_COMPUTE_MINOR)),
            multiprocessors: number(ATTRIBUTE_MULTIPROCESSORS),
            mps: number(ATTRIBUTE_MPS) != 0,
            vmm: has_chunks(driver, device),
            links: links(driver, device),
            pci: format!("{domain:04x}:{bus:02x}:{slot:02x}.0"),
        })
    }
}

/// Whether memory can be made in chunks that other processes import by descriptors.
pub(crate) fn has_chunks(driver: &Loaded, device: types::Device) -> bool {
    attribute(driver, device, ATTRIBUTE_VMM) != 0 && attribute(driver, device, ATTRIBUTE_FD_HANDLES) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_look_as_nvidia_smi_writes_them() {
        let uuid = [0x0e, 0x29, 0xbe, 0x9c, 0xb8, 0x2c, 0x4b, 0xe1, 0xa5, 0x23, 0, 1, 2, 3, 4, 0xff];
        assert_eq!(show_uuid(&uuid), "GPU-0e29be9c-b82c-4be1-a523-0001020304ff");
    }
}

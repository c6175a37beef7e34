//! The list of back ends that a build contains, and nothing else: both skins start from here.
use dushmem_core::bootstrap::Bootstrap;
use dushmem_core::device::Device;
use dushmem_core::env::DeviceKind;
use dushmem_core::error::{Error, Result};
use std::sync::{Arc, OnceLock};

pub use dushmem_cuda as cuda;
pub use dushmem_emu as emu;

/// Bootstraps, as `DUSHMEM_BOOTSTRAP` takes them.
pub const BOOTSTRAPS: &[&str] = &["auto", "launcher", "singleton"];
/// Transports, as `DUSHMEM_TRANSPORT` takes them.
pub const TRANSPORTS: &[&str] = &["shm", "loopback"];
/// Devices that kernels run on.
pub const DEVICES: &[&str] = &["emu", "cuda"];

/// The device that was chosen at the first init.
static CHOSEN: OnceLock<&'static dyn Device> = OnceLock::new();

/// The device whose streams and memory this program uses.
pub fn device() -> &'static dyn Device {
    CHOSEN.get().copied().unwrap_or(&emu::on_stream::Emulator)
}

/// The same, where one was chosen.
pub fn chosen() -> Option<&'static dyn Device> {
    CHOSEN.get().copied()
}

/// A choice between devices, and why.
#[derive(Debug)]
pub struct Choice {
    /// What was chosen.
    pub device: &'static dyn Device,
    /// For people: what it goes by.
    pub why: String,
}

/// What a program would use that has `units` translation units with kernels for GPUs.
pub fn choice(kind: DeviceKind, units: usize) -> Result<Choice> {
    let emulator = |why: String| Choice { device: &emu::on_stream::Emulator, why };
    let wanted = match kind {
        DeviceKind::Emu => return Ok(emulator("DUSHMEM_DEVICE=emu".into())),
        DeviceKind::Cuda => "DUSHMEM_DEVICE=cuda",
        DeviceKind::Auto if units > 0 => "the program has kernels for a GPU",
        DeviceKind::Auto if cuda::is_loaded() => "the program uses the CUDA driver",
        DeviceKind::Auto => return Ok(emulator("the program has no kernels for a GPU".into())),
    };
    match cuda::device() {
        Ok(device) => Ok(Choice { device, why: wanted.into() }),
        Err(error) if kind == DeviceKind::Cuda => Err(Error::BadEnvironment {
            variable: "DUSHMEM_DEVICE".into(),
            value: "cuda".into(),
            why: error.to_string(),
        }),
        Err(error) => Ok(emulator(format!("{wanted}, but {error}"))),
    }
}

/// Chooses the device of this program, once: later calls give the same one.
pub fn choose(kind: DeviceKind, units: usize) -> Result<&'static dyn Device> {
    match chosen() {
        Some(device) => Ok(device),
        None => {
            let Choice { device, .. } = choice(kind, units)?;
            Ok(*CHOSEN.get_or_init(|| device))
        }
    }
}

/// Connects this process to its job, by the first bootstrap that fits. May be called again after finalize.
pub fn connect() -> Result<Arc<dyn Bootstrap>> {
    Ok(dushmem_boot::connect()?)
}

pub use dushmem_boot::unique_id::{UniqueId, make as make_unique_id};

/// Connects this process to the job of a unique id. Collective over its PEs.
pub fn connect_by_id(id: &UniqueId, rank: i32, nranks: i32) -> Result<Arc<dyn Bootstrap>> {
    Ok(dushmem_boot::unique_id::join(id, rank, nranks)?)
}

/// Connects this process to the job of the processes of an MPI communicator. Collective over these.
///
/// # Safety
/// `communicator` is null or the address of an `MPI_Comm`.
pub unsafe fn connect_by_mpi(communicator: *const core::ffi::c_void) -> Result<Arc<dyn Bootstrap>> {
    // SAFETY: passed on.
    Ok(unsafe { dushmem_boot::mpi::join(communicator) }?)
}

/// A new job whose `pes` PEs are threads of this process: one bootstrap for each, in the order of the PEs.
pub fn threads(pes: usize) -> Result<Vec<Arc<dyn Bootstrap>>> {
    Ok(dushmem_boot::threads::job(pes)?)
}

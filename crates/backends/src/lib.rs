//! The list of back ends that a build contains, and nothing else: both skins start from here.
use dushmem_core::bootstrap::Bootstrap;
use dushmem_core::error::Result;
use std::sync::Arc;

mod choice;
pub use choice::{Choice, choice, choose, chosen, device};

pub use dushmem_cuda as cuda;
pub use dushmem_emu as emu;

/// Bootstraps, as `DUSHMEM_BOOTSTRAP` takes them.
pub const BOOTSTRAPS: &[&str] = &["auto", "launcher", "singleton"];
/// Transports, as `DUSHMEM_TRANSPORT` takes them.
pub const TRANSPORTS: &[&str] = &["shm", "loopback"];
/// Devices that kernels run on.
pub const DEVICES: &[&str] = &["emu", "cuda"];

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

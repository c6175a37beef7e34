//! Start-up from an MPI communicator. MPI is not linked: a program that has a communicator has an MPI library in
//! its process, where its functions are looked up. They carry a unique id to the PEs, nothing else.
use crate::error::BootError;
use crate::unique_id::{self, BYTES, UniqueId};
use dushmem_core::bootstrap::Bootstrap;
use dushmem_os::symbols;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

/// A handle of MPI as an argument: a pointer or an `int`, which take one register alike.
type Handle = *mut c_void;

/// How an MPI library represents its handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Abi {
    /// Pointers to objects of the library.
    OpenMpi,
    /// Numbers, as all descendants of MPICH have them.
    Mpich,
}

/// `MPI_BYTE` of MPICH's ABI.
const MPICH_BYTE: usize = 0x4c00_010d;

/// From what a library says of itself.
fn abi(version: &str) -> Option<Abi> {
    let mpich = ["MPICH", "MVAPICH", "Intel", "CRAY", "Cray", "ParaStation"];
    match () {
        _ if version.contains("Open MPI") => Some(Abi::OpenMpi),
        _ if mpich.iter().any(|name| version.contains(name)) => Some(Abi::Mpich),
        _ => None,
    }
}

type Initialized = unsafe extern "C" fn(*mut c_int) -> c_int;
type Ask = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
type Broadcast = unsafe extern "C" fn(*mut c_void, c_int, Handle, c_int, Handle) -> c_int;

/// The functions of the process's MPI library.
struct Mpi {
    abi: Abi,
    byte: Handle,
    initialized: Initialized,
    rank: Ask,
    size: Ask,
    broadcast: Broadcast,
}

fn refuse<T>(why: impl Into<String>) -> Result<T, BootError> {
    Err(BootError::Mpi(why.into()))
}

fn function(name: &CStr) -> Result<*mut c_void, BootError> {
    let found = symbols::find(name);
    if found.is_null() {
        return refuse(format!(
            "there is no {} in this process: link the program with an MPI library, or use a unique id",
            name.to_string_lossy()
        ));
    }
    Ok(found)
}

impl Mpi {
    fn find() -> Result<Mpi, BootError> {
        let version = function(c"MPI_Get_library_version")?;
        let names = [c"MPI_Initialized", c"MPI_Comm_rank", c"MPI_Comm_size", c"MPI_Bcast"];
        let [initialized, rank, size, broadcast] = names.map(function);
        let mut text = [0 as c_char; 8192];
        let mut len = 0;
        // SAFETY: these are the functions of these names, whose prototypes MPI defines; the text has more room
        // than any MPI library's constant for it.
        let (mpi, said) = unsafe {
            let version: unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int =
                std::mem::transmute(version);
            version(text.as_mut_ptr(), &raw mut len);
            let mpi = Mpi {
                abi: Abi::OpenMpi,
                byte: std::ptr::null_mut(),
                initialized: std::mem::transmute::<*mut c_void, Initialized>(initialized?),
                rank: std::mem::transmute::<*mut c_void, Ask>(rank?),
                size: std::mem::transmute::<*mut c_void, Ask>(size?),
                broadcast: std::mem::transmute::<*mut c_void, Broadcast>(broadcast?),
            };
            text[text.len() - 1] = 0;
            (mpi, CStr::from_ptr(text.as_ptr()).to_string_lossy())
        };
        let first_line = said.lines().next().unwrap_or_default();
        let Some(abi) = abi(&said) else {
            return refuse(format!(
                "the MPI library calls itself \"{first_line}\", and only Open MPI and those with the ABI of MPICH are \
                 known: use a unique id"
            ));
        };
        let byte = match abi {
            Abi::OpenMpi => function(c"ompi_mpi_byte")?,
            Abi::Mpich => MPICH_BYTE as Handle,
        };
        Ok(Mpi { abi, byte, ..mpi })
    }
}

/// Joins the job of the processes of a communicator. Collective over these.
///
/// # Safety
/// `communicator` is null or the address of an `MPI_Comm` of this process's MPI library.
pub unsafe fn join(communicator: *const c_void) -> Result<Arc<dyn Bootstrap>, BootError> {
    if communicator.is_null() {
        return refuse("mpi_comm is NULL; pass the address of a communicator");
    }
    let mpi = Mpi::find()?;
    // SAFETY: MPI's functions with arguments of their types; the communicator is the caller's.
    unsafe {
        let mut yes: c_int = 0;
        (mpi.initialized)(&raw mut yes);
        if yes == 0 {
            return refuse("MPI is not initialised: call MPI_Init first");
        }
        let communicator: Handle = match mpi.abi {
            Abi::OpenMpi => communicator.cast::<Handle>().read_unaligned(),
            Abi::Mpich => communicator.cast::<c_int>().read_unaligned() as u32 as usize as Handle,
        };
        let (mut rank, mut size): (c_int, c_int) = (-1, -1);
        let asked = (mpi.rank)(communicator, &raw mut rank) | (mpi.size)(communicator, &raw mut size);
        if asked != 0 || rank < 0 {
            return refuse("mpi_comm is not the address of a communicator that this process is in");
        }
        // All zeros, which is no id, where making one has failed: then all learn of it.
        let made = if rank == 0 { unique_id::make().map(Some) } else { Ok(None) };
        let mut bytes = made.as_ref().ok().and_then(Option::as_ref).map_or([0; BYTES], |id| *id.bytes());
        if (mpi.broadcast)(bytes.as_mut_ptr().cast(), BYTES as c_int, mpi.byte, 0, communicator) != 0 {
            return refuse("MPI_Bcast of the unique id failed");
        }
        made?;
        unique_id::join(&UniqueId::from_bytes(bytes)?, rank, size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_told_apart() {
        assert_eq!(abi("Open MPI v4.1.4, package: Debian OpenMPI"), Some(Abi::OpenMpi));
        assert_eq!(abi("MPICH Version:      4.0.2"), Some(Abi::Mpich));
        assert_eq!(abi("Intel(R) MPI Library 2021.9 for Linux* OS"), Some(Abi::Mpich));
        assert_eq!(abi("MVAPICH2 Version: 2.3.7"), Some(Abi::Mpich));
        assert_eq!(abi("An MPI of somebody"), None);
    }

    #[test]
    fn without_mpi_the_error_says_so() {
        // SAFETY: null, and an address that is not read where there is no MPI.
        let errors = unsafe { [join(std::ptr::null()), join(std::ptr::dangling())] };
        let [null, none] = errors.map(|result| result.err().map(|e| e.to_string()).unwrap_or_default());
        assert!(null.contains("mpi_comm is NULL"), "{null}");
        assert!(none.contains("no MPI_Get_library_version in this process"), "{none}");
    }
}

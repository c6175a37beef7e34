//! Set-up by attributes: unique ids, MPI communicators; and what only a CUDA back end can do.
use super::prelude::*;
use super::setup::unasked;
use crate::job::{self, By};
use crate::report::{fail, host_only, print};
use core::mem::offset_of;
use dushmem_backends::UniqueId;
use dushmem_core::device::Loaded;
use dushmem_core::error::{Error, Result};

/// Flags of `init_attr`.
mod flags {
    pub const THREAD_PES: u32 = 1;
    pub const MPI_COMM: u32 = 2;
    pub const SHMEM: u32 = 4;
    pub const UNIQUE_ID: u32 = 8;
}

const ID_BYTES: usize = 128;

/// `uniqueid_args_t`
#[repr(C)]
struct UniqueIdArgs {
    version: i32,
    id: *const [u8; ID_BYTES],
    myrank: i32,
    nranks: i32,
}

/// `init_args_t`. Version 1 had padding where the device's number is.
#[repr(C)]
struct InitArgs {
    version: i32,
    uid: UniqueIdArgs,
    cuda_device_id: i32,
    padding: [u8; 92],
}

/// `init_attr_t`
#[repr(C)]
struct InitAttr {
    version: i32,
    mpi_comm: *const c_void,
    args: InitArgs,
}

const _: () = {
    assert!(size_of::<UniqueIdArgs>() == 24 && size_of::<InitArgs>() == 128 && size_of::<InitAttr>() == 144);
    assert!(offset_of!(InitAttr, args) == 16);
};

/// A structure's first word: version and size.
const fn version_of<T>(number: i32) -> i32 {
    (number << 16) + size_of::<T>() as i32
}

const KNOWN: [i32; 2] = [version_of::<InitAttr>(1), version_of::<InitAttr>(2)];

/// The status of a call, after its line where it failed.
fn finish(name: Name, done: Result<()>) -> i32 {
    match done {
        Ok(()) => 0,
        Err(error) => {
            print(name, &error);
            error.code()
        }
    }
}

fn bad(text: String) -> Error {
    Error::Bootstrap(text)
}

/// Joins a job as flags and attributes say.
unsafe fn enter(name: Name, requested: i32, flags: u32, attr: *const u8) -> Result<i32> {
    let ways = flags & (flags::MPI_COMM | flags::SHMEM | flags::UNIQUE_ID);
    if flags & flags::THREAD_PES != 0 {
        let why = "flags: INIT_THREAD_PES: PEs that are threads have the Rust interface only (dushmem::run)";
        return Err(Error::NotSupported(why.into()));
    }
    if ways.count_ones() > 1 {
        let why = "more than one of INIT_WITH_MPI_COMM, INIT_WITH_SHMEM, INIT_WITH_UNIQUEID; choose one";
        return Err(Error::BadValue { arg: "flags", value: flags.into(), why });
    }
    let attr = attr.cast::<InitAttr>();
    match ways {
        // With OpenSHMEM: the library is one and the same, so its job is this one.
        0 | flags::SHMEM => return job::enter(name, requested, By::Start),
        _ if attr.is_null() => return Err(Error::NoObject { arg: "attr" }),
        _ => {}
    }
    // SAFETY: the caller's structure.
    let InitAttr { version, mpi_comm, args } = unsafe { attr.read_unaligned() };
    if ways == flags::MPI_COMM {
        // Every version has the communicator there, and programs forget to set the version.
        return job::enter(name, requested, By::Mpi(mpi_comm));
    }
    if !KNOWN.contains(&version) {
        return Err(bad(format!(
            "attr->version = {version:#x}: this library knows {:#x} (version 1) and {:#x} (version 2); start from \
             INIT_ATTR_INITIALIZER",
            KNOWN[0], KNOWN[1]
        )));
    }
    let UniqueIdArgs { id, myrank, nranks, .. } = args.uid;
    if id.is_null() {
        return Err(bad("attr->args.uid_args.id is NULL; fill it in with set_attr_uniqueid_args".into()));
    }
    // SAFETY: the caller's id.
    let id = UniqueId::from_bytes(unsafe { id.read_unaligned() }).map_err(Error::from)?;
    job::enter(name, requested, By::Id(&id, myrank, nranks))
}

pub unsafe fn init_attr(flags: u32, attr: *mut u8, name: Name) -> i32 {
    // SAFETY: the caller's.
    finish(name, unsafe { enter(name, unasked(name), flags, attr) }.map(drop))
}

pub unsafe fn hostlib_finalize(name: Name) {
    host_only(name);
    if let Err(error) = job::leave() {
        fail(name, &error);
    }
}

/// What NVSHMEM's headers call in the library. There is no part that is linked into programs here, so nothing has
/// to be called back.
pub unsafe fn id_init_attr(
    requested: i32,
    provided: *mut i32,
    flags: u32,
    attr: *mut u8,
    _version: LibraryVersion,
    _callback: *mut c_void,
    name: Name,
) -> i32 {
    // SAFETY: the caller's.
    finish(
        name,
        unsafe { enter(name, requested, flags, attr) }.map(|level| {
            if !provided.is_null() {
                // SAFETY: the caller's variable.
                unsafe { provided.write(level) };
            }
        }),
    )
}

pub unsafe fn id_finalize(_device: *mut u8, _transport: *mut u8, name: Name) {
    // SAFETY: no requirements.
    unsafe { hostlib_finalize(name) }
}

pub unsafe fn get_uniqueid(uniqueid: *mut u8, name: Name) -> i32 {
    let make = || {
        if uniqueid.is_null() {
            return Err(Error::NoObject { arg: "uniqueid" });
        }
        let id = dushmem_backends::make_unique_id().map_err(Error::from)?;
        // SAFETY: the caller's structure.
        unsafe { uniqueid.cast::<[u8; ID_BYTES]>().write_unaligned(*id.bytes()) };
        Ok(())
    };
    finish(name, make())
}

pub unsafe fn set_uniqueid_args(
    myrank: i32,
    nranks: i32,
    uniqueid: *const u8,
    attr: *mut u8,
    name: Name,
) -> i32 {
    let attr = attr.cast::<InitAttr>();
    let wrong = match () {
        _ if attr.is_null() => Some(Error::NoObject { arg: "attr" }),
        _ if uniqueid.is_null() => Some(Error::NoObject { arg: "uniqueid" }),
        _ => None,
    };
    if let Some(error) = wrong {
        return finish(name, Err(error));
    }
    // SAFETY: the caller's structure, of which the version tells whether anything is in it.
    unsafe {
        let version = (&raw const (*attr).version).read_unaligned();
        let number = if version == KNOWN[0] { 1 } else { 2 };
        (&raw mut (*attr).version).write_unaligned(version_of::<InitAttr>(number));
        (&raw mut (*attr).args.version).write_unaligned(version_of::<InitArgs>(number));
        let uid =
            UniqueIdArgs { version: version_of::<UniqueIdArgs>(1), id: uniqueid.cast(), myrank, nranks };
        (&raw mut (*attr).args.uid).write_unaligned(uid);
    }
    0
}

pub unsafe fn set_mpi_comm_args(mpi_comm: *mut u8, attr: *mut u8, name: Name) -> i32 {
    let attr = attr.cast::<InitAttr>();
    if attr.is_null() {
        return finish(name, Err(Error::NoObject { arg: "attr" }));
    }
    // SAFETY: the caller's structure.
    unsafe {
        let version = (&raw const (*attr).version).read_unaligned();
        if !KNOWN.contains(&version) {
            (&raw mut (*attr).version).write_unaligned(KNOWN[1]);
        }
        (&raw mut (*attr).mpi_comm).write_unaligned(mpi_comm.cast());
    }
    0
}

/// Device state of modules and libraries that the CUDA driver has loaded.
pub unsafe fn cuda(object: *mut c_void, name: Name) -> i32 {
    let act = || {
        let world = job::shared_world().ok_or(Error::NotInitialised)?;
        let device = dushmem_backends::device();
        if object.is_null() && device.has_memory() {
            return Err(Error::NoObject { arg: "module" });
        }
        let loaded = match name.as_str().contains("culibrary") {
            true => Loaded::Library(object as usize),
            false => Loaded::Module(object as usize),
        };
        let there = !name.as_str().ends_with("finalize");
        // SAFETY: the caller's module.
        unsafe { device.loaded(&world, loaded, there) }
    };
    finish(name, act())
}

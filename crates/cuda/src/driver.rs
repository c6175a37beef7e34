//! The driver's library: found once in a process, and kept.
use crate::context::patiently;
use crate::error::Failure;
use crate::table::Functions;
use dushmem_core::error::{Error, Result};
use dushmem_os::library::Library;
use std::ops::Deref;
use std::sync::OnceLock;

/// The variable with the path of the driver's library, where it is not found by its name.
pub const LIBRARY_VARIABLE: &str = "DUSHMEM_CUDA_LIBRARY";
/// What the library is called.
pub const LIBRARY: &str = "libcuda.so.1";
/// The oldest version of the driver's interface that will do, as the driver gives it: the library's kernels load and store
/// 16 bytes by one access, for which older ones don't compile.
pub const OLDEST: i32 = 12_040;
/// The variable with the number of queues between a process and a GPU.
pub const CONNECTIONS_VARIABLE: &str = "CUDA_DEVICE_MAX_CONNECTIONS";

/// The driver, initialised.
#[derive(Debug)]
pub struct Driver {
    functions: Functions,
    version: i32,
    library: String,
}

impl Deref for Driver {
    type Target = Functions;

    fn deref(&self) -> &Functions {
        &self.functions
    }
}

impl Driver {
    /// Version of its interface, as the newest CUDA that it serves: major and minor.
    pub fn version(&self) -> (u32, u32) {
        version(self.version)
    }

    /// What was loaded.
    pub fn library(&self) -> &str {
        &self.library
    }
}

fn version(number: i32) -> (u32, u32) {
    ((number / 1000) as u32, (number % 1000 / 10) as u32)
}

/// The name or path by which the library is loaded.
pub fn library_name() -> String {
    std::env::var(LIBRARY_VARIABLE).ok().filter(|path| !path.is_empty()).unwrap_or_else(|| LIBRARY.into())
}

/// Whether something in this process has loaded a driver already; loads none.
pub fn is_loaded() -> bool {
    Library::loaded(&library_name()).is_some()
}

/// The driver, loaded at the first call.
pub fn get() -> Result<&'static Driver> {
    static DRIVER: OnceLock<Result<Driver>> = OnceLock::new();
    DRIVER.get_or_init(load).as_ref().map_err(Error::clone)
}

fn load() -> Result<Driver> {
    let name = library_name();
    if Library::loaded(&name).is_none() {
        ask_for_queues();
    }
    let library = Library::open(&name).map_err(|why| {
        Error::NotSupported(format!(
            "there is no CUDA driver: {why}; install NVIDIA's driver, version {} or newer, or name its library in \
             {LIBRARY_VARIABLE}",
            shown(OLDEST)
        ))
    })?;
    // An old driver lacks functions: its version says more than the name of one of them.
    let functions = Functions::find(&library);
    let found = match &functions {
        Ok(functions) => {
            let mut found = 0;
            // SAFETY: a place for a number; may be called before cuInit.
            unsafe { functions.driver_get_version(&raw mut found) }.map_err(|why| plain(&name, why))?;
            found
        }
        Err(lacks) => version_of(&library).ok_or_else(|| {
            Error::NotSupported(format!(
                "{name} is not a CUDA driver: it has no {lacks}; look at {LIBRARY_VARIABLE}"
            ))
        })?,
    };
    let too_old = |because: &str| {
        Error::NotSupported(format!(
            "the CUDA driver {name} serves CUDA {}{because}, and CUDA {} is needed: install a newer driver",
            shown(found),
            shown(OLDEST)
        ))
    };
    if found < OLDEST {
        return Err(too_old(""));
    }
    let functions = functions.map_err(|lacks| too_old(&format!(" but has no {lacks}")))?;
    // SAFETY: no arguments to get wrong.
    patiently(|| unsafe { functions.init(0) }).map_err(|why| no_use(&name, why, &functions))?;
    Ok(Driver { functions, version: found, library: name })
}

/// Streams that share one of the driver's queues wait for each other, and a stream of the library may then wait for a
/// kernel that waits for what the stream does; and a kernel that is loaded at its first launch waits for all that run. The
/// driver takes both from the environment when it starts. A server of MPS has few queues for all of its clients.
fn ask_for_queues() {
    let mps = std::env::var_os("CUDA_MPS_PIPE_DIRECTORY").is_some();
    for (name, value) in
        [(CONNECTIONS_VARIABLE, if mps { "8" } else { "32" }), ("CUDA_MODULE_LOADING", "EAGER")]
    {
        if std::env::var_os(name).is_none() && dushmem_os::image::threads() == 1 {
            // SAFETY: no other thread reads the environment now.
            unsafe { std::env::set_var(name, value) };
        }
    }
}

fn shown(number: i32) -> String {
    let (major, minor) = version(number);
    format!("{major}.{minor}")
}

/// The version of a driver that may lack other functions.
fn version_of(library: &Library) -> Option<i32> {
    let found = library.find(c"cuDriverGetVersion")?;
    let mut version = 0;
    // SAFETY: the function of that name, with a place for a number.
    let status = unsafe {
        let ask: unsafe extern "C" fn(*mut i32) -> u32 = std::mem::transmute(found.as_ptr());
        ask(&raw mut version)
    };
    (status == 0).then_some(version)
}

fn plain(name: &str, why: Failure) -> Error {
    Error::NotSupported(format!("the CUDA driver {name}: {} gave error {}", why.call, why.code))
}

/// `cuInit` failed. The names of errors come from the functions at hand: the driver is not there yet.
fn no_use(name: &str, why: Failure, functions: &Functions) -> Error {
    let mut text: *const core::ffi::c_char = core::ptr::null();
    // SAFETY: a place for a pointer.
    let named = unsafe { functions.get_error_name(why.code, &raw mut text) };
    let said = match named {
        Ok(()) if !text.is_null() => {
            // SAFETY: a constant of the driver.
            unsafe { core::ffi::CStr::from_ptr(text) }.to_string_lossy().into_owned()
        }
        _ => format!("error {}", why.code),
    };
    Error::NotSupported(format!(
        "the CUDA driver {name} can't be used: cuInit gave {said}{}",
        why.what_helps()
    ))
}

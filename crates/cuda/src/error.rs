//! Statuses of the driver as errors with names, and what to do about those that users meet.
use crate::driver;
use crate::types::{self, errors};
use core::ffi::{CStr, c_char};
use core::fmt;
use dushmem_core::error::Error;

/// A call of the driver that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The driver's function.
    pub call: &'static str,
    /// Its status; [`Failure::MISSING`]: the driver lacks the function.
    pub code: types::Status,
}

/// Result of one call of the driver.
pub type Driven<T = ()> = core::result::Result<T, Failure>;

impl Failure {
    /// Not a status of the driver.
    pub const MISSING: types::Status = u32::MAX;

    /// A status as a result.
    #[inline(always)]
    pub(crate) fn check(call: &'static str, code: types::Status) -> Driven {
        if code == 0 { Ok(()) } else { Err(Failure { call, code }) }
    }

    #[cold]
    pub(crate) fn missing(call: &'static str) -> Failure {
        Failure { call, code: Failure::MISSING }
    }

    /// The same as an error of the engine: what was to be done, what failed, and what helps.
    #[cold]
    pub fn doing(self, what: impl fmt::Display) -> Error {
        Error::Device(format!("{what}: {self}{}", self.what_helps()))
    }

    /// The remedy as the end of a sentence; nothing where none is known.
    pub(crate) fn what_helps(self) -> String {
        let remedy = self.remedy();
        if remedy.is_empty() { String::new() } else { format!(": {remedy}") }
    }

    /// Whether the same call may succeed a little later: the daemon of MPS, or its server, is about to start.
    pub(crate) fn may_pass(self) -> bool {
        (errors::MPS_FIRST..errors::MPS_FIRST + 3).contains(&self.code)
    }

    fn remedy(self) -> &'static str {
        use errors::*;
        match self.code {
            Failure::MISSING => "this driver is too old for it: install a newer one",
            NO_DEVICE => "look at CUDA_VISIBLE_DEVICES and at what nvidia-smi lists",
            STUB_LIBRARY => {
                "the library found is the stub that programs are linked with, not the driver's own"
            }
            DEINITIALIZED => "the driver has left this process, which is about to end",
            ILLEGAL_ADDRESS | ASSERT | LAUNCH_TIMEOUT | HARDWARE_STACK_ERROR..=LAUNCH_FAILED => {
                "a kernel of this process has failed, and no call for the GPU works from then on; compute-sanitizer \
                 shows which kernel and where"
            }
            DEVICE_UNAVAILABLE => {
                "another process has the GPU for itself (compute mode), or it is being reset; nvidia-smi shows which"
            }
            ECC_UNCORRECTABLE | NVLINK_UNCORRECTABLE | CONTAINED | UNKNOWN => {
                "the GPU is lost to this process: start the job again, and look at nvidia-smi and the kernel's log"
            }
            CONTEXT_IS_DESTROYED => {
                "the program has reset or destroyed the device's context while the heap is in it: finalize first"
            }
            PEER_ACCESS_UNSUPPORTED => {
                "there is no link between the two GPUs (nvidia-smi topo -p2p r); DUSHMEM_HEAP_KIND=host puts the heap \
                 where all of them reach it"
            }
            NO_BINARY_FOR_GPU | INVALID_PTX | UNSUPPORTED_PTX_VERSION => {
                "the driver can't compile the library's kernels for this GPU: install a newer driver"
            }
            JIT_COMPILER_NOT_FOUND => {
                "libnvidia-ptxjitcompiler.so.1 of the driver is missing, which compiles the library's kernels"
            }
            SYSTEM_DRIVER_MISMATCH => {
                "the driver's library and its kernel module have different versions: restart the machine, or the \
                 container, after a driver update"
            }
            SYSTEM_NOT_READY => {
                "a service of the machine's GPUs does not run (fabric manager, for NVSwitch machines)"
            }
            COMPAT_NOT_SUPPORTED => {
                "the compatibility library of CUDA does not support this GPU: install a newer driver"
            }
            MPS_MAX_CONNECTIONS => {
                "MPS has few queues for all its clients: unset CUDA_DEVICE_MAX_CONNECTIONS, or set 64 divided by the PEs \
                 of a GPU"
            }
            MPS_FIRST..=MPS_LAST => {
                "the MPS daemon that CUDA_MPS_PIPE_DIRECTORY names can't serve this process: start it, or unset the \
                 variable"
            }
            CAPTURE_FIRST..=CAPTURE_LAST => {
                "this can't be done while a stream is being captured: do it before"
            }
            _ => "",
        }
    }
}

/// The driver's name or text for a status.
fn text(get: impl Fn(&driver::Driver, *mut *const c_char) -> Driven) -> Option<String> {
    let driver = driver::get().ok()?;
    let mut text: *const c_char = core::ptr::null();
    get(driver, &raw mut text).ok()?;
    // SAFETY: null, or a constant of the driver.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { call, code } = *self;
        if code == Failure::MISSING {
            return write!(f, "the driver has no {call}");
        }
        // SAFETY: places for a pointer.
        let name = text(|driver, to| unsafe { driver.get_error_name(code, to) });
        // SAFETY: as above.
        let said = text(|driver, to| unsafe { driver.get_error_string(code, to) });
        match (name, said) {
            (Some(name), Some(said)) => write!(f, "{call} gave {name} ({said})"),
            (Some(name), None) => write!(f, "{call} gave {name}"),
            _ => write!(f, "{call} gave error {code}"),
        }
    }
}

impl From<Failure> for Error {
    #[cold]
    fn from(failure: Failure) -> Error {
        failure.doing("the CUDA driver")
    }
}

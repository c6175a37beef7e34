//! The name under which the program called, and what its family means.
use core::ffi::{CStr, c_char};

/// A name of the C interface: one register, so that passing it along costs nothing.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Name(*const c_char);

/// A family of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `dushmem_`, `dushmemx_`
    Dushmem,
    /// `nvshmem_`, `nvshmemx_`
    Nvshmem,
    /// Everything of OpenSHMEM.
    Shmem,
}

impl Name {
    /// From a literal with its NUL.
    ///
    /// # Safety
    /// `text` is valid for ever, NUL-terminated, and UTF-8.
    pub const unsafe fn new(text: *const c_char) -> Name {
        Name(text)
    }

    /// The name.
    pub fn as_str(self) -> &'static str {
        // SAFETY: the promise of `new`.
        unsafe { CStr::from_ptr(self.0) }.to_str().unwrap_or("?")
    }

    /// The family it belongs to.
    pub fn family(self) -> Family {
        let name = self.as_str();
        match () {
            _ if name.starts_with("dushmem") => Family::Dushmem,
            _ if name.starts_with("nvshmem") => Family::Nvshmem,
            _ => Family::Shmem,
        }
    }
}

impl Family {
    /// Prefix of names, without underscore.
    pub fn prefix(self) -> &'static str {
        match self {
            Family::Dushmem => "dushmem",
            Family::Nvshmem => "nvshmem",
            Family::Shmem => "shmem",
        }
    }

    /// Prefixes of environment variables, the most important first.
    pub fn variables(self) -> &'static [&'static str] {
        match self {
            Family::Dushmem => &["DUSHMEM"],
            Family::Nvshmem => &["DUSHMEM", "NVSHMEM"],
            Family::Shmem => &["DUSHMEM", "SHMEM", "SMA"],
        }
    }
}

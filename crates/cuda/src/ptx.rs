//! The library's kernels as they are checked in: `kernels/*.cu`, compiled by `cargo xtask ptx`.
use core::ffi::CStr;

/// A module's text.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// Its source.
    pub name: &'static str,
    /// PTX, ending with a zero.
    pub ptx: &'static str,
    /// The kernels in it.
    pub kernels: &'static [&'static CStr],
}

/// All modules.
pub const IMAGES: &[Image] = &[];

//! What collective launches ask. The launch itself is the headers': it goes through the program's own runtime.
use crate::job;
use crate::name::Name;
use crate::report::or_else;
use core::ffi::{CStr, c_char};

/// PEs whose kernels are on this PE's device at the same time, this one among them. With `launches` all PEs make the
/// call, and the first one binds their devices. Negative: the number of an error whose line has been printed.
///
/// # Safety
/// `call` is a literal: the name that the program called.
#[unsafe(no_mangle)]
unsafe extern "C" fn dushmem_impl_sharing_pes(call: *const c_char, launches: i32) -> i32 {
    // SAFETY: as the caller promises.
    let name = unsafe { Name::new(call) };
    let ask = |world: &dushmem_core::world::World| match launches {
        0 => Ok(world.kernels_at_once()),
        _ => world.share_device_for_launch(),
    };
    or_else(name, |world| ask(world).map(|pes| pes as i32), |error| -error.code())
}

/// Prints a line about a launch.
///
/// # Safety
/// `call` is a literal: the name that the program called; `text` is a C string.
#[unsafe(no_mangle)]
unsafe extern "C" fn dushmem_impl_say(call: *const c_char, text: *const c_char) {
    // SAFETY: as the caller promises.
    let (name, text) = unsafe { (Name::new(call), CStr::from_ptr(text)) };
    dushmem_os::say::say(&dushmem_core::error::line(job::place(), name.as_str(), &text.to_string_lossy()));
}

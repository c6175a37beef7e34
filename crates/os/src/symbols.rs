//! Which object of the process a symbol comes from, and the host's name.
use core::ffi::{CStr, c_void};

/// Base address of the object that holds `address`, or `None`.
fn object_of(address: *const c_void) -> Option<usize> {
    // SAFETY: all-zero bytes are a valid `Dl_info`.
    let mut info: libc::Dl_info = unsafe { core::mem::zeroed() };
    // SAFETY: dladdr takes any address and fills the structure on success.
    (unsafe { libc::dladdr(address, &mut info) } != 0).then_some(info.dli_fbase as usize)
}

/// The first of `names` that the process resolves to another object than the one that holds `own`: somebody
/// has put a function of their own in front. Names that nothing exports (static linking) are no such case.
pub fn taken_over<'a>(own: *const c_void, names: impl IntoIterator<Item = &'a CStr>) -> Option<&'a CStr> {
    let own = object_of(own)?;
    names.into_iter().find(|name| {
        // SAFETY: a NUL-terminated name; looking up does not load anything.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        !found.is_null() && object_of(found).is_some_and(|object| object != own)
    })
}

/// The name of this machine.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

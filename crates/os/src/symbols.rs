//! Which object of the process a symbol comes from, and the host's name.
use core::ffi::{CStr, c_int, c_void};
use core::ops::Range;

/// What `dl_iterate_phdr` looks for, and what it found.
struct Search {
    address: usize,
    object: Option<Range<usize>>,
}

/// # Safety
/// Called by `dl_iterate_phdr` with a [`Search`].
unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
    // SAFETY: both are valid for the call.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
    let (mut start, mut end) = (usize::MAX, 0);
    for i in 0..usize::from(info.dlpi_phnum) {
        // SAFETY: the object's array of headers.
        let header = unsafe { &*info.dlpi_phdr.add(i) };
        if header.p_type == libc::PT_LOAD {
            let at = (info.dlpi_addr as usize).wrapping_add(header.p_vaddr as usize);
            start = start.min(at);
            end = end.max(at + header.p_memsz as usize);
        }
    }
    let found = (start..end).contains(&search.address);
    if found {
        search.object = Some(start..end);
    }
    found.into()
}

/// The addresses of the executable or library that holds `address`.
fn object_of(address: *const c_void) -> Option<Range<usize>> {
    let mut search = Search { address: address as usize, object: None };
    // SAFETY: the callback gets the search that outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.object
}

/// The first of `names` that the process resolves to another object than the one that holds `own`: somebody
/// has put a function of their own in front. Names that nothing exports (static linking) are no such case.
pub fn taken_over<'a>(own: *const c_void, names: impl IntoIterator<Item = &'a CStr>) -> Option<&'a CStr> {
    let own = object_of(own)?;
    names.into_iter().find(|name| {
        // SAFETY: a NUL-terminated name; looking up does not load anything.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        !found.is_null() && !own.contains(&(found as usize))
    })
}

/// The name of this machine.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_another_object_is_found() {
        let here = host_name as fn() -> String as *const c_void;
        assert_eq!(taken_over(here, [c"no_such_function_anywhere"]), None);
        assert_eq!(taken_over(here, [c"no_such_function_anywhere", c"malloc"]), Some(c"malloc"));
        // SAFETY: looking up only.
        let libc = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"getenv".as_ptr()) };
        assert_eq!(taken_over(libc, [c"getenv", c"setenv"]), None);
    }
}

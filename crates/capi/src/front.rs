//! Whether somebody has put functions of their own in front of the library's.
use crate::generated::inlined;
use core::ffi::{CStr, c_void};

unsafe extern "C" {
    // Ends of the section of the public names: the linker's.
    static __start_dushmem_names: u8;
    static __stop_dushmem_names: u8;
}

/// True if the program, or what was loaded before the library that holds `own`, defines a name that the headers
/// have an inline form of: the inline forms must not bypass it.
pub fn is_taken(own: *const c_void) -> bool {
    is_linked_in() || is_loaded_before(own)
}

/// The library is part of a program that has such a name itself: the linker took the program's for it.
fn is_linked_in() -> bool {
    let names = (&raw const __start_dushmem_names).addr()..(&raw const __stop_dushmem_names).addr();
    inlined::LINKED.iter().any(|function| !names.contains(&(*function as usize)))
}

fn is_loaded_before(own: *const c_void) -> bool {
    let inlined = |name: &CStr| {
        // Other names, which are most, are told apart by their beginning.
        let bytes = name.to_bytes();
        let list = match () {
            _ if bytes.starts_with(b"shmem_") => inlined::SHMEM,
            _ if bytes.starts_with(b"nvshmem_") => inlined::NVSHMEM,
            _ if bytes.starts_with(b"dushmem_") => inlined::DUSHMEM,
            _ => return false,
        };
        list.contains(&name)
    };
    dushmem_os::symbols::taken_over(own, &inlined).is_some()
}

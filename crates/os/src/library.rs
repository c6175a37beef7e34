//! Libraries that are loaded while the program runs.
use core::ffi::{CStr, c_char, c_void};
use core::ptr::NonNull;
use std::ffi::CString;
use std::io;

/// A loaded library. It stays loaded: what it is asked for may be in use until the process ends.
#[derive(Clone, Copy, Debug)]
pub struct Library(NonNull<c_void>);

// SAFETY: a handle of the dynamic linker, whose functions may be called from any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// Loads a library by its name or path. The error says what the dynamic linker said.
    pub fn open(name: &str) -> io::Result<Library> {
        Library::with(name, libc::RTLD_NOW | libc::RTLD_LOCAL)
    }

    /// The library of that name, if something has loaded it already.
    pub fn loaded(name: &str) -> Option<Library> {
        Library::with(name, libc::RTLD_NOW | libc::RTLD_NOLOAD).ok()
    }

    fn with(name: &str, flags: i32) -> io::Result<Library> {
        let c_name = CString::new(name)?;
        // SAFETY: a C string. The library's constructors run, which is what loading it means.
        match NonNull::new(unsafe { libc::dlopen(c_name.as_ptr(), flags) }) {
            Some(handle) => Ok(Library(handle)),
            None => Err(io::Error::other(last_words(name))),
        }
    }

    /// The address of a function, if the library has it.
    pub fn find(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the handle of a library that stays loaded.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }
}

/// What the dynamic linker says about this thread's last failure.
fn last_words(name: &str) -> String {
    // SAFETY: the text belongs to the thread until its next call of the dynamic linker.
    let said: *const c_char = unsafe { libc::dlerror() };
    if said.is_null() {
        return format!("{name} is not loaded");
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(said) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_is_found_and_what_there_is_not_is_named() {
        let libc = Library::open("libc.so.6").unwrap();
        assert!(Library::loaded("libc.so.6").is_some());
        assert!(libc.find(c"getenv").is_some());
        assert!(libc.find(c"no_such_function_anywhere").is_none());
        assert!(Library::loaded("libnobody_has_this.so.7").is_none());
        let error = Library::open("libnobody_has_this.so.7").unwrap_err();
        assert!(error.to_string().contains("libnobody_has_this.so.7"), "{error}");
    }
}

//! Which functions stand in front of a library's own, and the host's name.
//!
//! A name that several objects of a process define is resolved to the first of them in the order in which
//! they were loaded. Instead of looking hundreds of names up, the few names that earlier objects define are
//! gone through: the executable seldom defines any.
use core::ffi::{CStr, c_int, c_void};
use core::ops::Range;
use core::ptr;

/// Addresses of the parts of an object that a dynamic linker looks at.
#[derive(Clone, Copy, Debug)]
struct Tables {
    symbols: *const libc::Elf64_Sym,
    strings: *const core::ffi::c_char,
    strings_len: usize,
    gnu_hash: *const u32,
    hash: *const u32,
}

/// An entry of an object's dynamic section.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: usize,
}

const DT_HASH: i64 = 4;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_STRSZ: i64 = 10;
const DT_GNU_HASH: i64 = 0x6fff_fef5;

/// # Safety
/// `info` describes an object that is loaded.
unsafe fn headers(info: &libc::dl_phdr_info) -> &[libc::Elf64_Phdr] {
    // SAFETY: the object's own table.
    unsafe { core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) }
}

/// # Safety
/// As for [`headers`].
unsafe fn addresses(info: &libc::dl_phdr_info) -> Range<usize> {
    let (mut start, mut end) = (usize::MAX, 0);
    // SAFETY: the caller's.
    for header in unsafe { headers(info) }.iter().filter(|header| header.p_type == libc::PT_LOAD) {
        let at = (info.dlpi_addr as usize).wrapping_add(header.p_vaddr as usize);
        start = start.min(at);
        end = end.max(at + header.p_memsz as usize);
    }
    start..end
}

/// # Safety
/// As for [`headers`].
unsafe fn tables(info: &libc::dl_phdr_info) -> Option<Tables> {
    let base = info.dlpi_addr as usize;
    // SAFETY: the caller's.
    let header = unsafe { headers(info) }.iter().find(|header| header.p_type == libc::PT_DYNAMIC)?;
    let mut entry = base.wrapping_add(header.p_vaddr as usize) as *const Dynamic;
    let mut found = Tables {
        symbols: ptr::null(),
        strings: ptr::null(),
        strings_len: 0,
        gnu_hash: ptr::null(),
        hash: ptr::null(),
    };
    // SAFETY: the section ends with a zero tag.
    while let Some(Dynamic { tag, value }) = unsafe { entry.as_ref() }.filter(|entry| entry.tag != 0) {
        // Some linkers leave offsets here, and so does the kernel's own object.
        let at = if *value < base { base + value } else { *value };
        match *tag {
            DT_HASH => found.hash = at as *const u32,
            DT_STRSZ => found.strings_len = *value,
            DT_STRTAB => found.strings = at as *const core::ffi::c_char,
            DT_SYMTAB => found.symbols = at as *const libc::Elf64_Sym,
            DT_GNU_HASH => found.gnu_hash = at as *const u32,
            _ => {}
        }
        // SAFETY: not the last entry.
        entry = unsafe { entry.add(1) };
    }
    (!found.symbols.is_null() && !found.strings.is_null()).then_some(found)
}

impl Tables {
    /// Number of symbols, as far as lookups reach.
    ///
    /// # Safety
    /// The tables are those of an object that is loaded.
    unsafe fn count(&self) -> usize {
        // SAFETY: the layout of DT_GNU_HASH: buckets, index of the first symbol in a chain, words of the
        // filter, its shift; filter; buckets; chains, whose last entry is odd. DT_HASH: buckets, symbols.
        unsafe {
            if self.gnu_hash.is_null() {
                return if self.hash.is_null() { 0 } else { self.hash.add(1).read() as usize };
            }
            let [buckets, first, words] = [0, 1, 2].map(|i| self.gnu_hash.add(i).read() as usize);
            let heads = self.gnu_hash.add(4 + words * size_of::<usize>() / 4);
            let last = (0..buckets).map(|i| heads.add(i).read() as usize).max().unwrap_or(0);
            if last < first {
                return 0;
            }
            let chains = heads.add(buckets);
            let mut at = last;
            while chains.add(at - first).read() & 1 == 0 {
                at += 1;
            }
            at + 1
        }
    }

    /// The first name that is defined here and wanted.
    ///
    /// # Safety
    /// As for [`Tables::count`].
    unsafe fn defined(&self, wanted: &dyn Fn(&CStr) -> bool) -> Option<String> {
        // SAFETY: the caller's.
        for i in 1..unsafe { self.count() } {
            // SAFETY: within the table; names are offsets into the strings.
            let (symbol, name) = unsafe {
                let symbol = &*self.symbols.add(i);
                (symbol, CStr::from_ptr(self.strings.add(symbol.st_name as usize)))
            };
            // Undefined here: wanted from somebody else.
            if symbol.st_shndx != 0 && wanted(name) {
                return Some(name.to_string_lossy().into_owned());
            }
        }
        None
    }
}

impl Tables {
    /// Whether a name that begins like that is wanted from somebody else.
    ///
    /// # Safety
    /// As for [`Tables::count`].
    unsafe fn needs(&self, prefix: &[u8]) -> bool {
        // Hash tables hold what is defined. Linkers put the strings behind the symbols, which tells the number of those
        // at most: what else stands between them are no names that begin like that.
        let room = (self.strings as usize).saturating_sub(self.symbols as usize);
        // SAFETY: the caller's.
        let known = unsafe { self.count() };
        let count = if room > 0 { room / size_of::<libc::Elf64_Sym>() } else { known };
        (1..count.max(known)).any(|i| {
            // SAFETY: within the table; names are offsets into the strings.
            unsafe {
                let symbol = &*self.symbols.add(i);
                symbol.st_shndx == 0
                    && (symbol.st_name as usize) < self.strings_len
                    && CStr::from_ptr(self.strings.add(symbol.st_name as usize))
                        .to_bytes()
                        .starts_with(prefix)
            }
        })
    }
}

/// # Safety
/// Called by `dl_iterate_phdr` with a prefix and room for the answer.
unsafe extern "C" fn ask(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
    // SAFETY: both are valid for the call, in which objects stay loaded.
    unsafe {
        let (prefix, found) = &mut *search.cast::<(&[u8], bool)>();
        *found = tables(&*info).is_some_and(|tables| tables.needs(prefix));
        (*found).into()
    }
}

/// Whether the executable, or a library that is loaded, wants a name from other objects that begins like that.
pub fn is_needed(prefix: &[u8]) -> bool {
    let mut search = (prefix, false);
    // SAFETY: the callback gets the search, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(ask), (&raw mut search).cast()) };
    search.1
}

/// What is looked for in the objects in front of one's own, and what was found.
struct Search<'a> {
    own: usize,
    wanted: &'a dyn Fn(&CStr) -> bool,
    found: Option<String>,
}

/// # Safety
/// Called by `dl_iterate_phdr` with a [`Search`].
unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
    // SAFETY: both are valid for the call, in which objects stay loaded.
    unsafe {
        let (info, search) = (&*info, &mut *search.cast::<Search<'_>>());
        if addresses(info).contains(&search.own) {
            return 1;
        }
        search.found = tables(info).and_then(|tables| tables.defined(search.wanted));
        search.found.is_some().into()
    }
}

/// A wanted name that an object in front of the one that holds `own` defines: somebody has put a function
/// of their own in front of a library's.
pub fn taken_over(own: *const c_void, wanted: &dyn Fn(&CStr) -> bool) -> Option<String> {
    let mut search = Search { own: own as usize, wanted, found: None };
    // SAFETY: the callback gets the search, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}

/// A function that some object of this process defines, null where none does.
pub fn find(name: &CStr) -> *mut c_void {
    // SAFETY: looking up only, with a C string.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// The name of this machine.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_earlier_objects_define_is_found() {
        let named = |text: &'static CStr| move |name: &CStr| name == text;
        // SAFETY: looking up only.
        let in_libc = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"getenv".as_ptr()) };
        // The C library's own object is where the search ends.
        assert_eq!(taken_over(in_libc, &named(c"getenv")), None);
        // Nothing holds this address, so all objects are in front of it.
        let nowhere = 16 as *const c_void;
        assert_eq!(taken_over(nowhere, &named(c"getenv")).as_deref(), Some("getenv"));
        assert_eq!(taken_over(nowhere, &named(c"no_such_function_anywhere")), None);
    }

    #[test]
    fn what_objects_want_from_others_is_known() {
        assert!(is_needed(b"memcp") && is_needed(b"getenv"));
        assert!(!is_needed(b"no_such_function_anywhere"));
    }
}

//! Which object of the process a symbol comes from, and the host's name.
//!
//! Asking the loader for hundreds of names costs milliseconds, so the hash tables of the few objects that
//! come before the library in the search order are read directly.
use core::ffi::{CStr, c_char, c_void};

/// The first of `names` that an object before the one that holds `own` defines: the program, or something
/// preloaded, has put a function of its own in front.
pub fn taken_over<'a>(own: *const c_void, names: impl IntoIterator<Item = &'a CStr>) -> Option<&'a CStr> {
    let before = objects_before(own as usize)?;
    if before.is_empty() {
        return None;
    }
    names.into_iter().find(|name| {
        let hash = gnu_hash(name);
        before.iter().any(|table| table.defines(name, hash))
    })
}

/// The dynamic symbols of one loaded object, by their GNU hash table.
struct Table {
    /// Number of buckets, first hashed symbol, words of the filter, shift of the filter.
    head: [u32; 4],
    filter: *const u64,
    buckets: *const u32,
    chains: *const u32,
    symbols: *const libc::Elf64_Sym,
    strings: *const c_char,
}

impl Table {
    fn defines(&self, name: &CStr, hash: u32) -> bool {
        let [buckets, first, words, shift] = self.head;
        // SAFETY: the indices are within the table, whose shape the linker guarantees.
        unsafe {
            let word = self.filter.add((hash as usize / 64) % words as usize).read();
            let mask = 1u64 << (hash % 64) | 1u64 << ((hash >> shift) % 64);
            if word & mask != mask {
                return false;
            }
            let mut index = self.buckets.add((hash % buckets) as usize).read();
            if index < first {
                return false;
            }
            loop {
                let chain = self.chains.add((index - first) as usize).read();
                if chain | 1 == hash | 1 {
                    let symbol = &*self.symbols.add(index as usize);
                    let found = CStr::from_ptr(self.strings.add(symbol.st_name as usize));
                    if found == name {
                        return symbol.st_shndx != 0;
                    }
                }
                if chain & 1 == 1 {
                    return false;
                }
                index += 1;
            }
        }
    }
}

fn gnu_hash(name: &CStr) -> u32 {
    name.to_bytes().iter().fold(5381u32, |hash, &byte| hash.wrapping_mul(33).wrapping_add(byte.into()))
}

struct Search {
    own: usize,
    before: Vec<Table>,
    found: bool,
}

/// Tables of the objects that are searched before the one that contains `own`. `None` where that one is the
/// program itself, or is not found.
fn objects_before(own: usize) -> Option<Vec<Table>> {
    extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> libc::c_int {
        // SAFETY: the loader passes a valid record, `data` is the `Search` below.
        let (info, search) = unsafe { (&*info, &mut *data.cast::<Search>()) };
        // SAFETY: the loader's table has `dlpi_phnum` entries.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
        let base = info.dlpi_addr as usize;
        let holds = headers.iter().filter(|h| h.p_type == libc::PT_LOAD).any(|h| {
            let start = base + h.p_vaddr as usize;
            (start..start + h.p_memsz as usize).contains(&search.own)
        });
        if holds {
            search.found = true;
            return 1;
        }
        let dynamic = headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC);
        if let Some(table) = dynamic.and_then(|h| table(base, base + h.p_vaddr as usize)) {
            search.before.push(table);
        }
        0
    }
    let mut search = Search { own, before: Vec::new(), found: false };
    // SAFETY: `visit` takes `Search` by the pointer passed here, during the call only.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found.then_some(search.before)
}

/// Reads an object's dynamic section.
fn table(base: usize, dynamic: usize) -> Option<Table> {
    const DT_STRTAB: u64 = 5;
    const DT_SYMTAB: u64 = 6;
    const DT_GNU_HASH: u64 = 0x6fff_fef5;
    let (mut hash, mut symbols, mut strings) = (0, 0, 0);
    let mut entry = dynamic as *const [u64; 2];
    loop {
        // SAFETY: the section ends with an entry of tag 0.
        let [tag, value] = unsafe { entry.read() };
        // Most loaders relocate these in place; the kernel's own object is left as it was.
        let at = if (value as usize) < base { base + value as usize } else { value as usize };
        match tag {
            0 => break,
            DT_STRTAB => strings = at,
            DT_SYMTAB => symbols = at,
            DT_GNU_HASH => hash = at,
            _ => {}
        }
        // SAFETY: not the last entry.
        entry = unsafe { entry.add(1) };
    }
    if hash == 0 || symbols == 0 || strings == 0 {
        return None;
    }
    // SAFETY: the table begins with four words.
    let head = unsafe { (hash as *const [u32; 4]).read() };
    let [buckets, _, words, _] = head;
    if buckets == 0 || words == 0 {
        return None;
    }
    let filter = (hash + 16) as *const u64;
    let bucket_at = hash + 16 + 8 * words as usize;
    Some(Table {
        head,
        filter,
        buckets: bucket_at as *const u32,
        chains: (bucket_at + 4 * buckets as usize) as *const u32,
        symbols: symbols as *const libc::Elf64_Sym,
        strings: strings as *const c_char,
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
    fn finds_what_the_library_before_defines() {
        // In this process nothing stands before the program, and libc's functions do not come before libc's
        // predecessors in the search order.
        assert_eq!(taken_over(finds_what_the_library_before_defines as *const c_void, [c"printf"]), None);
        let libm_or_libc = libc::malloc as *const c_void;
        let before = objects_before(libm_or_libc as usize);
        assert!(before.is_some_and(|tables| !tables.is_empty()), "the program comes before libc");
        let mine = objects_before(usize::MAX);
        assert!(mine.is_none(), "no object holds the last address");
    }

    #[test]
    fn hashes_as_the_linker_does() {
        assert_eq!(gnu_hash(c""), 0x1505);
        assert_eq!(gnu_hash(c"printf"), 0x156b2bb8);
    }
}

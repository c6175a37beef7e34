//! What the machine has, and what the process has loaded.
use std::ffi::c_void;

/// Bytes of main memory, and how many of them are free (not counting what caches could give back).
pub fn memory() -> (u64, u64) {
    let info = rustix::system::sysinfo();
    let unit = u64::from(info.mem_unit).max(1);
    (info.totalram * unit, info.freeram * unit)
}

struct Range {
    start: usize,
    end: usize,
    inside: bool,
}

/// True where `len` bytes from `addr` lie in a segment of the executable or of a loaded library: a
/// global or static variable, or a constant.
pub fn in_loaded_object(addr: usize, len: usize) -> bool {
    let Some(end) = addr.checked_add(len) else { return false };
    let mut range = Range { start: addr, end, inside: false };
    // SAFETY: the callback only runs during the call, with the range that outlives it.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut range).cast()) };
    range.inside
}

/// # Safety
/// `data` is a `Range`, `info` what the dynamic linker gives.
unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> i32 {
    // SAFETY: as the dynamic linker and `in_loaded_object` promise.
    let (info, range) = unsafe { (&*info, &mut *data.cast::<Range>()) };
    for index in 0..usize::from(info.dlpi_phnum) {
        // SAFETY: there are `dlpi_phnum` headers.
        let header = unsafe { &*info.dlpi_phdr.add(index) };
        let start = info.dlpi_addr as usize + header.p_vaddr as usize;
        let end = start + header.p_memsz as usize;
        if header.p_type == libc::PT_LOAD && range.start >= start && range.end <= end {
            range.inside = true;
            return 1;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    static VARIABLE: [u8; 100] = [7; 100];

    #[test]
    fn knows_static_variables_from_others() {
        let local = [0u8; 4];
        let heap = Box::new([0u8; 4]);
        assert!(in_loaded_object(VARIABLE.as_ptr() as usize, VARIABLE.len()));
        assert!(!in_loaded_object(local.as_ptr() as usize, 4));
        assert!(!in_loaded_object(heap.as_ptr() as usize, 4));
        assert!(!in_loaded_object(usize::MAX - 1, 4));
    }

    #[test]
    fn there_is_memory() {
        let (total, free) = memory();
        assert!(total > 1 << 20 && free <= total);
    }
}

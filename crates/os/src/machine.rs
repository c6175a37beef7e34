//! What the machine has, and what the process has loaded.
use std::ffi::c_void;

/// Bytes of main memory, and how many of them are free (not counting what caches could give back).
pub fn memory() -> (u64, u64) {
    let info = rustix::system::sysinfo();
    let unit = u64::from(info.mem_unit).max(1);
    (info.totalram * unit, info.freeram * unit)
}

/// Where this process maps a memory file of that name: the loaded files whose name contains `part`. `None` where
/// it maps none, or the kernel does not tell.
pub fn who_maps(memory: &str, part: &str) -> Option<Vec<String>> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let paths = || maps.lines().filter_map(|line| line.splitn(6, ' ').nth(5)).map(str::trim_start);
    let memory = format!("/memfd:{memory} (deleted)");
    if !paths().any(|path| path == memory) {
        return None;
    }
    let name = |path: &str| path.rsplit('/').next().is_some_and(|name| name.contains(part));
    let mut files: Vec<String> =
        paths().filter(|path| !path.starts_with("/memfd:") && name(path)).map(str::to_owned).collect();
    files.sort_unstable();
    files.dedup();
    Some(files)
}

/// How often the kernel has killed a process of this control group because memory ran out, and the group's
/// limit in bytes, where it has one. `None` where the kernel does not tell.
pub fn out_of_memory_kills() -> Option<(u64, Option<u64>)> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let read = |path: String| std::fs::read_to_string(path).ok();
    let count = |text: &str| {
        text.lines().find_map(|line| line.strip_prefix("oom_kill ")).and_then(|n| n.trim().parse().ok())
    };
    // No limit is "max" in one version, and a number beyond any memory in the other.
    let limit = |text: String| text.trim().parse().ok().filter(|bytes: &u64| *bytes < 1 << 60);
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let path = if path == "/" { "" } else { path };
        // In a container the group may be mounted as the root, whatever its path is outside.
        let (root, events, max) = match () {
            _ if controllers.is_empty() => ("/sys/fs/cgroup", "memory.events", "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.oom_control", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        for folder in [format!("{root}{path}"), root.to_owned()] {
            if let Some(kills) = read(format!("{folder}/{events}")).as_deref().and_then(count) {
                return Some((kills, read(format!("{folder}/{max}")).and_then(limit)));
            }
        }
    }
    None
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

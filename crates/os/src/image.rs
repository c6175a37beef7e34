//! The running executable: its writable segments, and mapping other memory over them.
//!
//! Replacing the pages under a running program's globals must not touch a global in between, so the
//! copying here uses raw system calls and an uninstrumented copy: interposed ones (AddressSanitizer's)
//! would write to the very pages that are being copied.
use rustix::mm::{MapFlags, ProtFlags};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A range of writable memory that holds globals of the executable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// First byte, at a page boundary.
    pub start: usize,
    /// Length in bytes, whole pages.
    pub len: usize,
    /// End of what comes from the file: up to there a page that was never touched need not be zero.
    pub file_end: usize,
    /// Whether the program may execute it.
    pub exec: bool,
}

/// The executable's writable segments without what is read-only after relocation, and a number that is
/// the same in processes that run the same executable.
pub fn writable_segments() -> (Vec<Segment>, u64) {
    struct Found {
        phdr: usize,
        segments: Vec<Segment>,
        identity: u64,
    }
    extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, data: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the loader passes a valid record, `data` is the `Found` below.
        let (info, found) = unsafe { (&*info, &mut *data.cast::<Found>()) };
        if info.dlpi_phdr as usize != found.phdr {
            return 0;
        }
        // SAFETY: the loader's table has `dlpi_phnum` entries.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
        let page = crate::memory::page();
        let base = info.dlpi_addr as usize;
        let relro: Vec<(usize, usize)> = headers
            .iter()
            .filter(|h| h.p_type == libc::PT_GNU_RELRO)
            .map(|h| {
                let start = base + h.p_vaddr as usize;
                // glibc rounds the end down when it protects the range.
                (start / page * page, (start + h.p_memsz as usize) / page * page)
            })
            .collect();
        for h in headers {
            for part in [u64::from(h.p_type), h.p_vaddr, h.p_memsz, h.p_filesz, u64::from(h.p_flags)] {
                found.identity = (found.identity ^ part).wrapping_mul(0x100_0000_01b3).rotate_left(23);
            }
            if h.p_type == libc::PT_NOTE {
                // SAFETY: notes are mapped, the header says where.
                let note = unsafe {
                    std::slice::from_raw_parts((base + h.p_vaddr as usize) as *const u8, h.p_memsz as usize)
                };
                for byte in note {
                    found.identity = (found.identity ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
                }
            }
            if h.p_type != libc::PT_LOAD || h.p_flags & libc::PF_W == 0 {
                continue;
            }
            let exec = h.p_flags & libc::PF_X != 0;
            let file_end = base + (h.p_vaddr + h.p_filesz) as usize;
            let start = (base + h.p_vaddr as usize) / page * page;
            let end = (base + (h.p_vaddr + h.p_memsz) as usize).next_multiple_of(page);
            let mut at = start;
            let mut cuts: Vec<_> =
                relro.iter().copied().filter(|&(s, e)| s < end && e > start && s < e).collect();
            cuts.sort_unstable();
            cuts.push((end, end));
            for (cut, resume) in cuts {
                if at < cut {
                    found.segments.push(Segment { start: at, len: cut - at, file_end, exec });
                }
                at = at.max(resume);
            }
        }
        1
    }
    // SAFETY: getauxval has no preconditions.
    let phdr = unsafe { libc::getauxval(libc::AT_PHDR) } as usize;
    let mut found = Found { phdr, segments: Vec::new(), identity: 0xcbf2_9ce4_8422_2325 };
    // SAFETY: `visit` takes `Found` by the pointer passed here, during the call only.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut found).cast()) };
    (found.segments, found.identity)
}

/// True if `[addr, addr + len)` is mapped read-only data of the executable.
pub fn is_constant(addr: usize, len: usize) -> bool {
    struct Ask {
        phdr: usize,
        range: (usize, usize),
        found: bool,
    }
    extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, data: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the loader passes a valid record, `data` is the `Ask` below.
        let (info, ask) = unsafe { (&*info, &mut *data.cast::<Ask>()) };
        if info.dlpi_phdr as usize != ask.phdr {
            return 0;
        }
        // SAFETY: the loader's table has `dlpi_phnum` entries.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
        ask.found = headers.iter().any(|h| {
            let start = info.dlpi_addr as usize + h.p_vaddr as usize;
            let read_only = h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_W == 0;
            (read_only || h.p_type == libc::PT_GNU_RELRO)
                && start <= ask.range.0
                && ask.range.1 <= start + h.p_memsz as usize
        });
        1
    }
    let Some(end) = addr.checked_add(len) else { return false };
    // SAFETY: getauxval has no preconditions.
    let phdr = unsafe { libc::getauxval(libc::AT_PHDR) } as usize;
    let mut ask = Ask { phdr, range: (addr, end), found: false };
    // SAFETY: `visit` takes `Ask` by the pointer passed here, during the call only.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut ask).cast()) };
    ask.found
}

/// Threads of the library's own that touch none of the program's globals.
static WATCHERS: AtomicUsize = AtomicUsize::new(0);

/// Leaves one thread, which only waits for descriptors, out of [`threads`] as long as this lives.
#[derive(Debug)]
pub struct Watcher(());

impl Watcher {
    /// For a thread that is about to start.
    #[allow(clippy::new_without_default, reason = "it counts")]
    pub fn new() -> Watcher {
        WATCHERS.fetch_add(1, Ordering::Relaxed);
        Watcher(())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        WATCHERS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Number of threads of this process that may write to its globals.
pub fn threads() -> usize {
    let all = std::fs::read_dir("/proc/self/task").map_or(1, |entries| entries.count());
    all.saturating_sub(WATCHERS.load(Ordering::Relaxed)).max(1)
}

/// Copies the pages of `segments` that exist into `fd` from `offset` on, one segment behind the other,
/// then maps that part of `fd` over them. The program's globals keep their addresses and values.
///
/// # Safety
/// The segments are as [`writable_segments`] gave them, `fd` is a memory file of sufficient size whose
/// range is all zero, and no other thread of this process writes to the segments during the call.
pub unsafe fn share_segments(segments: &[Segment], fd: BorrowedFd<'_>, offset: u64) -> io::Result<()> {
    let file = fd.as_raw_fd();
    let pagemap =
        rustix::fs::open("/proc/self/pagemap", rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty());
    let pagemap = pagemap.as_ref().map_or(-1, |f| f.as_raw_fd());
    let mut all: libc::sigset_t = unsafe_zeroed();
    let mut old: libc::sigset_t = unsafe_zeroed();
    // SAFETY: both sets are valid; blocking signals keeps handlers from writing to globals meanwhile.
    unsafe {
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old);
    }
    let mut at = offset;
    let mut result = Ok(());
    for segment in segments {
        // SAFETY: passed on to the caller.
        result = unsafe { share_one(segment, file, at, pagemap) };
        if result.is_err() {
            break;
        }
        at += segment.len as u64;
    }
    // SAFETY: `old` was filled above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, std::ptr::null_mut()) };
    result
}

fn unsafe_zeroed() -> libc::sigset_t {
    // SAFETY: a signal set is an array of integers.
    unsafe { std::mem::zeroed() }
}

/// # Safety
/// As for [`share_segments`].
unsafe fn share_one(segment: &Segment, file: i32, offset: u64, pagemap: i32) -> io::Result<()> {
    const PRESENT_OR_SWAPPED: u64 = 3 << 62;
    let page = crate::memory::page();
    let pages = segment.len / page;
    let mut entries = [0u64; 512];
    let mut done = 0;
    while done < pages {
        let count = (pages - done).min(entries.len());
        let first = segment.start / page + done;
        // SAFETY: reads into a local buffer of the size given.
        let got = unsafe {
            libc::syscall(libc::SYS_pread64, pagemap, entries.as_mut_ptr(), count * 8, (first * 8) as i64)
        };
        let known = got == (count * 8) as i64;
        let mut run = 0;
        while run < count {
            if known
                && entries[run] & PRESENT_OR_SWAPPED == 0
                && segment.start + (done + run) * page >= segment.file_end
            {
                run += 1;
                continue;
            }
            let from = segment.start + (done + run) * page;
            // SAFETY: the page belongs to the segment and is readable; a raw call, not the C library's.
            let wrote = unsafe {
                let to = offset + ((done + run) * page) as u64;
                libc::syscall(libc::SYS_pwrite64, file, from as *const u8, page, to as i64)
            };
            if wrote != page as i64 {
                return Err(io::Error::last_os_error());
            }
            run += 1;
        }
        done += count;
    }
    let mut prot = ProtFlags::READ | ProtFlags::WRITE;
    if segment.exec {
        prot |= ProtFlags::EXEC;
    }
    // SAFETY: the new pages hold what the old ones held (the caller keeps other threads away).
    unsafe {
        let fd = BorrowedFd::borrow_raw(file);
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        rustix::mm::mmap(segment.start as *mut _, segment.len, prot, flags, fd, offset)?;
    }
    Ok(())
}

/// The contents of shared segments at one moment, held for a forked child.
#[derive(Debug)]
pub enum Snapshot {
    /// A private copy of all segments, one behind the other.
    Copied {
        /// First byte of the copy.
        base: usize,
    },
    /// Too much to copy at every fork: the child maps the memory copy-on-write instead, and may see what
    /// the parent writes later.
    CopyOnWrite,
}

/// Segments with more populated bytes than this are not copied at a fork.
const SNAPSHOT_LIMIT: i64 = 16 << 20;

/// Takes a snapshot of segments that [`share_segments`] has placed in `fd` at `offset`.
pub fn snapshot(segments: &[Segment], fd: BorrowedFd<'_>, offset: u64) -> Snapshot {
    let total: usize = segments.iter().map(|s| s.len).sum();
    let file = fd.as_raw_fd();
    let end = offset as i64 + total as i64;
    let seek = |from: i64, whence: i32| {
        // SAFETY: no pointers.
        unsafe { libc::syscall(libc::SYS_lseek, file, from, whence) }
    };
    let mut populated = 0;
    let mut at = offset as i64;
    while let data @ 0.. = seek(at, libc::SEEK_DATA) {
        if data >= end {
            break;
        }
        let hole = seek(data, libc::SEEK_HOLE).min(end);
        populated += hole - data;
        at = hole;
    }
    if populated > SNAPSHOT_LIMIT {
        return Snapshot::CopyOnWrite;
    }
    // SAFETY: the kernel chooses the place.
    let base = unsafe {
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        rustix::mm::mmap_anonymous(std::ptr::null_mut(), total, prot, MapFlags::PRIVATE | MapFlags::NORESERVE)
    };
    let Ok(base) = base else { return Snapshot::CopyOnWrite };
    let mut at = offset as i64;
    while let data @ 0.. = seek(at, libc::SEEK_DATA) {
        if data >= end {
            break;
        }
        let hole = seek(data, libc::SEEK_HOLE).min(end);
        let into = base as usize + (data - offset as i64) as usize;
        // SAFETY: the range lies in the fresh mapping.
        unsafe { libc::syscall(libc::SYS_pread64, file, into as *mut u8, (hole - data) as usize, data) };
        at = hole;
    }
    Snapshot::Copied { base: base as usize }
}

/// Maps `fd` over the segments again, after [`restore`]. What was written to the segments in between is gone.
///
/// # Safety
/// With the arguments of [`snapshot`].
pub unsafe fn share_again(segments: &[Segment], fd: BorrowedFd<'_>, offset: u64) {
    let mut at = offset;
    for segment in segments {
        let exec = if segment.exec { libc::PROT_EXEC } else { 0 };
        let prot = libc::PROT_READ | libc::PROT_WRITE | exec;
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        // SAFETY: the segments are this process's globals, and the memory holds their contents.
        unsafe { libc::syscall(libc::SYS_mmap, segment.start, segment.len, prot, flags, fd.as_raw_fd(), at) };
        at += segment.len as u64;
    }
}

/// In the parent: gives the snapshot back.
pub fn discard(segments: &[Segment], snapshot: &Snapshot) {
    if let Snapshot::Copied { base } = snapshot {
        let total: usize = segments.iter().map(|s| s.len).sum();
        // SAFETY: the mapping is the snapshot's own.
        let _ = unsafe { rustix::mm::munmap(*base as *mut _, total) };
    }
}

/// Replaces the shared segments by the snapshot. In a forked child: so that parent and child no longer write
/// to each other's globals.
///
/// # Safety
/// Only in a freshly forked child, or around a fork until [`share_again`]; with the arguments of [`snapshot`].
pub unsafe fn restore(segments: &[Segment], fd: BorrowedFd<'_>, offset: u64, snapshot: &Snapshot) {
    let mut done = 0;
    for segment in segments {
        // SAFETY: both ranges are this process's; the contents are those at the fork.
        unsafe {
            match snapshot {
                Snapshot::Copied { base } => {
                    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
                    let from = base + done;
                    libc::syscall(libc::SYS_mremap, from, segment.len, segment.len, flags, segment.start);
                }
                Snapshot::CopyOnWrite => {
                    let prot = libc::PROT_READ | libc::PROT_WRITE;
                    let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
                    let at = offset + done as u64;
                    libc::syscall(
                        libc::SYS_mmap,
                        segment.start,
                        segment.len,
                        prot,
                        flags,
                        fd.as_raw_fd(),
                        at,
                    );
                }
            }
        }
        done += segment.len;
    }
}

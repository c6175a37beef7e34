//! Anonymous shared memory and its mappings.
use rustix::fs::{FallocateFlags, MemfdFlags};
use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::ffi::c_void;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr;

/// Size of a page.
pub fn page() -> usize {
    rustix::param::page_size()
}

/// Size and alignment of a huge page.
pub const HUGE: usize = 2 << 20;

/// Bytes of address space that this process may use, where a limit is set.
pub fn address_space_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::As).current
}

/// Whether all of the range is mapped in this process, with whatever rights.
pub fn is_mapped(addr: usize, len: usize) -> bool {
    let first = addr / page() * page();
    let Some(end) = addr.checked_add(len) else { return false };
    // SAFETY: asking for an asynchronous write-back does nothing but to walk over the mappings.
    unsafe { rustix::mm::msync(first as *mut core::ffi::c_void, end - first, rustix::mm::MsyncFlags::ASYNC) }
        .is_ok()
}

/// A new memory file without a name in any file system, closed on exec, of length 0.
pub fn memfd(label: &str) -> io::Result<OwnedFd> {
    Ok(rustix::fs::memfd_create(label, MemfdFlags::CLOEXEC)?)
}

/// Grows the file to at least `len` bytes; never shrinks it. Pages cost nothing until touched.
///
/// The limit on the size of files counts for memory files, too. Beyond it the kernel ends the process by a
/// signal, which this turns into an error.
pub fn grow(fd: impl AsFd, len: u64) -> io::Result<()> {
    let fd = fd.as_fd();
    if (rustix::fs::fstat(fd)?.st_size as u64) < len {
        if let Some(limit) = rustix::process::getrlimit(rustix::process::Resource::Fsize).current
            && limit < len
        {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("{len} bytes, where the limit on file sizes is {limit}; raise it (ulimit -f)"),
            ));
        }
        rustix::fs::ftruncate(fd, len)?;
    }
    Ok(())
}

/// Fills the buffer from an offset of the file on.
pub fn read(fd: impl AsFd, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    match rustix::io::pread(fd, &mut *buffer, offset)? {
        read if read == buffer.len() => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Gives the pages of a range back; they read as zero afterwards, in every process.
pub fn punch(fd: impl AsFd, offset: u64, len: u64) -> io::Result<()> {
    Ok(rustix::fs::fallocate(fd, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, len)?)
}

/// A mapped range of address space, unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    base: *mut u8,
    len: usize,
}

// SAFETY: a mapping is a range of addresses; what is done with the bytes is up to its user.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Reserves `len` bytes of address space at `at` (or where the kernel likes), inaccessible.
    /// Fails with `EEXIST` where something is mapped at `at` already.
    pub fn reserve(at: Option<usize>, len: usize) -> io::Result<Mapping> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let (hint, flags) = match at {
            Some(addr) => (addr as *mut c_void, flags | MapFlags::FIXED_NOREPLACE),
            None => (ptr::null_mut(), flags),
        };
        // SAFETY: without MAP_FIXED no existing mapping is touched.
        let base = unsafe { rustix::mm::mmap_anonymous(hint, len, ProtFlags::empty(), flags)? };
        let mapping = Mapping { base: base.cast(), len };
        if at.is_some_and(|addr| addr != base as usize) {
            // A kernel older than 4.17 takes the flag for a hint.
            return Err(io::Error::from_raw_os_error(libc::EEXIST));
        }
        Ok(mapping)
    }

    /// Reserves `len` bytes aligned to `align`, where the kernel likes.
    pub fn reserve_aligned(len: usize, align: usize) -> io::Result<Mapping> {
        let mut whole = Mapping::reserve(None, len + align)?;
        let start = (whole.base as usize).next_multiple_of(align);
        let (front, back) = (start - whole.base as usize, align - (start - whole.base as usize));
        // SAFETY: both ranges belong to the fresh reservation and nobody uses them yet.
        unsafe {
            if front > 0 {
                rustix::mm::munmap(whole.base.cast(), front)?;
            }
            if back > 0 {
                rustix::mm::munmap((start + len) as *mut c_void, back)?;
            }
        }
        whole.base = start as *mut u8;
        whole.len = len;
        Ok(whole)
    }

    /// Maps `len` bytes of `fd` at `offset`, readable, writable and shared, where the kernel likes.
    pub fn shared(fd: impl AsFd, offset: u64, len: usize) -> io::Result<Mapping> {
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses the place.
        let base = unsafe { rustix::mm::mmap(ptr::null_mut(), len, prot, MapFlags::SHARED, fd, offset)? };
        Ok(Mapping { base: base.cast(), len })
    }

    /// Maps a part of `fd` over the part of this reservation that begins at byte `at`.
    pub fn place(&self, at: usize, fd: impl AsFd, offset: u64, len: usize) -> io::Result<()> {
        assert!(at.checked_add(len).is_some_and(|end| end <= self.len));
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the target range lies in this reservation, as asserted.
        unsafe {
            rustix::mm::mmap(
                self.base.add(at).cast(),
                len,
                prot,
                MapFlags::SHARED | MapFlags::FIXED | MapFlags::NORESERVE,
                fd,
                offset,
            )?;
        }
        Ok(())
    }

    /// Makes the part of this reservation that begins at byte `at` inaccessible again, with nothing behind it.
    pub fn clear(&self, at: usize, len: usize) -> io::Result<()> {
        assert!(at.checked_add(len).is_some_and(|end| end <= self.len));
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
        // SAFETY: the target range lies in this reservation, as asserted.
        unsafe { rustix::mm::mmap_anonymous(self.base.add(at).cast(), len, ProtFlags::empty(), flags)? };
        Ok(())
    }

    /// First byte.
    pub fn base(&self) -> *mut u8 {
        self.base
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True for an empty range.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Keeps a part out of core dumps.
    pub fn dont_dump(&self, at: usize, len: usize) {
        self.advise(at, len, Advice::LinuxDontDump);
    }

    /// Asks for huge pages for a part that has been touched. True if the kernel did it.
    pub fn collapse(&self, at: usize, len: usize) -> bool {
        assert!(at.checked_add(len).is_some_and(|end| end <= self.len));
        const MADV_COLLAPSE: i32 = 25;
        // SAFETY: MADV_COLLAPSE keeps the contents of the range.
        unsafe { libc::madvise(self.base.add(at).cast(), len, MADV_COLLAPSE) == 0 }
    }

    fn advise(&self, at: usize, len: usize, advice: Advice) {
        assert!(at.checked_add(len).is_some_and(|end| end <= self.len));
        if len > 0 {
            // SAFETY: only advice that keeps the contents is passed.
            let _ = unsafe { rustix::mm::madvise(self.base.add(at).cast(), len, advice) };
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is owned; its users hold the mapping alive.
        let _ = unsafe { rustix::mm::munmap(self.base.cast(), self.len) };
    }
}

//! Memory for stacks, with a page below each that can't be touched.
use crate::memory::page;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// `MADV_GUARD_INSTALL`, Linux 6.13 and newer: a page that faults, without a mapping of its own.
const GUARD_INSTALL: i32 = 102;

static GUARDS_ARE_MAPPINGS: AtomicBool = AtomicBool::new(false);

/// Whether each stack takes mappings of its own, of which the kernel allows a process 65,530. Known after the
/// first [`map`].
pub fn take_mappings() -> bool {
    GUARDS_ARE_MAPPINGS.load(Ordering::Relaxed)
}

/// Maps `count` stacks of `len` bytes side by side, never to be unmapped. The lowest page of each is its guard:
/// `len` is a multiple of the page size and at least two pages. Gives the lowest address.
pub fn map(count: usize, len: usize) -> io::Result<*mut u8> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::STACK;
    let rights = ProtFlags::READ | ProtFlags::WRITE;
    let whole = count.checked_mul(len).ok_or(io::ErrorKind::OutOfMemory)?;
    // SAFETY: the kernel chooses the place.
    let base: *mut u8 = unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), whole, rights, flags)? }.cast();
    // A huge page would be filled with zeros for the few bytes that most stacks need. Where the kernel can't
    // tell, it doesn't have huge pages.
    // SAFETY: the fresh mapping.
    let _ = unsafe { rustix::mm::madvise(base.cast(), whole, rustix::mm::Advice::LinuxNoHugepage) };
    for stack in 0..count {
        // SAFETY: the first page of a stack of the fresh mapping.
        unsafe { guard(base.add(stack * len)) }.inspect_err(|_| {
            // SAFETY: nobody uses the mapping yet.
            let _ = unsafe { rustix::mm::munmap(base.cast(), whole) };
        })?;
    }
    Ok(base)
}

/// # Safety
/// A page that nobody uses.
unsafe fn guard(at: *mut u8) -> io::Result<()> {
    // SAFETY: as the caller promises.
    if unsafe { libc::madvise(at.cast(), page(), GUARD_INSTALL) } == 0 {
        return Ok(());
    }
    GUARDS_ARE_MAPPINGS.store(true, Ordering::Relaxed);
    // SAFETY: as the caller promises.
    Ok(unsafe { rustix::mm::mprotect(at.cast(), page(), MprotectFlags::empty()) }?)
}

/// Gives the memory of a stack back, which stays mapped and reads as zero; its guard stays.
///
/// # Safety
/// `base` and `len` are those of a stack from [`map`] that nobody uses.
pub unsafe fn clean(base: *mut u8, len: usize) {
    // SAFETY: as the caller promises. Where it fails, the pages stay.
    let _ = unsafe {
        rustix::mm::madvise(base.add(page()).cast(), len - page(), rustix::mm::Advice::LinuxDontNeed)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_writable_above_their_guards_and_are_given_back_clean() {
        let len = 4 * page();
        let base = map(3, len).expect("stacks");
        for stack in 0..3 {
            // SAFETY: within the mapping, above the guard.
            unsafe {
                let low = base.add(stack * len + page());
                low.write(1);
                base.add(stack * len + len - 1).write(2);
                clean(base.add(stack * len), len);
                assert_eq!(low.read(), 0);
            }
        }
        // A system call that reads a guard fails where a load would be a fault.
        let (reader, writer) = rustix::pipe::pipe().expect("pipe");
        for stack in 0..3 {
            // SAFETY: the kernel checks the address.
            let wrote = unsafe {
                use std::os::fd::AsRawFd;
                libc::write(writer.as_raw_fd(), base.add(stack * len).cast(), 1)
            };
            assert_eq!(wrote, -1);
        }
        drop(reader);
    }
}

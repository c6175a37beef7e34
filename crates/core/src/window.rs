//! How the memory of a node appears in one process.
//!
//! The node's memory is one file: `[job page | static areas | slices]`. A slice is `[internals | heap]`,
//! and its stride a power of two. Each process maps the slices *rotated*: its own at the base, that of
//! PE p at `base + ((p - me) mod n) * stride`. A heap object then has the same address on every PE, each
//! slice is mapped once, and the address of a peer's copy is one addition away. Nothing relies on equal
//! bases: where the base is taken, the kernel chooses another.
use crate::error::{Error, Result};
use crate::size::Size;
use crate::statics::Placed;
use dushmem_os::memory::{self, HUGE, Mapping};
use dushmem_os::reason::reason;
use std::os::fd::BorrowedFd;

/// First address of the host window: clear of executables, libraries, stacks and sanitizer shadows.
pub const HOST_BASE: usize = 0x1100_0000_0000;
/// Bytes that the host window may take.
pub const HOST_LIMIT: usize = 15 << 40;
/// First address of the device window, for device heaps.
pub const DEVICE_BASE: usize = 0x2000_0000_0000;

const _: () = assert!(HOST_BASE + HOST_LIMIT <= DEVICE_BASE && HOST_BASE.is_multiple_of(1 << 30));

/// Sizes that all PEs of the job agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Number of PEs.
    pub pes: usize,
    /// Bytes of the job page.
    pub reserved: usize,
    /// Bytes of one PE's static area.
    pub static_area: usize,
    /// Bytes of internals at the beginning of a slice.
    pub internals: usize,
    /// Bytes of heap.
    pub heap: usize,
}

impl Layout {
    /// Where the heap begins in a slice.
    pub fn heap_at(&self) -> usize {
        self.internals.next_multiple_of(if self.heap >= HUGE { HUGE } else { memory::page() })
    }

    /// Bytes from one slice to the next.
    pub fn stride(&self) -> Option<usize> {
        self.heap_at().checked_add(self.heap)?.checked_next_power_of_two().map(|s| s.max(HUGE))
    }

    /// Bytes of the largest heap that the window has room for.
    pub fn largest_heap(&self) -> usize {
        let layout = Layout { heap: HUGE, ..*self };
        (1usize << (HOST_LIMIT / layout.pes).ilog2()).saturating_sub(layout.heap_at())
    }

    /// Slices begin at multiples of this in every process.
    pub fn alignment(&self) -> usize {
        self.stride().unwrap_or(HUGE).min(1 << 30)
    }

    /// Offset of a PE's static area in the file.
    pub fn statics_at(&self, pe: usize) -> u64 {
        (self.reserved + pe * self.static_area) as u64
    }

    /// Offset of the first slice in the file.
    pub fn slices_at(&self) -> u64 {
        self.statics_at(self.pes).next_multiple_of(HUGE as u64)
    }
}

/// The mapped memory of a node.
#[derive(Debug)]
pub struct Window {
    me: usize,
    stride: usize,
    slices: Mapping,
    statics: Option<Mapping>,
    static_area: usize,
    placed: Vec<Placed>,
    /// What to add to an own address to get that of a peer's copy.
    delta: Box<[isize]>,
    heap: usize,
    heap_len: usize,
}

impl Window {
    /// Maps everything. `fixed`: at the common base if it is free.
    pub fn map(fd: BorrowedFd<'_>, me: usize, layout: &Layout, fixed: bool) -> Result<Window> {
        let too_large = |what: String| Error::BadEnvironment {
            variable: "DUSHMEM_SYMMETRIC_SIZE".into(),
            value: format!("{} (set, or the default)", Size::show(layout.heap as u64)),
            why: format!("with {} {what}", crate::error::count_pes(layout.pes)),
        };
        let system = |e: std::io::Error| Error::System {
            what: "mapping the symmetric memory".into(),
            why: reason(&e),
        };
        let n = layout.pes;
        let (stride, total) = layout
            .stride()
            .and_then(|stride| Some((stride, stride.checked_mul(n)?)))
            .filter(|(_, total)| *total <= HOST_LIMIT)
            .ok_or_else(|| {
                let size = Size::show(Size::round_down(layout.largest_heap() as u64));
                too_large(format!(
                    "that is more than the window for symmetric memory; set it to {size} or less"
                ))
            })?;
        let end = layout.slices_at() + total as u64;
        memory::grow(fd, end).map_err(system)?;
        let at_base = if fixed { Mapping::reserve(Some(HOST_BASE), total).ok() } else { None };
        let slices = match at_base {
            Some(slices) => slices,
            None => Mapping::reserve_aligned(total, layout.alignment()).map_err(|e| match e.kind() {
                std::io::ErrorKind::OutOfMemory => too_large(format!(
                    "{} of address space are needed, which the kernel does not give{}; set it smaller, or raise \
                     the limit (ulimit -v)",
                    Size::show(total as u64),
                    memory::address_space_limit()
                        .map_or_else(String::new, |bytes| format!(" (the limit is {bytes} bytes)"))
                )),
                _ => system(e),
            })?,
        };
        // Rotated: the file from this PE's slice to its end, then the rest.
        let first = (n - me) * stride;
        slices.place(0, fd, layout.slices_at() + (me * stride) as u64, first).map_err(system)?;
        if me > 0 {
            slices.place(first, fd, layout.slices_at(), me * stride).map_err(system)?;
        }
        slices.dont_dump(stride, total - stride);
        let statics = match layout.static_area {
            0 => None,
            area => Some(Mapping::shared(fd, layout.statics_at(0), n * area).map_err(system)?),
        };
        let delta = (0..n).map(|pe| (((pe + n - me) % n) * stride) as isize).collect();
        let heap = slices.base() as usize + layout.heap_at();
        Ok(Window {
            me,
            stride,
            slices,
            statics,
            static_area: layout.static_area,
            placed: Vec::new(),
            delta,
            heap,
            heap_len: layout.heap,
        })
    }

    /// Tells the window where this PE's globals are.
    pub fn set_placed(&mut self, placed: Vec<Placed>) {
        self.placed = placed;
    }

    /// First address of this PE's heap, and its length.
    pub fn heap(&self) -> (usize, usize) {
        (self.heap, self.heap_len)
    }

    /// First byte of this PE's slice.
    pub fn slice(&self) -> *mut u8 {
        self.slices.base()
    }

    /// The table of [`Window::peer`] for heap and internals.
    pub fn deltas(&self) -> &[isize] {
        &self.delta
    }

    /// True where `[addr, addr + len)` lies in this PE's heap.
    #[inline(always)]
    pub fn in_heap(&self, addr: usize, len: usize) -> bool {
        let offset = addr.wrapping_sub(self.heap);
        offset <= self.heap_len && len <= self.heap_len - offset
    }

    /// Bytes from the end of this PE's heap to an address behind it that is nobody's heap.
    pub fn behind_heap(&self, addr: usize) -> Option<usize> {
        let (base, end) = (self.slices.base() as usize, self.heap + self.heap_len);
        let next_heap = (self.heap + self.stride).min(base + self.slices.len());
        (end..next_heap).contains(&addr).then(|| addr - end)
    }

    /// Bytes from an address in the globals to their end.
    pub fn room_in_globals(&self, addr: usize) -> Option<usize> {
        let inside = |p: &&Placed| addr.wrapping_sub(p.start) < p.len;
        self.placed.iter().find(inside).map(|p| p.len - (addr - p.start))
    }

    /// The address of PE `pe`'s copy of an own heap or internals address.
    #[inline(always)]
    pub fn peer(&self, addr: usize, pe: usize) -> usize {
        addr.wrapping_add_signed(self.delta[pe])
    }

    /// The address, in this process, of PE `pe`'s copy of a symmetric object; `None` where `addr` is no
    /// address of an own symmetric object of `len` bytes.
    #[inline]
    pub fn translate(&self, addr: usize, len: usize, pe: usize) -> Option<usize> {
        if self.in_heap(addr, len) {
            return Some(self.peer(addr, pe));
        }
        let segment = self.placed.iter().find(|p| {
            let offset = addr.wrapping_sub(p.start);
            offset < p.len && len <= p.len - offset
        })?;
        if pe == self.me {
            // The original address, so that a debugger's watchpoint sees the store.
            return Some(addr);
        }
        let statics = self.statics.as_ref()?;
        Some(statics.base() as usize + pe * self.static_area + segment.offset + (addr - segment.start))
    }

    /// True where `[addr, addr + len)` lies in this PE's slice: in its heap, or in the internals before it.
    #[inline]
    pub fn in_slice(&self, addr: usize, len: usize) -> bool {
        let base = self.slices.base() as usize;
        let (offset, end) = (addr.wrapping_sub(base), self.heap + self.heap_len - base);
        offset <= end && len <= end - offset
    }

    /// As [`Window::translate`], for the internals too.
    #[inline]
    pub fn locate(&self, addr: usize, len: usize, pe: usize) -> Option<usize> {
        if self.in_slice(addr, len) { Some(self.peer(addr, pe)) } else { self.translate(addr, len, pe) }
    }

    /// A number for an own symmetric object that is the same on all PEs.
    pub fn offset_of(&self, addr: usize) -> Option<usize> {
        let offset = addr.wrapping_sub(self.heap);
        if offset < self.heap_len {
            return Some(offset);
        }
        let inside = |p: &&Placed| addr.wrapping_sub(p.start) < p.len;
        self.placed.iter().find(inside).map(|p| self.heap_len + p.offset + (addr - p.start))
    }

    /// Where an own address, of the slice or of a global, is in the file that this window, of that layout, maps.
    pub fn offset_in_file(&self, addr: usize, layout: &Layout) -> Option<u64> {
        if self.in_slice(addr, 1) {
            let slice = layout.slices_at() + (self.me * self.stride) as u64;
            return Some(slice + (addr - self.slices.base() as usize) as u64);
        }
        let inside = |p: &&Placed| addr.wrapping_sub(p.start) < p.len;
        let segment = self.placed.iter().find(inside)?;
        Some(layout.statics_at(self.me) + (segment.offset + addr - segment.start) as u64)
    }

    /// The own address of the object with that number.
    pub fn object_at(&self, offset: usize) -> Option<usize> {
        if offset < self.heap_len {
            return Some(self.heap + offset);
        }
        let offset = offset - self.heap_len;
        let inside = |p: &&Placed| offset.wrapping_sub(p.offset) < p.len;
        self.placed.iter().find(inside).map(|p| p.start + (offset - p.offset))
    }

    /// Whose memory an address lies in, if it is a peer's seen through this window.
    pub fn peer_of(&self, addr: usize) -> Option<usize> {
        let n = self.delta.len();
        let offset = addr.wrapping_sub(self.slices.base() as usize);
        if offset < self.slices.len() {
            return Some((self.me + offset / self.stride) % n).filter(|&pe| pe != self.me);
        }
        let statics = self.statics.as_ref()?;
        let offset = addr.wrapping_sub(statics.base() as usize);
        (offset < statics.len()).then(|| offset / self.static_area)
    }

    /// Backs whole huge pages of an own heap block by huge pages. Returns the bytes so backed.
    pub fn use_huge_pages(&self, addr: usize, len: usize) -> usize {
        let start = addr.next_multiple_of(HUGE);
        let end = (addr + len) / HUGE * HUGE;
        if !self.in_heap(addr, len) || end <= start {
            return 0;
        }
        // An untouched range is refused, so one byte a page is read and written back first.
        for page in (start..end).step_by(HUGE) {
            // SAFETY: the range lies in this PE's heap; an atomic addition of zero changes nothing.
            unsafe {
                (*(page as *const core::sync::atomic::AtomicU32))
                    .fetch_add(0, core::sync::atomic::Ordering::Relaxed)
            };
        }
        if self.slices.collapse(start - self.slices.base() as usize, end - start) { end - start } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    fn layout(pes: usize, heap: usize) -> Layout {
        Layout { pes, reserved: HUGE, static_area: 0, internals: 64 << 10, heap }
    }

    #[test]
    fn each_process_sees_every_slice_once_and_finds_it_by_one_addition() {
        let layout = layout(5, 1 << 20);
        let fd = memory::memfd("window").unwrap();
        let windows: Vec<_> = (0..5).map(|me| Window::map(fd.as_fd(), me, &layout, false).unwrap()).collect();
        for (me, window) in windows.iter().enumerate() {
            let (heap, _) = window.heap();
            for (pe, owner) in windows.iter().enumerate() {
                let word = window.peer(heap + 8, pe) as *mut u64;
                // SAFETY: the address lies in the mapped heap of `pe`.
                unsafe { word.write_volatile((me * 10 + pe) as u64) };
                // SAFETY: as above, seen by its owner.
                let seen = unsafe { ((owner.heap().0 + 8) as *const u64).read_volatile() };
                assert_eq!(seen, (me * 10 + pe) as u64);
                assert_eq!(window.peer_of(word as usize), (pe != me).then_some(pe));
            }
        }
    }

    #[test]
    fn ranges_end_where_the_heap_ends() {
        let fd = memory::memfd("window").unwrap();
        let window = Window::map(fd.as_fd(), 0, &layout(2, 4096), false).unwrap();
        let (heap, len) = window.heap();
        assert!(window.in_heap(heap, len) && window.in_heap(heap + len, 0));
        assert!(!window.in_heap(heap, len + 1) && !window.in_heap(heap - 1, 1));
        assert!(!window.in_heap(heap + 8, usize::MAX) && !window.in_heap(0, 0));
        assert_eq!(window.translate(heap - 1, 1, 1), None);
        let slice = window.slice() as usize;
        assert_eq!(window.locate(slice, heap - slice + len, 1), Some(window.peer(slice, 1)));
        assert!(!window.in_slice(slice - 1, 1) && !window.in_slice(heap, len + 1));
        let next = window.peer(heap, 1);
        assert_eq!(
            (window.behind_heap(heap + len), window.behind_heap(next - 1)),
            (Some(0), Some(next - 1 - heap - len))
        );
        assert_eq!([heap + len - 1, next].map(|addr| window.behind_heap(addr)), [None; 2]);
    }

    #[test]
    fn a_window_that_does_not_fit_is_an_error() {
        let fd = memory::memfd("window").unwrap();
        let error = Window::map(fd.as_fd(), 0, &layout(64, 1 << 46), false).unwrap_err();
        assert!(error.to_string().contains("DUSHMEM_SYMMETRIC_SIZE"), "{error}");
        // What it says fits, and the next round size does not.
        let text = error.to_string();
        let size = text.split("set it to ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a size");
        let most = Size::parse(size).unwrap().bytes as usize;
        let fits = |heap: usize| layout(64, heap).stride().is_some_and(|stride| stride * 64 <= HOST_LIMIT);
        assert!(fits(most) && !fits(most + (most >> 9)), "{error}");
    }
}

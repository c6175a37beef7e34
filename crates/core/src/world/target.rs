//! What calls name: PEs, and addresses of symmetric memory.
use super::{World, stage};
use crate::coll::checks;
use crate::context::Context;
use crate::device_heap::DeviceHeap;
use crate::error::{Error, Extent, GLOBALS, NOT_LAUNCHED, PastEnd, Result};
use std::sync::atomic::Ordering;

/// In the number of a symmetric object: it lies in memory of a device.
const ON_DEVICE: usize = 1 << 62;

impl World {
    /// The address to load and store for a heap object of a peer of the world; `None` for every case that
    /// needs a closer look, among them all where the local buffer can be memory of a device.
    #[inline(always)]
    pub(crate) fn direct(&self, ctx: &Context, addr: usize, len: usize, pe: i32) -> Option<usize> {
        let fits = ctx.is_plain() && (pe as u32 as usize) < self.n && self.window.in_heap(addr, len);
        let plain = self.stage.load(Ordering::Relaxed) == stage::HOST;
        if fits && plain { Some(self.window.peer(addr, pe as usize)) } else { None }
    }

    /// The same, for an operation without a local buffer.
    #[inline(always)]
    pub(crate) fn direct_word(&self, ctx: &Context, addr: usize, len: usize, pe: i32) -> Option<usize> {
        let fits = ctx.is_plain() && (pe as u32 as usize) < self.n && self.window.in_heap(addr, len);
        if fits && self.is_alive() { Some(self.window.peer(addr, pe as usize)) } else { None }
    }

    /// The world PE that `pe` means on a context.
    pub(crate) fn world_pe(&self, ctx: &Context, pe: i32) -> Result<usize> {
        match ctx.team() {
            None if (0..self.n as i32).contains(&pe) => Ok(pe as usize),
            None => Err(self.no_such_pe("pe", pe, self.n, "this job")),
            Some(team) => {
                let n = team.n_pes() as usize;
                team.world_pe(pe).ok_or_else(|| self.no_such_pe("pe", pe, n, "the context's team"))
            }
        }
    }

    /// The error about a PE that `of`, which has `n`, has not.
    #[cold]
    pub fn no_such_pe(&self, arg: &'static str, pe: i32, n: usize, of: &'static str) -> Error {
        Error::BadPe { arg, pe, n, of, hint: self.launch_hint() }
    }

    /// What to add about a PE that there is not, where it would be there if the program had been launched.
    pub(crate) fn launch_hint(&self) -> &'static str {
        if self.boot().is_alone() { NOT_LAUNCHED } else { "" }
    }

    /// Checks PE and address of an operation and gives the world PE.
    pub(crate) fn target(
        &self,
        ctx: &Context,
        arg: &'static str,
        addr: usize,
        len: usize,
        pe: i32,
    ) -> Result<usize> {
        self.check_alive()?;
        let pe = self.world_pe(ctx, pe)?;
        match self.window.translate(addr, len, pe) {
            Some(_) => Ok(pe),
            None => Err(self.not_symmetric(arg, addr, len)),
        }
    }

    /// As [`World::target`], but an operation of length zero may name any address.
    pub(crate) fn target_or_empty(
        &self,
        ctx: &Context,
        arg: &'static str,
        addr: usize,
        len: usize,
        pe: i32,
    ) -> Result<usize> {
        if len > 0 {
            return self.target(ctx, arg, addr, len, pe);
        }
        self.check_alive()?;
        self.world_pe(ctx, pe)
    }

    /// Checks that a range is own symmetric memory, and its alignment; nothing is asked of an empty one.
    pub(crate) fn own_range(&self, arg: &'static str, addr: usize, len: usize, align: usize) -> Result<()> {
        self.check_alive()?;
        if len > 0 && self.window.translate(addr, len, self.me).is_none() {
            return Err(self.not_symmetric(arg, addr, len));
        }
        if len > 0 && !addr.is_multiple_of(align) {
            return Err(Error::Misaligned { arg, addr, align });
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn own_word(&self, arg: &'static str, addr: usize, len: usize) -> Result<()> {
        if self.window.in_heap(addr, len) && addr.is_multiple_of(len) && self.is_alive() {
            return Ok(());
        }
        self.own_range(arg, addr, len, len).map_err(Error::without_length)
    }

    /// As [`World::own_word`], for a word that may lie in memory of a device: the heap that it lies in then.
    #[inline]
    pub(crate) fn word_place(
        &self,
        arg: &'static str,
        addr: usize,
        len: usize,
    ) -> Result<Option<&DeviceHeap>> {
        if self.window.in_heap(addr, len) && addr.is_multiple_of(len) && self.is_alive() {
            return Ok(None);
        }
        self.range_place(arg, addr, len, len).map_err(Error::without_length)
    }

    /// As [`World::own_range`], for a range that may lie in memory of a device: the heap that it lies in then.
    pub(crate) fn range_place(
        &self,
        arg: &'static str,
        addr: usize,
        len: usize,
        align: usize,
    ) -> Result<Option<&DeviceHeap>> {
        let found = self.device_heap().filter(|heap| len > 0 && heap.contains(addr, len));
        match found {
            None => self.own_range(arg, addr, len, align).map(|()| None),
            Some(_) if !addr.is_multiple_of(align) => Err(Error::Misaligned { arg, addr, align }),
            Some(heap) => Ok(Some(heap)),
        }
    }

    /// Checks that a local buffer that starts in the own heap ends there, too; it may be any other memory.
    pub(crate) fn check_own_end(&self, arg: &'static str, addr: usize, len: usize) -> Result<()> {
        self.check_alive()?;
        let starts = |heap: &DeviceHeap| heap.contains(addr, 1) && !heap.contains(addr, len);
        let leaves = (self.window.in_heap(addr, 1) && !self.window.in_heap(addr, len))
            || (self.has_devices() && self.device_heap().is_some_and(starts));
        match leaves.then(|| self.past_end(arg, addr, len)).flatten() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    #[cold]
    pub(crate) fn not_symmetric(&self, arg: &'static str, addr: usize, len: usize) -> Error {
        if len > isize::MAX as usize {
            return checks::negative(len);
        }
        if addr == 0 {
            return Error::Null { arg };
        }
        if let Some(error) = self.past_end(arg, addr, len) {
            return error;
        }
        let hint = match self.window.peer_of(addr) {
            Some(_) => " (this is another PE's memory, as ptr shows it: pass the own address instead)",
            None if self.is_on_device(addr) => {
                " (it is in the heap of the device; this call works on memory of the host)"
            }
            None if self.device_heap().is_some_and(|heap| heap.peer_of(addr).is_some()) => {
                " (this is another PE's device memory, as ptr shows it: pass the own address instead)"
            }
            None => "",
        };
        let statics = match self.statics {
            None => ", or of a global of the executable",
            Some(refusal) => refusal.hint(),
        };
        Error::NotSymmetric { arg, addr, extent: Extent::Bytes(len), statics, hint }
    }

    /// The error about a range that starts in symmetric memory, or close behind the heap, and does not end there.
    pub(crate) fn past_end(&self, arg: &'static str, addr: usize, len: usize) -> Option<Error> {
        let (heap, room) = self.window.heap();
        let behind = self.window.behind_heap(addr);
        let device = self.device_heap().filter(|heap| heap.contains(addr, 1));
        // What it starts in, and where that ends.
        let (memory, end, object) = if behind.is_some() || self.window.in_heap(addr, 1) {
            ("the symmetric heap", heap + room, self.heap().containing(addr - heap))
        } else if let Some(device) = device {
            let (heap, room) = device.heap();
            ("the heap of the device", heap + room, device.blocks().containing(addr - heap))
        } else {
            (GLOBALS, addr + self.window.room_in_globals(addr)?, None)
        };
        let past = addr.checked_add(len)?.checked_sub(end).filter(|&past| past > 0)?;
        let object = object.map(|(_, block)| block.asked);
        let extent = Extent::Bytes(len);
        Some(Error::PastEnd(Box::new(PastEnd {
            arg,
            addr,
            extent,
            object,
            behind,
            past,
            memory,
            said: None,
        })))
    }

    /// True for read-only data of the executable while its globals are symmetric.
    pub(crate) fn is_own_constant(&self, addr: usize, len: usize) -> bool {
        self.statics.is_none() && dushmem_os::image::is_constant(addr, len)
    }

    /// The address, in this process, of PE `pe`'s copy, where it may be loaded from.
    pub(crate) fn mapped_address(&self, pe: usize, addr: usize, len: usize) -> Option<*const u8> {
        if self.mapped { self.window.translate(addr, len, pe).map(|at| at as *const u8) } else { None }
    }

    /// A number for a symmetric object that is the same on all PEs.
    pub(crate) fn symmetric_offset(&self, addr: usize) -> usize {
        match self.device_heap() {
            Some(heap) if heap.contains(addr, 1) => ON_DEVICE | (addr - heap.heap().0),
            _ => self.window.offset_of(addr).unwrap_or(0),
        }
    }

    /// Whether that is the number of an object in memory of a device.
    pub(crate) fn is_number_of_device(&self, offset: usize) -> bool {
        offset & ON_DEVICE != 0
    }

    /// The own address of the symmetric object with that number.
    pub(crate) fn symmetric_object(&self, offset: usize) -> Option<usize> {
        match offset & ON_DEVICE {
            0 => self.window.object_at(offset),
            _ => self.device_heap().map(|heap| heap.heap().0 + (offset ^ ON_DEVICE)),
        }
    }

    /// The address at which this PE can load and store PE `pe`'s copy of the object at `addr`, or null.
    pub fn ptr(&self, addr: *const u8, pe: i32) -> Result<*mut u8> {
        self.check_alive()?;
        let pe = self.world_pe(&self.default_context, pe)?;
        if self.is_on_device(addr as usize)
            && let Some(heap) = self.device_heap()
        {
            return Ok(heap.peer(addr as usize, pe) as *mut u8);
        }
        if pe != self.me && !self.transport.maps(pe) {
            return Ok(core::ptr::null_mut());
        }
        Ok(self.window.translate(addr as usize, 1, pe).map_or(core::ptr::null_mut(), |at| at as *mut u8))
    }

    /// True if the object at `addr` can be used in operations to PE `pe`.
    pub fn addr_accessible(&self, addr: *const u8, pe: i32) -> bool {
        self.pe_accessible(pe)
            && (self.is_on_device(addr as usize)
                || self.window.translate(addr as usize, 1, pe as usize).is_some())
    }

    /// True if operations to PE `pe` are possible.
    pub fn pe_accessible(&self, pe: i32) -> bool {
        self.is_alive() && (0..self.n as i32).contains(&pe)
    }
}

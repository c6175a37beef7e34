//! Transfers of the host from and to memory of a device: puts, gets, strided ones, atomics, signals. The device does
//! them, in the order of the calls; a call whose buffer may be used again at its return waits for it.
use super::heap::DeviceHeap;
use crate::amo::AmoRequest;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::rma::near;
use crate::signal::Signal;
use crate::transport::{Get, Put, Reuse, mapped};
use crate::world::World;

/// Most bytes that a put hands over as a value.
const VALUE: usize = 16;

/// PE's copy of a symmetric object, as this process sees it.
#[derive(Clone, Copy)]
enum Far {
    Device(usize),
    /// `None`: not mapped here.
    Host(Option<usize>),
}

impl DeviceHeap {
    /// Waits for what was begun, if the caller may not.
    fn finish(&self, reuse: Reuse) -> Result<()> {
        match reuse {
            Reuse::AtReturn => self.device.flush(),
            Reuse::AtQuiet => Ok(()),
        }
    }

    /// Begins to store a scalar of the host's, at an address aligned for it.
    ///
    /// # Safety
    /// The destination is valid until a flush.
    unsafe fn write_value(&self, at: usize, source: *const u8, bytes: usize) -> Result<()> {
        let mut value = [0; VALUE];
        // SAFETY: as the caller promises.
        unsafe {
            mapped::copy(value.as_mut_ptr(), source, bytes);
            self.device.store(at, value, bytes)
        }
    }

    /// Begins to write to device memory. True if the source is in use no more.
    ///
    /// # Safety
    /// Both ranges are valid until a flush.
    unsafe fn write(&self, at: usize, source: *const u8, bytes: usize) -> Result<bool> {
        // SAFETY: as the caller promises.
        unsafe {
            let whole = matches!(bytes, 1 | 2 | 4 | 8 | VALUE) && at.is_multiple_of(bytes.min(8));
            if whole && !self.device.is_device(source as usize) {
                return self.write_value(at, source, bytes).map(|()| true);
            }
            self.device.copy(at, source as usize, bytes)?;
        }
        Ok(false)
    }

    /// Stores a word of at most 8 bytes where the program has it, on the host or on a device.
    ///
    /// # Safety
    /// It is writable.
    unsafe fn hand_over(&self, to: *mut u8, request: AmoRequest, bits: u64) -> Result<()> {
        if !self.device.is_device(to as usize) {
            // SAFETY: the caller's word.
            unsafe { request.store(to, bits) };
            return Ok(());
        }
        let mut value = [0; VALUE];
        value[..8].copy_from_slice(&bits.to_ne_bytes());
        // SAFETY: the caller's word.
        unsafe { self.device.store(to as usize, value, request.width()) }
    }
}

impl World {
    /// Waits for all that devices have begun on behalf of host calls.
    #[cold]
    pub(crate) fn flush_device(&self) -> Result<()> {
        self.device_heap().map_or(Ok(()), |heap| heap.device.flush())
    }

    /// PE `pe`'s copy of a symmetric object; `None` where it is none.
    fn far(&self, heap: &DeviceHeap, addr: usize, bytes: usize, pe: usize) -> Option<Far> {
        if heap.contains(addr, bytes) {
            return Some(Far::Device(heap.peer(addr, pe)));
        }
        let at = self.window().translate(addr, bytes, pe)?;
        Some(Far::Host(self.is_mapped().then_some(at)))
    }

    /// The device's part in a put. False where it has none.
    ///
    /// # Safety
    /// As for [`World::put`].
    pub(crate) unsafe fn device_put(
        &self,
        ctx: &Context,
        dest: usize,
        source: *const u8,
        bytes: usize,
        pe: i32,
        reuse: Reuse,
    ) -> Result<bool> {
        let Some(heap) = self.device_heap().filter(|_| bytes > 0) else { return Ok(false) };
        let target = self.world_pe(ctx, pe)?;
        let Some(far) = self.far(heap, dest, bytes, target) else { return Ok(false) };
        // SAFETY: the far side lies in symmetric memory of that length; the near side is the caller's.
        unsafe {
            match far {
                Far::Device(at) => {
                    near("source", source, bytes)?;
                    if !heap.write(at, source, bytes)? {
                        heap.finish(reuse)?;
                    }
                }
                Far::Host(_) if source.is_null() || !heap.device.is_device(source as usize) => {
                    return Ok(false);
                }
                Far::Host(Some(at)) => {
                    heap.device.copy(at, source as usize, bytes)?;
                    heap.finish(reuse)?;
                }
                Far::Host(None) => {
                    let mut bounce = vec![0u8; bytes];
                    heap.device.copy(bounce.as_mut_ptr() as usize, source as usize, bytes)?;
                    heap.device.flush()?;
                    let (source, reuse) = (bounce.as_ptr(), Reuse::AtReturn);
                    self.transport().put(ctx.pending(), Put { pe: target, dest, source, bytes, reuse });
                }
            }
        }
        self.ring(target);
        Ok(true)
    }

    /// The device's part in `p`, whose value is the host's. False where it has none.
    ///
    /// # Safety
    /// As for [`World::p`].
    pub(crate) unsafe fn device_p(
        &self,
        ctx: &Context,
        dest: usize,
        value: *const u8,
        bytes: usize,
        pe: i32,
    ) -> Result<bool> {
        let Some(heap) = self.device_heap().filter(|heap| heap.contains(dest, bytes)) else {
            return Ok(false);
        };
        if !dest.is_multiple_of(bytes.min(8)) {
            return Ok(false);
        }
        let target = self.world_pe(ctx, pe)?;
        // SAFETY: the peer's copy, which is mapped here.
        unsafe { heap.write_value(heap.peer(dest, target), value, bytes)? };
        self.ring(target);
        Ok(true)
    }

    /// The device's part in `g`, whose value goes to the host. False where it has none.
    ///
    /// # Safety
    /// As for [`World::g`].
    pub(crate) unsafe fn device_g(
        &self,
        ctx: &Context,
        value: *mut u8,
        source: usize,
        bytes: usize,
        pe: i32,
    ) -> Result<bool> {
        let Some(heap) = self.device_heap().filter(|heap| heap.contains(source, bytes)) else {
            return Ok(false);
        };
        let target = self.world_pe(ctx, pe)?;
        // SAFETY: the peer's copy, which is mapped here; room for the value.
        unsafe {
            let loaded = heap.device.load(heap.peer(source, target), bytes)?;
            mapped::copy(value, loaded.as_ptr(), bytes);
        }
        Ok(true)
    }

    /// The device's part in a get. False where it has none.
    ///
    /// # Safety
    /// As for [`World::get`].
    pub(crate) unsafe fn device_get(
        &self,
        ctx: &Context,
        dest: *mut u8,
        source: usize,
        bytes: usize,
        pe: i32,
        reuse: Reuse,
    ) -> Result<bool> {
        let Some(heap) = self.device_heap().filter(|_| bytes > 0) else { return Ok(false) };
        let target = self.world_pe(ctx, pe)?;
        let Some(far) = self.far(heap, source, bytes, target) else { return Ok(false) };
        // SAFETY: as in `device_put`.
        unsafe {
            let on_device = || !dest.is_null() && heap.device.is_device(dest as usize);
            match far {
                Far::Device(at) => {
                    near("dest", dest, bytes)?;
                    if bytes <= VALUE && !on_device() {
                        let value = heap.device.load(at, bytes)?;
                        mapped::copy(dest, value.as_ptr(), bytes);
                        return Ok(true);
                    }
                    heap.device.copy(dest as usize, at, bytes)?;
                    heap.finish(reuse)?;
                }
                Far::Host(_) if !on_device() => return Ok(false),
                Far::Host(Some(at)) => {
                    heap.device.copy(dest as usize, at, bytes)?;
                    heap.finish(reuse)?;
                }
                Far::Host(None) => {
                    let mut bounce = vec![0u8; bytes];
                    let (pe, to, reuse) = (target, bounce.as_mut_ptr(), Reuse::AtReturn);
                    self.transport().get(ctx.pending(), Get { pe, dest: to, source, bytes, reuse });
                    heap.device.copy(dest as usize, to as usize, bytes)?;
                    heap.device.flush()?;
                }
            }
        }
        Ok(true)
    }

    /// The device's part in an atomic operation; `None` where it has none. `later`: as for `amo_slow`.
    pub(crate) fn device_amo(
        &self,
        ctx: &Context,
        addr: usize,
        request: AmoRequest,
        pe: i32,
        later: Option<*mut u8>,
    ) -> Result<Option<u64>> {
        use crate::amo::AmoOp::{Fetch, Set};
        let width = request.width();
        let Some(heap) = self.device_heap() else { return Ok(None) };
        if !heap.contains(addr, width) {
            let fetch = later.filter(|fetch| !fetch.is_null() && heap.device.is_device(*fetch as usize));
            let Some(fetch) = fetch else { return Ok(None) };
            let old = self.amo_slow(ctx, addr, request, pe, None)?;
            // SAFETY: the caller's word.
            unsafe { heap.hand_over(fetch, request, old)? };
            return Ok(Some(old));
        }
        self.check_alive()?;
        let target = self.world_pe(ctx, pe)?;
        if !addr.is_multiple_of(width) {
            return Err(Error::Misaligned { arg: "dest", addr, align: width });
        }
        let wants = match later {
            None => request.op != Set,
            Some(fetch) => !fetch.is_null(),
        };
        let at = heap.peer(addr, target);
        // SAFETY: an aligned word of device memory that is mapped here.
        let old = unsafe { heap.device.amo(at, request, wants)? };
        if let Some(fetch) = later.filter(|fetch| !fetch.is_null()) {
            // SAFETY: the caller's word.
            unsafe { heap.hand_over(fetch, request, old)? };
        }
        if request.op != Fetch {
            self.ring(target);
        }
        Ok(Some(old))
    }

    /// The device's part in a put with signal. False where it has none.
    ///
    /// # Safety
    /// As for [`World::put_signal`].
    #[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
    pub(crate) unsafe fn device_put_signal(
        &self,
        ctx: &Context,
        dest: usize,
        source: *const u8,
        bytes: usize,
        signal: Signal,
        pe: i32,
        reuse: Reuse,
    ) -> Result<bool> {
        let Some(heap) = self.device_heap() else { return Ok(false) };
        let there = heap.contains(signal.addr, 8);
        let data = bytes > 0
            && (heap.contains(dest, bytes) || (!source.is_null() && heap.device.is_device(source as usize)));
        if !there && !data {
            return Ok(false);
        }
        self.check_alive()?;
        let target = self.world_pe(ctx, pe)?;
        if !signal.addr.is_multiple_of(8) {
            return Err(Error::Misaligned { arg: "sig_addr", addr: signal.addr, align: 8 });
        }
        if self.far(heap, signal.addr, 8, target).is_none() {
            return Err(self.not_symmetric("sig_addr", signal.addr, 8).without_length());
        }
        if near("source", source, bytes)? && self.far(heap, dest, bytes, target).is_none() {
            return Err(self.not_symmetric("dest", dest, bytes));
        }
        // SAFETY: passed on; what was begun is waited for below, at the latest.
        unsafe {
            if !self.device_put(ctx, dest, source, bytes, pe, Reuse::AtQuiet)? && bytes > 0 {
                // On the host, so complete before the device is asked.
                let reuse = Reuse::AtReturn;
                self.transport().put(ctx.pending(), Put { pe: target, dest, source, bytes, reuse });
                self.complete(ctx);
            }
        }
        if there {
            self.device_amo(ctx, signal.addr, signal.request(), pe, Some(core::ptr::null_mut()))?;
        } else {
            heap.device.flush()?;
            let (pending, word) = (ctx.pending(), signal.request());
            self.order(ctx);
            // SAFETY: no old value is stored.
            unsafe { self.transport().amo_later(pending, target, signal.addr, word, core::ptr::null_mut()) };
        }
        if bytes > 0 {
            heap.finish(reuse)?;
        }
        self.ring(target);
        Ok(true)
    }

    /// The device's part in a strided transfer of `n` blocks of `block` bytes between an own buffer `near` and the
    /// symmetric `far`, by strides in bytes: `spans` from the first block to the end of the last, near and far. False
    /// where it has none.
    ///
    /// # Safety
    /// As for [`World::iput`] (`put`) or [`World::iget`].
    #[allow(clippy::too_many_arguments, reason = "two ranges with strides")]
    pub(crate) unsafe fn device_strided(
        &self,
        ctx: &Context,
        put: bool,
        (near_at, near_stride): (usize, usize),
        (far_at, far_stride): (usize, usize),
        spans: [usize; 2],
        (block, n): (usize, usize),
        pe: i32,
    ) -> Result<bool> {
        let Some(heap) = self.device_heap().filter(|_| spans[0] > 0) else { return Ok(false) };
        let target = self.world_pe(ctx, pe)?;
        let Some(far) = self.far(heap, far_at, spans[1], target) else { return Ok(false) };
        let at = match far {
            Far::Device(at) => at,
            Far::Host(_) if near_at == 0 || !heap.device.is_device(near_at) => return Ok(false),
            Far::Host(Some(at)) => at,
            Far::Host(None) => {
                // One by one, each by way of the host.
                for i in 0..n {
                    let (mine, theirs) = (near_at + i * near_stride, far_at + i * far_stride);
                    // SAFETY: block i of both.
                    unsafe {
                        if put {
                            self.device_put(ctx, theirs, mine as *const u8, block, pe, Reuse::AtReturn)?;
                        } else {
                            self.device_get(ctx, mine as *mut u8, theirs, block, pe, Reuse::AtReturn)?;
                        }
                    }
                }
                return Ok(true);
            }
        };
        near(if put { "source" } else { "dest" }, near_at as *const u8, spans[0])?;
        // SAFETY: both spans were checked or are the caller's.
        unsafe {
            if put {
                heap.device.copy_strided(at, far_stride, near_at, near_stride, block, n)?;
            } else {
                heap.device.copy_strided(near_at, near_stride, at, far_stride, block, n)?;
            }
        }
        heap.device.flush()?;
        self.ring(target);
        Ok(true)
    }
}

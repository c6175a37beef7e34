//! The device as the engine uses it.
use crate::gpu::Gpu;
use crate::on_stream::queue::Place;
use dushmem_core::amo::AmoRequest;
use dushmem_core::device::{DeviceMemory, Export, KernelState, KernelTeam};
use dushmem_core::device_heap::driver::{Agreed, Combine, HeapDevice, Identity, Link};
use dushmem_core::error::{Error, Result};
use dushmem_core::laps::Step;

impl HeapDevice for Gpu {
    fn name(&self) -> String {
        format!("{} ({})", self.facts.name, crate::facts::show_uuid(&self.facts.uuid))
    }

    fn identity(&self) -> Identity {
        let crate::gpu::Facts { uuid, memory, granule, concurrent, processors, chunks, .. } = self.facts;
        Identity { uuid, memory, granule, concurrent, processors, chunks }
    }

    fn link(&self, other: &[u8; 16]) -> Link {
        self.link_to(other)
    }

    fn free_memory(&self) -> Result<u64> {
        Ok(crate::memory::free_memory(self.context())?.0 as u64)
    }

    fn reserve(&self, at: Option<usize>, bytes: usize) -> Result<usize> {
        if !self.facts.chunks {
            return Err(Error::NotSupported(format!(
                "{} can't map memory at chosen addresses: its heap is one allocation",
                self.facts.name
            )));
        }
        self.spaces.reserve(at, bytes)
    }

    fn allocate(&self, at: usize, bytes: usize) -> Result<Box<dyn DeviceMemory>> {
        self.new_memory(at, bytes)
    }

    fn begin_allocate(&self, at: usize, bytes: usize) -> Result<Box<dyn DeviceMemory>> {
        self.begin_memory(at, bytes)
    }

    unsafe fn fill(&self, dest: usize, bytes: &[u8]) -> Result<()> {
        // SAFETY: passed on.
        unsafe { self.begin_fill(dest, bytes) }
    }

    fn ready(&self) -> Result<()> {
        self.finish_start()
    }

    fn steps(&self) -> Vec<Step> {
        self.take_steps()
    }

    fn import(&self, export: &Export, at: usize, bytes: usize) -> Result<Box<dyn DeviceMemory>> {
        self.import_memory(export, at, bytes)
    }

    unsafe fn pin(&self, at: usize, bytes: usize) -> Result<()> {
        // SAFETY: passed on.
        unsafe { self.pin_range(at, bytes) }
    }

    fn shares_atomics(&self) -> bool {
        self.facts.host_atomics
    }

    fn unpin(&self, at: usize) -> Result<()> {
        self.unpin_range(at)
    }

    fn is_device(&self, address: usize) -> bool {
        matches!(self.place(address), Place::Device | Place::Elsewhere)
    }

    unsafe fn copy(&self, dest: usize, source: usize, bytes: usize) -> Result<()> {
        // SAFETY: passed on.
        unsafe { self.begin_copy(dest, source, bytes) }
    }

    unsafe fn zero(&self, at: usize, bytes: usize) -> Result<()> {
        // SAFETY: passed on.
        unsafe { self.begin_zero(at, bytes) }
    }

    unsafe fn copy_strided(
        &self,
        dest: usize,
        dest_stride: usize,
        source: usize,
        source_stride: usize,
        elem: usize,
        n: usize,
    ) -> Result<()> {
        // SAFETY: passed on.
        unsafe { self.begin_copy_strided((dest, dest_stride), (source, source_stride), elem, n) }
    }

    unsafe fn store(&self, dest: usize, value: [u8; 16], bytes: usize) -> Result<()> {
        // SAFETY: passed on.
        unsafe { self.begin_store(dest, value, bytes) }
    }

    unsafe fn load(&self, source: usize, bytes: usize) -> Result<[u8; 16]> {
        // SAFETY: passed on.
        unsafe { self.load_now(source, bytes) }
    }

    unsafe fn peek(&self, source: usize, to: &mut [u8]) -> Result<()> {
        // SAFETY: passed on.
        unsafe { self.peek_now(source, to) }
    }

    unsafe fn amo(&self, at: usize, request: AmoRequest, fetch: bool) -> Result<u64> {
        // SAFETY: passed on.
        unsafe { self.begin_amo(at, request, fetch) }
    }

    unsafe fn combine(&self, what: &Combine<'_>) -> Result<()> {
        // SAFETY: passed on.
        unsafe { self.begin_combine(what) }
    }

    fn flush(&self) -> Result<()> {
        self.finish_all()
    }

    fn set_state(&self, state: &KernelState) -> Result<()> {
        self.push_state_to_all(state)
    }

    fn table(&self, bytes: usize) -> Result<usize> {
        self.new_table(bytes)
    }

    fn set_team(&self, table: usize, slot: usize, entry: &KernelTeam) -> Result<()> {
        self.store_team(table + slot * size_of::<KernelTeam>(), entry)
    }

    fn set_agreed(&self, agreed: Agreed) {
        self.agree(agreed);
    }

    fn leave(&self) -> Result<()> {
        crate::device::leave(self)
    }
}

//! A job and a queue for tests of what stands above them.
use super::job::{Job, Target, TeamSlot, WordAt};
use super::kernels::{Area, Few};
use super::queue::{Capture, HostFunction, Launch, MemOp, Place, Queue, Rows};
use dushmem_core::device::StreamHandle;
use dushmem_core::device_heap::driver::Sharing;
use dushmem_core::error::Result;
use dushmem_core::team::Team;
use std::ffi::c_void;
use std::fmt::Debug;
use std::ops::Deref;

/// A PE alone.
#[derive(Debug)]
pub struct Alone;

impl Job for Alone {
    fn my_pe(&self) -> usize {
        0
    }
    fn n_pes(&self) -> usize {
        1
    }
    fn sharing(&self) -> Sharing {
        Sharing::Turns
    }
    fn blocks(&self) -> u32 {
        1
    }
    fn first_on_device(&self, _pe: usize) -> usize {
        0
    }
    fn has_remote(&self) -> bool {
        false
    }
    fn changes_by_cpu(&self, _addr: usize) -> bool {
        false
    }
    fn is_direct(&self, _pes: &[u32]) -> bool {
        true
    }
    fn flagged(&self, _slot: usize, _pes: &[u32], _me: usize) -> Option<(Few, Area)> {
        None
    }

    fn few(&self, _slot: usize, _pes: &[u32], _me: usize) -> Option<Few> {
        None
    }
    fn copied_by_kernel(&self) -> usize {
        0
    }
    fn slot_words(&self, _slot: usize) -> WordAt<'_> {
        unreachable!("no meeting")
    }
    fn team_slot(&self, _slot: usize) -> TeamSlot {
        unreachable!("no meeting")
    }
    fn peer(&self, own: u64, _pe: usize) -> u64 {
        own
    }
    fn check_team(&self, _team: &Team) -> Result<()> {
        Ok(())
    }
    fn target(&self, _: &'static str, _: usize, _: usize, _: usize, _: i32) -> Result<Target> {
        unreachable!("no operation")
    }
    fn word(&self, _: &'static str, _: usize, _: usize, _: i32) -> Result<Target> {
        unreachable!("no operation")
    }
}

/// What a test does in place of a queue: the rest is not called.
pub trait Part: Debug + Send + Sync {
    fn memory_ops(&self, ops: &[MemOp]) {
        unreachable!("{ops:?}")
    }
    fn launch(&self, launch: &Launch) {
        unreachable!("{launch:?}")
    }
    fn call(&self, _function: HostFunction, _data: *mut c_void) {
        unreachable!("no call")
    }
    fn read(&self, into: &mut [u8]);
    fn host_word(&self) -> (*mut u32, u64);
}

/// A queue of that.
#[derive(Debug)]
pub struct Faked<P>(pub P);

impl<P> Deref for Faked<P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.0
    }
}

impl<P: Part> Queue for Faked<P> {
    fn capture(&self, _stream: StreamHandle) -> Result<Capture> {
        unreachable!("no operation")
    }
    fn has_nor(&self) -> bool {
        unreachable!("no operation")
    }
    fn place(&self, _address: usize) -> Place {
        unreachable!("no operation")
    }
    unsafe fn memory_ops(&self, _stream: StreamHandle, _captured: bool, ops: &[MemOp]) -> Result<()> {
        self.0.memory_ops(ops);
        Ok(())
    }
    unsafe fn copy(&self, _: StreamHandle, _: usize, _: usize, _: usize) -> Result<()> {
        unreachable!("no operation")
    }
    unsafe fn copy_rows(&self, _stream: StreamHandle, _rows: &Rows) -> Result<()> {
        unreachable!("no operation")
    }
    unsafe fn store_small(&self, _: StreamHandle, _: u64, _: u16, _: usize) -> Result<()> {
        unreachable!("no operation")
    }
    unsafe fn launch(&self, _stream: StreamHandle, launch: Launch) -> Result<()> {
        self.0.launch(&launch);
        Ok(())
    }
    unsafe fn call(&self, _stream: StreamHandle, function: HostFunction, data: *mut c_void) -> Result<()> {
        self.0.call(function, data);
        Ok(())
    }
    fn join(&self, _stream: StreamHandle, _captured: bool) -> Result<()> {
        unreachable!("no operation")
    }
    unsafe fn read(&self, _source: usize, into: &mut [u8]) -> Result<()> {
        self.0.read(into);
        Ok(())
    }
    fn host_word(&self) -> Result<(*mut u32, u64)> {
        Ok(self.0.host_word())
    }
    fn host_block(&self, _bytes: usize) -> Result<(usize, u64)> {
        unreachable!("no operation")
    }
}

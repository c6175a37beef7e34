//! A device of plain memory, for tests of what the engine does with devices that have memory of their own.
//!
//! Its memory is shared files, which the program sees at addresses that it can't load from or store to: only the
//! device reaches them, by a second mapping. What is begun is done when somebody waits for it, in the order of the
//! calls, or a while later, so a wait that the engine forgets shows.
mod heap;
mod space;

pub use heap::Plain;
pub use space::{also_reach, reach};

use dushmem_core::device::{Device, DeviceMemory, Export, HeapRequest, KernelState, StreamHandle, StreamOp};
use dushmem_core::device_heap::driver::{Agreed, HeapDevice, Identity};
use dushmem_core::error::{Error, Result};
use dushmem_core::world::World;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of memory that a device has, and the unit in which it is given out.
pub const MEMORY: usize = 512 << 20;
/// See [`MEMORY`].
pub const GRANULE: usize = 2 << 20;

/// Devices of this kind. Each PE of a job has one, and all PEs have the same.
#[derive(Debug, Default)]
pub struct PlainDevice {
    /// Where it is only bound when a program needs it, and what else a test wants.
    pub ways: Ways,
    /// Failures to come: allocations that succeed before one that does not, of PE 0; 0: all do.
    pub fails_after: AtomicUsize,
    made: Mutex<Vec<Arc<Plain>>>,
}

/// How it behaves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ways {
    /// Bound only when the program needs one.
    pub late: bool,
    /// Memory is in one piece, where the driver likes, and passed on by a word of the driver's.
    pub one_chunk: bool,
    /// Addresses that are wanted are taken.
    pub moved: bool,
    /// A device for each PE.
    pub each: bool,
    /// Kernels of processes take turns.
    pub turns: bool,
    /// Atomic operations on memory of the host are not atomic against those of CPUs.
    pub own_atomics: bool,
    /// The device of PE 1 pins so many ranges of the host's memory and no more; 0: as many as are wanted.
    pub most_pins: usize,
}

impl PlainDevice {
    /// A kind of device for a test, for as long as the process lives.
    pub fn new(ways: Ways) -> &'static PlainDevice {
        Box::leak(Box::new(PlainDevice { ways, ..PlainDevice::default() }))
    }

    /// What the PE of that number has bound last.
    pub fn of(&self, pe: usize) -> Option<Arc<Plain>> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.iter().rev().find(|plain| plain.pe() == pe).cloned()
    }
}

impl Device for PlainDevice {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn has_memory(&self) -> bool {
        true
    }

    fn count(&self) -> Result<usize> {
        Ok(1)
    }

    fn attach(&self, _: &Arc<World>, _: usize) -> Result<()> {
        Ok(())
    }

    fn detach(&self, world: &World) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.retain(|plain| plain.pe() != world.my_pe() as usize);
    }

    fn allocate(&self, _: &HeapRequest) -> Result<Box<dyn DeviceMemory>> {
        Err(Error::Device("memory comes from what was bound".into()))
    }

    fn import(&self, _: &Export, _: &HeapRequest) -> Result<Box<dyn DeviceMemory>> {
        Err(Error::Device("memory comes from what was bound".into()))
    }

    unsafe fn copy(&self, _: usize, _: usize, _: usize) -> Result<()> {
        Err(Error::Device("copies are those of what was bound".into()))
    }

    unsafe fn enqueue(
        &self,
        world: &Arc<World>,
        _: StreamHandle,
        _: &'static str,
        op: StreamOp,
    ) -> Result<()> {
        // SAFETY: passed on.
        unsafe { op.run(world) }
    }

    fn synchronize(&self, _: StreamHandle) -> Result<()> {
        Ok(())
    }

    fn bind(&self, world: &Arc<World>, insist: bool) -> Result<Option<Arc<dyn HeapDevice>>> {
        if self.ways.late && !insist {
            return Ok(None);
        }
        let pe = world.my_pe() as usize;
        let identity = Identity {
            uuid: [if self.ways.each { pe as u8 } else { 7 }; 16],
            memory: MEMORY as u64,
            granule: GRANULE as u64,
            concurrent: !self.ways.turns,
            processors: 8,
            chunks: !self.ways.one_chunk,
        };
        let left = if pe == 0 { self.fails_after.load(Ordering::Relaxed) } else { 0 };
        let plain = Arc::new(Plain::new(pe, identity, self.ways, left));
        self.made.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&plain));
        Ok(Some(plain))
    }
}

/// What the job's PEs told a device.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    /// What they agreed on.
    pub agreed: Option<Agreed>,
    /// What kernels know.
    pub state: Option<KernelState>,
    /// The PE has left.
    pub left: bool,
}

//! What the engine asks of a device that has memory of its own, for one PE.
//!
//! All work of these calls goes to streams of the library's own, which wait for no other stream: a kernel of the
//! program that spins does not hold them up, and none of them synchronises the whole device. Addresses are those of
//! this process; memory of the host may stand on either side of a copy.
use crate::amo::AmoRequest;
use crate::coll::reduce::Reducer;
use crate::device::{DeviceMemory, Export, KernelState, KernelTeam};
use crate::error::Result;
use crate::laps::Step;
use std::fmt::Debug;

/// The device that a PE uses, as its peers have to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Names the device on every machine, whatever number the process gives it.
    pub uuid: [u8; 16],
    /// Bytes of memory that the device has.
    pub memory: u64,
    /// Allocations are multiples of this.
    pub granule: u64,
    /// Whether kernels of different processes run at the same time.
    pub concurrent: bool,
    /// Multiprocessors.
    pub processors: u32,
    /// Whether peers in other processes import chunks by file descriptor ([`Export::Fd`]); otherwise a heap is one
    /// chunk, and lies where the driver puts it.
    pub chunks: bool,
}

/// What a device can do with the memory of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Load, store, and atomic operations.
    Whole,
    /// Load and store; its atomic operations there are none for others.
    WithoutAtomics,
    /// Nothing.
    Missing,
    /// This process does not see the other one: what can be done is found out by doing it.
    Unseen,
}

/// How the PEs of a job that use one device share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// No two PEs use the same device.
    Alone,
    /// PEs are threads of one process: kernels run at the same time.
    Threads,
    /// Processes whose kernels run at the same time.
    Concurrent,
    /// Processes that take turns: a kernel that waits for another PE's costs a time slice a turn.
    Turns,
}

/// What the PEs of a job agree on when they bind their devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// How they share them.
    pub sharing: Sharing,
    /// Most PEs that use one device.
    pub on_one: u32,
    /// Devices that PEs use.
    pub devices: u32,
    /// Most blocks of a collective kernel that can run at the same time on every PE, at least 1: the same number on
    /// all PEs.
    pub blocks: u32,
    /// Most bytes that a member of the world's team sends in a collective as words with the call's number, to all members
    /// together; 0 where they are too many, or take turns.
    pub flagged: usize,
}

impl Agreed {
    /// Blocks for which a collective's slot has flags.
    pub const MOST_BLOCKS: u32 = 128;
    /// Blocks, where PEs have different devices and nobody says how many: so many fill the link between two of them, and
    /// leave multiprocessors to the program.
    pub const LINK_BLOCKS: u32 = 64;

    /// PEs of a world that sends such words.
    pub const MOST_FLAGGED: usize = 8;

    /// PEs, at most, whose kernels are on one device at the same time, and have to be resident beside each other. Where
    /// PEs take turns each has all of the device in its turn.
    pub fn at_once(&self) -> u32 {
        match self.sharing {
            Sharing::Threads | Sharing::Concurrent => self.on_one,
            Sharing::Alone | Sharing::Turns => 1,
        }
    }
}

/// A reduction of vectors that lie in memory which the device addresses: element i of every destination becomes
/// element i of the sources, combined in their order. Sources may be destinations.
#[derive(Clone, Copy, Debug)]
pub struct Combine<'a> {
    /// First elements of the operands.
    pub sources: &'a [usize],
    /// Where the result goes.
    pub dests: &'a [usize],
    /// Elements.
    pub n: usize,
    /// Type and operation.
    pub reducer: &'a Reducer,
}

/// A device with memory of its own, as one PE uses it. May be called from any thread. What is begun is done in the order
/// of the calls, all of it in one stream: a copy after a combination sees its result.
pub trait HeapDevice: Debug + Send + Sync {
    /// What it is called in messages.
    fn name(&self) -> String;

    /// See [`Identity`].
    fn identity(&self) -> Identity;

    /// What this device can do with the memory of another one, whose name is that of its [`Identity`].
    fn link(&self, _other: &[u8; 16]) -> Link {
        Link::Unseen
    }

    /// Free memory of the device, in bytes.
    fn free_memory(&self) -> Result<u64>;

    /// Takes address space, at `at` if that is free. Gives its first address; it is given back with the device.
    fn reserve(&self, at: Option<usize>, bytes: usize) -> Result<usize>;

    /// Own memory at `at`, in address space that was reserved, zeroed. `bytes` is a multiple of the granule. Where PEs
    /// are threads of one process, all their memory lies in one reservation, that of PE 0, and every PE's device is to
    /// reach all of it: no PE imports another one's. Without [`Identity::chunks`] the driver chooses the place.
    ///
    /// Dropping it gives the memory back; nobody uses it then.
    fn allocate(&self, at: usize, bytes: usize) -> Result<Box<dyn DeviceMemory>>;

    /// As [`HeapDevice::allocate`], but the memory is zeroed only when [`HeapDevice::ready`] has returned.
    fn begin_allocate(&self, at: usize, bytes: usize) -> Result<Box<dyn DeviceMemory>> {
        self.allocate(at, bytes)
    }

    /// Begins to copy bytes of the host to own memory, after it was zeroed.
    ///
    /// # Safety
    /// The destination is valid, and the bytes stay as they are, until [`HeapDevice::ready`].
    unsafe fn fill(&self, dest: usize, bytes: &[u8]) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.copy(dest, bytes.as_ptr() as usize, bytes.len())? };
        self.flush()
    }

    /// Waits for what was begun when the device was found, by [`HeapDevice::begin_allocate`] and by [`HeapDevice::fill`]:
    /// from then on nothing that the PE calls waits for kernels of the program.
    fn ready(&self) -> Result<()> {
        Ok(())
    }

    /// How long it took, step by step, to begin to use the device, and what [`HeapDevice::ready`] has waited for.
    fn steps(&self) -> Vec<Step> {
        Vec::new()
    }

    /// A peer's memory, from what it exported, at `at` in reserved address space (anywhere for [`Export::Opaque`]).
    fn import(&self, export: &Export, at: usize, bytes: usize) -> Result<Box<dyn DeviceMemory>>;

    /// Lets kernels and copies of the device use memory of the host, which stays where it is: this process's mapping
    /// at `at`. Undone by [`HeapDevice::unpin`].
    ///
    /// # Safety
    /// The range is mapped until it is unpinned.
    unsafe fn pin(&self, at: usize, bytes: usize) -> Result<()>;

    /// Whether the device's atomic operations on memory of the host are atomic against those of CPUs, and of other
    /// devices.
    fn shares_atomics(&self) -> bool {
        true
    }

    /// Ends what [`HeapDevice::pin`] began.
    fn unpin(&self, at: usize) -> Result<()>;

    /// Whether the address is one of memory of a device, from whatever allocator.
    fn is_device(&self, address: usize) -> bool;

    /// Begins a copy. The source is in use, and the destination not complete, until [`HeapDevice::flush`]. Either side
    /// may be memory of this or of another device, or of the host, pinned or not, whatever its pages are: symmetric
    /// memory of the host is a shared mapping.
    ///
    /// # Safety
    /// Both ranges are valid until then; they don't overlap.
    unsafe fn copy(&self, dest: usize, source: usize, bytes: usize) -> Result<()>;

    /// Begins to set bytes to zero, in memory of a device.
    ///
    /// # Safety
    /// The range is valid until [`HeapDevice::flush`].
    unsafe fn zero(&self, at: usize, bytes: usize) -> Result<()>;

    /// Begins a copy of `n` elements of `elem` bytes; strides are in bytes, at least `elem`.
    ///
    /// # Safety
    /// As for [`HeapDevice::copy`].
    #[allow(clippy::too_many_arguments, reason = "two ranges with strides")]
    unsafe fn copy_strided(
        &self,
        dest: usize,
        dest_stride: usize,
        source: usize,
        source_stride: usize,
        elem: usize,
        n: usize,
    ) -> Result<()>;

    /// Begins to store 1, 2, 4, 8 or 16 bytes of `value`, which is taken at once. An aligned word of up to 8 bytes is
    /// stored by one access.
    ///
    /// # Safety
    /// The destination is valid until [`HeapDevice::flush`].
    unsafe fn store(&self, dest: usize, value: [u8; 16], bytes: usize) -> Result<()>;

    /// Loads up to 16 bytes, after all that was begun before.
    ///
    /// # Safety
    /// The source is valid.
    unsafe fn load(&self, source: usize, bytes: usize) -> Result<[u8; 16]>;

    /// Reads memory of a device, any number of bytes, but not behind what was begun before: for waiting. An aligned
    /// word of up to 8 bytes is read by one access.
    ///
    /// # Safety
    /// The source is valid.
    unsafe fn peek(&self, source: usize, to: &mut [u8]) -> Result<()>;

    /// Performs an atomic operation by the device, after all that was begun before. With `fetch` it is complete at
    /// return, and the old value is given; otherwise at [`HeapDevice::flush`].
    ///
    /// # Safety
    /// The word is valid, and aligned.
    unsafe fn amo(&self, at: usize, request: AmoRequest, fetch: bool) -> Result<u64>;

    /// Begins to combine vectors, of a type that has an [`ElementKind`](crate::coll::reduce::ElementKind). There is at
    /// least one source and one destination.
    ///
    /// # Safety
    /// The vectors are valid until [`HeapDevice::flush`], and aligned for their type.
    unsafe fn combine(&self, what: &Combine<'_>) -> Result<()>;

    /// Waits for all that was begun. Returns at once, without a call of the driver, where there is nothing.
    fn flush(&self) -> Result<()>;

    /// Has kernels of all modules of the PE, also of those that come later, know this state: units that were registered
    /// ([`Device::add_module`](crate::device::Device::add_module)), modules that the program names, the library's own.
    /// The tables that it points to are device addresses, made by [`HeapDevice::table`]. Fields that only the driver
    /// knows are 0 here and filled in by it: `notice`, and `proxy` where kernels post requests
    /// ([`KernelState::posts`]).
    fn set_state(&self, state: &KernelState) -> Result<()>;

    /// Memory for a table that kernels read, zeroed; lives as long as the device.
    fn table(&self, bytes: usize) -> Result<usize>;

    /// A team was made, or its slot became free ([`KernelTeam::NONE`]): changes entry `slot` of the table at `table`,
    /// so that a kernel never sees a handle with another team's data.
    fn set_team(&self, table: usize, slot: usize, entry: &KernelTeam) -> Result<()>;

    /// The job's PEs have agreed; called once, before [`HeapDevice::reserve`].
    fn set_agreed(&self, agreed: Agreed);

    /// The PE leaves its job: waits for all that uses its memory, in streams of the program too, since kernels may.
    /// Nothing but [`HeapDevice::flush`] and dropping memory follows.
    fn leave(&self) -> Result<()>;
}

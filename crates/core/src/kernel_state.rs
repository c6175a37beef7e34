//! What kernels know of their PE and of its teams, as the device headers define it, too.
use crate::device_heap::driver::Sharing;
use crate::error::{Error, Result};

/// What kernels read to find their peers. The device headers define the same struct: fields are only
/// added at the end, and [`KernelState::ABI`] counts incompatible changes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct KernelState {
    /// [`KernelState::MAGIC`]; zero in a module that nobody has told anything.
    pub magic: u64,
    /// [`KernelState::ABI`]
    pub abi: u32,
    /// Bytes of this struct.
    pub size: u32,
    /// This PE's number in the world.
    pub my_pe: i32,
    /// Number of PEs of the world.
    pub n_pes: i32,
    /// First address of the heap that kernels use.
    pub heap: u64,
    /// Bytes of that heap.
    pub heap_len: u64,
    /// Device address of a table, by world PE: what has to be added to an own heap address to get at the
    /// PE's copy, or [`KernelState::UNREACHABLE`].
    pub delta: u64,
    /// Device address of a table of [`KernelTeam`], by the slot in a team's handle.
    pub teams: u64,
    /// Entries of that table.
    pub team_count: u64,
    /// Device address of the ring of requests to the proxy, or 0.
    pub proxy: u64,
    /// First address of the library's own part of the slice, which ends where the heap begins; the same
    /// delta leads to the PEs' copies.
    pub internals: u64,
    /// Own address of the doorbell: a 32-bit word that isn't 0 while somebody sleeps for a write.
    pub doorbell: u64,
    /// PEs whose memory kernels can't load and store.
    pub remote: u32,
    /// Bits of [`KernelState::STRICT`].
    pub reserved: u32,
    /// First address of a second heap that kernels reach, or 0.
    pub other_heap: u64,
    /// Bytes of that heap.
    pub other_heap_len: u64,
    /// As `delta`, for that heap.
    pub other_delta: u64,
    /// How PEs share devices: see [`KernelState::sharing_of`].
    pub sharing: u32,
    /// Queue pairs have the numbers below it: see [`crate::proxy::queue_pairs`]. 0: it is not known which there are.
    pub queue_pairs: u32,
    /// Device address of a word of the host that a kernel sets to 1 which has lost its turn while it waited for a PE that takes turns
    /// with its own, or 0.
    pub notice: u64,
    /// See [`KernelState::first_of`].
    pub first_delta: [u64; KernelState::FIRST_PES + 1],
    /// What the table says about the world's team, which lives as long as the state; or no members.
    pub world: KernelTeam,
    /// Where kernels count requests, if not in the ring's header: see [`crate::proxy::Memory::count_at`].
    pub tickets: u64,
}

/// A team, as kernels see it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct KernelTeam {
    /// This PE's number in the team, or -1: not a member, or no such team.
    pub my_pe: i32,
    /// Members.
    pub n_pes: i32,
    /// Device address of the members' world numbers (32 bits each), or 0: they are the world's.
    pub pes: u64,
    /// Device address of this PE's [`crate::coll::device_slot::DeviceSlot`] of the team.
    pub slot: u64,
    /// The team's handle, or -1: no team. Table entries are found by a handle's low bits
    /// ([`KernelTeam::SLOT_MASK`]), and may belong to a later team.
    pub handle: i32,
    /// Words of each array of flags in the slot.
    pub words: u32,
    /// Bytes of the buffer that each member has at each other.
    pub cell: u32,
    /// [`KernelTeam::DIRECT`], or 0; from bit [`KernelTeam::BLOCKS`] on
    /// [`crate::coll::device_slot::DeviceSlot::blocks`]. The same on all members.
    pub flags: u32,
}

impl KernelTeam {
    /// Kernels of all members load and store the memory of all members, of which there are few enough to do so.
    pub const DIRECT: u32 = 1;
    /// Members of a team with that flag, at most.
    pub const MOST_DIRECT: usize = 64;
    /// First bit of the number of blocks.
    pub const BLOCKS: u32 = 8;
    /// Bits of a handle that say where in the table its team is.
    pub const SLOT_MASK: i32 = (1 << crate::team::SLOT_BITS) - 1;
    /// The entry of a slot without a team.
    pub const NONE: KernelTeam =
        KernelTeam { my_pe: -1, n_pes: 0, pes: 0, slot: 0, handle: -1, words: 0, cell: 0, flags: 0 };
}

impl KernelState {
    /// First word of a state that was set.
    pub const MAGIC: u64 = 0x6475_7368_6d65_6d31;
    /// Version of the layout.
    pub const ABI: u32 = 3;
    /// Bit of `reserved`: where PEs take turns a kernel that waits for long is an error.
    pub const STRICT: u32 = 1;
    /// Bit of `reserved`: all PEs are threads of this process and use this device, and the heap is the device's, so what is
    /// ordered on the device is ordered for all of them.
    pub const NEAR: u32 = 2;
    /// Bits of `reserved`: atomic operations of kernels on words of the heap, or of the second heap, would not be atomic
    /// against those of the host, so the proxy performs them.
    pub const HEAP_BY_PROXY: u32 = 4;
    /// See [`KernelState::HEAP_BY_PROXY`].
    pub const OTHER_BY_PROXY: u32 = 8;
    /// Bit of `reserved`, without [`KernelState::MAGIC`]: the kernel is one of a module that PEs of this process share, so it
    /// knows none of them.
    pub const OF_MANY: u32 = 16;
    /// Bit of `reserved`: the host's heap, or what kernels lack of it, could not be pinned for them.
    pub const NO_OTHER: u32 = 32;
    /// Entry of the delta table for a PE whose memory kernels can't load and store.
    pub const UNREACHABLE: i64 = i64::MIN;
    /// So many PEs' entries of the delta table stand in the state itself.
    pub const FIRST_PES: usize = 64;
    /// Of no PE.
    pub const NONE: KernelState = KernelState {
        magic: 0,
        abi: KernelState::ABI,
        size: size_of::<KernelState>() as u32,
        my_pe: -1,
        n_pes: 0,
        heap: 0,
        heap_len: 0,
        delta: 0,
        teams: 0,
        team_count: 0,
        proxy: 0,
        internals: 0,
        doorbell: 0,
        remote: 0,
        reserved: 0,
        other_heap: 0,
        other_heap_len: 0,
        other_delta: 0,
        sharing: 0,
        queue_pairs: 0,
        notice: 0,
        first_delta: [0; KernelState::FIRST_PES + 1],
        world: KernelTeam { my_pe: 0, handle: 0, ..KernelTeam::NONE },
        tickets: 0,
    };

    /// Whether kernels have requests for the proxy: of PEs that they don't reach, or of words that the CPU changes.
    pub fn posts(&self) -> bool {
        self.remote > 0 || self.reserved & (KernelState::HEAP_BY_PROXY | KernelState::OTHER_BY_PROXY) != 0
    }

    /// The first entries of a delta table as the state holds them: with the highest bit inverted, so that 0, which is also
    /// what a state that ends before them leaves in a module, says that a PE can't be loaded from and stored to.
    pub fn first_of(delta: impl IntoIterator<Item = i64>) -> [u64; KernelState::FIRST_PES + 1] {
        let mut first = [0; KernelState::FIRST_PES + 1];
        for (to, delta) in first[..KernelState::FIRST_PES].iter_mut().zip(delta) {
            *to = (delta ^ KernelState::UNREACHABLE) as u64;
        }
        first
    }

    /// What kernels know of [`Sharing`].
    pub fn sharing_of(sharing: Sharing) -> u32 {
        match sharing {
            Sharing::Alone => 0,
            Sharing::Threads => 1,
            Sharing::Concurrent => 2,
            Sharing::Turns => 3,
        }
    }
}

/// What the device headers register for each translation unit with kernels, before `main`. Fields are
/// only added at the end.
#[derive(Debug)]
#[repr(C)]
pub struct Module {
    /// Bytes of this struct.
    pub size: u32,
    /// The [`KernelState::ABI`] that the unit was compiled for.
    pub abi: u32,
    /// Path of the header that it was compiled with.
    pub header: *const std::ffi::c_char,
    /// Copies `bytes` bytes of a state into the unit's variable on the current device, in a stream; gives
    /// the runtime's error code. It is compiled into the unit, so it uses the program's own runtime.
    pub push:
        unsafe extern "C" fn(state: *const KernelState, bytes: usize, stream: *mut std::ffi::c_void) -> i32,
}

impl Module {
    /// An error for a unit whose kernels would read nonsense: its headers have a state of another layout.
    pub fn check(&self) -> Result<()> {
        if self.abi == KernelState::ABI {
            return Ok(());
        }
        let header = if self.header.is_null() {
            "unknown headers".into()
        } else {
            // SAFETY: the headers register a string literal.
            unsafe { std::ffi::CStr::from_ptr(self.header) }.to_string_lossy()
        };
        Err(Error::Device(format!(
            "kernels were compiled with {header}, whose state has version {}; this library has version {}: compile \
             them again with the library's own headers",
            self.abi,
            KernelState::ABI
        )))
    }
}

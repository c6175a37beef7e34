//! What an OS thread that runs blocks shows to the watch: which block it runs, and what that block's threads do.
//!
//! Only the owner writes, in a few plain stores; the watch reads at any time, and may see a mixture of two
//! moments.
use crate::called::Name;
use crate::grid::Dim3;
use std::ffi::c_char;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// What a GPU thread waits in, as one number: 0 for nothing, [`What::call`], or one of the names below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct What(pub u32);

impl What {
    /// Nothing.
    pub const NOTHING: What = What(0);
    /// `__syncthreads`
    pub const SYNC_THREADS: What = What(1);
    /// `__nanosleep` and what else gives way by itself.
    pub const YIELD: What = What(2);
    /// A call that tests something and may be repeated.
    pub const TEST: What = What(3);
    /// `__syncwarp`, shuffles, votes: the threads of a warp that do something together.
    pub const SYNC_WARP: What = What(4);
    /// A barrier of some warps of the block.
    pub const SYNC_GROUP: What = What(5);
    /// A barrier of the whole grid.
    pub const SYNC_GRID: What = What(6);

    const CALLS: u32 = 0x100;

    /// Whether it is a call of the engine.
    pub fn is_call(self) -> bool {
        self.0 >= Self::CALLS
    }

    /// A call of the engine that waits ([`dushmem_core::error::Call`]).
    pub fn call(number: u32) -> What {
        What(Self::CALLS + number)
    }

    /// As a program names it.
    pub fn name(self) -> &'static str {
        match self.0 {
            0 => "nothing",
            1 => "__syncthreads",
            2 => "a loop that gives way",
            3 => "a test",
            4 => "__syncwarp or another call of a warp",
            5 => "a barrier of a part of the block",
            6 => "a barrier of the grid",
            number => dushmem_core::error::Call::name(number.saturating_sub(Self::CALLS)),
        }
    }
}

/// A GPU thread's position in its block as one number: blocks have at most 1,024 x 1,024 x 64 sides.
pub(crate) fn pack(at: Dim3) -> u32 {
    at.x | at.y << 11 | at.z << 22
}

/// The position of such a number.
pub(crate) fn unpack(packed: u32) -> Dim3 {
    Dim3::new(packed & 0x7ff, packed >> 11 & 0x7ff, packed >> 22)
}

/// A GPU thread that has begun and not returned.
#[derive(Debug, Default)]
#[repr(align(32))]
pub(crate) struct Slot {
    /// Its stack pointer while another one runs. Only the owner uses it.
    pub sp: AtomicPtr<u8>,
    /// Its position, packed.
    pub index: AtomicU32,
    /// [`What`] it waits in.
    pub what: AtomicU32,
    /// The word that it waits for, where there is one.
    pub address: AtomicU64,
    /// The name of the call of the library that it is in ([`Name`]), as far as it is known: while another one runs.
    pub call: AtomicPtr<c_char>,
}

impl Slot {
    /// The call that the thread is in.
    pub fn name(&self) -> Name {
        // SAFETY: what is stored is a name.
        unsafe { Name::new(self.call.load(Ordering::Relaxed)) }
    }

    #[inline]
    pub fn set_name(&self, name: Name) {
        self.call.store(name.address().cast_mut(), Ordering::Relaxed);
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Board {
    /// Kernel and shape while a launch is worked at.
    pub launch: Mutex<Option<Launch>>,
    /// True while a block runs.
    pub busy: AtomicBool,
    /// True where each GPU thread has an OS thread.
    pub os_threads: AtomicBool,
    /// `blockIdx` of the block.
    pub block: [AtomicU32; 3],
    /// Slot of the GPU thread that runs.
    pub current: AtomicU32,
    /// Threads of the block that have begun, that have returned.
    pub begun: AtomicU32,
    pub returned: AtomicU32,
    /// Counts everything that may end somebody's wait.
    pub progress: AtomicU64,
    /// Counts the times that a GPU thread gave way.
    pub turns: AtomicU64,
    pub slots: Box<[Slot]>,
}

/// What is the same for all blocks of a launch.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub name: Arc<str>,
    pub block: Dim3,
}

impl Launch {
    /// A number that no other launch has at the same time.
    pub fn id(&self) -> usize {
        self.name.as_ptr() as usize
    }
}

static BOARDS: Mutex<Vec<Weak<Board>>> = Mutex::new(Vec::new());

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

impl Board {
    /// A board for `slots` GPU threads, which the watch knows of from now on.
    pub fn new(slots: usize) -> Arc<Board> {
        let board = Arc::new(Board {
            launch: Mutex::new(None),
            busy: AtomicBool::new(false),
            os_threads: AtomicBool::new(false),
            block: [const { AtomicU32::new(0) }; 3],
            current: AtomicU32::new(0),
            begun: AtomicU32::new(0),
            returned: AtomicU32::new(0),
            progress: AtomicU64::new(0),
            turns: AtomicU64::new(0),
            slots: (0..slots).map(|_| Slot::default()).collect(),
        });
        lock(&BOARDS).push(Arc::downgrade(&board));
        board
    }

    /// `blockIdx`
    pub fn block_index(&self) -> Dim3 {
        let [x, y, z] = &self.block;
        Dim3::new(x.load(Ordering::Relaxed), y.load(Ordering::Relaxed), z.load(Ordering::Relaxed))
    }
}

/// The boards there are.
pub(crate) fn all() -> Vec<Arc<Board>> {
    let mut boards = lock(&BOARDS);
    boards.retain(|board| board.strong_count() > 0);
    boards.iter().filter_map(Weak::upgrade).collect()
}

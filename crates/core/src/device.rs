//! What the engine asks of a device: memory for a heap, copies, operations in stream order, state for
//! kernels. The emulator implements it; so does whatever drives real devices.
//!
//! The vocabulary is that of neither vendor: a *stream* is an ordered queue of a device, known to programs
//! by a pointer-sized handle.
use crate::coll::reduce::Reducer;
use crate::device_heap::driver::HeapDevice;
use crate::error::{Call, Error, Result};
use crate::signal::SignalOp;
use crate::team::Team;
use crate::until::{Cmp, CmpValues};
use crate::world::World;
use std::fmt::Debug;
use std::os::fd::OwnedFd;
use std::sync::Arc;

pub use crate::kernel_state::{KernelState, KernelTeam, Module};

/// A stream as programs name it; 0 is the default stream of the calling thread's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamHandle(pub usize);

/// Memory for a device heap.
#[derive(Clone, Copy, Debug)]
pub struct HeapRequest {
    /// Address at which the heap is wanted, so that it is the same on every PE. The device may choose
    /// another one.
    pub at: Option<usize>,
    /// Bytes; rounded up to the device's granule.
    pub bytes: usize,
}

/// How another PE gets at a device heap.
#[derive(Debug)]
pub enum Export {
    /// A file descriptor, to be passed between processes.
    Fd(OwnedFd),
    /// Bytes that mean something to the same driver in another process.
    Opaque(Box<[u8]>),
}

/// Memory of a device, mapped into this process until dropped.
pub trait DeviceMemory: Debug + Send + Sync {
    /// First address.
    fn base(&self) -> usize;
    /// Bytes, a whole number of granules.
    fn len(&self) -> usize;
    /// True for no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// What a peer needs in order to import it.
    fn export(&self) -> Result<Export>;
}

/// An own symmetric address, or a local one, that an operation in a stream will use.
pub type Address = *mut u8;

/// Integers that a stream can wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the types of their names")]
pub enum Word {
    I16(i16),
    U16(u16),
    I32(i32),
    U32(u32),
    I64(i64),
    U64(u64),
}

impl Word {
    /// Bytes of the type.
    pub fn bytes(self) -> usize {
        match self {
            Word::I16(_) | Word::U16(_) => 2,
            Word::I32(_) | Word::U32(_) => 4,
            Word::I64(_) | Word::U64(_) => 8,
        }
    }
}

/// What a stream compares several words with.
#[derive(Clone, Copy, Debug)]
pub enum Words {
    /// All with the same value.
    One(Word),
    /// Each with its own, of an array of the type of this value.
    Each(*const u8, Word),
}

/// An operation of the engine, in stream order. Lengths are in bytes; PEs are those of the world.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the arguments are those of the calls of World with these names")]
pub enum StreamOp {
    Put {
        dest: Address,
        source: Address,
        bytes: usize,
        pe: i32,
    },
    PutNbi {
        dest: Address,
        source: Address,
        bytes: usize,
        pe: i32,
    },
    Get {
        dest: Address,
        source: Address,
        bytes: usize,
        pe: i32,
    },
    GetNbi {
        dest: Address,
        source: Address,
        bytes: usize,
        pe: i32,
    },
    /// One scalar, in the first `bytes` bytes of `value`.
    P {
        dest: Address,
        value: [u8; 16],
        bytes: usize,
        pe: i32,
    },
    Iput {
        dest: Address,
        source: Address,
        dst: isize,
        sst: isize,
        elem: usize,
        nelems: usize,
        pe: i32,
    },
    Iget {
        dest: Address,
        source: Address,
        dst: isize,
        sst: isize,
        elem: usize,
        nelems: usize,
        pe: i32,
    },
    PutSignal {
        dest: Address,
        source: Address,
        bytes: usize,
        sig: *mut u64,
        value: u64,
        op: SignalOp,
        pe: i32,
    },
    PutSignalNbi {
        dest: Address,
        source: Address,
        bytes: usize,
        sig: *mut u64,
        value: u64,
        op: SignalOp,
        pe: i32,
    },
    SignalOp {
        sig: *mut u64,
        value: u64,
        op: SignalOp,
        pe: i32,
    },
    WaitUntil {
        ivar: Address,
        cmp: Cmp,
        value: Word,
    },
    WaitUntilAll {
        ivars: Address,
        len: usize,
        status: *const i32,
        cmp: Cmp,
        values: Words,
    },
    SignalWaitUntil {
        sig: *mut u64,
        cmp: Cmp,
        value: u64,
    },
    Quiet,
    BarrierAll,
    SyncAll,
    Barrier {
        team: Arc<Team>,
    },
    Sync {
        team: Arc<Team>,
    },
    Broadcast {
        team: Arc<Team>,
        dest: Address,
        source: Address,
        bytes: usize,
        root: i32,
    },
    Fcollect {
        team: Arc<Team>,
        dest: Address,
        source: Address,
        bytes: usize,
    },
    Alltoall {
        team: Arc<Team>,
        dest: Address,
        source: Address,
        bytes: usize,
    },
    Reduce {
        team: Arc<Team>,
        dest: Address,
        source: Address,
        n: usize,
        reducer: Reducer,
    },
    ReduceScatter {
        team: Arc<Team>,
        dest: Address,
        source: Address,
        n: usize,
        reducer: Reducer,
    },
}

// SAFETY: the addresses are only used when the operation runs; who enqueues it promises that they are
// valid then, from whatever thread runs it.
unsafe impl Send for StreamOp {}

/// Kernels that the program has loaded at run time, as the device's driver names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// A module of one context.
    Module(usize),
    /// A library of modules, for every context.
    Library(usize),
}

/// A kind of device. Object safe: a world can have several.
pub trait Device: Debug + Send + Sync {
    /// What it is called in messages and in the tools' output.
    fn name(&self) -> &'static str;

    /// Whether its devices have memory of their own, so that there is something to [`Device::bind`].
    fn has_memory(&self) -> bool {
        false
    }

    /// Number of devices of this kind.
    fn count(&self) -> Result<usize>;

    /// A PE joins its job: the device learns of its heaps. `local_pes` PEs share this node.
    fn attach(&self, world: &Arc<World>, local_pes: usize) -> Result<()>;

    /// The PE leaves; called before its heaps are unmapped. Waits for what is in streams: kernels may use
    /// the heaps.
    fn detach(&self, world: &World);

    /// Memory for a heap.
    fn allocate(&self, request: &HeapRequest) -> Result<Box<dyn DeviceMemory>>;

    /// A peer's heap, from what the peer exported; `request` says where it is wanted and its length.
    fn import(&self, export: &Export, request: &HeapRequest) -> Result<Box<dyn DeviceMemory>>;

    /// Copies between device memory and host memory, either way, and waits for it. Doesn't wait for
    /// kernels.
    ///
    /// # Safety
    /// Both ranges are valid and don't overlap.
    unsafe fn copy(&self, dest: usize, source: usize, bytes: usize) -> Result<()>;

    /// Puts an operation into a stream and returns. If the operation fails when it runs, the job ends with
    /// a line that names `call`, the public name under which it was enqueued.
    ///
    /// # Safety
    /// As for the call of [`World`] that the operation stands for, at the time when the stream runs it.
    unsafe fn enqueue(
        &self,
        world: &Arc<World>,
        stream: StreamHandle,
        call: &'static str,
        op: StreamOp,
    ) -> Result<()>;

    /// Waits for what is in a stream.
    fn synchronize(&self, stream: StreamHandle) -> Result<()>;

    /// The device of its own memory that this PE uses from now on, where it is clear which one: a device that shares
    /// the memory of the process has none. `insist`: the program needs one now, so if it has chosen none the first
    /// one is taken; otherwise `None` also means that the program may still choose.
    fn bind(&self, world: &Arc<World>, insist: bool) -> Result<Option<Arc<dyn HeapDevice>>> {
        let _ = (world, insist);
        Ok(None)
    }

    /// A translation unit with kernels is there: as soon as a heap is bound its kernels know their state, and all later
    /// ones. Called at any time, before init too.
    ///
    /// # Safety
    /// `module` was registered by the device headers and is loaded until [`Device::remove_module`].
    unsafe fn add_module(&self, module: *const Module) -> Result<()> {
        let _ = module;
        Ok(())
    }

    /// The unit goes away with its library, or with the program.
    fn remove_module(&self, module: *const Module) {
        let _ = module;
    }

    /// Gives a module that the program has loaded itself its state, on the PE that is `world`, or takes it from the
    /// device's list. Nothing happens for a module without kernels that ask for it, or the second time.
    ///
    /// # Safety
    /// It is a module, or a library, of the driver, loaded until it is taken from the list.
    unsafe fn loaded(&self, world: &Arc<World>, module: Loaded, there: bool) -> Result<()> {
        let _ = (world, module, there);
        Err(Error::NotSupported(
            "kernels run on the CPU here, so there is no state to give to a module of a GPU's driver; \
             DUSHMEM_DEVICE says which device is used"
                .into(),
        ))
    }
}

impl StreamOp {
    /// The collective call that this is of all PEs: the first of them binds the job's devices.
    pub fn of_world(&self) -> Option<Call> {
        use StreamOp::*;
        let (team, call) = match self {
            BarrierAll => return Some(Call::BarrierAll),
            SyncAll => return Some(Call::SyncAll),
            Barrier { team } => (team, Call::Barrier),
            Sync { team } => (team, Call::TeamSync),
            Broadcast { team, .. } => (team, Call::Broadcast),
            Fcollect { team, .. } => (team, Call::Fcollect),
            Alltoall { team, .. } => (team, Call::Alltoall),
            Reduce { team, .. } => (team, Call::Reduce),
            ReduceScatter { team, .. } => (team, Call::ReduceScatter),
            _ => return None,
        };
        (team.slot() == 0).then_some(call)
    }

    /// Runs the operation now, on the calling thread, on the default context.
    ///
    /// # Safety
    /// As for the call of [`World`] that the operation stands for.
    pub unsafe fn run(self, world: &World) -> Result<()> {
        use StreamOp::*;
        let ctx = world.default_context();
        // SAFETY: as the caller promises.
        unsafe {
            match self {
                Put { dest, source, bytes, pe } => world.put(ctx, dest, source, bytes, pe),
                PutNbi { dest, source, bytes, pe } => world.put_nbi(ctx, dest, source, bytes, pe),
                Get { dest, source, bytes, pe } => world.get(ctx, dest, source, bytes, pe),
                GetNbi { dest, source, bytes, pe } => world.get_nbi(ctx, dest, source, bytes, pe),
                P { dest, value, bytes, pe } => world.put(ctx, dest, value.as_ptr(), bytes, pe),
                Iput { dest, source, dst, sst, elem, nelems, pe } => {
                    world.iput(ctx, dest, source, dst, sst, elem, nelems, pe)
                }
                Iget { dest, source, dst, sst, elem, nelems, pe } => {
                    world.iget(ctx, dest, source, dst, sst, elem, nelems, pe)
                }
                PutSignal { dest, source, bytes, sig, value, op, pe } => {
                    world.put_signal(ctx, dest, source, bytes, sig, value, op, pe)
                }
                PutSignalNbi { dest, source, bytes, sig, value, op, pe } => {
                    world.put_signal_nbi(ctx, dest, source, bytes, sig, value, op, pe)
                }
                SignalOp { sig, value, op, pe } => world.signal_op(ctx, sig, value, op, pe),
                WaitUntil { ivar, cmp, value } => wait(world, Call::WaitUntil, ivar, cmp, value),
                WaitUntilAll { ivars, len, status, cmp, values } => {
                    wait_all(world, ivars, len, status, cmp, values)
                }
                SignalWaitUntil { sig, cmp, value } => {
                    wait(world, Call::SignalWaitUntil, sig.cast(), cmp, Word::U64(value))
                }
                Quiet => world.quiet(ctx),
                BarrierAll => world.barrier_all(),
                SyncAll => world.sync_all(),
                Barrier { team } => world.barrier(&team),
                Sync { team } => world.team_sync(&team),
                Broadcast { team, dest, source, bytes, root } => {
                    world.broadcast(&team, dest, source, bytes, root)
                }
                Fcollect { team, dest, source, bytes } => world.fcollect(&team, dest, source, bytes),
                Alltoall { team, dest, source, bytes } => world.alltoall(&team, dest, source, bytes),
                Reduce { team, dest, source, n, reducer } => world.reduce(&team, dest, source, n, &reducer),
                ReduceScatter { team, dest, source, n, reducer } => {
                    world.reduce_scatter(&team, dest, source, n, &reducer)
                }
            }
        }
    }
}

/// # Safety
/// As for [`World::wait_until`].
unsafe fn wait(world: &World, call: Call, ivar: Address, cmp: Cmp, value: Word) -> Result<()> {
    // SAFETY: as the caller promises.
    unsafe {
        match value {
            Word::I16(v) => world.wait_until(call, ivar.cast::<i16>(), cmp, v).map(drop),
            Word::U16(v) => world.wait_until(call, ivar.cast::<u16>(), cmp, v).map(drop),
            Word::I32(v) => world.wait_until(call, ivar.cast::<i32>(), cmp, v).map(drop),
            Word::U32(v) => world.wait_until(call, ivar.cast::<u32>(), cmp, v).map(drop),
            Word::I64(v) => world.wait_until(call, ivar.cast::<i64>(), cmp, v).map(drop),
            Word::U64(v) => world.wait_until(call, ivar.cast::<u64>(), cmp, v).map(drop),
        }
    }
}

/// # Safety
/// As for [`World::wait_until_all`].
unsafe fn wait_all(
    world: &World,
    ivars: Address,
    len: usize,
    status: *const i32,
    cmp: Cmp,
    values: Words,
) -> Result<()> {
    macro_rules! typed {
        ($($word:ident $t:ty),*) => {
            match values {
                $(Words::One(Word::$word(value)) => {
                    // SAFETY: as the caller promises.
                    unsafe {
                        world.wait_until_all(ivars.cast::<$t>(), len, status, cmp, CmpValues::One(value))
                    }
                })*
                $(Words::Each(values, Word::$word(_)) => {
                    // SAFETY: as the caller promises.
                    unsafe {
                        let values = CmpValues::Each(values.cast::<$t>());
                        world.wait_until_all(ivars.cast::<$t>(), len, status, cmp, values)
                    }
                })*
            }
        };
    }
    typed! { I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64 }
}

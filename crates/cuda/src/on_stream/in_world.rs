//! The job as operations in streams see it, and where the engine's calls come in.
use super::job::{Job, Target, TeamSlot, WordAt};
use super::kernels::{Area, Few, MOST_FEW};
use super::queue::Capture;
use super::stream::OnStream;
use crate::device;
use crate::driver::{self, Driver};
use crate::error::{Driven, Failure};
use crate::types::{self, CAPTURE_NONE};
use dushmem_core::coll::device_slot::{DeviceSlot, Words as Array};
use dushmem_core::device::{KernelTeam, StreamHandle, StreamOp};
use dushmem_core::device_heap::DeviceHeap;
use dushmem_core::device_heap::driver::Sharing;
use dushmem_core::error::{Call, Error, Result};
use dushmem_core::job::wait_slot;
use dushmem_core::process;
use dushmem_core::team::{Team, handles};
use dushmem_core::world::World;
use std::ffi::c_void;
use std::fmt;
use std::sync::{Arc, Weak};

/// A PE of a world that has bound its device.
pub struct InWorld {
    world: Weak<World>,
    me: usize,
    n: usize,
    /// Lowest PE on the same device, by PE.
    first: Box<[usize]>,
    sharing: Sharing,
    blocks: u32,
    /// PEs that kernels reach by loads and stores.
    reached: Box<[bool]>,
    /// Most members whose kernels get them as an argument.
    most_few: usize,
    copied_by_kernel: usize,
    /// Words of the world's slot that blocks of grids send.
    flagged: Option<Area>,
    /// What leads from an own address to a PE's copy.
    delta: Box<[isize]>,
    /// Where the words of team slots begin that streams use, and how far one is from the next; the same of the slots.
    words: (usize, usize),
    slots: (usize, usize),
    /// Words of an array.
    row: usize,
}

impl fmt::Debug for InWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InWorld").field("me", &self.me).finish_non_exhaustive()
    }
}

impl InWorld {
    fn new(world: &Arc<World>) -> Result<InWorld> {
        let (me, n) = (world.my_pe() as usize, world.n_pes() as usize);
        let heap = heap_of(world)?;
        let (agreed, settings) = (heap.agreed(), world.settings());
        // Where PEs take turns, a copy may be made by an engine that needs none.
        let turns = agreed.sharing == Sharing::Turns;
        // Nothing of this changes while the device is bound.
        let slot = |slot: usize| heap.team_slot(world, slot).address();
        let own = slot(0);
        Ok(InWorld {
            world: Arc::downgrade(world),
            me,
            n,
            first: (0..n).map(|pe| heap.first_on_device(pe)).collect(),
            sharing: agreed.sharing,
            blocks: agreed.blocks,
            reached: (0..n).map(|pe| world.kernels_reach(pe)).collect(),
            most_few: settings.stream_few.min(MOST_FEW),
            copied_by_kernel: if turns { 0 } else { settings.stream_copy },
            flagged: heap.flagged_words().map(|(at, bytes)| Area {
                at: at as u64,
                bytes,
                most_sent: agreed.flagged,
            }),
            delta: (0..n).map(|pe| heap.peer(own, pe).wrapping_sub(own) as isize).collect(),
            words: (heap.stream_slot(0), heap.stream_slot(1) - heap.stream_slot(0)),
            slots: (own, slot(1) - own),
            row: heap.stream_words(),
        })
    }

    /// The team of these PEs, [`MOST_FEW`] at most.
    fn told(&self, slot: usize, pes: &[u32], me: usize) -> Few {
        let own = self.team_slot(slot);
        let mut members = [(0, 0); MOST_FEW];
        for (member, &pe) in members.iter_mut().zip(pes) {
            *member = (pe, self.delta[pe as usize] as i64);
        }
        Few {
            me,
            slot: own.at,
            arrays: own.array(Array::Sent),
            buffers: own.buffers(),
            words: self.row,
            cell: DeviceSlot::cell(pes.len()),
            members,
            n: pes.len(),
        }
    }

    fn world(&self) -> Result<Arc<World>> {
        self.world.upgrade().ok_or(Error::NotInitialised)
    }
}

fn heap_of(world: &World) -> Result<&DeviceHeap> {
    world.device_heap().ok_or_else(|| {
        Error::Device(
            "no GPU is bound to this PE yet: allocate symmetric memory, or call barrier_all, after choosing the device"
                .into(),
        )
    })
}

impl Job for InWorld {
    fn my_pe(&self) -> usize {
        self.me
    }

    fn n_pes(&self) -> usize {
        self.n
    }

    fn sharing(&self) -> Sharing {
        self.sharing
    }

    fn blocks(&self) -> u32 {
        self.blocks
    }

    fn first_on_device(&self, pe: usize) -> usize {
        self.first[pe]
    }

    fn has_remote(&self) -> bool {
        let posts = |world: Arc<World>| world.device_heap().is_some_and(DeviceHeap::posts_for_host_words);
        self.reached.contains(&false) || self.world().is_ok_and(posts)
    }

    fn changes_by_cpu(&self, addr: usize) -> bool {
        self.world().is_ok_and(|world| {
            let heap = world.device_heap();
            world.window().in_heap(addr, 8) && heap.is_some_and(DeviceHeap::posts_for_host_words)
        })
    }

    fn is_direct(&self, pes: &[u32]) -> bool {
        pes.len() <= KernelTeam::MOST_DIRECT && pes.iter().all(|&pe| self.reached[pe as usize])
    }

    fn few(&self, slot: usize, pes: &[u32], me: usize) -> Option<Few> {
        (pes.len() <= self.most_few && self.is_direct(pes)).then(|| self.told(slot, pes, me))
    }

    fn flagged(&self, slot: usize, pes: &[u32], me: usize) -> Option<(Few, Area)> {
        let area = self.flagged.filter(|_| slot == handles::WORLD as usize && self.is_direct(pes))?;
        Some((self.told(slot, pes, me), area))
    }

    fn copied_by_kernel(&self) -> usize {
        self.copied_by_kernel
    }

    fn slot_words(&self, slot: usize) -> WordAt<'_> {
        let own = self.words.0 + slot * self.words.1;
        Box::new(move |array, owner, writer| {
            let word = own + (array as usize * self.row + writer) * 8;
            word.wrapping_add_signed(self.delta[owner]) as u64
        })
    }

    fn team_slot(&self, slot: usize) -> TeamSlot {
        TeamSlot { at: (self.slots.0 + slot * self.slots.1) as u64, pes: self.n }
    }

    fn peer(&self, own: u64, pe: usize) -> u64 {
        own.wrapping_add_signed(self.delta[pe] as i64)
    }

    fn check_team(&self, team: &Team) -> Result<()> {
        self.world()?.team(team.handle()).map(drop)
    }

    fn target(&self, arg: &'static str, addr: usize, len: usize, align: usize, pe: i32) -> Result<Target> {
        let world = self.world()?;
        world.check_alive()?;
        let Some(to) = usize::try_from(pe).ok().filter(|&pe| pe < self.n) else {
            return Err(world.no_such_pe("pe", pe, self.n, "this job"));
        };
        if len == 0 {
            return Ok(Target::local(addr));
        }
        let heap = heap_of(&world)?;
        if !heap.contains(addr, len) {
            return world.kernel_target(arg, addr, len, align, pe).map(Target::local);
        }
        if !addr.is_multiple_of(align) {
            return Err(Error::Misaligned { arg, addr, align });
        }
        let far = self.first[to] != self.first[self.me];
        Ok(Target { at: heap.peer(addr, to), on_device: true, far })
    }

    fn word(&self, arg: &'static str, addr: usize, len: usize, pe: i32) -> Result<Target> {
        self.target(arg, addr, len, 1, pe).map_err(|error| match error {
            Error::Null { arg } => Error::NoSymmetric { arg },
            other => other,
        })
    }
}

/// The operations in streams of a PE, made with its first one.
pub(crate) fn make(world: &Arc<World>, gpu: &Arc<crate::gpu::Gpu>) -> Result<OnStream> {
    let told = Arc::downgrade(world);
    let report = move |call: &'static str, error: &Error| {
        if let Some(world) = told.upgrade() {
            process::fail(&world, call, error);
        }
    };
    let queue = super::driven::GpuQueue::new(Arc::clone(gpu));
    let job = InWorld::new(world)?;
    if job.sharing == Sharing::Turns {
        queue.prepare()?;
    }
    let boot = Arc::clone(world.boot());
    let note = move |wait| wait_slot(&*boot).show(wait);
    Ok(OnStream::new(Arc::new(job), Arc::new(queue), Box::new(report), Box::new(note)))
}

/// What [`dushmem_core::device::Device::enqueue`] does.
///
/// # Safety
/// As there.
pub(crate) unsafe fn enqueue(
    world: &Arc<World>,
    stream: StreamHandle,
    call: &'static str,
    op: StreamOp,
) -> Result<()> {
    world.check_alive()?;
    if world.awaits_device() {
        bind(world, stream, &op)?;
    }
    let streams = device::streams(world)?;
    // SAFETY: as the caller promises.
    unsafe { streams.enqueue(stream, call, op) }
}

/// The first call that needs a device. All PEs make a collective of the world.
#[cold]
fn bind(world: &Arc<World>, stream: StreamHandle, op: &StreamOp) -> Result<()> {
    let Some(call) = world_collective(op) else { return heap_of(world).map(drop) };
    if capture(stream)? != Capture::No {
        return Err(Error::Device(format!(
            "stream = {:#x}: is being captured, and this is the first call that needs memory of the GPU, which can't be \
             allocated in a capture; allocate symmetric memory, or call barrier_all, before it",
            stream.0
        )));
    }
    world.bind_device(call, true).map(drop)
}

/// Whether all PEs of the world make the call.
fn world_collective(op: &StreamOp) -> Option<Call> {
    use StreamOp::*;
    let of = |team: &Team, call: Call| (team.handle() == handles::WORLD).then_some(call);
    match op {
        BarrierAll => Some(Call::BarrierAll),
        SyncAll => Some(Call::SyncAll),
        Barrier { team } => of(team, Call::Barrier),
        Sync { team } => of(team, Call::TeamSync),
        Broadcast { team, .. } => of(team, Call::Broadcast),
        Fcollect { team, .. } => of(team, Call::Fcollect),
        Alltoall { team, .. } => of(team, Call::Alltoall),
        Reduce { team, .. } => of(team, Call::Reduce),
        ReduceScatter { team, .. } => of(team, Call::ReduceScatter),
        _ => None,
    }
}

/// Makes a call about a stream of the program where nothing says whose it is: in the thread's current context, or else
/// in that of a PE, since the driver wants one.
fn ask<R>(
    stream: StreamHandle,
    doing: &str,
    act: impl FnOnce(&Driver, types::Stream) -> Driven<R>,
) -> Result<R> {
    let driver = driver::get()?;
    let failed = |why: Failure| why.doing(format_args!("stream = {:#x}: {doing}", stream.0));
    let mut current = types::Context::NULL;
    // SAFETY: a place for a handle.
    unsafe { driver.ctx_get_current(&raw mut current) }.map_err(failed)?;
    let lent = if current.is_null() { device::all().into_iter().next() } else { None };
    let _entered = lent.as_ref().map(|gpu| gpu.context().enter()).transpose().map_err(failed)?;
    act(driver, types::Stream(stream.0 as *mut c_void)).map_err(failed)
}

/// Whether a stream is being captured, where no device is bound.
fn capture(stream: StreamHandle) -> Result<Capture> {
    let mut status = CAPTURE_NONE;
    // SAFETY: a place for a number, and the program's stream.
    ask(stream, "a look at it", |driver, stream| unsafe {
        driver.stream_is_capturing(stream, &raw mut status)
    })?;
    Ok(if status == CAPTURE_NONE { Capture::No } else { Capture::Yes })
}

/// What [`dushmem_core::device::Device::synchronize`] does.
pub(crate) fn synchronize(stream: StreamHandle) -> Result<()> {
    if capture(stream)? != Capture::No {
        return Err(Error::Device(format!(
            "stream = {:#x}: is being captured, and this call waits for it; make it before or after the capture, or get \
             into memory of the program instead",
            stream.0
        )));
    }
    // SAFETY: the program's stream.
    ask(stream, "waiting for it", |driver, stream| unsafe { driver.stream_synchronize(stream) })
}

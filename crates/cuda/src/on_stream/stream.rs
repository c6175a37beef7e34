//! Operations in streams: what each call of the API becomes.
use super::job::Job;
use super::kept::Kept;
use super::kernels::{self, Computes, Few};
use super::meet::{Group, Half};
use super::queue::{BATCH, Capture, Launch, MemOp, Queue};
use super::records::{Marks, Note, Records, What};
use super::rma::{Signal, Strided};
use super::wait::Set;
use super::watch::{Report, Watch};
use dushmem_core::coll::reduce::Reducer;
use dushmem_core::device::{StreamHandle, StreamOp, Word};
use dushmem_core::device_heap::driver::Sharing;
use dushmem_core::error::{Call, Error, Result};
use dushmem_core::team::Team;
use std::borrow::Cow;
use std::sync::{Arc, PoisonError};

/// Up to this many members meet by memory operations where their kernels could, too: with two it is faster.
const WITHOUT_KERNEL: usize = 2;

/// One PE's operations in streams.
#[derive(Debug)]
pub struct OnStream {
    job: Arc<dyn Job>,
    queue: Arc<dyn Queue>,
    records: Arc<Records>,
    watch: Watch,
    pub(super) kept: Kept,
    everybody: Box<[u32]>,
}

/// A team as streams need it.
#[derive(Debug)]
pub struct Members<'a> {
    /// What kernels know it by.
    pub handle: i32,
    /// Number of its slot.
    pub slot: usize,
    /// This PE's rank.
    pub me: usize,
    /// World numbers, by rank.
    pub pes: Cow<'a, [u32]>,
}

impl<'a> From<&'a Team> for Members<'a> {
    fn from(team: &'a Team) -> Members<'a> {
        let slot = (team.handle() & dushmem_core::device::KernelTeam::SLOT_MASK) as usize;
        Members { handle: team.handle(), slot, me: team.my_pe() as usize, pes: Cow::Borrowed(team.pes()) }
    }
}

/// An operation on its way into a stream.
pub struct Enqueue<'a> {
    pub(super) job: &'a dyn Job,
    pub(super) queue: &'a dyn Queue,
    pub(super) watch: &'a Watch,
    pub(super) stream: StreamHandle,
    pub(super) call: &'static str,
    /// The same without the family's prefix.
    pub(super) kind: Call,
    capture: Capture,
    pub(super) all: &'a OnStream,
}

impl OnStream {
    /// `report` ends the job with what failed while a stream waited; `note` shows the launcher what streams wait for.
    pub fn new(job: Arc<dyn Job>, queue: Arc<dyn Queue>, report: Report, note: Note) -> OnStream {
        let everybody = (0..job.n_pes() as u32).collect();
        let records = Arc::new(Records::new(Arc::clone(&job), Arc::clone(&queue), note));
        let watch = Watch::new(Arc::clone(&queue), report, Arc::clone(&records));
        OnStream { job, queue, records, watch, kept: Kept::default(), everybody }
    }

    /// Puts an operation into a stream, for the public name `call`. An error leaves the stream as it was, unless it is the driver's.
    ///
    /// # Safety
    /// As for the call that the operation stands for, whenever the stream runs it.
    pub unsafe fn enqueue(&self, stream: StreamHandle, call: &'static str, op: StreamOp) -> Result<()> {
        let capture = self.queue.capture(stream)?;
        if capture == Capture::Invalid {
            return Err(Error::Device(format!(
                "stream = {:#x}: its capture has become invalid by an earlier call; end the capture, and begin a \
                 new one without that call",
                stream.0
            )));
        }
        let (job, queue, watch) = (&*self.job, &*self.queue, &self.watch);
        let to = Enqueue { job, queue, watch, stream, call, kind: call_of(&op), capture, all: self };
        // SAFETY: as the caller promises.
        unsafe { to.run(op) }
    }
}

impl Enqueue<'_> {
    /// True where the operation becomes part of a graph.
    pub(super) fn captured(&self) -> bool {
        self.capture == Capture::Yes
    }

    /// True where a kernel that waits for another PE keeps that one from running.
    pub(super) fn turns(&self) -> bool {
        self.job.sharing() == Sharing::Turns
    }

    /// # Safety
    /// The words are aligned, and valid whenever the operations run.
    pub(super) unsafe fn memory_ops(&self, ops: &[MemOp]) -> Result<()> {
        // SAFETY: as the caller promises.
        ops.chunks(BATCH)
            .try_for_each(|ops| unsafe { self.queue.memory_ops(self.stream, self.captured(), ops) })
    }

    unsafe fn run(&self, op: StreamOp) -> Result<()> {
        use StreamOp::*;
        // SAFETY: as the caller promises.
        unsafe {
            match op {
                Put { dest, source, bytes, pe } | PutNbi { dest, source, bytes, pe } => {
                    self.put(dest as usize, source as usize, bytes, pe)
                }
                Get { dest, source, bytes, pe } | GetNbi { dest, source, bytes, pe } => {
                    self.get(dest as usize, source as usize, bytes, pe)
                }
                P { dest, value, bytes, pe } => self.p(dest as usize, value, bytes, pe),
                Iput { dest, source, dst, sst, elem, nelems, pe } => {
                    let (dest, source) = (dest as usize, source as usize);
                    self.iput(&Strided { dest, source, dst, sst, elem, nelems, pe })
                }
                Iget { dest, source, dst, sst, elem, nelems, pe } => {
                    let (dest, source) = (dest as usize, source as usize);
                    self.iget(&Strided { dest, source, dst, sst, elem, nelems, pe })
                }
                PutSignal { dest, source, bytes, sig, value, op, pe }
                | PutSignalNbi { dest, source, bytes, sig, value, op, pe } => {
                    let signal = Signal { sig: sig as usize, value, op, pe };
                    self.put_signal(dest as usize, source as usize, bytes, &signal)
                }
                SignalOp { sig, value, op, pe } => self.signal(&Signal { sig: sig as usize, value, op, pe }),
                WaitUntil { ivar, cmp, value } => self.wait_until("ivar", ivar as usize, cmp, value),
                WaitUntilAll { ivars, len, status, cmp, values } => {
                    let (ivars, status) = (ivars as usize, status as usize);
                    self.wait_until_all(&Set { ivars, len, status, cmp, values })
                }
                SignalWaitUntil { sig, cmp, value } => {
                    self.wait_until("sig_addr", sig as usize, cmp, Word::U64(value))
                }
                Quiet => self.quiet(),
                BarrierAll => self.meet(&self.everybody(), true),
                SyncAll => self.meet(&self.everybody(), false),
                Barrier { team } => self.meet(&self.members(&team)?, true),
                Sync { team } => self.meet(&self.members(&team)?, false),
                Broadcast { team, dest, source, bytes, root } => {
                    let members = self.members(&team)?;
                    self.broadcast(&members, dest as usize, source as usize, bytes, root)
                }
                Fcollect { team, dest, source, bytes } => {
                    self.fcollect(&self.members(&team)?, dest as usize, source as usize, bytes)
                }
                Alltoall { team, dest, source, bytes } => {
                    self.alltoall(&self.members(&team)?, dest as usize, source as usize, bytes)
                }
                Reduce { team, dest, source, n, reducer } => {
                    let (dest, source) = (dest as usize, source as usize);
                    self.reduce(&self.members(&team)?, dest, source, n, reducer.elem, computes(&reducer)?)
                }
                ReduceScatter { team, dest, source, n, reducer } => {
                    let (dest, source) = (dest as usize, source as usize);
                    self.reduce_scatter(
                        &self.members(&team)?,
                        dest,
                        source,
                        n,
                        reducer.elem,
                        computes(&reducer)?,
                    )
                }
            }
        }
    }

    fn members<'t>(&self, team: &'t Team) -> Result<Members<'t>> {
        self.job.check_team(team)?;
        Ok(team.into())
    }

    fn everybody(&self) -> Members<'_> {
        let pes = Cow::Borrowed(&*self.all.everybody);
        Members { handle: dushmem_core::team::handles::WORLD, slot: 0, me: self.job.my_pe(), pes }
    }

    /// What a kernel has to know of the members, where they are few.
    pub(super) fn few(&self, members: &Members<'_>) -> Option<Few> {
        self.job.few(members.slot, &members.pes, members.me)
    }

    /// A kernel that meets those of the other members.
    ///
    /// # Safety
    /// As for the call that it makes.
    pub(super) unsafe fn launch_meeting(&self, members: &Members<'_>, launch: Launch) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.queue.launch(self.stream, launch)? };
        let seen = self.job.is_direct(&members.pes);
        let slot = self.all.records.slot(members.slot);
        let mut met = slot.lock().unwrap_or_else(PoisonError::into_inner);
        met.note(self.kind, members.handle, &members.pes, members.me, seen);
        drop(met);
        self.all.records.used();
        Ok(())
    }

    /// The writes around a wait for the own word at `address`, so that the hang report knows of it.
    pub(super) fn mark(&self, address: usize, bytes: usize) -> Result<Marks> {
        self.all.records.mark(self.what(address, bytes), self.captured())
    }

    pub(super) fn what(&self, address: usize, bytes: usize) -> What {
        What { call: self.kind, team: -1, address, bytes }
    }

    /// Completes what this PE has begun: what is in the stream is complete when the stream comes here, so that leaves
    /// what the host has begun, and what kernels have asked the proxy for.
    fn quiet(&self) -> Result<()> {
        self.queue.join(self.stream, self.captured())?;
        self.quiet_kernels()
    }

    fn quiet_kernels(&self) -> Result<()> {
        if self.job.has_remote() {
            // SAFETY: the kernel takes no arguments.
            unsafe { self.queue.launch(self.stream, kernels::quiet())? };
        }
        Ok(())
    }

    /// Barrier, or sync.
    fn meet(&self, members: &Members<'_>, barrier: bool) -> Result<()> {
        if barrier {
            self.queue.join(self.stream, self.captured())?;
        }
        let n = members.pes.len();
        let concurrent = matches!(self.job.sharing(), Sharing::Alone | Sharing::Concurrent);
        let pairs = concurrent && n <= WITHOUT_KERNEL && self.on_one_device(&members.pes);
        let by_stream = self.turns() || (pairs && !self.captured());
        let few = if n > 1 && !by_stream { self.few(members) } else { None };
        // The kernel that looks the team up completes requests itself.
        if barrier && (n == 1 || by_stream || few.is_some()) {
            self.quiet_kernels()?;
        }
        if n == 1 {
            return Ok(());
        }
        if by_stream {
            // A captured operation consists of both halves, so that the next one may begin with the first again.
            return self.meetings(members, &mut Half::First, if self.captured() { 2 } else { 1 });
        }
        let launch = match few {
            Some(few) => kernels::few_sync(&few, barrier),
            None => kernels::sync(members.handle, barrier),
        };
        // SAFETY: the kernel takes a team that this PE is a member of.
        unsafe { self.launch_meeting(members, launch) }
    }

    /// Over a link between devices a memory operation takes longer than a kernel's store.
    pub(super) fn on_one_device(&self, pes: &[u32]) -> bool {
        let first = |pe: u32| self.job.first_on_device(pe as usize);
        pes.iter().all(|&pe| first(pe) == first(pes[0]))
    }

    /// `n` meetings by memory operations, one after the other. Captured ones are halves, in turn.
    pub(super) fn meetings(&self, members: &Members<'_>, half: &mut Half, n: usize) -> Result<()> {
        if n == 0 {
            return Ok(());
        }
        let word = self.job.slot_words(members.slot);
        let group = Group { pes: &members.pes, me: members.me, word: &*word };
        let mut ops = Vec::with_capacity(16);
        if self.captured() {
            let what = What { team: members.handle, ..self.what(0, 0) };
            let marks = self.all.records.mark_meeting(what, members.slot, &members.pes, members.me)?;
            ops.push(marks.before());
            for _ in 0..n {
                group.meet_captured(*half, &mut ops);
                *half = half.next();
            }
            ops.push(marks.after());
            // SAFETY: words of device slots, which live as long as the device.
            return unsafe { self.memory_ops(&ops) };
        }
        // Two threads that enqueue for one team must do so in the order of their counts.
        let met = self.all.records.slot(members.slot);
        let mut met = met.lock().unwrap_or_else(PoisonError::into_inner);
        let mut after = met.counts.clone();
        (0..n).for_each(|_| group.meet(&mut after, &mut ops));
        // SAFETY: as above.
        unsafe { self.memory_ops(&ops)? };
        // What the driver has refused was no meeting.
        met.counts = after;
        met.note(self.kind, members.handle, &members.pes, members.me, false);
        drop(met);
        self.all.records.used();
        Ok(())
    }
}

/// The call that an operation stands for.
fn call_of(op: &StreamOp) -> Call {
    use StreamOp::*;
    match op {
        BarrierAll => Call::BarrierAll,
        SyncAll => Call::SyncAll,
        Barrier { .. } => Call::Barrier,
        Sync { .. } => Call::TeamSync,
        Broadcast { .. } => Call::Broadcast,
        Fcollect { .. } => Call::Fcollect,
        Alltoall { .. } => Call::Alltoall,
        Reduce { .. } => Call::Reduce,
        ReduceScatter { .. } => Call::ReduceScatter,
        WaitUntil { .. } => Call::WaitUntil,
        WaitUntilAll { .. } => Call::WaitUntilAll,
        SignalWaitUntil { .. } => Call::SignalWaitUntil,
        Quiet => Call::Quiet,
        _ => Call::None,
    }
}

fn computes(reducer: &Reducer) -> Result<Computes> {
    match reducer.kind {
        Some(kind) => Ok(Computes { kind, op: reducer.op }),
        None => Err(Error::NotSupported(
            "GPUs have no long double: synchronise the stream and call the reduction of the host, or reduce double"
                .into(),
        )),
    }
}

//! Collectives in a stream: one kernel of every member's, whose blocks meet those of the others; or, where PEs take turns on
//! the device, copies and kernels that wait for nobody, between meetings by memory operations (`turns`).
use super::check::{Buffers, bytes, reached_target};
use super::job::Target;
use super::kernels::{self, COMBINE_ADDRESSES, Computes, Few};
use super::meet::Half;
use super::queue::Launch;
use super::stream::{Enqueue, Members};
use super::turns::{self, Places, Step};
use dushmem_core::error::{Error, Result};

/// Bytes that the threads of a block load at a time, 16 each.
const PASS: usize = 8 << 10;

/// Blocks of a collective in which a member works on that many bytes: the same on all members. Every block has a meeting
/// of its own, at the same time as the others.
pub fn blocks(own_part: usize, most: u32) -> u32 {
    own_part.div_ceil(PASS).clamp(1, most.max(1) as usize) as u32
}

/// Blocks of a kernel that waits for nobody.
fn free_blocks(bytes: usize) -> u32 {
    bytes.div_ceil(32 << 10).clamp(1, 264) as u32
}

/// The buffers of a collective.
#[derive(Clone, Copy)]
struct Data {
    dest: usize,
    dest_len: usize,
    source: usize,
    source_len: usize,
}

impl Enqueue<'_> {
    /// # Safety
    /// As for `World::broadcast`, whenever it runs.
    pub(super) unsafe fn broadcast(
        &self,
        members: &Members<'_>,
        dest: usize,
        source: usize,
        bytes: usize,
        root: i32,
    ) -> Result<()> {
        let n = members.pes.len();
        if !(0..n as i32).contains(&root) {
            return Err(Error::BadPe { arg: "PE_root", pe: root, n, of: "the team" });
        }
        let data = Data { dest, dest_len: bytes, source, source_len: bytes };
        let (to, from) = self.check(&data, 1, true)?;
        // SAFETY: as the caller promises; the buffers were checked.
        unsafe {
            if n == 1 {
                return self.copy_own(dest, source, bytes);
            }
            if self.turns() {
                let places = self.places(members, &data)?;
                return self.take_turns(members, &turns::broadcast(&places, root as usize, bytes));
            }
            if let Some((few, shift)) = self.short(members, bytes) {
                return self
                    .launch_meeting(members, kernels::few_broadcast(&few, shift, to, from, bytes, root));
            }
            let blocks = blocks(bytes.div_ceil(n), self.job.blocks());
            self.together(members, kernels::broadcast(blocks, members.handle, to, from, bytes, root))
        }
    }

    /// # Safety
    /// As for `World::fcollect`, whenever it runs.
    pub(super) unsafe fn fcollect(
        &self,
        members: &Members<'_>,
        dest: usize,
        source: usize,
        bytes: usize,
    ) -> Result<()> {
        let data = Data { dest, dest_len: total(members, bytes, "nelems")?, source, source_len: bytes };
        let (to, from) = self.check(&data, 1, false)?;
        // SAFETY: as the caller promises; the buffers were checked.
        unsafe {
            if members.pes.len() == 1 {
                return self.copy_own(dest, source, bytes);
            }
            if self.turns() {
                let places = self.places(members, &data)?;
                return self.take_turns(members, &turns::fcollect(&places, bytes));
            }
            if let Some((few, shift)) = self.short(members, bytes) {
                return self
                    .launch_meeting(members, kernels::few_exchange(&few, shift, to, from, bytes, false));
            }
            let blocks = blocks(bytes, self.job.blocks());
            self.together(members, kernels::fcollect(blocks, members.handle, to, from, bytes))
        }
    }

    /// # Safety
    /// As for `World::alltoall`, whenever it runs.
    pub(super) unsafe fn alltoall(
        &self,
        members: &Members<'_>,
        dest: usize,
        source: usize,
        bytes: usize,
    ) -> Result<()> {
        let total = total(members, bytes, "nelems")?;
        let data = Data { dest, dest_len: total, source, source_len: total };
        let (to, from) = self.check(&data, 1, true)?;
        // SAFETY: as the caller promises; the buffers were checked.
        unsafe {
            if members.pes.len() == 1 {
                return self.copy_own(dest, source, bytes);
            }
            if self.turns() {
                let places = self.places(members, &data)?;
                return self.take_turns(members, &turns::alltoall(&places, bytes, dest == source));
            }
            if let Some((few, shift)) = self.short(members, bytes) {
                return self
                    .launch_meeting(members, kernels::few_exchange(&few, shift, to, from, bytes, true));
            }
            let blocks = blocks(total, self.job.blocks());
            self.together(members, kernels::alltoall(blocks, members.handle, to, from, bytes))
        }
    }

    /// # Safety
    /// As for `World::reduce`, whenever it runs.
    pub(super) unsafe fn reduce(
        &self,
        members: &Members<'_>,
        dest: usize,
        source: usize,
        n: usize,
        elem: usize,
        what: Computes,
    ) -> Result<()> {
        let len = bytes("nreduce", n, elem)?;
        let data = Data { dest, dest_len: len, source, source_len: len };
        let (to, from) = self.check(&data, what.kind.align(), true)?;
        // SAFETY: as the caller promises; the buffers were checked.
        unsafe {
            if members.pes.len() == 1 {
                return self.copy_own(dest, source, len);
            }
            if self.turns() {
                self.fits(members, 2 * members.pes.len())?;
                let places = self.places(members, &data)?;
                return self.take_turns(members, &turns::reduce(&places, n, elem, what));
            }
            if let Some((few, shift)) = self.short(members, len).filter(|_| elem <= 8) {
                return self
                    .launch_meeting(members, kernels::few_reduce(&few, shift, to, from, len, what, false));
            }
            let blocks = blocks(len.div_ceil(members.pes.len()), self.job.blocks());
            self.together(members, kernels::reduce(blocks, members.handle, to, from, n, what, false))
        }
    }

    /// # Safety
    /// As for `World::reduce_scatter`, whenever it runs.
    pub(super) unsafe fn reduce_scatter(
        &self,
        members: &Members<'_>,
        dest: usize,
        source: usize,
        n: usize,
        elem: usize,
        what: Computes,
    ) -> Result<()> {
        let len = bytes("nreduce", n, elem)?;
        let data = Data { dest, dest_len: len, source, source_len: total(members, len, "nreduce")? };
        let (to, from) = self.check(&data, what.kind.align(), true)?;
        // SAFETY: as the caller promises; the buffers were checked.
        unsafe {
            if members.pes.len() == 1 {
                return self.copy_own(dest, source, len);
            }
            if self.turns() {
                self.fits(members, members.pes.len() + 1)?;
                let places = self.places(members, &data)?;
                let in_place = dest == source;
                return self.take_turns(members, &turns::reduce_scatter(&places, n, elem, what, in_place));
            }
            if let Some((few, shift)) = self.short(members, len).filter(|_| elem <= 8) {
                return self
                    .launch_meeting(members, kernels::few_reduce(&few, shift, to, from, len, what, true));
            }
            let blocks = blocks(len, self.job.blocks());
            self.together(members, kernels::reduce(blocks, members.handle, to, from, n, what, true))
        }
    }

    /// Short data of few members go by a kernel that gets the team as an argument, with the binary logarithm of the words.
    fn short(&self, members: &Members<'_>, bytes: usize) -> Option<(Few, u32)> {
        self.few(members).and_then(|few| Some((few, few.takes(bytes)?)))
    }

    /// Checks both buffers, and gives their device addresses.
    fn check(&self, data: &Data, align: usize, in_place: bool) -> Result<(u64, u64)> {
        let Data { dest, dest_len, source, source_len } = *data;
        let buffers = Buffers { dest, dest_len, source, source_len, align, in_place };
        buffers.check(self.job, self.queue)
    }

    /// # Safety
    /// As for the call.
    unsafe fn launch(&self, launch: Launch) -> Result<()> {
        // SAFETY: as the caller promises; the arguments were checked.
        unsafe { self.queue.launch(self.stream, launch) }
    }

    /// A kernel that meets those of the other members.
    ///
    /// # Safety
    /// As for the call.
    unsafe fn together(&self, members: &Members<'_>, launch: Launch) -> Result<()> {
        let launch = if self.job.is_direct(&members.pes) { launch } else { launch.far() };
        // SAFETY: as the caller promises.
        unsafe { self.launch_meeting(members, launch) }
    }

    /// A collective of one member.
    ///
    /// # Safety
    /// Both buffers are valid whenever it runs.
    unsafe fn copy_own(&self, dest: usize, source: usize, bytes: usize) -> Result<()> {
        // SAFETY: as the caller promises; they were checked to be the same or apart.
        unsafe { self.copy(Target::local(dest), Target::local(source), bytes) }
    }

    /// Kernels of PEs that take turns have the addresses of all members in their arguments.
    fn fits(&self, members: &Members<'_>, addresses: usize) -> Result<()> {
        if addresses <= COMBINE_ADDRESSES {
            return Ok(());
        }
        Err(Error::NotSupported(format!(
            "team = {}: has {} members, and where PEs take turns on a GPU, reductions in a stream have at most {}; \
             start the job with dushrun --gpu-share=mps",
            members.handle,
            members.pes.len(),
            COMBINE_ADDRESSES / 2
        )))
    }

    /// Where all members' buffers are, and who works for whom.
    fn places(&self, members: &Members<'_>, data: &Data) -> Result<Places> {
        let all = |arg: &'static str, addr: usize, len: usize| -> Result<Vec<u64>> {
            if len == 0 {
                return Ok(vec![addr as u64; members.pes.len()]);
            }
            let one = |&pe: &u32| {
                let target = self.job.target(arg, addr, len, 1, pe as i32)?;
                reached_target(self.queue, arg, addr, target)
            };
            members.pes.iter().map(one).collect()
        };
        let first = |pe: u32| self.job.first_on_device(pe as usize);
        // By rank: the first member on the same device. Work is done where it needs no other process to have a turn.
        let who =
            |&pe: &u32| members.pes.iter().position(|&other| first(other) == first(pe)).unwrap_or(members.me);
        Ok(Places {
            me: members.me,
            dests: all("dest", data.dest, data.dest_len)?,
            sources: all("source", data.source, data.source_len)?,
            worker: members.pes.iter().map(who).collect(),
        })
    }

    /// Enqueues this member's steps.
    ///
    /// # Safety
    /// The steps' addresses are valid whenever they run.
    unsafe fn take_turns(&self, members: &Members<'_>, steps: &[Step]) -> Result<()> {
        let mut half = Half::First;
        let mut meetings = 0;
        for step in steps {
            match step {
                Step::Meet => meetings += 1,
                step => {
                    self.meetings(members, &mut half, std::mem::take(&mut meetings))?;
                    // SAFETY: as the caller promises.
                    unsafe { self.work(step)? };
                }
            }
        }
        // An odd number of halves is made up here, in the same call of the driver as what is left.
        let after = if meetings % 2 == 0 { half } else { half.next() };
        meetings += usize::from(self.captured() && after == Half::Second);
        self.meetings(members, &mut half, meetings)
    }

    unsafe fn work(&self, step: &Step) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe {
            match step {
                Step::Meet => Ok(()),
                Step::Copy { dest, source, bytes } => {
                    self.copy(Target::local(*dest as usize), Target::local(*source as usize), *bytes)
                }
                Step::Combine { sources, dests, n, elem, what } => {
                    self.launch(kernels::combine(free_blocks(n * elem), sources, dests, *n, *what))
                }
            }
        }
    }
}

fn total(members: &Members<'_>, bytes: usize, arg: &'static str) -> Result<usize> {
    let why = "more than the address space for all members together";
    let overflow = Error::BadValue { arg, value: bytes as i64, why };
    bytes.checked_mul(members.pes.len()).filter(|&total| total <= isize::MAX as usize).ok_or(overflow)
}

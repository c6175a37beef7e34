//! Collectives in a stream: one kernel of every member's, whose blocks meet those of the others; or, where PEs take turns on
//! the device, copies and kernels that wait for nobody, between meetings by memory operations (`turns`).
use super::check::{Buffers, reached_target};
use super::job::Target;
use super::kernels::{self, COMBINE_ADDRESSES, Computes, Few, Parts};
use super::meet::Half;
use super::queue::Launch;
use super::stream::{Enqueue, Members};
use super::turns::{self, Places, Step};
use dushmem_core::coll::checks;
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

/// How the kernels of a collective exchange data.
enum Form {
    /// By words with data and flag, in one block that gets the team as an argument; with the binary logarithm of the words.
    Short(Few, u32),
    /// The same in the blocks of a grid.
    Flagged(Parts),
    /// They load and store each other's buffers, between two meetings.
    Direct,
}

impl Form {
    /// A word holds elements of up to 8 bytes.
    fn for_elements(self, bytes: usize) -> Form {
        if bytes <= 8 { self } else { Form::Direct }
    }
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
        checks::root(root, n)?;
        let data = Buffers { dest, dest_len: bytes, source, source_len: bytes, align: 1, in_place: true };
        let steps = |places: &Places| turns::broadcast(places, root as usize, bytes);
        let kernel = |to, from| match self.form(members, bytes) {
            Form::Short(few, shift) => kernels::few_broadcast(&few, shift, to, from, bytes, root),
            Form::Flagged(parts) => kernels::flagged_broadcast(&parts, to, from, bytes, root),
            Form::Direct => {
                let blocks = blocks(bytes.div_ceil(n), self.job.blocks());
                kernels::broadcast(blocks, members.handle, to, from, bytes, root)
            }
        };
        // SAFETY: as the caller promises.
        unsafe { self.collective(members, &data, bytes, steps, kernel) }
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
        let dest_len = checks::bytes_of_all("nelems", bytes, 1, members.pes.len())?;
        let data = Buffers { dest, dest_len, source, source_len: bytes, align: 1, in_place: false };
        let steps = |places: &Places| turns::fcollect(places, bytes);
        let kernel = |to, from| match self.form(members, bytes) {
            Form::Short(few, shift) => kernels::few_exchange(&few, shift, to, from, bytes, false),
            Form::Flagged(parts) => kernels::flagged_exchange(&parts, to, from, bytes, false),
            Form::Direct => {
                let blocks = blocks(bytes, self.job.blocks());
                kernels::fcollect(blocks, members.handle, to, from, bytes)
            }
        };
        // SAFETY: as the caller promises.
        unsafe { self.collective(members, &data, bytes, steps, kernel) }
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
        let total = checks::bytes_of_all("nelems", bytes, 1, members.pes.len())?;
        let data = Buffers { dest, dest_len: total, source, source_len: total, align: 1, in_place: true };
        let steps = |places: &Places| turns::alltoall(places, bytes, dest == source);
        let kernel = |to, from| match self.form(members, bytes) {
            Form::Short(few, shift) => kernels::few_exchange(&few, shift, to, from, bytes, true),
            Form::Flagged(parts) => kernels::flagged_exchange(&parts, to, from, bytes, true),
            Form::Direct => {
                let blocks = blocks(total, self.job.blocks());
                kernels::alltoall(blocks, members.handle, to, from, bytes)
            }
        };
        // SAFETY: as the caller promises.
        unsafe { self.collective(members, &data, bytes, steps, kernel) }
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
        let (len, all) = (checks::bytes("nreduce", n, elem)?, members.pes.len());
        let align = what.kind.align();
        let data = Buffers { dest, dest_len: len, source, source_len: len, align, in_place: true };
        self.fits(members, COMBINE_ADDRESSES / 2)?;
        let steps = |places: &Places| turns::reduce(places, n, elem, what);
        let kernel = |to, from| match self.form(members, len).for_elements(elem) {
            Form::Short(few, shift) => kernels::few_reduce(&few, shift, to, from, len, what, false),
            Form::Flagged(parts) => kernels::flagged_reduce(&parts, to, from, len, what, false),
            Form::Direct => {
                let blocks = blocks(len.div_ceil(all), self.job.blocks());
                kernels::reduce(blocks, members.handle, to, from, n, what, false)
            }
        };
        // SAFETY: as the caller promises.
        unsafe { self.collective(members, &data, len, steps, kernel) }
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
        let (len, all) = (checks::bytes("nreduce", n, elem)?, members.pes.len());
        let (source_len, align) = (checks::bytes_of_all("nreduce", n, elem, all)?, what.kind.align());
        let data = Buffers { dest, dest_len: len, source, source_len, align, in_place: true };
        self.fits(members, COMBINE_ADDRESSES - 1)?;
        let steps = |places: &Places| turns::reduce_scatter(places, n, elem, what, dest == source);
        let kernel = |to, from| match self.form(members, len).for_elements(elem) {
            Form::Short(few, shift) => kernels::few_reduce(&few, shift, to, from, len, what, true),
            Form::Flagged(parts) => kernels::flagged_reduce(&parts, to, from, len, what, true),
            Form::Direct => {
                let blocks = blocks(len, self.job.blocks());
                kernels::reduce(blocks, members.handle, to, from, n, what, true)
            }
        };
        // SAFETY: as the caller promises.
        unsafe { self.collective(members, &data, len, steps, kernel) }
    }

    /// A collective, in the form that is right here: of one member a copy of `own` bytes; `steps` of PEs that take turns;
    /// or a kernel that meets those of the other members, by the device's addresses of destination and source.
    ///
    /// # Safety
    /// As for the call.
    unsafe fn collective(
        &self,
        members: &Members<'_>,
        data: &Buffers,
        own: usize,
        steps: impl FnOnce(&Places) -> Vec<Step>,
        kernel: impl FnOnce(u64, u64) -> Launch,
    ) -> Result<()> {
        let (to, from) = data.check(self.job, self.queue)?;
        // SAFETY: as the caller promises; the buffers were checked, to be the same or apart.
        unsafe {
            if members.pes.len() == 1 {
                return self.copy(Target::local(data.dest), Target::local(data.source), own);
            }
            if self.turns() {
                return self.take_turns(members, &steps(&self.places(members, data)?));
            }
            let launch = kernel(to, from);
            self.launch_meeting(members, if self.job.is_direct(&members.pes) { launch } else { launch.far() })
        }
    }

    /// How data of that many bytes, from each member to each, go. Those of one block have the same words whether the kernel looks
    /// its team up or not; so only the others have to be chosen alike by all members.
    fn form(&self, members: &Members<'_>, bytes: usize) -> Form {
        let short = self.few(members).and_then(|few| Some((few, few.takes(bytes)?)));
        if let Some((few, shift)) = short {
            return Form::Short(few, shift);
        }
        let flagged = self.job.flagged(members.slot, &members.pes, members.me);
        // What is short on members with other settings goes in one block here, too.
        let flagged = flagged.filter(|(few, _)| few.takes(bytes).is_none());
        let parts = flagged.and_then(|(few, area)| few.divided(&area, bytes, self.job.blocks()));
        parts.map_or(Form::Direct, Form::Flagged)
    }

    /// Kernels of PEs that take turns have the addresses of all members in their arguments.
    fn fits(&self, members: &Members<'_>, most: usize) -> Result<()> {
        if members.pes.len() <= most || !self.turns() {
            return Ok(());
        }
        Err(Error::NotSupported(format!(
            "team = {}: has {} members, and where PEs take turns on a GPU, this call in a stream has at most {most}; \
             start the job with dushrun --gpu-share=mps",
            members.handle,
            members.pes.len()
        )))
    }

    /// Where all members' buffers are, and who works for whom.
    fn places(&self, members: &Members<'_>, data: &Buffers) -> Result<Places> {
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
                    let launch = kernels::combine(free_blocks(n * elem), sources, dests, *n, *what);
                    self.queue.launch(self.stream, launch)
                }
            }
        }
    }
}

//! Collectives of the host on memory of a device. The PEs meet on the CPU; between two meetings each lets its device
//! copy what it wants from the others' buffers, or combine its part of all of them and write it to all.
//!
//! Types that devices don't know are combined by the CPU, in pieces that come and go by copies; so is what lies in
//! both kinds of memory.
use super::driver::Combine;
use super::heap::DeviceHeap;
use crate::coll::reduce::{Reducer, Scratch, part};
use crate::coll::scan::Scan;
use crate::error::{Call, Result};
use crate::team::{Meets, Team};
use crate::transport::{Put, Reuse};
use crate::world::World;

/// A collective call as its members announce it.
#[derive(Clone, Copy)]
pub(crate) struct Announce {
    pub(crate) call: Call,
    pub(crate) sign: u32,
    pub(crate) bytes: usize,
    /// Shown where members disagree.
    pub(crate) argument: u64,
}

/// Buffers of a reduction.
#[derive(Clone, Copy)]
pub(crate) struct Vectors<'a> {
    pub(crate) dest: usize,
    pub(crate) source: usize,
    pub(crate) n: usize,
    pub(crate) reducer: &'a Reducer,
}

/// Bytes of the pieces that the CPU combines.
const PIECE: usize = 1 << 20;

impl World {
    fn meet_for(&self, team: &Team, what: Announce) -> Result<()> {
        let Announce { call, sign, bytes, argument } = what;
        let epoch = self.announce(team, call, bytes as u64, argument);
        self.meet(team, call, sign, bytes as u64, epoch)
    }

    /// Begins to read a member's symmetric memory, of either kind, into memory of either kind.
    ///
    /// # Safety
    /// `dest` is writable, until a flush; `source` an own symmetric address of `bytes` bytes.
    pub(crate) unsafe fn pull(&self, pe: usize, dest: *mut u8, source: usize, bytes: usize) -> Result<()> {
        let ctx = self.default_context();
        // SAFETY: passed on.
        unsafe {
            if !self.device_get(ctx, dest, source, bytes, pe as i32, Reuse::AtQuiet)? && bytes > 0 {
                self.fetch(pe, dest, source, bytes);
            }
        }
        Ok(())
    }

    /// Begins to write a member's symmetric memory, of either kind, from memory of either kind.
    ///
    /// # Safety
    /// `source` is readable, until a flush; `dest` an own symmetric address of `bytes` bytes.
    unsafe fn push(&self, pe: usize, dest: usize, source: *const u8, bytes: usize) -> Result<()> {
        let ctx = self.default_context();
        // SAFETY: passed on.
        unsafe {
            if !self.device_put(ctx, dest, source, bytes, pe as i32, Reuse::AtQuiet)? && bytes > 0 {
                let reuse = Reuse::AtReturn;
                self.transport().put(ctx.pending(), Put { pe, dest, source, bytes, reuse });
            }
        }
        Ok(())
    }

    /// Waits for all of that.
    fn done(&self) -> Result<()> {
        self.complete(self.default_context());
        self.flush_device()
    }

    /// # Safety
    /// As for [`World::broadcast`], whose arguments were checked.
    pub(crate) unsafe fn broadcast_on_device(
        &self,
        team: &Team,
        what: Announce,
        dest: *mut u8,
        source: *const u8,
        root: i32,
    ) -> Result<()> {
        self.meet_for(team, what)?;
        let untouched = matches!(team.meets(), Meets::Array(_)) || dest.cast_const() == source;
        if let Some(pe) = team.world_pe(root).filter(|_| !(team.my_pe() == root && untouched)) {
            // SAFETY: as the caller promises.
            unsafe { self.pull(pe, dest, source as usize, what.bytes)? };
            self.done()?;
        }
        self.meet_for(team, what)
    }

    /// # Safety
    /// As for [`World::fcollect`], whose arguments were checked.
    pub(crate) unsafe fn fcollect_on_device(
        &self,
        team: &Team,
        what: Announce,
        dest: *mut u8,
        source: *const u8,
    ) -> Result<()> {
        self.meet_for(team, what)?;
        for (rank, pe) in self.members_from_me(team) {
            // SAFETY: block `rank` of the destination.
            unsafe { self.pull(pe, dest.add(rank * what.bytes), source as usize, what.bytes)? };
        }
        self.done()?;
        self.meet_for(team, what)
    }

    /// # Safety
    /// As for [`World::alltoall`], whose arguments were checked.
    pub(crate) unsafe fn alltoall_on_device(
        &self,
        team: &Team,
        what: Announce,
        dest: *mut u8,
        source: *const u8,
    ) -> Result<()> {
        let (bytes, mine) = (what.bytes, team.me() * what.bytes);
        // In place nobody may overwrite a block before its receiver has read it.
        let mut aside = vec![0u8; if dest.cast_const() == source { bytes * team.pes().len() } else { 0 }];
        let to = if aside.is_empty() { dest } else { aside.as_mut_ptr() };
        self.meet_for(team, what)?;
        for (rank, pe) in self.members_from_me(team) {
            // SAFETY: block `rank` of the destination or of the copy, block of this member in the other's source.
            unsafe { self.pull(pe, to.add(rank * bytes), source as usize + mine, bytes)? };
        }
        self.done()?;
        self.meet_for(team, what)?;
        if !aside.is_empty() {
            // SAFETY: the whole destination.
            unsafe { self.push(self.my_pe() as usize, dest as usize, aside.as_ptr(), aside.len())? };
            self.done()?;
        }
        Ok(())
    }

    /// The device, where it can combine these vectors itself: all of them in its memory, aligned.
    fn combines(&self, vectors: &Vectors<'_>, spans: [usize; 2]) -> Option<&DeviceHeap> {
        let heap = self.device_heap()?;
        let align = vectors.reducer.kind?.align();
        let fits = |addr: usize, bytes: usize| heap.contains(addr, bytes) && addr.is_multiple_of(align);
        (fits(vectors.dest, spans[0]) && fits(vectors.source, spans[1])).then_some(heap)
    }

    /// # Safety
    /// As for [`World::reduce`], whose arguments were checked.
    pub(crate) unsafe fn reduce_on_device(
        &self,
        team: &Team,
        what: Announce,
        vectors: Vectors<'_>,
    ) -> Result<()> {
        let Vectors { dest, source, n, reducer } = vectors;
        let (from, to) = part(n, team.pes().len(), team.me());
        let (at, count) = (from * reducer.elem, to - from);
        self.meet_for(team, what)?;
        if count > 0 {
            if let Some(heap) = self.combines(&vectors, [what.bytes; 2]) {
                // In place this overwrites only what nobody else reads.
                let sources = peers(heap, team.pes(), source + at);
                let dests = peers(heap, team.pes(), dest + at);
                // SAFETY: parts of buffers that were checked, mapped here.
                unsafe {
                    heap.device().combine(&Combine { sources: &sources, dests: &dests, n: count, reducer })?
                };
            } else {
                // SAFETY: as above.
                unsafe { self.combine_by_cpu(team, (dest + at, team.pes()), source + at, count, reducer)? };
            }
            self.done()?;
        }
        self.meet_for(team, what)
    }

    /// # Safety
    /// As for [`World::reduce_scatter`], whose arguments were checked; `what.bytes` are those of a block.
    pub(crate) unsafe fn reduce_scatter_on_device(
        &self,
        team: &Team,
        what: Announce,
        vectors: Vectors<'_>,
    ) -> Result<()> {
        let Vectors { dest, source, n, reducer } = vectors;
        let me = [self.my_pe() as u32];
        let block = source + team.me() * what.bytes;
        self.meet_for(team, what)?;
        if n > 0 && dest == source {
            // The others read from the own source what the result would overwrite.
            let mut result = Scratch::new(what.bytes);
            // SAFETY: room for a block; the block of all sources.
            unsafe { self.combine_ranks(team.pes(), result.start(), block, n, reducer)? };
            self.meet_for(team, what)?;
            // SAFETY: the destination was checked.
            unsafe { self.push(me[0] as usize, dest, result.start(), what.bytes)? };
            return self.done();
        }
        if n > 0 {
            if let Some(heap) = self.combines(&vectors, [what.bytes, what.bytes * team.pes().len()]) {
                let sources = peers(heap, team.pes(), block);
                // SAFETY: blocks of buffers that were checked, mapped here.
                unsafe { heap.device().combine(&Combine { sources: &sources, dests: &[dest], n, reducer })? };
            } else {
                // SAFETY: as above.
                unsafe { self.combine_by_cpu(team, (dest, &me), block, n, reducer)? };
            }
            self.done()?;
        }
        self.meet_for(team, what)
    }

    /// # Safety
    /// As for [`World::scan`], whose arguments were checked.
    pub(crate) unsafe fn scan_on_device(
        &self,
        team: &Team,
        what: Announce,
        vectors: Vectors<'_>,
        kind: Scan,
    ) -> Result<()> {
        let Vectors { dest, source, n, reducer } = vectors;
        let (from, to) = part(n, team.pes().len(), team.me());
        let (at, count) = (from * reducer.elem, to - from);
        self.meet_for(team, what)?;
        if count > 0 {
            let heap = self.combines(&vectors, [what.bytes; 2]);
            // From the last rank on down: in place a result replaces an operand that no result needs any more.
            for rank in (0..team.pes().len()).rev() {
                let operands = rank + usize::from(kind == Scan::Inclusive);
                let pe = [team.pes()[rank]];
                // SAFETY: a part of buffers that were checked, which no other member touches.
                unsafe {
                    match heap {
                        Some(heap) if operands > 0 => {
                            let sources = peers(heap, &team.pes()[..operands], source + at);
                            let dests = peers(heap, &pe, dest + at);
                            let what = Combine { sources: &sources, dests: &dests, n: count, reducer };
                            heap.device().combine(&what)?;
                        }
                        Some(heap) => {
                            heap.device().zero(heap.peer(dest + at, pe[0] as usize), count * reducer.elem)?
                        }
                        None => {
                            self.scan_by_cpu(team, operands, (dest + at, pe[0]), source + at, count, reducer)?
                        }
                    }
                }
            }
            self.done()?;
        }
        self.meet_for(team, what)
    }

    /// Combines `n` elements at `source` of some PEs, in this order, into local memory.
    ///
    /// # Safety
    /// All have `n` elements.
    unsafe fn combine_ranks(
        &self,
        pes: &[u32],
        into: *mut u8,
        source: usize,
        n: usize,
        reducer: &Reducer,
    ) -> Result<()> {
        let bytes = n * reducer.elem;
        let mut other = Scratch::new(bytes);
        for (i, &pe) in pes.iter().enumerate() {
            let room = if i == 0 { into } else { other.start() };
            // SAFETY: `n` elements of the member's source and of both local vectors.
            unsafe {
                self.pull(pe as usize, room, source, bytes)?;
                self.flush_device()?;
                if i > 0 {
                    (reducer.combine)(into, room, n);
                }
            }
        }
        Ok(())
    }

    /// Combines `n` elements at `source` of all members, by rank, and writes the result to `dest` of some PEs.
    ///
    /// # Safety
    /// Both are symmetric memory of `n` elements that nobody else touches, or, of the sources, changes.
    unsafe fn combine_by_cpu(
        &self,
        team: &Team,
        (dest, pes): (usize, &[u32]),
        source: usize,
        n: usize,
        reducer: &Reducer,
    ) -> Result<()> {
        let step = (PIECE / reducer.elem).clamp(1, n);
        let mut result = Scratch::new(step * reducer.elem);
        for from in (0..n).step_by(step) {
            let (at, count) = (from * reducer.elem, step.min(n - from));
            // SAFETY: a piece of the vectors.
            unsafe {
                self.combine_ranks(team.pes(), result.start(), source + at, count, reducer)?;
                for &pe in pes {
                    self.push(pe as usize, dest + at, result.start(), count * reducer.elem)?;
                }
            }
            self.flush_device()?;
        }
        Ok(())
    }

    /// Combines `n` elements at `source` of the first `operands` members and writes the result to `dest` of one PE.
    ///
    /// # Safety
    /// As for [`World::combine_by_cpu`].
    unsafe fn scan_by_cpu(
        &self,
        team: &Team,
        operands: usize,
        (dest, pe): (usize, u32),
        source: usize,
        n: usize,
        reducer: &Reducer,
    ) -> Result<()> {
        // The neutral element, where there are none.
        let mut result = Scratch::new(n * reducer.elem);
        // SAFETY: `n` elements of all vectors.
        unsafe {
            self.combine_ranks(&team.pes()[..operands], result.start(), source, n, reducer)?;
            self.push(pe as usize, dest, result.start(), n * reducer.elem)?;
        }
        // In place the next result is made of what was there before, of lower ranks only.
        self.done()
    }
}

/// A symmetric address of the device on all these PEs.
fn peers(heap: &DeviceHeap, pes: &[u32], addr: usize) -> Vec<usize> {
    pes.iter().map(|&pe| heap.peer(addr, pe as usize)).collect()
}

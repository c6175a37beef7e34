//! Collect, whose members contribute different amounts, and alltoalls, whose elements lie apart.
use super::announced;
use super::barrier::data_tag;
use super::slot::{Epoch, PAYLOAD};
use crate::coll::checks;
use crate::error::{Call, Error, Result, count_pes};
use crate::team::{Meets, Team};
use crate::transport::mapped;
use crate::world::World;

/// Bytes of what stands in front of a payload: a [`Part`].
const HEAD: usize = size_of::<Part>();

/// What a member contributes: how many bytes, and where they lie, by the number that the object has on all PEs.
/// A member that contributes nothing need not know the object: it may pass NULL.
#[repr(C)]
#[derive(Clone, Copy)]
struct Part {
    bytes: u64,
    place: u64,
}

impl World {
    /// Concatenates `bytes` bytes at `source` of every member, by rank, at `dest` of every member. Members may
    /// contribute different amounts, also none. `room` is how many bytes there are at `dest`, as far as the
    /// caller knows; gives the bytes that were collected.
    ///
    /// # Safety
    /// Both are own symmetric addresses; `dest` holds the contributions of all members, or they exceed `room`.
    pub unsafe fn collect(
        &self,
        team: &Team,
        dest: *mut u8,
        room: usize,
        source: *const u8,
        bytes: usize,
    ) -> Result<usize> {
        self.check_team(team)?;
        let call = Call::Collect;
        let sign = data_tag(call, &[]);
        let device = match self.range_place("source", source as usize, bytes, 1) {
            Ok(device) => device.is_some(),
            Err(error) => return self.refuse(team, call, error),
        };
        let place = if bytes > 0 { self.symmetric_offset(source as usize) as u64 } else { 0 };
        let mine = Part { bytes: bytes as u64, place };
        let (parts, epoch): (Vec<Part>, Epoch) = match team.meets() {
            Meets::Array(psync) => {
                let all = self.exchange_in_array(team, psync, call, sign, mine.bytes)?;
                let places = self.exchange_in_array(team, psync, call, sign, mine.place)?;
                (
                    all.into_iter().zip(places).map(|(bytes, place)| Part { bytes, place }).collect(),
                    Epoch::NONE,
                )
            }
            Meets::Slot(_) => {
                let epoch = self.announce(team, call, 0, 0);
                // SAFETY: the own buffer of this epoch; the source was checked.
                unsafe {
                    let own = self.own_payload(team, epoch);
                    own.cast::<Part>().write(mine);
                    if !device {
                        mapped::copy(own.add(HEAD), source, bytes.min(PAYLOAD - HEAD));
                    }
                }
                self.meet(team, call, sign, 0, epoch)?;
                let part = |&pe: &u32| {
                    // SAFETY: a member's buffer of this epoch, written before the synchronisation.
                    unsafe { self.payload_of(team, pe as usize, epoch).cast::<Part>().read() }
                };
                (team.pes().iter().map(part).collect(), epoch)
            }
        };
        // All know all the amounts, so all take the same way, and the same things are wrong everywhere.
        let small = parts.iter().all(|part| team.carries(part.bytes as usize + HEAD))
            && !self.is_on_device(dest as usize)
            && !parts.iter().any(|part| self.is_number_of_device(part.place as usize));
        let total = parts.iter().try_fold(0usize, |sum, part| sum.checked_add(part.bytes as usize));
        let why = "more than the address space for all members together";
        let overflow = Error::BadValue { arg: "length", value: bytes as i64, why };
        let why = "bytes at dest: no room for what the members contribute together";
        let short = Error::BadValue { arg: "dest", value: room as i64, why };
        let checked = total.filter(|&total| total <= isize::MAX as usize).ok_or(overflow).and_then(|total| {
            if total > room {
                return Err(short);
            }
            self.own_buffers(dest, total, source, bytes, false).map(|_| total)
        });
        let total = match checked {
            Ok(total) => total,
            Err(error) if small => return Err(error),
            Err(error) => return self.refuse(team, call, error),
        };
        for (rank, pe) in self.members_from_me(team) {
            let at: u64 = parts[..rank].iter().map(|part| part.bytes).sum();
            let count = parts[rank].bytes as usize;
            // SAFETY: this member's place in the destination, which was checked; its buffer or source.
            unsafe {
                let to = dest.add(at as usize);
                if small {
                    mapped::copy(to, self.payload_of(team, pe, epoch).add(HEAD), count);
                } else if let Some(from) = self.symmetric_object(parts[rank].place as usize)
                    && count > 0
                {
                    self.pull(pe, to, from, count)?;
                }
            }
        }
        if !small {
            if self.has_devices() {
                self.flush_device()?;
            }
            self.synchronise(team, call, sign, 0)?;
        }
        Ok(total)
    }

    /// As [`World::alltoall`] with `nelems` elements of `elem` bytes a block, of which every `sst`-th of
    /// `source` and every `dst`-th of `dest` is meant. Strides are in elements and at least 1; the buffers may
    /// not overlap.
    ///
    /// # Safety
    /// Both are own symmetric addresses for the elements touched.
    #[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
    pub unsafe fn alltoalls(
        &self,
        team: &Team,
        dest: *mut u8,
        source: *const u8,
        dst: isize,
        sst: isize,
        nelems: usize,
        elem: usize,
    ) -> Result<()> {
        self.check_team(team)?;
        let call = Call::Alltoalls;
        let checked = self.strided_buffers(team, dest, source, dst, sst, nelems, elem);
        let (to_step, from_step, device) = match checked {
            Ok(checked) => checked,
            Err(error) => return self.refuse(team, call, error),
        };
        let bytes = nelems * elem;
        let (total, mine) = (bytes * team.pes().len(), team.me() * nelems);
        let sign = data_tag(call, &[bytes as u64, dst as u64, sst as u64]);
        let epoch = self.announce(team, call, bytes as u64, announced::of_strides(dst, sst));
        let small = team.carries(total) && !device;
        if small {
            for i in 0..nelems * team.pes().len() {
                // SAFETY: element `i` of the source, which was checked, and of the own buffer of this epoch.
                unsafe {
                    mapped::copy(
                        self.own_payload(team, epoch).add(i * elem),
                        source.add(i * from_step),
                        elem,
                    );
                }
            }
        }
        self.meet(team, call, sign, bytes as u64, epoch)?;
        for (rank, pe) in self.members_from_me(team) {
            let (to, from) = (dest.wrapping_add(rank * nelems * to_step), mine * from_step);
            if !small {
                let from = source.wrapping_add(from);
                // SAFETY: the elements of that member's block in both, which were checked.
                unsafe { self.iget(self.default_context(), to, from, dst, sst, elem, nelems, pe as i32)? };
                continue;
            }
            for i in 0..nelems {
                // SAFETY: as above, the source's elements packed in the member's buffer.
                unsafe {
                    let packed = self.payload_of(team, pe, epoch).add((mine + i) * elem);
                    mapped::copy(to.add(i * to_step), packed, elem);
                }
            }
        }
        if small { Ok(()) } else { self.synchronise(team, call, sign, bytes as u64) }
    }

    /// Checks the buffers of [`World::alltoalls`] and gives the distances of their elements in bytes, and whether one
    /// of them lies in memory of a device.
    #[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
    fn strided_buffers(
        &self,
        team: &Team,
        dest: *mut u8,
        source: *const u8,
        dst: isize,
        sst: isize,
        nelems: usize,
        elem: usize,
    ) -> Result<(usize, usize, bool)> {
        for (arg, stride) in [("dst", dst), ("sst", sst)] {
            if stride < 1 {
                let why = "strides are in elements and at least 1";
                return Err(Error::BadValue { arg, value: stride as i64, why });
            }
        }
        let pes = team.pes().len();
        let said = |arg: &str| {
            let stride = if arg == "dst" { dst } else { sst };
            format!("{arg} = {stride}, nelems = {nelems} for each of {}", count_pes(pes))
        };
        if nelems > isize::MAX as usize {
            return Err(Error::BadValue { arg: "nelems", value: nelems as i64, why: checks::NEGATIVE });
        }
        let span = |arg: &str, stride: isize| {
            let end = checks::end(stride, nelems.saturating_mul(pes), 1, elem);
            checks::fits(usize::try_from(end).ok()).ok_or_else(|| checks::beyond(&said(arg), end))
        };
        let (to, from) = (span("dst", dst)?, span("sst", sst)?);
        let device = self.own_buffers(dest, to, source, from, false).map_err(|error| match &error {
            Error::PastEnd(range) if range.arg == "source" => error.of_strides(said("sst")),
            Error::NotSymmetric { arg: "source", .. } => error.of_strides(said("sst")),
            _ => error.of_strides(said("dst")),
        })?;
        Ok((dst as usize * elem, sst as usize * elem, device))
    }
}

//! Broadcast, fcollect and alltoall.
//!
//! Small messages travel in the members' payload buffers and need one synchronisation. Large ones are read
//! from the sources' own buffers, between a synchronisation that says that the sources are ready and one
//! that says that they have been read. Broadcasts that all members have agreed on before take neither way
//! (`super::ahead`).
use super::announced;
use super::barrier::data_tag;
use super::slot::Epoch;
use crate::coll::checks;
use crate::context::Context;
use crate::device_heap::Announce;
use crate::error::{Call, Result};
use crate::team::{Meets, Team};
use crate::transport::{Get, Reuse, mapped};
use crate::world::World;

impl World {
    /// Copies `bytes` bytes at `source` of the team's PE `root` to `dest` of every member, the root's own
    /// included unless the team is an active set (section 9.10.7). In place (`dest == source`) is fine.
    ///
    /// # Safety
    /// Both are own symmetric addresses; see section 9.10 for who may access them when.
    pub unsafe fn broadcast(
        &self,
        team: &Team,
        dest: *mut u8,
        source: *const u8,
        bytes: usize,
        root: i32,
    ) -> Result<()> {
        self.check_team(team)?;
        let call = Call::Broadcast;
        if checks::root(root, team.pes().len()).is_err() {
            let error = self.no_such_pe("PE_root", root, team.pes().len(), "the team");
            return self.refuse(team, call, error);
        }
        let root_pe = team.pes()[root as usize] as usize;
        let device = match self.own_buffers(dest, bytes, source, bytes, true) {
            Ok(device) => device,
            Err(error) => return self.refuse(team, call, error),
        };
        let sign = data_tag(call, &[bytes as u64, root as u64]);
        if device {
            // SAFETY: both were checked.
            return unsafe {
                self.broadcast_on_device(
                    team,
                    Announce { call, sign, bytes, argument: root as u64 },
                    dest,
                    source,
                    root,
                )
            };
        }
        let is_root = team.my_pe() == root;
        if bytes > 0 && team.agreed().has(bytes, root) {
            // SAFETY: both were checked.
            return unsafe { self.broadcast_ahead(team, dest, source, bytes, root) };
        }
        let epoch = self.announce(team, call, bytes as u64, root as u64);
        if team.carries(bytes) {
            if is_root {
                // SAFETY: the own buffer of this epoch; the source was checked.
                unsafe { mapped::copy(self.own_payload(team, epoch), source, bytes) };
            }
            self.meet(team, call, sign, bytes as u64, epoch)?;
            // SAFETY: the root's buffer of this epoch; the destination was checked.
            unsafe { mapped::copy(dest, self.payload_of(team, root_pe, epoch), bytes) };
            team.agreed().note(bytes, root);
            return Ok(());
        }
        self.meet(team, call, sign, bytes as u64, epoch)?;
        let untouched = matches!(team.meets(), Meets::Array(_)) || dest.cast_const() == source;
        if !(is_root && untouched) {
            // SAFETY: the destination was checked; the source is the same object on the root.
            unsafe { self.fetch(root_pe, dest, source as usize, bytes) };
        }
        let epoch = self.announce(team, call, bytes as u64, root as u64);
        self.meet(team, call, sign, bytes as u64, epoch)?;
        team.agreed().note(bytes, root);
        Ok(())
    }

    /// Concatenates `bytes` bytes at `source` of every member, by rank, at `dest` of every member.
    ///
    /// # Safety
    /// As for [`World::broadcast`]; `dest` holds `bytes` bytes for each member.
    pub unsafe fn fcollect(&self, team: &Team, dest: *mut u8, source: *const u8, bytes: usize) -> Result<()> {
        self.check_team(team)?;
        let call = Call::Fcollect;
        let checked = checks::bytes_of_all("length", bytes, 1, team.pes().len())
            .and_then(|total| self.own_buffers(dest, total, source, bytes, false));
        let device = match checked {
            Ok(device) => device,
            Err(error) => return self.refuse(team, call, error),
        };
        let sign = data_tag(call, &[bytes as u64]);
        if device {
            // SAFETY: both were checked.
            return unsafe {
                self.fcollect_on_device(
                    team,
                    Announce { call, sign, bytes, argument: announced::hash(sign) },
                    dest,
                    source,
                )
            };
        }
        let epoch = self.announce(team, call, bytes as u64, announced::hash(sign));
        let small = team.carries(bytes);
        if small {
            // SAFETY: the own buffer of this epoch; the source was checked.
            unsafe { mapped::copy(self.own_payload(team, epoch), source, bytes) };
        }
        self.meet(team, call, sign, bytes as u64, epoch)?;
        for (rank, pe) in self.members_from_me(team) {
            // SAFETY: block `rank` of the destination, which was checked; the member's buffer or source.
            unsafe {
                let to = dest.add(rank * bytes);
                if small {
                    mapped::copy(to, self.payload_of(team, pe, epoch), bytes);
                } else {
                    self.fetch(pe, to, source as usize, bytes);
                }
            }
        }
        if small { Ok(()) } else { self.synchronise(team, call, sign, bytes as u64) }
    }

    /// Sends block `j` of `source` (`bytes` bytes a block) to the member of rank `j`, where it becomes the
    /// block of this member's rank. In place (`dest == source`) is fine, for large messages at the price of a
    /// copy.
    ///
    /// # Safety
    /// As for [`World::broadcast`]; both hold `bytes` bytes for each member.
    pub unsafe fn alltoall(&self, team: &Team, dest: *mut u8, source: *const u8, bytes: usize) -> Result<()> {
        self.check_team(team)?;
        let call = Call::Alltoall;
        let checked = checks::bytes_of_all("length", bytes, 1, team.pes().len())
            .and_then(|total| Ok((total, self.own_buffers(dest, total, source, total, true)?)));
        let (total, device) = match checked {
            Ok(checked) => checked,
            Err(error) => return self.refuse(team, call, error),
        };
        let sign = data_tag(call, &[bytes as u64]);
        if device {
            // SAFETY: both were checked.
            return unsafe {
                self.alltoall_on_device(
                    team,
                    Announce { call, sign, bytes, argument: announced::hash(sign) },
                    dest,
                    source,
                )
            };
        }
        let epoch = self.announce(team, call, bytes as u64, announced::hash(sign));
        let small = team.carries(total);
        if small {
            // SAFETY: the own buffer of this epoch; the source was checked.
            unsafe { mapped::copy(self.own_payload(team, epoch), source, total) };
        }
        self.meet(team, call, sign, bytes as u64, epoch)?;
        let mine = team.me() * bytes;
        if !small && dest.cast_const() == source {
            // Nobody may overwrite a block before its receiver has read it.
            let mut blocks = vec![0u8; total];
            for (rank, pe) in self.members_from_me(team) {
                // SAFETY: block `rank` of the copy, block of this member in the other's source.
                unsafe {
                    let to = blocks.as_mut_ptr().add(rank * bytes);
                    self.fetch(pe, to, source as usize + mine, bytes);
                }
            }
            self.synchronise(team, call, sign, bytes as u64)?;
            // SAFETY: the destination was checked.
            unsafe { mapped::copy(dest, blocks.as_ptr(), total) };
            return Ok(());
        }
        for (rank, pe) in self.members_from_me(team) {
            // SAFETY: block `rank` of the destination, block of this member in the other's source.
            unsafe {
                let to = dest.add(rank * bytes);
                if small {
                    mapped::copy(to, self.payload_of(team, pe, epoch).add(mine), bytes);
                } else {
                    self.fetch(pe, to, source as usize + mine, bytes);
                }
            }
        }
        if small { Ok(()) } else { self.synchronise(team, call, sign, bytes as u64) }
    }

    /// Members by rank and world PE, beginning with this one, so that not all read the same one at once.
    pub(crate) fn members_from_me<'t>(&self, team: &'t Team) -> impl Iterator<Item = (usize, usize)> + 't {
        let n = team.pes().len();
        (0..n).map(move |i| (team.me() + i) % n).map(move |rank| (rank, team.pes()[rank] as usize))
    }

    pub(super) fn own_payload(&self, team: &Team, epoch: Epoch) -> *mut u8 {
        self.payload_of(team, self.my_pe() as usize, epoch)
    }

    pub(super) fn payload_of(&self, team: &Team, pe: usize, epoch: Epoch) -> *mut u8 {
        // SAFETY: the slot lies in mapped internals.
        unsafe { (*self.team_slot(team.slot(), pe)).payload(epoch.turn) }
    }

    /// Both buffers of a collective, which are own symmetric memory, apart or, `in_place`, the same. True if one of them
    /// lies in memory of a device.
    pub(super) fn own_buffers(
        &self,
        dest: *mut u8,
        dest_len: usize,
        source: *const u8,
        source_len: usize,
        in_place: bool,
    ) -> Result<bool> {
        let (to, from) = (dest as usize, source as usize);
        let near = self.range_place("dest", to, dest_len, 1)?;
        let device = self.range_place("source", from, source_len, 1)?.or(near).is_some();
        checks::apart((to, dest_len), (from, source_len), in_place)?;
        Ok(device)
    }

    /// Reads a member's symmetric memory.
    ///
    /// # Safety
    /// `dest` is writable, `source` an own symmetric address of `bytes` bytes.
    pub(crate) unsafe fn fetch(&self, pe: usize, dest: *mut u8, source: usize, bytes: usize) {
        let pending = Context::pending(self.default_context());
        let get = Get { pe, dest, source, bytes, reuse: Reuse::AtReturn };
        // SAFETY: passed on.
        unsafe { self.transport().get(pending, get) };
    }
}

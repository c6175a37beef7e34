//! Broadcasts that don't wait for all members.
//!
//! The root posts, and goes on; the others wait for its post only. All arrive at the team's line as at any synchronisation,
//! whose last arrival finds out whether all have made the same call, but nobody waits for that: members whose call is the
//! root's go on, and hear of others that differ by the next call that all wait for. So all wait for all the first time that a
//! team broadcasts so many bytes from a root ([`Agreed`](super::agreed::Agreed)).
use super::barrier::{AHEAD, data_tag, wait_record};
use super::post::{Ahead, CARGO};
use crate::error::{Call, Result};
use crate::team::{Meets, Team};
use crate::transport::mapped;
use crate::world::World;

impl World {
    /// As [`World::broadcast`], for a team in a slot.
    ///
    /// # Safety
    /// Both are own symmetric addresses of `bytes` bytes, apart or the same.
    pub(super) unsafe fn broadcast_ahead(
        &self,
        team: &Team,
        dest: *mut u8,
        source: *const u8,
        bytes: usize,
        root: i32,
    ) -> Result<()> {
        let Meets::Slot(line) = team.meets() else { return Ok(()) };
        let (call, is_root, carried) = (Call::Broadcast, team.my_pe() == root, bytes <= CARGO);
        let root_pe = team.pes()[root as usize] as usize;
        let sign = data_tag(call, &[bytes as u64, root as u64, AHEAD.into()]);
        let epoch = self.announce_as(team, call as u32 | AHEAD, bytes as u64, root as u64).number;
        let ahead = Ahead {
            // SAFETY: points to mapped internals; the world that made the team keeps them.
            line: unsafe { &*line },
            posts: &self.slot_of(team, root as usize).posts,
            members: team.n_pes() as u32,
            epoch,
            tag: self.sign_for(team, sign),
            next: team.roots().after(root as u32) == Some(team.my_pe() as u32),
        };
        let cargo = ahead.posts.cargo(epoch);
        if is_root {
            if carried {
                // SAFETY: the post is free again; the source was checked.
                unsafe { mapped::copy(cargo, source, bytes) };
            }
            ahead.post();
        }
        if ahead.arrive() == Some(false) {
            self.part(team, ahead.line, epoch);
            return Err(self.told(team));
        }
        let (policy, slot) = (self.policy(), Some(self.wait_slot()));
        let waits_for = |awaited: i32| wait_record(team, call as u32, awaited, bytes as u64);
        if is_root {
            if dest.cast_const() != source {
                // SAFETY: both were checked.
                unsafe { mapped::copy(dest, source, bytes) };
            }
            if !carried && !ahead.wait_for_readers(policy, slot, || waits_for(-1)) {
                return Err(self.told(team));
            }
            return Ok(());
        }
        if !ahead.wait_for_root(policy, slot, || waits_for(root_pe as i32)) {
            return Err(self.told(team));
        }
        // SAFETY: the destination was checked; the root's post, or the same object as the source on the root.
        unsafe {
            if carried {
                mapped::copy(dest, cargo, bytes);
            } else {
                self.fetch(root_pe, dest, source as usize, bytes);
                if !ahead.acknowledge() {
                    return Err(self.told(team));
                }
            }
        }
        Ok(())
    }
}

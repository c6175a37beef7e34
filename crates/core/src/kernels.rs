//! What kernels see of a PE, on a device that shares the memory of its process, and what they ask of it.
//! Teams are a table by slot that changes while kernels run.
use crate::device::{KernelState, KernelTeam};
use crate::error::{Call, Error, Result};
use crate::world::World;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::sync::OnceLock;

/// A [`KernelTeam`] that others read meanwhile.
#[repr(C)]
#[derive(Debug)]
struct Entry {
    my_pe: AtomicI32,
    n_pes: AtomicI32,
    pes: AtomicU64,
    slot: AtomicU64,
    handle: AtomicI32,
    reserved: AtomicU32,
}

const _: () = assert!(size_of::<Entry>() == size_of::<KernelTeam>());

/// The table, and the members of each team. A slot's list of members has room for all PEs and lives as long as
/// the table: a kernel that uses a team that was destroyed finds another team's, not freed memory.
#[derive(Debug)]
pub struct KernelTeams {
    entries: Box<[Entry]>,
    members: Box<[OnceLock<Box<[AtomicU32]>>]>,
    pes: usize,
}

impl KernelTeams {
    /// No teams. Slot `i` of this PE lies `i * slot_size` bytes after `first_slot`.
    pub(crate) fn new(slots: usize, pes: usize, first_slot: usize, slot_size: usize) -> KernelTeams {
        let entry = |slot| Entry {
            my_pe: AtomicI32::new(-1),
            n_pes: AtomicI32::new(0),
            pes: AtomicU64::new(0),
            slot: AtomicU64::new((first_slot + slot * slot_size) as u64),
            handle: AtomicI32::new(-1),
            reserved: AtomicU32::new(0),
        };
        let members = (0..slots).map(|_| OnceLock::new()).collect();
        KernelTeams { entries: (0..slots).map(entry).collect(), members, pes }
    }

    /// A team with members `pes`, of which this PE is number `me`, takes the slot.
    pub(crate) fn set(&self, slot: usize, handle: i32, me: usize, pes: &[u32]) {
        let entry = &self.entries[slot];
        let is_world = pes.len() == self.pes && pes.iter().enumerate().all(|(i, &pe)| pe as usize == i);
        let mut list = 0;
        if !is_world {
            let room = self.members[slot].get_or_init(|| (0..self.pes).map(|_| AtomicU32::new(0)).collect());
            for (to, &pe) in room.iter().zip(pes) {
                to.store(pe, Ordering::Relaxed);
            }
            list = room.as_ptr() as u64;
        }
        entry.n_pes.store(pes.len() as i32, Ordering::Relaxed);
        entry.pes.store(list, Ordering::Relaxed);
        entry.my_pe.store(me as i32, Ordering::Relaxed);
        entry.handle.store(handle, Ordering::Release);
    }

    /// The team has gone.
    pub(crate) fn clear(&self, slot: usize) {
        self.entries[slot].my_pe.store(-1, Ordering::Relaxed);
        self.entries[slot].handle.store(-1, Ordering::Release);
    }

    /// First entry: a table of [`KernelTeam`].
    pub fn table(&self) -> *const KernelTeam {
        self.entries.as_ptr().cast()
    }

    /// Entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True for a table without entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl World {
    /// The teams as kernels see them.
    pub fn kernel_teams(&self) -> &KernelTeams {
        self.teams().for_kernels()
    }

    /// What kernels read. `delta`: see [`KernelState::delta`]; it has an entry for each PE and has to live as long
    /// as the state.
    pub fn kernel_state(&self, delta: &[i64]) -> KernelState {
        let (heap, heap_len) = self.window().heap();
        let teams = self.kernel_teams();
        KernelState {
            magic: KernelState::MAGIC,
            abi: KernelState::ABI,
            size: size_of::<KernelState>() as u32,
            my_pe: self.my_pe(),
            n_pes: self.n_pes(),
            heap: heap as u64,
            heap_len: heap_len as u64,
            delta: delta.as_ptr() as u64,
            teams: teams.table() as u64,
            team_count: teams.len() as u64,
            proxy: 0,
            internals: self.window().slice() as u64,
            doorbell: self.internals().doorbell as u64,
            remote: delta.iter().filter(|&&delta| delta == KernelState::UNREACHABLE).count() as u32,
            reserved: 0,
        }
    }

    /// True where PE `pe`'s memory can be loaded and stored.
    pub fn maps(&self, pe: usize) -> bool {
        self.transport().maps(pe)
    }

    /// Checks that `[addr, addr + len)`, argument `arg` of a call in a kernel, is own symmetric memory, and gives
    /// the address of PE `pe`'s copy, as this process would see it if it is mapped. `align`: what the address has
    /// to be a multiple of.
    pub fn kernel_target(
        &self,
        arg: &'static str,
        addr: usize,
        len: usize,
        align: usize,
        pe: i32,
    ) -> Result<usize> {
        let target = self.target(self.default_context(), arg, addr, len, pe)?;
        if !addr.is_multiple_of(align) {
            return Err(Error::Misaligned { arg, addr, align });
        }
        self.window().translate(addr, len, target).ok_or_else(|| self.not_symmetric(arg, addr, len))
    }

    /// Waits in a kernel until `ready`, which looks at own symmetric memory at `addr`. Hang reports name `call` and
    /// `detail`.
    pub fn kernel_wait(&self, call: Call, addr: usize, detail: u64, mut ready: impl FnMut() -> bool) {
        self.wait_for_own(call, addr, detail, || ready().then_some(()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(teams: &KernelTeams, slot: usize) -> KernelTeam {
        assert!(slot < teams.len());
        // SAFETY: an entry of the table, which nobody writes meanwhile.
        unsafe { *teams.table().add(slot) }
    }

    #[test]
    fn kernels_see_who_has_a_slot_and_who_its_members_are() {
        let teams = KernelTeams::new(8, 4, 0x1000, 64);
        assert_eq!(read(&teams, 3).my_pe, -1);
        teams.set(0, 0, 2, &[0, 1, 2, 3]);
        let world = read(&teams, 0);
        assert_eq!((world.my_pe, world.n_pes, world.pes, world.slot), (2, 4, 0, 0x1000));
        teams.set(7, 0x1007, 1, &[3, 2]);
        let team = read(&teams, 7);
        assert_eq!((team.my_pe, team.n_pes, team.handle, team.slot), (1, 2, 0x1007, 0x1000 + 7 * 64));
        // SAFETY: the list has as many members as the team.
        assert_eq!(unsafe { std::slice::from_raw_parts(team.pes as *const u32, 2) }, [3, 2]);
        teams.clear(7);
        assert_eq!((read(&teams, 7).my_pe, read(&teams, 7).handle), (-1, -1));
        teams.set(7, 0x2007, 0, &[2]);
        // Whoever still has the old list reads members of the new team.
        assert_eq!(read(&teams, 7).pes, team.pes);
    }
}

//! The table of teams that kernels read: one entry a team slot, changed where it lies when a team is made or
//! destroyed, so that kernels of a running program know of it.
use crate::coll::device_slot::DeviceSlot;
use crate::device::KernelTeam;
use crate::team::{Team, handles};
use core::sync::atomic::{AtomicI32, Ordering};
use std::cell::UnsafeCell;
use std::sync::Arc;

/// The table, by the slot in a team's handle.
pub(crate) struct KernelTeams {
    entries: Box<[UnsafeCell<KernelTeam>]>,
}

// SAFETY: an entry is written by the call that makes or destroys its team; kernels that use it run in between. Kernels
// that look at other entries read no more than the handle, which is atomic.
unsafe impl Send for KernelTeams {}
// SAFETY: as above.
unsafe impl Sync for KernelTeams {}

impl std::fmt::Debug for KernelTeams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KernelTeams").field("entries", &self.entries.len()).finish()
    }
}

impl KernelTeam {
    /// What kernels see of a team, whose flags and buffers of this PE are at `slot`, in a world of so many PEs.
    /// `direct`: kernels of all members reach all members, which all of them say alike.
    pub(crate) fn of(team: &Team, slot: DeviceSlot, world: usize, direct: bool) -> KernelTeam {
        let members = team.pes().len();
        let everybody =
            members == world && team.pes().iter().enumerate().all(|(rank, &pe)| rank == pe as usize);
        KernelTeam {
            my_pe: team.my_pe(),
            n_pes: team.n_pes(),
            pes: if everybody { 0 } else { team.pes().as_ptr() as u64 },
            slot: slot.address() as u64,
            handle: team.handle(),
            words: DeviceSlot::words(world) as u32,
            cell: DeviceSlot::cell(members) as u32,
            flags: if direct { KernelTeam::DIRECT } else { 0 }
                | (DeviceSlot::blocks(world) as u32) << KernelTeam::BLOCKS,
        }
    }
}

impl KernelTeams {
    pub(crate) fn new(slots: usize) -> KernelTeams {
        KernelTeams { entries: (0..slots).map(|_| UnsafeCell::new(KernelTeam::NONE)).collect() }
    }

    /// First entry, and their number.
    pub(crate) fn table(&self) -> (*const KernelTeam, usize) {
        (self.entries.as_ptr().cast(), self.entries.len())
    }

    fn handle(&self, slot: usize) -> &AtomicI32 {
        // SAFETY: an aligned word of the table, which is only ever accessed through this atomic.
        unsafe { AtomicI32::from_ptr(&raw mut (*self.entries[slot].get()).handle) }
    }

    /// A team was made, whose flags and buffers of this PE are at `slot`.
    pub(crate) fn publish(&self, team: &Arc<Team>, slot: DeviceSlot, world: usize, direct: bool) {
        let entry = KernelTeam { handle: handles::INVALID, ..KernelTeam::of(team, slot, world, direct) };
        // SAFETY: the slot's only writer; no kernel uses a team that is being made.
        unsafe { self.entries[team.slot()].get().write(entry) };
        self.handle(team.slot()).store(team.handle(), Ordering::Release);
    }

    /// The team of that slot is destroyed.
    pub(crate) fn withdraw(&self, slot: usize) {
        self.handle(slot).store(handles::INVALID, Ordering::Release);
    }
}

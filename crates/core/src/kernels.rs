//! What kernels see of a PE, on a device that shares the memory of its process, and what they ask of it.
use crate::coll::barrier::wait_record;
use crate::coll::device_slot::DeviceSlot;
use crate::coll::kernel_calls::KernelCalls;
use crate::device::{KernelState, KernelTeam};
use crate::error::{Call, Error, Result};
use crate::job::{IN_KERNEL, Made, Members, WaitRecord, Wanted};
use crate::team::{Team, handles};
use crate::world::World;
use std::sync::Arc;

/// So many members that have not come are told with what they wait in.
const NAMED: usize = 4;

impl World {
    /// What kernels read. `delta`: see [`KernelState::delta`]; it has an entry for each PE and has to live as long
    /// as the state.
    pub fn kernel_state(&self, delta: &[i64]) -> KernelState {
        let (heap, heap_len) = self.window().heap();
        let (teams, team_count) = self.kernel_teams();
        KernelState {
            magic: KernelState::MAGIC,
            my_pe: self.my_pe(),
            n_pes: self.n_pes(),
            heap: heap as u64,
            heap_len: heap_len as u64,
            delta: delta.as_ptr() as u64,
            teams: teams as u64,
            team_count: team_count as u64,
            internals: self.window().slice() as u64,
            doorbell: self.internals().doorbell as u64,
            remote: delta.iter().filter(|&&delta| delta == KernelState::UNREACHABLE).count() as u32,
            first_delta: KernelState::first_of(delta.iter().copied()),
            world: self.teams().get(handles::WORLD).map_or(KernelState::NONE.world, |team| {
                KernelTeam::of(
                    &team,
                    self.device_slot(team.slot()),
                    self.n_pes() as usize,
                    self.reaches_all_of(&team),
                )
            }),
            ..KernelState::NONE
        }
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

    /// Waits in a kernel until `ready`, which looks at own memory at `addr`. Hang reports name `call`, and the team whose
    /// slot that is in, or what is `wanted` of the word.
    pub fn kernel_wait(&self, call: Call, addr: usize, wanted: Wanted, mut ready: impl FnMut() -> bool) {
        let call = call as u32 | IN_KERNEL;
        let record = match self.team_of_kernels(addr) {
            Some(team) => wait_record(&team, call, -1, 0),
            None => WaitRecord {
                call,
                team: -1,
                awaited: -1,
                detail: wanted.value.unwrap_or(0),
                wanted,
                ..WaitRecord::default()
            },
        };
        // The watch of kernels looks there.
        self.wait_as(WaitRecord { address: addr as u64, ..record }, || ready().then_some(()));
    }

    /// The team in whose slot for kernels an own address lies.
    fn team_of_kernels(&self, addr: usize) -> Option<Arc<Team>> {
        let first = self.internals().device_slots;
        let slot = addr.checked_sub(first)? / DeviceSlot::bytes(self.n_pes() as usize);
        self.teams().in_slot(slot)
    }

    /// In words the collective of a kernel that waits at an own address, and which members have not come to it; none where
    /// the address is no team's.
    pub fn kernel_collective(&self, addr: usize) -> Option<String> {
        let team = self.team_of_kernels(addr)?;
        let own = self.device_slot(team.slot()).calls();
        // SAFETY: in the mapped internals of the members, of atomics.
        let count =
            |pe: usize| unsafe { &*(self.window().peer(own as usize, pe) as *const KernelCalls) }.count();
        let mine = count(self.my_pe() as usize);
        let missing: Vec<u32> = team.pes().iter().copied().filter(|&pe| count(pe as usize) < mine).collect();
        let name = wait_record(&team, 0, -1, 0).team_text().unwrap_or_default();
        let who = match &missing[..] {
            [] => "all members have come".to_owned(),
            few if few.len() <= NAMED => {
                format!(
                    "not there: {}",
                    few.iter().map(|&pe| self.elsewhere(pe)).collect::<Vec<_>>().join(", ")
                )
            }
            many => format!("not there: {}", Members::new(Made::Otherwise, many)),
        };
        Some(format!("({name}; {who})"))
    }

    /// A PE that others wait for, and what it waits in itself.
    fn elsewhere(&self, pe: u32) -> String {
        let (_, page) = self.boot().node_memory();
        let waits = page.card(pe as usize).waits().iter().filter_map(|slot| slot.read());
        match waits.min_by_key(|(_, since)| *since) {
            Some((record, _)) => format!("PE {pe}, which waits in {}", record.call_text()),
            None => format!("PE {pe}"),
        }
    }
}

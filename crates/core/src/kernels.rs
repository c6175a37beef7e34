//! What kernels see of a PE, on a device that shares the memory of its process, and what they ask of it.
use crate::device::{KernelState, KernelTeam};
use crate::error::{Call, Error, Result};
use crate::team::handles;
use crate::world::World;

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

    /// Waits in a kernel until `ready`, which looks at own symmetric memory at `addr`. Hang reports name `call` and
    /// `detail`.
    pub fn kernel_wait(&self, call: Call, addr: usize, detail: u64, mut ready: impl FnMut() -> bool) {
        self.wait_for_own(call, addr, detail, || ready().then_some(()));
    }
}

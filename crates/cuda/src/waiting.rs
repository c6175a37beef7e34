//! How a PE waits for its device: as for anything else, so that a hang report names it.
use dushmem_core::bootstrap::Bootstrap;
use dushmem_core::error::Call;
use dushmem_core::job::{WaitRecord, wait_slot};
use dushmem_core::wait::{SpinPolicy, wait_for};
use dushmem_core::world::World;
use std::sync::Arc;

/// What waiting needs to know of the PE.
#[derive(Debug)]
pub struct Waiting {
    policy: SpinPolicy,
    boot: Option<Arc<dyn Bootstrap>>,
}

impl Waiting {
    /// That of a PE.
    pub fn of(world: &World) -> Waiting {
        let told = world.settings().cpus;
        let cpus = if told > 0 { told } else { dushmem_os::cpu::usable_cpus() };
        let policy = SpinPolicy::new(world.n_pes() as usize, cpus);
        Waiting { policy, boot: Some(Arc::clone(world.boot())) }
    }

    /// That of a PE, for short waits in the middle of other waits, whose records stay.
    pub fn within(world: &World) -> Waiting {
        Waiting { boot: None, ..Waiting::of(world) }
    }

    /// Outside of a job.
    pub fn alone() -> Waiting {
        Waiting { policy: SpinPolicy::new(1, dushmem_os::cpu::usable_cpus()), boot: None }
    }

    /// Waits until `ready` gives something; `sleep` waits without using the CPU, where that is called for.
    #[inline]
    pub fn until<R>(&self, call: Call, mut ready: impl FnMut() -> Option<R>, sleep: impl Fn()) -> R {
        if let Some(found) = ready() {
            return found;
        }
        let slot = self.boot.as_deref().map(wait_slot);
        let record = || WaitRecord { call: call as u32, team: -1, awaited: -1, ..WaitRecord::default() };
        wait_for(&self.policy, slot, record, ready, |_| sleep())
    }
}

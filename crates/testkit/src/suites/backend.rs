//! Ways to run a suite.
use super::Pe;
use crate::threads;
use dushmem_core::device::Device;
use dushmem_core::env::{Settings, TransportKind};
use dushmem_core::world::InitOptions;

/// Heap of a PE in the suites.
const HEAP: u64 = 16 << 20;

/// Number of PEs and their settings.
#[derive(Clone, Debug)]
pub struct Backend {
    /// Number of PEs.
    pub pes: usize,
    /// Transport, seed, sizes.
    pub settings: Settings,
    /// The device in whose memory the suites' arrays lie.
    pub device: Option<&'static dyn Device>,
}

/// PEs that load and store each other's memory.
pub fn shm(pes: usize) -> Backend {
    let settings = Settings { heap_size: HEAP, team_slots: 64, ..Settings::defaults() };
    Backend { pes, settings, device: None }
}

/// PEs on the transport that delays and reorders.
pub fn loopback(pes: usize, seed: u64) -> Backend {
    let mut backend = shm(pes);
    backend.settings.transport = TransportKind::Loopback;
    backend.settings.loopback_seed = seed;
    backend
}

/// The ways that a suite is run in for a transport: by numbers of PEs, and by seeds.
pub fn matrix(kind: TransportKind, pes: &[usize]) -> Vec<Backend> {
    match kind {
        TransportKind::Shm => pes.iter().map(|&n| shm(n)).collect(),
        TransportKind::Loopback => {
            pes.iter().enumerate().map(|(i, &n)| loopback(n, 1 + i as u64 * 7919)).collect()
        }
    }
}

impl Backend {
    /// The same with arrays in memory of a device.
    pub fn on(self, device: &'static dyn Device) -> Backend {
        Backend { device: Some(device), ..self }
    }

    /// Runs a suite with PEs as threads.
    ///
    /// # Panics
    /// Where a PE panics or the job hangs.
    #[track_caller]
    pub fn run(&self, suite: fn(&Pe)) {
        let (pes, seed) = (self.pes, self.settings.loopback_seed);
        let kind = self.settings.transport;
        let text = format!("{kind:?}, {pes} PEs, seed {seed}");
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let device = self.device;
            let options = InitOptions { device, ..threads::THREAD_PE };
            threads::run_with(self.pes, &self.settings, options, move |world| match device {
                None => suite(&Pe::new(world)),
                Some(_) => suite(&Pe::on_device(world)),
            });
        }));
        if let Err(panic) = outcome {
            eprintln!("failed with: {text}");
            std::panic::resume_unwind(panic);
        }
    }
}

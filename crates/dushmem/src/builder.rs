//! Settings of a world before it exists.
use crate::data::Data;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::run;
use crate::world::World;
use dushmem_backends as backends;
use dushmem_core::bootstrap::Bootstrap;
use dushmem_core::env::{Settings, TransportKind, variable};
use dushmem_core::error::Error as Cause;
use dushmem_core::process::Place;
use dushmem_core::world::{InitOptions, World as Core};
use std::sync::Arc;
use std::time::Instant;

/// Settings for a job. The environment (`DUSHMEM_SYMMETRIC_SIZE` and the others that `dushinfo` lists) is
/// where they come from; a program can set some itself, equally on all PEs.
///
/// ```
/// use dushmem::{Builder, TransportKind};
///
/// // 3 PEs on the transport that delays and reorders what the memory model leaves open.
/// let sums = Builder::from_env()?.heap_size(1 << 20).transport(TransportKind::Loopback).run(3, |world| {
///     let x = world.alloc(world.my_pe() as u64)?;
///     let sum = world.alloc(0)?;
///     world.reduce(sum.as_slice(), x.as_slice(), dushmem::Sum)?;
///     Ok(sum.load())
/// })?;
/// assert_eq!(sums, [3, 3, 3]);
/// # Ok::<(), dushmem::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    settings: Settings,
}

impl Builder {
    /// What the environment says. Fails for a variable that is no size, number or name of what it should be.
    pub fn from_env() -> Result<Builder> {
        match Settings::read(&["DUSHMEM"], &variable) {
            Ok(settings) => Ok(Builder { settings }),
            Err(cause) => Err(Error::Start { call: "init", cause }),
        }
    }

    /// The defaults, whatever the environment says.
    pub fn new() -> Builder {
        Builder { settings: Settings::defaults() }
    }

    /// Bytes of symmetric heap a PE, rounded up to pages. Memory is used when it is touched.
    pub fn heap_size(mut self, bytes: u64) -> Builder {
        self.settings.heap_size = bytes;
        self
    }

    /// How data reaches the other PEs of the node.
    pub fn transport(mut self, kind: TransportKind) -> Builder {
        self.settings.transport = kind;
        self
    }

    /// Seed by which [`TransportKind::Loopback`] delays and reorders.
    pub fn loopback_seed(mut self, seed: u64) -> Builder {
        self.settings.loopback_seed = seed;
        self
    }

    /// Teams that a PE can be a member of at the same time, at least 8.
    pub fn team_slots(mut self, slots: usize) -> Builder {
        self.settings.team_slots = slots;
        self
    }

    /// As [`World::init`], with these settings.
    pub fn init(self) -> Result<World> {
        let start = |cause| Error::Start { call: "init", cause };
        let begun = Instant::now();
        let place = Place::process().map_err(start)?;
        let boot = backends::connect().map_err(start)?;
        self.join(boot, place, false, begun)
    }

    /// As [`crate::run`], with these settings.
    pub fn run<R: Send>(self, pes: usize, body: impl Fn(&World) -> Result<R> + Sync) -> Result<Vec<R>> {
        run::threads(&self, pes, &body)
    }

    /// Joins the job of `boot`, as was asked for at the moment `begun`.
    pub(crate) fn join(
        &self,
        boot: Arc<dyn Bootstrap>,
        place: Place,
        thread_pe: bool,
        begun: Instant,
    ) -> Result<World> {
        let (pe, pes) = boot.place();
        let fail = |cause| Error::Call { pe, call: "init", cause };
        if !(8..=2048).contains(&self.settings.team_slots) {
            let why = "there are 8 to 2048";
            let value = self.settings.team_slots as i64;
            return Err(fail(Cause::BadValue { arg: "team_slots", value, why }));
        }
        let device = backends::choose(self.settings.device, 0).map_err(fail)?;
        let options = InitOptions { static_data: false, thread_pe, device: Some(device) };
        backends::emu::device::set_local_pes(pes);
        let core = Core::init(boot, &self.settings, options).map_err(fail)?;
        if device.has_memory() {
            device.attach(&core, pes).map_err(fail)?;
        }
        core.greet(begun);
        Ok(World::new(Engine::new(core, place)))
    }
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

/// Bytes of `len` elements, if the address space has as many.
pub(crate) fn bytes_of<T: Data>(len: usize) -> Option<usize> {
    len.checked_mul(size_of::<T>()).filter(|&bytes| bytes <= isize::MAX as usize)
}

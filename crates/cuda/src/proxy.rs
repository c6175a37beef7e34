//! The proxy of a PE whose kernels can't load and store every PE's memory: its ring lies in pinned memory of the host.
use crate::context::Context;
use crate::pinned::Pinned;
use dushmem_core::error::{Error, Result};
use dushmem_core::proxy::{Memory, Proxy, Wake};
use dushmem_core::world::World;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// Requests that are under way at most: some for each warp of a grid that fills a device.
const SLOTS: usize = 16384;
/// Kernels can't wake a thread of the host: it looks again after this time, when it has had nothing to do for longer.
const NAP: Duration = Duration::from_micros(50);

/// The proxy, where there is one.
#[derive(Debug)]
pub struct PeProxy {
    world: Weak<World>,
    running: Mutex<Option<Proxy>>,
}

impl PeProxy {
    /// None yet.
    pub fn new(world: Option<&Arc<World>>) -> PeProxy {
        PeProxy { world: world.map_or_else(Weak::new, Arc::downgrade), running: Mutex::default() }
    }

    /// Starts it, once. Where kernels find its ring and, in memory of the device that `word` gives, count requests.
    pub fn start(&self, context: &Arc<Context>, word: impl FnOnce() -> Result<usize>) -> Result<(u64, u64)> {
        let found = |proxy: &Proxy| (proxy.shared().device_address(), proxy.shared().tickets());
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(proxy) = &*running {
            return Ok(found(proxy));
        }
        let Some(world) = self.world.upgrade() else {
            return Err(Error::Device("a device without a PE has no proxy".into()));
        };
        let pinned = Pinned::new(context, Memory::bytes(SLOTS))?;
        let (host, device) = (pinned.host(), pinned.device());
        // SAFETY: zeroed pages, which are kept with the ring.
        let mut memory = unsafe { Memory::new(host, device, SLOTS, Box::new(pinned)) }?;
        memory.count_at(word()? as u64);
        let proxy = running.insert(Proxy::start(&world, memory, Wake::Polls(NAP))?);
        Ok(found(proxy))
    }

    /// Ends it when it has executed what was posted. It holds the world.
    pub fn stop(&self) {
        let proxy = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(proxy);
    }
}

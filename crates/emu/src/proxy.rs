//! The proxy of each PE of this process whose kernels can't load and store every PE's memory.
use dushmem_core::error::Result;
use dushmem_core::proxy::{Memory, Proxy, Shared, Wake};
use dushmem_core::world::World;
use std::sync::{Arc, Mutex, MutexGuard};

/// Requests that are under way at most: a block of 1,024 threads posts four each before one waits for room.
const SLOTS: usize = 4096;

/// By the address of the PE's world: PEs can be threads of one process.
static RUNNING: Mutex<Vec<(usize, Proxy)>> = Mutex::new(Vec::new());

fn running() -> MutexGuard<'static, Vec<(usize, Proxy)>> {
    RUNNING.lock().unwrap_or_else(|e| e.into_inner())
}

/// Starts the PE's proxy if its kernels need one. What [`KernelState::proxy`] has to be.
///
/// [`KernelState::proxy`]: dushmem_core::device::KernelState::proxy
pub fn start(world: &Arc<World>) -> Result<u64> {
    if (0..world.n_pes() as usize).all(|pe| world.kernels_reach(pe)) {
        return Ok(0);
    }
    let proxy = Proxy::start(world, Memory::of_process(SLOTS)?, Wake::Rung)?;
    let address = proxy.shared().device_address();
    running().push((Arc::as_ptr(world) as usize, proxy));
    Ok(address)
}

/// Ends the PE's proxy when it has executed what was posted. Nothing where there is none.
pub fn stop(world: &World) {
    let mut running = running();
    let found = running.iter().position(|(of, _)| *of == std::ptr::from_ref(world) as usize);
    let proxy = found.map(|at| running.swap_remove(at));
    // Others may stop theirs while this one drains.
    drop(running);
    drop(proxy);
}

/// The PE's proxy, for those who post from the host.
pub fn of(world: &World) -> Option<Arc<Shared>> {
    let running = running();
    let found = running.iter().find(|(of, _)| *of == std::ptr::from_ref(world) as usize);
    found.map(|(_, proxy)| Arc::clone(proxy.shared()))
}

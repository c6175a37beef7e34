//! Translation units of the program with kernels, compiled by nvcc: each has a variable for the state, and a function
//! of its own that stores it through the program's runtime.
use crate::device;
use crate::gpu::Gpu;
use dushmem_core::device::{KernelState, Module};
use dushmem_core::error::{Error, Result};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unit(*const Module);

// SAFETY: a constant of the program, there until it is taken from the list.
unsafe impl Send for Unit {}

static UNITS: Mutex<Vec<Unit>> = Mutex::new(Vec::new());

fn units() -> MutexGuard<'static, Vec<Unit>> {
    UNITS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A unit is there; where a PE has a state already, it gets to know it now.
///
/// # Safety
/// It is there until [`remove`].
pub unsafe fn add(module: *const Module) -> Result<()> {
    // SAFETY: as the caller promises.
    unsafe { &*module }.check()?;
    let mut units = units();
    if units.contains(&Unit(module)) {
        return Ok(());
    }
    for gpu in device::all() {
        if let Some(state) = gpu.states.current() {
            let state = gpu.for_units(&state);
            push(&gpu, &state, Unit(module))?;
            gpu.pushed()?;
        }
    }
    units.push(Unit(module));
    Ok(())
}

/// A unit goes away.
pub fn remove(module: *const Module) {
    units().retain(|known| *known != Unit(module));
}

/// Begins to tell all units the state of a PE, which is to stay until it is [`Gpu::pushed`].
pub(crate) fn tell(gpu: &Gpu, state: &KernelState) -> Result<()> {
    units().iter().try_for_each(|&unit| push(gpu, state, unit))
}

fn push(gpu: &Gpu, state: &KernelState, unit: Unit) -> Result<()> {
    // SAFETY: in the list, so it is there.
    let module = unsafe { &*unit.0 };
    let stream = gpu.side.make()?;
    let _relaxed = gpu.context().enter_relaxed()?;
    // SAFETY: the unit's own function copies no more than its variable holds, on the current device. The state, which is
    // not pinned, is read before it returns, or waited for by the caller.
    let code = unsafe { (module.push)(state, size_of::<KernelState>(), stream.0) };
    if code != 0 {
        return Err(Error::Device(format!(
            "the state for kernels of this program could not be stored: the CUDA runtime gave error {code}; the program \
             has to be compiled for {} (dushcc --device=cuda -arch=...)",
            gpu.name_and_capability()
        )));
    }
    gpu.side.begin(|_| Ok(()))?;
    Ok(())
}

//! Translation units with kernels for a device, as the device headers register them before `main`.
use dushmem_core::device::Module;
use std::sync::{Mutex, PoisonError};

struct Registered(*const Module);

// SAFETY: the module is a constant of the program; only its address is kept here.
unsafe impl Send for Registered {}

static MODULES: Mutex<Vec<Registered>> = Mutex::new(Vec::new());

fn with<R>(act: impl FnOnce(&mut Vec<Registered>) -> R) -> R {
    act(&mut MODULES.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A unit is there: its kernels need to be told who they are.
#[unsafe(no_mangle)]
extern "C" fn dushmem_impl_register_module(module: *const Module) {
    with(|modules| modules.push(Registered(module)));
}

/// The unit goes away with its library, or with the program.
#[unsafe(no_mangle)]
extern "C" fn dushmem_impl_unregister_module(module: *const Module) {
    with(|modules| modules.retain(|known| known.0 != module));
}

/// Units that are there now.
pub fn count() -> usize {
    with(|modules| modules.len())
}

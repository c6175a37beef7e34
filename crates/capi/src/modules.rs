//! Translation units with kernels for a device, as the device headers register them before `main`, or when a library
//! is loaded. The device gets to know them when it has been chosen.
use dushmem_core::device::{Device, Module};
use dushmem_core::error::{Error, Result};
use std::sync::{Mutex, PoisonError};

struct Registered(*const Module);

// SAFETY: the module is a constant of the program; only its address is kept here.
unsafe impl Send for Registered {}

#[derive(Default)]
struct Units {
    all: Vec<Registered>,
    device: Option<&'static dyn Device>,
}

static UNITS: Mutex<Units> = Mutex::new(Units { all: Vec::new(), device: None });

fn with<R>(act: impl FnOnce(&mut Units) -> R) -> R {
    act(&mut UNITS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A unit is there: its kernels need to be told who they are.
#[unsafe(no_mangle)]
extern "C" fn dushmem_impl_register_module(module: *const Module) {
    let told = with(|units| {
        units.all.push(Registered(module));
        // SAFETY: the unit unregisters before it goes away.
        units.device.map_or(Ok(()), |device| unsafe { device.add_module(module) })
    });
    if let Err(error) = told {
        end(&error);
    }
}

/// The unit goes away with its library, or with the program.
#[unsafe(no_mangle)]
extern "C" fn dushmem_impl_unregister_module(module: *const Module) {
    with(|units| {
        units.all.retain(|known| known.0 != module);
        if let Some(device) = units.device {
            device.remove_module(module);
        }
    });
}

/// A library was loaded whose kernels can't run.
fn end(error: &Error) -> ! {
    let place = crate::job::place();
    let line = dushmem_core::error::line(place, "kernels of a library that was loaded", error);
    match crate::job::boot() {
        Some(boot) => boot.abort(error.code(), &line),
        None => {
            dushmem_os::say::say(&line);
            dushmem_os::process::exit_now(error.code())
        }
    }
}

/// Units that are there now.
pub fn count() -> usize {
    with(|units| units.all.len())
}

/// Has the device know the units, also those that come later.
pub fn give_to(device: &'static dyn Device) -> Result<()> {
    with(|units| {
        if units.device.is_none() {
            units.device = Some(device);
            // SAFETY: each unit unregisters before it goes away.
            units.all.iter().try_for_each(|module| unsafe { device.add_module(module.0) })?;
        }
        Ok(())
    })
}

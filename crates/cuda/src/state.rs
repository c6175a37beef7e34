//! What kernels know of the PE: brought into the variable of every module that has one, by an own stream, so that no
//! copy waits for a kernel that spins.
use crate::context::Context;
use crate::error::{Driven, Failure};
use crate::gpu::Gpu;
use crate::kernels::STATE;
use crate::types::{self, errors};
use crate::units;
use dushmem_core::device::{KernelState, KernelTeam, Loaded};
use dushmem_core::device_heap::driver::Sharing;
use dushmem_core::error::Result;
use std::mem::offset_of;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A variable of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Variable {
    /// What the program knows the module by; `None`: it is the library's own.
    of: Option<Loaded>,
    at: types::Address,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Known {
    state: Option<KernelState>,
    variables: Vec<Variable>,
}

/// The state, and the modules that have to know it, beside the units of the program.
#[derive(Debug, Default)]
pub struct States {
    known: Mutex<Known>,
}

/// The variable of a module that holds the state, if it has one.
fn variable(context: &Context, loaded: Loaded) -> Driven<Option<(types::Address, usize)>> {
    let (mut at, mut bytes) = (0, 0);
    let driver = context.driver();
    let _relaxed = context.enter_relaxed()?;
    let (place, size, name) = (&raw mut at, &raw mut bytes, STATE.as_ptr());
    // SAFETY: places for two numbers, a module or a library, and a C string.
    let asked = unsafe {
        match loaded {
            Loaded::Module(handle) => {
                driver.module_get_global(place, size, types::Module(handle as *mut _), name)
            }
            Loaded::Library(handle) => {
                driver.library_get_global(place, size, types::LibraryHandle(handle as *mut _), name)
            }
        }
    };
    match asked {
        Ok(()) => Ok(Some((at, bytes))),
        Err(Failure { code: errors::NOT_FOUND, .. }) => Ok(None),
        Err(why) => Err(why),
    }
}

impl States {
    /// No state, and no module that has to know it.
    pub fn new() -> States {
        States { known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A module of the library's own has to know it.
    pub(crate) fn add_own(&self, context: &Context, module: types::Module) -> Result<()> {
        if let Some((at, bytes)) = variable(context, Loaded::Module(module.0 as usize))? {
            self.known().variables.push(Variable { of: None, at, bytes });
        }
        Ok(())
    }

    /// The state, as far as there is one.
    pub(crate) fn current(&self) -> Option<KernelState> {
        self.known().state
    }
}

/// The bytes of a state.
fn bytes_of(state: &KernelState) -> &[u8] {
    // SAFETY: plain words without holes.
    unsafe { core::slice::from_raw_parts(core::ptr::from_ref(state).cast(), size_of::<KernelState>()) }
}

impl Gpu {
    /// Begins to bring the state into a variable.
    fn push(&self, state: &KernelState, to: Variable) -> Result<()> {
        let (driver, state) = (self.driver(), bytes_of(state));
        let bytes = to.bytes.min(state.len());
        let source = state.as_ptr() as types::Address;
        self.side
            // SAFETY: the variable. The source, which is not pinned, is read at once, or waited for by the caller.
            .begin(|stream| unsafe { driver.memcpy_async(to.at, source, bytes, stream) })
            .map_err(|why| why.doing("storing the state for kernels"))
    }

    pub(crate) fn pushed(&self) -> Result<()> {
        self.side.finish(&self.short).map_err(|why| why.doing("storing the state for kernels"))
    }

    /// What the program's own units are told: there is one variable of each in a process, so where PEs are threads they
    /// know none of them, and kernels say so.
    pub(crate) fn for_units(&self, state: &KernelState) -> KernelState {
        match self.sharing() {
            Sharing::Threads => {
                KernelState { sharing: state.sharing, reserved: KernelState::OF_MANY, ..KernelState::NONE }
            }
            _ => *state,
        }
    }

    pub(crate) fn push_state_to_all(&self, state: &KernelState) -> Result<()> {
        self.settle()?;
        let state = self.completed(state)?;
        let mut known = self.states.known();
        let first = known.state.replace(state).is_none();
        let begun = known.variables.iter().try_for_each(|&variable| self.push(&state, variable));
        // Units are asked for the state from here on, too.
        drop(known);
        let of_units = self.for_units(&state);
        let told = units::tell(self, &of_units);
        if first {
            // The program's runtime may load all of its kernels now.
            self.laps().lap("units");
        }
        self.pushed()?;
        begun.and(told)
    }

    /// What the program has loaded has to know the state, and each later one; or it goes away. Nothing happens for what
    /// has no variable for it.
    pub fn loaded(&self, loaded: Loaded, there: bool) -> Result<()> {
        let found = match there {
            true => variable(self.context(), loaded).map_err(|why| why.doing(format_args!("{loaded:x?}")))?,
            false => None,
        };
        let mut known = self.states.known();
        // The handle may have been that of an earlier one.
        known.variables.retain(|variable| variable.of != Some(loaded));
        let Some((at, bytes)) = found else { return Ok(()) };
        let variable = Variable { of: Some(loaded), at, bytes };
        known.variables.push(variable);
        if let Some(state) = known.state {
            let begun = self.push(&state, variable);
            self.pushed()?;
            begun?;
        }
        Ok(())
    }

    /// Changes an entry of a table of teams: no kernel sees a handle with the data of another team.
    pub(crate) fn store_team(&self, at: usize, entry: &KernelTeam) -> Result<()> {
        let (driver, none) = (self.driver(), KernelTeam::NONE.handle);
        let handle = (at + offset_of!(KernelTeam, handle)) as types::Address;
        let hidden = KernelTeam { handle: none, ..*entry };
        let begun = self
            .side
            // SAFETY: an entry of an own table. The source lives until all is done.
            .begin(|stream| unsafe {
                driver.stream_write_value32(stream, handle, none as u32, types::WRITE_DEFAULT)?;
                if entry.handle != none {
                    let source = core::ptr::from_ref(&hidden) as types::Address;
                    driver.memcpy_async(at as types::Address, source, size_of::<KernelTeam>(), stream)?;
                    driver.stream_write_value32(stream, handle, entry.handle as u32, types::WRITE_DEFAULT)?;
                }
                Ok(())
            });
        let done = self.side.finish(&self.short);
        begun.and(done).map_err(|why| why.doing("telling kernels of a team"))
    }
}

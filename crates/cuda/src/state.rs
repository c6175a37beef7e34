//! What kernels know of the PE: brought into the variable of every module that has one, by an own stream, so that no
//! copy waits for a kernel that spins.
use crate::context::Context;
use crate::error::{Driven, Failure};
use crate::gpu::Gpu;
use crate::kernels::{Library, STATE};
use crate::types::{self, errors};
use dushmem_core::device::{KernelState, KernelTeam, Module};
use dushmem_core::error::{Error, Result};
use std::mem::offset_of;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where a state has to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// A unit of the program, by its own function.
    Unit(*const Module),
    /// A variable of a module, and its bytes. `of`: the handle by which the program knows the module, or 0.
    Variable { of: usize, at: types::Address, bytes: usize },
}

// SAFETY: units are constants of the program, used under a lock while they are registered.
unsafe impl Send for Target {}

#[derive(Debug, Default)]
struct Known {
    state: Option<KernelState>,
    targets: Vec<Target>,
}

/// The state, and the modules that have to know it.
#[derive(Debug)]
pub struct States {
    known: Mutex<Known>,
}

/// The variable of a module that holds the state, if it has one.
fn variable(context: &Context, module: types::Module) -> Driven<Option<(types::Address, usize)>> {
    let (mut at, mut bytes) = (0, 0);
    let _relaxed = context.enter_relaxed()?;
    // SAFETY: places for two numbers, a module, and a C string.
    match unsafe { context.driver().module_get_global(&raw mut at, &raw mut bytes, module, STATE.as_ptr()) } {
        Ok(()) => Ok(Some((at, bytes))),
        Err(Failure { code: errors::NOT_FOUND, .. }) => Ok(None),
        Err(why) => Err(why),
    }
}

impl States {
    /// No state yet; the library's own kernels have to know it.
    pub fn new(context: &Arc<Context>, library: &Library) -> Result<States> {
        let mut targets = Vec::new();
        for &module in library.modules() {
            if let Some((at, bytes)) = variable(context, module)? {
                targets.push(Target::Variable { of: 0, at, bytes });
            }
        }
        Ok(States { known: Mutex::new(Known { state: None, targets }) })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytes of a state.
fn bytes_of(state: &KernelState) -> &[u8] {
    // SAFETY: plain words without holes.
    unsafe { core::slice::from_raw_parts(core::ptr::from_ref(state).cast(), size_of::<KernelState>()) }
}

impl Gpu {
    /// Begins to bring the state to one of those that have to know it.
    fn push(&self, state: &KernelState, target: Target) -> Result<()> {
        match target {
            Target::Unit(unit) => {
                // SAFETY: registered by the device headers, and still there.
                let module = unsafe { &*unit };
                check_abi(module)?;
                let _relaxed = self.context().enter_relaxed()?;
                let stream = self.side.stream();
                // SAFETY: the unit's own function, which copies no more than its variable holds. The state is read
                // before it returns, being memory that is not pinned.
                let code = unsafe { (module.push)(state, size_of::<KernelState>(), stream.0) };
                if code != 0 {
                    return Err(Error::Device(format!(
                        "the state for kernels compiled with {} could not be stored: the runtime gave error {code}",
                        header(module)
                    )));
                }
                self.side.begin(|_| Ok(()))?;
                Ok(())
            }
            Target::Variable { at, bytes, .. } => {
                let (driver, state) = (self.driver(), bytes_of(state));
                let bytes = bytes.min(state.len());
                // SAFETY: the variable; the source is read at once, being memory that is not pinned, or waited for
                // before it goes away.
                self.side
                    .begin(|stream| unsafe {
                        driver.memcpy_async(at, state.as_ptr() as types::Address, bytes, stream)
                    })
                    .map_err(|why| why.doing("storing the state for kernels"))
            }
        }
    }

    fn pushed(&self) -> Result<()> {
        self.side.finish(&self.short).map_err(|why| why.doing("storing the state for kernels"))
    }

    pub(crate) fn push_state_to_all(&self, state: &KernelState) -> Result<()> {
        let mut known = self.states.known();
        known.state = Some(*state);
        let begun = known.targets.iter().try_for_each(|&target| self.push(state, target));
        self.pushed()?;
        begun
    }

    fn add_target(&self, target: Target) -> Result<()> {
        let mut known = self.states.known();
        if known.targets.contains(&target) {
            return Ok(());
        }
        if let Some(state) = known.state {
            let begun = self.push(&state, target);
            self.pushed()?;
            begun?;
        }
        known.targets.push(target);
        Ok(())
    }

    /// A unit of the program has to know the state, and each later one.
    ///
    /// # Safety
    /// It is registered by the device headers until [`Gpu::forget_unit`].
    pub unsafe fn know_unit(&self, unit: *const Module) -> Result<()> {
        self.add_target(Target::Unit(unit))
    }

    /// The unit goes away.
    pub fn forget_unit(&self, unit: *const Module) {
        self.states.known().targets.retain(|target| *target != Target::Unit(unit));
    }

    /// A module that the program has loaded has to know the state. False where it has no variable for it.
    pub fn know_module(&self, module: usize) -> Result<bool> {
        let handle = types::Module(module as *mut _);
        let found = variable(self.context(), handle)
            .map_err(|why| why.doing(format_args!("module = {module:#x}")))?;
        self.know_variable(module, found)
    }

    /// The same for a library of modules.
    pub fn know_library(&self, library: usize) -> Result<bool> {
        let (mut at, mut bytes) = (0, 0);
        let handle = types::LibraryHandle(library as *mut _);
        let relaxed = self.context().enter_relaxed()?;
        // SAFETY: places for two numbers, the program's library, and a C string.
        let asked =
            unsafe { self.driver().library_get_global(&raw mut at, &raw mut bytes, handle, STATE.as_ptr()) };
        let found = match asked {
            Ok(()) => Some((at, bytes)),
            Err(Failure { code: errors::NOT_FOUND, .. }) => None,
            Err(why) => return Err(why.doing(format_args!("library = {library:#x}"))),
        };
        drop(relaxed);
        self.know_variable(library, found)
    }

    fn know_variable(&self, of: usize, found: Option<(types::Address, usize)>) -> Result<bool> {
        // A handle may be that of an earlier module, which is gone.
        self.forget_module(of);
        match found {
            Some((at, bytes)) => self.add_target(Target::Variable { of, at, bytes }).map(|()| true),
            None => Ok(false),
        }
    }

    /// A module or library goes away.
    pub fn forget_module(&self, handle: usize) {
        let is_it =
            |target: &Target| matches!(target, Target::Variable { of, .. } if *of == handle && handle != 0);
        self.states.known().targets.retain(|target| !is_it(target));
    }

    /// Changes an entry of a table of teams: no kernel sees a handle with the data of another team.
    pub(crate) fn store_team(&self, at: usize, entry: &KernelTeam) -> Result<()> {
        let (driver, none) = (self.driver(), KernelTeam::NONE.handle);
        let handle = (at + offset_of!(KernelTeam, handle)) as types::Address;
        let hidden = KernelTeam { handle: none, ..*entry };
        self.side
            // SAFETY: an entry of an own table. The source lives until all is done.
            .begin(|stream| unsafe {
                driver.stream_write_value32(stream, handle, none as u32, types::WRITE_DEFAULT)?;
                if entry.handle != none {
                    let source = core::ptr::from_ref(&hidden) as types::Address;
                    driver.memcpy_async(at as types::Address, source, size_of::<KernelTeam>(), stream)?;
                    driver.stream_write_value32(stream, handle, entry.handle as u32, types::WRITE_DEFAULT)?;
                }
                Ok(())
            })
            .and_then(|()| self.side.finish(&self.short))
            .map_err(|why| why.doing("telling kernels of a team"))
    }
}

fn header(module: &Module) -> String {
    if module.header.is_null() {
        return "unknown headers".into();
    }
    // SAFETY: the headers register a string literal.
    unsafe { core::ffi::CStr::from_ptr(module.header) }.to_string_lossy().into_owned()
}

/// Kernels compiled with headers of another layout would read nonsense.
pub(crate) fn check_abi(module: &Module) -> Result<()> {
    if module.abi == KernelState::ABI {
        return Ok(());
    }
    Err(Error::Device(format!(
        "kernels were compiled with {}, whose state has version {}; this library has version {}: compile them again \
         with the library's own headers",
        header(module),
        module.abi,
        KernelState::ABI
    )))
}

//! The library's own kernels: loaded once for each PE, so that each has globals of its own.
use crate::context::Context;
use crate::error::{Driven, Failure};
use crate::ptx::Image;
use crate::types::{self, FUNCTION_LOCAL_BYTES};
use core::ffi::{CStr, c_void};
use dushmem_core::error::{Error, Result};
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

/// The variable of a module that holds what its kernels know of the PE.
pub const STATE: &CStr = c"dushmem_impl_state";

/// A kernel of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel(pub(crate) types::Function);

/// How many threads a kernel gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
}

impl Shape {
    /// One thread.
    pub const ONE: Shape = Shape { blocks: 1, threads: 1 };
}

/// The modules with the library's kernels, in one context.
#[derive(Debug)]
pub struct Library {
    context: Arc<Context>,
    loaded: RwLock<Loaded>,
}

#[derive(Debug, Default)]
struct Loaded {
    modules: Vec<types::Module>,
    kernels: HashMap<&'static str, Kernel>,
    /// How long the driver took for the modules; what it has put off is the kernels' part.
    took: Duration,
}

impl Library {
    /// Loads modules.
    pub fn load(context: &Arc<Context>, images: &[Image]) -> Result<Library> {
        let library = Library { context: Arc::clone(context), loaded: RwLock::default() };
        for image in images {
            library.add(image)?;
        }
        Ok(library)
    }

    /// Loads a module and all its kernels: loading one later could wait for kernels of the program.
    pub fn add(&self, image: &Image) -> Result<types::Module> {
        let driver = self.context.driver();
        let _relaxed = self.context.enter_relaxed()?;
        let mut module = types::Module::NULL;
        let doing = |why: Failure| why.doing(format_args!("loading the library's kernels ({})", image.name));
        let begun = Instant::now();
        // What is compiled for this GPU loads in milliseconds; the driver takes a second or more for the text.
        let mut done = Err(Failure::missing("cuModuleLoadData"));
        if !image.compiled.is_empty() {
            // SAFETY: a place for a handle, and a whole binary, which says itself how long it is.
            done = unsafe { driver.module_load_data(&raw mut module, image.compiled.as_ptr().cast()) };
        }
        if done.is_err() {
            // SAFETY: a place for a handle, and text that ends with a zero.
            done = unsafe { driver.module_load_data(&raw mut module, image.ptx.as_ptr().cast()) };
        }
        done.map_err(doing)?;
        // Locked for moments only: who launches kernels that are there does not wait for the driver to load others.
        {
            let mut loaded = self.loaded_mut();
            loaded.took += begun.elapsed();
            loaded.modules.push(module);
        }
        for name in image.kernels() {
            let mut function = types::Function::NULL;
            let c_name = CString::new(name).unwrap_or_default();
            let mut local = 0;
            // SAFETY: a place for a handle and a number, and a C string. A driver that can't be asked to load what it may
            // have put off does so for the attribute.
            unsafe {
                driver.module_get_function(&raw mut function, module, c_name.as_ptr()).map_err(doing)?;
                if driver.func_load(function).is_err() {
                    driver
                        .func_get_attribute(&raw mut local, FUNCTION_LOCAL_BYTES, function)
                        .map_err(doing)?;
                }
            }
            self.loaded_mut().kernels.insert(name, Kernel(function));
        }
        Ok(module)
    }

    fn loaded_mut(&self) -> RwLockWriteGuard<'_, Loaded> {
        self.loaded.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn loaded(&self) -> RwLockReadGuard<'_, Loaded> {
        self.loaded.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kernel of that name.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let found = self.loaded().kernels.get(name).copied();
        found.ok_or_else(|| Error::Device(format!("the library has no kernel {name} for this PE")))
    }

    /// Blocks of so many threads that the device runs at the same time, of whichever of the kernels takes most.
    pub fn resident(&self, threads: u32) -> Result<u32> {
        let driver = self.context.driver();
        let _entered = self.context.enter()?;
        let multiprocessors =
            crate::facts::attribute(driver, self.context.device(), types::ATTRIBUTE_MULTIPROCESSORS).max(1)
                as u32;
        let mut least = u32::MAX;
        for kernel in self.loaded().kernels.values() {
            let (mut blocks, mut most) = (0, 0);
            // SAFETY: places for two numbers, and an own kernel.
            unsafe {
                driver.func_get_attribute(&raw mut most, types::FUNCTION_MAX_THREADS, kernel.0)?;
                if most as u32 >= threads {
                    driver.occupancy_max_active_blocks(&raw mut blocks, kernel.0, threads as i32, 0)?;
                    least = least.min(blocks.max(1) as u32);
                }
            }
        }
        Ok(if least == u32::MAX { multiprocessors } else { least * multiprocessors })
    }

    /// How long the driver took for the modules, without their kernels.
    pub fn took(&self) -> Duration {
        self.loaded().took
    }

    /// The modules.
    pub fn modules(&self) -> Vec<types::Module> {
        self.loaded().modules.clone()
    }

    /// Puts a kernel into a stream. Each parameter stands in the low bytes of a word.
    ///
    /// # Safety
    /// The words are the kernel's parameters, in order, and valid for what it does with them.
    pub unsafe fn launch(
        &self,
        kernel: Kernel,
        shape: Shape,
        stream: types::Stream,
        parameters: &[u64],
    ) -> Driven {
        const MOST: usize = 16;
        assert!(parameters.len() <= MOST && cfg!(target_endian = "little"));
        let mut addresses = [core::ptr::null_mut::<c_void>(); MOST];
        for (address, word) in addresses.iter_mut().zip(parameters) {
            *address = core::ptr::from_ref(word).cast_mut().cast();
        }
        // SAFETY: addresses of the caller's parameters.
        unsafe { self.launch_raw(kernel, shape, stream, &mut addresses[..parameters.len()]) }
    }

    /// Puts a kernel into a stream, with the addresses of its parameters.
    ///
    /// # Safety
    /// As for [`Library::launch`].
    pub unsafe fn launch_raw(
        &self,
        kernel: Kernel,
        shape: Shape,
        stream: types::Stream,
        parameters: &mut [*mut c_void],
    ) -> Driven {
        let _entered = self.context.enter()?;
        let Shape { blocks, threads } = shape;
        // SAFETY: an own kernel, with addresses of its parameters, which the driver copies.
        unsafe {
            self.context.driver().launch_kernel(
                kernel.0,
                blocks,
                1,
                1,
                threads,
                1,
                1,
                0,
                stream,
                parameters.as_mut_ptr(),
                core::ptr::null_mut(),
            )
        }
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        if self.context.is_forked() {
            return;
        }
        let Ok(_relaxed) = self.context.enter_relaxed() else { return };
        for &module in &self.loaded().modules {
            // SAFETY: loaded by this; no kernel of it runs any more.
            let _ = unsafe { self.context.driver().module_unload(module) };
        }
    }
}

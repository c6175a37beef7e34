//! The variables of the program that name the running GPU thread.
use crate::called::{Made, Name, Passed};
use crate::grid::{Dim3, Grid};
use std::ffi::c_void;
use std::ptr;

/// Where the compiled program keeps its `threadIdx` and companions: thread-local variables of the image
/// that holds the kernel. The scheduler writes them before a GPU thread runs on.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Place {
    /// Bytes of this struct, as the library knows it: the program fills in no more.
    pub size: usize,
    /// `threadIdx`
    pub thread: *mut Dim3,
    /// `blockIdx`
    pub block: *mut Dim3,
    /// `blockDim`
    pub block_dim: *mut Dim3,
    /// `gridDim`
    pub grid_dim: *mut Dim3,
    /// First byte of the block's dynamic shared memory.
    pub shared: *mut *mut c_void,
    /// True while the OS thread runs a kernel: names for host and device then mean the device's.
    pub in_kernel: *mut bool,
    /// The name of the call of the library that the GPU thread is in. Null in programs that don't note it.
    pub call: *mut Name,
    /// The arguments of that call, until they are taken. Null in programs that don't note them.
    pub arguments: *mut Passed,
}

impl Place {
    /// A place that names nothing yet.
    pub const NONE: Place = Place {
        size: size_of::<Place>(),
        thread: ptr::null_mut(),
        block: ptr::null_mut(),
        block_dim: ptr::null_mut(),
        grid_dim: ptr::null_mut(),
        shared: ptr::null_mut(),
        in_kernel: ptr::null_mut(),
        call: ptr::null_mut(),
        arguments: ptr::null_mut(),
    };

    /// What is the same for all blocks of the grid that this OS thread runs.
    ///
    /// # Safety
    /// The place holds addresses of the calling thread's variables.
    pub(crate) unsafe fn enter(&self, grid: &Grid, shared: *mut u8) {
        // SAFETY: as the caller promises.
        unsafe {
            self.block_dim.write(grid.block_dim());
            self.grid_dim.write(grid.grid_dim());
            self.shared.write(shared.cast());
            self.in_kernel.write(true);
            // A block that was given up may have left one.
            if !self.call.is_null() {
                self.call.write(Name::NONE);
            }
            self.take_arguments();
        }
    }

    /// The call that the running GPU thread is in.
    ///
    /// # Safety
    /// As for [`Place::enter`].
    #[inline]
    pub(crate) unsafe fn call(&self) -> Name {
        // SAFETY: as the caller promises.
        if self.call.is_null() { Name::NONE } else { unsafe { self.call.read() } }
    }

    /// The same, with its arguments the first time.
    ///
    /// # Safety
    /// As for [`Place::enter`].
    #[inline]
    pub(crate) unsafe fn made(&self) -> Made {
        // SAFETY: as the caller promises.
        unsafe { Made { name: self.call(), passed: self.take_arguments() } }
    }

    #[inline]
    unsafe fn take_arguments(&self) -> Passed {
        if self.arguments.is_null() {
            return Passed::NONE;
        }
        // SAFETY: as the callers promise.
        unsafe { self.arguments.replace(Passed::NONE) }
    }

    /// The calling OS thread runs no GPU thread any more.
    ///
    /// # Safety
    /// As for [`Place::enter`].
    pub(crate) unsafe fn leave(&self) {
        // SAFETY: as the caller promises.
        unsafe { self.in_kernel.write(false) };
    }
}

//! Memory management. A failure is NULL on every PE, after a line that says why.
use super::prelude::*;
use crate::job;
use crate::report::{fail, host_only, must, or_else};
use core::ptr::null_mut;
use dushmem_core::env::HeapKind;
use dushmem_core::error::{Error, Result};
use dushmem_core::world::World;

/// An allocation; before init there is no heap to fail in.
fn allocate(name: Name, call: impl FnOnce(&World) -> Result<*mut u8>) -> *mut u8 {
    host_only(name);
    match job::world() {
        None => fail(name, &Error::NotInitialised),
        Some(_) => or_else(name, call, |_| null_mut()),
    }
}

/// The families that programs with kernels use allocate where kernels run, OpenSHMEM's on the host.
fn kind(name: Name) -> HeapKind {
    match name.family() {
        Family::Shmem => HeapKind::Host,
        Family::Dushmem | Family::Nvshmem => HeapKind::Device,
    }
}

pub unsafe fn malloc(size: usize, name: Name) -> *mut u8 {
    allocate(name, |w| w.malloc_on(kind(name), size))
}

pub unsafe fn malloc_with_hints(size: usize, _hints: c_long, name: Name) -> *mut u8 {
    // Every block suits atomics and signals, which is all that hints can ask for; unknown bits are no error.
    allocate(name, |w| w.malloc_on(kind(name), size))
}

pub unsafe fn calloc(count: usize, size: usize, name: Name) -> *mut u8 {
    allocate(name, |w| w.calloc_on(kind(name), count, size))
}

pub unsafe fn align(alignment: usize, size: usize, name: Name) -> *mut u8 {
    allocate(name, |w| w.align_on(kind(name), alignment, size))
}

pub unsafe fn realloc(ptr: *mut u8, size: usize, name: Name) -> *mut u8 {
    if ptr.is_null() {
        return allocate(name, |w| w.malloc_on(kind(name), size));
    }
    allocate(name, |w| w.realloc(ptr, size))
}

pub unsafe fn free(ptr: *mut u8, name: Name) {
    host_only(name);
    must(name, |w| w.free(ptr));
}

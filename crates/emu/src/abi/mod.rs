//! The C functions that the headers under `include/dushmem/emu` call. Their declarations stand in
//! `include/dushmem/impl/emu_abi.h`; structs begin with their size, so that fields can be added.
//!
//! Functions that can fail return the number of a [`Code`](crate::error::Code), 0 for success, and make
//! it the calling thread's last error.

mod capture;
mod graph;
mod kernel;
mod launch;
mod memory;
mod proxy;
mod runtime;

pub use capture::*;
pub use graph::*;
pub use launch::*;
pub use memory::*;
pub use proxy::*;
pub use runtime::*;

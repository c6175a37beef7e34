//! NVIDIA GPUs, by the CUDA driver's API, which is loaded at run time: nothing of CUDA is needed to build this, and a
//! machine without a driver gets an error that says so.
//!
//! | module | holds |
//! |---|---|
//! | [`types`] [`table`] | the driver's types and functions |
//! | [`driver`] | finding and loading it; its version |
//! | [`error`] | its errors by name, and what helps |
//! | [`facts`] | what can be known of the devices without using one |
//! | [`context`] | the context of a device, and making it current |
//! | [`lane`] [`waiting`] | own streams, and waiting for them |
//! | [`pinned`] [`pins`] | host memory that the device addresses: own, and the program's |
//! | [`memory`] | memory of the device: chunks, address space, tables |
//! | [`kernels`] [`ptx`] `loading` | the library's own kernels |
//! | [`proxy`] | the ring and the thread for PEs that kernels don't reach |
//! | [`units`] | translation units of the program with kernels |
//! | [`state`] | what kernels know of the PE, in all modules that have to know it |
//! | [`gpu`] | the device of a PE, which all of these belong to |
//! | [`on_stream`] | operations in streams of the program |
//! | `moves` | copies, stores, loads, atomics |
//! | `heap_device` [`device`] | the engine's traits |
//! | [`notice`] | kernels that wait for each other on a device that is used in turns |
//!
//! Nothing here calls a function of the driver that waits for kernels of the program, except where the PE leaves its
//! job: own streams are non-blocking, memory is unmapped instead of freed, and modules are loaded before the program's
//! kernels wait for each other.

pub mod context;
pub mod device;
pub mod driver;
pub mod error;
pub mod facts;
pub mod gpu;
mod heap_device;
pub mod kernels;
pub mod lane;
mod links;
mod loading;
pub mod memory;
mod moves;
pub mod notice;
pub mod on_stream;
pub mod pinned;
pub mod pins;
pub mod proxy;
pub mod ptx;
pub mod state;
pub mod table;
pub mod types;
pub mod units;
pub mod waiting;

pub use device::{Cuda, device};
pub use driver::is_loaded;
pub use facts::facts;

//! The engine: one partitioned global address space, its memory, its data path, its waiting.
//!
//! Names of the three C families do not occur here, and neither do system calls. Symmetric memory is
//! written concurrently by other PEs, so it is only ever touched through raw pointers and atomics.
#![deny(unsafe_op_in_unsafe_fn)]

pub mod atomics;
pub mod bootstrap;
pub mod error;
pub mod job;
pub mod sync;
pub mod wait;

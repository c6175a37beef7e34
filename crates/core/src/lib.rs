//! The engine: one partitioned global address space, its memory, its data path, its waiting.
//!
//! Names of the three C families do not occur here, and neither do system calls. Symmetric memory is
//! written concurrently by other PEs, so it is only ever touched through raw pointers and atomics.

mod alike;
pub mod amo;
pub mod atomics;
pub mod bootstrap;
pub mod buffers;
mod card;
pub mod coll;
pub mod context;
pub mod device;
pub mod device_heap;
mod diary;
pub mod env;
pub mod error;
pub mod fastpath;
#[path = "gen/env.rs"]
mod gen_env;
pub mod half;
pub mod heap;
pub mod job;
mod kernel_state;
mod kernel_teams;
pub mod kernels;
pub mod laps;
pub mod lock;
#[cfg(all(test, loom))]
mod loom_models;
pub mod lost;
pub mod meeting;
pub mod order;
mod placement;
pub mod process;
pub mod proxy;
mod record;
pub mod rma;
pub mod signal;
pub mod size;
pub mod split;
pub mod statics;
pub mod strided;
pub mod sync;
pub mod team;
pub mod transport;
pub(crate) mod triple;
pub mod until;
pub mod wait;
pub mod window;
pub mod world;

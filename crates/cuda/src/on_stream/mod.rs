//! Operations of the engine in streams of the program (docs/design/cuda-streams.md).
pub mod check;
pub mod coll;
pub mod compare;
pub mod driven;
#[cfg(test)]
#[path = "tests/fakes.rs"]
mod fakes;
pub mod in_world;
pub mod job;
pub mod kept;
pub mod kernels;
pub mod meet;
pub mod queue;
pub mod records;
pub mod rma;
pub mod seen;
pub mod stream;
pub mod turns;
pub mod wait;
pub mod watch;

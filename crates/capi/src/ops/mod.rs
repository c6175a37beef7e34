//! What the exported functions do, by area, once for all types and families.
//!
//! Every function is `unsafe`: what its pointers must be is what the header says about the C function.
//! Parameters are those of C, followed by the context where there is one, and by the name called.
pub mod active_set;
pub mod amo;
pub mod attributes;
pub mod buffers;
pub mod coll;
pub mod context;
pub mod lock;
pub mod memory;
pub mod old;
pub mod order;
pub mod prelude;
pub mod rma;
pub mod setup;
pub mod signal;
pub mod stream;
pub mod team;
pub mod team_config;
pub mod wait;

//! What every way of running PEs has to do alike: suites of functions that each PE of a job calls.
//!
//! A suite knows neither transport nor number of PEs: it takes a [`Pe`] and panics where the engine does
//! not behave. [`Backend`] says how to run it; [`matrix`] lists the usual ways.
//!
//! | module | section of the OpenSHMEM text |
//! |---|---|
//! | [`rma`], [`amo`] | 9.6 put and get, 9.7 atomics |
//! | [`order`] | 9.8 signals, 9.12 fence and quiet |
//! | [`until`] | 9.11 wait and test |
//! | [`team`], [`context`] | 9.4, 9.5 |
//! | [`coll`], [`ahead`], [`uneven`], [`reduce`], [`scan`], [`active_set`] | 9.10 |
//! | [`heap`], [`lock`] | 9.3, 9.13 |
//! | [`errors`], [`life`] | bad arguments; init and finalize |
//! | [`multiple`] | many threads of a PE at once |
//! | [`mutants`] | programs that lack an order, and the right ones |
pub mod active_set;
pub mod ahead;
pub mod amo;
pub mod coll;
pub mod context;
pub mod errors;
pub mod heap;
pub mod life;
pub mod lock;
pub mod multiple;
pub mod mutants;
pub mod order;
pub mod pe;
pub mod reduce;
pub mod rma;
pub mod scan;
pub mod team;
pub mod uneven;
pub mod until;

mod backend;
mod coll_calls;
pub use backend::{Backend, loopback, matrix, shm};
pub use pe::{Pe, Sym, look_by};

//! Collectives on a team (OpenSHMEM section 9.10).
//!
//! | module | holds |
//! |---|---|
//! | [`slot`] | what a member of a team shows to the others |
//! | [`device_slot`] | what it shows to their kernels |
//! | [`kernel_calls`] | what members say of calls in kernels, so that those that differ are told |
//! | [`barrier`] | barrier, sync, and the counted synchronisation beneath every collective |
//! | `announced` | what members say of a call, as messages show it |
//! | [`active_set`] | what PEs without a team meet in: the deprecated forms |
//! | [`data`] | broadcast, fcollect, alltoall |
//! | `ahead`, `agreed`, [`post`] | broadcasts that don't wait for all members: which, and what the root leaves for them |
//! | [`uneven`] | collect, whose members contribute different amounts; alltoalls, whose elements lie apart |
//! | [`reduce`] | reductions and reduce-scatter |
//! | [`scan`] | prefix sums |
//! | [`half`] | reductions of 16-bit floating-point numbers |
pub mod active_set;
pub(crate) mod agreed;
mod ahead;
pub(crate) mod announced;
pub mod barrier;
pub mod checks;
pub mod data;
pub mod device_slot;
pub mod half;
pub mod kernel_calls;
pub mod post;
pub mod reduce;
pub mod scan;
pub mod slot;
pub mod uneven;

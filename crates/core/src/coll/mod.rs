//! Collectives on a team (OpenSHMEM section 9.10).
//!
//! | module | holds |
//! |---|---|
//! | [`slot`] | what a member of a team shows to the others |
//! | [`barrier`] | barrier, sync, and the counted synchronisation beneath every collective |
//! | [`data`] | broadcast, fcollect, alltoall |
//! | [`reduce`] | reductions |
//! | [`half`] | those of 16-bit floating-point numbers |
pub mod barrier;
pub mod data;
pub mod half;
pub mod reduce;
pub mod slot;

//! What the programs have in common: how they tell that they were called in a wrong way.
#![forbid(unsafe_code)]

pub mod usage;

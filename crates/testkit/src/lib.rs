//! Tests with many PEs.
//!
//! | module | holds |
//! |---|---|
//! | [`tools`] | where dushrun and the other programs are, and which programs the system has |
//! | [`installation`] | the installed prefix, made once where there is none |
//! | [`folder`] | a folder for a test's files |
//! | [`kernels`] | programs with kernels, compiled for the CPU |
//! | [`job`] | running a job of processes, with a time limit, and looking for what it left behind |
//! | [`leftovers`] | processes, files and System V objects of a job |
//! | [`model`] | random programs with a shadow model, for fuzzing and for the tests that replay what it found |
//! | [`plain`] | a device of plain memory |
//! | [`threads`] | running a job of threads, with a time limit that says who waits where |
//! | [`suites`] | what every backend has to do alike |
//! | [`processes`] | tests that run themselves again as the PEs of a job: [`pe_test!`] |

pub mod folder;
pub mod installation;
pub mod job;
pub mod kernels;
pub mod leftovers;
pub mod model;
pub mod plain;
pub mod processes;
pub mod programs;
pub mod suites;
pub mod threads;
pub mod tools;

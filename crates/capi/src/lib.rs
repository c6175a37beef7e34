//! The C names: `dushmem_`, `nvshmem_`, `shmem_`.
//!
//! [`gen`](self) lists every exported name with the function that does it, as `api/ops.tsv` says. The
//! functions in `ops` convert arguments, call the engine, and report what went wrong; there is no logic here.
//! Each gets the name that the program called, so that errors name it. A function without a status ends
//! the job with one line on stderr; one with a status prints the line and returns the error's number.

mod context;
mod export;
mod front;
#[path = "gen/mod.rs"]
mod generated;
mod job;
mod launch;
mod modules;
mod name;
mod ops;
mod report;

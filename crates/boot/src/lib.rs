//! How the PEs of a job find each other.
//!
//! [`connect`] chooses: what `DUSHMEM_BOOTSTRAP` says, else the launcher that started the process, else a
//! job of one PE. A process that another launcher started as one of many does not become one of many jobs
//! of one PE each: it gets an error that names what was found.
//!
//! | module | holds |
//! |---|---|
//! | [`detect`] | the choice |
//! | [`launch`] | the protocol between dushrun and its PEs |
//! | [`unique_id`], [`mpi`] | processes that anything has started, brought together by an id |
//! | [`launcher`], [`singleton`], [`threads`] | implementations of [`dushmem_core::bootstrap::Bootstrap`] |
//! | [`error`] | what can go wrong |

pub mod detect;
pub mod error;
mod gather;
pub mod launch;
pub mod launcher;
pub mod mpi;
mod node;
pub mod singleton;
pub mod threads;
pub mod unique_id;
mod watch;

pub use detect::connect;
pub use dushmem_core::{bootstrap, env, error::Call, job, lost, proxy::request, size};
pub use error::BootError;

//! The path from kernels to PEs whose memory they can't load and store: requests in a ring, taken by a thread
//! of the PE. `include/dushmem/impl/proxy.h` is the other side.
//!
//! | module | holds |
//! |---|---|
//! | [`ring`] | the protocol between producers and consumer |
//! | `memory` | where a ring lies, and its header |
//! | [`request`] | what a descriptor says |
//! | `execute` | the engine's calls for it |
//! | [`queue_pairs`] | numbers of contexts that kernels may name |
//! | `service` | the thread, its sleeping, who waits for it |
//!
//! The protocol, and why it is right, stands in `docs/design/proxy.md`.

mod execute;
mod memory;
pub mod queue_pairs;
pub mod request;
pub mod ring;
mod service;
#[cfg(all(test, not(loom)))]
mod tests;

pub use memory::{Header, Memory};
pub use service::{Proxy, Shared, Slot, Wake};

//! One partitioned global address space over the processing elements (PEs) of a job.
//!
//! Every PE owns one *symmetric heap*. All PEs allocate from it together, so an object that one PE has,
//! all have, and each can read, write and atomically update the others' copies without their help.
//!
//! ```
//! // Two PEs, here as threads; started by dushrun they are processes, see `with_world`.
//! dushmem::run(2, |world| {
//!     let (me, n) = (world.my_pe(), world.n_pes());
//!     let inbox = world.alloc(usize::MAX)?; // one usize on every PE
//!     world.p(&inbox, me, (me + 1) % n)?; // written into the right neighbour's copy
//!     world.barrier()?; // everybody's put has arrived
//!     assert_eq!(inbox.load(), (me + n - 1) % n);
//!     Ok(())
//! })?;
//! # Ok::<(), dushmem::Error>(())
//! ```
//!
//! # What the types rule out
//!
//! | mistake | why it does not compile |
//! |---|---|
//! | reading the target of a non-blocking get before it is complete | [`Context::scope`] borrows the buffer until its quiet |
//! | freeing or dropping a buffer in flight | as above, symmetric memory included |
//! | using memory or a team after finalize | [`World::finalize`] consumes the world that they borrow |
//! | sending pointers, strings, anything with a meaning in one process only | elements are [`Data`]: plain bytes |
//! | two threads in one collective | [`World`] is not `Sync`; [`Context`], for one-sided operations, is |
//! | adding atomically to a float | [`AmoInt`] is for integers |
//! | passing a local buffer where a symmetric one is needed | [`SymSlice`] and [`SymCell`] are made by allocation only |
//!
//! # Memory that others write
//!
//! Peers may write to symmetric memory at any time, so there is no safe `&[T]` of it: a [`SymCell`] is
//! loaded and stored, a [`SymSlice`] copied from and to. Such an access that races with a peer's write may
//! see part of it, never an invalid value. Ordering comes from barriers, signals and waits.
//! Where a program knows that nobody writes, [`SymSlice::as_slice`] gives the slice, as `unsafe`.
//!
//! # No `Drop` communicates
//!
//! A dropped [`Symmetric`] is only noted. Its memory is reused once *every* PE has dropped its own handle:
//! the PEs agree on that inside the next collective allocation, or in [`World::reclaim`]. So PEs may drop
//! at different times and in different orders. [`World::free`] frees at once, collectively.
//!
//! # PE numbers
//!
//! Operations on a [`World`] take the numbers `0..world.n_pes()`; those of a team or of a context made from
//! one ([`Team::context`]) take the team's.

mod atomic;
mod builder;
mod coll;
mod context;
mod data;
mod device;
mod engine;
mod error;
mod kernel;
mod lock;
mod memory;
mod peer;
mod run;
mod scope;
mod signal;
mod source;
mod symmetric;
mod team;
mod wait;
mod world;

pub use builder::Builder;
pub use bytemuck;
pub use coll::{And, Max, Min, Or, Prod, Reduction, Sum, Xor};
pub use context::{Context, OwnedContext};
pub use data::Data;
pub use device::DeviceArray;
pub use dushmem_core::amo::{Amo, AmoInt};
pub use dushmem_core::env::TransportKind;
pub use dushmem_core::error::Error as Cause;
pub use dushmem_core::heap::ops::HeapUsage;
pub use dushmem_core::signal::SignalOp;
pub use dushmem_core::until::{Cmp, WaitInt};
pub use error::{Error, Result};
pub use kernel::{Dim3, ThreadCtx};
pub use lock::Lock;
pub use memory::{SymCell, SymSlice};
pub use peer::PeerSlice;
pub use run::{run, with_world};
pub use scope::Scope;
pub use source::Source;
pub use symmetric::{Shape, Symmetric};
pub use team::Team;
pub use wait::{Values, WaitSet};
pub use world::World;

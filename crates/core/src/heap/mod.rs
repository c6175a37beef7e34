//! The symmetric heap: the allocator, and the collective calls that use it.
pub mod alloc;
mod arena;
pub mod ops;
pub mod reclaim;

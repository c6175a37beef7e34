//! Kernels on the CPU: devices, memory, streams, events, grids, blocks and fibers.
//!
//! The C++ headers under `include/dushmem/emu` turn CUDA and HIP programs into calls of [`abi`]. Rust
//! programs launch closures through [`closure`]. No name of either vendor is exported from here.
//!
//! | module | holds |
//! |---|---|
//! | [`error`] | the codes that runtime calls return, their names, each thread's last error |
//! | [`device`] | the emulated devices, the calling thread's current one, their limits |
//! | [`memory`] | tracked allocations, so that bad pointers are found; copies and fills |
//! | [`stream`] | one worker thread a stream, its queue, what it waits for |
//! | [`event`] | points in a stream, with their time |
//! | [`graph`] | operations with their dependencies: capture, graphs, their launches |
//! | `urgent` | launches of higher priority begin first |
//! | [`occupancy`] | how many blocks are resident at once |
//! | [`grid`] | launches: their limits, which OS thread runs which block |
//! | [`block`] | the threads of one block as fibers on one OS thread |
//! | [`fiber`] | stacks, and the switch from one to another |
//! | [`random`] | orders that a seed repeats |
//! | [`called`] | under which names GPU threads call the library; calls that only a part of a block or warp makes |
//! | [`board`] | what an OS thread shows to the watch |
//! | [`watch`] | blocks that make no progress |
//! | [`warp`] | operations of warps: who waits for whom |
//! | [`fault`] | kernels that fail: traps, assertions, signals |
//! | [`on_stream`] | the emulator as a device of the engine: its operations in stream order |
//! | [`kernel`] | what kernels know of their PE, and ask of the library |
//! | [`proxy`] | who makes the calls of kernels that can't reach a PE |
//! | `os_block` | the threads of a block, each with an OS thread of its own |
//! | [`closure`] | launches of Rust closures |
//! | [`abi`] | the C functions that the headers call |

pub mod abi;
pub mod block;
pub mod board;
pub mod called;
pub mod closure;
pub mod device;
pub mod error;
pub mod event;
pub mod fault;
pub mod fiber;
mod fork;
pub mod graph;
pub mod grid;
mod grid_barrier;
mod helpers;
pub mod kernel;
pub mod memory;
pub mod occupancy;
pub mod on_stream;
mod os_block;
pub mod proxy;
pub mod random;
pub mod stream;
mod urgent;
pub mod warp;
pub mod watch;

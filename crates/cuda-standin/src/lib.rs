//! The CUDA driver API on the CPU, for tests on machines without a GPU. Built as a shared library, it takes the place of
//! `libcuda.so.1`: set `DUSHMEM_CUDA_LIBRARY` to [`path`]. It is never installed.
//!
//! What it does is real: streams are threads, device memory is memory files that other processes map by descriptor or
//! IPC handle, a wait blocks its stream and nothing else, a graph is replayed. Kernels are Rust models, found by name
//! (`models`). Device memory can't be touched by the program, as on a GPU: its addresses are reserved and inaccessible,
//! and the stand-in works on a second mapping. New memory holds junk. Calls check handles, ranges, alignment and capture,
//! and return what the driver returns.
//!
//! | variable | meaning |
//! |---|---|
//! | `CUDA_STANDIN_DEVICES` | number of devices, 1 |
//! | `CUDA_STANDIN_MEMORY` | bytes of each (K, M, G), 16G |
//! | `CUDA_STANDIN_SMS` | multiprocessors, 132 |
//! | `CUDA_STANDIN_CAPABILITY` | compute capability, 9.0 |
//! | `CUDA_STANDIN_VERSION` | version of the driver, 13000 |
//! | `CUDA_STANDIN_MPS` | 1: the device says that MPS is on |
//! | `CUDA_STANDIN_NO_PEERS` | pairs of devices that don't reach each other's memory, as `0-1,2-3` by their numbers on the machine; all: none does |
//! | `CUDA_STANDIN_NO_PEER_ATOMICS` | the same of pairs without atomic operations on each other's memory |
//! | `CUDA_STANDIN_FLUSHES` | 1: streams can flush what other devices have written when they have waited |
//! | `CUDA_STANDIN_NO_VMM` | 1: no virtual memory management |
//! | `CUDA_STANDIN_NO_HINTS` | 1: address hints are not honoured |
//! | `CUDA_STANDIN_HOST_ACCESS` | 1: the program may touch device memory |
//! | `CUDA_STANDIN_HOST_ATOMICS` | 1: the device says that its atomic operations on memory of the host are atomic for the CPU |
//! | `CUDA_STANDIN_MISSING` | functions, by comma, that cuGetProcAddress does not find; called all the same, they give NOT_FOUND |
//! | `CUDA_STANDIN_FAIL` | failures: `cuMemCreate:3=2` the third call gives 2, `cuMemCreate:3+=2` all from the third on; by comma; `*` is any call |
//! | `CUDA_STANDIN_CONNECTIONS` | 1: streams share as many connections as `CUDA_DEVICE_MAX_CONNECTIONS` says (8), in order, so that one that waits for a value holds others up |
//! | `CUDA_STANDIN_ROOM` | how much a stream takes that isn't done; who has more for it waits, and the context's other threads wait for that one |
//! | `CUDA_STANDIN_NO_SPIN` | 1: a kernel that waits for other PEs is a fault, as where processes take turns it costs too much |
//! | `CUDA_STANDIN_TRACE` | 1: each call on standard error; errors: only those that fail |
//!
//! Further functions for tests, to be found by `dlsym`: `standin_fail(const char *)` as the variable above,
//! `standin_calls(const char *name)` counts calls, `standin_live(const char *kind)` counts objects that were not given
//! back ("memory", "mappings", "streams", "events", "modules", "graphs", "host"), `standin_reach(address)` gives where the
//! program may touch a byte of device memory, `standin_is_registered(address)` whether it is registered memory of the program's.
#![allow(non_snake_case, reason = "the driver's names")]

#[macro_use]
mod call;
mod api;
mod capture;
mod code;
mod connection;
mod context;
mod event;
mod handles;
mod knobs;
mod memory;
mod models;
mod module;
mod peers;
mod pinned;
mod reach;
mod stream;
mod work;

use std::path::PathBuf;

/// The shared library, which cargo builds beside a test that depends on this crate.
///
/// # Panics
/// If it is not there.
pub fn path() -> PathBuf {
    let test = std::env::current_exe().expect("/proc is mounted");
    let name = "libcuda_standin.so";
    let found = test.ancestors().skip(1).take(2).map(|dir| dir.join(name)).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("{name} is not built beside {}", test.display()))
}

/// PTX of kernels that only the stand-in knows: a wait, a delay, a store, a fault, operations on other PEs; and a module's
/// state.
pub const TEST_PTX: &str = include_str!("test.ptx");

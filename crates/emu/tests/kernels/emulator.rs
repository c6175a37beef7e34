//! The emulator's C functions as a shared library: what the C++ kernels of the tests link with.
pub use dushmem_emu::abi::*;

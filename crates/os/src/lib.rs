//! System calls, and nothing else: every `unsafe` call into the kernel or the C library that dushmem
//! makes stands in this crate. It knows no PE, no heap and no team.
//!
//! | module | holds |
//! |---|---|
//! | [`memory`] | memfd, mappings, huge pages, hole punching |
//! | [`futex`] | sleeping on a word that processes share, and waking |
//! | [`cpu`] | how many CPUs this process may use; binding; yielding |
//! | [`clock`] | a monotonic clock, and the time-stamp counter |
//! | [`crash`] | a last word of a thread that a signal is about to end |
//! | [`fault`] | fork handlers, and what tells a process that it is a forked child |
//! | [`interrupt`] | being told to end, in an order that leaves time to clean up |
//! | [`library`] | libraries that are loaded at run time |
//! | [`machine`] | how much memory there is; which addresses belong to loaded objects |
//! | [`image`] | the writable segments of the running executable |
//! | [`reason`] | a system error in words for users |
//! | [`process`] | starting processes, reaping them, ending with the launcher |
//! | [`rendezvous`] | sockets of the abstract namespace; descriptors that travel; who is at the other end |
//! | [`say`] | lines on standard error, each in one piece |
//! | [`signal`] | names, sending, receiving through a descriptor |
//! | [`socket`] | control sockets, pipes, polling |
//! | [`stack`] | memory for stacks, with guard pages |
//! | [`symbols`] | which object a symbol comes from; the host's name |

pub mod clock;
pub mod cpu;
pub mod crash;
pub mod fault;
pub mod futex;
pub mod image;
pub mod interrupt;
pub mod library;
pub mod machine;
pub mod memory;
pub mod process;
pub mod reason;
pub mod rendezvous;
pub mod say;
pub mod signal;
pub mod socket;
pub mod stack;
pub mod symbols;

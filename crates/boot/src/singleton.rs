//! A job of one PE, without a launcher.
use crate::error::BootError;
use crate::node::{Node, new_memory};
use dushmem_core::bootstrap::Bootstrap;
use dushmem_core::job::{JobPage, PeState};
use dushmem_os::process;
use std::os::fd::BorrowedFd;

/// PE 0 of 1.
#[derive(Debug)]
pub struct Singleton(Node);

impl Singleton {
    /// A new job of one PE, with memory of its own.
    pub fn new() -> Result<Singleton, BootError> {
        Ok(Singleton(Node::new(new_memory(1)?, 0, 1)?))
    }
}

impl Bootstrap for Singleton {
    fn place(&self) -> (usize, usize) {
        self.0.place()
    }

    fn node_memory(&self) -> (BorrowedFd<'_>, &JobPage) {
        self.0.memory()
    }

    fn allgather(&self, mine: &[u8]) -> Vec<Vec<u8>> {
        self.0.allgather(mine)
    }

    fn barrier(&self) {
        self.0.barrier();
    }

    fn report(&self, state: PeState) {
        self.0.set_state(state);
    }

    fn abort(&self, code: i32, message: &str) -> ! {
        end_process(code, message)
    }
}

/// Prints the message, writes out what is buffered, and ends the process without exit handlers, which
/// might communicate.
pub(crate) fn end_process(code: i32, message: &str) -> ! {
    if !message.is_empty() {
        eprintln!("{message}");
    }
    let _ = std::io::Write::flush(&mut std::io::stdout());
    process::flush_stdio();
    process::exit_now(code)
}

//! PEs as threads of one process.
use crate::error::BootError;
use crate::launch::MAX_PES;
use crate::node::{Node, new_memory};
use crate::singleton::end_process;
use dushmem_core::bootstrap::Bootstrap;
use dushmem_core::job::{JobPage, PeState};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// One PE of a job whose PEs are threads. Each maps the job's memory for itself, as a process would.
#[derive(Debug)]
pub struct ThreadPe(Node);

/// A new job of `pes` PEs: one bootstrap for each thread, in the order of the PEs.
pub fn job(pes: usize) -> Result<Vec<Arc<dyn Bootstrap>>, BootError> {
    if !(1..=MAX_PES).contains(&pes) {
        return Err(BootError::BadCount(pes));
    }
    let memory = new_memory(pes)?;
    let one = |me| -> Result<Arc<dyn Bootstrap>, BootError> {
        let own =
            memory.try_clone().map_err(|why| BootError::System { what: "duplicate a descriptor", why })?;
        Ok(Arc::new(ThreadPe(Node::new(own, me, pes)?)))
    };
    (0..pes).map(one).collect()
}

impl Bootstrap for ThreadPe {
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

    /// Ends the process, and with it all PEs.
    fn abort(&self, code: i32, message: &str) -> ! {
        end_process(code, message)
    }
}

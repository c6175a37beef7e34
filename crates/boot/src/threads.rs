//! PEs as threads of one process.
use crate::error::BootError;
use crate::launch::MAX_PES;
use crate::node::{Local, new_memory};
use dushmem_core::bootstrap::Bootstrap;
use std::sync::Arc;

/// A new job of `pes` PEs: one bootstrap for each thread, in the order of the PEs. Each maps the job's memory
/// for itself, as a process would.
pub fn job(pes: usize) -> Result<Vec<Arc<dyn Bootstrap>>, BootError> {
    if !(1..=MAX_PES).contains(&pes) {
        return Err(BootError::BadCount(pes));
    }
    let memory = new_memory(pes)?;
    let one = |me| -> Result<Arc<dyn Bootstrap>, BootError> {
        let own =
            memory.try_clone().map_err(|why| BootError::System { what: "duplicate a descriptor", why })?;
        Ok(Arc::new(Local::new(own, me, pes)?))
    };
    (0..pes).map(one).collect()
}

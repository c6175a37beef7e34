//! A job of one PE, without a launcher.
use crate::error::BootError;
use crate::node::{Local, new_memory};
use dushmem_core::bootstrap::Bootstrap;
use std::sync::Arc;

/// A new job: PE 0 of 1, with memory of its own.
pub fn job() -> Result<Arc<dyn Bootstrap>, BootError> {
    Ok(Arc::new(Local::alone(new_memory(1)?)?))
}

//! The symmetric heap in a device's memory, and what the host does with it.
pub mod driver;

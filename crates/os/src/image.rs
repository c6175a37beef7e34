//! The running executable.

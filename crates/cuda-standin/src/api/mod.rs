//! The functions, by subject.
mod allocate;
mod copy;
mod device;
mod event;
mod graph;
mod host;
mod launch;
mod memop;
mod proc;
mod stream;
mod vmm;

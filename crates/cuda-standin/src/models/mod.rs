//! Kernels, as Rust functions that do what the kernel of that name does. A model runs as one piece: its blocks and threads
//! are a loop.
mod call;
mod collective;
mod element;
mod half;
mod single;
mod state;
mod test;

pub use call::{Call, Model, find};

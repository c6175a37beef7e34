//! `dushbench gpu`: dushmem beside NVSHMEM on one GPU, one source built for each library and run in turn.
mod build;
mod command;
mod measure;
mod mps;
mod page;
mod picture;
mod rows;
mod stages;

pub use command::main;

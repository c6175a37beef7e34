//! Runs a body on worlds of several sizes, on both transports.
#![allow(dead_code, reason = "each test uses a part of this")]
use dushmem::{Builder, Result, TransportKind, World};

/// Numbers of PEs that every body runs with.
pub const PES: [usize; 6] = [1, 2, 3, 4, 7, 8];

/// Settings of a test: a heap that is large enough for all of them.
pub fn builder(kind: TransportKind, seed: u64) -> Builder {
    Builder::new().heap_size(64 << 20).transport(kind).loopback_seed(seed)
}

/// Runs `body` with each number of PEs, and on the loopback with several seeds.
pub fn everywhere(kind: TransportKind, body: fn(&World) -> Result<()>) {
    let seeds = if kind == TransportKind::Loopback { 1..4 } else { 1..2 };
    for pes in PES {
        for seed in seeds.clone() {
            let run = builder(kind, seed).run(pes, body);
            run.unwrap_or_else(|error| panic!("{pes} PEs, {kind:?}, seed {seed}: {error}"));
        }
    }
}

/// Numbers that look random and are the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n
    }
}

/// One test of each body on each transport.
#[macro_export]
macro_rules! suite {
    ($($body:ident),* $(,)?) => {
        mod shm {
            $(#[test] fn $body() { $crate::common::everywhere(dushmem::TransportKind::Shm, super::$body) })*
        }
        mod loopback {
            $(#[test] fn $body() { $crate::common::everywhere(dushmem::TransportKind::Loopback, super::$body) })*
        }
    };
}

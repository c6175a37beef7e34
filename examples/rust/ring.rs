//! A ring: every PE writes its number into its right neighbour's memory.
//!
//!   cargo build --release -p dushmem --example ring
//!   dushrun -n 8 target/release/examples/ring
//!   target/release/examples/ring --threads 8     (PEs that are threads of one process)
use dushmem::{Result, World};

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => dushmem::with_world(ring),
        ["--threads", n] => dushmem::run(n.parse().map_err(dushmem::Error::other)?, ring).map(drop),
        _ => Err(dushmem::Error::other("usage: ring [--threads N]")),
    }
}

fn ring(world: &World) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let inbox = world.alloc(usize::MAX)?;
    world.p(&inbox, me, (me + 1) % n)?;
    // Everybody's number has arrived.
    world.barrier()?;
    println!("PE {me}: received {}, expected {}", inbox.load(), (me + n - 1) % n);
    Ok(())
}

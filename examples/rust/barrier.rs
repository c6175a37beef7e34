//! Barrier: afterwards everything that anybody has put is there, and everybody may read it.
//!
//! Each PE writes one element into every PE's array; after the barrier each adds up its own.
//!
//!   cargo build --release -p dushmem --example barrier
//!   dushrun -n 4 target/release/examples/barrier
use dushmem::Result;

fn main() -> Result<()> {
    dushmem::with_world(|world| {
        let (me, n) = (world.my_pe(), world.n_pes());
        let row = world.alloc_zeroed::<u64>(n)?;
        for round in 1..=3 {
            for pe in 0..n {
                world.p(&row[me], (round * 100 + me) as u64, pe)?;
            }
            world.barrier()?;
            let sum: u64 = row.iter().map(|cell| cell.load()).sum();
            println!("PE {me}: round {round}, the sum is {sum}");
            // Nobody may write the next round's values before all have read this one's.
            world.sync()?;
        }
        Ok(())
    })
}

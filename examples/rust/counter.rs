//! A distributed counter: PEs take numbered pieces of work from one counter, so that fast ones take more,
//! and add their results to another.
//!
//!   cargo build --release -p dushmem --example counter
//!   dushrun -n 4 target/release/examples/counter
use dushmem::Result;

const LIMIT: u64 = 200_000;
const PIECE: u64 = 1_000;

fn main() -> Result<()> {
    dushmem::with_world(|world| {
        let me = world.my_pe();
        // Every PE has these counters; the ones on PE 0 are used.
        let (next, primes, pieces) = (world.alloc(0u64)?, world.alloc(0u64)?, world.alloc(0u32)?);
        let mut mine = 0;
        loop {
            let from = world.atomic_fetch_add(&next, PIECE, 0)?;
            if from >= LIMIT {
                break;
            }
            let found = (from..from + PIECE).filter(|&n| is_prime(n)).count() as u64;
            world.atomic_add(&primes, found, 0)?;
            world.atomic_inc(&pieces, 0)?;
            mine += 1;
        }
        // Additions that return nothing have been performed after a barrier.
        world.barrier()?;
        let taken = world.alloc(mine)?;
        world.reduce(taken.as_slice(), taken.as_slice(), dushmem::Sum)?;
        if me == 0 {
            println!("{} primes below {LIMIT}", primes.load());
            println!("{} pieces of work done, {} taken", pieces.load(), taken.load());
        }
        Ok(())
    })
}

fn is_prime(n: u64) -> bool {
    n >= 2 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

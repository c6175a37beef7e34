//! Fence and quiet: what orders, and what completes.
//!
//! PE 0 sends ten messages to the last PE, each an array and then a flag. The fence between the two keeps
//! the flag from overtaking the array; it completes nothing. What the last PE has received is known to
//! PE 0 after a quiet only.
//!
//!   cargo build --release -p dushmem --example fence
//!   dushrun -n 2 target/release/examples/fence
use dushmem::{Cmp, Result};

fn main() -> Result<()> {
    dushmem::with_world(|world| {
        let (me, last) = (world.my_pe(), world.n_pes() - 1);
        let message = world.alloc_zeroed::<f32>(512)?;
        let (sent, read) = (world.alloc(0u64)?, world.alloc(0u64)?);
        for round in 1..=10 {
            if me == 0 {
                world.put(&message, &[round as f32; 512], last)?;
                world.fence()?;
                world.atomic_set(&sent, round, last)?;
            }
            if me == last {
                world.wait_until(&sent, Cmp::Ge, round)?;
                assert_eq!(message.to_vec(), [round as f32; 512]);
                world.atomic_set(&read, round, 0)?;
            }
            if me == 0 {
                // The array may be overwritten when it has been read.
                world.wait_until(&read, Cmp::Ge, round)?;
            }
        }
        if me == 0 {
            world.put(&message, &[0.25; 512], last)?;
            world.quiet()?;
            println!("PE 0: after the quiet, PE {last} has {}", world.g(&message[511], last)?);
        }
        world.barrier()?;
        if me == last {
            println!("PE {me}: {} messages, none of them torn", sent.load());
        }
        Ok(())
    })
}

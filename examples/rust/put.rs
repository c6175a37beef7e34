//! Put: PE 0 sends an array of floats to the last PE.
//!
//! All PEs allocate together, each its own copy. The put returns when the source may be changed again;
//! that the data has arrived the last PE knows from the barrier.
//!
//!   cargo build --release -p dushmem --example put
//!   dushrun -n 2 target/release/examples/put
use dushmem::Result;

fn main() -> Result<()> {
    dushmem::with_world(|world| {
        let (me, last) = (world.my_pe(), world.n_pes() - 1);
        let dest = world.alloc_zeroed::<f32>(1024)?;
        if me == 0 {
            let mut source: Vec<f32> = (0..1024).map(|i| i as f32).collect();
            world.put(&dest, &source, last)?;
            source.fill(-1.0);
        }
        world.barrier()?;
        if me == last {
            let sum: f32 = dest.to_vec().iter().sum();
            println!("PE {me}: dest[1023] is {}, the sum is {sum}", dest[1023].load());
        }
        Ok(())
    })
}

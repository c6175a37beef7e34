//! Get: every PE fetches its right neighbour's array, half of it while it does something else.
//!
//! A get has its data when it returns. One in a scope has it at the scope's end, and the compiler sees to
//! it that nobody looks before.
//!
//!   cargo build --release -p dushmem --example get
//!   dushrun -n 4 target/release/examples/get
use dushmem::Result;

fn main() -> Result<()> {
    dushmem::with_world(|world| {
        let (me, right) = (world.my_pe(), (world.my_pe() + 1) % world.n_pes());
        // Nobody returns from this before all have stored their values, so they can be fetched at once.
        let values = world.alloc_from(&[me as f32 + 0.5; 1000])?;
        let mut copy = [0.0; 1000];
        let (now, later) = copy.split_at_mut(500);
        let sum: f32 = world.scope(|s| {
            s.get(later, &values[500..], right)?;
            world.get(now, &values[..500], right)?;
            Ok(now.iter().sum())
        })?;
        let sum = sum + later.iter().sum::<f32>();
        println!("PE {me}: fetched {} from PE {right}, the sum is {sum}", copy[999]);
        // The neighbour must not leave before everybody has fetched; dropping and leaving see to that.
        Ok(())
    })
}

// Bitwise reductions are for integers.
fn main() -> dushmem::Result<()> {
    dushmem::with_world(|world| {
        let x = world.alloc_zeroed::<f64>(4)?;
        world.reduce(&x, &x, dushmem::Max)?;
        world.reduce(&x, &x, dushmem::Xor)
    })
}

// Symmetric memory is used after finalize.
fn main() -> dushmem::Result<()> {
    let world = dushmem::World::init()?;
    let x = world.alloc(1u64)?;
    world.finalize()?;
    println!("{}", x.load());
    Ok(())
}

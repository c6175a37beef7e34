// The world is used after finalize.
fn main() -> dushmem::Result<()> {
    let world = dushmem::World::init()?;
    world.finalize()?;
    world.barrier()
}

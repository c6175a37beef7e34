// Floats have fetch, set and swap; there are no atomics of bytes.
fn main() -> dushmem::Result<()> {
    dushmem::with_world(|world| {
        let (float, byte) = (world.alloc(1.0f32)?, world.alloc(1u8)?);
        world.atomic_swap(&float, 2.0, 0)?;
        world.atomic_add(&float, 1.0, 0)?;
        world.atomic_swap(&byte, 2, 0)?;
        Ok(())
    })
}

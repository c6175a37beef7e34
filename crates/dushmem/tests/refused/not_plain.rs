// Values that mean something in one process only, or that not all bytes are a value of.
fn main() -> dushmem::Result<()> {
    dushmem::with_world(|world| {
        world.alloc(String::from("text"))?;
        world.alloc(&1u64)?;
        world.alloc_filled(4, true)?;
        world.alloc(Some(1u8))?;
        Ok(())
    })
}

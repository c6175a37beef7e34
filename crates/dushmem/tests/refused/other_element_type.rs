// Source and destination have elements of different types.
fn main() -> dushmem::Result<()> {
    dushmem::with_world(|world| {
        let x = world.alloc_zeroed::<u64>(4)?;
        world.put(&x, &[1u32; 4], 0)
    })
}

// Symmetric memory is dropped while a put into it is under way.
fn main() -> dushmem::Result<()> {
    dushmem::with_world(|world| {
        let x = world.alloc_zeroed::<u32>(4)?;
        let source = [1; 4];
        world.scope(|s| {
            s.put(&x, &source, 0)?;
            drop(x);
            Ok(())
        })
    })
}

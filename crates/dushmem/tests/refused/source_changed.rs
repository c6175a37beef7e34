// The source of a put is changed while it is in use.
fn main() -> dushmem::Result<()> {
    dushmem::with_world(|world| {
        let x = world.alloc_zeroed::<u32>(4)?;
        let mut source = [1; 4];
        world.scope(|s| {
            s.put(&x, &source, 0)?;
            source[0] = 2;
            Ok(())
        })
    })
}

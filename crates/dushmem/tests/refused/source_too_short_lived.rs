// The source of a put is gone before the scope has completed it.
fn main() -> dushmem::Result<()> {
    dushmem::with_world(|world| {
        let x = world.alloc_zeroed::<u32>(4)?;
        world.scope(|s| {
            let source = [1; 4];
            s.put(&x, &source, 0)
        })
    })
}

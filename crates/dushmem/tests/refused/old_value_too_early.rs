// The old value of a fetching atomic is read before the scope has completed it.
fn main() -> dushmem::Result<()> {
    dushmem::with_world(|world| {
        let x = world.alloc(0u64)?;
        let mut old = 0;
        world.scope(|s| {
            s.atomic_fetch_add(&mut old, &x, 1, 0)?;
            Ok(old)
        })?;
        Ok(())
    })
}

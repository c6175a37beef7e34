// A scope is used after its end.
fn main() -> dushmem::Result<()> {
    dushmem::with_world(|world| {
        let x = world.alloc_zeroed::<u32>(4)?;
        let source = [1; 4];
        let scope = world.scope(|s| Ok(s))?;
        scope.put(&x, &source, 0)
    })
}

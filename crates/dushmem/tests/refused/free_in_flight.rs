// Symmetric memory is freed while a get from it is under way.
fn main() -> dushmem::Result<()> {
    dushmem::with_world(|world| {
        let x = world.alloc_zeroed::<u32>(4)?;
        let mut dest = [1; 4];
        world.scope(|s| {
            s.get(&mut dest, &x, 0)?;
            world.free(x)
        })
    })
}

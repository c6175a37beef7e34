// The destination of a get is read before the scope has completed it.
fn main() -> dushmem::Result<()> {
    dushmem::with_world(|world| {
        let x = world.alloc_zeroed::<u32>(4)?;
        let mut dest = [1; 4];
        world.scope(|s| {
            s.get(&mut dest, &x, 0)?;
            println!("{}", dest[0]);
            Ok(())
        })
    })
}

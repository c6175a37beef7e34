// Two gets under way write to the same buffer.
fn main() -> dushmem::Result<()> {
    dushmem::with_world(|world| {
        let x = world.alloc_zeroed::<u32>(4)?;
        let mut dest = [1; 4];
        world.scope(|s| {
            s.get(&mut dest, &x, 0)?;
            s.get(&mut dest, &x, 1)
        })
    })
}

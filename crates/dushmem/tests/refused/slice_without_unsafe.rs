// A slice of memory that peers may write to.
fn main() -> dushmem::Result<()> {
    dushmem::with_world(|world| {
        let x = world.alloc_zeroed::<u64>(4)?;
        println!("{:?}", x.as_slice());
        Ok(())
    })
}

// The destination of a put is local memory.
fn main() -> dushmem::Result<()> {
    dushmem::with_world(|world| {
        let dest = [0u32; 4];
        world.put(&dest, &[1, 2, 3, 4], 0)
    })
}

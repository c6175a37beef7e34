// Two threads of a PE could be in one collective.
fn main() -> dushmem::Result<()> {
    dushmem::with_world(|world| {
        std::thread::scope(|threads| {
            threads.spawn(|| world.barrier());
        });
        Ok(())
    })
}

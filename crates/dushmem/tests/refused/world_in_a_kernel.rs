// A kernel calls a collective.
fn main() -> dushmem::Result<()> {
    dushmem::with_world(|world| world.scope(|s| s.launch(1, 1, 0, |_| world.barrier().unwrap())))
}

// A kernel uses what is gone before the scope has waited for it.
fn main() -> dushmem::Result<()> {
    dushmem::with_world(|world| {
        world.scope(|s| {
            let numbers = vec![1, 2, 3];
            s.launch(1, 3, 0, |t| println!("{}", numbers[t.global_x()]))
        })
    })
}

// Symmetric memory is carried out of the body that its world is lent to.
fn main() -> dushmem::Result<()> {
    let memory = dushmem::run(2, |world| world.alloc(1u64))?;
    println!("{}", memory[0].load());
    Ok(())
}

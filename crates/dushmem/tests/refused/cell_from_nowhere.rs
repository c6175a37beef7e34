// Symmetric elements come from allocations only.
fn main() {
    let cell = dushmem::SymCell::new(1u64);
    let other: dushmem::SymCell<u64> = Default::default();
    println!("{cell:?} {other:?}");
}

//! pe
fn main() {}

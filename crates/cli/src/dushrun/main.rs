//! dushrun
fn main() {}

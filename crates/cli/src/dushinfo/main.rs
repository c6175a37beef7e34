//! dushinfo: what this machine and this environment mean to dushmem.

fn main() {
    println!("dushmem {}", env!("CARGO_PKG_VERSION"));
    println!("CPUs usable: {}", dushmem_os::cpu::usable_cpus());
}

//! Compiles the functions that only C can write, and names the shared library.

fn main() {
    println!("cargo::rerun-if-changed=c/longdouble.c");
    cc::Build::new()
        .file("c/longdouble.c")
        .flag("-std=c11")
        .flag("-fvisibility=hidden")
        .warnings(true)
        .extra_warnings(true)
        .compile("dushmem_longdouble");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libdushmem.so.0");
}

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
    // The public names jump to the library's own functions, whoever else defines those.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,start-stop-visibility=hidden");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libdushmem.so.0");
}

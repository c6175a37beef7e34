//! Each public header compiles alone, and all together, in every supported language version.
mod common;
use dushmem_testkit::folder::Folder;
use std::process::Command;

/// Compiles the including of `headers` without a warning.
fn compiles(folder: &Folder, compiler: &str, standard: &str, headers: &[&str]) {
    let language = if compiler.contains("++") { "c++" } else { "c" };
    let file = folder.join(format!("{}-{}.{language}", standard, headers.concat().replace('/', "-")));
    let mut text: String = headers.iter().map(|header| format!("#include <{header}>\n")).collect();
    // <complex.h> would have defined it.
    text += "#ifdef I\n#error the header defines I\n#endif\nint main(void) { return 0; }\n";
    std::fs::write(&file, text).expect("writing a source file");
    common::succeed(
        Command::new(compiler)
            .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-x", language])
            .arg(format!("-std={standard}"))
            .arg("-I")
            .arg(common::include())
            .arg(&file),
    );
}

fn matrix(compiler: &str, standard: &str) {
    if !common::available(compiler) {
        return;
    }
    let folder = Folder::new(&format!("headers-{compiler}-{standard}"));
    // The x headers begin with the plain ones.
    for header in ["dushmemx.h", "nvshmemx.h", "shmemx.h"] {
        compiles(&folder, compiler, standard, &[header]);
    }
    compiles(&folder, compiler, standard, &["mpp/shmem.h", "nvshmem.h", "dushmem.h", "mpp/shmemx.h"]);
}

macro_rules! matrix {
    ($($test:ident $compiler:literal $standard:literal;)*) => {$(
        #[test]
        fn $test() {
            matrix($compiler, $standard);
        }
    )*};
}
matrix! {
    gcc_c99 "gcc" "c99";
    gcc_c11 "gcc" "c11";
    gcc_c17 "gcc" "c17";
    gcc_cxx11 "g++" "c++11";
    gcc_cxx17 "g++" "c++17";
    gcc_cxx20 "g++" "c++20";
    clang_c99 "clang" "c99";
    clang_c11 "clang" "c11";
    clang_c17 "clang" "c17";
    clang_cxx11 "clang++" "c++11";
    clang_cxx17 "clang++" "c++17";
    clang_cxx20 "clang++" "c++20";
}

/// In a device compiler the names that kernels may call are left to the device headers, which reach the
/// library through the aliases.
#[test]
fn device_compilers_find_aliases() {
    let folder = Folder::new("alias");
    let file = folder.join("alias.cc");
    // What the device header will do, here without a device compiler.
    let text = "#include <dushmem/impl/host_common.h>\n\
                #undef DUSHMEM_IMPL_DEVICE_COMPILER\n#define DUSHMEM_IMPL_DEVICE_COMPILER 1\n\
                #include <dushmemx.h>\n#include <nvshmemx.h>\n#include <dushmem/gen/host_alias.h>\n\
                inline void dushmem_int_p(int *dest, int value, int pe) { dushmem_host_int_p(dest, value, pe); }\n\
                inline int nvshmem_my_pe() { return nvshmem_host_my_pe(); }\n\
                int main() { dushmem_init(); int *x = static_cast<int *>(dushmem_malloc(4));\n\
                dushmem_int_p(x, nvshmem_my_pe() + 7, 0); int y = *x; dushmem_finalize(); return y - 7; }\n";
    std::fs::write(&file, text).expect("writing a source file");
    let soname = folder.join("libdushmem.so.0");
    let _ = std::os::unix::fs::symlink(common::library(), &soname);
    let out = folder.join("alias");
    common::succeed(
        Command::new("g++")
            .args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-I"])
            .arg(common::include())
            .arg(&file)
            .arg(&soname)
            .args(["-Wl,-rpath,$ORIGIN", "-o"])
            .arg(&out),
    );
    common::succeed(&mut common::alone(&out));
}

//! C and C++ programs against the built library, as one PE.
mod common;
use dushmem_testkit::folder::Folder;
use std::process::Command;

fn passes(name: &str, compiler: &str, flags: &[&str]) {
    if !common::available(compiler) {
        return;
    }
    let folder = Folder::new(&format!("{name}-{compiler}{}", flags.concat().replace('=', "")));
    let program = common::program(&folder, compiler, flags, name);
    let output = common::succeed(&mut common::alone(&program));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "as it should be\n");
}

macro_rules! programs {
    ($($test:ident $name:literal $compiler:literal $flags:expr;)*) => {$(
        #[test]
        fn $test() {
            passes($name, $compiler, &$flags);
        }
    )*};
}
programs! {
    generic_names_in_c11 "generic" "gcc" ["-std=c11", "-O1"];
    generic_names_in_c17_out_of_line "generic" "clang" ["-std=c17", "-DDUSHMEM_NO_INLINE"];
    overloads_in_cxx11 "generic" "g++" ["-std=c++11"];
    overloads_in_cxx17_clang "generic" "clang++" ["-std=c++17"];
    typed_names_in_c99 "families" "gcc" ["-std=c99"];
    typed_names_optimised "families" "gcc" ["-std=c11", "-O1"];
    typed_names_out_of_line "families" "gcc" ["-std=c11", "-DDUSHMEM_NO_INLINE"];
    typed_names_in_cxx17 "families" "clang++" ["-std=c++17", "-O1"];
}

/// Each mistake gives one line that names the call, the argument and its value, and a code that is not 0.
#[test]
fn mistakes_are_named() {
    let folder = Folder::new("mistakes");
    let program = common::program(&folder, "gcc", &["-std=c11"], "mistakes");
    let cases: [(&str, &str, i32); 17] = [
        ("before-init", "dushmem_int_p: not initialised: call dushmem_init first", 101),
        ("my-pe-before-init", "nvshmem_my_pe: not initialised: call nvshmem_init first", 101),
        ("malloc-before-init", "shmem_malloc: not initialised: call shmem_init first", 101),
        ("pe", "shmem_int_put: pe = 9: there is no such PE", 1),
        ("negative-pe", "nvshmem_int_p: pe = -1: there is no such PE", 1),
        ("address", "dushmem_int_atomic_add: dest = 0x", 4),
        ("null", "shmem_int_get: dest is NULL", 1),
        ("context", "shmem_ctx_int_put: ctx = 0x0: not a context, or one that was destroyed", 1),
        ("default-context", "shmem_ctx_destroy: ctx = 0x1: the default context", 1),
        ("comparison", "shmem_int_wait_until: cmp = 17:", 1),
        ("signal-operator", "shmem_putmem_signal: sig_op = 0:", 1),
        ("stride", "shmem_int_iput: dst = 0:", 1),
        ("misaligned", "shmem_long_atomic_inc: dest = 0x", 1),
        ("team", "shmem_int_sum_reduce: team = 77:", 1),
        ("twice-finalized", "shmem_finalize: called after the last shmem_finalize", 101),
        ("full", "shmem_malloc: the symmetric heap of 4194304 bytes has no room for 4294967296 bytes", 42),
        ("exit", "", 7),
    ];
    for (mistake, line, code) in cases {
        let output = common::alone(&program).arg(mistake).output().expect("running the program");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{mistake}: {}\n{text}", output.status);
        assert_eq!(text.lines().count(), usize::from(!line.is_empty()), "{mistake}: not one line:\n{text}");
        assert!(text.contains(line), "{mistake}: {line:?} is not in\n{text}");
        assert!(output.stdout.is_empty(), "{mistake}: {}", String::from_utf8_lossy(&output.stdout));
    }
}

/// A function that somebody puts in front of the library's sees every call, inline forms or not.
#[test]
fn a_tool_in_front_sees_inlined_calls() {
    let folder = Folder::new("tool");
    let program = common::program(&folder, "gcc", &["-std=c11", "-O2"], "counted");
    let tool = folder.join("tool.so");
    common::succeed(
        Command::new("gcc").args(["-shared", "-fPIC", "-o"]).arg(&tool).arg(common::source("tool.c")),
    );
    let plain = common::succeed(&mut common::alone(&program));
    assert_eq!(String::from_utf8_lossy(&plain.stdout), "5\n");
    let watched = common::succeed(common::alone(&program).env("LD_PRELOAD", &tool));
    assert_eq!(String::from_utf8_lossy(&watched.stdout), "1005\n", "the tool adds 1000 to what is put");
}

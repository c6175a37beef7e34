//! Compilers, and programs that they make with the built library.
#![allow(dead_code, reason = "each test file uses some of it")]
use dushmem_testkit::folder::Folder;
use dushmem_testkit::tools;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The workspace's `include/`.
pub fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include")
}

/// A source file of these tests.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name)
}

/// The shared library that cargo built together with this test.
pub fn library() -> PathBuf {
    tools::library("dushmem_capi")
}

/// True if the compiler can be run; gcc must be there.
pub fn available(compiler: &str) -> bool {
    let there = tools::installed(compiler);
    assert!(there || !compiler.starts_with('g'), "{compiler} is needed for the tests of the C interface");
    there
}

/// Fails with all that the command printed unless it succeeds.
pub fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Compiles and links a program of these tests against the built library.
pub fn program(folder: &Folder, compiler: &str, flags: &[&str], name: &str) -> PathBuf {
    let soname = folder.join("libdushmem.so.0");
    let _ = std::os::unix::fs::symlink(library(), &soname);
    let out = folder.join(format!("{name}{}", flags.concat().replace(['=', '/'], "")));
    let language = if compiler.contains("++") { "c++" } else { "c" };
    succeed(
        Command::new(compiler)
            .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-x", language])
            .args(flags)
            .arg("-I")
            .arg(include())
            .arg(source(&format!("{name}.c")))
            .args(["-x", "none"])
            .arg(&soname)
            .arg("-Wl,-rpath,$ORIGIN")
            .arg("-o")
            .arg(&out),
    );
    out
}

/// A command that runs a program as one PE, whatever started the test.
pub fn alone(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["DUSHMEM_", "NVSHMEM_", "SHMEM_", "SMA_"].iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(&name);
        }
    }
    command.env("DUSHMEM_BOOTSTRAP", "singleton").env("DUSHMEM_SYMMETRIC_SIZE", "4M");
    command
}

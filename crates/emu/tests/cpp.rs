//! C++ kernels, compiled against the headers as dushcc compiles them, with the emulator alone behind them.
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library of the example `emulator`, which cargo builds with the tests.
fn library() -> PathBuf {
    let test = env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap().join("examples");
    assert!(
        folder.join("libemulator.so").exists(),
        "{}/libemulator.so is missing: build all targets of the package, examples included",
        folder.display()
    );
    folder
}

fn has(compiler: &str) -> bool {
    Command::new(compiler).arg("--version").output().is_ok_and(|out| out.status.success())
}

/// Compiles `tests/kernels/<name>.cu.cpp`, runs it once with each of `runs` as its argument, and expects it to
/// find everything right.
fn run(compiler: &str, name: &str, options: &[&str], runs: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let include = root.join("../../include");
    let library = library();
    let tag = format!("{name}-{}-{}", compiler.replace('/', "_"), std::process::id());
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(tag);
    let compiled = Command::new(compiler)
        .args(["-std=c++17", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"])
        .arg("-I")
        .arg(&include)
        .arg("-I")
        .arg(include.join("dushmem/emu"))
        .args(["-include", "dushmem/impl/emu.h", "-x", "c++"])
        .arg(root.join("tests/kernels").join(format!("{name}.cu.cpp")))
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(&library)
        .arg("-lemulator")
        .arg(format!("-Wl,-rpath,{}", library.display()))
        .args(options)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let results: Vec<_> = runs.iter().map(|arg| Command::new(&program).arg(arg).output().unwrap()).collect();
    std::fs::remove_file(&program).unwrap();
    for ran in results {
        let said = String::from_utf8_lossy(&ran.stdout);
        let complained = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success() && said.ends_with("all right\n"), "{}\n{said}{complained}", ran.status);
    }
}

fn compiler() -> String {
    env::var("CXX").unwrap_or_else(|_| "c++".into())
}

#[test]
fn blocks() {
    run(&compiler(), "blocks", &[], &[""]);
}

#[test]
fn waits() {
    run(&compiler(), "waits", &[], &[""]);
}

#[test]
fn errors() {
    run(&compiler(), "errors", &[], &[""]);
}

#[test]
fn streams_and_a_process_that_ends_while_a_kernel_runs() {
    run(&compiler(), "streams", &[], &["", "leave"]);
}

#[test]
fn the_other_compiler() {
    // gcc is what c++ usually is; where clang is there too, the headers have to suit it as well.
    if has("clang++") {
        run("clang++", "blocks", &[], &[""]);
        run("clang++", "errors", &[], &[""]);
    }
}

#[test]
fn newer_language() {
    run(&compiler(), "blocks", &["-std=c++20"], &[""]);
}

#[test]
fn under_the_address_sanitizer() {
    run(&compiler(), "blocks", &["-fsanitize=address", "-fno-omit-frame-pointer"], &[""]);
}

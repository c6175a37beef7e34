//! C++ kernels, compiled against the headers as dushcc compiles them, with the emulator alone behind them.
use dushmem_testkit::folder::Folder;
use dushmem_testkit::tools::{example, installed};
use std::env;
use std::path::Path;
use std::process::Command;

/// Compiles `tests/kernels/<name>.cu.cpp`, runs it once with each of `runs` as its argument, and expects it to
/// find everything right.
fn run(compiler: &str, name: &str, options: &[&str], runs: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let include = root.join("../../include");
    // Cargo builds it with the tests.
    let library = example("libemulator.so").with_file_name("");
    let folder = Folder::new("emu");
    let program = folder.join(name);
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
fn memory() {
    run(&compiler(), "memory", &[], &[""]);
}

#[test]
fn graphs() {
    run(&compiler(), "graphs", &[], &[""]);
    run(&compiler(), "captures", &[], &[""]);
}

#[test]
fn launches_and_streams_of_several_devices() {
    run(&compiler(), "launches", &[], &[""]);
    run(&compiler(), "launches", &["-DCUDA_API_PER_THREAD_DEFAULT_STREAM"], &["thread"]);
}

#[test]
fn halves() {
    run(&compiler(), "halves", &[], &[""]);
}

#[test]
fn failures() {
    run(&compiler(), "failures", &[], &[""]);
}

#[test]
fn the_other_compiler() {
    // gcc is what c++ usually is; where clang is there too, the headers have to suit it as well.
    if installed("clang++") {
        run("clang++", "blocks", &[], &[""]);
        run("clang++", "errors", &[], &[""]);
        run("clang++", "graphs", &[], &[""]);
        run("clang++", "launches", &[], &[""]);
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

//! What the language of kernels has, on the CPU: programs of `tests/kernels` that use nothing else, compiled by
//! dushcc and run as they are.
use dushmem_testkit::kernels::Program;
use std::process::Command;

/// Compiles the sources to one program and runs it once for each width of warps.
fn all_right(sources: &[&str], warps: &[&str], says: &str) {
    all_right_with(&[], sources, warps, says);
}

fn all_right_with(options: &[&str], sources: &[&str], warps: &[&str], says: &str) {
    let sources: Vec<String> = sources.iter().map(|source| format!("tests/kernels/{source}")).collect();
    let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
    let program = Program::of(&sources, options);
    for width in warps {
        let ran =
            Command::new(program.path()).env("DUSHMEM_EMU_WARP", width).output().expect("the program starts");
        let (said, complained) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success(), "{}\n{said}{complained}", ran.status);
        assert_eq!((&*said, &*complained), (says, ""), "warps of {width}");
    }
}

#[test]
fn variables_pointers_templates_and_shared_memory() {
    let says = "from a kernel: 5 text 1.50\nall right\n";
    all_right(&["language.cu", "language_part.cu"], &["32"], says);
}

#[test]
fn operations_of_warps() {
    all_right(&["warps.cu"], &["32"], "all right\n");
}

#[test]
fn operations_of_warps_without_a_mask() {
    all_right(&["lanes.hip.cpp"], &["32", "64"], "all right\n");
}

#[test]
fn cooperative_groups() {
    all_right(&["groups.cu"], &["32"], "all right\n");
}

#[test]
fn atomics() {
    all_right(&["atomics.cu"], &["32"], "all right\n");
    all_right(&["atomic_refs.cu"], &["32"], "all right\n");
}

#[test]
fn intrinsics() {
    all_right(&["intrinsics.cu"], &["32"], "all right\n");
}

#[test]
fn with_an_os_thread_for_each_gpu_thread() {
    let options = ["-fdushmem-os-threads"];
    all_right_with(&options, &["groups.cu"], &["32"], "all right\n");
    all_right_with(&options, &["lanes.hip.cpp"], &["32", "64"], "all right\n");
    let says = "from a kernel: 5 text 1.50\nall right\n";
    all_right_with(&options, &["language.cu", "language_part.cu"], &["32"], says);
}

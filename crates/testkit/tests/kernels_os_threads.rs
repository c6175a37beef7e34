//! Programs of `tests/kernels` with an OS thread for each GPU thread.
use dushmem_testkit::folder::Folder;
use dushmem_testkit::installation::prefix;
use dushmem_testkit::kernels::{Program, all_right};
use std::process::Command;

#[track_caller]
fn is_right(source: &str, pes: usize, settings: &[(&str, &str)]) {
    let options = ["-fdushmem-os-threads", "-Wno-error=cpp"];
    let program = Program::of(&[&format!("tests/kernels/{source}")], &options);
    all_right(program.job_with(pes, settings));
}

#[test]
fn loops_that_never_give_way_and_shared_variables() {
    is_right("os_threads.cu", 1, &[]);
}

#[test]
fn what_kernels_do_together() {
    is_right("groups.cu", 1, &[]);
    is_right("device_api.cu", 2, &[]);
    // The same program as fibers: shared variables are where they are.
    is_right("groups.cu", 1, &[("DUSHMEM_EMU_THREADS", "fibers")]);
}

#[test]
fn a_program_is_compiled_as_a_whole_or_refused() {
    let folder = Folder::new("os-threads-not");
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("written");
    let launch = "#include <cstdio>\n#include <cuda_runtime.h>\n__global__ void kernel() {}\n\
                  void go() { kernel<<<1, 1>>>(); puts(cudaGetErrorString(cudaGetLastError())); }\n";
    write("one.cu", launch);
    write("two.cu", "#include <cuda_runtime.h>\nvoid go();\nint main() { go(); }\n");
    let dushcc = |arguments: &[&str]| {
        let done =
            Command::new(prefix().join("bin/dushcc")).args(arguments).current_dir(folder.path()).output();
        let done = done.expect("dushcc starts");
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    let says = |settings: &[(&str, &str)]| {
        let ran =
            Command::new(folder.join("program")).envs(settings.iter().copied()).output().expect("it runs");
        String::from_utf8_lossy(&ran.stdout).into_owned()
    };
    dushcc(&["one.cu", "two.cu", "-o", "program"]);
    assert_eq!(says(&[]), "no error\n");
    let text = says(&[("DUSHMEM_EMU_THREADS", "os")]);
    assert!(
        text.contains("kernel: DUSHMEM_EMU_THREADS = os, but") && text.contains("-fdushmem-os-threads"),
        "{text}"
    );
    dushcc(&["-fdushmem-os-threads", "one.cu", "two.cu", "-o", "program"]);
    assert_eq!(says(&[]), "no error\n");
    assert_eq!(says(&[("DUSHMEM_EMU_THREADS", "fibers")]), "no error\n");
    dushcc(&["-c", "two.cu", "-o", "two.o"]);
    dushcc(&["-fdushmem-os-threads", "one.cu", "two.o", "-o", "program"]);
    let text = says(&[]);
    assert!(text.contains("some files of the program were compiled with -fdushmem-os-threads"), "{text}");
}

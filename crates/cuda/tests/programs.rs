//! The suites of `tests/cuda` in C++ as programs on the stand-in, with the installed library: as they are run on a GPU, but
//! for kernels that use the device API.
mod common;
use dushmem_testkit::folder::Folder;
use dushmem_testkit::installation::{prefix, root};
use dushmem_testkit::job::Job;
use dushmem_testkit::tools::installed;
use std::fs;
use std::process::Command;
use std::time::Duration;

/// `kernel<<<how>>>(arguments)` as the stand-in's header spells it.
fn launches(source: &str) -> String {
    let mut out = String::new();
    let mut rest = source;
    while let Some((before, after)) = rest.split_once("<<<") {
        let (how, after) = after.split_once(">>>").expect("a launch ends with >>>");
        let name = before.trim_end_matches(|letter: char| letter.is_ascii_alphanumeric() || letter == '_');
        out += name;
        out += &format!("standin_launch({}, {how})", &before[name.len()..]);
        rest = after;
    }
    out + rest
}

/// Compiles the suite `name`, and runs it with each number of PEs, each of which takes turns or not.
fn run(name: &str, knobs: &[(&str, &str)]) {
    run_with(name, &[(1, "0"), (2, "0"), (2, "1"), (3, "0"), (4, "1")], knobs);
}

/// On two devices: a PE each, two each, and one that is alone on its own; programs choose by their number.
fn run_on_two(name: &str, knobs: &[(&str, &str)]) {
    let two = [("CUDA_STANDIN_DEVICES", "2"), ("CUDA_STANDIN_FLUSHES", "1")];
    run_with(name, &[(2, "0"), (3, "0"), (4, "0"), (4, "1")], &[&two, knobs].concat());
}

/// With these numbers of PEs, under MPS or not.
fn run_with(name: &str, jobs: &[(usize, &str)], knobs: &[(&str, &str)]) {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    if !installed(&compiler) {
        return;
    }
    let (root, prefix, folder) = (root(), prefix(), Folder::new("cuda"));
    let (source, program) = (folder.join("suite.cpp"), folder.join(name));
    let text = fs::read_to_string(root.join(format!("tests/cuda/{name}.cu"))).unwrap();
    fs::write(&source, launches(&text)).unwrap();
    let driver = cuda_standin::path();
    let made = Command::new(compiler)
        .args(["-std=c++17", "-O1", "-pthread", "-o"])
        .args([&program, &source])
        .arg("-I")
        .arg(root.join("crates/cuda-standin/include"))
        .arg("-I")
        .arg(prefix.join("include"))
        .arg("-I")
        .arg(root.join("tests/cuda"))
        .arg("-L")
        .arg(prefix.join("lib"))
        .arg("-ldushmem")
        .arg(&driver)
        .arg(format!("-Wl,-rpath,{}", prefix.join("lib").display()))
        .arg(format!("-Wl,-rpath,{}", driver.with_file_name("").display()))
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for &(pes, mps) in jobs {
        let mut job = Job::new(pes, &program).limit(Duration::from_secs(100));
        job = job
            .env("DUSHMEM_DEVICE", "cuda")
            .env("DUSHMEM_CUDA_LIBRARY", &driver)
            .env("CUDA_STANDIN_MPS", mps);
        for (name, value) in knobs {
            job = job.env(name, value);
        }
        let outcome = job.run();
        assert!(outcome.code == 0 && outcome.stdout == "all right\n", "{pes} PEs, MPS {mps}: {outcome:#?}");
    }
}

#[test]
fn host_data() {
    run("host_data", &[]);
}

#[test]
fn host_data_in_the_hosts_heap() {
    run("host_data", &[("DUSHMEM_HEAP_KIND", "host")]);
}

#[test]
fn host_atomics() {
    run("host_atomics", &[]);
}

#[test]
fn host_collectives() {
    run("host_collectives", &[]);
}

#[test]
fn host_collectives_in_the_hosts_heap() {
    run("host_collectives", &[("DUSHMEM_HEAP_KIND", "host")]);
}

#[test]
fn host_mixed() {
    run("host_mixed", &[]);
}

#[test]
fn memory_model() {
    run("memory_model", &[]);
}

#[test]
fn memory_model_in_the_hosts_heap() {
    run("memory_model", &[("DUSHMEM_HEAP_KIND", "host")]);
}

#[test]
fn stream_collectives() {
    run("stream_collectives", &[]);
}

#[test]
fn stream_order() {
    run("stream_order", &[("CUDA_STANDIN_HOST_ACCESS", "1")]);
}

#[test]
fn stream_graphs() {
    run("stream_graphs", &[("CUDA_STANDIN_HOST_ACCESS", "1")]);
}

#[test]
fn host_mixed_on_two_devices() {
    run_on_two("host_mixed", &[]);
}

#[test]
fn memory_model_on_two_devices() {
    run_on_two("memory_model", &[]);
}

#[test]
fn stream_order_on_two_devices() {
    run_on_two("stream_order", &[("CUDA_STANDIN_HOST_ACCESS", "1")]);
}

#[test]
fn stream_collectives_on_two_devices() {
    run_on_two("stream_collectives", &[]);
}

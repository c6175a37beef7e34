//! The suites of `tests/cuda` in C++ as programs on the stand-in, with the installed library: as they are run on a GPU, but
//! for kernels that use the device API in more than one thread.
mod common;
use dushmem_testkit::folder::Folder;
use dushmem_testkit::installation::{prefix, root};
use dushmem_testkit::job::Job;
use dushmem_testkit::tools::installed;
use std::fs;
use std::path::{Path, PathBuf};
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

/// Compiles a program as `name`, as far as there is a compiler.
fn compiled(text: &str, name: &str, flags: &[&str], folder: &Folder) -> Option<PathBuf> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    if !installed(&compiler) {
        return None;
    }
    let (root, prefix, driver) = (root(), prefix(), cuda_standin::path());
    let (source, program) = (folder.join("suite.cpp"), folder.join(name));
    fs::write(&source, launches(text)).unwrap();
    let made = Command::new(compiler)
        .args(["-std=c++17", "-O1", "-pthread"])
        .args(flags)
        .arg("-o")
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
    Some(program)
}

fn job(pes: usize, program: &Path) -> Job {
    Job::new(pes, program)
        .limit(Duration::from_secs(100))
        .env("DUSHMEM_DEVICE", "cuda")
        .env("DUSHMEM_CUDA_LIBRARY", cuda_standin::path())
}

/// Compiles the suite `name`, and runs it with each number of PEs, each of which takes turns or not.
fn run(name: &str, knobs: &[(&str, &str)]) {
    run_and(name, &[], knobs, |_, _, _| ());
}

/// On two devices: a PE each, two each, and one that is alone on its own; programs choose by their number.
fn run_on_two(name: &str, knobs: &[(&str, &str)]) {
    let two = [("CUDA_STANDIN_DEVICES", "2"), ("CUDA_STANDIN_FLUSHES", "1")];
    let jobs = [(2, "0"), (3, "0"), (4, "0"), (4, "1")];
    run_with(name, &[], &jobs, &[&two, knobs].concat(), |_, _, _| ());
}

/// As `run`; `look` at the number of PEs, whether they run at the same time, and what was said on standard error.
fn run_and(name: &str, flags: &[&str], knobs: &[(&str, &str)], look: fn(usize, bool, &str)) {
    run_with(name, flags, &[(1, "0"), (2, "0"), (2, "1"), (3, "0"), (4, "1")], knobs, look);
}

/// With these numbers of PEs, under MPS or not.
fn run_with(
    name: &str,
    flags: &[&str],
    jobs: &[(usize, &str)],
    knobs: &[(&str, &str)],
    look: fn(usize, bool, &str),
) {
    let folder = Folder::new("cuda");
    let text = fs::read_to_string(root().join(format!("tests/cuda/{name}.cu"))).unwrap();
    let Some(program) = compiled(&text, name, flags, &folder) else { return };
    for &(pes, mps) in jobs {
        let mut job = job(pes, &program).env("CUDA_STANDIN_MPS", mps);
        for (name, value) in knobs {
            job = job.env(name, value);
        }
        let outcome = job.run();
        assert!(outcome.code == 0 && outcome.stdout == "all right\n", "{pes} PEs, MPS {mps}: {outcome:#?}");
        look(pes, mps == "1", &outcome.stderr);
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

/// Two devices, so that none is chosen before the launch.
#[test]
fn launch_limits() {
    let knobs = [("CUDA_STANDIN_HOST_ACCESS", "1"), ("CUDA_STANDIN_DEVICES", "2")];
    run_and("launch_limits", &[], &knobs, |pes, together, said| {
        let why = format!("are resident at once, since {pes} PEs share the device (with fewer");
        assert_eq!(said.contains(&why), together && pes > 1, "{said}");
        assert!(said.contains("launch fewer, or a grid of dim3(0, 0, 0), or ask"), "{said}");
    });
}

/// By the device headers' code for GPUs, on a device whose atomic operations on memory of the host are none to the CPU. Of
/// two devices none is chosen before there is something in the host's heap.
const ON_DEVICE: [&str; 1] = ["-D__HIPCC__"];

#[test]
fn kernels_and_the_hosts_heap() {
    for devices in ["1", "2"] {
        let knobs = [("CUDA_STANDIN_HOST_ACCESS", "1"), ("CUDA_STANDIN_DEVICES", devices)];
        run_and("host_words", &ON_DEVICE, &knobs, |_, _, _| ());
    }
}

#[test]
fn kernels_and_the_hosts_heap_alone() {
    let knobs = [("CUDA_STANDIN_HOST_ACCESS", "1"), ("DUSHMEM_HEAP_KIND", "host")];
    run_and("host_words", &ON_DEVICE, &knobs, |_, _, _| ());
}

#[test]
fn kernels_and_the_hosts_heap_out_of_reach() {
    let knobs = [("CUDA_STANDIN_HOST_ACCESS", "1"), ("DUSHMEM_EMU_REMOTE", "1")];
    run_and("host_words", &ON_DEVICE, &knobs, |_, _, _| ());
}

/// The same program where the device says of its atomic operations what is not so: updates are lost, and the program sees it.
#[test]
fn kernels_and_hosts_that_both_change_a_word_are_found() {
    let folder = Folder::new("cuda");
    let text = fs::read_to_string(root().join("tests/cuda/host_words.cu")).unwrap();
    let Some(program) = compiled(&text, "host_words", &ON_DEVICE, &folder) else { return };
    let knobs = [("CUDA_STANDIN_HOST_ACCESS", "1"), ("CUDA_STANDIN_HOST_ATOMICS", "1")];
    let mut job = job(2, &program);
    for (name, value) in knobs {
        job = job.env(name, value);
    }
    let outcome = job.run();
    assert!(outcome.code != 0 && outcome.stdout.contains("a count: "), "{outcome:#?}");
}

/// What the code for GPUs says of wrong arguments, before it ends the kernel.
#[test]
fn wrong_arguments_in_kernels() {
    let folder = Folder::new("cuda");
    let text = fs::read_to_string(root().join("tests/kernels/device_bad.cu")).unwrap();
    let Some(program) = compiled(&text, "device_bad", &ON_DEVICE, &folder) else { return };
    let queue_pair =
        "there is no such queue pair; pass a handle that qp_create has stored, QP_DEFAULT or QP_ANY";
    const NO_PE: &str = "there is no such PE; this job has PEs 0 to 0";
    for (case, parts) in [
        ("1", ["PE 0: p: pe = -1: ", NO_PE]),
        ("2", ["PE 0: put: pe = 1000: ", NO_PE]),
        ("13", ["PE 0: test_all: ivars = ", "not in symmetric memory, or the range ends outside"]),
        ("6", ["PE 0: atomic_add: dest = ", "not aligned to 8 bytes, which this operation needs"]),
        ("17", ["PE 0: dushmemx_qp_int_p: qp_index = 1000 ", queue_pair]),
        ("18", ["PE 0: dushmemx_qp_int_p: qp_index = -1 ", queue_pair]),
    ] {
        let outcome = job(1, &program).args([case, "ready"]).env("CUDA_STANDIN_HOST_ACCESS", "1").run();
        let place = "(kernel, block (1, 0, 0), thread (2, 0, 0))";
        let said = outcome.stdout.lines().next().unwrap_or_default();
        let right = parts.iter().chain([&place]).all(|part| said.contains(part));
        assert!(outcome.code != 0 && right, "{case}: {outcome:#?}");
    }
}

/// Kernels that are linked into a program whose PEs are threads: what the library tells their unit.
#[test]
fn kernels_of_several_pes_say_so() {
    const SOURCE: &str = r#"
#include <cuda_runtime.h>
#include <dushmem.h>
namespace d = dushmem::device;
__global__ void ask(int what) {
  if (what == 0) std::printf("%d\n", d::my_pe());
  if (what == 1) d::p((int *)64, 1, 0);
  if (what == 2) d::barrier_all<d::scope::thread>();
}
int main(int, char **argv) {
  dushmem_impl_kernel_state told = {};
  told.my_pe = -1;
  told.flags = DUSHMEM_IMPL_FLAG_OF_MANY;
  dushmem_impl_push_state(&told, sizeof told, nullptr);
  ask<<<1, 1>>>(std::atoi(argv[1]));
  cudaDeviceSynchronize();
  std::puts("went on");
}
"#;
    let folder = Folder::new("cuda");
    let Some(program) = compiled(SOURCE, "ask", &ON_DEVICE, &folder) else { return };
    for (what, call) in [("0", "my_pe"), ("1", "p"), ("2", "barrier")] {
        let outcome = job(1, &program).args([what]).run();
        let said = format!("{call}: PEs are threads of this process, and the kernel is linked into it");
        assert!(outcome.stdout.contains(&said) && outcome.stdout.contains("cumodule_init"), "{outcome:#?}");
        assert!(outcome.code != 0 && !outcome.stdout.contains("went on"), "{outcome:#?}");
    }
}

/// A kernel that uses the heap of the host where that could not be pinned is told so, after the warning.
#[test]
fn kernels_without_the_hosts_heap_say_why() {
    const SOURCE: &str = r#"
#include <cuda_runtime.h>
#include <dushmem.h>
#include <shmem.h>
__global__ void store(int *at) { dushmem::device::p(at, 1, 0); }
int main() {
  dushmem_init();
  int *const device = (int *)dushmem_malloc(sizeof(int)), *const host = (int *)shmem_malloc(sizeof(int));
  store<<<1, 1>>>(device);
  if (cudaDeviceSynchronize() != cudaSuccess) return 3;
  std::puts("the device's is there");
  store<<<1, 1>>>(host);
  cudaDeviceSynchronize();
  std::puts("went on");
}
"#;
    let folder = Folder::new("cuda");
    let Some(program) = compiled(SOURCE, "store", &ON_DEVICE, &folder) else { return };
    let job = job(1, &program).env("CUDA_STANDIN_HOST_ACCESS", "1");
    let outcome = job.env("CUDA_STANDIN_FAIL", "cuMemHostRegister_v2:1+=2").run();
    assert!(
        outcome.stderr.contains("the job goes on, and kernels that use it end with an error"),
        "{outcome:#?}"
    );
    for said in ["the device's is there", "p: dest = ", "more of the host's could not be pinned for the GPU"]
    {
        assert!(outcome.stdout.contains(said), "{said}: {outcome:#?}");
    }
    assert!(outcome.code != 0 && !outcome.stdout.contains("went on"), "{outcome:#?}");
}

//! The device headers under the compilers of GPUs. Every source of `tests/kernels`, `tests/cuda` and `examples/kernel` is compiled
//! as it stands by NVIDIA's compiler, and by AMD's for gfx906; what is a whole program is linked. Examples become machine
//! code, for NVIDIA's sm_80 and sm_90; the many others go as far as the compilers' own work on the source goes, as PTX and
//! LLVM's code. Some are compiled with relocatable device code, too. No GPU is needed.
//!
//! nvcc is `$DUSHMEM_NVCC`, or on the PATH, or from the wheels that `cargo xtask test` installs into `target/venv`;
//! hipcc is `$DUSHMEM_HIPCC` or on the PATH. Without one its tests say so and pass.
use dushmem_testkit::folder::Folder;
use dushmem_testkit::installation::{prefix, root};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// What device compilers can't take, and why: `nvcc`, `hipcc` (HIP 5.2 is what Debian has), or both.
const NOT_FOR: [(&str, &str, &str); 6] = [
    ("device_globals.cu", "both", "globals of the host are symmetric in kernels on the CPU only"),
    ("atomic_refs.cu", "hipcc", "HIP 5 has no cuda/atomic"),
    (
        "lanes.hip.cpp",
        "nvcc",
        "__any and __all without a mask are names that CUDA's own headers use otherwise",
    ),
    ("warps.cu", "hipcc", "HIP 5 has no __match_any_sync"),
    ("groups.cu", "hipcc", "HIP 5's cooperative_groups.h does not compile with its runtime header"),
    ("intrinsics.cu", "hipcc", "HIP 5 has no header of __nv_bfloat16"),
];

/// Programs of several sources: the first, and the others.
const PARTS: [(&str, &str); 1] = [("language.cu", "language_part.cu")];

/// Where wheels put it: `<venv>/lib/python3.x/site-packages/nvidia/cu13/bin/nvcc`.
fn in_wheels() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?.join("venv/lib");
    let pythons = std::fs::read_dir(target).ok()?;
    let mut nvcc = pythons.flatten().map(|python| python.path().join("site-packages/nvidia/cu13/bin/nvcc"));
    nvcc.find(|path| path.exists())
}

/// The program in a variable, which has to run, or the first that does.
fn found(variable: &str, otherwise: &[PathBuf], version: &str) -> Option<PathBuf> {
    let runs = |path: &Path| Command::new(path).arg(version).output().is_ok_and(|out| out.status.success());
    if let Some(asked) = env::var_os(variable).map(PathBuf::from) {
        assert!(runs(&asked), "{variable}={}: does not run", asked.display());
        return Some(asked);
    }
    let there = otherwise.iter().find(|path| runs(path)).cloned();
    if there.is_none() {
        eprintln!("not checked: there is no {}; set {variable}", otherwise.last()?.display());
    }
    there
}

fn nvcc() -> Option<PathBuf> {
    let places: Vec<PathBuf> = in_wheels().into_iter().chain(["nvcc".into()]).collect();
    found("DUSHMEM_NVCC", &places, "--version")
}

fn hipcc() -> Option<PathBuf> {
    found("DUSHMEM_HIPCC", &["hipcc".into()], "--version")
}

/// Both targets, as machine code.
const CODE: [&str; 4] = ["-gencode", "arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=sm_90"];
/// Both, as what the driver compiles when the program starts: for what would take minutes otherwise.
const PTX: [&str; 4] =
    ["-gencode", "arch=compute_80,code=compute_80", "-gencode", "arch=compute_90,code=compute_90"];
/// The older one, for suites without what only the newer has: copies by shared memory are in `tests/cuda`.
const OLDER_PTX: [&str; 2] = ["-gencode", "arch=compute_80,code=compute_80"];
/// As far as LLVM's code.
const LLVM: [&str; 3] = ["-O1", "--cuda-device-only", "-emit-llvm"];

fn include() -> PathBuf {
    root().join("include")
}

/// nvcc's options for sources that have CUDA's names or HIP's.
fn nvcc_command(nvcc: &Path, code: &[&str]) -> Command {
    let mut command = Command::new(nvcc);
    command.args(code).args(["-std=c++17", "-x", "cu", "-c", "-Xcompiler", "-Wall,-Wextra"]);
    command.arg("-I").arg(include()).arg("-I").arg(include().join("dushmem/nvcc"));
    // The article's listing includes nothing of HIP.
    command.args(["-include", "hip/hip_runtime.h"]);
    command
}

fn hipcc_command(hipcc: &Path) -> Command {
    let mut command = Command::new(hipcc);
    command.args(["--offload-arch=gfx906", "-std=c++17", "-x", "hip", "-c", "-Wall", "-Wextra"]);
    // hipcc names libraries to the compiler, too.
    command.arg("-Wno-unused-command-line-argument");
    // The article's listing looks at no result.
    command.arg("-Wno-unused-result");
    command.arg("-I").arg(include()).arg("-I").arg(include().join("dushmem/hipcc"));
    // Sources with either family of names include one of the two headers, or none.
    command.args(["-include", "cuda_runtime.h"]);
    command
}

/// Runs a compiler; there must be no warnings either.
fn clean(command: &mut Command) {
    let done = command.output().unwrap_or_else(|why| panic!("{command:?}: {why}"));
    let said = String::from_utf8_lossy(&done.stderr).into_owned() + &String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && !said.contains("warning"), "{command:?}\n{said}");
}

/// Links objects, and the device code where it is relocatable, to a program.
fn link(nvcc: &Path, code: &[&str], objects: &[PathBuf], relocatable: bool, folder: &Folder) {
    let mut command = Command::new(nvcc);
    command.args(code).arg(format!("-rdc={relocatable}")).args(objects).arg("-L").arg(prefix().join("lib"));
    // The old names of libraries, as build files for NVSHMEM have them.
    clean(command.args(["-lnvshmem_host", "-lnvshmem_device", "-o"]).arg(folder.join("program")));
}

/// A program of one source under nvcc.
fn nvcc_takes(source: &Path, code: &[&str], relocatable: bool) {
    let Some(nvcc) = nvcc() else { return };
    let folder = Folder::new("nvcc");
    let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let others =
        PARTS.iter().filter(|(first, _)| *first == name).map(|(_, other)| source.with_file_name(other));
    let mut objects = Vec::new();
    for (number, source) in [source.to_owned()].into_iter().chain(others).enumerate() {
        let object = folder.join(format!("{number}.o"));
        let mut command = nvcc_command(&nvcc, code);
        // Whether the code is fast is not asked here.
        command.args(["-Xcicc", "-O1", "-Xptxas", "-O0"]);
        clean(command.arg(format!("-rdc={relocatable}")).arg(source).arg("-o").arg(&object));
        objects.push(object);
    }
    link(&nvcc, code, &objects, relocatable, &folder);
}

/// A source under hipcc.
fn hipcc_takes(source: &Path, options: &[&str]) {
    let Some(hipcc) = hipcc() else { return };
    let folder = Folder::new("hipcc");
    clean(hipcc_command(&hipcc).args(options).arg(source).arg("-o").arg(folder.join("object.o")));
}

/// All sources of a folder that this compiler takes.
fn sources(folder: &str, compiler: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).expect("the sources");
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.expect("a source").path()).collect();
    found.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let source = name.ends_with(".cu") || name.ends_with(".hip.cpp");
        let part = compiler == "nvcc" && PARTS.iter().any(|(_, part)| *part == name);
        let not = NOT_FOR.iter().find(|(other, by, _)| *other == name && [compiler, "both"].contains(by));
        if let Some((_, _, why)) = not {
            println!("{name}: not for {compiler}: {why}");
        }
        source && not.is_none() && !part
    });
    found.sort();
    assert!(!found.is_empty(), "{folder}");
    found
}

/// Runs every task, some at the same time; all failures are told.
fn all<T: Sync>(tasks: &[T], run: impl Fn(&T) + Sync) {
    let next = Mutex::new(tasks.iter());
    let take = || next.lock().expect("no task panics while it is taken").next();
    let failed = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut failed = 0;
                    while let Some(task) = take() {
                        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(task)));
                        failed += usize::from(ran.is_err());
                    }
                    failed
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or(1)).sum::<usize>()
    });
    assert_eq!(failed, 0, "the messages are above");
}

#[test]
fn nvcc_compiles_and_links_every_suite() {
    all(&sources("tests/kernels", "nvcc"), |source| nvcc_takes(source, &OLDER_PTX, false));
}

#[test]
fn nvcc_compiles_and_links_the_suites_for_gpus() {
    all(&sources("tests/cuda", "nvcc"), |source| nvcc_takes(source, &PTX, false));
}

#[test]
fn nvcc_compiles_and_links_every_example() {
    all(&sources("examples/kernel", "nvcc"), |source| nvcc_takes(source, &CODE, false));
}

/// Kernels that do nothing but one call, and loops of it in blocks of 1024 threads.
const CALLS: &str = r#"#include <dushmem/device.h>
using namespace dushmem::device;
#define CALL(name, call)                                                                                   \
  __global__ void name(float *d, const float *s, size_t n, uint64_t *w, int pe) { call; }                  \
  __global__ void __launch_bounds__(1024) name##_loop(float *d, const float *s, size_t n, uint64_t *w, int pe) { \
    for (long i = 0; i < *w; i++) call;                                                                    \
  }
CALL(put_thread, put(d, s, n, pe))
CALL(put_warp, put<scope::warp>(d, s, n, pe))
CALL(put_block, put<scope::block>(d, s, n, pe))
CALL(get_thread, get(d, s, n, pe))
CALL(get_warp, get<scope::warp>(d, s, n, pe))
CALL(get_block, get<scope::block>(d, s, n, pe))
CALL(signal_thread, put_signal(d, s, n, w, 1, DUSHMEM_SIGNAL_SET, pe))
CALL(signal_warp, put_signal<scope::warp>(d, s, n, w, 1, DUSHMEM_SIGNAL_SET, pe))
CALL(signal_block, put_signal<scope::block>(d, s, n, w, 1, DUSHMEM_SIGNAL_ADD, pe))
"#;

/// A block of 1024 threads starts if its kernel has 64 registers at most, and a short copy costs several times as much if
/// it has to go by way of local memory.
#[test]
fn copies_leave_registers_for_blocks_of_1024_threads() {
    let Some(nvcc) = nvcc() else { return };
    let folder = Folder::new("registers");
    std::fs::write(folder.join("calls.cu"), CALLS).expect("the source");
    let mut command = nvcc_command(&nvcc, &CODE);
    command.args(["-Xptxas", "-v"]).arg(folder.join("calls.cu")).arg("-o").arg(folder.join("calls.o"));
    let done = command.output().expect("nvcc starts");
    let said = String::from_utf8_lossy(&done.stderr).into_owned() + &String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}");
    let number = |text: &str, before: &str| -> u32 {
        let words: Vec<&str> =
            text[..text.find(before).unwrap_or_else(|| panic!("{text}"))].split_whitespace().collect();
        words[words.len() - 1].parse().expect("a number")
    };
    let mut seen = 0;
    for entry in said.split("Compiling entry function '").skip(1) {
        // What follows are lines about the kernel, and then about the functions that it calls.
        let (name, about) = entry.split_once('\'').expect("a name");
        let registers = number(about, " registers");
        assert!(registers <= 64, "{name}: {registers} registers");
        // A thread alone has the most loads under way; what its loops keep beside them is theirs.
        if !name.contains("thread") {
            let spilled = number(about, " bytes spill stores");
            assert_eq!(spilled, 0, "{name}: bytes that are kept in local memory");
        }
        seen += 1;
    }
    assert_eq!(seen, 2 * 2 * 9, "{said}");
}

#[test]
fn nvcc_with_relocatable_device_code() {
    let sources =
        ["tests/kernels/device_api.cu", "tests/kernels/simple_shift.hip.cpp", "examples/kernel/ring.hip.cpp"];
    all(&sources, |source| nvcc_takes(&root().join(source), &CODE, true));
}

#[test]
fn hipcc_compiles_every_suite() {
    all(&sources("tests/kernels", "hipcc"), |source| hipcc_takes(source, &LLVM));
}

#[test]
fn hipcc_compiles_every_example() {
    all(&sources("examples/kernel", "hipcc"), |source| hipcc_takes(source, &["-O1"]));
}

/// Sources that call every name of NVSHMEM's.
fn names() -> Vec<PathBuf> {
    let gen_ = root().join("tests/kernels/names/gen");
    ["reduce", "words", "pairs", "scopes", "data", "collect"]
        .map(|group| gen_.join(format!("nvshmem_{group}.cu")))
        .to_vec()
}

#[test]
fn nvcc_compiles_and_links_every_name() {
    let Some(nvcc) = nvcc() else { return };
    let folder = Folder::new("names");
    let mut sources = names();
    sources.push(root().join("tests/kernels/names/main.cu"));
    let object = |source: &Path| folder.join(source.with_extension("o").file_name().expect("a file"));
    all(&sources, |source| {
        clean(nvcc_command(&nvcc, &PTX).args(["-Xcicc", "-O0"]).arg(source).arg("-o").arg(object(source)))
    });
    let objects: Vec<PathBuf> = sources.iter().map(|source| object(source)).collect();
    link(&nvcc, &PTX, &objects, false, &folder);
}

#[test]
fn hipcc_compiles_every_name() {
    // As far as LLVM's code: the machine's is the same for all names, and takes minutes.
    let options = ["-O0", "--cuda-device-only", "-emit-llvm"];
    all(&names(), |source| hipcc_takes(source, &options));
}

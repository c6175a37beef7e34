//! Installs the tools that the tests use and that are missing, where that is possible.
use super::workspace::{has, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program, the Debian package that has it, and what is not tested without it.
struct Tool {
    program: &'static str,
    package: &'static str,
    without: Without,
}

enum Without {
    /// Nothing can be tested.
    Stop,
    /// These tests are skipped.
    Skip(&'static str),
}

const TOOLS: [Tool; 9] = [
    Tool { program: "gcc", package: "gcc", without: Without::Stop },
    Tool { program: "g++", package: "g++", without: Without::Stop },
    Tool { program: "clang", package: "clang", without: Without::Skip("headers and kernels with clang") },
    Tool { program: "gdb", package: "gdb", without: Without::Skip("dushrun --gdb") },
    Tool { program: "valgrind", package: "valgrind", without: Without::Skip("PEs under valgrind") },
    Tool { program: "cmake", package: "cmake", without: Without::Skip("the CMake package") },
    Tool { program: "make", package: "make", without: Without::Skip("the CMake package") },
    Tool { program: "pkg-config", package: "pkg-config", without: Without::Skip("the pkg-config file") },
    Tool { program: HIPCC, package: "hipcc", without: Without::Skip("kernels with hipcc") },
];

/// AMD's compiler, with what it needs: some hundred megabytes.
const HIPCC: &str = "hipcc";

/// Names of nvcc's parts on PyPI; nvcc works as they install it.
const NVCC: [&str; 5] =
    ["nvidia-cuda-nvcc", "nvidia-cuda-crt", "nvidia-cuda-runtime", "nvidia-nvvm", "nvidia-cuda-cccl"];

/// Installs what is missing. Gives nvcc's path, where there is one; compilers for GPUs are installed only if
/// `gpu_compilers`.
pub fn install(target: &Path, gpu_compilers: bool) -> Result<Option<PathBuf>, String> {
    let missing = |tool: &&Tool| (gpu_compilers || tool.program != HIPCC) && !has(tool.program);
    let mut packages: Vec<&str> = TOOLS.iter().filter(missing).map(|tool| tool.package).collect();
    if !has("python3") {
        packages.extend(["python3", "python3-venv"]);
    }
    if !packages.is_empty() {
        debian(&packages);
    }
    for tool in TOOLS.iter().filter(missing) {
        match tool.without {
            Without::Stop => {
                return Err(format!("{} is missing: install the package {}", tool.program, tool.package));
            }
            Without::Skip(tests) => {
                println!("skipped: {tests} ({} is not installed; package {})", tool.program, tool.package)
            }
        }
    }
    if let Some(path) = std::env::var_os("DUSHMEM_NVCC") {
        return Ok(Some(path.into()));
    }
    let found = find_nvcc(target);
    if found.is_some() || !gpu_compilers {
        return Ok(found);
    }
    if let Err(message) = wheels(target) {
        println!("skipped: kernels with nvcc ({message})");
    }
    Ok(find_nvcc(target))
}

/// nvcc, from `DUSHMEM_NVCC` or from the wheels.
pub fn nvcc(target: &Path) -> Result<PathBuf, String> {
    let named = std::env::var_os("DUSHMEM_NVCC").map(PathBuf::from);
    named.or_else(|| find_nvcc(target)).ok_or_else(|| {
        "there is no nvcc: name it in DUSHMEM_NVCC, or let `cargo xtask test` install it".into()
    })
}

fn debian(packages: &[&str]) {
    if !has("apt-get") || !is_root() {
        println!("not installed: {} (needs root and apt-get)", packages.join(", "));
        return;
    }
    println!("== install {}", packages.join(", "));
    let apt = |words: &[&str]| {
        let mut command = Command::new("apt-get");
        run(command
            .args(["-qq", "-o", "DPkg::Lock::Timeout=120"])
            .args(words)
            .env("DEBIAN_FRONTEND", "noninteractive"))
    };
    if let Err(message) = apt(&["update"]) {
        println!("xtask: {message}");
    }
    let mut install = vec!["install", "-y", "--no-install-recommends"];
    install.extend(packages);
    if let Err(message) = apt(&install) {
        println!("xtask: {message}");
    }
}

fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let uid = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    uid.and_then(|uid| uid.split_whitespace().nth(1)) == Some("0")
}

fn wheels(target: &Path) -> Result<(), String> {
    let venv = target.join("venv");
    println!("== install {}", NVCC.join(", "));
    if !venv.join("bin/pip").is_file() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    }
    let mut pip = Command::new(venv.join("bin/python"));
    run(pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(NVCC))
}

/// nvcc from the wheels in the build folder.
pub fn find_nvcc(target: &Path) -> Option<PathBuf> {
    let lib = target.join("venv/lib");
    let pythons = fs::read_dir(lib).ok()?.flatten();
    let nvidia = pythons.map(|python| python.path().join("site-packages/nvidia"));
    let toolkits =
        nvidia.filter_map(|folder| fs::read_dir(folder).ok()).flat_map(|entries| entries.flatten());
    toolkits.map(|entry| entry.path().join("bin/nvcc")).find(|nvcc| nvcc.is_file())
}

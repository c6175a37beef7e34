//! The device headers under NVIDIA's compiler, for sm_90, with and without relocatable device code.
//!
//! nvcc is `$DUSHMEM_NVCC`, or on the PATH, or from the wheels that `cargo xtask test` installs into
//! `target/venv`. Without it these tests say so and pass. No GPU is needed.
use dushmem_testkit::folder::Folder;
use dushmem_testkit::installation::root;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where wheels put it: `<venv>/lib/python3.x/site-packages/nvidia/cu13/bin/nvcc`.
fn in_wheels() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?.join("venv/lib");
    let pythons = std::fs::read_dir(target).ok()?;
    let mut nvcc = pythons.flatten().map(|python| python.path().join("site-packages/nvidia/cu13/bin/nvcc"));
    nvcc.find(|path| path.exists())
}

fn nvcc() -> Option<PathBuf> {
    let asked = env::var_os("DUSHMEM_NVCC").map(PathBuf::from);
    let found = asked.clone().or_else(in_wheels).unwrap_or_else(|| "nvcc".into());
    match Command::new(&found).arg("--version").output() {
        Ok(out) if out.status.success() => Some(found),
        _ if asked.is_some() => panic!("DUSHMEM_NVCC={}: does not run", found.display()),
        _ => {
            eprintln!("not checked: there is no nvcc; install the wheels or set DUSHMEM_NVCC");
            None
        }
    }
}

/// Compiles a source to an object, without warnings; links the device code where it is relocatable.
fn compile(source: &str, options: &[&str], relocatable: bool) {
    let Some(nvcc) = nvcc() else { return };
    let folder = Folder::new("nvcc");
    let (object, linked) = (folder.join("object.o"), folder.join("linked.o"));
    let compiled = Command::new(&nvcc)
        .args(["-arch=sm_90", "-std=c++17", "-x", "cu", "-c", "-Xcompiler", "-Wall,-Wextra"])
        .arg(format!("-rdc={relocatable}"))
        .arg("-I")
        .arg(root().join("include"))
        .args(options)
        .arg(root().join(source))
        .arg("-o")
        .arg(&object)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&compiled.stderr).into_owned();
    assert!(compiled.status.success() && !said.contains("warning"), "-rdc={relocatable}: {said}");
    if relocatable {
        let link =
            Command::new(&nvcc).args(["-arch=sm_90", "-dlink"]).arg(&object).arg("-o").arg(&linked).output();
        let link = link.unwrap();
        assert!(link.status.success(), "{}", String::from_utf8_lossy(&link.stderr));
    }
}

/// Options for sources that use HIP's names.
fn hip() -> [String; 2] {
    ["-I".into(), root().join("include/dushmem/nvcc").display().to_string()]
}

#[test]
fn the_article_s_listing() {
    let [flag, folder] = hip();
    // It includes nothing of HIP.
    let options = [flag.as_str(), &folder, "-include", "hip/hip_runtime.h"];
    compile("tests/kernels/simple_shift.hip.cpp", &options, false);
    compile("tests/kernels/simple_shift.hip.cpp", &options, true);
}

#[test]
fn the_example_s_ring() {
    let [flag, folder] = hip();
    compile("examples/kernel/ring.hip.cpp", &[&flag, &folder], false);
    compile("examples/kernel/ring.hip.cpp", &[&flag, &folder], true);
}

#[test]
fn the_device_api() {
    compile("tests/kernels/device_api.cu", &[], false);
}

// All names of both families take a minute: one family in each form.

#[test]
fn every_dushmem_name() {
    compile("tests/kernels/device_names.cu", &["-DONLY_DUSHMEM"], false);
}

#[test]
fn every_nvshmem_name_relocatable() {
    compile("tests/kernels/device_names.cu", &["-DONLY_NVSHMEM"], true);
}

#[test]
fn the_language_of_kernels() {
    for source in [
        "warps.cu",
        "groups.cu",
        "atomics.cu",
        "intrinsics.cu",
        "language.cu",
        "language_part.cu",
        "atomic_refs.cu",
    ] {
        compile(&format!("tests/kernels/{source}"), &[], false);
    }
}

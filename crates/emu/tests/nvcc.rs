//! The device headers under NVIDIA's compiler, for sm_90, with and without relocatable device code.
//!
//! nvcc is `$DUSHMEM_NVCC`, or on the PATH, or from the wheels that `cargo xtask test` installs into
//! `target/venv`. Without it these tests say so and pass. No GPU is needed.
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

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

/// Compiles a source of `tests/kernels` to an object without relocatable code and to one with it, without
/// warnings, and links the device code of the second one. `each` are options for the one and the other.
fn compile(source: &str, options: &[&str], each: [&str; 2]) {
    let Some(nvcc) = nvcc() else { return };
    for (relocatable, own) in [(false, each[0]), (true, each[1])] {
        let tag = format!("{source}-{relocatable}-{}", std::process::id());
        let object = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{tag}.o"));
        let linked = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{tag}.dlink.o"));
        let compiled = Command::new(&nvcc)
            .args(["-arch=sm_90", "-std=c++17", "-x", "cu", "-c", "-Xcompiler", "-Wall,-Wextra"])
            .arg(own)
            .arg(format!("-rdc={relocatable}"))
            .arg("-I")
            .arg(root().join("include"))
            .args(options)
            .arg(root().join("tests/kernels").join(source))
            .arg("-o")
            .arg(&object)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&compiled.stderr).into_owned();
        assert!(compiled.status.success() && !said.contains("warning"), "-rdc={relocatable}: {said}");
        if relocatable {
            let link = Command::new(&nvcc)
                .args(["-arch=sm_90", "-dlink"])
                .arg(&object)
                .arg("-o")
                .arg(&linked)
                .output();
            let link = link.unwrap();
            assert!(link.status.success(), "{}", String::from_utf8_lossy(&link.stderr));
            std::fs::remove_file(&linked).unwrap();
        }
        std::fs::remove_file(&object).unwrap();
    }
}

#[test]
fn the_article_s_ring_in_hip() {
    let hip = root().join("include/dushmem/nvcc");
    let hip = hip.to_str().unwrap();
    compile("simple_shift.hip.cpp", &["-I", hip, "-include", "hip/hip_runtime.h"], ["-O3"; 2]);
}

#[test]
fn every_name_of_the_device_api() {
    // All of both families takes a minute each time: one family in each form.
    compile("device_names.cu", &[], ["-DONLY_DUSHMEM", "-DONLY_NVSHMEM"]);
}

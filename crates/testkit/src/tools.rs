//! Where the programs of the project are.
use std::path::{Path, PathBuf};

/// A program of the project: from `$DUSHMEM_PREFIX/bin` where that is set, else from the build folder that
/// the running test comes from.
///
/// # Panics
/// Where it has not been built, saying how to build it.
pub fn program(name: &str) -> PathBuf {
    if let Some(prefix) = std::env::var_os("DUSHMEM_PREFIX") {
        let path = Path::new(&prefix).join("bin").join(name);
        assert!(
            path.is_file(),
            "{} is missing: run `cargo xtask install` into DUSHMEM_PREFIX",
            path.display()
        );
        return path;
    }
    built(name, "cargo build -p dushmem-cli --bins")
}

/// A program from the build folder's `examples`.
///
/// # Panics
/// As [`program`].
pub fn example(name: &str) -> PathBuf {
    built(&format!("examples/{name}"), "cargo build --examples")
}

/// A shared library that cargo built together with the running test.
///
/// # Panics
/// As [`program`].
pub fn library(name: &str) -> PathBuf {
    built(&format!("lib{name}.so"), "cargo build")
}

fn built(name: &str, how: &str) -> PathBuf {
    let test = std::env::current_exe().expect("/proc is mounted");
    // target/PROFILE/deps/test-0123, or target/PROFILE/program.
    let found = test.ancestors().skip(1).take(2).map(|dir| dir.join(name)).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("{name} is not built beside {}: run `{how}`", test.display()))
}

/// Path of a program of the system, if it is installed.
pub fn system(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|path| path.is_file())
}

/// Whether a program of the system is installed; says so where it is not, since a test is left out then.
pub fn installed(name: &str) -> bool {
    let there = system(name).is_some();
    if !there {
        eprintln!("skipped: {name} is not installed");
    }
    there
}

/// nvcc: `$DUSHMEM_NVCC`, which has to run; else the one of the wheels that `cargo xtask test` installs, or of the PATH.
///
/// # Panics
/// Where `$DUSHMEM_NVCC` does not run.
pub fn nvcc() -> Option<PathBuf> {
    let runs = |path: &Path| {
        std::process::Command::new(path).arg("--version").output().is_ok_and(|out| out.status.success())
    };
    if let Some(asked) = std::env::var_os("DUSHMEM_NVCC").map(PathBuf::from) {
        assert!(runs(&asked), "DUSHMEM_NVCC={}: does not run", asked.display());
        return Some(asked);
    }
    // `target/PROFILE/deps/test` beside `target/venv/lib/python3.x/site-packages/nvidia/cu13/bin/nvcc`.
    let test = std::env::current_exe().ok()?;
    let pythons = test.ancestors().nth(3).and_then(|target| std::fs::read_dir(target.join("venv/lib")).ok());
    let wheels = pythons.into_iter().flatten().flatten();
    let wheels = wheels.map(|python| python.path().join("site-packages/nvidia/cu13/bin/nvcc"));
    wheels.chain(system("nvcc")).find(|path| runs(path))
}

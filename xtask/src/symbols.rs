//! `cargo xtask symbols`: what the built library exports, against the table.
use crate::codegen;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

/// Where cargo puts what it builds.
fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| codegen::root().join("target"), PathBuf::from)
}

/// Names that `library` exports.
fn exported(library: &PathBuf) -> Result<BTreeSet<String>, String> {
    let output = Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(library)
        .output()
        .map_err(|error| format!("nm: {}; install binutils", crate::workspace::reason(&error)))?;
    if !output.status.success() {
        return Err(format!("nm {}: {}", library.display(), String::from_utf8_lossy(&output.stderr).trim()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| line.split_whitespace().last()).map(str::to_string).collect())
}

/// Prints counts and sizes; fails where a name of the table is missing.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let library = match arguments {
        [] => {
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let built =
                Command::new(cargo).args(["build", "--quiet", "--release", "-p", "dushmem-capi"]).status();
            if !built.is_ok_and(|status| status.success()) {
                return Err("cannot build dushmem-capi".into());
            }
            target_dir().join("release/libdushmem_capi.so")
        }
        [path] => PathBuf::from(path),
        _ => return Err("usage: cargo xtask symbols [LIBRARY]".into()),
    };
    let wanted = codegen::exported_names()?;
    let found = exported(&library)?;
    let missing: Vec<&String> = wanted.iter().filter(|name| !found.contains(*name)).collect();
    for family in ["dushmem", "nvshmem", "shmem"] {
        let (plain, extension) = (format!("{family}_"), format!("{family}x_"));
        let count = |prefix: &str| found.iter().filter(|name| name.starts_with(prefix)).count();
        println!("{family:8} {:5} names, {:4} extensions", count(&plain), count(&extension));
    }
    let size = std::fs::metadata(&library).map_err(|error| error.to_string())?.len();
    println!(
        "{} names, {} of them of the table, {} missing",
        found.len(),
        wanted.len() - missing.len(),
        missing.len()
    );
    println!("{}: {} kB", library.display(), size / 1000);
    match missing.as_slice() {
        [] => Ok(()),
        names => {
            Err(format!("not exported: {}", names.iter().map(|s| s.as_str()).collect::<Vec<_>>().join(" ")))
        }
    }
}

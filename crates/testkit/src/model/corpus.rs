//! The inputs that are kept: what fuzzing found, and enough others to reach every call.
use crate::installation::root;
use std::path::PathBuf;

/// Where the inputs for one model (`alloc`, `strided`, `teams`) lie.
pub fn folder(model: &str) -> PathBuf {
    root().join("fuzz/corpus").join(model)
}

/// The inputs for one model, with their names, in the order of these.
///
/// # Panics
/// Where there are none.
pub fn inputs(model: &str) -> Vec<(String, Vec<u8>)> {
    let folder = folder(model);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display()));
    let mut inputs: Vec<(String, Vec<u8>)> = entries
        .flatten()
        .filter(|entry| entry.path().is_file())
        .map(|entry| {
            let bytes = std::fs::read(entry.path()).unwrap_or_else(|why| panic!("{:?}: {why}", entry.path()));
            (entry.file_name().to_string_lossy().into_owned(), bytes)
        })
        .collect();
    inputs.sort_unstable();
    assert!(!inputs.is_empty(), "{} has no inputs", folder.display());
    inputs
}

//! The library exports what the table says: `names.txt` is generated from it.
mod common;
use std::collections::BTreeSet;
use std::process::Command;

/// Names of parts of the library that are not in the table.
const OTHER_PARTS: [&str; 2] = ["dushmem_emu_", "rust_"];

#[test]
fn every_name_of_the_table_is_exported_and_no_other() {
    let output = common::succeed(Command::new("nm").args(["-D", "--defined-only"]).arg(common::library()));
    let text = String::from_utf8_lossy(&output.stdout);
    let found: BTreeSet<&str> = text.lines().filter_map(|line| line.split_whitespace().last()).collect();
    let wanted: BTreeSet<&str> = include_str!("names.txt").lines().collect();
    assert!(wanted.len() > 3900, "the list is cut off: {} names", wanted.len());
    for family in ["dushmem_", "nvshmem_", "shmem_"] {
        assert!(wanted.contains(format!("{family}int_put").as_str()), "{family}int_put is not in the list");
    }
    let missing: Vec<_> = wanted.difference(&found).collect();
    assert!(missing.is_empty(), "not exported: {missing:?}");
    let more: Vec<_> = found
        .difference(&wanted)
        .filter(|name| !OTHER_PARTS.iter().any(|prefix| name.starts_with(prefix)))
        .collect();
    assert!(more.is_empty(), "exported, but not in the table: {more:?}");
}

#[test]
fn the_library_is_found_under_its_versioned_name() {
    let output = common::succeed(Command::new("readelf").arg("-d").arg(common::library()));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("[libdushmem.so.0]"), "no SONAME libdushmem.so.0 in\n{text}");
}

//! The rules of ARCHITECTURE.md that a program can check.
use dushmem_testkit::installation::root;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files below these folders with these extensions, relative to the workspace, build results aside.
fn files(folders: &[&str], extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    while let Some(folder) = open.pop() {
        for entry in
            fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())).flatten()
        {
            let (path, name) = (entry.path(), entry.file_name());
            if path.is_dir() && name != "target" && !path.is_symlink() {
                open.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extensions.iter().any(|wanted| extension == *wanted))
            {
                found.push(path.strip_prefix(root()).expect("below the root").to_path_buf());
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Words of letters, digits and `_`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
        .filter(|word| !word.is_empty())
}

/// For each package of the workspace, the packages that it needs when it is used (not for its tests).
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let out = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root())
        .output();
    let out = out.expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&out.stdout).expect("cargo metadata is JSON");
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_string();
    let packages = metadata["packages"].as_array().expect("packages");
    let needs = |package: &Value| {
        let all = package["dependencies"].as_array().expect("dependencies").iter();
        all.filter(|dependency| dependency["kind"].is_null())
            .map(|dependency| text(dependency, "name"))
            .collect()
    };
    packages.iter().map(|package| (text(package, "name"), needs(package))).collect()
}

/// What each crate may stand on.
fn allowed(package: &str) -> Option<&'static [&'static str]> {
    Some(match package {
        "dushmem-os" => &[],
        "dushmem-core" => &["os"],
        // A library of its own, for tests.
        "dushmem-cuda-standin" => &["os"],
        "dushmem-boot" | "dushmem-emu" | "dushmem-ucx" | "dushmem-cuda" => &["core", "os"],
        "dushmem-backends" => &["boot", "emu", "ucx", "cuda", "core", "os"],
        "dushmem" | "dushmem-capi" => &["backends", "emu", "core", "os"],
        // Only dushinfo looks at the engine; the next test but one holds the others to `boot` and `os`.
        "dushmem-cli" => &["boot", "os", "backends", "dushmem"],
        // What all programs have in common.
        "dushmem-bench" => &["dushmem", "cli", "os"],
        "dushmem-testkit" => &["boot", "core", "os", "dushmem"],
        "xtask" => &[],
        _ => return None,
    })
}

#[test]
fn crates_stand_on_those_below() {
    let all = dependencies();
    assert!(all.len() >= 10, "only {} packages: {:?}", all.len(), all.keys());
    let mut wrong = Vec::new();
    for (package, needs) in &all {
        let allowed =
            allowed(package).unwrap_or_else(|| panic!("{package} has no place in the dependency rule yet"));
        for need in needs.iter().filter(|need| all.contains_key(*need)) {
            let short = need.strip_prefix("dushmem-").unwrap_or(need);
            if !allowed.contains(&short) {
                wrong.push(format!("{package} -> {need}"));
            }
        }
    }
    assert!(wrong.is_empty(), "not allowed: {}", wrong.join(", "));
}

#[test]
fn only_os_makes_system_calls() {
    let mut wrong = Vec::new();
    for (package, needs) in dependencies() {
        let direct =
            needs.iter().filter(|need| ["libc", "rustix", "nix", "syscalls"].contains(&need.as_str()));
        wrong.extend(
            direct.filter(|_| package != "dushmem-os").map(|need| format!("{package} depends on {need}")),
        );
    }
    for path in files(&["crates", "xtask/src"], &["rs"]) {
        let in_os = path.starts_with("crates/os");
        let text = read(&path);
        if !in_os && text.contains("asm!") && text.contains("\"syscall") {
            wrong.push(format!("{} makes system calls by itself", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_launcher_and_the_wrapper_do_without_the_engine() {
    for path in files(&["crates/cli/src/dushrun", "crates/cli/src/dushcc"], &["rs"]) {
        let text = read(&path);
        let engine = words(&text)
            .find(|word| ["dushmem_core", "dushmem_backends", "dushmem_emu", "dushmem_capi"].contains(word));
        assert_eq!(engine, None, "{}", path.display());
    }
}

#[test]
fn files_stay_short() {
    let generated = |path: &Path| {
        let name = path.to_string_lossy();
        name.contains("/gen/")
            || read(path).lines().take(3).any(|line| line.to_lowercase().contains("generated"))
    };
    let all = files(&["crates", "xtask", "include/dushmem", "examples"], &["rs", "h", "c", "cpp", "inc"]);
    let lines = |path: &PathBuf| read(path).lines().count();
    let long: Vec<String> = all
        .iter()
        .filter(|path| lines(path) >= 600 && !generated(path))
        .map(|path| format!("{}: {} lines", path.display(), lines(path)))
        .collect();
    assert!(all.len() > 50, "only {} files seen", all.len());
    assert!(long.is_empty(), "600 lines or more: {}", long.join(", "));
}

#[test]
fn declaring_files_only_declare() {
    for path in files(&["crates"], &["rs"]) {
        let name = path.file_name().unwrap_or_default();
        let in_sources = path.components().any(|part| part.as_os_str() == "src");
        if !in_sources || !(name == "lib.rs" || name == "mod.rs") {
            continue;
        }
        let text = read(&path);
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//")).count();
        let bodies =
            text.lines().filter(|line| line.starts_with("fn ") || line.starts_with("pub fn ")).count();
        let generated = path.to_string_lossy().contains("/gen/");
        assert!(
            generated || bodies <= 2 || code < 60,
            "{} has {bodies} functions in {code} lines",
            path.display()
        );
    }
}

/// Names of functions that the headers of the three families declare.
fn family_names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for header in ["dushmem.h", "dushmemx.h", "nvshmem.h", "nvshmemx.h", "shmem.h", "shmemx.h"] {
        let text = read(&Path::new("include").join(header));
        let prefixes = ["dushmem_", "dushmemx_", "nvshmem_", "nvshmemx_", "shmem_", "shmemx_", "pshmem_"];
        names.extend(
            words(&text)
                .filter(|word| prefixes.iter().any(|prefix| word.starts_with(prefix)))
                .map(str::to_string),
        );
    }
    names
}

#[test]
fn names_of_the_families_stay_in_the_c_crate() {
    let names = family_names();
    assert!(names.len() > 1000, "only {} names in the headers", names.len());
    let mut wrong = Vec::new();
    for path in files(&["crates"], &["rs"]) {
        let in_sources = path.components().any(|part| part.as_os_str() == "src");
        // The C names themselves; texts of programs that tests compile; the benchmark's C programs.
        let exempt = ["crates/capi", "crates/testkit", "crates/bench", "crates/cli/src/dushcc/tests"];
        if !in_sources || exempt.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        let text = read(&path);
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let own = |word: &&str| {
            names.contains(*word) && !["dushmem_core", "dushmem_os", "dushmem_boot"].contains(word)
        };
        let found: BTreeSet<&str> = code.flat_map(words).filter(own).collect();
        wrong.extend(found.iter().map(|word| format!("{}: {word}", path.display())));
    }
    assert!(wrong.is_empty(), "names of a family outside of crates/capi:\n{}", wrong.join("\n"));
}

#[test]
fn the_wrapper_script_of_ci_calls_the_test_task_and_nothing_else() {
    let script = read(Path::new(".ci/run"));
    let calls: Vec<&str> = script.lines().filter(|line| line.contains("cargo")).collect();
    assert_eq!(calls, ["exec cargo xtask test"]);
}

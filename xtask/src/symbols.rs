//! `cargo xtask symbols`: what the built library exports and what the headers declare, against lists of names.
use crate::codegen::{self, Extension};
use crate::workspace::{reason, root};
use object::{Object, ObjectSymbol};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

type Names = BTreeSet<String>;

/// Names of parts of the library that no list has: the emulator's runtime, and the language's.
const OTHER_PARTS: [&str; 2] = ["dushmem_emu_", "rust_"];

/// The families with their lists in `api/names`, and how their names begin.
const FAMILIES: [(&str, &[&str]); 3] = [
    ("dushmem", &["dushmem_", "dushmemx_"]),
    ("nvshmem-host", &["nvshmem"]),
    // Old names have no prefix, and each name has a twin.
    ("openshmem-1.6", &[]),
];

/// The family of a name.
fn family(name: &str) -> &'static str {
    let starts = |(_, prefixes): &&(&str, &[&str])| prefixes.iter().any(|prefix| name.starts_with(prefix));
    FAMILIES.iter().find(starts).unwrap_or(&FAMILIES[2]).0
}

/// Names that the shared library exports.
fn exported(library: &Path) -> Result<Names, String> {
    let shown = library.display();
    let bytes = fs::read(library).map_err(|error| format!("{shown}: {}", reason(&error)))?;
    let file = object::File::parse(&*bytes).map_err(|error| format!("{shown}: {error}"))?;
    let symbols = file.dynamic_symbols().filter(ObjectSymbol::is_definition);
    let names = symbols.filter_map(|symbol| Some(symbol.name().ok()?.to_owned()));
    Ok(names.filter(|name| !OTHER_PARTS.iter().any(|prefix| name.starts_with(prefix))).collect())
}

/// Names of the functions that the public headers declare: the generated ones have one a line.
fn declared(include: &Path) -> Result<Names, String> {
    let mut names = Names::new();
    for header in ["dushmem", "dushmemx", "nvshmem", "nvshmemx", "shmem", "shmemx", "pshmem"] {
        let path = include.join(header).with_extension("h");
        let text =
            fs::read_to_string(&path).map_err(|error| format!("{}: {}", path.display(), reason(&error)))?;
        names.extend(text.lines().filter_map(prototype).map(str::to_owned));
    }
    Ok(names)
}

/// The name that a line declares as a function.
fn prototype(line: &str) -> Option<&str> {
    let other = ["#", " ", "/", "typedef "].iter().any(|start| line.starts_with(start));
    let (before, _) = line.strip_suffix(");").filter(|_| !other)?.split_once('(')?;
    Some(before.rsplit([' ', '*']).next().unwrap_or(before))
}

/// What is wrong, one finding a line.
struct Findings(Vec<String>);

impl Findings {
    fn add(&mut self, what: &str, names: &[&String]) {
        if !names.is_empty() {
            let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
            self.0.push(format!("{what}: {}", names.join(" ")));
        }
    }
}

/// Whether a row of `api/extensions.tsv` allows the name, or the one that it is the twin of.
fn allows(row: &Extension, name: &str) -> bool {
    let twin = name.strip_prefix('p').filter(|rest| rest.starts_with("shmem"));
    [Some(name), twin].into_iter().flatten().any(|name| row.names.iter().any(|names| matches(names, name)))
}

/// Whether a name is one of a pattern, in which `*` stands for a type's name: letters and digits.
pub fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| {
            let word = rest.chars().take_while(char::is_ascii_alphanumeric).count();
            (1..=word).any(|length| matches(after, &rest[length..]))
        }),
    }
}

/// Compares, and prints a line a family.
fn compare(library: &Path, include: &Path) -> Result<Findings, String> {
    let (exported, declared) = (exported(library)?, declared(include)?);
    let (extensions, later) = (codegen::extensions()?, codegen::later_names()?);
    let mut findings = Findings(Vec::new());
    for (list, _) in FAMILIES {
        let path = root().join(format!("api/names/{list}.txt"));
        let text =
            fs::read_to_string(&path).map_err(|error| format!("{}: {}", path.display(), reason(&error)))?;
        let wanted: Names = text.lines().map(str::to_owned).collect();
        let ours =
            |names: &Names| -> Names { names.iter().filter(|name| family(name) == list).cloned().collect() };
        let (exported, declared) = (ours(&exported), ours(&declared));
        let allowed = |name: &String| extensions.iter().any(|row| allows(row, name));
        let hidden = |name: &String| extensions.iter().any(|row| !row.declared && allows(row, name));
        let (awaited, missing): (Vec<_>, Vec<_>) =
            wanted.difference(&exported).partition(|name| later.contains(*name));
        let (more, unexpected): (Vec<_>, Vec<_>) =
            exported.difference(&wanted).partition(|name| allowed(name));
        let undeclared: Vec<_> = exported.difference(&declared).filter(|name| !hidden(name)).collect();
        let too_many: Vec<_> =
            declared.difference(&exported).chain(declared.iter().filter(|n| hidden(n))).collect();
        println!(
            "{list:14} {:5} names: {} missing, {} still to come; beyond them {} extensions, {} unexpected",
            wanted.len(),
            missing.len(),
            awaited.len(),
            more.len(),
            unexpected.len(),
        );
        findings.add(&format!("{list}: not exported"), &missing);
        findings.add(&format!("{list}: exported, but in no list and not in api/extensions.tsv"), &unexpected);
        findings.add(&format!("{list}: exported, but declared in no header"), &undeclared);
        findings.add(&format!("{list}: declared, but not exported, or said to be in no header"), &too_many);
    }
    for row in &extensions {
        let unused = row.names.iter().filter(|names| !exported.iter().any(|name| matches(names, name)));
        let still = |names: &&String| !later.iter().any(|name| matches(names, name));
        findings.add(
            &format!("api/extensions.tsv: {}: no such name is exported", row.what),
            &unused.filter(still).collect::<Vec<_>>(),
        );
    }
    Ok(findings)
}

/// The library and the headers that the command line names, or those of this workspace, built now.
fn subjects(arguments: &[String]) -> Result<(PathBuf, PathBuf), String> {
    match arguments {
        [] => {
            let built = crate::workspace::cargo()
                .args(["build", "--quiet", "--release", "-p", "dushmem-capi"])
                .status();
            if !built.is_ok_and(|status| status.success()) {
                return Err("cannot build dushmem-capi".into());
            }
            Ok((crate::workspace::target()?.join("release/libdushmem_capi.so"), root().join("include")))
        }
        [option, prefix] if option == "--prefix" => {
            let prefix = Path::new(prefix);
            Ok((prefix.join("lib/libdushmem.so"), prefix.join("include")))
        }
        [library] if !library.starts_with('-') => Ok((library.into(), root().join("include"))),
        _ => Err("usage: cargo xtask symbols [LIBRARY | --prefix DIR]".into()),
    }
}

/// Prints counts and the size; fails where something is missing or too much.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let (library, include) = subjects(arguments)?;
    let findings = compare(&library, &include)?;
    let size = fs::metadata(&library).map_err(|error| reason(&error))?.len();
    println!("{}: {} kB", library.display(), size / 1000);
    match findings.0.as_slice() {
        [] => Ok(()),
        lines => Err(lines.join("\nxtask: ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_a_type() {
        assert!(matches("shmem_*_put", "shmem_int_put") && matches("shmem_put*", "shmem_put128"));
        assert!(!matches("shmem_*_put", "shmem_ctx_int_put"), "more than a type");
        assert!(
            !matches("shmem_*_put", "shmem__put") && !matches("shmem_put*", "shmem_put"),
            "less than a type"
        );
        assert!(matches("a", "a") && !matches("a", "ab"));
    }

    #[test]
    fn prototypes_are_found() {
        assert_eq!(prototype("void *shmem_malloc(size_t size);"), Some("shmem_malloc"));
        assert_eq!(
            prototype("DUSHMEM_IMPL_NORETURN void shmem_global_exit(int status);"),
            Some("shmem_global_exit")
        );
        assert_eq!(prototype("#define shmem_sync(...) f(x);"), None);
        assert_eq!(prototype("    return f(x);"), None);
        assert_eq!(prototype("typedef int (*callback)(void *state);"), None);
    }

    #[test]
    fn a_library_and_headers_that_differ_are_found_out() {
        // A library that has none of the names: every comparison has something to say.
        let me = std::env::current_exe().expect("/proc is mounted");
        let findings = compare(&me, &root().join("include")).expect("an executable has a table of symbols").0;
        for what in [
            "openshmem-1.6: not exported: _my_pe",
            "nvshmem-host: not exported",
            "declared, but not exported",
        ] {
            assert!(findings.iter().any(|line| line.contains(what)), "{what} is not in {findings:.200?}");
        }
    }
}

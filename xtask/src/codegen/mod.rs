//! `cargo xtask codegen`: everything typed comes from the one table in `api/`.
mod check;
mod device;
mod expand;
mod generic;
mod header;
mod inline;
mod kernels;
mod library;
mod pages;
mod rust;
mod table;
mod typedefs;

use std::path::{Path, PathBuf};

/// The workspace's folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// A row of `api/extensions.tsv`: names beyond those of the standards.
#[derive(Clone, Debug)]
pub struct Extension {
    /// Names, in which `*` stands for a type's.
    pub names: Vec<String>,
    /// False: no header has them.
    pub declared: bool,
    /// What they are.
    pub what: String,
}

/// What there is beyond the standards' names.
pub fn extensions() -> Result<Vec<Extension>, String> {
    let table = table::Table::load(&root().join("api"))?;
    let row = |fields: &Vec<String>| {
        let patterns = fields[0].split(' ').filter(|pattern| *pattern != "-");
        let names = patterns.flat_map(braces).collect();
        Extension { names, declared: fields[2] != "no", what: fields[3].clone() }
    };
    Ok(table.extensions.iter().map(row).collect())
}

/// What a pattern with `{one,other}` stands for, as in a shell.
fn braces(pattern: &str) -> Vec<String> {
    let parts = pattern.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    let Some((before, (choices, after))) = parts else { return vec![pattern.to_owned()] };
    let ends = braces(after);
    choices
        .split(',')
        .flat_map(|choice| ends.iter().map(move |end| format!("{before}{choice}{end}")))
        .collect()
}

/// Names of the table that are not there yet.
pub fn later_names() -> Result<std::collections::BTreeSet<String>, String> {
    let table = table::Table::load(&root().join("api"))?;
    let later = table.ops.iter().filter(|op| op.body.is_none());
    let functions =
        later.flat_map(|op| op.spaces.iter().flat_map(|space| expand::functions(&table, op, *space)));
    Ok(functions.flat_map(|function| [Some(function.name()), function.twin()]).flatten().collect())
}

/// All names of the `dushmem_` family.
fn own_names(table: &table::Table) -> String {
    let own = |op| {
        let spaces = table::Op::spaces_of(op, table::Family::Dushmem);
        spaces.flat_map(move |space| expand::functions(table, op, space)).map(|function| function.name())
    };
    let mut names: Vec<String> = table.ops.iter().flat_map(own).collect();
    names.sort();
    names.join("\n") + "\n"
}

fn names(table: &table::Table) -> Vec<String> {
    let exported = expand::exported(table);
    let mut names: Vec<String> = exported.iter().map(expand::Function::name).collect();
    names.extend(exported.iter().filter_map(expand::Function::twin));
    names.extend(inline::SUPPORT.iter().map(|name| name.to_string()));
    names.sort();
    names
}

/// Every generated file: path below the root, and text.
fn files() -> Result<Vec<(String, String)>, String> {
    let table = table::Table::load(&root().join("api"))?;
    let mut files = header::public(&table);
    files.extend(device::files(&table));
    files.extend(kernels::files(&table));
    files.push(("api/names/device.txt".into(), kernels::list(&table)));
    files.push(("include/dushmem/gen/constants.h".into(), header::numbers(&table)));
    files.push(("include/dushmem/gen/types.h".into(), inline::types(&table)));
    files.extend(generic::files(&table));
    files.push(("crates/core/src/gen/env.rs".into(), rust::variables(&table)));
    files.extend(rust::exports(&table)?);
    files.extend(pages::pages(&table)?);
    files.push(("api/names/dushmem.txt".into(), own_names(&table)));
    files.push(("crates/capi/tests/names.txt".into(), names(&table).join("\n") + "\n"));
    Ok(files)
}

/// The source of the device functions by name, for tools that link them.
pub fn library_source() -> Result<String, String> {
    Ok(library::source(&table::Table::load(&root().join("api"))?))
}

/// Their names in the other family, each with the function that it stands for.
pub fn aliases() -> Result<Vec<(String, String)>, String> {
    Ok(library::aliases(&table::Table::load(&root().join("api"))?))
}

/// Writes the generated files, or with `--check` says which of them differ.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let check = match arguments {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => return Err("usage: cargo xtask codegen [--check]".into()),
    };
    let files = files()?;
    let mut stale = Vec::new();
    for (path, text) in &files {
        let full = root().join(path);
        if std::fs::read_to_string(&full).is_ok_and(|old| old == *text) {
            continue;
        }
        stale.push(path.as_str());
        if !check {
            full.parent()
                .map_or(Ok(()), std::fs::create_dir_all)
                .map_err(|error| format!("{path}: {}", crate::workspace::reason(&error)))?;
            std::fs::write(&full, text)
                .map_err(|error| format!("{path}: {}", crate::workspace::reason(&error)))?;
        }
    }
    match (check, stale.is_empty()) {
        (_, true) => println!("codegen: {} files are up to date", files.len()),
        (false, false) => println!("codegen: wrote {} of {} files", stale.len(), files.len()),
        (true, false) => {
            return Err(format!(
                "codegen: not what the table says: {}; run cargo xtask codegen",
                stale.join(", ")
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_a_shell() {
        assert_eq!(braces("a{,b}_{c,d}"), ["a_c", "a_d", "ab_c", "ab_d"]);
        assert_eq!(braces("plain"), ["plain"]);
    }

    #[test]
    fn the_generated_files_are_what_the_table_says() {
        for (path, text) in files().expect("the table") {
            let found = std::fs::read_to_string(root().join(&path)).unwrap_or_default();
            assert!(found == text, "{path} is not what the table says: run cargo xtask codegen");
        }
    }
}

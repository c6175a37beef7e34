//! `cargo xtask codegen`: everything typed comes from the one table in `api/`.
mod expand;
mod generic;
mod header;
mod inline;
mod pages;
mod rust;
mod table;
mod typedefs;

use std::path::{Path, PathBuf};

/// The workspace's folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Names that the built library must export: the table's, and those of its headers' inline functions.
pub fn exported_names() -> Result<Vec<String>, String> {
    Ok(names(&table::Table::load(&root().join("api"))?))
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
    files.push(("include/dushmem/gen/host_alias.h".into(), header::aliases(&table)));
    files.push(("include/dushmem/gen/types.h".into(), inline::types(&table)));
    files.extend(generic::files(&table));
    files.push(("crates/core/src/gen/env.rs".into(), rust::variables(&table)));
    files.extend(rust::exports(&table)?);
    files.extend(pages::pages(&table)?);
    files.push(("crates/capi/tests/names.txt".into(), names(&table).join("\n") + "\n"));
    Ok(files)
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
    fn the_generated_files_are_what_the_table_says() {
        for (path, text) in files().expect("the table") {
            let found = std::fs::read_to_string(root().join(&path)).unwrap_or_default();
            assert!(found == text, "{path} is not what the table says: run cargo xtask codegen");
        }
    }
}

//! Tables of the documentation that come from the table: between two comments of a page.
use super::root;
use super::table::Table;
use std::fmt::Write;

const END: &str = "<!-- end -->";

/// The pages with their tables as they should be.
pub fn pages(table: &Table) -> Result<Vec<(String, String)>, String> {
    Ok(vec![
        page("docs/guide/settings.md", "variables", &variables(table))?,
        page("docs/guide/nvshmem-variables.md", "nvshmem", &variables_of_nvshmem(table))?,
        page("docs/guide/errors.md", "numbers", &numbers(table))?,
    ])
}

fn page(path: &str, name: &str, rows: &str) -> Result<(String, String), String> {
    let text = std::fs::read_to_string(root().join(path))
        .map_err(|error| format!("{path}: {}", crate::workspace::reason(&error)))?;
    let text = replace(&text, name, rows).ok_or_else(|| {
        format!("{path}: the line `<!-- {name}: ...` and the line `{END}` after it are missing")
    })?;
    Ok((path.to_owned(), text))
}

/// Puts `rows` between the comment `name` and the end comment behind it.
fn replace(text: &str, name: &str, rows: &str) -> Option<String> {
    let start = text.find(&format!("<!-- {name}:"))?;
    let first = start + text[start..].find('\n')? + 1;
    let end = first + text[first..].find(END)?;
    Some(format!("{}{rows}{}", &text[..first], &text[end..]))
}

fn variables(table: &Table) -> String {
    let mut rows = "| `DUSHMEM_...` | is a | without it | what it does |\n|---|---|---|---|\n".to_owned();
    for f in table.env.iter().filter(|f| f[3].contains('d')) {
        let _ = writeln!(rows, "| `{}` | {} | {} | {} |", f[0], f[1].to_lowercase(), f[2], f[5]);
    }
    rows
}

fn variables_of_nvshmem(table: &Table) -> String {
    let mut rows =
        "| `NVSHMEM_...` | is a | without it | what it does, or why it does nothing |\n|---|---|---|---|\n"
            .to_owned();
    for f in table.env.iter().filter(|f| f[3] == "n") {
        let none = if f[4] == "none" { "nothing: " } else { "" };
        let _ = writeln!(rows, "| `{}` | {} | {} | {none}{} |", f[0], f[1].to_lowercase(), f[2], f[5]);
    }
    rows
}

fn numbers(table: &Table) -> String {
    let mut rows = "| number | name | what is meant |\n|---|---|---|\n".to_owned();
    for (name, code, _, doc) in &table.errors {
        let _ = writeln!(rows, "| {code} | `{name}` | {doc} |");
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_comments_changes() {
        let page = "a\n<!-- x: y -->\nold\nold\n<!-- end -->\nb\n<!-- end -->\n";
        assert_eq!(
            replace(page, "x", "new\n").as_deref(),
            Some("a\n<!-- x: y -->\nnew\n<!-- end -->\nb\n<!-- end -->\n")
        );
        assert_eq!(replace(page, "z", "new\n"), None);
        assert_eq!(replace("<!-- x: y -->\nold\n", "x", "new\n"), None);
    }
}

//! As text for people and as JSON for programs.
use crate::facts::{Facts, Setting};
use std::fmt::Write;

/// For people.
pub fn text(facts: &Facts) -> String {
    let mut out = String::new();
    let list = |names: &[&str]| names.join(", ");
    let _ = writeln!(out, "dushmem {}", facts.version);
    let _ = writeln!(out, "CPUs:       {} usable of {}", facts.cpus, facts.machine_cpus);
    let _ = writeln!(out, "bootstraps: {}", list(facts.bootstraps));
    let _ = writeln!(out, "transports: {}", list(facts.transports));
    let _ = writeln!(out, "devices:    {}", list(facts.devices));
    let _ = writeln!(out, "a program started from here runs {}", facts.start);
    let _ = writeln!(out);
    for setting in &facts.settings {
        let first = &setting.values[0];
        let _ = writeln!(out, "{} = {}  ({})", setting.name, first.value, first.origin);
        for other in
            setting.values[1..].iter().filter(|v| (&v.value, &v.origin) != (&first.value, &first.origin))
        {
            let _ = writeln!(out, "    {}_ names: {}  ({})", other.family, other.value, other.origin);
        }
        let _ = writeln!(out, "    {}", setting.help);
    }
    for (kind, texts) in [("warning", &facts.warnings), ("error", &facts.errors)] {
        for text in texts {
            let _ = writeln!(out, "{kind}: {text}");
        }
    }
    out
}

/// For programs.
pub fn json(facts: &Facts) -> String {
    let strings = |texts: &mut dyn Iterator<Item = &str>| {
        format!("[{}]", texts.map(quote).collect::<Vec<_>>().join(", "))
    };
    let names = |names: &[&'static str]| strings(&mut names.iter().copied());
    let texts = |texts: &[String]| strings(&mut texts.iter().map(String::as_str));
    let value = |setting: &Setting| {
        let values = setting.values.iter().map(|v| {
            let (family, value, origin) = (quote(v.family), quote(&v.value), quote(&v.origin));
            format!("{family}: {{\"value\": {value}, \"origin\": {origin}}}")
        });
        let values = values.collect::<Vec<_>>().join(", ");
        format!(
            "{{\"name\": {}, \"help\": {}, \"values\": {{{values}}}}}",
            quote(&setting.name),
            quote(setting.help)
        )
    };
    let variables = facts.settings.iter().map(value).collect::<Vec<_>>().join(",\n    ");
    format!(
        "{{\n  \"version\": {},\n  \"cpus\": {},\n  \"machine_cpus\": {},\n  \"bootstraps\": {},\n  \"transports\": {},\n  \
         \"devices\": {},\n  \"start\": {},\n  \"variables\": [\n    {variables}\n  ],\n  \"warnings\": {},\n  \"errors\": {}\n}}\n",
        quote(facts.version),
        facts.cpus,
        facts.machine_cpus,
        names(facts.bootstraps),
        names(facts.transports),
        names(facts.devices),
        quote(&facts.start),
        texts(&facts.warnings),
        texts(&facts.errors),
    )
}

/// A JSON string.
fn quote(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted() {
        assert_eq!(quote("a\"b\\c\nd"), "\"a\\\"b\\\\c\\u000ad\"");
    }
}

//! As text for people and as JSON for programs.
use crate::facts::{Facts, Setting, Value};
use serde_json::json;
use std::fmt::Write;

/// For people. `all`: variables without effect too, set or not.
pub fn text(facts: &Facts, all: bool) -> String {
    let mut out = String::new();
    let list = |names: &[&str]| names.join(", ");
    let _ = writeln!(out, "dushmem {}", facts.version);
    let _ = writeln!(out, "CPUs:       {} usable of {}", facts.cpus, facts.machine_cpus);
    let _ = writeln!(out, "bootstraps: {}", list(facts.bootstraps));
    let _ = writeln!(out, "transports: {}", list(facts.transports));
    let _ = writeln!(out, "devices:    {}", list(facts.devices));
    let _ = writeln!(out, "a program started from here runs {}", facts.start);
    let _ = writeln!(out);
    let is_set = |setting: &Setting| setting.values.iter().any(|value| value.origin != "default");
    for setting in facts.settings.iter().filter(|s| all || s.has_effect || is_set(s)) {
        let Some((first, others)) = setting.values.split_first() else { continue };
        let _ = writeln!(out, "{} = {}  ({})", setting.name, first.value, first.origin);
        let differs = |v: &&Value| (&v.value, &v.origin) != (&first.value, &first.origin);
        for other in others.iter().filter(differs) {
            let _ = writeln!(out, "    {}_ names: {}  ({})", other.family, other.value, other.origin);
        }
        let none = if setting.has_effect { "" } else { "no effect: " };
        let _ = writeln!(out, "    {none}{}", setting.help);
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
    let variable = |setting: &Setting| {
        let value = |v: &Value| (v.family.to_owned(), json!({ "value": v.value, "origin": v.origin }));
        let values: serde_json::Map<_, _> = setting.values.iter().map(value).collect();
        json!({
            "name": setting.name,
            "help": setting.help,
            "has_effect": setting.has_effect,
            "values": values,
        })
    };
    let all = json!({
        "version": facts.version,
        "cpus": facts.cpus,
        "machine_cpus": facts.machine_cpus,
        "bootstraps": facts.bootstraps,
        "transports": facts.transports,
        "devices": facts.devices,
        "start": facts.start,
        "variables": facts.settings.iter().map(variable).collect::<Vec<_>>(),
        "warnings": facts.warnings,
        "errors": facts.errors,
    });
    format!("{all:#}\n")
}

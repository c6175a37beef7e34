//! As text for people and as JSON for programs.
use crate::facts::{Facts, Setting, Value};
use dushmem_boot::env::VariableKind;
use dushmem_boot::size::Size;
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
        let value = |v: &Value| {
            let shown = json!({ "value": machine(setting.kind, v), "text": v.value, "origin": v.origin });
            (v.family.to_owned(), shown)
        };
        let values: serde_json::Map<_, _> = setting.values.iter().map(value).collect();
        json!({
            "name": setting.name,
            "kind": match setting.kind {
                VariableKind::Size => "size",
                VariableKind::Number => "number",
                VariableKind::Switch => "switch",
                VariableKind::Text => "text",
            },
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

/// A value as programs want it: bytes and numbers as numbers, switches as true or false, null for what is not set.
/// What can't be read stays text.
fn machine(kind: VariableKind, value: &Value) -> serde_json::Value {
    let text = value.value.trim();
    let is_default = value.origin == "default";
    let is_nvshmems = value.origin.starts_with("NVSHMEM_");
    let read = match kind {
        VariableKind::Size => {
            let size = Size::parse(text).ok().filter(|size| size.rest.is_empty() || !is_nvshmems);
            size.map(|size| json!(size.bytes))
        }
        VariableKind::Number => {
            text.parse::<i64>().map(|n| json!(n)).or(text.parse::<u64>().map(|n| json!(n))).ok()
        }
        // The one default that depends on the family.
        VariableKind::Switch if is_default && text.starts_with("1 in the shmem_ family") => {
            Some(json!(value.family == "shmem"))
        }
        // As NVSHMEM reads it: by the first letter.
        VariableKind::Switch if is_nvshmems => {
            Some(json!(!value.value.starts_with(['0', 'N', 'n', 'F', 'f'])))
        }
        VariableKind::Switch => match text.to_ascii_lowercase().as_str() {
            "1" | "y" | "yes" | "true" | "on" => Some(json!(true)),
            "" | "0" | "n" | "no" | "false" | "off" => Some(json!(false)),
            _ => None,
        },
        VariableKind::Text if is_default && ["unset", "empty", "that of its release"].contains(&text) => {
            Some(serde_json::Value::Null)
        }
        VariableKind::Text => None,
    };
    read.unwrap_or_else(|| json!(value.value))
}

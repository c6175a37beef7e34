//! As text for people and as JSON for programs.
use crate::facts::{Facts, Setting, Value};
use dushmem_boot::env::{VariableKind, quoted};
use dushmem_boot::size::Size;
use serde_json::{Value as Json, json};
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
    if !facts.kernels.is_empty() {
        let _ = writeln!(out, "kernels:    reach the other PEs by {}", facts.kernels);
    }
    facts.gpus.text(&mut out);
    let _ = writeln!(out, "a program started from here runs {}", facts.start);
    let _ = writeln!(out);
    let is_set = |setting: &Setting| setting.values.iter().any(|value| value.origin != "default");
    for setting in facts.settings.iter().filter(|s| all || s.has_effect || is_set(s)) {
        let Some((first, others)) = setting.values.split_first() else { continue };
        let _ = writeln!(out, "{} = {}  ({})", setting.name, quoted(&first.value), first.origin);
        let differs = |v: &&Value| (&v.value, &v.origin) != (&first.value, &first.origin);
        for other in others.iter().filter(differs) {
            let _ =
                writeln!(out, "    {}_ names: {}  ({})", other.family, quoted(&other.value), other.origin);
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

/// A value as JSON has it: sizes are bytes, switches are booleans, a text that is not there is null. What can't
/// be read stays a string.
fn for_programs(kind: VariableKind, value: &Value) -> Json {
    let text = value.value.trim();
    let read = match kind {
        VariableKind::Size => Size::parse(text).ok().map(|size| json!(size.bytes)),
        VariableKind::Number => text.parse::<i64>().ok().map(|number| json!(number)),
        VariableKind::Switch if value.origin.starts_with("NVSHMEM_") => {
            // By the first letter, as its manual says.
            Some(json!(!text.starts_with(['0', 'N', 'n', 'F', 'f'])))
        }
        VariableKind::Switch => match text.to_ascii_lowercase().as_str() {
            "1" | "y" | "yes" | "true" | "on" => Some(json!(true)),
            "" | "0" | "n" | "no" | "false" | "off" => Some(json!(false)),
            _ => None,
        },
        VariableKind::Text => {
            let absent = ["unset", "empty", "that of its release"].contains(&text);
            (absent && value.origin == "default").then_some(Json::Null)
        }
    };
    read.unwrap_or_else(|| json!(value.value))
}

/// For programs.
pub fn json(facts: &Facts) -> String {
    let variable = |setting: &Setting| {
        let value = |v: &Value| {
            let text = (v.origin != "default").then_some(&v.value);
            let value = for_programs(setting.kind, v);
            (v.family.to_owned(), json!({ "value": value, "text": text, "origin": v.origin }))
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
        "kernels_reach_pes_by": facts.kernels,
        "cuda": facts.gpus.json(),
        "start": facts.start,
        "variables": facts.settings.iter().map(variable).collect::<Vec<_>>(),
        "warnings": facts.warnings,
        "errors": facts.errors,
    });
    format!("{all:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_for_programs_have_types() {
        let (size, number, switch, text) =
            (VariableKind::Size, VariableKind::Number, VariableKind::Switch, VariableKind::Text);
        for (kind, origin, value, wanted) in [
            (size, "default", "1G", json!(1u64 << 30)),
            (size, "default", "256 GiB", json!(1u64 << 38)),
            (size, "SMA_X", "20kk", json!(20480)),
            (size, "SMA_X", "much", json!("much")),
            (number, "default", "-1", json!(-1)),
            (number, "DUSHMEM_X", "many", json!("many")),
            (switch, "DUSHMEM_X", "Off", json!(false)),
            (switch, "SHMEM_X", "yes", json!(true)),
            (switch, "SHMEM_X", "perhaps", json!("perhaps")),
            (switch, "NVSHMEM_X", "perhaps", json!(true)),
            (text, "default", "unset", json!(null)),
            (text, "default", "shm", json!("shm")),
            (text, "SHMEM_X", "unset", json!("unset")),
        ] {
            let shown = Value { family: "shmem", value: value.into(), origin: origin.into() };
            assert_eq!(for_programs(kind, &shown), wanted, "{value} of {origin}");
        }
    }
}

//! Gathers what is shown.
use crate::gpus::{self, Gpus};
use dushmem_backends::{BOOTSTRAPS, DEVICES, TRANSPORTS};
use dushmem_boot::detect::{self, Choice};
use dushmem_boot::env::{self, Settings, VARIABLES, VariableKind};

/// Name of each family, and the prefixes of variables that it looks at, in order.
const FAMILIES: [(&str, &[&str]); 3] = [
    ("dushmem", &["DUSHMEM"]),
    ("nvshmem", &["DUSHMEM", "NVSHMEM"]),
    ("shmem", &["DUSHMEM", "SHMEM", "SMA"]),
];

/// One variable's value in one family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The family's name.
    pub family: &'static str,
    pub value: String,
    /// The variable that is set, or "default".
    pub origin: String,
}

/// One variable.
#[derive(Debug)]
pub struct Setting {
    /// Name with the first prefix that it has.
    pub name: String,
    pub help: &'static str,
    pub kind: VariableKind,
    /// False where it does nothing here; `help` says why.
    pub has_effect: bool,
    /// Value in each family that has it.
    pub values: Vec<Value>,
}

/// Everything that is shown.
#[derive(Debug)]
pub struct Facts {
    pub version: &'static str,
    /// CPUs of the affinity mask and cgroup.
    pub cpus: usize,
    /// CPUs of the machine.
    pub machine_cpus: usize,
    pub bootstraps: &'static [&'static str],
    pub transports: &'static [&'static str],
    pub devices: &'static [&'static str],
    /// How kernels reach the other PEs in this environment.
    pub kernels: &'static str,
    /// GPUs and who uses them.
    pub gpus: Gpus,
    /// What init would do in this environment.
    pub start: String,
    pub settings: Vec<Setting>,
    pub warnings: Vec<String>,
    /// What init would refuse.
    pub errors: Vec<String>,
}

/// Gathers the facts from the machine and from these environment variables.
pub fn gather(variables: &[(String, String)]) -> Facts {
    let get = |name: &str| variables.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    let mut errors = Vec::new();
    let start = match detect::choose(&get) {
        Ok(Choice::Launcher(line)) => format!("as PE {} of {} in a dushrun job", line.pe, line.npes),
        Ok(Choice::Singleton) => "as a job of one PE".to_owned(),
        Err(error) => {
            errors.push(error.to_string());
            "not at all".to_owned()
        }
    };
    let mut warnings = Vec::new();
    let (mut kernels, mut device) = ("", None);
    for (_, prefixes) in FAMILIES {
        match Settings::read(prefixes, &get) {
            Ok(settings) => {
                kernels = settings.kernel_path();
                device = Some(settings.device);
                add_new(&mut warnings, settings.warnings);
            }
            Err(error) => add_new(&mut errors, vec![error.to_string()]),
        }
    }
    let connections = get("CUDA_DEVICE_MAX_CONNECTIONS");
    let gpus = gpus::gather(device, connections, &mut errors, &mut warnings);
    let value = |variable: &env::Variable, (family, prefixes): (&'static str, &[&str])| {
        // Some names mean different things in two families.
        let own: Vec<&str> =
            prefixes.iter().copied().filter(|prefix| variable.prefixes.contains(prefix)).collect();
        let (value, origin) = match env::find(&own, variable.name, &get) {
            Some(found) => (found.value, found.variable),
            None => (default_in(family, variable.default).to_owned(), "default".to_owned()),
        };
        Value { family, value, origin }
    };
    let setting = |variable: &env::Variable| {
        let has = |(_, prefixes): &&(&str, &[&str])| {
            prefixes.last().is_some_and(|own| variable.prefixes.contains(own))
        };
        Setting {
            name: format!("{}_{}", variable.prefixes.first().unwrap_or(&"DUSHMEM"), variable.name),
            help: variable.help,
            kind: variable.kind,
            has_effect: variable.has_effect,
            values: FAMILIES.iter().filter(has).map(|family| value(variable, *family)).collect(),
        }
    };
    let settings: Vec<Setting> = VARIABLES.iter().map(setting).collect();
    warnings.extend(env::strangers(variables.iter().map(|(name, _)| name.as_str()), true));
    Facts {
        version: env!("CARGO_PKG_VERSION"),
        cpus: dushmem_os::cpu::usable_cpus(),
        machine_cpus: std::fs::read_dir("/sys/devices/system/cpu").map_or(0, |dir| {
            let number =
                |name: &str| name.strip_prefix("cpu").is_some_and(|rest| rest.parse::<u32>().is_ok());
            dir.flatten().filter(|entry| entry.file_name().to_str().is_some_and(number)).count()
        }),
        bootstraps: BOOTSTRAPS,
        transports: TRANSPORTS,
        devices: DEVICES,
        kernels,
        gpus,
        start,
        settings,
        warnings,
        errors,
    }
}

/// A family's part of a default such as `1 in the shmem_ family, else 0`; others are the same in all.
fn default_in(family: &str, default: &'static str) -> &'static str {
    let parts = default.split_once(" in the ").and_then(|(own, rest)| {
        let (of, others) = rest.split_once("_ family, else ")?;
        Some(if of == family { own } else { others })
    });
    parts.unwrap_or(default)
}

fn add_new(all: &mut Vec<String>, more: Vec<String>) {
    for text in more {
        if !all.contains(&text) {
            all.push(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> Facts {
        gather(&pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect::<Vec<_>>())
    }

    fn size(facts: &Facts, family: usize) -> (&str, &str) {
        let setting = facts.settings.iter().find(|s| s.name == "DUSHMEM_SYMMETRIC_SIZE").unwrap();
        (&setting.values[family].value, &setting.values[family].origin)
    }

    #[test]
    fn an_empty_environment_has_defaults_only() {
        let facts = with(&[]);
        assert!(facts.settings.iter().flat_map(|s| &s.values).all(|value| value.origin == "default"));
        assert!(facts.errors.is_empty() && facts.warnings.is_empty());
        assert!(facts.cpus >= 1 && facts.machine_cpus >= facts.cpus);
    }

    #[test]
    fn each_family_finds_its_own_names() {
        let facts = with(&[("SMA_SYMMETRIC_SIZE", "3M"), ("NVSHMEM_SYMMETRIC_SIZE", "2M")]);
        assert_eq!(size(&facts, 0).1, "default");
        assert_eq!(size(&facts, 1), ("2M", "NVSHMEM_SYMMETRIC_SIZE"));
        assert_eq!(size(&facts, 2), ("3M", "SMA_SYMMETRIC_SIZE"));
        let facts = with(&[("SMA_SYMMETRIC_SIZE", "3M"), ("DUSHMEM_SYMMETRIC_SIZE", "1M")]);
        assert!((0..3).all(|family| size(&facts, family) == ("1M", "DUSHMEM_SYMMETRIC_SIZE")));
    }

    #[test]
    fn defaults_are_those_of_the_family() {
        let facts = with(&[]);
        let setting = facts.settings.iter().find(|s| s.name == "DUSHMEM_STATIC").unwrap();
        let values: Vec<_> = setting.values.iter().map(|v| (v.family, v.value.as_str())).collect();
        assert_eq!(values, [("dushmem", "0"), ("nvshmem", "0"), ("shmem", "1")]);
        assert_eq!(default_in("shmem", "empty"), "empty");
    }

    #[test]
    fn variables_without_effect_are_known() {
        let facts = with(&[("NVSHMEM_IB_SL", "3")]);
        let setting = facts.settings.iter().find(|s| s.name == "NVSHMEM_IB_SL").unwrap();
        assert!(!setting.has_effect && setting.help.contains("network"), "{setting:?}");
        let value = Value { family: "nvshmem", value: "3".into(), origin: "NVSHMEM_IB_SL".into() };
        assert_eq!(setting.values, [value]);
        assert!(facts.warnings.is_empty() && facts.errors.is_empty());
        assert!(with(&[("DUSHMEM_IB_SL", "3")]).warnings[0].contains("no such variable"));
    }

    #[test]
    fn what_init_refuses_or_ignores_is_told() {
        let facts = with(&[("DUSHMEM_SYMMETRIC_SIZE", "much"), ("DUSHMEM_NONSENSE", "1"), ("PMI_SIZE", "4")]);
        assert_eq!(facts.errors.len(), 2, "{facts:?}");
        assert!(facts.errors[0].contains("PMI_SIZE=4") && facts.errors[1].contains("much"));
        assert!(facts.warnings.iter().any(|warning| warning.contains("DUSHMEM_NONSENSE")));
    }
}

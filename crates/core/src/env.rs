//! Settings from the environment, read once at init.
use crate::error::{Error, Result};
use crate::size::Size;

pub use crate::gen_env::{VARIABLES, Variable, VariableKind};

/// Which path data takes to a peer of the same node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportKind {
    /// Loads and stores.
    Shm,
    /// The transport that hides mappings and delays and reorders, for tests.
    Loopback,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The variable that was set, with its family's prefix.
    pub variable: String,
    /// Its value.
    pub value: String,
}

/// What the environment says.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes of symmetric host heap a PE.
    pub heap_size: u64,
    /// Teams that one PE can be a member of at the same time, predefined ones included.
    pub team_slots: usize,
    /// Path to peers.
    pub transport: TransportKind,
    /// Seed of the loopback transport.
    pub loopback_seed: u64,
    /// Whether C globals are symmetric; `None`: the skin decides.
    pub static_data: Option<bool>,
    /// Whether large blocks are backed by huge pages where the kernel does that.
    pub huge_pages: bool,
    /// Same heap addresses on all PEs where possible.
    pub equal_addresses: bool,
    /// CPUs to count with instead of those of the affinity mask; 0: ask the system.
    pub cpus: usize,
    /// One line about the library and the heap at init.
    pub print_version: bool,
    /// Things worth a warning that were found while reading.
    pub warnings: Vec<String>,
}

/// A variable of this process.
pub fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// Looks for `name` under each prefix in turn.
pub fn find(prefixes: &[&str], name: &str, get: &dyn Fn(&str) -> Option<String>) -> Option<Found> {
    prefixes.iter().find_map(|prefix| {
        let variable = format!("{prefix}_{name}");
        get(&variable).map(|value| Found { variable, value })
    })
}

/// Variables with the prefix that are not settings of the library: those of the tools and of the launcher.
const OTHERS: [&str; 9] = [
    "DUSHMEM_LAUNCH",
    "DUSHMEM_PE",
    "DUSHMEM_NPES",
    "DUSHMEM_CC",
    "DUSHMEM_CXX",
    "DUSHMEM_PREFIX",
    "DUSHMEM_NVCC",
    "DUSHMEM_EMU_DEVICES",
    "DUSHMEM_EMU_REMOTE",
];

/// What is worth saying about the names of the variables that are set: near misses of those that dushmem reads,
/// under any family's prefix, and, if `all`, names with its own prefix that it knows nothing of.
pub fn strangers<'a>(names: impl IntoIterator<Item = &'a str>, all: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    for full in names {
        let prefix = ["DUSHMEM_", "NVSHMEM_", "SHMEM_", "SMA_"].into_iter().find(|p| full.starts_with(p));
        let Some((prefix, name)) = prefix.map(|p| (p, &full[p.len()..])) else { continue };
        let known = VARIABLES.iter().any(|v| v.name == name) || OTHERS.contains(&full);
        if known || full.starts_with("DUSHMEM_TESTKIT_") {
            continue;
        }
        match VARIABLES.iter().find(|v| v.name.len() > 4 && distance(v.name, name) <= 2) {
            Some(v) => warnings.push(format!("{full} is set; is {prefix}{} meant?", v.name)),
            None if all && prefix == "DUSHMEM_" => {
                warnings.push(format!("{full} is set, but dushmem has no such variable"));
            }
            None => {}
        }
    }
    warnings
}

/// Letters to insert, remove or replace to get from one word to the other.
fn distance(a: &str, b: &str) -> usize {
    let b = b.as_bytes();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

impl Settings {
    /// Reads the settings. `prefixes` are tried in order, `DUSHMEM` first; `get` looks a variable up.
    pub fn read(prefixes: &[&str], get: &dyn Fn(&str) -> Option<String>) -> Result<Settings> {
        let mut warnings = Vec::new();
        let find = |name: &str| find(prefixes, name, get);
        let bad = |found: &Found, why: &str| Error::BadEnvironment {
            variable: found.variable.clone(),
            value: found.value.clone(),
            why: why.to_string(),
        };
        let mut heap_size = 1 << 30;
        if let Some(found) = find("SYMMETRIC_SIZE") {
            let size = Size::parse(&found.value).map_err(|why| bad(&found, why))?;
            if !size.rest.is_empty() {
                warnings.push(format!(
                    "{}={}: read as {} bytes; \"{}\" behind the size was ignored",
                    found.variable, found.value, size.bytes, size.rest
                ));
            }
            if size.bytes > 0 && size.bytes < 4096 {
                warnings.push(format!(
                    "{}={}: a heap of less than a page; the number is in bytes unless K, M, G or T follows",
                    found.variable, found.value
                ));
            }
            heap_size = size.bytes;
        }
        let number = |name: &str, default: u64, min: u64, max: u64| -> Result<u64> {
            let Some(found) = find(name) else { return Ok(default) };
            match found.value.trim().parse::<u64>() {
                Ok(value) if (min..=max).contains(&value) => Ok(value),
                _ => Err(bad(&found, &format!("not a whole number from {min} to {max}"))),
            }
        };
        let switch = |name: &str| -> Result<Option<bool>> {
            let Some(found) = find(name) else { return Ok(None) };
            match found.value.trim().to_ascii_lowercase().as_str() {
                "1" | "y" | "yes" | "true" | "on" => Ok(Some(true)),
                "" | "0" | "n" | "no" | "false" | "off" => Ok(Some(false)),
                _ => Err(bad(&found, "neither yes nor no; write 1 or 0")),
            }
        };
        let transport = match find("TRANSPORT") {
            None => TransportKind::Shm,
            Some(found) => match found.value.trim() {
                "shm" | "auto" => TransportKind::Shm,
                "loopback" => TransportKind::Loopback,
                _ => return Err(bad(&found, "not a transport of this build; there are shm and loopback")),
            },
        };
        Ok(Settings {
            heap_size,
            team_slots: number("TEAM_SLOTS", 256, 8, 2048)? as usize,
            transport,
            loopback_seed: number("LOOPBACK_SEED", 1, 0, u64::MAX)?,
            static_data: switch("STATIC")?,
            huge_pages: switch("HUGE_PAGES")?.unwrap_or(true),
            equal_addresses: switch("EQUAL_ADDRESSES")?.unwrap_or(true),
            cpus: number("CPUS", 0, 0, 65536)? as usize,
            print_version: find("VERSION").is_some(),
            warnings,
        })
    }

    /// The settings of an empty environment.
    pub fn defaults() -> Settings {
        match Settings::read(&[], &|_| None) {
            Ok(settings) => settings,
            Err(error) => unreachable!("an empty environment is valid: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_variable_is_noticed() {
        let of = |name: &'static str| strangers([name], true).pop().unwrap_or_default();
        assert_eq!(
            of("DUSHMEM_SYMETRIC_SIZE"),
            "DUSHMEM_SYMETRIC_SIZE is set; is DUSHMEM_SYMMETRIC_SIZE meant?"
        );
        assert_eq!(of("SHMEM_SYMETRIC_SIZE"), "SHMEM_SYMETRIC_SIZE is set; is SHMEM_SYMMETRIC_SIZE meant?");
        assert!(of("DUSHMEM_NONSENSE").contains("no such variable"));
        assert_eq!(strangers(["DUSHMEM_HOME"], false), [""; 0], "an installation's own variables are fine");
        for fine in [
            "DUSHMEM_SYMMETRIC_SIZE",
            "SMA_SYMMETRIC_SIZE",
            "NVSHMEM_IB_ENABLE_IBGDA",
            "DUSHMEM_LAUNCH",
            "PATH",
        ] {
            assert_eq!(of(fine), "");
        }
    }
}

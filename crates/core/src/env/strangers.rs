//! Variables that are set and that nobody reads: what their names may have been meant to be.
use super::{VARIABLES, Variable};

/// Variables with the prefix that are not settings of the library: those of the tools, of the launcher, and of tests.
const OTHERS: [&str; 9] = [
    "DUSHMEM_LAUNCH",
    "DUSHMEM_PE",
    "DUSHMEM_NPES",
    "DUSHMEM_CC",
    "DUSHMEM_CXX",
    "DUSHMEM_PREFIX",
    "DUSHMEM_NVCC",
    "DUSHMEM_HIPCC",
    "DUSHMEM_TEST_GPU",
];

/// Those that say where something is installed, as environment modules set them.
const PLACES: [&str; 10] =
    ["HOME", "ROOT", "DIR", "PATH", "BIN", "LIB", "LIBDIR", "LIBRARY_PATH", "INC", "INCLUDE"];

/// What is worth saying about the names of the variables that are set: near misses of those that dushmem reads,
/// under any family's prefix, and names with its own prefix that it knows nothing of; if `all`, also those that say where
/// an installation is.
pub fn strangers<'a>(names: impl IntoIterator<Item = &'a str>, all: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    for full in names {
        let prefix = ["DUSHMEM_", "NVSHMEM_", "SHMEM_", "SMA_"].into_iter().find(|p| full.starts_with(p));
        let Some((prefix, name)) = prefix.map(|p| (p, &full[p.len()..])) else { continue };
        let exists = |v: &&Variable| v.prefixes.contains(&prefix.trim_end_matches('_'));
        let known = VARIABLES.iter().filter(exists).any(|v| v.name == name) || OTHERS.contains(&full);
        if known || full.starts_with("DUSHMEM_TESTKIT_") {
            continue;
        }
        // Names with the own prefix are nobody else's, so they may be further off.
        let own = prefix == "DUSHMEM_";
        let far = if own { (name.len() / 3).max(2) } else { 2 };
        let near = VARIABLES
            .iter()
            .filter(exists)
            .filter(|v| v.has_effect && v.name.len() > 4)
            .map(|v| (distance(v.name, name), v))
            .filter(|(apart, _)| *apart <= far)
            .min_by_key(|(apart, _)| *apart);
        // As other libraries call it, or called it once.
        let former = |v: &&Variable| {
            let heap = name == "SYMMETRIC_HEAP_SIZE" || (own && ["HEAP_SIZE", "HEAP"].contains(&name));
            v.name == "SYMMETRIC_SIZE" && heap
        };
        match VARIABLES.iter().filter(exists).find(former).or(near.map(|(_, v)| v)) {
            Some(v) => warnings.push(format!("{full} is set; is {prefix}{} meant?", v.name)),
            None if own && (all || !PLACES.contains(&name)) => {
                warnings.push(format!(
                    "{full} is set, but dushmem has no such variable; dushinfo lists those there are"
                ));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_variable_is_noticed() {
        let of = |name: &str| strangers([name], true).pop().unwrap_or_default();
        assert_eq!(
            of("DUSHMEM_SYMETRIC_SIZE"),
            "DUSHMEM_SYMETRIC_SIZE is set; is DUSHMEM_SYMMETRIC_SIZE meant?"
        );
        for prefix in ["SHMEM", "SMA", "NVSHMEM", "DUSHMEM"] {
            let name = format!("{prefix}_SYMMETRIC_HEAP_SIZE");
            assert_eq!(of(&name), format!("{name} is set; is {prefix}_SYMMETRIC_SIZE meant?"));
        }
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

    #[test]
    fn the_nearest_name_of_the_own_prefix_is_told_at_init() {
        for (name, meant) in [
            ("HEAP_SIZE", "SYMMETRIC_SIZE"),
            ("SYMMETRICSIZES", "SYMMETRIC_SIZE"),
            ("LOOP_BACK_SEEDS", "LOOPBACK_SEED"),
            ("TRANPSORTS", "TRANSPORT"),
        ] {
            let told = strangers([format!("DUSHMEM_{name}").as_str()], false);
            assert_eq!(told, [format!("DUSHMEM_{name} is set; is DUSHMEM_{meant} meant?")]);
        }
        assert!(strangers(["DUSHMEM_NONSENSE"], false)[0].contains("no such variable; dushinfo lists"));
        // Those of other families may be other libraries'.
        assert_eq!(strangers(["NVSHMEM_NONSENSE", "SHMEM_HEAP_SIZE"], true), [""; 0]);
        for internal in ["DUSHMEM_TESTKIT_JOB", "DUSHMEM_TEST_GPU", "DUSHMEM_HIPCC", "DUSHMEM_PE"] {
            assert_eq!(strangers([internal], true), [""; 0]);
        }
    }
}

//! By which of its names a setting was set: messages name that one.
use super::{Found, VARIABLES};
use std::sync::RwLock;

/// The prefixes of names that stand for a setting of dushmem, the usual one first.
const PREFIXES: [&str; 4] = ["DUSHMEM", "NVSHMEM", "SHMEM", "SMA"];
/// Settings that have a name of their own in NVSHMEM.
const OTHERWISE: [(&str, &str); 2] =
    [("TEAM_SLOTS", "NVSHMEM_MAX_TEAMS"), ("DEVICE_HEAP_SIZE", "NVSHMEM_MAX_MEMORY_PER_GPU")];

/// Which variables settings with several names were set by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(Vec<(&'static str, String)>);

/// Those of this process's job.
static IN_USE: RwLock<Names> = RwLock::new(Names(Vec::new()));

/// The names of a setting that has several, in an order that is the same in all processes.
fn all(setting: &str) -> impl Iterator<Item = String> {
    let otherwise = OTHERWISE.iter().find(|(own, _)| *own == setting).map(|(_, name)| (*name).to_owned());
    PREFIXES.map(|prefix| format!("{prefix}_{setting}")).into_iter().chain(otherwise)
}

impl Names {
    /// Asks `find`, which finds what counts for a family's programs.
    pub(super) fn read(find: &dyn Fn(&str) -> Option<Found>) -> Names {
        let set = |setting: &'static str| {
            let found = find(setting).or_else(|| {
                let (_, name) = OTHERWISE.iter().find(|(own, _)| *own == setting)?;
                find(name.split_once('_')?.1)
            })?;
            all(setting).any(|name| name == found.variable).then_some((setting, found.variable))
        };
        // NVSHMEM's variable of the same name as one that has but the own prefix means something else.
        let shared = VARIABLES.iter().filter(|v| v.has_effect && v.prefixes.contains(&"DUSHMEM"));
        let shared =
            shared.filter(|v| v.prefixes.len() > 1 || OTHERWISE.iter().any(|(own, _)| *own == v.name));
        Names(shared.filter_map(|v| set(v.name)).collect())
    }

    /// The variable that a setting was set by.
    fn of(&self, setting: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| *own == setting).map(|(_, name)| name.as_str())
    }

    /// A number for the variable that a setting was set by, the same in all processes; 0: it was not.
    pub(crate) fn number_of(&self, setting: &str) -> u64 {
        let name = self.of(setting);
        all(setting).position(|other| Some(other.as_str()) == name).map_or(0, |at| at as u64 + 1)
    }

    /// The text with the names that were set.
    fn put_into(&self, text: &str) -> String {
        let mut named = String::with_capacity(text.len());
        let of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut rest = text;
        while let Some(at) = rest.find("DUSHMEM_") {
            let (before, from) = rest.split_at(at);
            let (word, after) = from.split_at(from.find(|c| !of_name(c)).unwrap_or(from.len()));
            named += before;
            let whole = !before.ends_with(of_name);
            named += self.of(&word["DUSHMEM_".len()..]).filter(|_| whole).unwrap_or(word);
            rest = after;
        }
        named + rest
    }
}

/// The name that [`Names::number_of`] gave that number for; the usual one where it was not set.
pub(crate) fn name_of(setting: &str, number: u64) -> String {
    all(setting).nth(number.saturating_sub(1) as usize).unwrap_or_default()
}

/// Has messages of this process name the variables that were set. A forked child may find the lock taken for ever, so nobody
/// waits for it.
pub(crate) fn keep(names: &Names) {
    if let Ok(mut kept) = IN_USE.try_write()
        && *kept != *names
    {
        *kept = names.clone();
    }
}

/// A message of the engine, which calls settings `DUSHMEM_...`, with the names that were set.
pub(crate) fn as_set(text: &str) -> String {
    IN_USE.try_read().map_or_else(|_| text.to_owned(), |names| names.put_into(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_names_that_were_set() {
        let all = ["NVSHMEM_SYMMETRIC_SIZE", "NVSHMEM_MAX_TEAMS", "NVSHMEM_DEBUG", "NVSHMEM_BOOTSTRAP"];
        let get = |name: &str| all.contains(&name).then(|| "1".to_owned());
        let names = Names::read(&|name| super::super::find(&["DUSHMEM", "NVSHMEM"], name, &get));
        let text = "DUSHMEM_SYMMETRIC_SIZE=64T: set DUSHMEM_TEAM_SLOTS, DUSHMEM_HEAP_KIND, DUSHMEM_DEBUG_FILE, \
                    DUSHMEM_BOOTSTRAP, DUSHMEM_DEBUG";
        assert_eq!(
            names.put_into(text),
            "NVSHMEM_SYMMETRIC_SIZE=64T: set NVSHMEM_MAX_TEAMS, DUSHMEM_HEAP_KIND, DUSHMEM_DEBUG_FILE, \
             DUSHMEM_BOOTSTRAP, NVSHMEM_DEBUG"
        );
        assert_eq!(names.put_into("XDUSHMEM_DEBUG DUSHMEM_"), "XDUSHMEM_DEBUG DUSHMEM_");
        assert_eq!(Names::default().put_into(text), text);
    }

    #[test]
    fn numbers_stand_for_names() {
        for name in ["SHMEM_TEAM_SLOTS", "NVSHMEM_MAX_TEAMS", "DUSHMEM_TEAM_SLOTS"] {
            let names = Names(vec![("TEAM_SLOTS", name.to_owned())]);
            assert_eq!(name_of("TEAM_SLOTS", names.number_of("TEAM_SLOTS")), name);
        }
        assert_eq!(name_of("TEAM_SLOTS", Names::default().number_of("TEAM_SLOTS")), "DUSHMEM_TEAM_SLOTS");
    }
}

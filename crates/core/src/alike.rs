//! Settings that all PEs of a job must have alike.
use crate::env::{Settings, name_of};
use crate::error::{Error, Result};
use bytemuck::{Pod, Zeroable};

/// A setting as a PE tells it the others.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(crate) struct Told {
    pub(crate) value: u64,
    /// Which of its names it was set by; 0: by none.
    name: u64,
}

impl Told {
    pub(crate) fn new(settings: &Settings, setting: &str, value: u64) -> Told {
        Told { value, name: settings.names.number_of(setting) }
    }
}

/// An error where what the PEs have told of a setting differs. `show` gives a value as one writes it.
pub(crate) fn check(setting: &str, show: fn(u64) -> String, told: &[Told]) -> Result<()> {
    let all = told[0];
    let Some(pe) = told.iter().position(|other| other.value != all.value) else { return Ok(()) };
    let other = told[pe];
    // The name that somebody has written who knows the setting by one of another family.
    let name = name_of(setting, if other.name > 1 { other.name } else { all.name.max(other.name) });
    let by = |told: Told| match name_of(setting, told.name) {
        own if own == name || told.name == 0 => String::new(),
        // A whole name would be taken for the setting, by whichever name this PE has set it.
        _ if told.name == 1 => " by the variable with DUSHMEM_".into(),
        own => format!(" by {own}"),
    };
    let text = format!(
        "{name}: PE 0 has {}{}, PE {pe} has {}{}; start all PEs alike",
        show(all.value),
        by(all),
        show(other.value),
        by(other)
    );
    Err(Error::Disagreement { text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{TransportKind, Words};
    use crate::size::Size;

    const OTHER: [&str; 2] = ["NVSHMEM", "SHMEM"];

    fn differ(setting: &str, show: fn(u64) -> String, told: [(u64, Option<usize>); 3]) -> String {
        let told = told.map(|(value, by)| {
            let get =
                |name: &str| by.filter(|&at| name == format!("{}_{setting}", OTHER[at])).map(|_| "1".into());
            let prefixes = ["DUSHMEM", OTHER[by.unwrap_or(0)]];
            Told::new(
                &Settings::read(&prefixes, &get).unwrap_or_else(|_| Settings::defaults()),
                setting,
                value,
            )
        });
        check(setting, show, &told).unwrap_err().to_string()
    }

    #[test]
    fn values_are_told_as_one_writes_them_with_the_name_that_was_set() {
        let size = |told| differ("SYMMETRIC_SIZE", Size::show, told);
        assert_eq!(
            size([(1 << 30, None), (1 << 30, None), (2 << 20, None)]),
            "PEs disagree: DUSHMEM_SYMMETRIC_SIZE: PE 0 has 1G, PE 2 has 2M; start all PEs alike"
        );
        assert_eq!(
            size([(1 << 30, None), (2 << 20, Some(1)), (3 << 20, Some(1))]),
            "PEs disagree: SHMEM_SYMMETRIC_SIZE: PE 0 has 1G, PE 1 has 2M; start all PEs alike"
        );
        assert_eq!(
            size([(1 << 20, Some(0)), (1 << 20, Some(0)), (2 << 20, Some(1))]),
            "PEs disagree: SHMEM_SYMMETRIC_SIZE: PE 0 has 1M by NVSHMEM_SYMMETRIC_SIZE, PE 2 has 2M; start all PEs alike"
        );
        let (shm, loopback) = (TransportKind::Shm.into(), TransportKind::Loopback.into());
        assert_eq!(
            differ("TRANSPORT", TransportKind::word_of, [(shm, None), (loopback, None), (shm, None)]),
            "PEs disagree: DUSHMEM_TRANSPORT: PE 0 has shm, PE 1 has loopback; start all PEs alike"
        );
    }
}

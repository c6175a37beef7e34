//! Variables that are set, and what their values mean.
use super::{VARIABLES, Words};
use crate::error::{Error, Result};
use crate::size::Size;
use std::borrow::Cow;

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The variable that was set, with its family's prefix.
    pub variable: String,
    /// Its value.
    pub value: String,
}

/// Looks up a variable of this process.
pub type Get<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Found {
    pub(super) fn refused(&self, why: &str) -> Error {
        let (variable, value) = (self.variable.clone(), quoted(&self.value).into_owned());
        Error::BadEnvironment { variable, value, why: why.to_owned() }
    }

    /// The value, a whole number from `min` to `max`.
    pub(super) fn number(&self, min: u64, max: u64) -> Result<u64> {
        match self.value.trim().parse::<u64>() {
            Ok(value) if (min..=max).contains(&value) => Ok(value),
            _ => Err(self.refused(&format!("not a whole number from {min} to {max}"))),
        }
    }

    /// The value, one of the words of its kind, in either case.
    pub(super) fn word<W: Words>(&self, why: &str) -> Result<W> {
        of_word(&self.value).ok_or_else(|| self.refused(why))
    }

    /// The value, a size, and what stands behind it.
    pub(super) fn size(&self) -> Result<Size> {
        Size::parse(&self.value).map_err(|why| self.refused(why))
    }

    /// The value, a size with nothing behind it.
    pub(super) fn bare_size(&self) -> Result<u64> {
        match self.size()? {
            size if size.rest.is_empty() => Ok(size.bytes),
            _ => Err(self.refused("not a size; a number of bytes, or with K, M, G or T")),
        }
    }

    /// Yes or no.
    pub(super) fn switch(&self) -> Result<bool> {
        if self.is_nvshmems() {
            return Ok(self.is_on_for_nvshmem());
        }
        match self.value.trim().to_ascii_lowercase().as_str() {
            "1" | "y" | "yes" | "true" | "on" => Ok(true),
            "0" | "n" | "no" | "false" | "off" => Ok(false),
            _ => Err(self.refused("neither yes nor no; write 1 or 0")),
        }
    }

    /// True where NVSHMEM's rules for values hold.
    pub(super) fn is_nvshmems(&self) -> bool {
        self.variable.starts_with("NVSHMEM_")
    }

    /// Yes or no as NVSHMEM reads it: by the first letter.
    pub(super) fn is_on_for_nvshmem(&self) -> bool {
        !self.value.starts_with(['0', 'N', 'n', 'F', 'f'])
    }
}

/// What a word stands for, in either case and whatever blanks are about it.
pub fn of_word<W: Words>(text: &str) -> Option<W> {
    let text = text.trim().to_ascii_lowercase();
    W::WORDS.iter().find(|(word, _)| *word == text).map(|(_, value)| *value)
}

/// A value as messages have it: in quotes where it could not be seen as it is.
pub fn quoted(value: &str) -> Cow<'_, str> {
    let hidden = value.trim() != value || value.is_empty() || value.contains(char::is_control);
    if hidden { Cow::Owned(format!("{value:?}")) } else { Cow::Borrowed(value) }
}

/// A variable of this process.
pub fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// Whether a variable with that value is set: an empty one is not, unless it is one of those of OpenSHMEM for which any value
/// counts.
fn counts(prefix: &str, name: &str, value: &str) -> bool {
    let any = ["SHMEM", "SMA"].contains(&prefix) && ["VERSION", "INFO", "DEBUG"].contains(&name);
    any || !value.trim().is_empty()
}

/// Looks for `name` under each prefix under which it exists, in turn.
pub fn find(prefixes: &[&str], name: &str, get: Get<'_>) -> Option<Found> {
    let exists = |prefix: &&&str| VARIABLES.iter().any(|v| v.name == name && v.prefixes.contains(prefix));
    prefixes.iter().filter(exists).find_map(|prefix| {
        let variable = format!("{prefix}_{name}");
        get(&variable).filter(|value| counts(prefix, name, value)).map(|value| Found { variable, value })
    })
}

/// A variable that exists with the prefix `DUSHMEM_` only.
pub(super) fn own(name: &str, get: Get<'_>) -> Option<Found> {
    let variable = format!("DUSHMEM_{name}");
    get(&variable).filter(|value| !value.trim().is_empty()).map(|value| Found { variable, value })
}

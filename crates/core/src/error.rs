//! What can go wrong, with the argument, its value, and what to do about it.
//!
//! An error does not know under which name the call was made: the skin that made it puts
//! `PE k: name: ` in front.

use crate::coll::checks;
use std::cell::Cell;
use std::fmt;

thread_local! {
    /// See [`Error::found_at`].
    static FOUND_AT: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Calls, as wait records and reports of disagreement name them. Numbers are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs, reason = "each is the call of its name")]
pub enum Call {
    None = 0,
    Init = 1,
    Finalize = 2,
    Malloc = 3,
    Calloc = 4,
    Align = 5,
    Realloc = 6,
    Free = 7,
    BarrierAll = 8,
    Barrier = 9,
    SyncAll = 10,
    TeamSync = 11,
    Broadcast = 12,
    Fcollect = 13,
    Alltoall = 14,
    Reduce = 15,
    TeamSplit = 16,
    TeamDestroy = 17,
    WaitUntil = 18,
    WaitUntilAll = 19,
    WaitUntilAny = 20,
    WaitUntilSome = 21,
    SignalWaitUntil = 22,
    SetLock = 23,
    Quiet = 24,
    Collect = 25,
    Alltoalls = 26,
    Scan = 27,
    ReduceScatter = 28,
    TeamInit = 29,
    Proxy = 30,
    CollectiveLaunch = 31,
}

impl Call {
    const NAMES: [&'static str; 32] = [
        "nothing",
        "init",
        "finalize",
        "malloc",
        "calloc",
        "align",
        "realloc",
        "free",
        "barrier_all",
        "barrier",
        "sync_all",
        "team_sync",
        "broadcast",
        "fcollect",
        "alltoall",
        "reduce",
        "team_split",
        "team_destroy",
        "wait_until",
        "wait_until_all",
        "wait_until_any",
        "wait_until_some",
        "signal_wait_until",
        "set_lock",
        "quiet",
        "collect",
        "alltoalls",
        "scan",
        "reducescatter",
        "team_init",
        "a request to the proxy",
        "collective_launch",
    ];

    /// The call's name without a family prefix, from its number.
    pub fn name(number: u32) -> &'static str {
        Self::NAMES.get(number as usize).copied().unwrap_or("an unknown call")
    }

    /// The call of that name, as the host or the device headers say it; [`Call::None`] for others.
    pub fn named(name: &str) -> Call {
        let name = match name {
            "sync" => "team_sync",
            "inscan" | "exscan" => "scan",
            name => name,
        };
        let number = Self::NAMES.iter().position(|&known| known == name).unwrap_or(0);
        Self::ALL[number]
    }

    const ALL: [Call; 32] = {
        use Call::*;
        [
            None,
            Init,
            Finalize,
            Malloc,
            Calloc,
            Align,
            Realloc,
            Free,
            BarrierAll,
            Barrier,
            SyncAll,
            TeamSync,
            Broadcast,
            Fcollect,
            Alltoall,
            Reduce,
            TeamSplit,
            TeamDestroy,
            WaitUntil,
            WaitUntilAll,
            WaitUntilAny,
            WaitUntilSome,
            SignalWaitUntil,
            SetLock,
            Quiet,
            Collect,
            Alltoalls,
            Scan,
            ReduceScatter,
            TeamInit,
            Proxy,
            CollectiveLaunch,
        ]
    };
}

/// What is added about a PE that there is not in a program that nothing has launched.
pub(crate) const NOT_LAUNCHED: &str = "; the program was started without dushrun, hence it is a job of one PE: \
                                       \"dushrun -n 2 PROGRAM\" starts two";

/// What messages call memory of the symmetric heap; who knows the name of the call for it says that instead.
pub const OBJECT: &str = "an object from malloc";
/// What is missing where nothing is initialised.
const INIT: &str = "call init first";
/// What messages call the addresses of blocks of a heap.
pub(crate) const BLOCKS: &str = "what malloc, calloc, align or realloc returned";

/// What messages call constants of the C interface, and what their prefix ends with where it is more than the family's.
const CONSTANTS: [(&str, &str); 9] = [
    ("CMP_EQ", ""),
    ("CMP_GE", ""),
    ("CTX_", ""),
    ("INIT_THREAD_PES", "X"),
    ("SIGNAL_ADD", ""),
    ("SIGNAL_SET", ""),
    ("TEAM_CONFIG_INITIALIZER", ""),
    ("TEAM_INVALID", ""),
    ("THREAD_", ""),
];

/// A message with the names of constants and of malloc as programs write them whose names begin with `prefix`.
pub fn for_family(text: &str, prefix: &str) -> String {
    let (mut named, upper) = (String::with_capacity(text.len() + 32), prefix.to_uppercase());
    let blocks = ["malloc", "calloc", "align"].map(|name| format!("{prefix}_{name}")).join(", ");
    let text = text.replace(OBJECT, &format!("an object from {prefix}_malloc"));
    let text = text.replace(INIT, &format!("call {prefix}_init first"));
    let text = text.replace(BLOCKS, &format!("what {blocks} or {prefix}_realloc returned"));
    for (i, c) in text.char_indices() {
        let rest = &text[i..];
        let begins = !named.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        if let Some((_, x)) = CONSTANTS.iter().find(|(name, _)| begins && rest.starts_with(name)) {
            named += &format!("{upper}{x}_");
        }
        named.push(c);
    }
    named
}

/// The prefix of a call's name, where it has that of a family.
pub fn prefix_of(call: &str) -> Option<&str> {
    call.split('_').next().map(|first| first.trim_end_matches('x')).filter(|first| first.ends_with("shmem"))
}

/// A message about `call`, for the family that its name is of.
pub fn for_call(text: &str, call: &str) -> String {
    prefix_of(call).map_or_else(|| text.to_owned(), |prefix| for_family(text, prefix))
}

/// How much memory an argument of a call names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// So many bytes.
    Bytes(usize),
    /// What the caller said of it: a count of elements.
    Said(Box<str>),
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extent::Bytes(n) => f.write_str(&count_bytes(*n as u64)),
            Extent::Said(text) => f.write_str(text),
        }
    }
}

/// What messages call the program's own symmetric memory.
pub(crate) const GLOBALS: &str = "the globals of the executable";

/// A range that starts in symmetric memory, or close behind it, and does not end there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastEnd {
    /// The argument.
    pub arg: &'static str,
    /// Its value.
    pub addr: usize,
    /// How long the range is.
    pub extent: Extent,
    /// Bytes of the object that it starts in, where it starts in one.
    pub object: Option<usize>,
    /// Bytes from the end of the memory to its start, where it starts behind that.
    pub behind: Option<usize>,
    /// Bytes from the end of the memory to its own.
    pub past: usize,
    /// What memory that is.
    pub memory: &'static str,
    /// The stride and count that lead there, as the caller passed them, where there are some.
    pub said: Option<Box<str>>,
}

impl fmt::Display for PastEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PastEnd { arg, addr, extent, object, behind, past, memory, said } = self;
        let past = count_bytes(*past as u64);
        if let Some(said) = said {
            write!(
                f,
                "{said}: the last element ends {extent} after the start of {arg}, {past} past the end of "
            )?;
            write!(f, "{memory}; {arg} = {addr:#x}: ")?;
        } else {
            write!(f, "{arg} = {addr:#x} ({extent}): ")?;
        }
        match (behind, object) {
            (None, Some(n)) if said.is_some() => {
                write!(f, "starts in an object of {}", count_bytes(*n as u64))?
            }
            (None, None) if said.is_some() => write!(f, "starts in {memory}")?,
            (Some(0), _) => write!(f, "starts where {memory} ends, and goes {past} past that")?,
            (Some(n), _) => write!(f, "starts {} past the end of {memory}", count_bytes(*n as u64))?,
            (None, Some(n)) => {
                let object = count_bytes(*n as u64);
                write!(f, "starts in an object of {object} and goes {past} past the end of {memory}")?;
            }
            (None, None) => write!(f, "starts in {memory} and goes {past} past the end")?,
        }
        write!(f, "; all of it has to lie in {}", if *memory == GLOBALS { "one of them" } else { OBJECT })
    }
}

/// An error of the engine. [`Error::code`] is the number that C functions with a status return.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum Error {
    #[error("{arg} = {pe}: there is no such PE; {of} has PEs 0 to {}{hint}", n - 1)]
    BadPe { arg: &'static str, pe: i32, n: usize, of: &'static str, hint: &'static str },
    #[error(
        "{arg} = {addr:#x} ({extent}): not in symmetric memory; pass the address of this PE's own copy of \
         {}{statics}{hint}",
        OBJECT
    )]
    NotSymmetric { arg: &'static str, addr: usize, extent: Extent, statics: &'static str, hint: &'static str },
    #[error("{0}")]
    PastEnd(Box<PastEnd>),
    #[error("{arg} is NULL; NULL is allowed for operations of length 0 only")]
    Null { arg: &'static str },
    #[error("{arg} is NULL; this call needs the address of an object in symmetric memory")]
    NoSymmetric { arg: &'static str },
    #[error("{arg} is NULL; this call needs the address of an object of the program")]
    NoObject { arg: &'static str },
    #[error("{arg} = {value}: {why}")]
    BadValue { arg: &'static str, value: i64, why: &'static str },
    #[error("{text}")]
    BadSet { text: String },
    #[error("{arg} = {addr:#x}: not aligned to {align} bytes, which this operation needs")]
    Misaligned { arg: &'static str, addr: usize, align: usize },
    #[error("team = {handle}: {why}")]
    BadTeam { handle: i32, why: &'static str },
    #[error("ctx = {handle:#x}: {why}")]
    BadContext { handle: usize, why: &'static str },
    #[error(
        "the symmetric heap of {total} bytes has no room for {request} bytes{more}: {used} bytes are in use and {} \
         free, {largest} of them in one piece; {remedy}", total - used
    )]
    OutOfMemory { request: usize, more: String, total: usize, used: usize, largest: usize, remedy: String },
    #[error(
        "no room for {request} bytes of device memory: the device of PE {pe} has {free} free; free memory of that \
         device, run fewer PEs on it, or allocate less (DUSHMEM_DEVICE_HEAP_SIZE bounds the device heap of a PE)"
    )]
    NoDeviceMemory { request: usize, pe: usize, free: String },
    #[error("{arg} = {addr:#x}: {why}")]
    BadAddress { arg: &'static str, addr: usize, why: &'static str },
    #[error("PEs disagree: {text}")]
    Disagreement { text: String },
    #[error("{what}: all {limit} are in use; set {variable} to a larger number")]
    Exhausted { what: &'static str, limit: usize, variable: &'static str },
    #[error("{variable}={value}: {why}")]
    BadEnvironment { variable: String, value: String, why: String },
    #[error("not initialised: call init first")]
    NotInitialised,
    #[error("{0}")]
    Bootstrap(String),
    #[error("{what} failed: {why}")]
    System { what: String, why: String },
    #[error("{0}")]
    Device(String),
    #[error("{0}")]
    NotSupported(String),
}

impl Error {
    /// The error about a range that a stride and a count lead through; `said`: these, as the caller passed them.
    #[cold]
    pub fn of_strides(self, said: String) -> Error {
        match self {
            Error::PastEnd(mut range) if range.behind.is_none() => {
                range.said = Some(said.into());
                Error::PastEnd(range)
            }
            Error::PastEnd(mut range) => {
                range.extent = Extent::Said(format!("{said}: {}", range.extent).into());
                Error::PastEnd(range)
            }
            Error::NotSymmetric { arg, addr, extent, statics, hint } => {
                let extent = Extent::Said(format!("{said}: {extent}").into());
                Error::NotSymmetric { arg, addr, extent, statics, hint }
            }
            other => other,
        }
    }

    /// The same error about the buffers of a call whose argument `many` is `n`, a number of elements of `elem` bytes each:
    /// what the engine has counted in bytes, in the caller's count.
    #[cold]
    pub fn counting(self, many: &'static str, n: usize, elem: usize) -> Error {
        let said = |arg: &str, extent: Extent| match extent {
            Extent::Bytes(len) if matches!(arg, "dest" | "source") && (len, elem) != (n, 1) => {
                let all =
                    if n.checked_mul(elem) == Some(len) { "" } else { &format!(", {len} bytes in all") };
                Extent::Said(format!("{many} = {n} of {}{all}", count_bytes(elem as u64)).into())
            }
            other => other,
        };
        match self {
            Error::NotSymmetric { arg, addr, extent, statics, hint } => {
                Error::NotSymmetric { arg, addr, extent: said(arg, extent), statics, hint }
            }
            Error::PastEnd(mut range) if range.said.is_none() => {
                range.extent = said(range.arg, range.extent);
                Error::PastEnd(range)
            }
            Error::BadValue { arg: "length", why, .. } => {
                let why =
                    if why == checks::NEGATIVE && n <= isize::MAX as usize { checks::TOO_MANY } else { why };
                Error::BadValue { arg: many, value: n as i64, why }
            }
            other => other,
        }
    }

    /// True where every member of a collective gets the error, so that one line about it is enough.
    pub fn is_everybodys(&self) -> bool {
        use Error::{BadEnvironment, Disagreement, Exhausted, NoDeviceMemory, OutOfMemory};
        matches!(
            self,
            OutOfMemory { .. }
                | NoDeviceMemory { .. }
                | BadEnvironment { .. }
                | Disagreement { .. }
                | Exhausted { .. }
        )
    }

    /// Notes where the members were when all of them got this error, which is the same number for all: so they know which of
    /// them tells it, however many errors each has had before.
    #[cold]
    #[must_use]
    pub(crate) fn found_at(self, place: u64) -> Error {
        FOUND_AT.set(Some(place));
        self
    }

    /// Where the last error of this thread that all members got was found, if that is known: given once. The upper half
    /// stands for the team.
    pub fn take_place() -> Option<u64> {
        FOUND_AT.take()
    }

    /// The same, which stays known.
    pub(crate) fn place() -> Option<u64> {
        FOUND_AT.get()
    }

    /// The same error of a call that has no length, for which no NULL is allowed.
    #[cold]
    pub(crate) fn without_length(self) -> Error {
        match self {
            Error::Null { arg } => Error::NoSymmetric { arg },
            other => other,
        }
    }

    /// The same error about the word of a call that calls it `arg`.
    #[cold]
    pub(crate) fn of_word(self, arg: &'static str) -> Error {
        match self {
            Error::NoSymmetric { .. } => Error::NoSymmetric { arg },
            Error::Misaligned { addr, align, .. } => Error::Misaligned { arg, addr, align },
            Error::NotSymmetric { addr, extent, statics, hint, .. } => {
                Error::NotSymmetric { arg, addr, extent, statics, hint }
            }
            Error::PastEnd(mut range) => {
                range.arg = arg;
                Error::PastEnd(range)
            }
            other => other,
        }
    }

    /// The status that C functions return: NVSHMEM's numbers where it has one for the case.
    pub fn code(&self) -> i32 {
        match self {
            Error::OutOfMemory { .. } | Error::NoDeviceMemory { .. } => 2,
            Error::NotSupported(_) => 3,
            Error::NotSymmetric { .. } | Error::PastEnd(_) | Error::Disagreement { .. } => 4,
            Error::System { .. } | Error::Bootstrap(_) | Error::Device(_) => 7,
            Error::Exhausted { .. } => 100,
            Error::NotInitialised => 101,
            _ => 1,
        }
    }
}

/// The one line about a failed call that ends the job or is printed: everything that somebody who looks after
/// many jobs needs, with settings called as they were set. `pe` is `None` before there is a job.
pub fn line(pe: Option<usize>, call: &str, text: &dyn core::fmt::Display) -> String {
    let (host, text) = (dushmem_os::symbols::host_name(), crate::env::as_set(&text.to_string()));
    match pe {
        Some(pe) => format!("dushmem: PE {pe} (host {host}): {call}: {text}"),
        None => format!("dushmem: (host {host}): {call}: {text}"),
    }
}

/// A number of bytes for people.
pub fn count_bytes(n: u64) -> String {
    if n == 1 { "1 byte".into() } else { format!("{n} bytes") }
}

/// A number of PEs for people.
pub fn count_pes(n: usize) -> String {
    if n == 1 { "1 PE".into() } else { format!("{n} PEs") }
}

/// Result of the engine's calls.
pub type Result<T> = core::result::Result<T, Error>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_callers_family() {
        let text = "op = 9: CMP_EQ to CMP_GE, or an object from malloc (INIT_THREAD_PES); DUSHMEM_TEAM_SLOTS, MY_CMP_EQ";
        assert_eq!(
            for_family(text, "nvshmem"),
            "op = 9: NVSHMEM_CMP_EQ to NVSHMEM_CMP_GE, or an object from nvshmem_malloc (NVSHMEMX_INIT_THREAD_PES); \
             DUSHMEM_TEAM_SLOTS, MY_CMP_EQ"
        );
        let text =
            "not initialised: call init first; free takes what malloc, calloc, align or realloc returned";
        assert_eq!(
            for_call(text, "shmem_free"),
            "not initialised: call shmem_init first; free takes what shmem_malloc, shmem_calloc, shmem_align or \
             shmem_realloc returned"
        );
        assert_eq!(prefix_of("dushmemx_int_p_on_stream"), Some("dushmem"));
        assert_eq!(
            (prefix_of("shmem_put"), prefix_of("put"), prefix_of("team_sync")),
            (Some("shmem"), None, None)
        );
    }
}

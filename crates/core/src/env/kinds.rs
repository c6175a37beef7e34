//! What settings can be that are one of some words.
use super::Found;

/// A setting whose value is one of some words.
pub trait Words: Copy + PartialEq + 'static {
    /// The words, the usual one of each value first.
    const WORDS: &'static [(&'static str, Self)];

    /// The value as one writes it.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| *word)
    }

    /// The word of the value that is told as this number.
    fn word_of(number: u64) -> String
    where
        Self: Into<u64>,
    {
        let found = Self::WORDS.iter().find(|(_, value)| (*value).into() == number);
        found.map_or_else(|| number.to_string(), |(word, _)| (*word).to_owned())
    }
}

/// Which path data takes to a peer of the same node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportKind {
    /// Loads and stores.
    Shm,
    /// The transport that hides mappings and delays and reorders, for tests.
    Loopback,
}

impl Words for TransportKind {
    const WORDS: &'static [(&'static str, Self)] =
        &[("shm", Self::Shm), ("auto", Self::Shm), ("loopback", Self::Loopback)];
}

impl From<TransportKind> for u64 {
    fn from(kind: TransportKind) -> u64 {
        kind as u64
    }
}

/// Whose memory kernels on the CPU don't load and store, though they could.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// They do wherever the engine does.
    Nobody,
    /// That of the other PEs.
    Others,
    /// That of this PE too.
    All,
}

impl Words for Hidden {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("0", Self::Nobody),
        ("n", Self::Nobody),
        ("no", Self::Nobody),
        ("false", Self::Nobody),
        ("off", Self::Nobody),
        ("1", Self::Others),
        ("y", Self::Others),
        ("yes", Self::Others),
        ("true", Self::Others),
        ("on", Self::Others),
        ("all", Self::All),
    ];
}

/// Where kernels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// On a GPU where the program has kernels for one, or uses its driver; else on the CPU.
    Auto,
    /// On GPUs of NVIDIA's.
    Cuda,
    /// On the CPU.
    Emu,
}

impl Words for DeviceKind {
    const WORDS: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("cuda", Self::Cuda), ("emu", Self::Emu)];
}

/// Where the families that programs with kernels use allocate, if devices have memory of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeapKind {
    /// In memory of the device.
    Device,
    /// In memory of the host that the device reaches.
    Host,
}

impl Words for HeapKind {
    const WORDS: &'static [(&'static str, Self)] =
        &[("device", Self::Device), ("vidmem", Self::Device), ("host", Self::Host), ("sysmem", Self::Host)];
}

impl From<HeapKind> for u64 {
    fn from(kind: HeapKind) -> u64 {
        kind as u64
    }
}

/// How PEs find each other where the program does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BootstrapKind {
    /// The launcher that started the process, where there is one.
    Auto,
    /// The launcher.
    Launcher,
    /// One PE by itself.
    Singleton,
}

impl Words for BootstrapKind {
    const WORDS: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("launcher", Self::Launcher), ("singleton", Self::Singleton)];
}

/// How dushrun has PEs share a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Kernels of several PEs run on a GPU at the same time, by way of a daemon.
    Mps,
    /// PEs take turns on a GPU.
    Plain,
    /// The first where PEs share GPUs and it can be had.
    Auto,
}

impl Words for Share {
    const WORDS: &'static [(&'static str, Self)] =
        &[("mps", Self::Mps), ("plain", Self::Plain), ("auto", Self::Auto)];
}

/// How much a PE tells about what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DebugLevel {
    /// Nothing.
    Off,
    /// What is odd.
    Warn,
    /// Settings, memory, teams: what happens a few times.
    Info,
    /// Allocations and contexts, too.
    Trace,
}

impl DebugLevel {
    /// From the value of a variable; anything that is no level asks for [`DebugLevel::Info`].
    pub(super) fn parse(found: &Found) -> DebugLevel {
        let value = found.value.trim().to_ascii_uppercase();
        match value.as_str() {
            "0" | "N" | "NO" | "FALSE" | "OFF" if found.variable.starts_with("DUSHMEM_") => DebugLevel::Off,
            "VERSION" => DebugLevel::Off,
            "WARN" | "WARNING" => DebugLevel::Warn,
            "TRACE" => DebugLevel::Trace,
            _ => DebugLevel::Info,
        }
    }
}

//! What the environment says about the machine to be.
use std::env;
use std::sync::LazyLock;

pub struct Knobs {
    pub devices: usize,
    pub memory: usize,
    pub sms: i32,
    pub version: i32,
    pub mps: bool,
    /// Pairs of devices without a way to each other's memory, and without atomic operations there.
    pub no_peers: Pairs,
    pub no_peer_atomics: Pairs,
    pub flushes: bool,
    pub vmm: bool,
    pub hints: bool,
    pub host_access: bool,
    pub host_atomics: bool,
    /// How much a stream takes that isn't done, 0: any.
    pub room: u64,
    pub missing: Vec<String>,
    pub trace: Option<String>,
}

pub static KNOBS: LazyLock<Knobs> = LazyLock::new(|| Knobs {
    devices: number("DEVICES", 1),
    memory: number("MEMORY", 16 << 30),
    sms: number("SMS", 132) as i32,
    version: number("VERSION", 13000) as i32,
    mps: number("MPS", 0) != 0,
    no_peers: pairs("NO_PEERS"),
    no_peer_atomics: pairs("NO_PEER_ATOMICS"),
    flushes: number("FLUSHES", 0) != 0,
    vmm: number("NO_VMM", 0) == 0,
    hints: number("NO_HINTS", 0) == 0,
    host_access: number("HOST_ACCESS", 0) != 0,
    host_atomics: number("HOST_ATOMICS", 0) != 0,
    room: number("ROOM", 0) as u64,
    missing: text("MISSING").unwrap_or_default().split(',').map(|name| name.trim().to_owned()).collect(),
    trace: text("TRACE"),
});

/// Pairs of devices, by their numbers on the machine.
pub enum Pairs {
    All,
    These(Vec<(usize, usize)>),
}

impl Pairs {
    pub fn have(&self, a: usize, b: usize) -> bool {
        match self {
            Pairs::All => a != b,
            Pairs::These(list) => list.contains(&(a, b)) || list.contains(&(b, a)),
        }
    }
}

fn pairs(name: &str) -> Pairs {
    let value = text(name).unwrap_or_default();
    if value == "all" {
        return Pairs::All;
    }
    let pair = |entry: &str| {
        let (a, b) = entry.split_once('-')?;
        Some((a.trim().parse().ok()?, b.trim().parse().ok()?))
    };
    let listed = value.split(',').filter(|entry| !entry.is_empty());
    let wrong = || panic!("CUDA_STANDIN_{name}={value}: pairs as 0-1,2-3, or all");
    Pairs::These(listed.map(|entry| pair(entry).unwrap_or_else(wrong)).collect())
}

pub fn text(name: &str) -> Option<String> {
    env::var(format!("CUDA_STANDIN_{name}")).ok().filter(|value| !value.is_empty())
}

fn number(name: &str, otherwise: usize) -> usize {
    let Some(value) = text(name) else { return otherwise };
    let digits = value.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let shift = match value[digits.len()..].bytes().next().map(|letter| letter.to_ascii_uppercase()) {
        None => 0,
        Some(b'K') => 10,
        Some(b'M') => 20,
        Some(b'G') => 30,
        Some(_) => panic!("CUDA_STANDIN_{name}={value}: not a number with K, M or G"),
    };
    digits.parse::<usize>().unwrap_or_else(|_| panic!("CUDA_STANDIN_{name}={value}: not a number")) << shift
}

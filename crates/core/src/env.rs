//! Settings from the environment, read once at init.
use crate::error::{Error, Result};
use crate::size::Size;

pub use crate::gen_env::{VARIABLES, Variable, VariableKind};
pub use strangers::strangers;

mod strangers;

/// Which path data takes to a peer of the same node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportKind {
    /// Loads and stores.
    Shm,
    /// The transport that hides mappings and delays and reorders, for tests.
    Loopback,
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

/// Where the families that programs with kernels use allocate, if devices have memory of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeapKind {
    /// In memory of the device.
    Device,
    /// In memory of the host that the device reaches.
    Host,
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

/// Most devices of the emulator: a bound for absurd values of the variable.
pub const EMU_DEVICES_MAX: u32 = 4096;

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The variable that was set, with its family's prefix.
    pub variable: String,
    /// Its value.
    pub value: String,
}

/// A variable and its value.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Which.
    pub variable: &'static Variable,
    /// The name that programs of this family set, or the one that is set.
    pub name: String,
    /// Its value, or the default.
    pub value: String,
    /// Whether it is set.
    pub is_set: bool,
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
    fn parse(found: &Found) -> DebugLevel {
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

/// What the environment says.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes of symmetric host heap a PE.
    pub heap_size: u64,
    /// Where kernels run.
    pub device: DeviceKind,
    /// Most bytes of device heap a PE, where somebody said so.
    pub device_heap: Option<u64>,
    /// Where kernels' programs allocate.
    pub heap_kind: HeapKind,
    /// Most blocks of a collective in a stream; 0: what fits.
    pub collective_blocks: u32,
    /// Whether kernels that wait for long for a PE that takes turns with their own fail.
    pub strict: bool,
    /// Most members of a team whose short collectives in streams are kernels that get all they have to know as arguments.
    pub stream_few: usize,
    /// Most bytes that a kernel copies for a put or get in a stream, between memories of devices.
    pub stream_copy: usize,
    /// Most bytes that a PE sends in a collective in a stream as words with the call's number, to all members together.
    pub stream_flagged: usize,
    /// Teams that one PE can be a member of at the same time, predefined ones included.
    pub team_slots: usize,
    /// Path to peers.
    pub transport: TransportKind,
    /// Seed of the loopback transport.
    pub loopback_seed: u64,
    /// Whose memory kernels reach through the proxy only.
    pub hidden: Hidden,
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
    /// All variables with value and meaning at init.
    pub print_info: bool,
    /// Those without effect too.
    pub print_hidden: bool,
    /// Diagnostic lines.
    pub debug: DebugLevel,
    /// Where they go instead of standard error; %h is the host, %p the process id.
    pub debug_file: Option<String>,
    /// The variable that says so, with its prefix.
    pub debug_file_variable: Option<String>,
    /// Seconds to wait at init for a debugger.
    pub attach_delay: u64,
    /// What [`Settings::print_info`] prints and diagnostic lines begin with: filled in where one of them is wanted.
    pub shown: Vec<Shown>,
    /// Things worth a warning that were found while reading.
    pub warnings: Vec<String>,
}

impl Found {
    fn refused(&self, why: &str) -> Error {
        let (variable, value) = (self.variable.clone(), self.value.clone());
        Error::BadEnvironment { variable, value, why: why.to_owned() }
    }

    /// The value, a whole number from `min` to `max`.
    fn number(&self, min: u64, max: u64) -> Result<u64> {
        match self.value.trim().parse::<u64>() {
            Ok(value) if (min..=max).contains(&value) => Ok(value),
            _ => Err(self.refused(&format!("not a whole number from {min} to {max}"))),
        }
    }

    /// True where NVSHMEM's rules for values hold.
    fn is_nvshmems(&self) -> bool {
        self.variable.starts_with("NVSHMEM_")
    }

    /// Yes or no as NVSHMEM reads it: by the first letter.
    fn is_on_for_nvshmem(&self) -> bool {
        !self.value.starts_with(['0', 'N', 'n', 'F', 'f'])
    }
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
pub fn find(prefixes: &[&str], name: &str, get: &dyn Fn(&str) -> Option<String>) -> Option<Found> {
    let exists = |prefix: &&&str| VARIABLES.iter().any(|v| v.name == name && v.prefixes.contains(prefix));
    prefixes.iter().filter(exists).find_map(|prefix| {
        let variable = format!("{prefix}_{name}");
        get(&variable).filter(|value| counts(prefix, name, value)).map(|value| Found { variable, value })
    })
}

/// A variable that exists with the prefix `DUSHMEM_` only.
fn own(name: &str, get: &dyn Fn(&str) -> Option<String>) -> Option<Found> {
    let variable = format!("DUSHMEM_{name}");
    get(&variable).filter(|value| !value.trim().is_empty()).map(|value| Found { variable, value })
}

/// How PEs find each other, by `DUSHMEM_BOOTSTRAP`.
pub fn bootstrap(get: &dyn Fn(&str) -> Option<String>) -> Result<BootstrapKind> {
    let Some(found) = own("BOOTSTRAP", get) else { return Ok(BootstrapKind::Auto) };
    match found.value.trim() {
        "auto" => Ok(BootstrapKind::Auto),
        "launcher" => Ok(BootstrapKind::Launcher),
        "singleton" => Ok(BootstrapKind::Singleton),
        _ => Err(found.refused("there is no such bootstrap; use auto, launcher or singleton")),
    }
}

/// Seconds that a start by a unique id waits for the other PEs, by `DUSHMEM_BOOTSTRAP_TIMEOUT`.
pub fn bootstrap_timeout(get: &dyn Fn(&str) -> Option<String>) -> Result<u64> {
    own("BOOTSTRAP_TIMEOUT", get).map_or(Ok(300), |found| found.number(1, 1 << 31))
}

/// What is wrong with the variables that only some ways to start, or other programs, make use of: told however the
/// program was started.
fn of_other_parts(get: &dyn Fn(&str) -> Option<String>) -> Result<()> {
    bootstrap(get)?;
    bootstrap_timeout(get)?;
    if let Some(found) = own("EMU_DEVICES", get) {
        found.number(1, EMU_DEVICES_MAX.into())?;
    }
    match own("GPU_SHARE", get) {
        Some(found) if !["mps", "plain", "auto"].contains(&found.value.as_str()) => {
            Err(found.refused("write mps, plain or auto, or unset it"))
        }
        _ => Ok(()),
    }
}

impl Shown {
    /// A variable as programs see it that look for `prefixes`; `None` for those of other families.
    fn of(
        variable: &'static Variable,
        prefixes: &[&str],
        find: &dyn Fn(&str) -> Option<Found>,
    ) -> Option<Shown> {
        let own =
            prefixes.iter().rev().find(|prefix| variable.prefixes.contains(prefix) && **prefix != "SMA")?;
        // Some names mean different things in two families.
        let mine = |found: &Found| {
            variable
                .prefixes
                .iter()
                .any(|prefix| found.variable.strip_suffix(variable.name) == Some(&format!("{prefix}_")))
        };
        Some(match find(variable.name).filter(mine) {
            Some(found) => Shown { variable, name: found.variable, value: found.value, is_set: true },
            None => {
                let (name, value) = (format!("{own}_{}", variable.name), variable.default.to_owned());
                Shown { variable, name, value, is_set: false }
            }
        })
    }
}

impl Settings {
    /// Reads the settings. `prefixes` are tried in order, `DUSHMEM` first; `get` looks a variable up.
    pub fn read(prefixes: &[&str], get: &dyn Fn(&str) -> Option<String>) -> Result<Settings> {
        let mut warnings = Vec::new();
        let find = |name: &str| find(prefixes, name, get);
        let bad = |found: &Found, why: &str| found.refused(why);
        of_other_parts(get)?;
        let mut heap_size = 1 << 30;
        if let Some(found) = find("SYMMETRIC_SIZE") {
            let size = Size::parse(&found.value).map_err(|why| bad(&found, why))?;
            if !size.rest.is_empty() && found.is_nvshmems() {
                return Err(bad(&found, "not a size; nothing may follow K, M, G or T"));
            }
            if !size.rest.is_empty() {
                warnings.push(format!(
                    "{}={}: read as {} bytes; \"{}\" behind the size was ignored",
                    found.variable, found.value, size.bytes, size.rest
                ));
            }
            if size.bytes == 0 {
                warnings.push(format!(
                    "{}={}: there is no symmetric heap then, and allocations fail; set it to what the program allocates, \
                     as in 64M, or unset it for 1G",
                    found.variable, found.value
                ));
            } else if size.bytes < 4096 {
                warnings.push(format!(
                    "{}={}: a heap of less than a page; the number is in bytes unless K, M, G or T follows",
                    found.variable, found.value
                ));
            }
            heap_size = size.bytes;
        }
        let mut device_heap = None;
        let asked = find("DEVICE_HEAP_SIZE").or_else(|| find("MAX_MEMORY_PER_GPU"));
        if let Some(found) = asked {
            let size = Size::parse(&found.value).map_err(|why| bad(&found, why))?;
            if size.bytes == 0 {
                let why = "a heap of no bytes; set it to what the program allocates, as in 64M, or unset it";
                return Err(bad(&found, why));
            }
            if !size.rest.is_empty() {
                return Err(bad(&found, "not a size; a number of bytes, or with K, M, G or T"));
            }
            device_heap = Some(size.bytes);
        }
        let size_of = |name: &str, unset: u64, most: u64| -> Result<u64> {
            let Some(found) = find(name) else { return Ok(unset) };
            let size = Size::parse(&found.value).map_err(|why| bad(&found, why))?;
            if !size.rest.is_empty() {
                return Err(bad(&found, "not a size; a number of bytes, or with K, M, G or T"));
            }
            if size.bytes > most {
                return Err(bad(&found, "too large: at most 64M"));
            }
            Ok(size.bytes)
        };
        let stream_copy = size_of("STREAM_COPY", 8 << 10, u64::MAX)?;
        let stream_flagged = size_of("STREAM_FLAGGED", 2 << 20, 64 << 20)?;
        let device = match find("DEVICE") {
            None => DeviceKind::Auto,
            Some(found) => match found.value.trim().to_ascii_lowercase().as_str() {
                "auto" => DeviceKind::Auto,
                "cuda" => DeviceKind::Cuda,
                "emu" => DeviceKind::Emu,
                _ => return Err(bad(&found, "no device of this build; there are auto, cuda and emu")),
            },
        };
        let heap_kind = match find("HEAP_KIND") {
            None => HeapKind::Device,
            Some(found) => match found.value.trim().to_ascii_lowercase().as_str() {
                "device" | "vidmem" => HeapKind::Device,
                "host" | "sysmem" => HeapKind::Host,
                _ => return Err(bad(&found, "no kind of memory; there are device and host")),
            },
        };
        let number = |name: &str, default: u64, min: u64, max: u64| -> Result<u64> {
            find(name).map_or(Ok(default), |found| found.number(min, max))
        };
        let switch = |name: &str| -> Result<Option<bool>> {
            let Some(found) = find(name) else { return Ok(None) };
            if found.is_nvshmems() {
                return Ok(Some(found.is_on_for_nvshmem()));
            }
            match found.value.trim().to_ascii_lowercase().as_str() {
                "1" | "y" | "yes" | "true" | "on" => Ok(Some(true)),
                "0" | "n" | "no" | "false" | "off" => Ok(Some(false)),
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
        let hidden = match find("EMU_REMOTE") {
            None => Hidden::Nobody,
            Some(found) => match found.value.trim().to_ascii_lowercase().as_str() {
                "0" | "n" | "no" | "false" | "off" => Hidden::Nobody,
                "1" | "y" | "yes" | "true" | "on" => Hidden::Others,
                "all" => Hidden::All,
                _ => return Err(bad(&found, "write 1 to hide the other PEs from kernels, all, or 0")),
            },
        };
        // The back end reads it when it binds a GPU, which not every program does.
        switch("DISABLE_CUDA_VMM")?;
        // OpenSHMEM asks for any value, NVSHMEM for a switch.
        let present =
            |name: &str| find(name).is_some_and(|found| !found.is_nvshmems() || found.is_on_for_nvshmem());
        let mut team_slots = 256;
        if prefixes.contains(&"NVSHMEM") && find("TEAM_SLOTS").is_none() && find("MAX_TEAMS").is_some() {
            // The smallest of ours is more than the smallest of NVSHMEM's.
            team_slots = number("MAX_TEAMS", 128, 1, 2048)?.max(8);
        }
        let debug_value = find("DEBUG");
        let debug = debug_value.as_ref().map_or(DebugLevel::Off, DebugLevel::parse);
        let wants_version =
            debug_value.is_some_and(|found| found.value.trim().eq_ignore_ascii_case("version"));
        let debug_file = find("DEBUG_FILE");
        let print_info = present("INFO");
        let mut shown = Vec::new();
        if print_info || debug >= DebugLevel::Info {
            shown = VARIABLES.iter().filter_map(|variable| Shown::of(variable, prefixes, &find)).collect();
        }
        Ok(Settings {
            heap_size,
            device,
            device_heap,
            heap_kind,
            collective_blocks: number("MAX_CTAS", 0, 0, 1024)? as u32,
            strict: switch("STRICT")?.unwrap_or(false),
            stream_few: number("STREAM_FEW", 8, 0, 8)? as usize,
            stream_copy: stream_copy as usize,
            stream_flagged: stream_flagged as usize,
            team_slots: number("TEAM_SLOTS", team_slots, 8, 2048)? as usize,
            transport,
            loopback_seed: number("LOOPBACK_SEED", 1, 0, u64::MAX)?,
            hidden,
            static_data: switch("STATIC")?,
            huge_pages: switch("HUGE_PAGES")?.unwrap_or(true),
            equal_addresses: switch("EQUAL_ADDRESSES")?.unwrap_or(true),
            cpus: number("CPUS", 0, 0, 65536)? as usize,
            print_version: present("VERSION") || wants_version,
            print_info,
            print_hidden: present("INFO_HIDDEN"),
            debug,
            debug_file_variable: debug_file.as_ref().map(|found| found.variable.clone()),
            debug_file: debug_file.map(|found| found.value),
            attach_delay: number("DEBUG_ATTACH_DELAY", 0, 0, 86_400)?,
            shown,
            warnings,
        })
    }

    /// How kernels on the CPU reach the other PEs.
    pub fn kernel_path(&self) -> &'static str {
        match (self.transport, self.hidden) {
            (TransportKind::Shm, Hidden::Nobody) => "load and store",
            _ => "requests to the proxy",
        }
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

    const NVSHMEM: &[&str] = &["DUSHMEM", "NVSHMEM"];
    const SHMEM: &[&str] = &["DUSHMEM", "SHMEM", "SMA"];

    fn read(prefixes: &[&str], pairs: &[(&str, &str)]) -> Result<Settings> {
        let get =
            |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Settings::read(prefixes, &get)
    }

    #[test]
    fn devices_and_their_memory() {
        let one = |name: &str, value: &str| read(NVSHMEM, &[(name, value)]);
        assert_eq!(one("DUSHMEM_DEVICE", "cuda").unwrap().device, DeviceKind::Cuda);
        assert!(one("DUSHMEM_DEVICE", "gpu").unwrap_err().to_string().contains("auto, cuda and emu"));
        assert_eq!(one("NVSHMEM_MAX_MEMORY_PER_GPU", "2G").unwrap().device_heap, Some(2 << 30));
        assert!(
            one("DUSHMEM_DEVICE_HEAP_SIZE", "0").is_err() && one("DUSHMEM_DEVICE_HEAP_SIZE", "1Gx").is_err()
        );
        let none = one("DUSHMEM_DEVICE_HEAP_SIZE", "0").unwrap_err().to_string();
        assert!(none.contains("=0: a heap of no bytes; set it to what the program allocates"), "{none}");
        assert_eq!(one("NVSHMEM_HEAP_KIND", "SYSMEM").unwrap().heap_kind, HeapKind::Host);
        assert_eq!(one("DUSHMEM_HEAP_KIND", "device").unwrap().heap_kind, HeapKind::Device);
        assert!(one("DUSHMEM_HEAP_KIND", "disk").is_err());
    }

    #[test]
    fn variables_of_other_parts_are_checked_whatever_the_start() {
        for (name, value, why) in [
            ("BOOTSTRAP_TIMEOUT", "-1", "not a whole number from 1 to 2147483648"),
            ("BOOTSTRAP_TIMEOUT", "0", "not a whole number from 1 to 2147483648"),
            ("BOOTSTRAP", "slurm", "there is no such bootstrap; use auto, launcher or singleton"),
            ("GPU_SHARE", "some", "write mps, plain or auto, or unset it"),
            ("EMU_DEVICES", "0", "not a whole number from 1 to 4096"),
            ("DISABLE_CUDA_VMM", "x", "neither yes nor no; write 1 or 0"),
        ] {
            let name = format!("DUSHMEM_{name}");
            for prefixes in [NVSHMEM, SHMEM].iter().filter(|p| !name.contains("VMM") || **p == NVSHMEM) {
                let error = read(prefixes, &[(&name, value)]).unwrap_err().to_string();
                assert_eq!(error, format!("{name}={value}: {why}"));
                assert!(read(prefixes, &[(&name, " ")]).is_ok(), "an empty one is not set");
            }
        }
        let right = [("BOOTSTRAP_TIMEOUT", "7"), ("BOOTSTRAP", " singleton"), ("EMU_DEVICES", "4096 ")];
        for (name, value) in right {
            assert!(read(SHMEM, &[(&format!("DUSHMEM_{name}"), value)]).is_ok(), "{name}");
        }
    }

    #[test]
    fn prefixes_have_an_order() {
        let all =
            [("DUSHMEM_SYMMETRIC_SIZE", "1M"), ("SHMEM_SYMMETRIC_SIZE", "2M"), ("SMA_SYMMETRIC_SIZE", "3M")];
        for (at, size) in [(0, 1), (1, 2), (2, 3)] {
            assert_eq!(read(SHMEM, &all[at..]).unwrap().heap_size, size << 20);
        }
        assert_eq!(read(NVSHMEM, &all[1..]).unwrap().heap_size, 1 << 30);
        assert_eq!(read(NVSHMEM, &[("NVSHMEM_SYMMETRIC_SIZE", "2G")]).unwrap().heap_size, 2 << 30);
    }

    #[test]
    fn an_empty_variable_is_not_set() {
        let empty: Vec<(&str, &str)> = vec![
            ("DUSHMEM_SYMMETRIC_SIZE", ""),
            ("DUSHMEM_TRANSPORT", " "),
            ("DUSHMEM_TEAM_SLOTS", ""),
            ("NVSHMEM_VERSION", ""),
            ("NVSHMEM_INFO", ""),
            ("DUSHMEM_DEVICE_HEAP_SIZE", ""),
            ("DUSHMEM_STREAM_COPY", ""),
            ("NVSHMEM_MAX_TEAMS", ""),
            ("DUSHMEM_DEBUG", ""),
        ];
        let (read_empty, unset) = (read(NVSHMEM, &empty).unwrap(), read(NVSHMEM, &[]).unwrap());
        assert_eq!(format!("{read_empty:?}"), format!("{unset:?}"));
        let next = [("DUSHMEM_SYMMETRIC_SIZE", ""), ("SHMEM_SYMMETRIC_SIZE", "2M")];
        assert_eq!(read(SHMEM, &next).unwrap().heap_size, 2 << 20);
    }

    #[test]
    fn no_heap_at_all_is_legal_and_told() {
        let none = read(SHMEM, &[("SHMEM_SYMMETRIC_SIZE", "0")]).unwrap();
        assert_eq!(none.heap_size, 0);
        assert!(none.warnings[0].contains("=0: there is no symmetric heap then"), "{:?}", none.warnings);
    }

    #[test]
    fn values_are_read_by_the_rules_of_their_family() {
        // OpenSHMEM: the suffix counts, the rest is ignored, and told.
        let odd = read(SHMEM, &[("SHMEM_SYMMETRIC_SIZE", "20kk")]).unwrap();
        assert_eq!(odd.heap_size, 20 << 10);
        assert!(odd.warnings[0].contains("read as 20480 bytes"), "{:?}", odd.warnings);
        // NVSHMEM: nothing may follow.
        let error = read(NVSHMEM, &[("NVSHMEM_SYMMETRIC_SIZE", "20kk")]).unwrap_err().to_string();
        assert!(error.starts_with("NVSHMEM_SYMMETRIC_SIZE=20kk: not a size"), "{error}");
        // Any value of OpenSHMEM's, a switch of NVSHMEM's.
        for value in ["", "0", "no", "1", "yes"] {
            let settings = read(SHMEM, &[("SHMEM_VERSION", value), ("SHMEM_INFO", value)]).unwrap();
            assert!(settings.print_version && settings.print_info, "{value}");
        }
        for (value, on) in
            [("0", false), ("no", false), ("False", false), ("1", true), ("yes", true), ("x", true)]
        {
            let settings = read(NVSHMEM, &[("NVSHMEM_VERSION", value), ("NVSHMEM_STATIC", value)]).unwrap();
            assert_eq!((settings.print_version, settings.static_data), (on, Some(on)), "{value}");
        }
        assert!(read(&["DUSHMEM"], &[("DUSHMEM_STATIC", "x")]).is_err());
    }

    #[test]
    fn names_of_nvshmem_have_their_effect() {
        let slots = |pairs: &[(&str, &str)]| read(NVSHMEM, pairs).map(|settings| settings.team_slots);
        assert_eq!(slots(&[("NVSHMEM_MAX_TEAMS", "32")]), Ok(32));
        assert_eq!(slots(&[("NVSHMEM_MAX_TEAMS", "2")]), Ok(8));
        assert_eq!(slots(&[("NVSHMEM_MAX_TEAMS", "32"), ("DUSHMEM_TEAM_SLOTS", "64")]), Ok(64));
        assert!(slots(&[("NVSHMEM_MAX_TEAMS", "many")]).is_err());
        assert_eq!(read(SHMEM, &[("NVSHMEM_MAX_TEAMS", "32")]).unwrap().team_slots, 256);
        let blocks = |pairs: &[(&str, &str)]| read(NVSHMEM, pairs).map(|settings| settings.collective_blocks);
        assert_eq!((blocks(&[]), blocks(&[("NVSHMEM_MAX_CTAS", "16")])), (Ok(0), Ok(16)));
        assert!(blocks(&[("DUSHMEM_MAX_CTAS", "-1")]).is_err());
        // Known without effect: whatever the value.
        assert!(
            read(NVSHMEM, &[("NVSHMEM_IB_SL", "x"), ("NVSHMEM_QP_DEPTH", "")]).unwrap().warnings.is_empty()
        );
        assert_eq!(VARIABLES.iter().filter(|v| v.prefixes.contains(&"NVSHMEM") && !v.has_effect).count(), 89);
    }

    #[test]
    fn levels_of_diagnostic_lines() {
        let level = |prefixes, name, value| read(prefixes, &[(name, value)]).unwrap().debug;
        assert_eq!(level(SHMEM, "SHMEM_DEBUG", "0"), DebugLevel::Info, "any value");
        assert_eq!(level(SHMEM, "SHMEM_DEBUG", "trace"), DebugLevel::Trace);
        assert_eq!(level(SHMEM, "DUSHMEM_DEBUG", "0"), DebugLevel::Off);
        assert_eq!(level(NVSHMEM, "NVSHMEM_DEBUG", ""), DebugLevel::Off);
        assert_eq!(level(NVSHMEM, "NVSHMEM_DEBUG", "WARN"), DebugLevel::Warn);
        assert!(read(NVSHMEM, &[("NVSHMEM_DEBUG", "VERSION")]).unwrap().print_version);
        assert_eq!(level(NVSHMEM, "SHMEM_DEBUG", "1"), DebugLevel::Off, "another family's");
    }
}

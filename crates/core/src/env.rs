//! Settings from the environment, read once at init.
use crate::error::Result;

pub use crate::gen_env::{VARIABLES, Variable, VariableKind};
pub use found::{Found, Get, find, of_word, quoted, variable};
pub use kinds::{BootstrapKind, DebugLevel, DeviceKind, HeapKind, Hidden, Share, TransportKind, Words};
pub use names::Names;
pub(crate) use names::{as_set, keep, name_of};
pub use parts::{
    EMU_DEVICES_MAX, EMU_STACK, EMU_WARP, EMU_WATCHDOG, Threads, bootstrap, bootstrap_timeout, emu_seed,
    emu_stack, emu_threads, emu_warp, emu_watchdog, gpu_share,
};
pub use strangers::strangers;

mod found;
mod kinds;
mod names;
mod parts;
mod strangers;

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
    /// The variables that settings with several names were set by.
    pub names: Names,
    /// Things worth a warning that were found while reading.
    pub warnings: Vec<String>,
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
    pub fn read(prefixes: &[&str], get: Get<'_>) -> Result<Settings> {
        let mut warnings = Vec::new();
        let find = |name: &str| find(prefixes, name, get);
        parts::check(get)?;
        let mut heap_size = 1 << 30;
        if let Some(found) = find("SYMMETRIC_SIZE") {
            let size = found.size()?;
            if !size.rest.is_empty() && found.is_nvshmems() {
                return Err(found.refused("not a size; nothing may follow K, M, G or T"));
            }
            let mut warn = |text: String| {
                warnings.push(format!("{}={}: {text}", found.variable, found::quoted(&found.value)));
            };
            if !size.rest.is_empty() {
                warn(format!("read as {} bytes; \"{}\" behind the size was ignored", size.bytes, size.rest));
            }
            if size.bytes == 0 {
                warn(
                    "there is no symmetric heap then, and allocations fail; set it to what the program allocates, \
                     as in 64M, or unset it for 1G"
                        .into(),
                );
            } else if size.bytes < 4096 {
                warn("a heap of less than a page; the number is in bytes unless K, M, G or T follows".into());
            }
            heap_size = size.bytes;
        }
        let mut device_heap = None;
        if let Some(found) = find("DEVICE_HEAP_SIZE").or_else(|| find("MAX_MEMORY_PER_GPU")) {
            device_heap = Some(found.bare_size()?);
            if device_heap == Some(0) {
                let why = "a heap of no bytes; set it to what the program allocates, as in 64M, or unset it";
                return Err(found.refused(why));
            }
        }
        let size_of = |name: &str, unset: u64, most: u64| -> Result<u64> {
            let Some(found) = find(name) else { return Ok(unset) };
            match found.bare_size()? {
                bytes if bytes > most => Err(found.refused("too large: at most 64M")),
                bytes => Ok(bytes),
            }
        };
        let stream_copy = size_of("STREAM_COPY", 8 << 10, u64::MAX)?;
        let stream_flagged = size_of("STREAM_FLAGGED", 2 << 20, 64 << 20)?;
        let device = find("DEVICE").map_or(Ok(DeviceKind::Auto), |found| {
            found.word("no device of this build; there are auto, cuda and emu")
        })?;
        let heap_kind = find("HEAP_KIND").map_or(Ok(HeapKind::Device), |found| {
            found.word("no kind of memory; there are device and host")
        })?;
        let number = |name: &str, default: u64, min: u64, max: u64| -> Result<u64> {
            find(name).map_or(Ok(default), |found| found.number(min, max))
        };
        let switch = |name: &str| find(name).map(|found| found.switch()).transpose();
        let transport = find("TRANSPORT").map_or(Ok(TransportKind::Shm), |found| {
            found.word("not a transport of this build; there are shm and loopback")
        })?;
        let hidden = find("EMU_REMOTE").map_or(Ok(Hidden::Nobody), |found| {
            found.word("write 1 to hide the other PEs from kernels, all, or 0")
        })?;
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
            names: Names::read(&find),
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
mod tests;

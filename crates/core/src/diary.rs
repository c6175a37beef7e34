//! What a PE tells about itself: warnings and the version at init, all variables, diagnostic lines.
use crate::env::{DebugLevel, Settings};
use crate::error::{count_pes, line};
use crate::size::Size;
use crate::world::World;
use dushmem_os::say::say;
use std::fs::File;
use std::io::Write;
use std::sync::Mutex;
use std::time::Instant;

/// Where the diagnostic lines of one PE go.
#[derive(Debug)]
pub(crate) struct Diary {
    level: DebugLevel,
    /// `None`: standard error.
    file: Option<Mutex<File>>,
}

impl Diary {
    pub(crate) fn open(settings: &Settings, pe: usize) -> Diary {
        let level = settings.debug;
        let name = settings.debug_file.as_ref().filter(|_| level > DebugLevel::Off).map(|name| {
            let pid = dushmem_os::fault::pid().to_string();
            name.replace("%h", &dushmem_os::symbols::host_name()).replace("%p", &pid)
        });
        let open = |name: String| match File::options().create(true).append(true).open(&name) {
            Ok(file) => Some(Mutex::new(file)),
            Err(why) => {
                let why = dushmem_os::reason::reason(&why);
                let variable = settings.debug_file_variable.as_deref().unwrap_or("DUSHMEM_DEBUG_FILE");
                let text = format!("{variable}={name}: {why}; diagnostic lines go to standard error");
                say(&line(Some(pe), "init", &text));
                None
            }
        };
        Diary { level, file: name.and_then(open) }
    }

    fn write(&self, text: &str) {
        let written = self.file.as_ref().map(|file| {
            let mut file = file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            file.write_all(format!("{text}\n").as_bytes())
        });
        if !matches!(written, Some(Ok(()))) {
            say(text);
        }
    }
}

impl World {
    /// Writes a diagnostic line, where lines of that level are wanted.
    #[inline]
    pub(crate) fn note(&self, level: DebugLevel, text: impl FnOnce() -> String) {
        if self.diary().level >= level {
            self.diary().write(&line(Some(self.my_pe() as usize), "debug", &text()));
        }
    }

    /// Prints what people are told at init, which was asked for at the moment `begun`: what concerns all on one PE,
    /// diagnostic lines on each.
    pub fn greet(&self, begun: Instant) {
        self.start().precede("connecting", begun);
        let settings = self.settings();
        if self.my_pe() == 0 {
            let names: Vec<String> =
                std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
            let strangers = crate::env::strangers(names.iter().map(String::as_str), false);
            for warning in settings.warnings.iter().chain(&strangers) {
                say(&format!("dushmem: {warning}"));
            }
            if settings.print_version {
                say(&format!(
                    "dushmem {}: {}, {} bytes of symmetric heap each, transport {}",
                    env!("CARGO_PKG_VERSION"),
                    count_pes(self.n_pes() as usize),
                    settings.heap_size,
                    self.transport_name()
                ));
            }
            if settings.print_info {
                say(&self.info());
            }
        }
        self.describe();
    }

    /// All variables of the family, with value and meaning.
    fn info(&self) -> String {
        let settings = self.settings();
        let mut text = format!("dushmem {}: environment variables\n", env!("CARGO_PKG_VERSION"));
        for shown in settings
            .shown
            .iter()
            .filter(|shown| shown.variable.has_effect || shown.is_set || settings.print_hidden)
        {
            let origin = if shown.is_set { "set" } else { "default" };
            let none = if shown.variable.has_effect { "" } else { "no effect: " };
            text += &format!(
                "  {} = {} ({origin})\n      {none}{}\n",
                shown.name, shown.value, shown.variable.help
            );
        }
        text
    }

    /// The first diagnostic lines.
    fn describe(&self) {
        let info = DebugLevel::Info;
        let settings = self.settings();
        for shown in settings.shown.iter().filter(|shown| shown.is_set) {
            self.note(info, || format!("setting {}={}", shown.name, shown.value));
        }
        self.note(info, || {
            let n = count_pes(self.n_pes() as usize);
            format!("one of {n}, process {}, transport {}", dushmem_os::fault::pid(), self.transport_name())
        });
        self.note(info, || {
            let (heap, len) = self.window().heap();
            let layout = self.layout();
            let stride = layout.stride().unwrap_or(0) as u64;
            format!(
                "heap of {} at {heap:#x}; a PE's slice takes {} of addresses, {} of them internals, and {} before \
                 all slices hold its globals",
                Size::show(len as u64),
                Size::show(stride),
                Size::show(layout.internals as u64),
                Size::show(layout.static_area as u64)
            )
        });
        self.note(info, || match self.statics() {
            None => "C globals are symmetric".into(),
            Some(refusal) => format!("C globals are not symmetric{}", refusal.hint()),
        });
        self.note(info, || format!("start: {}", self.start().shown()));
        self.note(info, || {
            let crowded = if self.policy().crowded() {
                "more PEs than CPUs: sleeping"
            } else {
                "a CPU for each PE: spinning"
            };
            format!("waiting: {} CPUs, {crowded} comes first", dushmem_os::cpu::usable_cpus())
        });
    }
}

//! What the larger programs of this folder share: settings from the command line, random numbers that do not
//! depend on the number of PEs, a line of progress, and the verdict.
#![allow(dead_code, reason = "not every program needs all of it")]
use dushmem::{Data, Max, Reduction, Result, Sum, World};
use std::cell::Cell;
use std::fmt::Display;
use std::ops::{Deref, Range, RangeInclusive};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// A number that the user can set: name, value if not given, limits, meaning. The first setting of a program can
/// also be given without its name.
pub struct Setting(pub &'static str, pub u64, pub RangeInclusive<u64>, pub &'static str);

/// One run of a program on this PE. It is the world, too.
pub struct Run<'w> {
    world: &'w World,
    name: &'static str,
    errors: Cell<u64>,
    told: Cell<Instant>,
}

/// What a run has done.
pub struct Report {
    /// What was computed.
    pub text: String,
    /// How many of what unit, and how long that took on this PE.
    pub items: u64,
    pub unit: &'static str,
    pub time: Duration,
}

/// Joins the job, reads the command line, runs the program, and prints the last line: what was computed, whether
/// it is right, and how fast it was. A wrong word ends the job with code 2 and one line.
pub fn main<const N: usize>(
    name: &'static str,
    about: &str,
    settings: [Setting; N],
    body: impl FnOnce(&Run<'_>, [u64; N]) -> Result<Report>,
) -> ExitCode {
    let ended = dushmem::with_world(|world| {
        let first = world.my_pe() == 0;
        let words: Vec<String> = std::env::args().skip(1).collect();
        match read(&words, &settings) {
            Ok(Some(values)) => {
                let run = Run::new(world, name);
                let report = body(&run, values)?;
                run.finish(&report)
            }
            Ok(None) => {
                if first {
                    print!("{}", usage(name, about, &settings));
                }
                Ok(ExitCode::SUCCESS)
            }
            Err(why) => {
                if first {
                    eprintln!("{name}: {why}");
                }
                Ok(ExitCode::from(2))
            }
        }
    });
    ended.unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::FAILURE
    })
}

/// The values of the settings, or `None` where help is asked for.
fn read<const N: usize>(
    words: &[String],
    settings: &[Setting; N],
) -> std::result::Result<Option<[u64; N]>, String> {
    let mut values = settings.each_ref().map(|setting| setting.1);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (at, word) = match word.strip_prefix("--") {
            Some("help") => return Ok(None),
            Some(name) => {
                let at = settings.iter().position(|setting| setting.0 == name);
                let at = at.ok_or_else(|| format!("there is no option {word}; see --help"))?;
                (at, words.next().map_or("nothing", String::as_str))
            }
            None => (0, word.as_str()),
        };
        let Setting(name, _, limits, _) = &settings[at];
        values[at] = word.parse().ok().filter(|value| limits.contains(value)).ok_or_else(|| {
            format!("--{name} takes a number from {} to {}, not {word}", limits.start(), limits.end())
        })?;
    }
    Ok(Some(values))
}

fn usage(name: &str, about: &str, settings: &[Setting]) -> String {
    let mut text =
        format!("{name}: {about}\n\nusage: dushrun -n PES {name} [{}] [--NAME NUMBER ...]\n", settings[0].0);
    for Setting(name, default, limits, meaning) in settings {
        let (least, most) = (limits.start(), limits.end());
        text += &format!("  --{name:8} {meaning}; {least} to {most}, {default} if not given\n");
    }
    text
}

impl<'w> Run<'w> {
    pub fn new(world: &'w World, name: &'static str) -> Run<'w> {
        Run { world, name, errors: Cell::new(0), told: Cell::new(Instant::now()) }
    }

    /// For long runs: PE 0 says every two seconds how far it is.
    pub fn progress(&self, what: &str, done: u64, all: u64) {
        if self.my_pe() == 0 && self.told.get().elapsed() > Duration::from_secs(2) {
            self.told.set(Instant::now());
            eprintln!("{}: {what}: {done} of {all}", self.name);
        }
    }

    /// Notes that something is not as it should be. The first three are shown.
    pub fn wrong(&self, what: impl Display) {
        if self.errors.replace(self.errors.get() + 1) < 3 {
            eprintln!("{}: PE {}: {what}", self.name, self.my_pe());
        }
    }

    /// Errors that this PE has noted.
    pub fn errors(&self) -> u64 {
        self.errors.get()
    }

    /// The share of `all` items that this PE has.
    pub fn share(&self, all: u64) -> Range<u64> {
        share(self.my_pe(), self.n_pes(), all)
    }

    /// Combines one value of every PE. Collective.
    pub fn all<T: Data>(&self, value: T, op: impl Reduction<T>) -> Result<T> {
        let value = self.alloc(value)?;
        self.reduce(value.as_slice(), value.as_slice(), op)?;
        Ok(value.load())
    }

    fn finish(&self, report: &Report) -> Result<ExitCode> {
        let errors = self.all(self.errors(), Sum)?;
        // Others than the slowest may have left the barrier before it later.
        let seconds = self.all(report.time.as_secs_f64(), Max)?;
        if self.my_pe() == 0 && errors > 0 {
            let s = if errors == 1 { "" } else { "s" };
            println!("{}: {}: {errors} error{s}", self.name, report.text);
        } else if self.my_pe() == 0 {
            let (pes, unit, rate) = (self.n_pes(), report.unit, report.items as f64 / seconds);
            let s = if pes == 1 { "" } else { "s" };
            println!("{}: {}: verified, {rate:.2e} {unit}/s with {pes} PE{s}", self.name, report.text);
        }
        Ok(if errors > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

impl Deref for Run<'_> {
    type Target = World;

    fn deref(&self) -> &World {
        self.world
    }
}

/// Part `part` of `parts` of `all` items; they differ in length by at most one.
pub fn share(part: usize, parts: usize, all: u64) -> Range<u64> {
    let (parts, each, rest) = (parts as u64, all / parts as u64, all % parts as u64);
    let first = |part: u64| part * each + part * rest / parts;
    first(part as u64)..first(part as u64 + 1)
}

/// Random number `i` of a stream: a function of its number, so it does not matter which PE asks for it.
pub fn random_at(stream: u64, i: u64) -> u64 {
    let x = (stream << 56).wrapping_add(i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A number below `bound`, which is at most 2^32, from a random one.
pub fn below(random: u64, bound: u64) -> u64 {
    ((random >> 32) * bound) >> 32
}

/// The xor of these over all places is a checksum that shows words which are wrong or at a wrong place. In
/// whichever order and on whichever PE they are added, it is the same.
pub fn mark(place: u64, word: u64) -> u64 {
    word.rotate_left((place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as u32)
}

/// For tests: the errors that three PEs note.
#[cfg(test)]
pub fn noted(body: impl Fn(&Run<'_>) -> Result<()> + Sync) -> u64 {
    let one = |world: &World| {
        let run = Run::new(world, "test");
        body(&run)?;
        run.barrier()?;
        Ok(run.errors())
    };
    dushmem::run(3, one).expect("the calls succeed").iter().sum()
}

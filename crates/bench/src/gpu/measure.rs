//! Running the programs, and what they have measured.
use super::build::{Library, Workshop};
use super::mps::Daemon;
use super::rows;
use super::stages::Diary;
use crate::stats::{Interval, interval, median};
use clap::ValueEnum;
use dushmem_os::reason::reason;
use std::fmt;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How processes share the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Mode {
    /// At the same time, by NVIDIA's MPS.
    Mps,
    /// By turns.
    Plain,
    /// They don't: each has one.
    Each,
}

impl Mode {
    /// For tables.
    pub fn title(self) -> &'static str {
        match self {
            Mode::Mps => "MPS",
            Mode::Plain => "plain",
            Mode::Each => "a GPU each",
        }
    }
}

/// Groups of rows, as a library with everything has them.
pub const GROUPS: [&str; 9] =
    ["start", "host", "teams", "stream", "transfers", "collectives", "graphs", "device", "put"];

/// What is run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Numbers of PEs.
    pub pes: Vec<usize>,
    /// How they share the GPU.
    pub modes: Vec<Mode>,
    /// Groups of rows, all where none is named.
    pub groups: Vec<String>,
    /// The libraries.
    pub libraries: Vec<Library>,
}

/// Starts that are measured in a run: one says little, since the driver makes much of a start for one process at a time.
pub const STARTS: usize = 3;

/// How often, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Runs of each program.
    pub runs: usize,
    /// Short samples.
    pub quick: bool,
    /// Of a run.
    pub limit: Duration,
    /// After which none begins.
    pub budget: Duration,
}

/// A row's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// What is measured.
    pub name: String,
    /// By how many PEs.
    pub pes: usize,
    /// That share the GPU in this way.
    pub mode: Mode,
}

/// A row's figures, microseconds an operation: by library, then by run.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Which row.
    pub key: Key,
    /// Medians of the runs, by library.
    pub samples: Samples,
}

/// Those of [`Library::ALL`].
pub type Samples = [Vec<f64>; Library::ALL.len()];

/// A ratio or a time with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The middle.
    pub median: f64,
    /// Where the median lies.
    pub interval: Interval,
}

impl Measured {
    /// A library's time.
    pub fn time(&self, library: Library) -> Option<Estimate> {
        estimate(&self.samples[library as usize])
    }

    /// How many times faster dushmem is than another one, run by run.
    pub fn ratio_to(&self, library: Library) -> Option<Estimate> {
        let [ours, theirs] = [Library::Dushmem, library].map(|of| &self.samples[of as usize]);
        estimate(&ours.iter().zip(theirs).map(|(ours, theirs)| theirs / ours).collect::<Vec<_>>())
    }

    /// How many times faster dushmem is than the fastest of the others that take any buffer of their heap's. NCCL's windows, which
    /// a program registers for NCCL's own calls, have a column, and no target.
    pub fn ratio(&self) -> Option<Estimate> {
        let ratios =
            [Library::Nvshmem, Library::Nccl].into_iter().filter_map(|library| self.ratio_to(library));
        ratios.min_by(|a, b| a.median.total_cmp(&b.median))
    }
}

fn estimate(samples: &[f64]) -> Option<Estimate> {
    Some(Estimate { median: median(samples)?, interval: interval(samples)? })
}

/// A run that ended badly; rows before that count.
#[derive(Clone, Debug)]
pub struct Failed {
    /// Which program.
    pub library: Library,
    /// Number of PEs.
    pub pes: usize,
    /// How they share the GPU.
    pub mode: Mode,
    /// Why.
    pub why: String,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} PEs, {}: {}", self.library.title(), self.pes, self.mode.title(), self.why)
    }
}

/// Everything that is written out.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// The GPU, as nvidia-smi names it.
    pub gpu: String,
    /// Versions of the libraries.
    pub versions: Vec<String>,
    /// Runs of each program.
    pub runs: usize,
    /// In the order in which they came.
    pub rows: Vec<Measured>,
    /// Runs that ended badly.
    pub failures: Vec<Failed>,
}

impl Results {
    /// The libraries beside dushmem that have figures.
    pub fn peers(&self) -> Vec<Library> {
        let has = |library: &Library| self.rows.iter().any(|row| !row.samples[*library as usize].is_empty());
        Library::ALL[1..].iter().copied().filter(has).collect()
    }

    /// Whether no row misses its target for certain, and no run of dushmem's failed.
    pub fn all_met(&self) -> bool {
        let missed = self.rows.iter().any(|row| rows::verdict(row) == rows::Verdict::Missed);
        !missed && self.failures.iter().all(|failure| failure.library != Library::Dushmem)
    }

    fn add(&mut self, key: Key, library: Library, time: f64) {
        let at = self.rows.iter().position(|row| row.key == key).unwrap_or_else(|| {
            self.rows.push(Measured { key, samples: Default::default() });
            self.rows.len() - 1
        });
        self.rows[at].samples[library as usize].push(time);
    }
}

impl Plan {
    /// All runs, the libraries in turn; `look` sees the results after each.
    pub fn run(
        &self,
        workshop: &Workshop,
        effort: &Effort,
        mut look: impl FnMut(&Results),
    ) -> Result<Results, String> {
        let begun = Instant::now();
        let each = self.modes.contains(&Mode::Each);
        let most = if each { self.pes.iter().copied().max().unwrap_or(1) } else { 1 };
        let mut results = Results { gpu: gpu(most), runs: effort.runs, ..Results::default() };
        let mut started = Vec::new();
        for run in 0..effort.runs {
            for &mode in &self.modes {
                let daemon = match mode {
                    Mode::Mps => Some(Daemon::start(workshop.scratch())?),
                    Mode::Plain | Mode::Each => None,
                };
                for &pes in &self.pes {
                    for &library in &self.libraries {
                        if begun.elapsed() > effort.budget {
                            eprintln!("the time is up: {run} runs are complete");
                            return Ok(results);
                        }
                        let groups = self.groups(library, mode, pes);
                        if groups.is_empty() {
                            continue;
                        }
                        let command = |groups: &[&str]| {
                            let mut command = workshop.command(library, mode);
                            match &daemon {
                                Some(daemon) => daemon.set(&mut command),
                                // Nor one that the machine has.
                                None => {
                                    command.env("CUDA_MPS_PIPE_DIRECTORY", workshop.scratch().join("none"));
                                }
                            }
                            command.arg(pes.to_string()).args(groups);
                            command.env("BESIDE_QUICK", if effort.quick { "1" } else { "0" });
                            command
                        };
                        eprintln!(
                            "run {} of {}: {}, {pes} PEs, {}",
                            run + 1,
                            effort.runs,
                            library.title(),
                            mode.title()
                        );
                        let whose = (library, pes, mode);
                        if !started.contains(&(library, mode)) {
                            // No library pays for a machine on which nothing has run: caches, a server of MPS.
                            started.push((library, mode));
                            let _ = watched(command(&[]), effort.limit);
                        }
                        let failed = results.failures.len();
                        self.take(&mut results, whose, command(&groups), effort.limit);
                        let starts = groups.contains(&"start") && results.failures.len() == failed;
                        for _ in 1..if starts { STARTS } else { 1 } {
                            self.take(&mut results, whose, command(&[]), effort.limit);
                        }
                        if library == Library::Dushmem && groups.contains(&"start") {
                            // What tells its steps takes longer, so its figures are not those of the table.
                            let mut again = command(&[]);
                            let diary = Diary::of(workshop.scratch(), &mut again);
                            let _ = watched(again, effort.limit);
                            for (name, time) in diary.steps() {
                                results.add(Key { name, pes, mode }, library, time);
                            }
                        }
                        look(&results);
                    }
                }
            }
        }
        Ok(results)
    }

    /// What a program is asked for. Without MPS NVSHMEM has barriers alone: it ends a program that makes a team or
    /// calls a reduction; and kernels that wait for each other take a time slice a turn.
    fn groups(&self, library: Library, mode: Mode, pes: usize) -> Vec<&'static str> {
        let all: &[&'static str] = match (mode, library) {
            (Mode::Mps, Library::Dushmem | Library::Nvshmem) => {
                &["start", "host", "teams", "stream", "transfers", "collectives", "device", "put"]
            }
            (Mode::Plain, Library::Dushmem) => {
                &["start", "host", "teams", "stream", "transfers", "collectives"]
            }
            (Mode::Plain, Library::Nvshmem) => &["start", "host", "stream"],
            (Mode::Each, Library::Dushmem | Library::Nvshmem) => &GROUPS,
            (Mode::Each, _) => &["collectives", "graphs"],
            // It refuses ranks that have the same GPU.
            (Mode::Plain | Mode::Mps, _) => &[],
        };
        let chosen =
            |group: &&&str| self.groups.is_empty() || self.groups.iter().any(|wanted| wanted == **group);
        // Of a pair alone.
        let fits = |group: &&&str| **group != "put" || pes == 2;
        all.iter().filter(chosen).filter(fits).copied().collect()
    }

    fn take(
        &self,
        results: &mut Results,
        (library, pes, mode): (Library, usize, Mode),
        command: Command,
        limit: Duration,
    ) {
        let (output, ended) = watched(command, limit);
        let mut bad = ended.err();
        // What the program says of itself tells more than how it ended.
        let mut told = None;
        let mut done = false;
        for line in output.lines() {
            let words: Vec<&str> = line.split('\t').collect();
            match words[..] {
                ["row", name, time, ..] => match time.parse() {
                    Ok(time) => results.add(Key { name: name.to_owned(), pes, mode }, library, time),
                    Err(_) => bad = Some(format!("a row without a time: {line}")),
                },
                ["version", version] => {
                    let version = version.to_owned();
                    if !results.versions.contains(&version) {
                        results.versions.push(version);
                    }
                }
                ["wrong", ..] => bad = Some(format!("wrong data: {}", words[1..].join(": "))),
                ["error", why, ..] => told = told.or_else(|| Some(why.to_owned())),
                ["done"] => done = true,
                _ => {}
            }
        }
        bad = told.or(bad);
        if !done && bad.is_none() {
            bad = Some("it ended early".to_owned());
        }
        if let Some(why) = bad {
            let failed = Failed { library, pes, mode, why };
            eprintln!("{failed}");
            results.failures.push(failed);
        }
    }
}

/// What a program prints within the time, and how it ended.
fn watched(mut command: Command, limit: Duration) -> (String, Result<(), String>) {
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(why) => return (String::new(), Err(format!("not started: {}", reason(&why)))),
    };
    let (send, receive) = mpsc::channel();
    let mut readers = Vec::new();
    let pipes: [Option<Box<dyn Read + Send>>; 2] = [
        child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
        child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
    ];
    for mut pipe in pipes.into_iter().flatten() {
        let send = send.clone();
        readers.push(std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = pipe.read_to_end(&mut text);
            drop(send);
            String::from_utf8_lossy(&text).into_owned()
        }));
    }
    drop(send);
    // Both pipes are closed when the last process has gone.
    let hung = receive.recv_timeout(limit) == Err::<(), _>(mpsc::RecvTimeoutError::Timeout);
    if hung {
        // Its PEs end with it.
        let _ = child.kill();
    }
    let status = child.wait();
    let texts: Vec<String> = readers.into_iter().map(|reader| reader.join().unwrap_or_default()).collect();
    let ended = match status {
        _ if hung => Err(format!("ended after {} s", limit.as_secs())),
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            let telling = texts[1].lines().find(|line| line.chars().any(char::is_alphanumeric));
            Err(format!("{status}: {}", telling.unwrap_or("without a word")))
        }
        Err(why) => Err(reason(&why)),
    };
    (texts[0].clone(), ended)
}

/// Names and driver of the GPUs that are used.
fn gpu(most: usize) -> String {
    let asked = Command::new("nvidia-smi")
        .args(["--query-gpu=name,driver_version", "--format=csv,noheader"])
        .stdin(Stdio::null())
        .output();
    let text = asked.map(|out| String::from_utf8_lossy(&out.stdout).into_owned()).unwrap_or_default();
    gpus(&text, most)
}

fn gpus(listed: &str, most: usize) -> String {
    let count = listed.lines().count().min(most);
    match listed.lines().next().and_then(|line| line.split_once(", ")) {
        Some((name, driver)) if count > 1 => format!("{count} {name}, driver {driver}"),
        Some((name, driver)) => format!("one {name}, driver {driver}"),
        None => "an unknown GPU".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan { pes: vec![2], modes: vec![Mode::Plain], groups: vec![], libraries: vec![Library::Dushmem] }
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    fn taken(script: &str) -> Results {
        let mut results = Results::default();
        plan().take(
            &mut results,
            (Library::Dushmem, 2, Mode::Mps),
            shell(script),
            Duration::from_millis(400),
        );
        results
    }

    #[test]
    fn rows_before_a_failure_count() {
        let results = taken(r"printf 'version\tx 1\nrow\ta b\t1.5\t1\t2\t9\n'; echo why >&2; exit 3");
        assert_eq!(results.rows[0].key, Key { name: "a b".into(), pes: 2, mode: Mode::Mps });
        assert_eq!(results.rows[0].samples, [vec![1.5], vec![], vec![], vec![]]);
        assert_eq!(results.versions, ["x 1"]);
        assert!(results.failures[0].why.ends_with("3: why"), "{:?}", results.failures);
        assert!(!results.all_met());
    }

    #[test]
    fn a_run_that_hangs_is_ended_and_one_that_stops_early_or_moves_wrong_data_is_told() {
        let begun = Instant::now();
        let hangs = taken(r"printf 'row\ta\t1\t1\t1\t9\n'; exec sleep 20");
        assert!(begun.elapsed() < Duration::from_secs(15) && hangs.rows.len() == 1);
        assert!(hangs.failures[0].why.starts_with("ended after"), "{:?}", hangs.failures);
        assert_eq!(taken("true").failures[0].why, "it ended early");
        let wrong = taken(r"printf 'wrong\ta\tPE 1: an element\ndone\n'");
        assert_eq!(wrong.failures[0].why, "wrong data: a: PE 1: an element");
        assert_eq!(taken(r"printf 'error\tPE 1: no GPU\n'; exit 1").failures[0].why, "PE 1: no GPU");
        assert!(taken("echo done").failures.is_empty());
    }

    #[test]
    fn the_fastest_of_the_others_counts() {
        let key = Key { name: "a".into(), pes: 2, mode: Mode::Each };
        let row = |samples: Samples| Measured { key: key.clone(), samples };
        let all = row([vec![1.0, 2.0], vec![3.0, 6.0], vec![2.0, 4.0], vec![1.5]]);
        assert_eq!(all.ratio_to(Library::Nvshmem).unwrap().median, 3.0);
        let fastest = all.ratio().unwrap();
        assert_eq!((fastest.median, all.ratio_to(Library::Nccl).unwrap().median), (2.0, 2.0));
        assert_eq!(all.ratio_to(Library::NcclWindows).unwrap().median, 1.5);
        assert_eq!(row([vec![1.0], vec![], vec![], vec![]]).ratio(), None);
        let results = Results { rows: vec![all], ..Results::default() };
        assert_eq!(results.peers(), [Library::Nvshmem, Library::Nccl, Library::NcclWindows]);
    }

    #[test]
    fn gpus_are_counted() {
        let listed = "NVIDIA H200, 580.1\nNVIDIA H200, 580.1\nNVIDIA H200, 580.1\n";
        assert_eq!(gpus(listed, 2), "2 NVIDIA H200, driver 580.1");
        assert_eq!(gpus(listed, 1), "one NVIDIA H200, driver 580.1");
        assert_eq!(gpus("", 2), "an unknown GPU");
    }

    #[test]
    fn nvshmem_is_asked_only_for_what_it_has() {
        let plan = plan();
        assert_eq!(plan.groups(Library::Nvshmem, Mode::Plain, 2), ["start", "host", "stream"]);
        assert!(plan.groups(Library::Dushmem, Mode::Mps, 2).contains(&"put"));
        assert!(!plan.groups(Library::Dushmem, Mode::Mps, 4).contains(&"put"));
        assert_eq!(plan.groups(Library::Nccl, Mode::Each, 2), ["collectives", "graphs"]);
        assert!(plan.groups(Library::NcclWindows, Mode::Mps, 2).is_empty());
        assert!(plan.groups(Library::Nvshmem, Mode::Each, 2).contains(&"put"));
        let some = Plan { groups: vec!["device".into()], ..plan };
        assert!(some.groups(Library::Dushmem, Mode::Plain, 2).is_empty());
    }
}

//! Which rows there are, what each should reach, and which of them one run of the program measures.

/// What a row should reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// dushmem's figure over Open MPI's is at most so much.
    Ratio(f64),
    /// dushmem's figure is at most so much, in the row's unit.
    Most(f64),
}

/// One line of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What the program prints before the figure.
    pub key: String,
    /// Bytes a PE, 0 where that says nothing.
    pub bytes: usize,
    /// Number of PEs.
    pub pes: usize,
    /// The operation, for readers.
    pub label: String,
    /// The group of rows that it belongs to.
    pub section: &'static str,
    /// What the row should reach, if that is agreed.
    pub target: Option<Target>,
}

/// One run of the measuring program.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Number of PEs.
    pub pes: usize,
    /// What the program is asked for.
    pub operations: Vec<String>,
    /// The rows that come of it.
    pub rows: Vec<Row>,
    /// The row is the time from start to end.
    pub whole: bool,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Numbers of PEs of the collectives.
    pub pes: Vec<usize>,
    /// Parts of labels; empty: all rows.
    pub patterns: Vec<String>,
    /// Also the active-set forms.
    pub active_sets: bool,
    /// Without the rows that need many PEs or seconds.
    pub quick: bool,
}

const KIB: usize = 1 << 10;
const COPIES: [usize; 3] = [32 * KIB, 256 * KIB, 1024 * KIB];

/// All runs, without those of which no row is wanted.
pub fn jobs(wanted: &Wanted) -> Vec<Job> {
    let mut jobs = vec![words(), copies(), trips()];
    for &pes in &wanted.pes {
        jobs.push(collectives(pes, false));
        if wanted.active_sets {
            jobs.push(collectives(pes, true));
        }
    }
    if !wanted.quick {
        for pes in [16, 64] {
            let target = Some(Target::Ratio(0.3));
            jobs.push(Job::of(pes, "barrier_all", [Row::of("barrier_all", "barrier_all", 0, target)]));
        }
    }
    for pes in if wanted.quick { vec![2] } else { vec![2, 8, 64] } {
        let row = Row::of("empty", "launch to exit", 0, Some(Target::Ratio(0.1)));
        jobs.push(Job { whole: true, ..Job::of(pes, "empty", [row]) });
    }
    let memory = Row::of("memory", "memory of a PE (PSS)", 0, Some(Target::Ratio(0.25)));
    jobs.push(Job::of(if wanted.quick { 2 } else { 8 }, "memory", [memory]));
    if !wanted.quick {
        jobs.push(waiters());
    }
    for job in &mut jobs {
        job.keep(&wanted.patterns);
    }
    jobs.retain(|job| !job.rows.is_empty());
    jobs
}

impl Row {
    fn of(key: &str, label: &str, bytes: usize, target: Option<Target>) -> Row {
        let label = match bytes {
            0 => label.to_string(),
            bytes => label.replace("{}", &size(bytes)),
        };
        Row { key: key.into(), bytes, pes: 0, label, section: "", target }
    }

    /// Whether the operand of `--rows` names this row.
    fn is_named(&self, patterns: &[String]) -> bool {
        let text = format!("{} {} PEs {}", self.label, self.pes, self.section).to_lowercase();
        patterns.is_empty() || patterns.iter().any(|pattern| has_word(&text, &pattern.to_lowercase()))
    }
}

impl Job {
    fn of(pes: usize, operation: &str, rows: impl IntoIterator<Item = Row>) -> Job {
        let section = match operation {
            "barrier_all" => "barriers of many PEs",
            _ => "jobs",
        };
        Job { pes, operations: vec![operation.into()], rows: rows.into_iter().collect(), whole: false }
            .in_section(section)
    }

    fn in_section(mut self, section: &'static str) -> Job {
        for row in &mut self.rows {
            row.section = section;
            row.pes = self.pes;
        }
        self
    }

    /// Only the rows that are named, and what has to be run for them.
    fn keep(&mut self, patterns: &[String]) {
        self.rows.retain(|row| row.is_named(patterns));
        let rows = &self.rows;
        self.operations.retain(|operation| {
            rows.iter().any(|row| {
                let name = row.key.split('/').next().unwrap_or_default();
                *operation == operation_of(name, row.bytes)
            })
        });
    }

    /// The run in words.
    pub fn shown(&self) -> String {
        let names: Vec<&str> = self.rows.iter().map(|row| row.label.as_str()).collect();
        let names = match names.as_slice() {
            [first, .., last] => format!("{first} to {last}"),
            [one] => (*one).to_string(),
            [] => String::new(),
        };
        format!("{names}, {} PEs", self.pes)
    }
}

/// Whether `part` begins somewhere in `text` where no word or number goes on: `4 PEs` is not in `64 PEs`.
fn has_word(text: &str, part: &str) -> bool {
    let starts = text.match_indices(part).map(|(at, _)| &text[..at]);
    starts.into_iter().any(|before| !before.ends_with(char::is_alphanumeric))
}

fn operation_of(name: &str, bytes: usize) -> String {
    if bytes == 0 { name.to_string() } else { format!("{name}:{bytes}") }
}

/// A job of one operation a row.
fn plain(pes: usize, section: &'static str, rows: Vec<Row>) -> Job {
    let operations = rows.iter().map(|row| operation_of(&row.key, row.bytes)).collect();
    Job { pes, operations, rows, whole: false }.in_section(section)
}

fn words() -> Job {
    let half = Some(Target::Ratio(0.5));
    let rows = [
        ("p", "p {}", half),
        ("put", "put {}", half),
        ("g", "g {}", half),
        ("put_nbi", "put_nbi {}", half),
        ("fetch_add", "fetch_add {}", half),
        ("compare_swap", "compare_swap {}", half),
        ("put_quiet", "put {} + quiet", Some(Target::Ratio(0.45))),
        ("p_quiet", "p {} + quiet", None),
    ];
    plain(2, "words", rows.map(|(key, label, target)| Row::of(key, label, 8, target)).into())
}

fn copies() -> Job {
    let (mut operations, mut rows) = (Vec::new(), Vec::new());
    for name in ["put", "get"] {
        for bytes in COPIES {
            let key = format!("{name}_large");
            operations.push(operation_of(&key, bytes));
            rows.push(Row::of(&key, &format!("{name} {{}}"), bytes, Some(Target::Ratio(1.05))));
            let label = format!("{name} {{}} / memcpy");
            rows.push(Row::of(&format!("{key}/memcpy"), &label, bytes, Some(Target::Most(1.08))));
        }
    }
    Job { pes: 2, operations, rows, whole: false }.in_section("copies")
}

fn trips() -> Job {
    let rows = vec![
        Row::of("ping_pong", "p + wait_until, round trip", 8, Some(Target::Ratio(1.1))),
        Row::of("put_signal", "put_signal {}, round trip", 8, Some(Target::Ratio(0.85))),
    ];
    plain(2, "round trips", rows)
}

fn waiters() -> Job {
    let rows = [
        Row::of("waiters/cpu", "CPU time of 8 PEs in wait_until for 2 s", 0, Some(Target::Most(0.3))),
        Row::of("waiters/p", "p to one of 8 PEs in wait_until", 0, Some(Target::Ratio(0.5))),
        Row::of("waiters/p-ratio", "p to a PE in wait_until / in a barrier", 0, Some(Target::Most(1.1))),
    ];
    Job::of(9, "waiters", rows)
}

fn collectives(pes: usize, active: bool) -> Job {
    let targets = |name: &str, bytes: usize| match (pes, name, bytes) {
        (2, "sum_reduce", 65536) => Some(0.7),
        (2, _, 65536) => Some(1.05),
        (2, ..) => Some(0.85),
        (4, ..) => Some(0.9),
        (8, "barrier_all" | "sync_all", _) => Some(0.4),
        (8, "alltoall", 65536) => Some(1.0),
        (8, ..) => Some(0.5),
        _ => None,
    };
    let mut rows = Vec::new();
    let mut add = |name: &str, bytes: usize| {
        let target = targets(name, bytes).map(Target::Ratio);
        let (key, label) = match (active, name) {
            (false, name) => (name.to_string(), name.to_string()),
            (true, "sum_reduce") => ("active_sum".into(), "sum_to_all".into()),
            (true, name) => {
                let short = name.strip_suffix("_all").unwrap_or(name);
                (format!("active_{short}"), short.to_string())
            }
        };
        let label = if bytes == 0 { label } else { format!("{label} {{}}") };
        rows.push(Row::of(&key, &label, bytes, target));
    };
    add("barrier_all", 0);
    add("sync_all", 0);
    for bytes in [8, 64 * KIB] {
        for name in ["broadcast", "sum_reduce", "fcollect", "alltoall"] {
            add(name, bytes);
        }
    }
    plain(pes, if active { "collectives over active sets" } else { "collectives" }, rows)
}

/// Bytes as people write them.
pub fn size(bytes: usize) -> String {
    match bytes {
        b if b >= 1 << 20 && b % (1 << 20) == 0 => format!("{} MiB", b >> 20),
        b if b >= 1 << 10 && b % (1 << 10) == 0 => format!("{} KiB", b >> 10),
        b => format!("{b} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> Wanted {
        Wanted { pes: vec![2, 4, 8], patterns: Vec::new(), active_sets: false, quick: false }
    }

    fn target(jobs: &[Job], label: &str, pes: usize) -> Option<Target> {
        let mut rows = jobs.iter().flat_map(|job| &job.rows);
        rows.find(|row| row.label == label && row.pes == pes)
            .unwrap_or_else(|| panic!("{label} {pes}"))
            .target
    }

    #[test]
    fn rows_have_the_targets_that_were_agreed() {
        let jobs = jobs(&wanted());
        for (label, pes, wanted) in [
            ("p 8 B", 2, Target::Ratio(0.5)),
            ("put 8 B + quiet", 2, Target::Ratio(0.45)),
            ("get 1 MiB", 2, Target::Ratio(1.05)),
            ("put 32 KiB / memcpy", 2, Target::Most(1.08)),
            ("sum_reduce 64 KiB", 2, Target::Ratio(0.7)),
            ("alltoall 64 KiB", 4, Target::Ratio(0.9)),
            ("alltoall 64 KiB", 8, Target::Ratio(1.0)),
            ("barrier_all", 8, Target::Ratio(0.4)),
            ("barrier_all", 64, Target::Ratio(0.3)),
            ("launch to exit", 8, Target::Ratio(0.1)),
        ] {
            assert_eq!(target(&jobs, label, pes), Some(wanted), "{label}, {pes} PEs");
        }
        assert_eq!(target(&jobs, "p 8 B + quiet", 2), None);
    }

    #[test]
    fn a_pattern_leaves_out_what_is_not_measured() {
        let few = jobs(&Wanted { patterns: vec!["FETCH".into(), "put 32 kib".into()], ..wanted() });
        let operations: Vec<&String> = few.iter().flat_map(|job| &job.operations).collect();
        assert_eq!(operations, ["fetch_add:8", "put_large:32768"]);
        assert_eq!(few[1].rows.len(), 2, "and beside memcpy");
        let four = jobs(&Wanted { patterns: vec!["4 pes".into()], ..wanted() });
        assert!(four.iter().all(|job| job.pes == 4) && !four.is_empty());
        assert!(jobs(&Wanted { patterns: vec!["no such row".into()], ..wanted() }).is_empty());
    }

    #[test]
    fn no_row_comes_twice_and_each_has_a_run() {
        let jobs = jobs(&Wanted { active_sets: true, ..wanted() });
        let mut names: Vec<(String, &str, usize)> = jobs
            .iter()
            .flat_map(|job| &job.rows)
            .map(|row| (row.label.clone(), row.section, row.pes))
            .collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(jobs.iter().all(|job| !job.operations.is_empty()));
    }
}

//! The whole programs of `examples`, which are there in C and in Rust: what they print.
use crate::job::{Job, Outcome};

/// Numbers of PEs that they run with.
pub const PES: [usize; 4] = [1, 3, 8, 16];

/// A program, its words, and how its last line begins: the same for any number of PEs, in both languages.
pub const RUNS: [(&str, &str, &str); 13] = [
    ("gups", "1000 --updates 30000", "1000 words, 30000 updates, checksum 2bf384cab96a55fb"),
    ("gups", "1000 --updates 30000 --bucket 30", "1000 words, 30000 updates, checksum 2bf384cab96a55fb"),
    ("gups", "5 --updates 100 --bucket 3", "5 words, 100 updates, checksum 3aa4c46b6e778501"),
    ("heat2d", "20 --digits 3", "20 x 20 cells, 140 steps, checksum e4a4f39527a69deb"),
    // Fewer rows than PEs.
    ("heat2d", "5 --steps 47", "5 x 5 cells, 47 steps, checksum 2cc14dad78a02d14"),
    ("bucket_sort", "50000", "50000 keys, checksum b18b86727ef352e6"),
    ("bucket_sort", "50000 --skew 1", "50000 keys (skewed), checksum dcfe2922f71c8a42"),
    ("gather", "20000 --table 1000", "20000 of 1000 words, checksum ded58942750e4316"),
    ("gather", "20000 --table 1000 --batch 30", "20000 of 1000 words, checksum ded58942750e4316"),
    ("work_stealing", "5000", "1712 nodes, depth 21, checksum c680cf4fe34b796e"),
    ("work_stealing", "5000 --locks 1", "1712 nodes, depth 21, checksum c680cf4fe34b796e"),
    ("histogram", "100000", "100000 values in 1000 bins, checksum 3fc8acd37ed1d2f0"),
    ("histogram", "100000 --reduce 1", "100000 values in 1000 bins, checksum 3fc8acd37ed1d2f0"),
];

/// Asserts that `name` on `pes` PEs has verified its result, which is `result`, and said how fast it was.
#[track_caller]
pub fn verified(name: &str, pes: usize, result: &str, outcome: &Outcome) {
    // A run that takes long tells how far it is.
    let told = |line: &str| line.starts_with(&format!("{name}: ")) && line.contains(" of ");
    assert!(outcome.code == 0 && outcome.stderr.lines().all(told), "{outcome:#?}");
    let lines: Vec<&str> = outcome.stdout.lines().filter(|line| !line.ends_with(" thefts")).collect();
    let [line] = lines[..] else { panic!("not one line: {outcome:#?}") };
    let rest = line.strip_prefix(&format!("{name}: {result}: verified, "));
    let rate = rest.unwrap_or_else(|| panic!("{name}: {result} was expected: {outcome:#?}"));
    let ends = format!("/s with {pes} PE{}", if pes == 1 { "" } else { "s" });
    let number = rate.strip_suffix(&ends).and_then(|rate| rate.split(' ').next()?.parse::<f64>().ok());
    assert!(number.is_some_and(|number| number.is_finite() && number > 0.0), "no rate: {outcome:#?}");
}

/// Asserts that a program answers wrong words by one line and code 2, and help by what it can be given.
///
/// `start` makes a job of two PEs with the words behind the program.
pub fn reads_its_words(name: &str, start: impl Fn(&str) -> Job) {
    let help = start("--help").run().success();
    assert!(help.stdout.starts_with(&format!("{name}: ")) && help.stdout.contains("--size"), "{help:#?}");
    for (words, wanted) in [
        ("x", "--size takes a number from 1 to "),
        ("0", "not 0"),
        ("--size", "not nothing"),
        ("--size -1", "not -1"),
        ("--size 99999999999999999999", "not 99999999999999999999"),
        ("--sise 5", "there is no option --sise; see --help"),
        ("5 10q", "not 10q"),
    ] {
        let outcome = start(words).run();
        let lines: Vec<&str> = outcome.stderr.lines().filter(|line| !line.starts_with("dushrun: ")).collect();
        let one = matches!(lines[..], [line] if line.starts_with(name) && line.contains(wanted));
        assert!(outcome.code == 2 && outcome.stdout.is_empty() && one, "{words}: {outcome:#?}");
    }
}

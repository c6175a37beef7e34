//! The whole programs of `examples/c`: each verifies its result, and finds it wrong when a call went wrong.
use crate::build::Program;
use crate::trial;
use dushmem_testkit::installation::root;
use dushmem_testkit::job::Job;
use dushmem_testkit::programs::{PES, RUNS, reads_its_words, verified};
use libtest_mimic::Trial;

fn program(name: &str) -> Program {
    Program::example(name).flags("-std=c11 -O2 -Wall -Wextra -Werror")
}

/// A program, its words, and the call that goes wrong (`tests/c/faulty.h`) at which time.
const FAULTS: [(&str, &str, &str, usize); 11] = [
    ("gups", "1000 --updates 30000", "XOR_LOST", 50),
    ("gups", "1000 --updates 30000", "XOR_MISPLACED", 50),
    ("gups", "1000 --updates 30000 --bucket 30", "PUT_SHORT", 20),
    ("heat2d", "30", "COLUMN_LOST", 100),
    ("bucket_sort", "50000", "KEY_LOST", 2),
    ("bucket_sort", "50000 --skew 1", "KEY_LOST", 1),
    ("gather", "20000 --table 1000", "GET_LOST", 77),
    ("gather", "20000 --table 1000 --batch 30", "PUT_SHORT", 20),
    ("work_stealing", "5000", "TASK_CHANGED", 1),
    ("histogram", "100000", "ADD_LOST", 99),
    ("histogram", "100000 --reduce 1", "SUM", 1),
];

/// Adds the tests.
pub fn add(trials: &mut Vec<Trial>) {
    for (at, (name, words, result)) in RUNS.into_iter().enumerate() {
        for pes in PES {
            let many = if pes > 8 { "many_" } else { "" };
            trials.push(trial(format!("whole::{name}::{at}::{many}{pes}_pes"), move || {
                let outcome = Job::new(pes, program(name).build()).words(words).run();
                verified(name, pes, result, &outcome);
            }));
        }
        trials.push(trial(format!("whole::{name}::{at}::loopback"), move || {
            for (pes, seed) in [(2, "1"), (5, "2")] {
                let job = Job::new(pes, program(name).build()).words(words);
                let job = job.env("DUSHMEM_TRANSPORT", "loopback").env("DUSHMEM_LOOPBACK_SEED", seed);
                verified(name, pes, result, &job.run());
            }
        }));
    }
    for (name, words, fault, time) in FAULTS {
        trials.push(trial(format!("whole::{name}::finds_{}", fault.to_lowercase()), move || {
            let header = root().join("tests/c/faulty.h");
            let flags = format!("-DFAULT_{fault} -DFAULT_AT={time} -include {}", header.display());
            let outcome = Job::new(3, program(name).flags(&flags).build()).words(words).run();
            let line = outcome.stdout.lines().last().unwrap_or_default();
            let said = outcome.stderr.lines().any(|line| line.starts_with(&format!("{name}: PE ")));
            let found = outcome.code == 1 && line.starts_with(&format!("{name}: ")) && said;
            assert!(found && line.trim_end_matches('s').ends_with(" error"), "{outcome:#?}");
        }));
    }
    for name in ["gups", "heat2d", "bucket_sort", "gather", "work_stealing", "histogram"] {
        trials.push(trial(format!("whole::{name}::words"), move || {
            reads_its_words(name, |words| Job::new(2, program(name).build()).words(words));
        }));
    }
    trials.push(trial("whole::long_progress".into(), || {
        let outcome = Job::new(2, program("histogram").build()).words("1500000000").run();
        assert!(outcome.code == 0 && outcome.stderr.contains(" of 1500000000\n"), "{outcome:#?}");
        assert!(outcome.stderr.lines().count() < outcome.time.as_secs() as usize, "{outcome:#?}");
    }));
}

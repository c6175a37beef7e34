//! What naive implementations get wrong: the programs of `tests/c/traps`, whose functions are named after the
//! lines of `docs/design/traps.md`. Each runs its objects on the heap and in static data, with several numbers
//! of PEs, over both transports.
use crate::build::Program;
use crate::trial;
use dushmem_testkit::job::{Job, Outcome};
use libtest_mimic::Trial;
use std::time::Duration;

/// The programs, with parts of the lines that they provoke.
const PROGRAMS: [(&str, &[&str]); 11] = [
    ("order", &[]),
    ("waits", &[]),
    ("rma", &[]),
    ("amo", &[]),
    ("memory", &["has no room for", "larger than any heap", "not a power of two of at least 8"]),
    (
        "teams",
        &[
            "shmem_team_split_strided: ",
            "shmem_team_split_2d: ",
            ": the invalid team (SHMEM_TEAM_INVALID)",
            ": a team that was destroyed",
            "shmem_ctx_create: all 4096 contexts of a PE are in use",
        ],
    ),
    ("coll", &[]),
    ("active", &[]),
    ("locks", &[]),
    ("idioms", &[]),
    ("life", &[]),
];

/// Numbers of PEs, and whether the short profile has them.
const SIZES: [(usize, bool); 6] = [(1, false), (2, true), (3, false), (4, false), (7, false), (8, true)];

fn program(name: &str) -> Program {
    Program::new(&format!("traps/{name}"))
}

fn job(name: &str, program: &Program, pes: usize) -> Job {
    let job = Job::new(pes, program.build());
    // One of them fills the heap.
    if name == "memory" { job.env("DUSHMEM_SYMMETRIC_SIZE", "16M") } else { job }
}

fn loopback(job: Job, seed: usize) -> Job {
    job.env("DUSHMEM_TRANSPORT", "loopback").env("DUSHMEM_LOOPBACK_SEED", seed.to_string())
}

/// Fails unless the job succeeded and said nothing but what was provoked.
#[track_caller]
fn held(outcome: Outcome, provoked: &[&str]) {
    let expected = |line: &str| provoked.iter().any(|part| line.contains(part));
    let faults: Vec<&str> = outcome.stderr.lines().filter(|line| !expected(line)).collect();
    assert!(outcome.code == 0 && faults.is_empty() && outcome.stdout.is_empty(), "{faults:#?}\n{outcome:#?}");
}

/// Adds the tests.
pub fn add(trials: &mut Vec<Trial>) {
    for (name, provoked) in PROGRAMS {
        for (pes, short) in SIZES {
            let long = if short { "" } else { "long_" };
            trials.push(trial(format!("traps::{name}::{long}{pes}_pes"), move || {
                held(job(name, &program(name), pes).run(), provoked);
                held(loopback(job(name, &program(name), pes), pes).run(), provoked);
            }));
        }
        trials.push(trial(format!("traps::{name}::long_other_seeds"), move || {
            for (pes, seed) in [(2, 20261129), (3, 1), (4, 99), (7, 5), (8, 123456789)] {
                held(loopback(job(name, &program(name), pes), seed).run(), provoked);
            }
        }));
        // Elsewhere in memory, and by the exported functions instead of the inline ones.
        trials.push(trial(format!("traps::{name}::no_pie_no_inline"), move || {
            let program = program(name).flags("-fno-pie -no-pie -DDUSHMEM_NO_INLINE");
            held(job(name, &program, 3).run(), provoked);
            held(job(name, &program, 3).env("DUSHMEM_EQUAL_ADDRESSES", "0").run(), provoked);
            held(loopback(job(name, &program, 2), 77).run(), provoked);
        }));
    }
    add_exits(trials);
    for end in ["return", "exit", "finalize"] {
        trials.push(trial(format!("traps::start_pes::{end}"), move || {
            for pes in [1, 3, 8] {
                for transport in ["shm", "loopback"] {
                    let job = Job::new(pes, program("start_pes").build()).words(end);
                    held(job.env("DUSHMEM_TRANSPORT", transport).run(), &[]);
                }
            }
        }));
    }
    for (pes, transport) in [(1, "shm"), (2, "shm"), (3, "shm"), (2, "loopback")] {
        trials.push(trial(format!("traps::large::{transport}_{pes}_pes"), move || {
            held(large(pes).env("DUSHMEM_TRANSPORT", transport).run(), &[]);
        }));
    }
    for pes in [1, 2] {
        trials.push(trial(format!("traps::large::long_touched_{pes}_pes"), move || {
            held(large(pes).words("touch").limit(Duration::from_secs(200)).run(), &[]);
        }));
    }
}

/// A heap of which little is touched: huge pages would touch more.
fn large(pes: usize) -> Job {
    let job = Job::new(pes, program("large").build());
    job.env("DUSHMEM_SYMMETRIC_SIZE", "6G").env("DUSHMEM_HUGE_PAGES", "0")
}

fn add_exits(trials: &mut Vec<Trial>) {
    for (place, codes) in
        [("main", 44..45), ("thread", 44..45), ("nested", 44..45), ("zero", 0..1), ("all", 40..48)]
    {
        trials.push(trial(format!("traps::exits::{place}"), move || {
            for pes in [1, 3, 8] {
                for transport in ["shm", "loopback"] {
                    let job = Job::new(pes, program("exits").build()).words(place);
                    let outcome =
                        job.env("DUSHMEM_TRANSPORT", transport).limit(Duration::from_secs(20)).run();
                    // Where all end the job, the first one may be faster than the one that has something to say.
                    let said = place == "all"
                        || outcome.stdout.trim_end() == "the last words, and those of a handler";
                    let right = codes.contains(&outcome.code) && outcome.stderr.is_empty() && said;
                    assert!(right, "{pes} PEs over {transport}: {outcome:#?}");
                }
            }
        }));
    }
}

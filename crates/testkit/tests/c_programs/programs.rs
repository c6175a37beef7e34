//! The programs that go through the interface, in each family, on both transports.
use crate::build::Program;
use crate::trial;
use dushmem_testkit::job::{Job, Outcome};
use libtest_mimic::Trial;

/// All families.
pub const FAMILIES: [&str; 3] = ["SHMEM", "NVSHMEM", "DUSHMEM"];
const PROGRAMS: [&str; 8] = ["rma", "amo", "signal", "wait", "coll", "team", "reinit", "forked"];
/// Seeds of the loopback transport.
const SEEDS: [&str; 2] = ["1", "20261129"];

/// Fails with what was printed unless the job succeeded; a line about a failure that the program itself
/// provokes is no fault.
#[track_caller]
pub fn succeeded(outcome: Outcome) {
    let faults: Vec<&str> = outcome
        .stderr
        .lines()
        .filter(|line| !line.contains(": not a context, or one that was destroyed"))
        .filter(|line| !line.contains("team_create_ctx: team = -1"))
        .collect();
    assert!(outcome.code == 0 && faults.is_empty(), "{outcome:#?}");
}

/// Adds the tests.
pub fn add(trials: &mut Vec<Trial>) {
    for name in PROGRAMS {
        for family in FAMILIES {
            // Hundreds of functions with checks: the compiler's time is better spent elsewhere.
            let program = Program::new(name).family(family).flags(if name == "coll" { "-O0" } else { "" });
            let label = format!("{name}::{}", family.to_lowercase());
            for pes in [1, 2, 3, 4, 7] {
                let (program, family) = (program.clone(), family.to_owned());
                let long = if pes == 3 || pes == 7 { "long_" } else { "" };
                trials.push(trial(format!("{label}::{long}{pes}_pes"), move || {
                    succeeded(job(&program, pes, &family).run());
                }));
            }
            for (seed, pes) in SEEDS.into_iter().zip([3, 2]) {
                let (program, family) = (program.clone(), family.to_owned());
                trials.push(trial(format!("{label}::loopback_{pes}_pes_seed_{seed}"), move || {
                    let job = job(&program, pes, &family);
                    succeeded(
                        job.env("DUSHMEM_TRANSPORT", "loopback").env("DUSHMEM_LOOPBACK_SEED", seed).run(),
                    );
                }));
            }
        }
    }
    for (name, family) in [("generic", "SHMEM"), ("generic", "DUSHMEM"), ("article", "DUSHMEM")] {
        let program = Program::new(name).family(family);
        let variants = [
            ("c11", program.clone()),
            ("clang_c17", program.clone().flags("-std=c17").compiler("clang")),
            ("cxx11", program.clone().cxx("c++11")),
            ("clang_cxx20", program.cxx("c++20").compiler("clang++")),
        ];
        for (standard, program) in variants {
            let label = format!("{name}::{}::{standard}", family.to_lowercase());
            trials.push(trial(label, move || {
                for (pes, transport) in [(1, "shm"), (3, "shm"), (2, "loopback")] {
                    succeeded(Job::new(pes, program.build()).env("DUSHMEM_TRANSPORT", transport).run());
                }
            }));
        }
    }
    for name in ["rma", "amo"] {
        let program = Program::new(name).flags("-DDUSHMEM_NO_INLINE");
        trials.push(trial(format!("{name}::without_inline"), move || {
            succeeded(Job::new(3, program.build()).run());
        }));
    }
}

fn job(program: &Program, pes: usize, family: &str) -> Job {
    let job = Job::new(pes, program.build());
    // Two families have their globals where they always were, the third only where asked.
    if family == "NVSHMEM" { job } else { job.env("DUSHMEM_STATIC", "1") }
}

//! The ring and the other examples.
use crate::build::Program;
use crate::trial;
use dushmem_testkit::installation::root;
use dushmem_testkit::job::Job;
use libtest_mimic::Trial;
use std::path::Path;

/// The numbers of PEs that the ring has to pass with.
pub const SIZES: [usize; 8] = [1, 2, 3, 4, 7, 8, 16, 64];

/// Runs a ring of all sizes, `times` times each, through `start`.
pub fn all_sizes(times: usize, start: impl Fn(usize) -> Job) {
    for pes in SIZES {
        for _ in 0..times {
            start(pes).run().prints_ring(pes);
        }
    }
}

/// The number of PEs in the `dushrun -n K` of an example's comment.
fn pes_of(source: &Path) -> usize {
    let text = std::fs::read_to_string(source).expect("the example is there");
    let number = text.split("dushrun -n ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
    number.unwrap_or_else(|| panic!("{}: no `dushrun -n K` in its comment", source.display()))
}

/// Adds the tests.
pub fn add(trials: &mut Vec<Trial>) {
    for pes in SIZES {
        let many = if pes > 16 { "many_" } else { "" };
        trials.push(trial(format!("ring::{many}{pes}_pes"), move || {
            Job::new(pes, Program::example("ring").build()).run().prints_ring(pes);
        }));
    }
    for family in ["C", "C++"] {
        for pie in ["", "-no-pie"] {
            let kind = if pie.is_empty() { "pie" } else { "no_pie" };
            let label = format!("ring::long_{}_{kind}", family.replace('+', "x").to_lowercase());
            trials.push(trial(label, move || {
                let program = Program::example("ring").flags(pie);
                let program = if family == "C" { program } else { program.cxx("c++17") };
                let program = program.build();
                all_sizes(20, |pes| Job::new(pes, &program));
            }));
        }
    }
    trials.push(trial("ring::long_loopback".into(), || {
        let program = Program::example("ring").build();
        for seed in 0..20 {
            for pes in [1, 2, 3, 4, 7, 8] {
                let job = Job::new(pes, &program).env("DUSHMEM_TRANSPORT", "loopback");
                job.env("DUSHMEM_LOOPBACK_SEED", seed.to_string()).run().prints_ring(pes);
            }
        }
    }));
    let folder = root().join("examples/c");
    for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
        let expected = entry.path();
        if expected.extension().is_none_or(|end| end != "expected") {
            continue;
        }
        let name = expected.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        trials.push(trial(format!("example::{name}"), move || {
            let text = std::fs::read_to_string(&expected).expect("the expected output is there");
            let pes = pes_of(&expected.with_extension("c"));
            let program = Program::example(&name).flags("-Wall -Wextra -Werror").build();
            for transport in ["shm", "loopback"] {
                Job::new(pes, &program).env("DUSHMEM_TRANSPORT", transport).run().prints(text.lines());
            }
        }));
    }
}

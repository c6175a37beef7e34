//! Names of older versions of OpenSHMEM, and the 16-bit floating-point numbers of NVSHMEM.
use crate::build::Program;
use crate::programs::succeeded;
use crate::trial;
use dushmem_testkit::job::Job;
use libtest_mimic::Trial;

/// Adds the tests.
pub fn add(trials: &mut Vec<Trial>) {
    let older = Program::new("older");
    let variants = [
        ("gnu89", older.clone().flags("-std=gnu89")),
        ("c11", older.clone()),
        ("c99_out_of_line", older.clone().flags("-std=c99 -DDUSHMEM_NO_INLINE")),
        ("cxx17", older.cxx("c++17")),
    ];
    for (language, program) in variants {
        trials.push(trial(format!("older::{language}"), move || {
            for (pes, transport) in [(1, "shm"), (4, "shm"), (3, "loopback")] {
                succeeded(Job::new(pes, program.build()).env("DUSHMEM_TRANSPORT", transport).run());
            }
            // A program that was started so may leave in other ways, too.
            for how in ["exit", "finalize"] {
                succeeded(Job::new(3, program.build()).args([how]).run());
            }
        }));
    }
    for family in ["NVSHMEM", "DUSHMEM"] {
        let half = Program::new("half").family(family);
        let variants = [
            ("c11", half.clone()),
            ("out_of_line", half.clone().flags("-DDUSHMEM_NO_INLINE")),
            ("cxx17", half.cxx("c++17")),
        ];
        for (language, program) in variants {
            trials.push(trial(format!("half::{}::{language}", family.to_lowercase()), move || {
                for (pes, transport) in [(1, "shm"), (2, "shm"), (5, "shm"), (3, "loopback")] {
                    succeeded(Job::new(pes, program.build()).env("DUSHMEM_TRANSPORT", transport).run());
                }
            }));
        }
    }
}

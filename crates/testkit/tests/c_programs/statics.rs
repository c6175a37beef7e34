//! Globals of the executable as symmetric data.
use crate::build::Program;
use crate::programs::succeeded;
use crate::trial;
use dushmem_testkit::job::Job;
use libtest_mimic::Trial;

/// Adds the tests.
pub fn add(trials: &mut Vec<Trial>) {
    for family in crate::programs::FAMILIES {
        for (pes, transport) in [(1, "shm"), (2, "shm"), (4, "shm"), (3, "loopback")] {
            let label = format!("statics::{}::{transport}_{pes}_pes", family.to_lowercase());
            trials.push(trial(label, move || {
                let ring = Program::example("ring").build();
                let job = Job::new(pes, Program::new("statics").family(family).build()).args([ring]);
                succeeded(job.env("DUSHMEM_STATIC", "1").env("DUSHMEM_TRANSPORT", transport).run());
            }));
        }
    }
    trials.push(trial("statics::many_pes".into(), || {
        succeeded(Job::new(16, Program::new("statics").build()).run());
    }));
    for model in ["-mcmodel=medium", "-mcmodel=medium -fno-pie -no-pie", "-mcmodel=large"] {
        let label = model.replace(['-', '='], "").replace(' ', "_");
        trials.push(trial(format!("statics::beyond_2_gib::{label}"), move || {
            succeeded(Job::new(2, Program::new("big_static").flags(model).build()).run());
        }));
    }
    trials.push(trial("statics::other_executables".into(), || {
        // The same source, but not the same executable: the globals lie elsewhere.
        let (one, other) = (Program::new("bad").build(), Program::new("bad").flags("-O0").build());
        let job =
            Job::dushrun().words("-n 1").args([&one]).words("global : -n 1").args([&other]).words("global");
        let words =
            ["shmem_long_p: dest = 0x", "not in symmetric memory", "the PEs run different executables"];
        job.run().failure(4, &words);
        // What does not need globals works.
        let ring = |flags: &str| Program::new("wait").family("NVSHMEM").flags(flags).build();
        let job = Job::dushrun().words("-n 2").args([ring("")]).words(": -n 1").args([ring("-O0")]);
        succeeded(job.run());
    }));
}

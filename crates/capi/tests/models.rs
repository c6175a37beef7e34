//! Random programs by the C names, against a shadow model: those that fuzzing kept, and more of the same.
//! The test runs itself again as the PEs of a job.
mod c_names;
use c_names::CNames;
use dushmem_testkit::job::Job;
use dushmem_testkit::model::{alloc, corpus, strided, teams};
use dushmem_testkit::suites::pe::{Random, bytes};

/// The model that a process is to run as a PE.
const MODEL: &str = "DUSHMEM_TESTKIT_TEST";

fn play(name: &str, run: fn(&CNames, &[u8])) {
    if std::env::var(MODEL).is_ok_and(|model| model == name) {
        let api = CNames::init();
        for (file, input) in corpus::inputs(name) {
            println!("{file}");
            run(&api, &input);
        }
        let mut random = Random(17);
        for seed in 0..40 {
            println!("seed {seed}");
            run(&api, &bytes(seed, 40 + random.below(600)));
        }
        api.finalize();
        std::process::exit(0);
    }
    let test = std::env::current_exe().expect("/proc is mounted");
    for (pes, transport) in [(1, "shm"), (3, "shm"), (8, "shm"), (2, "loopback"), (7, "loopback")] {
        let job = Job::new(pes, &test).args(["--exact", name, "--nocapture", "--test-threads=1"]);
        let job =
            job.env(MODEL, name).env("DUSHMEM_TRANSPORT", transport).env("DUSHMEM_SYMMETRIC_SIZE", "64K");
        let job = job.env("DUSHMEM_TEAM_SLOTS", teams::TEAM_SLOTS.to_string());
        let outcome = job.run();
        // Calls that have to fail say so.
        assert!(
            outcome.code == 0,
            "{pes} PEs, {transport}, code {}\n{}\n{}",
            outcome.code,
            outcome.stdout,
            outcome.stderr
        );
    }
}

#[test]
fn alloc() {
    play("alloc", alloc::run);
}

#[test]
fn strided() {
    play("strided", strided::run);
}

#[test]
fn teams() {
    play("teams", teams::run);
}

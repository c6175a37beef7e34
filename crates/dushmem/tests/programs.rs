//! The whole programs of `examples/rust`: as the processes of a job, and the tests that stand in them.
#![allow(
    clippy::duplicate_mod,
    reason = "each program is a file with a module of its own, as cargo's examples are"
)]
use dushmem_testkit::job::Job;
use dushmem_testkit::programs::{PES, RUNS, reads_its_words, verified};
use dushmem_testkit::tools::example;

/// Their own tests. What only `main` needs is not used here.
macro_rules! programs {
    ($($name:ident $path:literal;)*) => {$(
        #[path = $path]
        #[allow(dead_code, reason = "its main is not called")]
        mod $name;
    )*};
}
programs! {
    bucket_sort "../../../examples/rust/bucket_sort.rs";
    gather "../../../examples/rust/gather.rs";
    gups "../../../examples/rust/gups.rs";
    heat2d "../../../examples/rust/heat2d.rs";
    histogram "../../../examples/rust/histogram.rs";
    work_stealing "../../../examples/rust/work_stealing.rs";
}

/// All runs of a program.
fn runs(name: &str, pes: &[usize], start: impl Fn(Job) -> Job) {
    let mut seen = 0;
    for (_, words, result) in RUNS.into_iter().filter(|run| run.0 == name) {
        for &pes in pes {
            verified(name, pes, result, &start(Job::new(pes, example(name)).words(words)).run());
            seen += 1;
        }
    }
    assert!(seen > 0, "no runs of {name}");
}

macro_rules! runs {
    ($($name:ident)*) => {$(
        mod $name {
            const NAME: &str = stringify!($name);

            #[test]
            fn any_number_of_pes() {
                super::super::runs(NAME, &super::super::PES, |job| job);
            }

            #[test]
            fn on_the_transport_that_reorders() {
                for seed in ["1", "2"] {
                    super::super::runs(NAME, &[2, 5], |job| {
                        job.env("DUSHMEM_TRANSPORT", "loopback").env("DUSHMEM_LOOPBACK_SEED", seed)
                    });
                }
            }

            #[test]
            fn words() {
                super::super::reads_its_words(NAME, |words| {
                    super::super::Job::new(2, super::super::example(NAME)).words(words)
                });
            }
        }
    )*};
}
/// As jobs.
mod jobs {
    runs! { bucket_sort gather gups heat2d histogram work_stealing }
}

#[test]
fn long_progress() {
    // Some seconds, with and without optimisation.
    let size = if cfg!(debug_assertions) { "400000000" } else { "1500000000" };
    let outcome = Job::new(2, example("histogram")).words(size).run();
    assert!(outcome.code == 0 && outcome.stderr.contains(&format!(" of {size}\n")), "{outcome:#?}");
    assert!(outcome.stderr.lines().count() < outcome.time.as_secs() as usize, "{outcome:#?}");
}

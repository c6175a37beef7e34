//! Tests whose PEs are processes.
use crate::job::Job;
use dushmem_core::bootstrap::Bootstrap;
use dushmem_core::job::PeState;
use std::sync::Arc;

/// Which test a process is a PE of.
const TEST: &str = "DUSHMEM_TESTKIT_TEST";

/// Runs `body` as each of `pes` PEs, processes that [`pe_test!`](crate::pe_test) starts from the test `name`.
///
/// # Panics
/// Where a PE fails, with what the PEs and dushrun printed.
#[track_caller]
pub fn run(name: &str, pes: usize, body: impl FnOnce(Arc<dyn Bootstrap>)) {
    // The path without the crate, as the test harness takes it.
    let name = name.split_once("::").map_or(name, |(_, rest)| rest);
    if std::env::var(TEST).is_ok_and(|test| test == name) {
        let boot = dushmem_boot::connect().unwrap_or_else(|error| panic!("{error}"));
        boot.report(PeState::Joined);
        body(Arc::clone(&boot));
        boot.barrier();
        boot.report(PeState::Finalized);
        // Without what the harness would print at the end.
        std::process::exit(0);
    }
    let test = std::env::current_exe().expect("/proc is mounted");
    let job = Job::dushrun().args(["-n", &pes.to_string(), "-l", "--timeout", "60"]).args([test]);
    let job = job.args(["--exact", name, "--nocapture", "--test-threads=1"]).env(TEST, name);
    let outcome = job.limit(std::time::Duration::from_secs(90)).run();
    assert!(outcome.code == 0, "code {}\n{}\n{}", outcome.code, outcome.stdout, outcome.stderr);
}

/// A test that runs as several processes: `pe_test!(name, PEs, |boot| { ... })`, where `boot` is the
/// [`Bootstrap`] of each. A panic on one PE fails the test and ends the others. State is reported before
/// and after the body.
#[macro_export]
macro_rules! pe_test {
    ($name:ident, $pes:expr, $body:expr) => {
        #[test]
        fn $name() {
            $crate::processes::run(concat!(module_path!(), "::", stringify!($name)), $pes, $body);
        }
    };
}

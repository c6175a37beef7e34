//! What the memory model promises kernels, and how kernels, hosts and streams get on with each other:
//! `tests/kernels`, directly, through the proxy, over a transport that reorders, with other orders of threads.
use dushmem_testkit::folder::Folder;
use dushmem_testkit::installation::{prefix, root};
use dushmem_testkit::job::{Job, Outcome};
use std::process::Command;
use std::time::Duration;

/// A compiled source of `tests/kernels`.
struct Program(Folder);

impl Program {
    fn of(source: &str, options: &[&str]) -> Program {
        let folder = Folder::new("kernels_model");
        let compiled = Command::new(prefix().join("bin/dushcc"))
            .args(["-O1", "-g", "-Wall", "-Wextra", "-Werror"])
            .args(options)
            .arg(root().join("tests/kernels").join(source))
            .arg("-o")
            .arg(folder.join("program"))
            .output()
            .expect("dushcc starts");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        Program(folder)
    }

    fn run(&self, pes: usize, variables: &[(&str, &str)]) -> Outcome {
        let mut job = Job::new(pes, self.0.join("program")).limit(Duration::from_secs(100));
        for (name, value) in variables {
            job = job.env(name, value);
        }
        job.run()
    }

    /// Runs it with so many PEs, with these variables set.
    #[track_caller]
    fn is_right(&self, pes: usize, variables: &[(&str, &str)]) {
        let outcome = self.run(pes, variables);
        assert!(
            outcome.code == 0 && outcome.stdout == "all right\n",
            "{pes} PEs, {variables:?}: {outcome:#?}"
        );
    }
}

#[track_caller]
fn is_right_by_every_path(source: &str) {
    let program = Program::of(source, &[]);
    for pes in [1, 2, 3, 4, 8] {
        program.is_right(pes, &[]);
    }
    for pes in [2, 4] {
        program.is_right(pes, &[("DUSHMEM_EMU_REMOTE", "1")]);
    }
    program.is_right(1, &[("DUSHMEM_EMU_REMOTE", "all")]);
    for seed in ["1", "2", "3"] {
        program.is_right(2, &[("DUSHMEM_EMU_SEED", seed)]);
        program.is_right(3, &[("DUSHMEM_TRANSPORT", "loopback"), ("DUSHMEM_LOOPBACK_SEED", seed)]);
    }
}

#[test]
fn litmus_tests_hold() {
    is_right_by_every_path("litmus.cu");
}

#[test]
fn a_missing_fence_shows() {
    let program = Program::of("litmus.cu", &["-DWITHOUT_FENCE"]);
    let outcome = program.run(2, &[("DUSHMEM_TRANSPORT", "loopback")]);
    assert!(outcome.code == 1 && outcome.stdout.contains("data behind its flag"), "{outcome:#?}");
}

#[test]
fn words_are_waited_for_in_every_way() {
    is_right_by_every_path("waiters.cu");
}

#[test]
fn signals_of_many_blocks_bring_their_data() {
    is_right_by_every_path("signals_many.cu");
}

#[test]
fn hosts_kernels_and_streams_wait_for_each_other() {
    is_right_by_every_path("interplay.cu");
}

#[test]
fn atomics_of_every_two_kinds_of_callers_lose_nothing() {
    is_right_by_every_path("atomic_pairs.cu");
}

#[test]
fn teams_are_the_same_in_kernels() {
    is_right_by_every_path("teams_in_kernels.cu");
}

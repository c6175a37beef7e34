//! Collectives in kernels: `tests/kernels/coll_*.cu`, compiled by dushcc, run by dushrun.
use dushmem_testkit::folder::Folder;
use dushmem_testkit::installation::{prefix, root};
use dushmem_testkit::job::Job;
use std::process::Command;
use std::time::Duration;

/// A compiled source of `tests/kernels`.
struct Program(Folder);

impl Program {
    fn of(source: &str) -> Program {
        let folder = Folder::new("kernels_coll");
        let compiled = Command::new(prefix().join("bin/dushcc"))
            .args(["-O1", "-g", "-Wall", "-Wextra", "-Werror"])
            .arg(root().join("tests/kernels").join(source))
            .arg("-o")
            .arg(folder.join("program"))
            .output()
            .expect("dushcc starts");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        Program(folder)
    }

    /// Runs it with so many PEs, with these variables set, and then in short.
    #[track_caller]
    fn is_right(&self, pes: usize, variables: &[(&str, &str)]) {
        let mut job = Job::new(pes, self.0.join("program")).limit(Duration::from_secs(100));
        if !variables.is_empty() {
            job = job.args(["short"]);
        }
        for (name, value) in variables {
            job = job.env(name, value);
        }
        let outcome = job.run();
        assert_eq!(outcome.code, 0, "{pes} PEs, {variables:?}: {}{}", outcome.stdout, outcome.stderr);
        assert_eq!(outcome.stdout, "all right\n", "{pes} PEs, {variables:?}: {}", outcome.stderr);
    }

    /// Directly, through the proxy with shared memory beneath, and through it over a transport that reorders.
    #[track_caller]
    fn is_right_by_every_path(&self) {
        for pes in [1, 2, 3, 4, 8] {
            self.is_right(pes, &[]);
        }
        self.is_right(3, &[("DUSHMEM_EMU_REMOTE", "1")]);
        self.is_right(1, &[("DUSHMEM_EMU_REMOTE", "all")]);
        for seed in ["1", "2", "3"] {
            self.is_right(3, &[("DUSHMEM_TRANSPORT", "loopback"), ("DUSHMEM_LOOPBACK_SEED", seed)]);
        }
    }
}

#[test]
fn data_arrive_and_barriers_hold() {
    Program::of("coll_move.cu").is_right_by_every_path();
}

#[test]
fn operands_are_combined_by_rank_to_the_last_bit() {
    Program::of("coll_reduce.cu").is_right_by_every_path();
}

#[test]
fn teams_are_used_at_once_one_after_the_other_and_by_the_host_too() {
    Program::of("coll_teams.cu").is_right_by_every_path();
}

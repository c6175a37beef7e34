//! Programs with kernels, compiled by the installed dushcc for the CPU.
use crate::folder::Folder;
use crate::installation::{prefix, root};
use crate::job::Job;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Options of every test: warnings are errors, and a fault has its line.
const OPTIONS: [&str; 5] = ["-O1", "-g", "-Wall", "-Wextra", "-Werror"];

/// A compiled program, in a folder of its own.
#[derive(Debug)]
pub struct Program {
    /// Where it lies; for what a test adds.
    pub folder: Folder,
}

impl Program {
    /// From sources, whose paths begin at the root of the repository, with these options besides.
    #[track_caller]
    pub fn of(sources: &[&str], options: &[&str]) -> Program {
        let program = Program { folder: Folder::new("kernels") };
        let compiled = Command::new(prefix().join("bin/dushcc"))
            .args(OPTIONS)
            .args(options)
            .args(sources.iter().map(|source| root().join(source)))
            .arg("-o")
            .arg(program.path())
            .output()
            .expect("dushcc starts");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        program
    }

    /// One source of `tests/kernels`.
    #[track_caller]
    pub fn suite(source: &str) -> Program {
        Program::of(&[&format!("tests/kernels/{source}")], &[])
    }

    /// The executable.
    pub fn path(&self) -> PathBuf {
        self.folder.join("program")
    }

    /// A job of it, with the time limit that is enough for every suite.
    pub fn job(&self, pes: usize) -> Job {
        Job::new(pes, self.path()).limit(Duration::from_secs(100))
    }

    /// A job of it with these variables.
    pub fn job_with(&self, pes: usize, variables: &[(&str, &str)]) -> Job {
        variables.iter().fold(self.job(pes), |job, (name, value)| job.env(name, value))
    }
}

/// Runs a job of a suite, which says `all right` and nothing else if it finds nothing wrong.
#[track_caller]
pub fn all_right(job: Job) {
    let outcome = job.run();
    assert!(outcome.code == 0 && outcome.stdout == "all right\n", "{outcome:#?}");
}

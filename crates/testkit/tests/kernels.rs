//! Kernels of `tests/kernels` on the CPU: compiled by dushcc, run by dushrun, with several numbers of PEs and
//! on both transports. They need an installed prefix (`$DUSHMEM_PREFIX`, which `cargo xtask test` makes).
use dushmem_testkit::job::Job;
use dushmem_testkit::tools;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A compiled source of `tests/kernels`, removed at the end.
struct Program(PathBuf);

impl Program {
    /// None where there is no prefix to compile against.
    fn of(source: &str, tag: &str) -> Option<Program> {
        if std::env::var_os("DUSHMEM_PREFIX").is_none() {
            eprintln!("not checked: DUSHMEM_PREFIX names no installation; `cargo xtask test` makes one");
            return None;
        }
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{source}-{tag}-{}", std::process::id()));
        let compiled = Command::new(tools::program("dushcc"))
            .args(["-O1", "-g", "-Wall", "-Wextra", "-Werror"])
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels").join(source))
            .arg("-o")
            .arg(&path)
            .output()
            .expect("dushcc starts");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        Some(Program(path))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn all_right(job: Job) {
    let outcome = job.limit(Duration::from_secs(100)).run();
    assert_eq!(outcome.code, 0, "{}{}", outcome.stdout, outcome.stderr);
    assert_eq!(outcome.stdout, "all right\n", "{}", outcome.stderr);
}

#[test]
fn the_device_api() {
    let Some(program) = Program::of("device_api.cu", "shm") else { return };
    for pes in [1, 2, 3, 4, 8] {
        all_right(Job::new(pes, &program.0));
    }
}

#[test]
fn the_device_api_over_a_transport_that_reorders() {
    let Some(program) = Program::of("device_api.cu", "loopback") else { return };
    for seed in 1..=3 {
        let job = Job::new(3, &program.0).env("DUSHMEM_TRANSPORT", "loopback");
        all_right(job.env("DUSHMEM_LOOPBACK_SEED", seed.to_string()));
    }
}

#[test]
fn every_name_of_the_device_api_compiles() {
    let Some(program) = Program::of("device_names.cu", "names") else { return };
    let outcome = Job::new(2, &program.0).run();
    assert_eq!(outcome.code, 0, "{}{}", outcome.stdout, outcome.stderr);
}

#[test]
fn the_article_s_ring() {
    let Some(program) = Program::of("simple_shift.hip.cpp", "ring") else { return };
    for pes in [1, 2, 7, 16] {
        let outcome = Job::new(pes, &program.0).run().success();
        let wanted: Vec<_> =
            (0..pes).map(|pe| format!("PE {pe}: received {0}, expected {0}", (pe + pes - 1) % pes)).collect();
        let mut lines: Vec<_> = outcome.stdout.lines().collect();
        lines.sort_by_key(|line| line.split([' ', ':']).nth(1).and_then(|pe| pe.parse::<usize>().ok()));
        assert_eq!(lines, wanted);
    }
}

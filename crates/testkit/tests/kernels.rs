//! Kernels of `tests/kernels` on the CPU: compiled by dushcc, run by dushrun, with several numbers of PEs and
//! on both transports.
use dushmem_testkit::folder::Folder;
use dushmem_testkit::installation::{prefix, root};
use dushmem_testkit::job::Job;
use std::process::Command;
use std::time::Duration;

/// A compiled source of `tests/kernels`.
struct Program(Folder);

impl Program {
    fn of(source: &str) -> Program {
        let folder = Folder::new("kernels");
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

    fn job(&self, pes: usize) -> Job {
        Job::new(pes, self.0.join("program"))
    }
}

fn all_right(job: Job) {
    let outcome = job.limit(Duration::from_secs(100)).run();
    assert_eq!(outcome.code, 0, "{}{}", outcome.stdout, outcome.stderr);
    assert_eq!(outcome.stdout, "all right\n", "{}", outcome.stderr);
}

#[test]
fn the_device_api() {
    let program = Program::of("device_api.cu");
    for pes in [1, 2, 3, 4, 8] {
        all_right(program.job(pes));
    }
}

#[test]
fn the_device_api_over_a_transport_that_reorders() {
    let program = Program::of("device_api.cu");
    for seed in 1..=3 {
        let job = program.job(3).env("DUSHMEM_TRANSPORT", "loopback");
        all_right(job.env("DUSHMEM_LOOPBACK_SEED", seed.to_string()));
    }
}

#[test]
fn every_name_of_the_device_api_compiles() {
    let program = Program::of("device_names.cu");
    let outcome = program.job(2).run();
    assert_eq!(outcome.code, 0, "{}{}", outcome.stdout, outcome.stderr);
}

#[test]
fn the_article_s_ring() {
    let program = Program::of("simple_shift.hip.cpp");
    for pes in [1, 2, 7, 16] {
        program.job(pes).run().prints_ring(pes);
    }
}

#[test]
fn every_kind_of_writer_wakes_a_sleeper() {
    let program = Program::of("wakers.cu");
    for transport in ["shm", "loopback"] {
        for pes in [2, 8] {
            all_right(program.job(pes).env("DUSHMEM_TRANSPORT", transport));
        }
    }
}

#[test]
fn a_job_ends_from_kernels_and_while_kernels_run() {
    let program = Program::of("exits.cu");
    for pes in [1, 4] {
        for (how, code, said) in [
            ("kernel", 5, "half a line, exit handler\n"),
            ("host", 5, "half a line, exit handler\n"),
            ("abort", 134, ""),
        ] {
            let outcome = program.job(pes).args([how]).run();
            assert!(outcome.time < Duration::from_secs(20), "{how}: {outcome:?}");
            assert_eq!(outcome.code, code, "{how}: {outcome:?}");
            if code == 5 {
                assert_eq!((&*outcome.stdout, &*outcome.stderr), (said, ""), "{how}");
            } else {
                outcome.failure(134, &["was ended by SIGABRT"]);
            }
        }
    }
}

//! Kernels of `tests/kernels` on the CPU: compiled by dushcc, run by dushrun, with several numbers of PEs and
//! on both transports.
use dushmem_testkit::folder::Folder;
use dushmem_testkit::installation::{prefix, root};
use dushmem_testkit::job::Job;
use std::collections::BTreeSet;
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

#[test]
fn graphs_with_communication() {
    let program = Program::of("graphs.cu");
    for pes in [1, 2, 4] {
        all_right(program.job(pes));
        all_right(program.job(pes).env("DUSHMEM_TRANSPORT", "loopback"));
    }
}

/// The names of calls on a stream that `api/names` lists.
fn names_on_stream() -> BTreeSet<String> {
    let lists = ["api/names/dushmem.txt", "api/names/nvshmem-host.txt"];
    let text = lists.map(|list| std::fs::read_to_string(root().join(list)).expect("a list of names")).concat();
    text.lines().map(str::trim).filter(|name| name.ends_with("_on_stream")).map(str::to_owned).collect()
}

#[test]
fn every_call_on_a_stream_in_a_graph() {
    let cases = std::fs::read_to_string(root().join("tests/kernels/on_stream_names.inc")).expect("the cases");
    let name = |line: &str| Some(line.strip_prefix("CASE(")?.split_once(", ")?.1.trim_end_matches(')').to_owned());
    let cases: BTreeSet<String> = cases.lines().filter_map(name).collect();
    assert_eq!(cases, names_on_stream(), "tests/kernels/on_stream_names.inc has other names than api/names");
    let program = Program::of("on_stream_names.cu");
    for pes in [1, 2, 4] {
        let outcome = program.job(pes).limit(Duration::from_secs(100)).run();
        assert_eq!(outcome.code, 0, "{}{}", outcome.stdout, outcome.stderr);
        assert_eq!(outcome.stdout, format!("{} calls: all right\n", cases.len()), "{}", outcome.stderr);
    }
}

#[test]
fn collective_launches() {
    let program = Program::of("launches.cu");
    for pes in [1, 2, 4] {
        let outcome = program.job(pes).limit(Duration::from_secs(100)).run();
        assert_eq!((outcome.code, &*outcome.stdout), (0, "all right\n"), "{outcome:?}");
        let said = "dushmem: dushmemx_collective_launch: grid (257, 1, 1) has 257 blocks; with 64 threads and 0 bytes of \
                    dynamic shared memory each, at most 256 are resident at once";
        assert!(outcome.stderr.contains(said), "{outcome:?}");
        assert!(outcome.stderr.contains("block (8, 0, 1): no side may be 0"), "{outcome:?}");
        assert!(outcome.stderr.contains("nvshmemx_collective_launch: func is NULL"), "{outcome:?}");
    }
}

#[test]
fn what_cannot_be_captured_ends_the_job_or_is_an_error() {
    let program = Program::of("launches.cu");
    for (how, said) in [
        ("fetch", "dushmemx_int_g_on_stream: operation not permitted when stream is capturing"),
        ("invalid", "dushmemx_int_p_on_stream: operation failed due to a previous error during capture"),
    ] {
        let outcome = program.job(2).args([how]).run();
        assert_ne!(outcome.code, 0, "{outcome:?}");
        assert!(outcome.stdout.is_empty() && outcome.stderr.contains(said), "{outcome:?}");
    }
    let outcome = program.job(1).args(["ended"]).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.stdout.starts_with("cudaErrorIllegalState: "), "{outcome:?}");
    assert!(outcome.stdout.contains("the job of this operation has ended"), "{outcome:?}");
}

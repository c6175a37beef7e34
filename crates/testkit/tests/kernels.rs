//! Kernels of `tests/kernels` on the CPU: compiled by dushcc, run by dushrun, with several numbers of PEs and
//! on both transports.
use dushmem_testkit::installation::root;
use dushmem_testkit::job::Job;
use dushmem_testkit::kernels::{Program, all_right};
use std::collections::BTreeSet;
use std::time::Duration;

#[test]
fn the_device_api() {
    let program = Program::suite("device_api.cu");
    for pes in [1, 2, 3, 4, 8] {
        all_right(program.job(pes));
    }
}

#[test]
fn the_device_api_over_a_transport_that_reorders() {
    let program = Program::suite("device_api.cu");
    for seed in 1..=3 {
        let job = program.job(3).env("DUSHMEM_TRANSPORT", "loopback");
        all_right(job.env("DUSHMEM_LOOPBACK_SEED", seed.to_string()));
    }
}

#[test]
fn every_operation_at_every_scope() {
    let program = Program::suite("device_scopes.cu");
    // In order, in random orders, and with wide warps.
    for (pes, name, value) in [
        (1, "DUSHMEM_EMU_SEED", "1"),
        (2, "DUSHMEM_EMU_WARP", "64"),
        (3, "DUSHMEM_EMU_SEED", "2"),
        (4, "DUSHMEM_EMU_WARP", "32"),
        (8, "DUSHMEM_EMU_WARP", "32"),
    ] {
        all_right(program.job(pes).env(name, value));
    }
    // Through the proxy: to the others, to all, and over a transport that reorders.
    for hidden in ["1", "all"] {
        all_right(program.job(2).env("DUSHMEM_EMU_REMOTE", hidden));
    }
    all_right(program.job(3).env("DUSHMEM_TRANSPORT", "loopback"));
}

#[test]
fn globals_are_symmetric_in_kernels_too() {
    let program = Program::suite("device_globals.cu");
    for hidden in ["0", "1", "all"] {
        let job = program.job(3).env("DUSHMEM_STATIC", "1");
        all_right(job.env("DUSHMEM_EMU_REMOTE", hidden));
    }
    let outcome = program.job(1).run();
    outcome
        .failure(4, &["p: dest = 0x", "(4 bytes): not in symmetric memory", "DUSHMEM_STATIC=1", "(kernel "]);
}

/// Case of device_bad.cu, exit code, parts of the one line.
type Wrong = (u32, i32, &'static [&'static str]);

const OUTSIDE: &str = "not in symmetric memory; pass the address of this PE's own copy of an object from ";

const WRONG: &[Wrong] = &[
    (0, 1, &["put: pe = 1: there is no such PE; this job has PEs 0 to 0 (kernel wrong, block (", "thread ("]),
    (1, 1, &["p: pe = -1: there is no such PE; this job has PEs 0 to 0"]),
    (2, 1, &["put: pe = 1000: there is no such PE; this job has PEs 0 to 0"]),
    (3, 4, &["dushmem_int_put: dest = 0x", "(12 bytes)", OUTSIDE, "an object from dushmem_malloc "]),
    (
        4,
        4,
        &["get: source = 0x", "(1099511627776 bytes)", "starts in ", " past the end of the symmetric heap"],
    ),
    (5, 4, &["p: dest = 0x", "(4 bytes): starts where the symmetric heap ends, and goes 4 bytes past that"]),
    (6, 1, &["atomic_add: dest = 0x", "not aligned to 8 bytes"]),
    (7, 1, &["put_signal: sig_op = 7: no signal operator; there are SIGNAL_SET and SIGNAL_ADD"]),
    (8, 1, &["wait_until: cmp = 6: no comparison; use the constants CMP_EQ to CMP_GE"]),
    (9, 1, &["iput: dst = 0: strides count elements and are at least 1"]),
    (10, 1, &["put: source = 0: NULL is allowed for operations of length 0 only"]),
    (11, 1, &["get: dest = 0: NULL is allowed for operations of length 0 only"]),
    (12, 1, &["put: nelems = -5: more than the address space; was the number negative?"]),
    (13, 4, &["test_all: ivars = 0x", "(8 bytes)", OUTSIDE, "an object from malloc "]),
    (14, 1, &["test_some: indices = 0: NULL"]),
    (15, 1, &["signal_op: sig_addr = 0x", "not aligned to 8 bytes"]),
    (17, 1, &["dushmemx_qp_int_p: qp_index = 1000: there is no such queue pair"]),
    (18, 1, &["dushmemx_qp_int_p: qp_index = -1: there is no such queue pair"]),
    (19, 1, &["iget: sst = -1: strides count elements and are at least 1"]),
    (20, 1, &["iput: nelems = -5: more than the address space; was the number negative?"]),
    (
        21,
        1,
        &[
            "iput: dst = 2305843009213693952, nelems = 3: the last element would end 18446744073709551620 bytes after",
        ],
    ),
    (22, 1, &["iput: sst = 0: strides count elements and are at least 1"]),
    (
        23,
        1,
        &[
            "iput: sst = 2305843009213693952, nelems = 3: the last element would end 18446744073709551620 bytes after",
        ],
    ),
    (24, 1, &["wait_until_all: nelems = -5: more than the address space; was the number negative?"]),
    (27, 4, &["dushmem_int_p: dest = 0x", "own copy of an object from dushmem_malloc"]),
    (25, 1, &["reduce: nreduce = -5: more than the address space; was the number negative?"]),
];

#[test]
fn wrong_arguments_in_kernels_end_the_job_with_a_line_about_them() {
    let program = Program::suite("device_bad.cu");
    for &(case, code, words) in WRONG {
        let outcome = program.job(1).args([&case.to_string(), "ready"]).run().failure(code, words);
        if case > 0 {
            outcome.failure(code, &["PE 0 (host ", "(kernel wrong, block (1, 0, 0), thread (2, 0, 0))"]);
        }
    }
    // A wait that nobody ends is named by the launcher.
    let hangs = Job::dushrun().args(["--timeout", "1", "-n", "1"]).args([program.path()]);
    let outcome = hangs.args(["16", "ready"]).run();
    assert_ne!(outcome.code, 0);
    assert!(outcome.stderr.contains("waits in signal_wait_until(sig_addr = heap + "), "{outcome:?}");
    for (case, text) in [
        ("1", "p: not initialised: call init first"),
        ("26", "dushmem_barrier_all: not initialised: call dushmem_init first"),
        ("27", "dushmem_int_p: not initialised: call dushmem_init first"),
    ] {
        let alone = Job::of(&program.path()).args([case, "early"]);
        alone.run().failure(101, &[text, "thread (2, 0, 0)"]);
    }
}

#[test]
fn the_article_s_ring() {
    let program = Program::suite("simple_shift.hip.cpp");
    for pes in [1, 2, 7, 16] {
        program.job(pes).run().prints_ring(pes);
    }
}

#[test]
fn every_kind_of_writer_wakes_a_sleeper() {
    let program = Program::suite("wakers.cu");
    for transport in ["shm", "loopback"] {
        for pes in [2, 8] {
            all_right(program.job(pes).env("DUSHMEM_TRANSPORT", transport));
        }
    }
}

#[test]
fn a_job_ends_from_kernels_and_while_kernels_run() {
    let program = Program::suite("exits.cu");
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
    for _ in 0..10 {
        let outcome = program.job(1).args(["late"]).run();
        assert_eq!((outcome.code, &*outcome.stdout, &*outcome.stderr), (0, "ran\n", ""), "{outcome:?}");
    }
}

#[test]
fn graphs_with_communication() {
    let program = Program::suite("graphs.cu");
    for pes in [1, 2, 4] {
        all_right(program.job(pes));
        all_right(program.job(pes).env("DUSHMEM_TRANSPORT", "loopback"));
    }
}

#[test]
fn hip_names_of_graphs() {
    all_right(Program::suite("graph_names.hip.cpp").job(1));
}

/// The names of calls on a stream that `api/names` lists.
fn names_on_stream() -> BTreeSet<String> {
    let lists = ["api/names/dushmem.txt", "api/names/nvshmem-host.txt"];
    let text =
        lists.map(|list| std::fs::read_to_string(root().join(list)).expect("a list of names")).concat();
    text.lines().map(str::trim).filter(|name| name.ends_with("_on_stream")).map(str::to_owned).collect()
}

#[test]
fn every_call_on_a_stream_in_a_graph() {
    let cases = std::fs::read_to_string(root().join("tests/kernels/on_stream_names.inc")).expect("the cases");
    let name =
        |line: &str| Some(line.strip_prefix("CASE(")?.split_once(", ")?.1.trim_end_matches(')').to_owned());
    let cases: BTreeSet<String> = cases.lines().filter_map(name).collect();
    assert_eq!(cases, names_on_stream(), "tests/kernels/on_stream_names.inc has other names than api/names");
    let program = Program::suite("on_stream_names.cu");
    for pes in [1, 2, 4] {
        let outcome = program.job(pes).limit(Duration::from_secs(100)).run();
        assert_eq!(outcome.code, 0, "{}{}", outcome.stdout, outcome.stderr);
        assert_eq!(outcome.stdout, format!("{} calls: all right\n", cases.len()), "{}", outcome.stderr);
    }
}

#[test]
fn collective_launches() {
    let program = Program::suite("launches.cu");
    for pes in [1, 2, 4] {
        let outcome = program.job(pes).limit(Duration::from_secs(100)).run();
        assert_eq!((outcome.code, &*outcome.stdout), (0, "all right\n"), "{outcome:?}");
        for said in [
            "dushmemx_collective_launch: grid (257, 1, 1) has 257 blocks; with 64 threads and 0 bytes of dynamic shared \
             memory each, at most 256 are resident at once: launch fewer, or a grid of dim3(0, 0, 0), or ask",
            "block (8, 0, 1): no side may be 0",
            "nvshmemx_collective_launch: func is NULL",
            "grid (0, 1, 1): no side may be 0; for the largest grid that fits pass dim3(0, 0, 0)",
            "dushmemx_collective_launch: block (2000, 1, 1) has 2000 threads; a block of this kernel has at most 1024",
            "dushmemx_collective_launch_query_gridsize: block (2000, 1, 1) has 2000 threads; a block of this kernel has \
             at most 1024",
            "dushmemx_collective_launch: sharedMem = 60000 bytes of dynamic shared memory; a block of this kernel gets at \
             most 49152: pass fewer, or raise its MaxDynamicSharedMemorySize attribute",
            "dushmemx_collective_launch_query_gridsize: sharedMem = 60000 bytes",
            "no kernel is known by this address; pass a template's instance, or a kernel of another file, with its type: \
             my_kernel<3>, not (const void *)my_kernel<3>",
            "nvshmemx_collective_launch_query_gridsize: func = 0x",
            "a launch by address: func = 0x",
        ] {
            assert!(outcome.stderr.contains(said), "{said}: {outcome:?}");
        }
        let lines = outcome.stderr.lines().filter(|line| line.contains("collective_launch"));
        let mut lines = lines.filter(|line| line.starts_with("dushmem: "));
        assert!(
            lines.all(|line| line.starts_with("dushmem: PE ") && line.contains(" (host ")),
            "{outcome:?}"
        );
    }
}

#[test]
fn errors_of_kernels_launched_by_address_name_them() {
    let program = Program::suite("launches.cu");
    for (how, said) in [("trap_now", "kernel trap_now"), ("trap_step", "kernel 0x")] {
        let outcome = program.job(1).args([how]).run();
        assert!(outcome.code == 0 && outcome.stdout.contains(said), "{how}: {outcome:?}");
    }
}

#[test]
fn what_cannot_be_captured_ends_the_job_or_is_an_error() {
    let program = Program::suite("launches.cu");
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
    assert!(outcome.stdout.starts_with("hipErrorIllegalState: "), "{outcome:?}");
    assert!(outcome.stdout.contains("the job of this operation has ended"), "{outcome:?}");
}

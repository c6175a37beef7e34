//! Kernels that use the library wrongly: a line names the call as the program does, and what is wrong with it, where a GPU
//! would hang or give wrong bytes.
use dushmem_testkit::job::Job;
use dushmem_testkit::kernels::{Program, all_right};
use std::time::Duration;

/// Kernel of partial_calls.cu, exit code, parts of the one line.
const PARTIAL: &[(&str, i32, &[&str])] = &[
    (
        "ended",
        1,
        &[
            ": nvshmemx_putmem_block: 10 of the 64 threads of the block make this call, and all have to: \
         10 threads, (0, 0, 0) to (9, 0, 0), wait in nvshmemx_putmem_block; 54 have ended (kernel",
            "block (0, 0, 0))",
        ],
    ),
    (
        "at_barrier",
        1,
        &[
            ": nvshmemx_int_put_nbi_block: 10 of the 64 threads of the block make this call, and all have to: ",
            "54 threads, (0, 0, 0) to (53, 0, 0), wait in __syncthreads",
            "10 threads, (54, 0, 0) to (63, 0, 0), wait in nvshmemx_int_put_nbi_block",
        ],
    ),
    (
        "elsewhere",
        1,
        &[
            ": nvshmemx_barrier_all_block: 63 of the 64 threads of the block make this call, and all have to: ",
            "63 threads, (0, 0, 0) to (63, 0, 0), wait in nvshmemx_barrier_all_block",
            "thread (7, 0, 0) waits in nvshmemx_int_sum_reduce_block",
        ],
    ),
    (
        "early",
        1,
        &[
            ": nvshmemx_barrier_all_block: 63 of the 64 threads of the block make this call, and all have to: ",
            "; 1 has ended (kernel",
        ],
    ),
    (
        "lanes_ended",
        1,
        &[": nvshmemx_int_get_warp: 8 of the 32 lanes of warp 1 make this call, and all have to: \
         lanes 0 to 7 wait in it; lanes 8 to 31 have ended (kernel"],
    ),
    (
        "lanes_at_syncwarp",
        1,
        &[
            ": nvshmemx_int_put_warp: 2 of the 32 lanes of warp ",
            " make this call, and all have to: lanes 30 to 31 wait in it; lanes 0 to 29 wait in __syncwarp (kernel",
        ],
    ),
    (
        "lanes_at_barrier",
        134,
        &[
            "nobody can go on: ",
            "8 threads, (0, 0, 0) to (7, 0, 0), wait in nvshmemx_int_put_warp",
            "56 threads, (8, 0, 0) to (63, 0, 0), wait in __syncthreads",
            "wait in nvshmemx_int_put_warp (mask 0xffffffff) for lanes 8 to 31",
        ],
    ),
    (
        "template_ended",
        1,
        &[": put: 10 of the 64 threads of the block make this call, and all have to: \
         10 threads, (0, 0, 0) to (9, 0, 0), wait in put; 54 have ended (kernel"],
    ),
    (
        "template_at_barrier",
        1,
        &[
            ": iget: 10 of the 64 threads of the block make this call, and all have to: ",
            "54 threads, (0, 0, 0) to (53, 0, 0), wait in __syncthreads",
        ],
    ),
    (
        "template_elsewhere",
        1,
        &[
            ": barrier: 63 of the 64 threads of the block make this call, and all have to: ",
            "thread (7, 0, 0) waits in reduce",
        ],
    ),
    (
        "template_order",
        1,
        &[
            ": quiet: 3 of the 64 threads of the block make this call, and all have to: ",
            "61 threads, (3, 0, 0) to (63, 0, 0), wait in fence",
        ],
    ),
    (
        "template_and_name",
        1,
        &[
            ": put: 32 of the 64 threads of the block make this call, and all have to: ",
            "wait in nvshmemx_int_put_block",
        ],
    ),
    (
        "template_test",
        1,
        &[": test: 63 of the 64 threads of the block make this call, and all have to: ", "; 1 has ended"],
    ),
    (
        "template_lanes",
        1,
        &[": get: 8 of the 32 lanes of warp 1 make this call, and all have to: \
         lanes 0 to 7 wait in it; lanes 8 to 31 have ended (kernel"],
    ),
    (
        "template_lanes_at_syncwarp",
        1,
        &[
            ": broadcast: 2 of the 32 lanes of warp ",
            " make this call, and all have to: lanes 30 to 31 wait in it; lanes 0 to 29 wait in __syncwarp (kernel",
        ],
    ),
    ("lanes_shuffle", 134, &["nvshmemx_int_put_warp", "other lanes of the mask wait in"]),
];

/// The job ends with the code and a line that has all of the words.
#[track_caller]
fn tells(job: Job, code: i32, words: &[&str]) {
    let outcome = job.run();
    let told = |line: &str| words.iter().all(|word| line.contains(word));
    assert!(outcome.code == code && outcome.stderr.lines().any(told), "{code}, {words:?}: {outcome:#?}");
}

#[test]
fn calls_that_only_some_threads_make() {
    let fibers = Program::suite("partial_calls.cu");
    let os_threads = Program::of(&["tests/kernels/partial_calls.cu"], &["-fdushmem-os-threads"]);
    for program in [&fibers, &os_threads] {
        for &(kernel, code, words) in PARTIAL {
            tells(program.job(1).args([kernel]), code, words);
            tells(program.job(2).args([kernel]), code, &words[..1]);
        }
        for (pes, seed) in [(1, "1"), (2, "2"), (3, "3")] {
            all_right(program.job(pes).args(["right"]).env("DUSHMEM_EMU_SEED", seed));
        }
        all_right(program.job(2).args(["right"]));
    }
    // Whatever the order in which they come.
    for seed in 1..=5 {
        for &(kernel, code, words) in &PARTIAL[..4] {
            tells(fibers.job(1).args([kernel]).env("DUSHMEM_EMU_SEED", seed.to_string()), code, words);
        }
    }
}

/// Kernel of differing_arguments.cu, how its line begins, what two threads pass, and what the line goes on with.
const ARGUMENTS: &[(&str, &str, [&str; 2], &str)] = &[
    (
        "count",
        "nvshmemx_int_put_block: nelems = ",
        ["16 in thread (0, 0, 0)", "17 in thread (3, 0, 0)"],
        "; all threads of the block make this call with the same arguments (kernel one.kernel, block (0, 0, 0))",
    ),
    (
        "none",
        "get: nelems = ",
        ["16 in thread (0, 0, 0)", "0 in thread (63, 0, 0)"],
        "; all threads of the block",
    ),
    (
        "peer",
        "nvshmemx_putmem_nbi_block: pe = ",
        ["0 in thread (0, 0, 0)", "1 in thread (40, 0, 0)"],
        "; all",
    ),
    ("strides", "iput: sst = ", ["1 in thread (0, 0, 0)", "2 in thread (1, 0, 0)"], "; all threads"),
    (
        "signals",
        "nvshmemx_int_put_signal_block: signal = ",
        ["1 in thread (0, 0, 0)", "2 in thread (9, 0, 0)"],
        "; all threads",
    ),
    (
        "lanes",
        "nvshmemx_int_get_warp: nelems = ",
        ["16 in lane 0", "4 in lane 7"],
        " of warp 1; all lanes of the warp make this call with the same arguments (kernel one.kernel, block (0, 0, 0))",
    ),
];

#[test]
fn arguments_that_differ_between_the_threads_of_a_call() {
    let fibers = Program::suite("differing_arguments.cu");
    let os_threads = Program::of(&["tests/kernels/differing_arguments.cu"], &["-fdushmem-os-threads"]);
    for program in [&fibers, &os_threads] {
        for &(kernel, call, [one, other], rest) in ARGUMENTS {
            // In any order: the first to come may be any thread with these arguments.
            let values = [one, other].map(|words| words.split(' ').next().expect("a value"));
            let outcome = program.job(2).args([kernel]).run();
            let told = |line: &str| {
                let shown = |first: &str, second: &str| {
                    line.contains(&format!(": {call}{first} in "))
                        && line.contains(&format!(", and {second} in "))
                };
                (shown(values[0], values[1]) || shown(values[1], values[0])) && line.contains(rest)
            };
            assert!(outcome.code == 1 && outcome.stderr.lines().any(told), "{kernel}: {outcome:#?}");
        }
        for pes in [1, 2] {
            all_right(program.job(pes).args(["right"]));
            all_right(program.job(pes).args(["right"]).env("DUSHMEM_EMU_SEED", "2"));
            all_right(program.job(pes).args(["right"]).env("DUSHMEM_EMU_REMOTE", "all"));
        }
    }
    // Fibers come in the order of their numbers.
    for &(kernel, call, [one, other], rest) in ARGUMENTS {
        tells(fibers.job(2).args([kernel]), 1, &[&format!(": {call}{one}, and {other}{rest}")]);
    }
    // Addresses are told as such.
    let address = [
        ": nvshmemx_int_put_block: dest = 0x",
        " in thread (0, 0, 0), and 0x",
        " in thread (3, 0, 0); all threads",
    ];
    tells(fibers.job(1).args(["address"]), 1, &address);
    tells(
        fibers.job(2).args(["count"]).env("DUSHMEM_EMU_REMOTE", "all"),
        1,
        &["nvshmemx_int_put_block: nelems = 16 in"],
    );
}

#[test]
fn threads_that_wait_elsewhere_are_told_about() {
    let program = Program::suite("partial_calls.cu");
    let job = Job::dushrun().words("--timeout 2 -n 1").args([program.path()]).args(["waiting"]);
    let outcome = job.env("DUSHMEM_EMU_WATCHDOG", "0.3").run();
    for words in [
        "no progress for 0.",
        "5 threads, (0, 0, 0) to (4, 0, 0), wait in nvshmemx_putmem_block; 59 threads, (5, 0, 0) to (63, 0, 0), \
         wait in nvshmem_int_wait_until on the word at 0x",
    ] {
        assert!(outcome.stderr.contains(words), "{outcome:#?}");
    }
}

#[test]
fn members_that_have_not_come_to_a_collective_are_named() {
    let program = Program::suite("hangs.cu");
    for (case, words) in [
        (
            "host",
            &[
                "waits in barrier (TEAM_WORLD; not there: PE 1, which waits in barrier_all (TEAM_WORLD), PE 3)",
                "has a kernel that waits in barrier (TEAM_WORLD), ",
            ],
        ),
        (
            "team",
            &[
                " dushmemx_int_sum_reduce_block (team of PEs 0, 2; split_strided with start 0, stride 2, size 2; handle ",
                "; not there: PE 2)",
            ],
        ),
    ] {
        let job = Job::dushrun().words("--timeout 3 -n 4").args([program.path()]).args([case]);
        let outcome = job.env("DUSHMEM_EMU_WATCHDOG", "0.5").run();
        for word in words {
            assert!(outcome.stderr.contains(word), "{case}: {word:?} is missing: {outcome:#?}");
        }
    }
}

/// Kernel of differing_calls.cu, and what is said about the calls of PE `a`, and of PE `b`, which is the last one.
const DIFFERING: &[(&str, &str, &str)] = &[
    ("barrier_and_reduce", "nvshmem_barrier_all", "nvshmem_int_sum_reduce of 5 elements (20 bytes)"),
    (
        "lengths",
        "nvshmemx_int_sum_reduce_block of 5 elements (20 bytes)",
        "nvshmemx_int_sum_reduce_block of 6 elements (24 bytes)",
    ),
    (
        "none_and_some",
        "nvshmem_int_fcollect of 0 elements (0 bytes)",
        "nvshmem_int_fcollect of 3 elements (12 bytes)",
    ),
    (
        "roots",
        "nvshmem_int_broadcast of 40 elements (160 bytes) from root 0",
        "nvshmem_int_broadcast of 40 elements (160 bytes) from root 1",
    ),
    (
        "no_root",
        "nvshmem_int_broadcast of 40 elements (160 bytes) from root 0",
        "nvshmem_int_broadcast of 40 elements (160 bytes) from root 17",
    ),
    (
        "operations",
        "nvshmem_int_min_reduce of 5 elements (20 bytes)",
        "nvshmem_int_max_reduce of 5 elements (20 bytes)",
    ),
    (
        "types",
        "nvshmem_int_sum_reduce of 5 elements (20 bytes)",
        "nvshmem_float_sum_reduce of 5 elements (20 bytes)",
    ),
    ("templates", "exscan of 5 elements (20 bytes)", "inscan of 5 elements (20 bytes)"),
    (
        "moves",
        "nvshmemx_int_fcollect_warp of 5 elements (20 bytes)",
        "nvshmem_int_alltoall of 5 elements (20 bytes)",
    ),
    (
        "templates_that_reduce",
        "reduce of 5 elements (20 bytes)",
        "reduce of 5 elements (20 bytes) (op = sum on PE {a}, max on PE {b}; type = int32_t on PE {a}, float on PE {b})",
    ),
    ("part", "nvshmem_barrier", "nvshmem_team_sync"),
];

#[test]
fn collectives_that_differ_between_members() {
    let program = Program::suite("differing_calls.cu");
    for &(kernel, one, other) in DIFFERING {
        for pes in [2, 3] {
            // A team of one PE agrees with itself.
            if (kernel, pes) == ("part", 2) {
                continue;
            }
            let job = program.job(pes).args([kernel]).limit(Duration::from_secs(20));
            let last = pes - 1;
            // Those that agree are neighbours of both.
            let outcome = job.run();
            let told = |pe: usize| {
                let other = other.replace("{a}", &pe.to_string()).replace("{b}", &last.to_string());
                format!(
                    ": PEs disagree: PE {pe} calls {one}, PE {last} calls {other}; every member must make the same calls \
                     in the same order (kernel "
                )
            };
            let found = (0..last).any(|pe| outcome.stderr.contains(&told(pe)));
            assert!(outcome.code == 4 && found, "{kernel}, {pes}: {outcome:#?}");
        }
    }
    for pes in [2, 3, 5] {
        all_right(program.job(pes).args(["right"]));
        all_right(program.job(pes).args(["right"]).env("DUSHMEM_EMU_SEED", "3"));
    }
    all_right(program.job(3).args(["right"]).env("DUSHMEM_EMU_REMOTE", "1"));
    all_right(program.job(3).args(["right"]).env("DUSHMEM_TRANSPORT", "loopback"));
    let job = program.job(2).args(["lengths"]).env("DUSHMEM_TRANSPORT", "loopback");
    tells(
        job,
        4,
        &["PEs disagree: PE 0 calls nvshmemx_int_sum_reduce_block of 5 elements (20 bytes), PE 1 "],
    );
}

/// Exit code and a part of the line about each case of call_names.cu.
const NAMED: [(i32, &str); 9] = [
    (4, ": nvshmemx_int_sum_reduce_block: dest = 0x"),
    (1, ": nvshmemx_putmem_signal_nbi_warp: sig_op = 7: "),
    (1, ": nvshmem_int_p: pe = 99: "),
    (4, ": nvshmem_int_wait_until: "),
    (0, ": nvshmem_barrier: team = 4321: not a team, or one that was destroyed (kernel "),
    (0, ": nvshmem_int_broadcast: PE_root = 17: there is no such PE; the team has PEs 0 to 0 (kernel "),
    (4, ": nvshmem_int_atomic_fetch_add: "),
    (4, ": p: dest = 0x"),
    (
        0,
        ": nvshmem_team_sync: team = -1: the invalid team (NVSHMEM_TEAM_INVALID); the call that made it failed, or this PE \
         is not a member (kernel ",
    ),
];

#[test]
fn calls_are_named_as_the_program_names_them() {
    let program = Program::suite("call_names.cu");
    for (case, &(code, words)) in NAMED.iter().enumerate() {
        tells(program.job(1).args([case.to_string()]), code, &[words]);
    }
}

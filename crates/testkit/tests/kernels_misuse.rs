//! Kernels that use the library wrongly: a line names the call as the program does, and what is wrong with it, where a GPU
//! would hang or give wrong bytes.
use dushmem_testkit::job::Job;
use dushmem_testkit::kernels::{Program, all_right};

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

//! Wrong uses: each ends the whole job with one line that names the call, the argument, its value and the
//! remedy, or returns a failure; nothing hangs.
use crate::build::Program;
use crate::programs::FAMILIES;
use crate::trial;
use dushmem_testkit::job::{Job, Outcome};
use libtest_mimic::Trial;

/// Number of PEs; the last one does wrong.
pub const PES: usize = 3;

/// A wrong use that ends the job: case, exit code, parts of the one line. `{f}` and `{F}` stand for the family.
type Ends = (&'static str, i32, &'static [&'static str]);

const NO_PE: &str = "there is no such PE; this job has PEs 0 to 2";
const OUTSIDE: &str =
    "not in symmetric memory; pass the address of this PE's own copy of an object from {f}_malloc";
const PAST: &str = " past the end of the symmetric heap";
const WHOLE: &str = "all of it has to lie in an object from {f}_malloc";
const NULL: &str = "is NULL; NULL is allowed for operations of length 0 only";
const NO_WORD: &str = "is NULL; this call needs the address of an object in symmetric memory";
const FEW: &str = "every member must make the same calls in the same order";

const ENDS: &[Ends] = &[
    ("before_init", 101, &["PE ", "{f}_long_p: not initialised: call {f}_init first"]),
    ("query_before_init", 101, &["{f}_my_pe: not initialised: call {f}_init first"]),
    ("malloc_before_init", 101, &["{f}_malloc: not initialised: call {f}_init first"]),
    ("finalize_before_init", 101, &["{f}_finalize: not initialised: call {f}_init first"]),
    (
        "after_finalize",
        101,
        &["{f}_long_p: called after the last {f}_finalize; calls belong between {f}_init and {f}_finalize"],
    ),
    (
        "twice_finalized",
        101,
        &["{f}_finalize: called after the last {f}_finalize; calls belong between {f}_init and {f}_finalize"],
    ),
    ("pe_p", 1, &["PE 2 ", "{f}_long_p: pe = 3: ", NO_PE]),
    ("pe_negative", 1, &["{f}_long_p: pe = -1: ", NO_PE]),
    ("pe_put", 1, &["{f}_int_put: pe = 8: ", NO_PE]),
    ("pe_get", 1, &["{f}_double_get: pe = 3: ", NO_PE]),
    ("pe_g", 1, &["{f}_long_g: pe = 1000000: ", NO_PE]),
    ("pe_putmem", 1, &["{f}_putmem: pe = 3: ", NO_PE]),
    ("pe_nbi", 1, &["{f}_getmem_nbi: pe = 3: ", NO_PE]),
    ("pe_iput", 1, &["{f}_long_iput: pe = 3: ", NO_PE]),
    ("pe_atomic", 1, &["{f}_long_atomic_fetch_add: pe = 3: ", NO_PE]),
    ("pe_atomic_set", 1, &["{f}_double_atomic_set: pe = 3: ", NO_PE]),
    ("pe_signal", 1, &["{f}_long_put_signal: pe = 3: ", NO_PE]),
    ("stack", 4, &["{f}_long_p: dest = 0x", "(8 bytes)", OUTSIDE]),
    ("malloced", 4, &["{f}_long_put: dest = 0x", " (nelems = 1 of 8 bytes): ", OUTSIDE]),
    ("get_source", 4, &["{f}_long_get: source = 0x", " (nelems = 1 of 8 bytes): ", OUTSIDE]),
    ("atomic_stack", 4, &["{f}_long_atomic_inc: dest = 0x", OUTSIDE]),
    ("signal_stack", 4, &["{f}_long_put_signal: sig_addr = 0x", " (8 bytes): ", OUTSIDE]),
    (
        "signal_put_past",
        4,
        &["{f}_long_put_signal: dest = 0x", " (nelems = 1000000000 of 8 bytes): starts in ", PAST],
    ),
    (
        "end_of_heap 1073741824",
        4,
        &[
            "{f}_putmem: dest = 0x",
            "(128 bytes): starts where the symmetric heap ends, and goes 128 bytes past that",
            WHOLE,
        ],
    ),
    (
        "heap_overrun 1",
        4,
        &[
            "{f}_putmem: dest = 0x",
            "(1125899906842624 bytes): starts in an object of 512 bytes and goes ",
            PAST,
            WHOLE,
        ],
    ),
    ("length_wraps 3", 1, &["{f}_long_put: nelems = 2305843009213693948: more than the address space"]),
    (
        "length_negative 2",
        1,
        &["{f}_long_put: nelems = -3: more than the address space; was the number negative?"],
    ),
    ("null_dest", 1, &["{f}_long_put: dest ", NULL]),
    ("null_source", 1, &["{f}_long_put: source ", NULL]),
    ("null_get", 1, &["{f}_long_get: dest ", NULL]),
    ("null_p", 1, &["{f}_long_p: dest ", NO_WORD]),
    ("null_atomic", 1, &["{f}_long_atomic_inc: dest ", NO_WORD]),
    ("null_wait", 1, &["{f}_long_wait_until: ivar ", NO_WORD]),
    ("misaligned", 1, &["{f}_long_atomic_inc: dest = 0x", "not aligned to 8 bytes"]),
    ("misaligned_signal", 1, &["{f}_long_put_signal: sig_addr = 0x", "not aligned to 8 bytes"]),
    ("signal_op", 1, &["{f}_long_put_signal: sig_op = 77", "there are {F}_SIGNAL_SET and {F}_SIGNAL_ADD"]),
    ("compare", 1, &["{f}_long_wait_until: cmp = 17", "use the constants {F}_CMP_EQ to {F}_CMP_GE"]),
    (
        "stride_overflows",
        1,
        &[
            "{f}_long_iput: dst = 4611686018427387904, nelems = 3: the last element would end 73786976294838206472 bytes ",
        ],
    ),
    (
        "stride_past",
        4,
        &[
            "{f}_long_iput: dst = 100000000, nelems = 3: the last element ends 1600000008 bytes after the start of dest, ",
            PAST,
            "; dest = 0x",
            ": starts in an object of 512 bytes; ",
            WHOLE,
        ],
    ),
    (
        "stride_past_get",
        4,
        &[
            "{f}_long_iget: sst = 100000000, nelems = 3: the last element ends 1600000008 bytes after the start of source, ",
            PAST,
        ],
    ),
    ("stride_zero", 1, &["{f}_long_iput: dst = 0", "at least 1"]),
    ("stride_negative", 1, &["{f}_long_iget: sst = -1", "at least 1"]),
    ("free_twice", 1, &["{f}_free: ptr = 0x", "may have been freed before"]),
    ("free_inside", 1, &["{f}_free: ptr = 0x", "the address of its beginning"]),
    ("free_malloced", 1, &["{f}_free: ptr = 0x", "not in the symmetric heap"]),
    ("team_world_destroy", 1, &["{f}_team_destroy: team = 0: a predefined team"]),
    ("exits_early", 3, &["dushrun: PE 2 ", "exited with code 3 before finalize"]),
    ("leaves_without_finalize", 1, &["dushrun: PE 2 ", "left without finalize", "waits in barrier_all"]),
    (
        "leaves_as_root",
        1,
        &["dushrun: PE 2 ", "left without finalize", "waits in broadcast (TEAM_WORLD) for PE 2"],
    ),
    ("aborts", 134, &["dushrun: PE 2 ", "was ended by SIGABRT"]),
    ("crashes", 139, &["dushrun: PE 2 ", "was ended by SIGSEGV"]),
];

/// For families that have what is used wrongly.
const ENDS_SOMETIMES: &[(&str, Ends)] = &[
    (
        "SHMEM",
        (
            "global_overrun 1",
            4,
            &[
                "{f}_putmem: dest = 0x",
                " bytes): starts in the globals of the executable and goes ",
                "past the end; ",
                "all of it has to lie in one of them",
            ],
        ),
    ),
    ("SHMEM DUSHMEM", ("lock_stack", 4, &["{f}_set_lock: lock = 0x", OUTSIDE])),
    ("SHMEM DUSHMEM", ("lock_twice", 1, &["{f}_set_lock: lock = 0x", "this thread holds the lock already"])),
    (
        "SHMEM DUSHMEM",
        (
            "clear_free_lock",
            1,
            &["{f}_clear_lock: lock = 0x", "this PE does not hold the lock, and nobody does; "],
        ),
    ),
    (
        "SHMEM DUSHMEM",
        (
            "clear_lock_of_another",
            1,
            &[
                "{f}_clear_lock: lock = 0x",
                "this PE does not hold the lock, PE 0 does; clear_lock follows a set_lock",
            ],
        ),
    ),
    (
        "SHMEM DUSHMEM",
        ("ctx_invalid", 1, &["{f}_ctx_long_p: ctx = 0x0: not a context, or one that was destroyed"]),
    ),
    (
        "SHMEM DUSHMEM",
        ("ctx_default", 1, &["{f}_ctx_destroy: ctx = 0x1: the default context lives as long as the library"]),
    ),
    (
        "SHMEM DUSHMEM",
        (
            "ctx_stale",
            1,
            &[
                "{f}_ctx_quiet: ctx = 0x",
                ": not a context, or one that was destroyed; use {F}_CTX_DEFAULT or",
            ],
        ),
    ),
    (
        "SHMEM DUSHMEM",
        (
            "ctx_junk",
            1,
            &[
                "{f}_ctx_quiet: ctx = 0x",
                ": not a context, or one that was destroyed; use {F}_CTX_DEFAULT or",
            ],
        ),
    ),
    ("NVSHMEM DUSHMEM", ("global", 4, &["{f}_long_p: dest = 0x", "DUSHMEM_STATIC=1 makes them so"])),
];

/// Calls with a status: case, status, number of lines, parts of each.
const RETURNS: &[(&str, i32, usize, &[&str])] = &[
    ("team_unknown", 1, PES, &["{f}_long_sum_reduce: team = 4711: not a team, or one that was destroyed"]),
    ("team_invalid", 1, PES, &["{f}_long_broadcast: team = -1: the invalid team ({F}_TEAM_INVALID); "]),
    ("team_stale", 1, PES, &["{f}_team_sync: team = ", "not a team, or one that was destroyed"]),
    (
        "team_range",
        1,
        PES,
        &[
            "{f}_team_split_strided: start = 0, stride = 2, size = 3: there is no PE 4; the parent team has PEs 0 to 2",
        ],
    ),
    ("root", 1, PES, &["{f}_long_broadcast: PE_root = 3: there is no such PE; the team has PEs 0 to 2"]),
    ("roots_differ", 4, 1, &["{f}_long_broadcast: PEs disagree"]),
    ("lengths_differ", 4, 1, &["{f}_long_fcollect: PEs disagree: ", "8 bytes", "16 bytes", FEW]),
    ("calls_differ", 4, 1, &["PEs disagree: ", "reduce of 8 bytes", "broadcast of 8 bytes", FEW]),
    ("collective_null", 1, PES, &["{f}_long_sum_reduce: dest ", NULL]),
    (
        "collective_stack",
        4,
        PES,
        &["{f}_long_fcollect: dest = 0x", " (nelems = 1 of 8 bytes, 24 bytes in all): ", OUTSIDE],
    ),
    ("collective_many 2", 1, PES, &["{f}_long_broadcast: nelems = -3: more than the address space"]),
];

/// What one PE passes to a collective while the others are in a barrier, or pass the right value: case, exit code, and
/// the parts of that PE's own line. `{n}` and `{last}` stand for the number of PEs and for that PE; wrong numbers are {n} + 10.
const ONE_IS_WRONG: [Ends; 6] = [
    (
        "one_root",
        4,
        &["{f}_long_broadcast: PE_root = 1{n}: there is no such PE; the team has PEs 0 to {last}"],
    ),
    ("one_dest", 4, &["{f}_long_fcollect: dest = 0x", OUTSIDE]),
    ("one_null", 4, &["{f}_long_sum_reduce: dest is NULL"]),
    ("one_size", 4, &["{f}_malloc: size = -8: larger than any heap"]),
    ("one_stride", 4, &["{f}_team_split_strided: ", "size = 1{n}: ", "the parent team"]),
    (
        "one_of_many",
        0,
        &["{f}_long_broadcast: PE_root = 1{n}: there is no such PE; the team has PEs 0 to {last}"],
    ),
];

pub fn job(family: &str, case: &str) -> Job {
    with_pes(PES, family, case)
}

fn with_pes(pes: usize, family: &str, case: &str) -> Job {
    Job::new(pes, Program::new("bad").family(family).build()).words(case)
}

fn with_family(words: &[&str], family: &str) -> Vec<String> {
    words.iter().map(|word| word.replace("{f}", &family.to_lowercase()).replace("{F}", family)).collect()
}

#[track_caller]
pub fn ended(outcome: Outcome, family: &str, (_, code, words): (&str, i32, &[&str])) {
    let words = with_family(words, family);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert!(!outcome.stdout.contains("came through"), "{outcome:#?}");
    outcome.failure(code, &words);
}

/// Fails unless the program succeeded and there are `lines` lines on standard error, each with all words.
#[track_caller]
pub fn warned(outcome: &Outcome, lines: usize, words: &[&str]) {
    let told: Vec<&str> = outcome.stderr.lines().collect();
    assert!(outcome.code == 0 && told.len() == lines, "expected {lines} lines: {outcome:#?}");
    assert!(told.iter().all(|line| words.iter().all(|word| line.contains(word))), "{words:?}: {outcome:#?}");
}

/// Fails unless the PE that made the mistake says what it was, once, and one line of the others repeats it.
#[track_caller]
fn cause_told(outcome: &Outcome, code: i32, who: &str, words: &[String]) {
    let (own, others): (Vec<&str>, Vec<&str>) =
        outcome.stderr.lines().partition(|line| words.iter().all(|word| line.contains(word)));
    assert!(outcome.code == code && own.len() == 1 && own[0].starts_with(who), "{words:?}: {outcome:#?}");
    let told = "with an argument that is wrong (";
    assert!(others.len() == 1 && others[0].contains(told), "{words:?}: {outcome:#?}");
}

/// Adds the tests.
pub fn add(trials: &mut Vec<Trial>) {
    let always = ENDS.iter().map(|case| ("SHMEM NVSHMEM DUSHMEM", *case));
    for (families, case) in always.chain(ENDS_SOMETIMES.iter().copied()) {
        let name = case.0.split(' ').next().unwrap_or_default();
        trials.push(trial(format!("bad::{name}"), move || {
            for family in families.split(' ') {
                for transport in ["shm", "loopback"] {
                    ended(job(family, case.0).env("DUSHMEM_TRANSPORT", transport).run(), family, case);
                }
            }
        }));
    }
    for &(name, status, lines, words) in RETURNS {
        let first = name.split(' ').next().unwrap_or_default();
        trials.push(trial(format!("bad::{first}"), move || {
            for family in FAMILIES {
                for transport in ["shm", "loopback"] {
                    let outcome = job(family, name).env("DUSHMEM_TRANSPORT", transport).run();
                    let words = with_family(words, family);
                    warned(&outcome, lines, &words.iter().map(String::as_str).collect::<Vec<_>>());
                    let all: Vec<String> = (0..PES).map(|pe| format!("PE {pe}: status {status}")).collect();
                    assert_eq!(outcome.sorted_lines(), all);
                }
            }
        }));
    }
    for (name, code, words) in ONE_IS_WRONG {
        trials.push(trial(format!("bad::{name}"), move || {
            for (family, pes) in FAMILIES.into_iter().flat_map(|family| [(family, 2), (family, 4)]) {
                let (n, last) = (pes.to_string(), (pes - 1).to_string());
                let words = with_family(words, family);
                let words: Vec<_> =
                    words.iter().map(|word| word.replace("{n}", &n).replace("{last}", &last)).collect();
                for transport in ["shm", "loopback"] {
                    let outcome = with_pes(pes, family, name).env("DUSHMEM_TRANSPORT", transport).run();
                    cause_told(&outcome, code, &format!("dushmem: PE {last} "), &words);
                }
            }
        }));
    }
    add_allocations(trials);
    add_sizes(trials);
    add_surroundings(trials);
}

fn add_allocations(trials: &mut Vec<Trial>) {
    for (name, words) in [
        ("malloc_sizes", ["{f}_malloc: PEs disagree: ", "64 bytes", "128 bytes", FEW]),
        ("calloc_sizes", ["{f}_calloc: PEs disagree: ", "32 bytes", "24 bytes", FEW]),
    ] {
        trials.push(trial(format!("bad::{name}"), move || {
            for family in FAMILIES {
                // NULL everywhere, and the program goes on.
                let words = with_family(&words, family);
                warned(&job(family, name).run(), 1, &words.iter().map(String::as_str).collect::<Vec<_>>());
            }
        }));
    }
    for (name, words) in [
        ("malloc_zero", ["malloc with size 0", "64 bytes", "PEs disagree"]),
        ("malloc_against_free", ["malloc of 64 bytes", "free", "PEs disagree"]),
        ("malloc_against_barrier", ["malloc of 64 bytes", "barrier_all", "PEs disagree"]),
        ("malloc_against_finalize", ["malloc of 64 bytes", "finalize", "PEs disagree"]),
        ("sync_against_finalize", ["team_sync", "finalize", "PEs disagree"]),
    ] {
        trials.push(trial(format!("bad::{name}"), move || {
            for family in FAMILIES {
                let outcome = job(family, name).run();
                // The call without a status ends the job; one of those that know says why.
                let lines: Vec<&str> = outcome.stderr.lines().collect();
                assert!(outcome.code == 4 && lines.len() == 1, "{outcome:#?}");
                let complete = |line: &&str| words.iter().all(|word| line.contains(word));
                assert!(lines.iter().all(complete), "{outcome:#?}");
            }
        }));
    }
    trials.push(trial("bad::negative".into(), || {
        let words = ["shmem_malloc: size = -8: larger than any heap"];
        warned(&job("SHMEM", "negative").run(), PES, &words);
    }));
    trials.push(trial("bad::ctx_options".into(), || {
        for family in ["SHMEM", "DUSHMEM"] {
            let lower = family.to_lowercase();
            for call in ["ctx_create", "team_create_ctx"] {
                let options =
                    format!("{lower}_{call}: options = 0x12: 0x10: this bit is no option of a context; ");
                let known = format!("there are {family}_CTX_SERIALIZED (0x1), {family}_CTX_PRIVATE (0x2)");
                warned(&job(family, call).run(), 1, &[&options, &known]);
            }
        }
    }));
    trials.push(trial("bad::handles_of_nothing_are_results_and_not_mistakes".into(), || {
        for family in ["SHMEM", "DUSHMEM"] {
            warned(&job(family, "invalid_handles").run(), 0, &[]);
        }
    }));
    trials.push(trial("bad::alignment".into(), || {
        warned(&job("SHMEM", "alignment").run(), PES, &["shmem_align: alignment = 3: not a power of two"]);
    }));
    trials.push(trial("bad::pe_ptr".into(), || {
        warned(&job("SHMEM", "pe_ptr").run(), 1, &["shmem_ptr: pe = 3: ", NO_PE]);
    }));
    for name in ["peer_mapping", "peer_mapping_wait"] {
        trials.push(trial(format!("bad::{name}"), move || {
            let words: &[&str] =
                &["= 0x", OUTSIDE, "another PE's memory, as ptr shows it: pass the own address instead"];
            ended(job("SHMEM", name).run(), "SHMEM", (name, 4, words));
        }));
    }
}

fn add_sizes(trials: &mut Vec<Trial>) {
    trials.push(trial("bad::size".into(), || {
        const WRONG: [(&str, &str); 9] = [
            ("abc", "not a size"),
            ("-1", "not a size"),
            ("1.5.2", "not a size"),
            ("M", "not a size"),
            ("99999T", "larger than the address space"),
            ("99999999999999999999999", "larger than the address space"),
            ("40T", "more than the window for symmetric memory; set it to 4092G or less"),
            ("4096G", "more than the window for symmetric memory; set it to 4092G or less"),
            ("16E", "none of K, M, G, T"),
        ];
        for (value, why) in WRONG {
            for (family, variable) in [
                ("SHMEM", "SHMEM_SYMMETRIC_SIZE"),
                ("SHMEM", "SMA_SYMMETRIC_SIZE"),
                ("NVSHMEM", "NVSHMEM_SYMMETRIC_SIZE"),
                ("DUSHMEM", "DUSHMEM_SYMMETRIC_SIZE"),
            ] {
                let outcome = job(family, "size").env(variable, value).run();
                let call = format!("{}_init: ", family.to_lowercase());
                outcome.failure(1, &[&call, &format!("{variable}="), why]);
            }
        }
        // init_thread has a status: the program decides, and the reason is out before any PE can end the job.
        for (value, why) in [("abc", "not a size"), ("40T", "more than the window")] {
            for _ in 0..4 {
                let outcome = job("SHMEM", "init_thread_status").env("DUSHMEM_SYMMETRIC_SIZE", value).run();
                assert!(outcome.code == 1 && outcome.stdout.contains("status 1 provided -7"), "{outcome:#?}");
                let told = outcome.stderr.matches("shmem_init_thread: DUSHMEM_SYMMETRIC_SIZE=").count();
                assert!(told == 1 && outcome.stderr.contains(why), "{outcome:#?}");
            }
        }
    }));
    trials.push(trial("bad::size_that_is_odd_but_legal".into(), || {
        let outcome = job("SHMEM", "size").env("SHMEM_SYMMETRIC_SIZE", "20kk").run();
        warned(&outcome, 1, &["SHMEM_SYMMETRIC_SIZE=20kk: read as 20480 bytes", "ignored"]);
        for value in ["64k", " 1M ", ".5g", "3.1M", "1T", "4092G", "100000"] {
            job("SHMEM", "size").env("SHMEM_SYMMETRIC_SIZE", value).run().success();
        }
        // An empty one is not set.
        job("SHMEM", "size").env("SHMEM_SYMMETRIC_SIZE", "").run().success();
        // Legal, but nothing can be allocated.
        let outcome = job("SHMEM", "nothing_allocated").env("SHMEM_SYMMETRIC_SIZE", "0").run();
        warned(
            &outcome,
            1,
            &["dushmem: SHMEM_SYMMETRIC_SIZE=0: there is no symmetric heap then", "as in 64M"],
        );
        // The variable of the library itself goes before those of the family.
        job("SHMEM", "size")
            .env("SHMEM_SYMMETRIC_SIZE", "abc")
            .env("DUSHMEM_SYMMETRIC_SIZE", "1M")
            .run()
            .success();
    }));
    trials.push(trial("bad::thread_level".into(), || {
        let outcome = job("SHMEM", "thread_level").run();
        assert!(
            outcome.code == 1
                && outcome.stderr.contains("shmem_init_thread: requested = 17")
                && outcome.stderr.contains("there are SHMEM_THREAD_SINGLE to SHMEM_THREAD_MULTIPLE"),
            "{outcome:#?}"
        );
    }));
}

fn add_surroundings(trials: &mut Vec<Trial>) {
    trials.push(trial("bad::streams_of_a_gpu_that_there_is_not".into(), || {
        let program = Program::new("gpu_program").build();
        let job = |word: &str, why: &(&str, &str)| Job::new(2, &program).words(word).env(why.0, why.1);
        for why in [("DUSHMEM_CUDA_LIBRARY", "/no/such/libcuda.so"), ("DUSHMEM_DEVICE", "emu")] {
            let outcome = job("nothing", &why).run();
            assert!(
                outcome.code == 0 && outcome.stdout == "the host's calls work\n".repeat(2),
                "{outcome:#?}"
            );
            let reason =
                if why.0 == "DUSHMEM_DEVICE" { "DUSHMEM_DEVICE=emu" } else { "there is no CUDA driver" };
            warned(&outcome, 1, &["does not run on one (", reason, "calls on streams, end with an error"]);
            let words = ["stream = 0x0: the program is compiled for a GPU", "compile it with dushcc"];
            for (word, call) in [
                ("put", "dushmemx_int_p_on_stream: "),
                ("barrier", "dushmemx_barrier_all_on_stream: "),
                ("team", "dushmemx_team_sync_on_stream: "),
            ] {
                let outcome = job(word, &why).run();
                let line = outcome.stderr.lines().find(|line| line.contains(call)).unwrap_or_default();
                assert!(outcome.code == 7 && words.iter().all(|word| line.contains(word)), "{outcome:#?}");
                assert_eq!(outcome.stdout, "");
            }
        }
    }));
    trials.push(trial("bad::threads_at_init".into(), || {
        let words: &[&str] = &["shmem_long_p: dest = 0x", OUTSIDE, "other threads were running at init"];
        ended(job("SHMEM", "threads_at_init").run(), "SHMEM", ("threads_at_init", 4, words));
        let outcome = job("DUSHMEM", "threads_at_init").env("DUSHMEM_STATIC", "1").run();
        outcome.failure(4, &["dushmem_long_p", "other threads were running at init"]);
    }));
    trials.push(trial("bad::started_without_the_launcher".into(), || {
        for family in FAMILIES {
            let program = Program::new("bad").family(family).build();
            let has = "PEs 0 to 0; the program was started without dushrun, hence it is a job of one PE: \
                       \"dushrun -n 2 PROGRAM\" starts two";
            for (case, code, words) in [
                ("pe_p", 1, "{f}_long_p: pe = 1: there is no such PE; this job has "),
                ("pe_get", 1, "{f}_double_get: pe = 1: there is no such PE; this job has "),
                ("root", 0, "{f}_long_broadcast: PE_root = 1: there is no such PE; the team has "),
            ] {
                let words = with_family(&[words], family).remove(0) + has;
                let alone = Job::of(&program).words(case).run();
                assert!(alone.code == code && alone.stderr.contains(&words), "{words}: {alone:#?}");
                let launched = with_pes(1, family, case).run();
                assert!(
                    launched.code == code && !launched.stderr.contains("without dushrun"),
                    "{launched:#?}"
                );
            }
        }
    }));
    trials.push(trial("bad::foreign_launcher".into(), || {
        for (family, variables) in [
            ("SHMEM", [("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "1")]),
            ("NVSHMEM", [("SLURM_NTASKS", "8"), ("SLURM_PROCID", "3")]),
            ("DUSHMEM", [("PMI_SIZE", "2"), ("PMI_RANK", "0")]),
        ] {
            let mut alone = Job::of(&Program::new("bad").family(family).build());
            for (name, value) in variables {
                alone = alone.env(name, value);
            }
            let found = format!("{}={}", variables[0].0, variables[0].1);
            let call = format!("{}_init: ", family.to_lowercase());
            alone.run().failure(1, &[&call, &found, "dushrun", "DUSHMEM_BOOTSTRAP=singleton"]);
        }
    }));
    trials.push(trial("bad::global_exit".into(), || {
        for family in FAMILIES {
            let outcome = job(family, "global_exit").run();
            assert!(outcome.code == 42 && outcome.stderr.is_empty(), "{outcome:#?}");
        }
    }));
    trials.push(trial("bad::exit_code_after_finalize".into(), || {
        let outcome = job("SHMEM", "exits_after_finalize").run();
        outcome.failure(5, &["dushrun: PE ", "exited with code 5 after finalize"]);
    }));
    trials.push(trial("bad::nothing".into(), || {
        // The program itself is right where nothing wrong is asked for.
        for family in FAMILIES {
            let outcome = job(family, "nothing").run().success();
            assert_eq!(outcome.stdout.matches("came through").count(), PES);
        }
    }));
}

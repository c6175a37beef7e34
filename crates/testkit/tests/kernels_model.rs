//! What the memory model promises kernels, and how kernels, hosts and streams get on with each other:
//! `tests/kernels`, directly, through the proxy, over a transport that reorders, with other orders of threads.
use dushmem_testkit::kernels::{Program, all_right};

#[track_caller]
fn is_right_by_every_path(source: &str) {
    let program = Program::suite(source);
    for pes in [1, 2, 3, 4, 8] {
        all_right(program.job_with(pes, &[]));
    }
    for pes in [2, 4] {
        all_right(program.job_with(pes, &[("DUSHMEM_EMU_REMOTE", "1")]));
    }
    all_right(program.job_with(1, &[("DUSHMEM_EMU_REMOTE", "all")]));
    for seed in ["1", "2", "3"] {
        all_right(program.job_with(2, &[("DUSHMEM_EMU_SEED", seed)]));
        all_right(program.job_with(3, &[("DUSHMEM_TRANSPORT", "loopback"), ("DUSHMEM_LOOPBACK_SEED", seed)]));
    }
}

#[test]
fn litmus_tests_hold() {
    is_right_by_every_path("litmus.cu");
}

#[test]
fn a_missing_fence_shows() {
    let program = Program::of(&["tests/kernels/litmus.cu"], &["-DWITHOUT_FENCE"]);
    // Which transfers overtake others depends on the seed, and on when the threads run.
    for seed in 1..=20 {
        let seed = seed.to_string();
        let transport = [("DUSHMEM_TRANSPORT", "loopback"), ("DUSHMEM_LOOPBACK_SEED", &*seed)];
        let outcome = program.job_with(2, &transport).run();
        if outcome.code == 1 && outcome.stdout.contains("data behind its flag") {
            return;
        }
        assert!(outcome.code == 0, "{outcome:#?}");
    }
    panic!("a program without its fence was right 20 times");
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

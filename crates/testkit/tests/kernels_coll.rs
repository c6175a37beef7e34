//! Collectives in kernels: `tests/kernels/coll_*.cu`, compiled by dushcc, run by dushrun.
use dushmem_testkit::kernels::{Program, all_right};

/// With so many PEs and these variables, with which it does less.
#[track_caller]
fn is_right(program: &Program, pes: usize, variables: &[(&str, &str)]) {
    let job = program.job_with(pes, variables);
    all_right(if variables.is_empty() { job } else { job.args(["short"]) });
}

/// Directly, through the proxy with shared memory beneath, and through it over a transport that reorders.
#[track_caller]
fn is_right_by_every_path(source: &str) {
    let program = Program::suite(source);
    for pes in [1, 2, 3, 4, 8] {
        is_right(&program, pes, &[]);
    }
    is_right(&program, 3, &[("DUSHMEM_EMU_REMOTE", "1")]);
    is_right(&program, 1, &[("DUSHMEM_EMU_REMOTE", "all")]);
    for seed in ["1", "2", "3"] {
        is_right(&program, 3, &[("DUSHMEM_TRANSPORT", "loopback"), ("DUSHMEM_LOOPBACK_SEED", seed)]);
    }
}

#[test]
fn data_arrive_and_barriers_hold() {
    is_right_by_every_path("coll_move.cu");
}

#[test]
fn operands_are_combined_by_rank_to_the_last_bit() {
    is_right_by_every_path("coll_reduce.cu");
}

#[test]
fn teams_are_used_at_once_one_after_the_other_and_by_the_host_too() {
    is_right_by_every_path("coll_teams.cu");
}

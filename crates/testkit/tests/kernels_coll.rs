//! Collectives in kernels: `tests/kernels/coll_*.cu`, compiled by dushcc, run by dushrun.
use dushmem_testkit::kernels::{Program, all_right};

/// With so many PEs and these variables, with which it does less.
#[track_caller]
fn is_right(program: &Program, pes: usize, variables: &[(&str, &str)]) {
    let job = program.job_with(pes, variables);
    all_right(if variables.is_empty() { job } else { job.args(["short"]) });
}

/// Few and many PEs, by loads and stores.
#[track_caller]
fn is_right_directly(source: &str, pes: &[usize]) {
    let program = Program::suite(source);
    for &pes in pes {
        is_right(&program, pes, &[]);
    }
}

/// Through the proxy: with shared memory beneath, and over a transport that reorders.
#[track_caller]
fn is_right_by_requests(source: &str) {
    let program = Program::suite(source);
    is_right(&program, 3, &[("DUSHMEM_EMU_REMOTE", "1")]);
    is_right(&program, 1, &[("DUSHMEM_EMU_REMOTE", "all")]);
    for seed in ["1", "2", "3"] {
        is_right(&program, 3, &[("DUSHMEM_TRANSPORT", "loopback"), ("DUSHMEM_LOOPBACK_SEED", seed)]);
    }
}

macro_rules! suites {
    ($($source:literal: $few:ident $many:ident $requests:ident;)*) => {$(
        #[test]
        fn $few() {
            is_right_directly($source, &[1, 2, 3]);
        }

        #[test]
        fn $many() {
            is_right_directly($source, &[4, 8]);
        }

        #[test]
        fn $requests() {
            is_right_by_requests($source);
        }
    )*};
}
suites! {
    // Data arrive, and barriers hold.
    "coll_move.cu": data_arrive_with_few_pes data_arrive_with_many_pes data_arrive_by_requests;
    // Operands are combined by rank, to the last bit.
    "coll_reduce.cu": operands_are_combined_with_few_pes operands_are_combined_with_many_pes
        operands_are_combined_by_requests;
    // Teams are used at once, one after the other, and by the host too.
    "coll_teams.cu": teams_are_used_with_few_pes teams_are_used_with_many_pes teams_are_used_by_requests;
}

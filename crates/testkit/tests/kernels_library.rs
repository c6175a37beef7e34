//! The library's own kernels (`kernels/*.cu`), compiled by dushcc for the CPU and called directly; collectives in kernels
//! with data and flag in one word, as GPUs have them; and buffers that overlap.
use dushmem_testkit::kernels::{Program, all_right};

const PES: [usize; 5] = [1, 2, 3, 4, 8];

/// What GPUs do always, and the CPU for tests only.
const FLAGGED: [&str; 1] = ["-DDUSHMEM_FLAGGED_WORDS"];

/// With three orders of threads.
#[track_caller]
fn in_three_orders(program: &Program, pes: usize, words: &[&str]) {
    for seed in ["1", "2", "3"] {
        all_right(program.job(pes).env("DUSHMEM_EMU_SEED", seed).args(words));
    }
}

#[test]
fn kernels_of_the_library() {
    let program = Program::suite("library_kernels.cu");
    for pes in PES {
        all_right(program.job(pes).args(if pes == 8 { &["short"][..] } else { &[] }));
    }
    in_three_orders(&program, 3, &["short"]);
}

#[test]
fn kernels_of_the_library_in_one_step() {
    let program = Program::of(&["tests/kernels/library_kernels.cu"], &FLAGGED);
    for pes in PES {
        all_right(program.job(pes).args(if pes == 8 { &["short"][..] } else { &[] }));
    }
    in_three_orders(&program, 3, &["short"]);
}

#[test]
fn kernels_of_the_library_where_members_are_out_of_reach() {
    let program = Program::suite("library_kernels.cu");
    for pes in [2, 3] {
        all_right(program.job(pes).args(["far", "short"]));
        all_right(program.job_with(pes, &[("DUSHMEM_EMU_REMOTE", "1")]).args(["far", "short"]));
        let reordered = [("DUSHMEM_TRANSPORT", "loopback"), ("DUSHMEM_LOOPBACK_SEED", "2")];
        all_right(program.job_with(pes, &reordered).args(["far", "short"]));
    }
}

/// The suites of collectives.
#[track_caller]
fn in_one_step(source: &str) {
    let program = Program::of(&[&format!("tests/kernels/{source}")], &FLAGGED);
    for pes in PES {
        all_right(program.job(pes).args(if pes == 8 { &["short"][..] } else { &[] }));
    }
    in_three_orders(&program, 3, &["short"]);
    // Messages, between members some of which are out of reach.
    all_right(program.job_with(3, &[("DUSHMEM_EMU_REMOTE", "1")]).args(["short"]));
}

#[test]
fn data_arrive_in_one_step() {
    in_one_step("coll_move.cu");
}

#[test]
fn operands_are_combined_by_rank_in_one_step() {
    in_one_step("coll_reduce.cu");
}

#[test]
fn teams_follow_each_other_with_calls_in_one_step() {
    in_one_step("coll_teams.cu");
}

#[test]
fn buffers_that_overlap_in_part_are_refused() {
    let program = Program::suite("coll_overlaps.cu");
    for pes in [1, 3] {
        all_right(program.job(pes).args(["allowed"]));
    }
    let in_place_or_not = "overlaps dest; pass the same address for both, or separate buffers";
    let never = "overlaps dest; this collective needs separate buffers";
    let calls = [
        ("reduce", in_place_or_not),
        ("reduce", in_place_or_not),
        ("reducescatter", in_place_or_not),
        ("inscan", in_place_or_not),
        ("broadcast", in_place_or_not),
        ("fcollect", never),
        ("fcollect", never),
        ("collect", never),
        ("collect", never),
        ("alltoall", in_place_or_not),
    ];
    for (case, (call, why)) in calls.into_iter().enumerate() {
        let line = format!("{call}: source = 0x");
        for pes in [1, 2] {
            program
                .job(pes)
                .args([case.to_string()])
                .run()
                .failure(1, &[&line, why, "(kernel overlaps, block"]);
        }
    }
}

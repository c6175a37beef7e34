//! Every suite of kernels with 1, 2, 4 and 8 PEs, three orders of threads, directly and through the proxy over both
//! transports; and those of signals and barriers twenty times. It takes minutes, so it runs when asked for:
//!
//!     cargo nextest run -p dushmem-testkit --test kernels_matrix --run-ignored only
use dushmem_testkit::kernels::{Program, all_right};

const PES: [usize; 4] = [1, 2, 4, 8];
const SEEDS: [&str; 3] = ["1", "2", "3"];

/// The suite, and the word by which it does less where it knows one.
fn everywhere(source: &str, short: Option<&str>) {
    let program = Program::suite(source);
    for pes in PES {
        let hidden = if pes == 1 { "all" } else { "1" };
        for seed in SEEDS {
            for path in [
                &[][..],
                &[("DUSHMEM_EMU_REMOTE", hidden)][..],
                &[("DUSHMEM_TRANSPORT", "loopback"), ("DUSHMEM_LOOPBACK_SEED", seed)][..],
            ] {
                let job = program.job_with(pes, path).env("DUSHMEM_EMU_SEED", seed);
                all_right(job.args(short));
            }
        }
    }
}

macro_rules! suites {
    ($($name:ident $source:literal $short:expr;)*) => {
        $(#[test] #[ignore = "minutes"] fn $name() { everywhere($source, $short); })*
    };
}

suites! {
    device_api "device_api.cu" None;
    device_scopes "device_scopes.cu" None;
    coll_move "coll_move.cu" Some("short");
    coll_reduce "coll_reduce.cu" Some("short");
    coll_teams "coll_teams.cu" Some("short");
    litmus "litmus.cu" None;
    waiters "waiters.cu" None;
    signals_many "signals_many.cu" None;
    interplay "interplay.cu" None;
    atomic_pairs "atomic_pairs.cu" None;
    teams_in_kernels "teams_in_kernels.cu" None;
    wakers "wakers.cu" None;
    graphs "graphs.cu" None;
}

#[test]
#[ignore = "minutes"]
fn signals_and_barriers_again_and_again() {
    for (source, short) in [
        ("signals_many.cu", None),
        ("waiters.cu", None),
        ("wakers.cu", None),
        ("coll_teams.cu", Some("short")),
    ] {
        let program = Program::suite(source);
        for _ in 0..20 {
            all_right(program.job(4).args(short));
            all_right(program.job_with(4, &[("DUSHMEM_EMU_REMOTE", "1")]).args(short));
        }
    }
}

//! What the rows have to reach, and why dushmem is faster where it is.
use super::measure::{Measured, Mode};

/// What every row has to reach.
const FLOOR: f64 = 0.95;

/// Rows whose name begins and ends so, in these modes, must be so many times faster than those of the others.
type Target = (&'static str, &'static str, &'static [Mode], f64);

const MPS: &[Mode] = &[Mode::Mps];
const PLAIN: &[Mode] = &[Mode::Plain];
/// All PEs on one GPU.
const ONE: &[Mode] = &[Mode::Mps, Mode::Plain];
const EACH: &[Mode] = &[Mode::Each];
const ALL: &[Mode] = &[Mode::Mps, Mode::Plain, Mode::Each];

const TARGETS: [Target; 43] = [
    ("on stream float_sum_reduce 4 MiB", "", MPS, 100.0),
    ("on stream float_sum_reduce 64 MiB", "", MPS, 300.0),
    ("on stream float_sum_reduce 4 B", "", MPS, 1.7),
    ("on stream fcollect 1 MiB", "", MPS, 3.7),
    ("on stream alltoall 1 MiB", "", MPS, 3.7),
    ("on stream barrier_all in a graph", "", MPS, 1.5),
    ("on stream barrier_all", "", MPS, 1.08),
    ("on stream barrier_all", "", PLAIN, 28.0),
    ("device barrier_all", "", ONE, 1.7),
    ("device float_sum_reduce, block of 512, 4 B", "", ONE, 6.0),
    ("device put, warp, 1 MiB", "MiB", ONE, 5.0),
    ("device put, block of 256, 1 MiB", "MiB", ONE, 2.0),
    ("device put, thread, 1 MiB", "MiB", ONE, 3.0),
    ("device put, 32 blocks of 1024, 256 MiB", "", ONE, 1.4),
    ("device put, thread", "to 1 from 1", ONE, 3.0),
    ("device put", "to 1 from 1", ONE, 3.0),
    ("device put", "to 0 from 1", ONE, 3.0),
    ("host putmem 1 MiB by all", "", PLAIN, 12.0),
    ("start: init and a first object", "", ONE, 20.0),
    ("on stream float_sum_reduce 64 KiB", "", EACH, 1.3),
    ("on stream float_sum_reduce 4 MiB", "", EACH, 1.3),
    ("on stream float_sum_reduce 64 MiB", "", EACH, 1.08),
    ("on stream fcollect 64 KiB", "", EACH, 1.35),
    ("on stream fcollect 1 MiB", "", EACH, 1.35),
    ("on stream fcollect 4 MiB", "", EACH, 1.35),
    ("on stream fcollect 64 MiB", "", EACH, 1.35),
    ("on stream alltoall", "", EACH, 1.15),
    ("on stream barrier_all in a graph", "", EACH, 1.5),
    ("host putmem 1 MiB by all", "", EACH, 2.0),
    ("device barrier_all", "", EACH, 1.6),
    ("device put, warp, 64 KiB", "KiB", EACH, 3.3),
    ("device put, warp, 1 MiB", "MiB", EACH, 3.3),
    ("device put, warp, 16 MiB", "MiB", EACH, 3.3),
    ("device put, block of 256, 1 MiB", "MiB", EACH, 2.0),
    ("device put, block of 256, 16 MiB", "MiB", EACH, 2.0),
    ("device put, block of 256, 256 MiB", "MiB", EACH, 2.0),
    ("device put_signal ping-pong, thread, 16 KiB", "", EACH, 2.0),
    // Told without a target: nobody had measured them before.
    ("device get", "", EACH, 0.0),
    ("start", "", EACH, 0.0),
    // What a start can't do without, as the driver does it: it says what the start's own figure is made of.
    ("raw start:", "", ALL, 0.0),
    ("raw cudaMemcpyAsync 4 B", "", ALL, 0.0),
    // Times of a whole job's end, which no target names.
    ("end:", "", ALL, 0.0),
    ("", "", ALL, FLOOR),
];

/// The ratio that a row has to reach.
pub fn target(row: &Measured) -> f64 {
    let key = &row.key;
    let fits = |(begin, end, modes, _): &&Target| {
        key.name.starts_with(begin) && key.name.ends_with(end) && modes.contains(&key.mode)
    };
    TARGETS.iter().find(fits).map_or(FLOOR, |&(.., ratio)| ratio)
}

/// Whether a row reaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The median does.
    Met,
    /// The median does not, but some run does.
    Noise,
    /// No run does.
    Missed,
    /// A library has no figure.
    Alone,
}

impl Verdict {
    /// For tables and pictures.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::Noise => "within noise",
            Verdict::Missed => "MISSED",
            Verdict::Alone => "",
        }
    }
}

/// Of a row.
pub fn verdict(row: &Measured) -> Verdict {
    let Some(ratio) = row.ratio() else { return Verdict::Alone };
    match target(row) {
        target if ratio.median >= target => Verdict::Met,
        target if ratio.interval.high >= target => Verdict::Noise,
        _ => Verdict::Missed,
    }
}

/// Why dushmem is faster, by the beginning of a row's name and the modes: what a reader needs to judge the ratio.
pub const REASONS: [(&str, &[Mode], &str); 14] = [
    (
        "on stream float_sum_reduce",
        ONE,
        "NVSHMEM reduces with one block here: with several GPUs it would use NCCL or multicast, and neither is there for \
         PEs of one GPU. dushmem spreads a large reduction over the whole grid, and sends a small one as words of data \
         and flag.",
    ),
    (
        "on stream fcollect",
        ONE,
        "as for reductions: one block of NVSHMEM's beside a grid; likewise alltoall and broadcast.",
    ),
    (
        "on stream barrier_all",
        ONE,
        "without MPS NVSHMEM's barrier is a kernel that waits, so each PE's turn takes a time slice of the GPU; dushmem's \
         waits in the stream, by memory operations. Under MPS both are one small kernel.",
    ),
    (
        "host barrier_all",
        ALL,
        "NVSHMEM launches a kernel for it; dushmem synchronises its own streams, and the PEs meet on the CPU.",
    ),
    (
        "host putmem 1 MiB by all",
        ONE,
        "the same, with the copies, which the GPU makes by turns without MPS: what is left is its switching.",
    ),
    ("host malloc", ALL, "NVSHMEM's is a barrier on the GPU; dushmem's PEs meet on the CPU."),
    (
        "start:",
        ALL,
        "from a context that is there to a first object; NVSHMEM looks for networks and makes its teams' buffers, too.",
    ),
    (
        "device float_sum_reduce",
        ALL,
        "small operands travel as words of data and flag, without a barrier around them.",
    ),
    ("device barrier_all", ALL, "one fence, then flags without an order of their own."),
    (
        "device put",
        ALL,
        "several loads of 16 bytes are under way for each thread; what is not aligned alike is shifted together out of \
         aligned words, where NVSHMEM copies by the widest access that both addresses allow.",
    ),
    (
        "on stream float_sum_reduce",
        EACH,
        "with a GPU for each PE NVSHMEM's collectives on streams are NCCL's, and the link bounds all of them: at 64 MiB a \
         reduction moves as much as the link carries in 183 of NCCL's 250 us, so the hundreds of one GPU, where NVSHMEM \
         works with one block, vanish. What is left is that dushmem's members write results into each other's memory, \
         where no buffer is copied, and that small operands carry their flags.",
    ),
    (
        "on stream fcollect",
        EACH,
        "each member pushes its block into the places of the others, both ways at once; likewise alltoall and broadcast.",
    ),
    ("on stream barrier_all", EACH, "one small kernel in both; in a graph no launch stands before it."),
    (
        "host putmem 1 MiB by all",
        EACH,
        "the copies take the link's time in both; NVSHMEM's barrier is a kernel, dushmem's PEs meet on the CPU.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::measure::Key;

    fn row(name: &str, mode: Mode, ours: &[f64], theirs: &[f64]) -> Measured {
        let key = Key { name: name.into(), pes: 2, mode };
        Measured { key, samples: [ours.to_vec(), theirs.to_vec(), vec![], vec![]] }
    }

    #[test]
    fn the_first_target_that_fits_counts() {
        let of = |name: &str, mode| target(&row(name, mode, &[], &[]));
        assert_eq!(of("on stream float_sum_reduce 4 B", Mode::Mps), 1.7);
        assert_eq!(of("on stream float_sum_reduce 4 KiB", Mode::Mps), FLOOR);
        assert_eq!(of("on stream barrier_all in a graph of 50", Mode::Mps), 1.5);
        assert_eq!(of("on stream barrier_all + synchronize", Mode::Mps), 1.08);
        assert_eq!(of("on stream barrier_all in a graph of 50", Mode::Plain), 28.0);
        assert_eq!(of("device put, warp, 1 MiB", Mode::Mps), 5.0);
        assert_eq!(of("device put, warp, 1 MiB, to 4 from 4", Mode::Mps), FLOOR);
        assert_eq!(of("device put, warp, 1 MiB, to 0 from 1", Mode::Mps), 3.0);
        assert_eq!(of("device put, block of 256, 16 MiB", Mode::Mps), FLOOR);
        assert_eq!(of("host putmem 1 MiB by all + barrier_all", Mode::Plain), 12.0);
        assert_eq!(of("raw start: cudaHostAlloc 4 KiB", Mode::Mps), 0.0);
        assert_eq!(of("end: free and finalize", Mode::Plain), 0.0);
        // With a GPU each other things are possible.
        let each = |name: &str| of(name, Mode::Each);
        assert_eq!(each("on stream float_sum_reduce 64 KiB in a graph of 20"), 1.3);
        assert_eq!(
            [each("on stream float_sum_reduce 64 MiB"), each("on stream float_sum_reduce 4 B")],
            [1.08, FLOOR]
        );
        assert_eq!(
            [each("on stream fcollect 4 MiB a PE"), each("on stream fcollect 1 KiB a PE")],
            [1.35, FLOOR]
        );
        assert_eq!(
            [each("on stream barrier_all in a graph of 50"), each("on stream barrier_all")],
            [1.5, FLOOR]
        );
        assert_eq!(
            [each("device put, warp, 64 KiB"), each("device put, warp, 1 MiB, to 4 from 4")],
            [3.3, FLOOR]
        );
        assert_eq!([each("device put, thread, 1 MiB"), each("device get, warp, 1 MiB")], [FLOOR, 0.0]);
        assert_eq!([each("device barrier_all, thread"), each("start: init and a first object")], [1.6, 0.0]);
    }

    #[test]
    fn a_row_is_missed_only_where_every_run_misses() {
        let of = |ours: &[f64], theirs: &[f64]| verdict(&row("x", Mode::Mps, ours, theirs));
        assert_eq!(of(&[1.0, 1.0, 1.0], &[2.0, 2.0, 2.0]), Verdict::Met);
        assert_eq!(of(&[1.0, 1.0, 1.0], &[0.5, 0.8, 1.0]), Verdict::Noise);
        assert_eq!(of(&[1.0, 1.0, 1.0], &[0.5, 0.8, 0.9]), Verdict::Missed);
        assert_eq!(of(&[1.0], &[]), Verdict::Alone);
    }

    #[test]
    fn every_target_fits_a_row_of_the_program() {
        let text = ["beside.cu", "collectives.h", "device.cu", "put.cu"].map(|name| {
            std::fs::read_to_string(format!("{}/gpu/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
        });
        // Sizes and shapes are put together when it runs.
        for (begin, ..) in TARGETS {
            let stem =
                begin.split(", ").next().unwrap().split(" 4").next().unwrap().split(" 64").next().unwrap();
            let stem = stem
                .split(" 1 MiB")
                .next()
                .unwrap()
                .split(" put")
                .next()
                .unwrap()
                .split(" get")
                .next()
                .unwrap();
            assert!(text.iter().any(|text| text.contains(stem)), "{begin}: {stem}");
        }
    }
}

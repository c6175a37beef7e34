//! How many calls of the driver each operation takes, which is most of what a small one costs, and that none of them waits.
use crate::common::{calls, fail, has_counters};
use crate::pe::{Mode, Pe, sum};
use dushmem_core::device::{StreamHandle, StreamOp, Word};
use dushmem_core::signal::SignalOp;
use dushmem_core::until::Cmp;
use std::collections::BTreeMap;
use std::time::Duration;

/// Calls that put work into a stream.
const WORK: [(&str, &str); 9] = [
    ("kernel", "cuLaunchKernel"),
    ("batch", "cuStreamBatchMemOp_v2"),
    ("write", "cuStreamWriteValue32_v2"),
    ("write", "cuStreamWriteValue64_v2"),
    ("copy", "cuMemcpyAsync"),
    ("fill", "cuMemsetD8Async"),
    ("host", "cuLaunchHostFunc"),
    ("event", "cuEventRecord"),
    ("event", "cuStreamWaitEvent"),
];

/// What an operation puts into a stream, and all calls beside that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Taken {
    work: BTreeMap<&'static str, u64>,
    beside: u64,
}

fn taken(pe: &Pe, stream: StreamHandle, op: &StreamOp) -> Taken {
    fail("");
    pe.op(stream, op.clone());
    let mut work = BTreeMap::new();
    for (kind, name) in WORK {
        let found = calls(name);
        if found > 0 {
            *work.entry(kind).or_insert(0) += found;
        }
    }
    let beside = calls("*") - work.values().sum::<u64>();
    Taken { work, beside }
}

/// Calls of the driver beside those that do the work: is the context current, is the stream one of it, is it captured;
/// and for each call that puts something into the stream, is the context current.
fn beside(work: u64) -> u64 {
    3 + work
}

fn check(pe: &Pe, what: &str, op: &StreamOp, expected: &[(&'static str, u64)]) {
    let stream = pe.stream();
    let work: BTreeMap<_, _> = expected.iter().copied().collect();
    let calls = work.values().sum();
    let expected = Taken { work, beside: beside(calls) };
    // A thread of the library's that looks for waits makes calls, too, four times a second: all PEs make the operation so
    // often that it is alone with most of them.
    let found: Vec<Taken> = (0..20)
        .map(|_| {
            let found = taken(pe, stream, op);
            pe.sync(stream);
            std::thread::sleep(Duration::from_millis(3));
            found
        })
        .collect();
    let least = found.iter().min_by_key(|taken| taken.beside + taken.work.values().sum::<u64>());
    assert_eq!(least, Some(&expected), "PE {} of {}: {what}", pe.me, pe.n);
    pe.barrier();
}

/// Calls that PEs make together, of some bytes.
fn collectives(pe: &Pe, at: usize, bytes: usize) -> Vec<(&'static str, StreamOp)> {
    let team = || pe.world_team();
    let (dest, source) = (at as *mut u8, (at + (64 << 10)) as *mut u8);
    vec![
        ("barrier_all", StreamOp::BarrierAll),
        ("barrier", StreamOp::Barrier { team: team() }),
        ("sync_all", StreamOp::SyncAll),
        ("reduce", StreamOp::Reduce { team: team(), dest, source, n: bytes / 4, reducer: sum() }),
        (
            "reducescatter",
            StreamOp::ReduceScatter { team: team(), dest, source, n: bytes / 4, reducer: sum() },
        ),
        ("broadcast", StreamOp::Broadcast { team: team(), dest, source, bytes, root: 1 }),
        ("fcollect", StreamOp::Fcollect { team: team(), dest, source, bytes }),
        ("alltoall", StreamOp::Alltoall { team: team(), dest, source, bytes }),
    ]
}

/// Calls of one PE. A put of few bytes is a kernel where PEs don't take turns.
fn own(pe: &Pe, at: usize, mode: Mode) {
    let (dest, source, next) = (at as *mut u8, (at + 4096) as *mut u8, ((pe.me + 1) % pe.n) as i32);
    let put = |bytes| StreamOp::Put { dest, source, bytes, pe: next };
    let copy = [("copy", 1)];
    check(pe, "put of 8 bytes", &put(8), if mode == Mode::Turns { &copy } else { &[("kernel", 1)] });
    check(pe, "put of 64 KiB", &put(64 << 10), &copy);
    let p = |bytes| StreamOp::P { dest, value: [1; 16], bytes, pe: next };
    // A write has a fence, so a value is copied where that takes no turn.
    let value = if mode == Mode::Turns { [("write", 1)] } else { copy };
    check(pe, "p of 4 bytes", &p(4), &value);
    check(pe, "p of 8 bytes", &p(8), &value);
    check(pe, "p of 2 words", &p(16), &[("batch", 1)]);
    let sig = at as *mut u64;
    check(pe, "signal", &StreamOp::SignalOp { sig, value: 1, op: SignalOp::Set, pe: next }, &[("write", 1)]);
    let add = StreamOp::SignalOp { sig, value: 1, op: SignalOp::Add, pe: next };
    check(pe, "signal, added", &add, &[("kernel", 1)]);
    pe.write(at + 512, &[1; 8]);
    let word = (at + 512) as *mut u8;
    let wait = |cmp, value| StreamOp::WaitUntil { ivar: word, cmp, value };
    check(pe, "wait for any", &wait(Cmp::Ne, Word::U64(0)), &[("batch", 1)]);
    let least = wait(Cmp::Ge, Word::U64(1 << 20));
    // The kernel has to wait only where the CPU can't look.
    let turns = [("host", 1), ("batch", 1), ("kernel", 1)];
    let expected: &[_] = if mode == Mode::Turns { &turns } else { &[("kernel", 1)] };
    check(pe, "wait for at least", &least, expected);
    check(pe, "quiet", &StreamOp::Quiet, &[]);
}

fn all(pe: &Pe, mode: Mode, meeting: &[(&'static str, u64)], collective: &[(&'static str, u64)]) {
    counted(pe, |at| {
        for bytes in [4, 1024] {
            for (what, op) in collectives(pe, at, bytes) {
                let meets = what.contains("barrier") || what.contains("sync");
                check(pe, what, &op, if meets { meeting } else { collective });
            }
        }
        own(pe, at, mode);
    });
}

/// Has calls counted, where that is possible: as in a program that uses the runtime API, with memory for their arguments.
fn counted(pe: &Pe, calls: impl FnOnce(usize)) {
    if !has_counters() {
        return;
    }
    let at = pe.alloc(256 << 10);
    pe.barrier();
    // As in a program that uses the runtime API.
    let gpu = dushmem_cuda::device::of(&pe.world).unwrap();
    let _entered = gpu.context().enter().unwrap();
    calls(at);
}

/// A collective is one kernel, a meeting of two one batch.
pub fn concurrent(pe: &Pe) {
    let kernel = [("kernel", 1)];
    all(pe, Mode::Concurrent, if pe.n == 2 { &[("batch", 1)] } else { &kernel }, &kernel);
}

/// Who takes turns meets before and behind the work, which the first member does: the others' two meetings are one batch.
pub fn in_turns(pe: &Pe) {
    counted(pe, |at| {
        for (what, op) in collectives(pe, at, 1024) {
            let work = match what {
                _ if pe.me != 0 => [("batch", 1)].to_vec(),
                "reduce" => [("batch", 2), ("kernel", 1)].to_vec(),
                "reducescatter" => [("batch", 2), ("kernel", pe.n as u64)].to_vec(),
                "broadcast" => [("batch", 2), ("kernel", 1)].to_vec(),
                "fcollect" => [("batch", 2), ("kernel", pe.n as u64)].to_vec(),
                "alltoall" => [("batch", 2), ("copy", (pe.n * pe.n) as u64)].to_vec(),
                _ => [("batch", 1)].to_vec(),
            };
            check(pe, what, &op, &work);
        }
        own(pe, at, Mode::Turns);
    });
}

//! What is wrong with a call is said before anything is in the stream.
use crate::common::{calls, fail, has_counters};
use crate::pe::{Pe, sum};
use dushmem_core::coll::reduce::Reducer;
use dushmem_core::device::{StreamOp, Word};
use dushmem_core::signal::SignalOp;
use dushmem_core::until::Cmp;
use dushmem_cuda::context::Context;
use dushmem_cuda::types;

/// Calls that put work into streams.
fn work() -> u64 {
    if !has_counters() {
        return 0;
    }
    let all = [
        "cuMemcpyAsync",
        "cuMemcpy2DAsync_v2",
        "cuLaunchKernel",
        "cuStreamBatchMemOp_v2",
        "cuLaunchHostFunc",
    ];
    let more = ["cuStreamWriteValue32_v2", "cuStreamWriteValue64_v2", "cuMemsetD8Async", "cuMemsetD16Async"];
    all.iter().chain(&more).map(|name| calls(name)).sum()
}

pub fn arguments(pe: &Pe) {
    let (at, stream) = (pe.alloc(4096), pe.stream());
    pe.barrier();
    let host = [0u64; 64];
    let end = {
        let (heap, len) = pe.world.device_heap().unwrap().heap();
        heap + len
    };
    let outside = host.as_ptr() as usize;
    let ptr = |at: usize| at as *mut u8;
    let sig = |at: usize| at as *mut u64;
    let team = || pe.world_team();
    let (next, n) = (((pe.me + 1) % pe.n) as i32, pe.n as i32);
    let put = |dest: usize, source: usize, bytes: usize, pe: i32| StreamOp::Put {
        dest: ptr(dest),
        source: ptr(source),
        bytes,
        pe,
    };
    let signal = |at: usize| StreamOp::PutSignal {
        dest: ptr(at),
        source: ptr(at),
        bytes: 8,
        sig: sig(at + 4),
        value: 1,
        op: SignalOp::Set,
        pe: next,
    };
    let reduce = |dest: usize, source: usize, n: usize, reducer: Reducer| StreamOp::Reduce {
        team: team(),
        dest: ptr(dest),
        source: ptr(source),
        n,
        reducer,
    };
    let long_double = Reducer { kind: None, ..sum() };
    let wait = |at: usize, value: Word| StreamOp::WaitUntil { ivar: ptr(at), cmp: Cmp::Ge, value };
    let iput = |dst: isize, nelems: usize| StreamOp::Iput {
        dest: ptr(at),
        source: ptr(at),
        dst,
        sst: 1,
        elem: 4,
        nelems,
        pe: next,
    };
    let fcollect = |dest: usize, bytes: usize| StreamOp::Fcollect {
        team: team(),
        dest: ptr(dest),
        source: ptr(at),
        bytes,
    };
    let broadcast =
        |root: i32| StreamOp::Broadcast { team: team(), dest: ptr(at), source: ptr(at), bytes: 4, root };
    let cases: Vec<(StreamOp, &[&str])> = vec![
        (put(at, at, 8, n), &["pe = ", "no such PE"]),
        (put(at, at, 0, -1), &["pe = -1"]),
        (put(outside, at, 8, next), &["dest = 0x", "not in symmetric memory"]),
        (put(at, 0, 8, next), &["source is NULL"]),
        (put(0, at, 8, next), &["dest is NULL"]),
        (
            put(end - 4, at, 8, next),
            &["dest = ", "starts in the heap of the device and goes 4 bytes past the end"],
        ),
        (put(at, at, usize::MAX - 7, next), &["negative"]),
        (
            StreamOp::P { dest: ptr(0), value: [0; 16], bytes: 4, pe: next },
            &["dest is NULL", "needs the address"],
        ),
        (signal(at), &["sig_addr = ", "not aligned to 8"]),
        (iput(0, 2), &["dst = 0", "at least 1"]),
        (iput(1, usize::MAX / 2), &["nelems"]),
        (wait(at + 2, Word::I32(1)), &["ivar = ", "not aligned to 4"]),
        (wait(outside, Word::U64(1)), &["ivar = ", "not in symmetric memory"]),
        (reduce(at, at + 4, 8, sum()), &["source = ", "overlaps dest"]),
        (reduce(at + 1, at + 64, 4, sum()), &["dest = ", "not aligned to 4"]),
        (reduce(at, at, usize::MAX / 2, sum()), &["nreduce"]),
        (reduce(at, at, 4, long_double), &["long double", "host"]),
        (fcollect(at, 8), &["source = ", "overlaps dest", "separate buffers"]),
        (fcollect(at, usize::MAX / 3), &["nelems"]),
        (broadcast(n), &["PE_root = ", "the team has PEs 0 to"]),
    ];
    let before = work();
    for (op, said) in cases {
        let shown = format!("{op:?}");
        let error = pe.try_op(stream, op).expect_err(&shown).to_string();
        for part in said {
            assert!(error.contains(part), "{shown}: {error}: no {part:?}");
        }
    }
    assert_eq!(work(), before, "nothing is in a stream after an error");
    // Another stream of a team that was destroyed.
    let pair = pe.team(&(0..n).collect::<Vec<_>>()).unwrap();
    pe.world.team_destroy(pair.handle()).unwrap();
    let error = pe.try_op(stream, StreamOp::Sync { team: pair }).unwrap_err().to_string();
    assert!(error.contains("destroyed"), "{error}");
    pe.op(stream, StreamOp::BarrierAll);
    pe.sync(stream);
}

pub fn captures(pe: &Pe) {
    use dushmem_core::device::Device;
    let (at, stream) = (pe.alloc(4096), pe.stream());
    pe.write(at, &[0; 4096]);
    pe.barrier();
    let host = [1u8; 64];
    let next = ((pe.me + 1) % pe.n) as i32;
    let graph = pe.capture(stream, || {
        let from_host =
            StreamOp::Put { dest: at as *mut u8, source: host.as_ptr().cast_mut(), bytes: 64, pe: next };
        let error = pe.try_op(stream, from_host).unwrap_err().to_string();
        assert!(error.contains("source = 0x") && error.contains("cudaMallocHost"), "{error}");
        let error = dushmem_cuda::Cuda.synchronize(stream).unwrap_err().to_string();
        assert!(error.contains("stream = 0x") && error.contains("is being captured"), "{error}");
        // Neither has harmed the capture; the host works on beside it, and allocates.
        let more = pe.alloc(3 << 20);
        pe.write(more, &[7; 100]);
        pe.barrier();
        let mut value = [0; 16];
        value[0] = 9;
        pe.op(stream, StreamOp::P { dest: (at + 8) as *mut u8, value, bytes: 8, pe: next });
        pe.op(stream, StreamOp::BarrierAll);
    });
    for _ in 0..3 {
        pe.write(at, &[0; 64]);
        pe.barrier();
        pe.launch(&graph, stream);
        pe.sync(stream);
        assert_eq!(pe.read_u64(at + 8), 9);
        pe.barrier();
    }
}

/// A capture is no place for the first call that needs the device.
pub fn first_call(pe: &Pe) {
    assert!(pe.world.awaits_device());
    let context = Context::primary(pe.driver, 1).unwrap();
    let entered = context.enter().unwrap();
    let stream = pe.stream_here();
    let handle = types::Stream(stream.0 as *mut _);
    let (mut graph, mut word) = (types::Graph::NULL, 0u64);
    let put = StreamOp::Put { dest: (&raw mut word).cast(), source: (&raw mut word).cast(), bytes: 8, pe: 0 };
    let error = pe.try_op(stream, put).unwrap_err().to_string();
    assert!(error.contains("no GPU is bound") && error.contains("allocate symmetric memory"), "{error}");
    // SAFETY: an own stream, and a place for a handle.
    unsafe {
        pe.driver.stream_begin_capture(handle, types::CAPTURE_MODE_GLOBAL).unwrap();
        let error = pe.try_op(stream, StreamOp::BarrierAll).unwrap_err().to_string();
        assert!(error.contains("is being captured") && error.contains("before it"), "{error}");
        pe.driver.stream_end_capture(handle, &raw mut graph).unwrap();
    }
    // Outside of it the call binds what the program has chosen.
    pe.op(stream, StreamOp::SyncAll);
    pe.sync(stream);
    assert_eq!(dushmem_cuda::device::of(&pe.world).unwrap().context().device(), 1);
    drop(entered);
}

/// A meeting that the driver has refused did not take place: the next one is as if it had not been tried.
pub fn refused(pe: &Pe) {
    if !has_counters() {
        return;
    }
    let stream = pe.stream();
    for which in [0, 1] {
        if pe.me == which {
            fail("cuStreamBatchMemOp_v2:1+=1");
            let error = pe.try_op(stream, StreamOp::SyncAll).unwrap_err().to_string();
            assert!(error.contains("stream = 0x") && error.contains("CUDA_ERROR_INVALID_VALUE"), "{error}");
            fail("");
        }
        pe.op(stream, StreamOp::SyncAll);
        pe.op(stream, StreamOp::SyncAll);
        pe.sync(stream);
    }
}

pub fn all(pe: &Pe) {
    arguments(pe);
    captures(pe);
}

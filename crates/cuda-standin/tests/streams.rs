//! Streams, events, captures, graphs.
mod common;
use common::*;
use std::time::{Duration, Instant};

#[test]
fn a_wait_blocks_its_stream_only() {
    start();
    let (flag, a, b) = (device_memory(64), stream(), stream());
    write(flag, &[0, 0]);
    ok(cuStreamWaitValue64_v2(a, flag, 5, 0));
    ok(cuStreamWriteValue64_v2(a, flag + 8, 1, 0));
    assert_eq!(cuStreamQuery(a), 600);
    ok(cuStreamWriteValue64_v2(b, flag, 4, 0));
    ok(cuStreamSynchronize(b));
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!((cuStreamQuery(a), read(flag, 2)), (600, vec![4, 0]));
    ok(cuStreamWriteValue64_v2(b, flag, 6, 0));
    ok(cuStreamSynchronize(a));
    assert_eq!(read(flag, 2), [6, 1]);
    // Above by wrapping around; the low half only.
    write(flag, &[u64::MAX]);
    ok(cuStreamWaitValue64_v2(a, flag, 5, 0));
    ok(cuStreamWriteValue64_v2(b, flag, 5, 0));
    ok(cuStreamWaitValue32_v2(a, flag + 4, 0, 1));
    ok(cuStreamSynchronize(a));
    for (at, flags) in [(flag + 4, 0), (flag, 4), (flag, 1 << 31)] {
        assert_eq!(cuStreamWaitValue64_v2(a, at, 0, flags), 1);
    }
    assert_eq!(cuStreamWriteValue64_v2(a, flag, 0, 1), 1, "as on the devices tried");
    assert_eq!(cuStreamWaitValue64_v2(a, flag, 0, 1 << 30), 801);
}

/// As the driver's documentation says it, whether the memory is pinned or not.
#[test]
fn copies_within_the_hosts_memory_are_over_when_the_call_returns() {
    start();
    let (flag, own) = (device_memory(64), stream());
    let pinned: usize = made(|at| cuMemHostAlloc(at, 64, 3));
    let mut pageable = [7u64, 0];
    let pageable = pageable.as_mut_ptr() as usize;
    for (place, at) in [pinned, pageable].into_iter().enumerate() {
        let word = |i: usize| (at + 8 * i) as *mut u64;
        // SAFETY: two words of this test's, which nothing under way uses.
        unsafe { (word(0).write_volatile(7), word(1).write_volatile(0)) };
        write(flag, &[0]);
        ok(cuStreamWaitValue64_v2(own, flag, 1, 1));
        let copying = std::thread::spawn(move || {
            start();
            cuMemcpyAsync(at + 8, at, 8, own)
        });
        std::thread::sleep(Duration::from_millis(20));
        assert!(!copying.is_finished(), "place {place}: the call waits for what is in front of the copy");
        write(flag, &[1]);
        ok(copying.join().unwrap());
        // SAFETY: as above.
        assert_eq!(unsafe { word(1).read_volatile() }, 7);
    }
}

#[test]
fn events_order_streams() {
    start();
    let (flag, a, b) = (device_memory(64), stream(), stream());
    write(flag, &[0, 0]);
    let event = made(|at| cuEventCreate(at, 2));
    ok(cuEventQuery(event));
    ok(cuStreamWaitValue64_v2(a, flag, 1, 1));
    ok(cuEventRecord(event, a));
    ok(cuStreamWaitEvent(b, event, 0));
    ok(cuStreamWriteValue64_v2(b, flag + 8, 3, 0));
    assert_eq!((cuEventQuery(event), cuStreamQuery(b)), (600, 600));
    write(flag, &[1]);
    ok(cuEventSynchronize(event));
    ok(cuStreamSynchronize(b));
    assert_eq!(read(flag + 8, 1), [3]);
}

#[test]
fn the_legacy_stream_waits_for_blocking_streams_and_they_for_it() {
    start();
    let (flag, own) = (device_memory(64), stream());
    let blocking = made(|at| cuStreamCreateWithPriority(at, 0, 0));
    write(flag, &[0, 0, 0]);
    ok(cuStreamWaitValue64_v2(blocking, flag, 1, 1));
    ok(cuStreamWriteValue64_v2(0, flag + 8, 2, 0));
    ok(cuStreamWriteValue64_v2(blocking, flag + 16, 3, 0));
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!((read(flag, 3), cuStreamQuery(0)), (vec![0, 0, 0], 600));
    ok(cuStreamWriteValue64_v2(own, flag, 1, 0));
    ok(cuStreamSynchronize(0));
    ok(cuStreamSynchronize(blocking));
    assert_eq!(read(flag, 3), [1, 2, 3]);
}

#[test]
fn captured_work_runs_when_the_graph_is_launched_and_again() {
    start();
    let (at, a, b) = (device_memory(64), stream(), stream());
    write(at, &[7, 0, 0, 0]);
    let fork: usize = made(|at| cuEventCreate(at, 2));
    let join: usize = made(|at| cuEventCreate(at, 2));
    ok(cuStreamBeginCapture_v2(a, 1));
    ok(cuMemcpyAsync(at + 8, at, 8, a));
    ok(cuEventRecord(fork, a));
    ok(cuStreamWaitEvent(b, fork, 0));
    assert_eq!(made(|at| cuStreamIsCapturing(b, at)), 1);
    // Branches run at the same time: this wait ends by what the other branch stores.
    ok(cuStreamWaitValue64_v2(a, at + 16, 9, 1));
    ok(cuStreamWriteValue64_v2(b, at + 16, 9, 0));
    ok(cuEventRecord(join, b));
    ok(cuStreamWaitEvent(a, join, 0));
    ok(cuMemcpyAsync(at + 24, at + 16, 8, a));
    let graph = made(|at| cuStreamEndCapture(a, at));
    assert_eq!(read(at, 4), [7, 0, 0, 0], "nothing has run");
    assert_eq!(cuEventQuery(join), 907);
    let exec = made(|at| cuGraphInstantiateWithFlags(at, graph, 0));
    for round in 1..4 {
        write(at, &[round, 0, 0, 0]);
        ok(cuGraphLaunch(exec, b));
        ok(cuStreamSynchronize(b));
        assert_eq!(read(at, 4), [round, round, 9, 9]);
    }
}

/// Begins a capture at a new stream, does something, and ends it.
#[track_caller]
fn spoilt(mode: u32, spoil: impl FnOnce(usize), code: u32) {
    let own = stream();
    ok(cuStreamBeginCapture_v2(own, mode));
    spoil(own);
    let mut graph = 1;
    assert_eq!((cuStreamEndCapture(own, &mut graph), graph), (code, 0));
    ok(cuStreamQuery(own));
}

#[test]
fn what_a_capture_forbids() {
    start();
    let (at, other) = (device_memory(64), stream());
    let event: usize = made(|at| cuEventCreate(at, 2));
    spoilt(0, |own| assert_eq!(cuStreamSynchronize(own), 900), 901);
    spoilt(0, |_| assert_eq!(cuMemAlloc_v2(&mut 0, 1), 900), 901);
    let threads = |mode, expected| {
        let context = start();
        std::thread::scope(|scope| {
            let work = || {
                ok(cuCtxSetCurrent(context));
                assert_eq!(cuMemAlloc_v2(&mut 0, 1), expected, "{mode}");
            };
            scope.spawn(work);
        });
    };
    spoilt(0, |_| threads(0, 900), 901);
    let harmless = |own| ok(cuMemsetD8Async(at, 0, 8, own));
    for mode in [1, 2] {
        let own = stream();
        ok(cuStreamBeginCapture_v2(own, mode));
        harmless(own);
        threads(mode, 0);
        ok(cuStreamEndCapture(own, &mut 0));
    }
    // A thread that is relaxed about captures may allocate during one.
    let own = stream();
    ok(cuStreamBeginCapture_v2(own, 0));
    let mut mode = 2;
    ok(cuThreadExchangeStreamCaptureMode(&mut mode));
    assert_eq!(mode, 0);
    device_memory(1);
    ok(cuThreadExchangeStreamCaptureMode(&mut mode));
    ok(cuStreamEndCapture(own, &mut 0));

    ok(cuEventRecord(event, other));
    spoilt(0, |own| assert_eq!(cuStreamWaitEvent(own, event, 0), 905), 901);
    let forked = |own| {
        harmless(own);
        ok(cuEventRecord(event, own));
        ok(cuStreamWaitEvent(other, event, 0));
        harmless(other);
    };
    spoilt(0, forked, 904);
    let blocking: usize = made(|at| cuStreamCreateWithPriority(at, 0, 0));
    ok(cuStreamBeginCapture_v2(blocking, 0));
    assert_eq!(cuMemsetD8Async(at, 0, 8, 0), 906);
    assert_eq!(cuStreamEndCapture(blocking, &mut 0), 901);
    assert_eq!(cuStreamBeginCapture_v2(0, 0), 900);
    assert_eq!(cuStreamEndCapture(other, &mut 0), 401);
}

#[test]
fn pageable_memory_is_taken_at_once_and_waited_for() {
    start();
    let (at, own) = (device_memory(64), stream());
    write(at, &[0, 0]);
    ok(cuStreamWaitValue64_v2(own, at, 1, 1));
    let mut word = 5u64;
    ok(cuMemcpyAsync(at + 8, &raw const word as usize, 8, own));
    word += 1;
    std::thread::scope(|scope| {
        let context = start();
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(30));
            ok(cuCtxSetCurrent(context));
            write(at, &[1]);
        });
        let (begin, mut back) = (Instant::now(), 0u64);
        ok(cuMemcpyAsync(&raw mut back as usize, at + 8, 8, own));
        assert!(begin.elapsed() >= Duration::from_millis(25), "{:?}", begin.elapsed());
        assert_eq!((back, word), (5, 6));
    });
}

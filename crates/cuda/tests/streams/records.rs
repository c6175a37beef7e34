//! A stream that waits can be seen by the launcher: who waits for whom, in which call, since when.
use crate::pe::{Mode, Pe, sum};
use dushmem_core::device::{StreamHandle, StreamOp, Word};
use dushmem_core::error::Call;
use dushmem_core::job::{IN_STREAM, WaitRecord};
use dushmem_core::until::Cmp;
use std::time::{Duration, Instant};

/// Longer than the thread that looks takes on any machine.
const LONG: Duration = Duration::from_secs(30);

/// What a stream of this PE waits for, as the launcher would read it, and for how long.
fn shown(pe: &Pe) -> Option<(WaitRecord, Duration)> {
    let boot = pe.world.boot();
    let slots = boot.node_memory().1.card(boot.place().0).waits();
    let waits = slots.iter().filter_map(|slot| slot.read());
    let (record, since) = waits.into_iter().find(|(record, _)| record.in_stream())?;
    let now = dushmem_os::clock::monotonic_ns();
    Some((record, Duration::from_nanos(now.saturating_sub(since))))
}

#[track_caller]
fn until_shown(pe: &Pe, wanted: impl Fn(Option<&WaitRecord>) -> bool) -> Option<(WaitRecord, Duration)> {
    let begun = Instant::now();
    loop {
        let found = shown(pe);
        if wanted(found.as_ref().map(|(record, _)| record)) {
            return found;
        }
        assert!(begun.elapsed() < LONG, "PE {} of {}: shown is {found:?}", pe.me, pe.n);
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// All but the last PE put something into their streams, and are seen to wait for the last one, which comes then.
fn late(pe: &Pe, stream: StreamHandle, call: Call, work: &dyn Fn()) {
    let last = pe.n - 1;
    if pe.me != last {
        work();
        let (record, _) = until_shown(pe, |record| record.is_some()).unwrap();
        assert_eq!((record.call, record.team), (call as u32 | IN_STREAM, 0), "PE {} of {}", pe.me, pe.n);
        // More than three meet in rounds: some wait for one that waits itself.
        match record.awaited {
            awaited if pe.n <= 3 => assert_eq!(awaited, last as i32),
            awaited => assert!((0..pe.n as i32).contains(&awaited) && awaited != pe.me as i32),
        }
        // It is the same wait all the time.
        std::thread::sleep(Duration::from_millis(1200));
        let (again, time) = shown(pe).expect("it waits still");
        assert!(again == record && time >= Duration::from_millis(1000), "{again:?}, {time:?}");
    }
    pe.barrier();
    if pe.me == last {
        work();
    }
    pe.sync(stream);
    until_shown(pe, |record| record.is_none());
    pe.barrier();
}

fn all(pe: &Pe, mode: Mode) {
    let (at, stream, other) = (pe.alloc(4096), pe.stream(), pe.stream());
    pe.barrier();
    let (dest, source) = (at as *mut u8, (at + 1024) as *mut u8);
    // Many that are over leave nothing.
    (0..50).for_each(|_| pe.op(stream, StreamOp::BarrierAll));
    pe.sync(stream);
    pe.barrier();
    std::thread::sleep(Duration::from_millis(800));
    assert_eq!(shown(pe), None);
    late(pe, stream, Call::BarrierAll, &|| pe.op(stream, StreamOp::BarrierAll));
    late(pe, stream, Call::Reduce, &|| {
        let team = pe.world_team();
        pe.op(stream, StreamOp::Reduce { team, dest, source, n: 8, reducer: sum() });
    });
    // A graph that the last one launches less often than the others.
    let graph = pe.capture(stream, || pe.op(stream, StreamOp::SyncAll));
    for _ in 0..3 {
        pe.launch(&graph, stream);
        pe.sync(stream);
    }
    pe.barrier();
    if mode == Mode::Turns {
        late(pe, stream, Call::SyncAll, &|| pe.launch(&graph, stream));
    }
    // Words of the program: waited for by the stream, and by whoever looks for it.
    for (cmp, value, kept) in [(Cmp::Eq, 9, 3), (Cmp::Ge, 9, 5)] {
        pe.write(at, &u64::to_le_bytes(kept));
        pe.op(stream, StreamOp::WaitUntil { ivar: dest, cmp, value: Word::U64(value) });
        let (record, _) = until_shown(pe, |record| record.is_some()).unwrap();
        assert_eq!(
            record,
            WaitRecord {
                call: Call::WaitUntil as u32 | IN_STREAM,
                team: -1,
                awaited: -1,
                address: at as u64,
                detail: kept,
                ..WaitRecord::default()
            }
        );
        let mut bytes = [0; 16];
        bytes[0] = 9;
        pe.op(other, StreamOp::P { dest, value: bytes, bytes: 8, pe: pe.me as i32 });
        pe.sync(other);
        pe.sync(stream);
        until_shown(pe, |record| record.is_none());
    }
    pe.barrier();
}

pub fn in_turns(pe: &Pe) {
    all(pe, Mode::Turns);
}

pub fn together(pe: &Pe) {
    all(pe, Mode::Concurrent);
}

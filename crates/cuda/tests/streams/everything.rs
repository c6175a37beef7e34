//! What each kind of operation does, in a stream and in a graph that is launched several times.
use crate::pe::{Pe, sum};
use dushmem_core::coll::reduce::{ReduceNum, ReduceOp};
use dushmem_core::device::{StreamOp, Word, Words};
use dushmem_core::signal::SignalOp;
use dushmem_core::team::Team;
use dushmem_core::until::Cmp;
use std::sync::Arc;

/// Puts to the next PE and waits for all, again and again, without a look from the host in between.
pub fn barriers(pe: &Pe) {
    let rounds = 30;
    let (cell, seen) = (pe.alloc(8), pe.alloc(4 * rounds));
    let (stream, other) = (pe.stream(), pe.stream());
    let next = ((pe.me + 1) % pe.n) as i32;
    pe.barrier();
    for round in 0..rounds {
        let mut value = [0; 16];
        value[..4].copy_from_slice(&(1000 * round as u32 + pe.me as u32).to_le_bytes());
        pe.op(stream, StreamOp::P { dest: cell as *mut u8, value, bytes: 4, pe: next });
        let wait =
            if round % 2 == 0 { StreamOp::BarrierAll } else { StreamOp::Barrier { team: pe.world_team() } };
        pe.op(stream, wait);
        let (dest, source) = ((seen + 4 * round) as *mut u8, cell as *mut u8);
        pe.op(stream, StreamOp::Get { dest, source, bytes: 4, pe: pe.me as i32 });
        let wait = if round % 3 == 0 { StreamOp::SyncAll } else { StreamOp::Sync { team: pe.world_team() } };
        pe.op(stream, wait);
    }
    pe.sync(stream);
    let from = (pe.me + pe.n - 1) % pe.n;
    let expected: Vec<u32> = (0..rounds).map(|round| (1000 * round + from) as u32).collect();
    assert_eq!(pe.read_words(seen, rounds), expected);
    // Another stream goes on with the same team.
    pe.op(other, StreamOp::BarrierAll);
    pe.sync(other);
}

/// A series of everything that meets, captured once and launched in turn with the same series put in directly.
pub fn graphs(pe: &Pe) {
    let (n, len) = (pe.n, 300);
    let (source, total, all) = (pe.alloc(4 * len), pe.alloc(4 * len), pe.alloc(4 * len * n));
    let (count, flag) = (pe.alloc(8), pe.alloc(8));
    let stream = pe.stream();
    pe.write_words(source, &(0..len as u32).map(|i| i + pe.me as u32).collect::<Vec<_>>());
    pe.write(count, &[0; 8]);
    pe.write(flag, &[0; 8]);
    pe.barrier();
    let (me, next) = (pe.me as i32, ((pe.me + 1) % n) as i32);
    let series = || {
        let team = pe.world_team();
        let ops = [
            StreamOp::SignalOp { sig: count as *mut u64, value: 1, op: SignalOp::Add, pe: next },
            StreamOp::BarrierAll,
            StreamOp::Reduce {
                team: Arc::clone(&team),
                dest: total as *mut u8,
                source: source as *mut u8,
                n: len,
                reducer: sum(),
            },
            StreamOp::Fcollect {
                team: Arc::clone(&team),
                dest: all as *mut u8,
                source: total as *mut u8,
                bytes: 4 * len,
            },
            // The put must not arrive before a third member's block.
            StreamOp::Sync { team: Arc::clone(&team) },
            StreamOp::PutSignal {
                dest: all as *mut u8,
                source: source as *mut u8,
                bytes: 4,
                sig: flag as *mut u64,
                value: 7,
                op: SignalOp::Set,
                pe: next,
            },
            StreamOp::SignalWaitUntil { sig: flag as *mut u64, cmp: Cmp::Eq, value: 7 },
            StreamOp::SignalOp { sig: flag as *mut u64, value: 0, op: SignalOp::Set, pe: me },
            StreamOp::Sync { team: Arc::clone(&team) },
            // The next round adds to what this one has computed.
            StreamOp::Put { dest: source as *mut u8, source: total as *mut u8, bytes: 4, pe: me },
            StreamOp::Barrier { team },
        ];
        ops.into_iter().for_each(|op| pe.op(stream, op));
    };
    let graph = pe.capture(stream, series);
    let rounds = 7;
    let mut first = (0..n as u32).collect::<Vec<_>>();
    for round in 0..rounds {
        if round % 3 == 1 {
            series()
        } else {
            pe.launch(&graph, stream)
        }
        let sum: u32 = first.iter().fold(0, |a, &b| a.wrapping_add(b));
        if round % 2 == 0 {
            pe.sync(stream);
            let rest = |i: usize| (n * i + n * (n - 1) / 2) as u32;
            let expected: Vec<u32> = (0..len).map(|i| if i == 0 { sum } else { rest(i) }).collect();
            assert_eq!(pe.read_words(total, len), expected, "round {round}");
            let found = pe.read_words(all, n * len);
            assert_eq!(found[1..len], expected[1..]);
            assert_eq!(found[len..], expected.repeat(n - 1)[..]);
            // From the previous PE's source, which it had before.
            assert_eq!(found[0], first[(pe.me + n - 1) % n], "round {round}");
        }
        first = vec![sum; n];
    }
    pe.sync(stream);
    assert_eq!((pe.read_u64(count), pe.read_u64(flag)), (rounds, 0));
}

/// Streams that are used in turn, ordered by events alone; the same captured, with a stream that forks off and joins.
pub fn in_turn(pe: &Pe) {
    let rounds = 6;
    let (cell, seen) = (pe.alloc(8), pe.alloc(4 * rounds));
    let streams = [pe.stream(), pe.stream(), pe.stream()];
    let next = ((pe.me + 1) % pe.n) as i32;
    pe.write(cell, &[0; 8]);
    pe.barrier();
    let values = |base: u32| {
        for round in 0..rounds {
            let (stream, after) = (streams[round % 3], streams[(round + 1) % 3]);
            let mut value = [0; 16];
            value[..4].copy_from_slice(&(base + 10 * round as u32 + pe.me as u32).to_le_bytes());
            pe.op(stream, StreamOp::P { dest: cell as *mut u8, value, bytes: 4, pe: next });
            pe.op(stream, StreamOp::BarrierAll);
            pe.follow(after, stream);
            let (dest, source) = ((seen + 4 * round) as *mut u8, cell as *mut u8);
            pe.op(after, StreamOp::Get { dest, source, bytes: 4, pe: pe.me as i32 });
            pe.op(after, StreamOp::SyncAll);
            // The next round begins in that stream.
        }
    };
    let from = (pe.me + pe.n - 1) % pe.n;
    let check = |base: usize| {
        let expected: Vec<u32> = (0..rounds).map(|round| (base + 10 * round + from) as u32).collect();
        assert_eq!(pe.read_words(seen, rounds), expected);
    };
    values(100);
    streams.iter().for_each(|&stream| pe.sync(stream));
    check(100);
    let graph = pe.capture(streams[0], || {
        values(1000);
        // Back to where the capture began, which is where the last round ended.
        assert_eq!(rounds % 3, 0);
    });
    for _ in 0..3 {
        pe.write(seen, &vec![0; 4 * rounds]);
        pe.launch(&graph, streams[1]);
        pe.sync(streams[1]);
        check(1000);
        values(100);
        streams.iter().for_each(|&stream| pe.sync(stream));
        check(100);
    }
}

/// Teams meet independently: in streams of their own, put in in another order by each PE, and by threads of it.
pub fn independent(pe: &Pe) {
    let n = pe.n as i32;
    let (first, second) =
        (pe.team(&(0..n).collect::<Vec<_>>()).unwrap(), pe.team(&(0..n).rev().collect::<Vec<_>>()).unwrap());
    let streams = [pe.stream(), pe.stream()];
    let len = 50;
    let places: Vec<_> = (0..2).map(|_| (pe.alloc(4 * len), pe.alloc(4 * len))).collect();
    pe.barrier();
    let one = |which: usize| {
        let team = || Arc::clone([&first, &second][which]);
        let ((source, dest), stream) = (places[which], streams[which]);
        pe.write_words(source, &vec![1 + which as u32; len]);
        for _ in 0..5 {
            let (dest, source) = (dest as *mut u8, source as *mut u8);
            pe.op(stream, StreamOp::Barrier { team: team() });
            pe.op(stream, StreamOp::Reduce { team: team(), dest, source, n: len, reducer: sum() });
            pe.op(
                stream,
                StreamOp::Reduce { team: team(), dest: source, source: dest, n: len, reducer: sum() },
            );
        }
    };
    if pe.me.is_multiple_of(2) {
        (one(0), one(1))
    } else {
        (one(1), one(0))
    };
    streams.iter().for_each(|&stream| pe.sync(stream));
    std::thread::scope(|scope| {
        let (one, pe) = (&one, &pe);
        for which in [0, 1] {
            scope.spawn(move || {
                one(which);
                pe.sync(streams[which]);
            });
        }
    });
    for (which, (place, _)) in places.iter().enumerate() {
        let expected = (1 + which as u32).wrapping_mul((pe.n as u32).wrapping_pow(10));
        assert_eq!(pe.read_words(*place, len), vec![expected; len]);
    }
    pe.barrier();
    pe.world.team_destroy(first.handle()).unwrap();
    pe.world.team_destroy(second.handle()).unwrap();
}

/// Values of every size at every alignment, blocks, strided blocks.
pub fn moves(pe: &Pe) {
    let at = pe.alloc(4096);
    let local = pe.alloc(4096);
    let stream = pe.stream();
    let next = ((pe.me + 1) % pe.n) as i32;
    pe.write(at, &[0; 4096]);
    pe.write(local, &(0..4096).map(|i| (i * 7 + pe.me * 13) as u8).collect::<Vec<_>>());
    pe.barrier();
    let mut expected = vec![0u8; 4096];
    let from = (pe.me + pe.n - 1) % pe.n;
    let mut to = 0;
    for size in [1, 2, 4, 8, 16] {
        for offset in [0, 1, 2, 4, 5] {
            let value =
                |pe: usize| std::array::from_fn::<u8, 16, _>(|i| (i * 16 + size + offset + 31 * pe) as u8);
            let dest = (at + to + offset) as *mut u8;
            pe.op(stream, StreamOp::P { dest, value: value(pe.me), bytes: size, pe: next });
            expected[to + offset..to + offset + size].copy_from_slice(&value(from)[..size]);
            to += 32;
        }
    }
    let block = |pe: usize, at: usize, n: usize| (at..at + n).map(move |i| (i * 7 + pe * 13) as u8);
    let put = StreamOp::PutNbi {
        dest: (at + 1001) as *mut u8,
        source: (local + 3) as *mut u8,
        bytes: 501,
        pe: next,
    };
    pe.op(stream, put);
    expected[1001..1502].copy_from_slice(&block(from, 3, 501).collect::<Vec<_>>());
    // From ordinary memory of the host.
    let host: Vec<u8> = (0..200).map(|i| (i + pe.me) as u8).collect();
    let put = StreamOp::Put {
        dest: (at + 1600) as *mut u8,
        source: host.as_ptr().cast_mut(),
        bytes: 200,
        pe: next,
    };
    pe.op(stream, put);
    expected[1600..1800].copy_from_slice(&(0..200).map(|i| (i + from) as u8).collect::<Vec<_>>());
    for (elem, dst, sst, place) in
        [(4, 3, 2, 2048), (8, 1, 5, 2400), (1, 2, 1, 2700), (16, 2, 1, 3000), (2, 1, 1, 3500)]
    {
        let (dest, source) = ((at + place) as *mut u8, local as *mut u8);
        pe.op(stream, StreamOp::Iput { dest, source, dst, sst, elem, nelems: 10, pe: next });
        for i in 0..10 {
            let to = place + i * dst as usize * elem;
            let bytes: Vec<u8> = block(from, i * sst as usize * elem, elem).collect();
            expected[to..to + elem].copy_from_slice(&bytes);
        }
    }
    let nothing =
        StreamOp::Put { dest: std::ptr::null_mut(), source: std::ptr::null_mut(), bytes: 0, pe: next };
    pe.op(stream, nothing);
    pe.op(stream, StreamOp::BarrierAll);
    pe.sync(stream);
    assert_eq!(pe.read(at, 4096), expected);
    // Gets, to the device and to the host.
    let mut found = vec![0u8; 100];
    let get =
        StreamOp::Get { dest: found.as_mut_ptr(), source: (local + 7) as *mut u8, bytes: 100, pe: next };
    pe.op(stream, get);
    let (dest, source) = (at as *mut u8, local as *mut u8);
    pe.op(stream, StreamOp::Iget { dest, source, dst: 2, sst: 3, elem: 4, nelems: 20, pe: next });
    let (dest, source) = ((at + 1000) as *mut u8, (local + 5) as *mut u8);
    pe.op(stream, StreamOp::GetNbi { dest, source, bytes: 99, pe: next });
    pe.op(stream, StreamOp::Quiet);
    pe.sync(stream);
    assert_eq!(found, block(next as usize, 7, 100).collect::<Vec<_>>());
    assert_eq!(pe.read(at + 1000, 99), block(next as usize, 5, 99).collect::<Vec<_>>());
    for i in 0..20 {
        assert_eq!(pe.read(at + 8 * i, 4), block(next as usize, 12 * i, 4).collect::<Vec<_>>());
    }
    pe.barrier();
}

/// Waits for words of all types, by streams, by kernels, or by the CPU, as the mode has it.
pub fn waits(pe: &Pe) {
    let cases: [(Word, Cmp, u64); 14] = [
        (Word::U64(5), Cmp::Eq, 5),
        (Word::U64(5), Cmp::Ge, u64::MAX),
        (Word::U64(0), Cmp::Ne, 9),
        (Word::U64(3), Cmp::Gt, 4),
        (Word::I64(-3), Cmp::Lt, -4i64 as u64),
        (Word::I64(0), Cmp::Ge, 1),
        (Word::I64(-7), Cmp::Ne, 1),
        (Word::I32(-1), Cmp::Gt, 0x7000_0000),
        (Word::I32(3), Cmp::Ge, 4),
        (Word::U32(0xffff_fff0), Cmp::Gt, 0xffff_fff1),
        (Word::U32(0), Cmp::Ne, 0x8000_0000),
        (Word::I16(-2), Cmp::Le, 0xff00),
        (Word::U16(7), Cmp::Ge, 0xffff),
        (Word::U64(u64::MAX - 1), Cmp::Le, 0),
    ];
    // What the words are before, which none of the waits is content with.
    let before: [u64; 14] =
        [0, 4, 0, 3, 0, u64::MAX, -7i64 as u64, 0xffff_fff0, 0x8000_0000, 0, 0, 0xffff, 6, u64::MAX];
    let (at, seen) = (pe.alloc(8 * cases.len()), pe.alloc(8 * cases.len()));
    let (stream, other) = (pe.stream(), pe.stream());
    let bytes: Vec<u8> = before.iter().flat_map(|word| word.to_le_bytes()).collect();
    let next = ((pe.me + 1) % pe.n) as i32;
    let wait = |i: usize| {
        let (value, cmp, _) = cases[i];
        let ivar = (at + 8 * i) as *mut u8;
        pe.op(stream, StreamOp::WaitUntil { ivar, cmp, value });
        // What the stream finds when it goes on.
        let dest = (seen + 8 * i) as *mut u8;
        pe.op(stream, StreamOp::Put { dest, source: ivar, bytes: 8, pe: pe.me as i32 });
    };
    let graph = pe.capture(stream, || (0..cases.len()).for_each(wait));
    for round in 0..3 {
        pe.write(at, &bytes);
        pe.barrier();
        match round {
            0 => (0..cases.len()).for_each(wait),
            _ => pe.launch(&graph, stream),
        }
        for (i, (_, _, word)) in cases.iter().enumerate().rev() {
            let mut value = [0; 16];
            value[..8].copy_from_slice(&word.to_le_bytes());
            pe.op(other, StreamOp::P { dest: (at + 8 * i) as *mut u8, value, bytes: 8, pe: next });
        }
        pe.sync(other);
        pe.sync(stream);
        let expected: Vec<u8> = cases.iter().flat_map(|(_, _, word)| word.to_le_bytes()).collect();
        assert_eq!(pe.read(seen, 8 * cases.len()), expected, "round {round}");
        pe.barrier();
    }
}

/// Waits for several words, some left out, each with its own value.
pub fn sets(pe: &Pe) {
    let n = 9;
    let (at, status, values) = (pe.alloc(4 * n), pe.alloc(4 * n), pe.alloc(4 * n));
    let (stream, other) = (pe.stream(), pe.stream());
    let left_out: Vec<u32> = (0..n as u32).map(|i| u32::from(i % 3 == 1)).collect();
    let wanted: Vec<u32> = (0..n as u32).map(|i| 5 + i).collect();
    pe.write_words(status, &left_out);
    pe.write_words(values, &wanted);
    let me = pe.me as i32;
    let each = Words::Each(values as *const u8, Word::I32(0));
    for (status, cmp, compared) in [
        (status, Cmp::Eq, each),
        (0, Cmp::Ge, each),
        (status, Cmp::Ge, Words::One(Word::I32(5))),
        (0, Cmp::Ne, Words::One(Word::U32(0))),
    ] {
        pe.write_words(at, &vec![0; n]);
        let (ivars, status) = (at as *mut u8, status as *const i32);
        let op = StreamOp::WaitUntilAll { ivars, len: n, status, cmp, values: compared };
        pe.op(stream, op);
        for i in (0..n).filter(|&i| status.is_null() || left_out[i] == 0) {
            assert!(!pe.is_idle(stream), "word {i} is still missing");
            let mut value = [0; 16];
            value[..4].copy_from_slice(&wanted[i].to_le_bytes());
            pe.op(other, StreamOp::P { dest: (at + 4 * i) as *mut u8, value, bytes: 4, pe: me });
            pe.sync(other);
        }
        pe.sync(stream);
    }
    let empty = StreamOp::WaitUntilAll {
        ivars: std::ptr::null_mut(),
        len: 0,
        status: std::ptr::null(),
        cmp: Cmp::Eq,
        values: Words::One(Word::U64(1)),
    };
    pe.op(stream, empty);
    pe.sync(stream);
    pe.barrier();
}

/// The arrays of such a wait where only the CPU reaches them: the call has read them when it is over, for a graph, too.
pub fn host_arrays(pe: &Pe) {
    let n = 6;
    let at = pe.alloc(4 * n);
    let (stream, other) = (pe.stream(), pe.stream());
    let put = |i: usize, word: u32| {
        let mut value = [0; 16];
        value[..4].copy_from_slice(&word.to_le_bytes());
        pe.op(other, StreamOp::P { dest: (at + 4 * i) as *mut u8, value, bytes: 4, pe: pe.me as i32 });
        pe.sync(other);
    };
    let enqueue = |round: u32| {
        let mut status: Vec<i32> = (0..n as i32).map(|i| i32::from(i == 2)).collect();
        let mut wanted: Vec<u32> = (0..n as u32).map(|i| 100 * round + i).collect();
        let values = Words::Each(wanted.as_ptr().cast(), Word::U32(0));
        let (ivars, status_at) = (at as *mut u8, status.as_ptr());
        pe.op(stream, StreamOp::WaitUntilAll { ivars, len: n, status: status_at, cmp: Cmp::Ge, values });
        let values = Words::One(Word::U32(100 * round));
        pe.op(stream, StreamOp::WaitUntilAll { ivars, len: n, status: status_at, cmp: Cmp::Ge, values });
        // With these neither would come true.
        wanted.fill(u32::MAX);
        status.fill(0);
    };
    let fulfil = |round: u32| {
        for i in (0..n).filter(|&i| i != 2) {
            assert!(!pe.is_idle(stream), "round {round}: word {i} is still missing");
            put(i, 100 * round + i as u32);
        }
    };
    pe.write_words(at, &vec![0; n]);
    // Copies take turns in the same memory.
    for round in 1..80 {
        enqueue(round);
        fulfil(round);
        pe.sync(stream);
    }
    // Several in the stream at the same time, and a graph behind them that is launched again.
    let graph = pe.capture(stream, || enqueue(3));
    for _ in 0..2 {
        pe.write_words(at, &vec![0; n]);
        enqueue(1);
        enqueue(2);
        pe.launch(&graph, stream);
        (1..=3).for_each(fulfil);
        pe.sync(stream);
    }
    pe.barrier();
}

/// What a member contributes, element `i` of call `call`.
fn element(pe: usize, call: usize, i: usize) -> u32 {
    (pe * 1_000_003 + call * 10_007 + i * 17) as u32
}

/// Collectives on one team, of a few sizes, put in one after the other.
fn collectives_on(pe: &Pe, team: &Arc<Team>, call: &mut usize, dest: usize, source: usize) {
    let members: Vec<usize> = team.pes().iter().map(|&pe| pe as usize).collect();
    let (n, rank) = (members.len(), team.my_pe() as usize);
    let stream = pe.stream();
    let team = || Arc::clone(team);
    for len in [1usize, 40, 3000] {
        for in_place in [false, true] {
            *call += 1;
            let now = *call;
            let to = if in_place { source } else { dest };
            let fill = |count: usize| {
                pe.write_words(source, &(0..count).map(|i| element(pe.me, now, i)).collect::<Vec<_>>());
            };
            let of = |member: usize, i: usize| element(members[member], now, i);
            let (dest, source) = (to as *mut u8, source as *mut u8);
            let all = |i: usize| (0..n).map(|m| of(m, i)).fold(0u32, u32::wrapping_add);
            fill(len);
            pe.op(stream, StreamOp::Reduce { team: team(), dest, source, n: len, reducer: sum() });
            pe.sync(stream);
            assert_eq!(
                pe.read_words(to, len),
                (0..len).map(all).collect::<Vec<_>>(),
                "reduce of {len}, {in_place}"
            );
            fill(len * n);
            pe.op(stream, StreamOp::ReduceScatter { team: team(), dest, source, n: len, reducer: sum() });
            pe.sync(stream);
            let expected: Vec<u32> = (0..len).map(|i| all(rank * len + i)).collect();
            assert_eq!(pe.read_words(to, len), expected, "reducescatter of {len}, {in_place}");
            fill(len * n);
            pe.op(stream, StreamOp::Alltoall { team: team(), dest, source, bytes: 4 * len });
            pe.sync(stream);
            let expected: Vec<u32> = (0..n * len).map(|i| of(i / len, rank * len + i % len)).collect();
            assert_eq!(pe.read_words(to, len * n), expected, "alltoall of {len}, {in_place}");
            fill(len);
            let root = now % n;
            pe.op(
                stream,
                StreamOp::Broadcast { team: team(), dest, source, bytes: 4 * len, root: root as i32 },
            );
            pe.sync(stream);
            let expected: Vec<u32> = (0..len).map(|i| of(root, i)).collect();
            assert_eq!(pe.read_words(to, len), expected, "broadcast of {len} from {root}, {in_place}");
            if !in_place {
                pe.op(stream, StreamOp::Fcollect { team: team(), dest, source, bytes: 4 * len });
                pe.sync(stream);
                let expected: Vec<u32> = (0..n * len).map(|i| of(i / len, i % len)).collect();
                assert_eq!(pe.read_words(to, len * n), expected, "fcollect of {len}");
            }
        }
    }
}

/// Collectives on the world, on parts of it in other orders, and on teams that use slots of earlier ones.
pub fn collectives(pe: &Pe) {
    let room = 4 * 3000 * pe.n;
    let (dest, source) = (pe.alloc(room), pe.alloc(room));
    let mut call = 0;
    collectives_on(pe, &pe.world_team(), &mut call, dest, source);
    let n = pe.n as i32;
    let lists =
        [(0..n).rev().collect::<Vec<_>>(), (1..n).collect(), (0..n).step_by(2).collect(), vec![n - 1, 0]];
    for pes in lists.iter().filter(|pes| !pes.is_empty() && pes.len() <= pe.n) {
        let team = pe.team(pes);
        call += 100;
        let mut of_team = call;
        if let Some(team) = &team {
            collectives_on(pe, team, &mut of_team, dest, source);
            // All are through before the slot is given back.
            pe.world.team_destroy(team.handle()).unwrap();
        }
    }
    pe.barrier();
}

/// Doubles, by rank: the same bits on all, and those of the host.
pub fn same_bits(pe: &Pe) {
    let n = 1000;
    let (dest, source) = (pe.alloc(8 * n), pe.alloc(8 * n));
    let value = |pe: usize, i: usize| 1.0 / (1 + 3 * pe + i) as f64;
    pe.write(source, &(0..n).flat_map(|i| value(pe.me, i).to_le_bytes()).collect::<Vec<_>>());
    let reducer = <f64 as ReduceNum>::reducer(ReduceOp::Sum).unwrap();
    let stream = pe.stream();
    let (team, dest, source) = (pe.world_team(), dest as *mut u8, source as *mut u8);
    pe.op(stream, StreamOp::Reduce { team, dest, source, n, reducer });
    pe.sync(stream);
    let expected: Vec<u8> = (0..n)
        .flat_map(|i| (1..pe.n).fold(value(0, i), |sum, pe| sum + value(pe, i)).to_le_bytes())
        .collect();
    assert_eq!(pe.read(dest as usize, 8 * n), expected);
    pe.barrier();
}

/// Puts of the host that are under way come before a barrier of a stream.
pub fn host_first(pe: &Pe) {
    let (at, seen) = (pe.alloc(1 << 16), pe.alloc(1 << 16));
    let stream = pe.stream();
    let next = ((pe.me + 1) % pe.n) as i32;
    let bytes: Vec<u8> = (0..1 << 16).map(|i| (i / 3 + pe.me) as u8).collect();
    pe.barrier();
    // SAFETY: the vector lives until the stream has been waited for.
    unsafe { pe.world.put_nbi(pe.world.default_context(), at as *mut u8, bytes.as_ptr(), 1 << 16, next) }
        .unwrap();
    pe.op(stream, StreamOp::BarrierAll);
    let (dest, source) = (seen as *mut u8, at as *mut u8);
    pe.op(stream, StreamOp::Put { dest, source, bytes: 1 << 16, pe: pe.me as i32 });
    pe.sync(stream);
    let from = (pe.me + pe.n - 1) % pe.n;
    let expected: Vec<u8> = (0..1 << 16).map(|i| (i / 3 + from) as u8).collect();
    assert_eq!(pe.read(seen, 1 << 16), expected);
    pe.barrier();
}

fn each(pe: &Pe, bodies: &[fn(&Pe)]) {
    for body in bodies {
        body(pe);
        pe.reuse_streams();
    }
}

/// What meets most.
pub fn few(pe: &Pe) {
    each(pe, &[barriers, graphs, independent]);
}

pub fn all(pe: &Pe) {
    each(
        pe,
        &[
            barriers,
            in_turn,
            independent,
            moves,
            graphs,
            waits,
            sets,
            host_arrays,
            collectives,
            same_bits,
            host_first,
        ],
    );
}

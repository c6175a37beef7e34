//! Signals, fence and quiet (OpenSHMEM sections 9.8 and 9.12).
use super::pe::{Pe, bytes};
use dushmem_core::amo::AmoOp;
use dushmem_core::signal::SignalOp;
use dushmem_core::until::Cmp;
use std::time::{Duration, Instant};

/// Words of one message.
const WORDS: usize = 24;

fn message(from: usize, round: u64) -> [u64; WORDS] {
    std::array::from_fn(|i| round << 32 | (from << 16 | i) as u64)
}

/// Puts, fence, flag: who sees the flag sees the data, whichever operation sets the flag.
pub fn flag_after_fence(pe: &Pe) {
    let data = pe.alloc::<u64>(WORDS);
    let flag = pe.alloc::<u64>(1);
    let ack = pe.alloc::<u64>(1);
    let ctx = pe.ctx();
    for round in 1..=40u64 {
        let sent = message(pe.me, round);
        pe.put(ctx, data.at(0), &sent[..5], pe.right()).unwrap();
        pe.put_nbi(ctx, data.at(5), &sent[5..8], pe.right()).unwrap();
        for (i, &word) in sent.iter().enumerate().skip(8) {
            pe.p(ctx, data.at(i), word, pe.right()).unwrap();
        }
        pe.fence(ctx).unwrap();
        match round % 5 {
            0 => pe.p(ctx, flag.at(0), round, pe.right()).unwrap(),
            1 => pe.post(ctx, flag.at(0), AmoOp::Set, round, pe.right()).unwrap(),
            2 => drop(pe.amo(flag.at(0), AmoOp::Add, 1, 0, pe.right()).unwrap()),
            3 => pe.signal(flag.at(0), 1, SignalOp::Add, pe.right()).unwrap(),
            _ => drop(pe.amo(flag.at(0), AmoOp::CompareSwap, round, round - 1, pe.right()).unwrap()),
        }
        assert_eq!(pe.wait(flag.at(0), Cmp::Eq, round).unwrap(), round);
        assert_eq!(data.to_vec(), message(pe.left(), round), "round {round}");
        // The sender may overwrite now.
        pe.p(ctx, ack.at(0), round, pe.left()).unwrap();
        pe.wait(ack.at(0), Cmp::Ge, round).unwrap();
        pe.quiet(ctx).unwrap();
    }
    pe.meet();
    pe.release(ack);
    pe.release(flag);
    pe.release(data);
}

/// Puts of one PE to the same word, with fences between: the last one stays, and order is never seen
/// reversed.
pub fn fence_keeps_order(pe: &Pe) {
    let word = pe.alloc::<u64>(1);
    for value in 1..=60 {
        pe.p(pe.ctx(), word.at(0), value, pe.right()).unwrap();
        pe.fence(pe.ctx()).unwrap();
    }
    let mut last = 0;
    while last < 60 {
        let seen = pe.wait(word.at(0), Cmp::Gt, last).unwrap();
        assert!(seen > last);
        last = seen;
    }
    pe.meet();
    assert_eq!(word.read(0), 60);
    pe.release(word);
}

/// After quiet a third PE sees what was put to the second.
pub fn quiet_before_telling_a_third(pe: &Pe) {
    let data = pe.alloc::<u64>(WORDS);
    let told = pe.alloc::<u64>(1);
    let ctx = pe.ctx();
    // PE 0 puts to the last PE, tells PE 1 (where there is one), which looks.
    let (target, third) = (pe.n - 1, 1 % pe.n);
    for round in 1..=30u64 {
        if pe.me == 0 {
            pe.put(ctx, data.at(0), &message(0, round), target).unwrap();
            pe.quiet(ctx).unwrap();
            pe.signal(told.at(0), round, SignalOp::Set, third).unwrap();
        }
        if pe.me == third {
            pe.wait(told.at(0), Cmp::Eq, round).unwrap();
            let mut seen = [0; WORDS];
            pe.get(ctx, &mut seen, data.at(0), target).unwrap();
            assert_eq!(seen, message(0, round), "round {round}");
        }
        pe.meet();
    }
    pe.release(told);
    pe.release(data);
}

/// Quiet for some PEs only completes what goes to them.
pub fn quiet_of_some_pes(pe: &Pe) {
    let word = pe.alloc::<u64>(pe.n);
    for round in 1..=10 {
        for to in 0..pe.n {
            pe.p(pe.ctx(), word.at(pe.me), round, to).unwrap();
        }
        for to in 0..pe.n {
            pe.quiet_pes(pe.ctx(), &[to as i32]).unwrap();
            assert_eq!(pe.g(pe.ctx(), word.at(pe.me), to).unwrap(), round);
        }
        pe.quiet_pes(pe.ctx(), &[]).unwrap();
        pe.meet();
    }
    let text = pe.quiet_pes(pe.ctx(), &[0, pe.n as i32]).unwrap_err().to_string();
    assert!(text.starts_with(&format!("pe = {}: there is no such PE", pe.n)), "{text}");
    pe.release(word);
}

/// Two PEs each put to a word and, after quiet, get the other's word: not both may miss the other's put.
/// Needs the full barrier in quiet. Both words are in both caches before, so that without the barrier the
/// loads overtake the stores, and the PEs meet by spinning, to be close together in time.
pub fn store_buffer(pe: &Pe) {
    const ROUNDS: usize = 20_000;
    /// Words to the next cache line.
    const LINE: usize = 8;
    let x = pe.alloc::<u64>(ROUNDS * LINE);
    let y = pe.alloc::<u64>(ROUNDS * LINE);
    let seen = pe.alloc::<u64>(ROUNDS);
    let turn = pe.alloc::<u64>(LINE);
    let (a, b) = (0, pe.n - 1);
    let began = Instant::now();
    let mut rounds = 0;
    if a != b && (pe.me == a || pe.me == b) {
        // Both words live on PE a, so one of the two stores is to a peer.
        let (mine, other, peer) = if pe.me == a { (x, y, b) } else { (y, x, a) };
        while rounds < ROUNDS {
            let word = rounds * LINE;
            let before = [mine, other].map(|array| pe.g(pe.ctx(), array.at(word), a).unwrap());
            assert_eq!(before[0], 0);
            // PE a says when it is enough.
            let late = pe.me == a && began.elapsed() > Duration::from_millis(400);
            let next = if late { u64::MAX } else { rounds as u64 + 1 };
            pe.p(pe.ctx(), turn.at(0), next, peer).unwrap();
            pe.quiet(pe.ctx()).unwrap();
            if late {
                break;
            }
            let spun = (0..5000).any(|_| turn.read(0) > rounds as u64);
            if !spun {
                pe.wait(turn.at(0), Cmp::Gt, rounds as u64).unwrap();
            }
            if turn.read(0) == u64::MAX {
                break;
            }
            pe.p(pe.ctx(), mine.at(word), 1, a).unwrap();
            pe.quiet(pe.ctx()).unwrap();
            let found = pe.g(pe.ctx(), other.at(word), a).unwrap();
            seen.write(rounds, found);
            rounds += 1;
        }
        // PE b may have stopped a round earlier.
        pe.p(pe.ctx(), turn.at(1), rounds as u64, peer).unwrap();
    }
    pe.meet();
    if pe.me == a && a != b {
        let rounds = rounds.min(turn.read(1) as usize);
        let mut theirs = vec![0; rounds];
        pe.get(pe.ctx(), &mut theirs, seen.at(0), b).unwrap();
        let missed = (0..rounds).filter(|&i| seen.read(i) == 0 && theirs[i] == 0).count();
        assert_eq!(missed, 0, "of {rounds} rounds, those in which neither PE saw the other's put");
    }
    pe.meet();
    [x, y, seen, turn].into_iter().for_each(|array| pe.release(array));
}

/// Data of a put with signal is there with its signal; sizes 0 and more, set and add.
pub fn put_with_signal(pe: &Pe) {
    const ROOM: usize = 70_000;
    let data = pe.alloc::<u8>(ROOM);
    let sig = pe.alloc::<u64>(3);
    let ack = pe.alloc::<u64>(1);
    let mut sum = 0u64;
    for (round, size) in (1u64..).zip([0, 1, 7, 8, 64, 300, 1952, 4096, 4099, 65_537, 0, 13]) {
        let sent = bytes(round * 1000 + pe.me as u64, size);
        let dest = if size == 0 { std::ptr::null_mut() } else { data.at(size % 3) };
        let (op, value) = match round % 2 {
            0 => (SignalOp::Set, sum + round),
            _ => (SignalOp::Add, round),
        };
        let update = (sig.at(1), value, op);
        if round % 4 < 2 {
            pe.put_signal((dest, &sent), update, pe.right()).unwrap();
        } else {
            pe.put_signal_nbi((dest, &sent), update, pe.right()).unwrap();
        }
        sum += round;
        assert_eq!(pe.wait(sig.at(1).cast_const(), Cmp::Ge, sum).unwrap(), sum);
        assert_eq!(pe.signal_value(sig.at(1)).unwrap(), sum);
        let expected = bytes(round * 1000 + pe.left() as u64, size);
        assert!(data.part(size % 3, size) == expected, "{size} bytes");
        pe.p(pe.ctx(), ack.at(0), round, pe.left()).unwrap();
        pe.quiet(pe.ctx()).unwrap();
        pe.wait(ack.at(0), Cmp::Ge, round).unwrap();
    }
    assert_eq!((sig.read(0), sig.read(2)), (0, 0), "beside the signal");
    pe.meet();
    [ack, sig].into_iter().for_each(|array| pe.release(array));
    pe.release(data);
}

/// Signals of all PEs on one word: additions add up and wrap, sets replace.
pub fn signals(pe: &Pe) {
    let sig = pe.alloc::<u64>(2);
    for i in 1..=20 {
        pe.signal(sig.at(0), i, SignalOp::Add, 0).unwrap();
    }
    if pe.me == 0 {
        let all = 210 * pe.n as u64;
        assert_eq!(pe.wait(sig.at(0), Cmp::Eq, all).unwrap(), all);
        pe.signal(sig.at(0), u64::MAX - all + 5, SignalOp::Add, 0).unwrap();
        pe.quiet(pe.ctx()).unwrap();
        assert_eq!(pe.signal_value(sig.at(0)).unwrap(), 4, "addition wraps");
    }
    pe.signal(sig.at(1), 1000 + pe.me as u64, SignalOp::Set, pe.right()).unwrap();
    let seen = pe.wait(sig.at(1), Cmp::Ne, 0).unwrap();
    assert_eq!(seen, 1000 + pe.left() as u64);
    pe.meet();
    pe.release(sig);
}

/// The sources of non-blocking puts may be written again after quiet, and only then.
pub fn sources_after_quiet(pe: &Pe) {
    let inbox = pe.alloc::<u64>(WORDS * 10);
    let mut source = [0u64; WORDS];
    for round in 0..10 {
        source.copy_from_slice(&message(pe.me, round));
        pe.put_nbi(pe.ctx(), inbox.at(round as usize * WORDS), &source, pe.right()).unwrap();
        pe.quiet(pe.ctx()).unwrap();
    }
    source.fill(0);
    pe.meet();
    for round in 0..10 {
        assert_eq!(inbox.part(round as usize * WORDS, WORDS), message(pe.left(), round));
    }
    pe.release(inbox);
}

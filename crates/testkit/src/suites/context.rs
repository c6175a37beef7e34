//! Contexts (OpenSHMEM section 9.5).
use super::pe::Pe;
use dushmem_core::amo::AmoOp;
use dushmem_core::context::options;
use dushmem_core::team::handles;
use dushmem_core::until::Cmp;
use std::sync::Arc;

/// Contexts of every kind carry the same operations, and quiet of each completes its own.
pub fn options_and_operations(pe: &Pe) {
    let words = pe.alloc::<u64>(8);
    let kinds =
        [0, options::SERIALIZED, options::PRIVATE, options::NOSTORE, options::PRIVATE | options::NOSTORE];
    for (round, kind) in (1..).zip(kinds) {
        let ctx = pe.create_context(None, kind).unwrap();
        assert_eq!(ctx.options(), kind);
        assert!(ctx.id() != 0 && ctx.team().is_none());
        pe.p(&ctx, words.at(0), round, pe.right()).unwrap();
        pe.post(&ctx, words.at(1), AmoOp::Add, round, pe.right()).unwrap();
        pe.fence(&ctx).unwrap();
        pe.p(&ctx, words.at(2), round, pe.right()).unwrap();
        // A barrier completes the default context only, so this one is quieted first.
        pe.quiet(&ctx).unwrap();
        pe.meet();
        assert_eq!((words.read(0), words.read(2)), (round, round));
        assert_eq!(words.read(1), round * (round + 1) / 2);
        assert_eq!(pe.g(&ctx, words.at(0), pe.right()).unwrap(), round);
        pe.p(&ctx, words.at(3), round, pe.right()).unwrap();
        pe.destroy_context(&ctx).unwrap();
        pe.meet();
        assert_eq!(words.read(3), round, "destroying a context completes what it issued");
    }
    for (wrong, bits) in [
        (8, "this bit is"),
        (0x30, "these bits are"),
        (0x36, "0x30: these bits are"),
        (-1, "0xfffffffffffffff8: these bits"),
    ] {
        let text = pe.create_context(None, wrong).unwrap_err().to_string();
        assert!(text.starts_with(&format!("options = {wrong:#x}: {bits}")), "{text}");
    }
    pe.release(words);
}

/// Fence on one context orders what that context issues, while others are busy.
pub fn orders_of_their_own(pe: &Pe) {
    let data = pe.alloc::<u64>(4);
    let noise = pe.alloc::<u64>(4);
    let flag = pe.alloc::<u64>(1);
    let ack = pe.alloc::<u64>(1);
    let (a, b) = (pe.create_context(None, 0).unwrap(), pe.create_context(None, 0).unwrap());
    for round in 1..=25 {
        pe.post(&b, noise.at(0), AmoOp::Add, 1, pe.right()).unwrap();
        for i in 0..4 {
            pe.p(&a, data.at(i), round + i as u64, pe.right()).unwrap();
        }
        pe.fence(&a).unwrap();
        pe.post(&b, noise.at(1), AmoOp::Add, 2, pe.right()).unwrap();
        pe.p(&a, flag.at(0), round, pe.right()).unwrap();
        pe.wait(flag.at(0), Cmp::Ge, round).unwrap();
        assert_eq!(data.to_vec(), [round, round + 1, round + 2, round + 3]);
        pe.p(pe.ctx(), ack.at(0), round, pe.left()).unwrap();
        pe.wait(ack.at(0), Cmp::Ge, round).unwrap();
        pe.quiet(&a).unwrap();
        pe.quiet(pe.ctx()).unwrap();
    }
    pe.quiet(&b).unwrap();
    pe.meet();
    assert_eq!((noise.read(0), noise.read(1)), (25, 50));
    [data, noise, flag, ack].into_iter().for_each(|array| pe.release(array));
}

/// Operations on the context of a team name its members by rank.
pub fn of_teams(pe: &Pe) {
    let n = pe.n as i32;
    let words = pe.alloc::<u64>(pe.n);
    let world = pe.team(handles::WORLD).unwrap();
    // Backwards: rank r is PE n - 1 - r.
    let handle = pe.split_strided(&world, n - 1, -1, n).unwrap().unwrap();
    let team = pe.team(handle).unwrap();
    let ctx = pe.create_context(Some(Arc::clone(&team)), 0).unwrap();
    assert_eq!(ctx.team().map(|team| team.handle()), Some(handle));
    for rank in 0..pe.n {
        pe.p(&ctx, words.at(pe.me), 1000 + rank as u64, rank).unwrap();
    }
    pe.quiet(&ctx).unwrap();
    pe.meet();
    assert_eq!(words.to_vec(), vec![1000 + (pe.n - 1 - pe.me) as u64; pe.n]);
    for rank in 0..pe.n {
        assert_eq!(pe.g(&ctx, words.at(0), rank).unwrap(), 1000 + rank as u64);
    }
    let text = pe.p(&ctx, words.at(0), 0, pe.n).unwrap_err().to_string();
    let expected = format!("pe = {n}: there is no such PE; the context's team has PEs 0 to {}", n - 1);
    assert_eq!(text, expected);
    pe.destroy_context(&ctx).unwrap();
    pe.team_destroy(handle).unwrap();
    // A team of one PE.
    let alone = pe.split_strided(&world, 0, 1, 1).unwrap();
    if let Some(alone) = alone {
        let team = pe.team(alone).unwrap();
        let ctx = pe.create_context(Some(team), options::PRIVATE).unwrap();
        pe.p(&ctx, words.at(0), 7, 0).unwrap();
        pe.quiet(&ctx).unwrap();
        assert_eq!(words.read(0), 7);
        assert!(pe.p(&ctx, words.at(0), 7, 1).is_err());
        pe.team_destroy(alone).unwrap();
    }
    pe.meet();
    pe.release(words);
}

/// Several threads of each PE, each with a context of its own, then all on one.
pub fn several_threads(pe: &Pe) {
    const THREADS: usize = 3;
    const EACH: usize = 40;
    let words = pe.alloc::<u64>(THREADS * EACH);
    let count = pe.alloc::<u64>(1);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                let ctx = pe.create_context(None, options::SERIALIZED).unwrap();
                for i in 0..EACH {
                    let word = words.at(thread * EACH + i);
                    pe.p(&ctx, word, (thread * 1000 + i) as u64, pe.right()).unwrap();
                    pe.post(pe.ctx(), count.at(0), AmoOp::Add, 1, pe.right()).unwrap();
                    if i % 10 == 9 {
                        pe.quiet(&ctx).unwrap();
                        assert_eq!(pe.g(&ctx, word, pe.right()).unwrap(), (thread * 1000 + i) as u64);
                    }
                }
                pe.destroy_context(&ctx).unwrap();
            });
        }
    });
    pe.meet();
    for thread in 0..THREADS {
        let expected: Vec<u64> = (0..EACH).map(|i| (thread * 1000 + i) as u64).collect();
        assert_eq!(words.part(thread * EACH, EACH), expected);
    }
    assert_eq!(count.read(0), (THREADS * EACH) as u64);
    pe.meet();
    pe.release(count);
    pe.release(words);
}

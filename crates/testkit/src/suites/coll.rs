//! Barrier, sync, broadcast, fcollect, alltoall (OpenSHMEM section 9.10).
use super::pe::{Pe, Random, bytes};
use dushmem_core::coll::reduce::{ReduceNum, ReduceOp};
use dushmem_core::coll::slot::{PAYLOAD, SMALL};
use dushmem_core::error::{Error, Result};
use dushmem_core::team::{Team, handles};
use std::sync::Arc;

/// Sizes on both sides of what fits into a payload buffer.
const SIZES: [usize; 12] =
    [0, 1, 8, 300, SMALL - 1, SMALL, SMALL + 1, PAYLOAD - 1, PAYLOAD, PAYLOAD + 1, 2 * PAYLOAD, 20_000];

/// The world, everybody backwards, and every second PE: the teams that this PE is in.
pub(super) fn teams(pe: &Pe) -> Vec<Arc<Team>> {
    let n = pe.n as i32;
    let world = pe.team(handles::WORLD).unwrap();
    let split = |start, stride, size| pe.split_strided(&world, start, stride, size).unwrap();
    let handles = [split(n - 1, -1, n), split(0, 2, (n + 1) / 2), split(n - 1, 1, 1)];
    let own = handles.into_iter().flatten().map(|handle| pe.team(handle).unwrap());
    std::iter::once(Arc::clone(&world)).chain(own).collect()
}

fn destroy(pe: &Pe, teams: Vec<Arc<Team>>) {
    teams.iter().skip(1).for_each(|team| pe.team_destroy(team.handle()).unwrap());
    pe.meet();
}

/// Nobody leaves a barrier before everybody has entered it; puts before it have arrived.
pub fn barriers(pe: &Pe) {
    let count = pe.alloc::<u64>(pe.n);
    let teams = teams(pe);
    for round in 1..=100u64 {
        for to in 0..pe.n {
            pe.p(pe.ctx(), count.at(pe.me), round, to).unwrap();
        }
        match round % 4 {
            0 => pe.barrier_all().unwrap(),
            1 => pe.barrier(&teams[0]).unwrap(),
            2 => {
                pe.quiet(pe.ctx()).unwrap();
                pe.sync_all().unwrap();
            }
            _ => {
                pe.quiet(pe.ctx()).unwrap();
                pe.team_sync(&teams[1]).unwrap();
            }
        }
        for (from, seen) in count.to_vec().into_iter().enumerate() {
            assert!((round..=round + 1).contains(&seen), "round {round}, PE {from} has written {seen}");
        }
    }
    destroy(pe, teams);
    pe.release(count);
}

/// Barriers of different teams do not disturb each other.
pub fn barriers_of_teams(pe: &Pe) {
    let teams = teams(pe);
    let mut random = Random(pe.me as u64);
    for team in &teams {
        for round in 0..30 {
            if random.below(8) == 0 {
                std::thread::yield_now();
            }
            if round % 2 == 0 { pe.barrier(team).unwrap() } else { pe.team_sync(team).unwrap() }
        }
    }
    destroy(pe, teams);
}

/// What the member of `rank` sends in a round.
fn sent(team: &Team, rank: usize, round: usize, len: usize) -> Vec<u8> {
    bytes((team.n_pes() as u64) << 40 | (round as u64) << 16 | rank as u64, len)
}

/// Every size from several roots on every team: each member gets the root's bytes and nothing beside them.
pub fn broadcasts(pe: &Pe) {
    const ROOM: usize = 20_008;
    let teams = teams(pe);
    let dest = pe.alloc::<u8>(ROOM);
    let source = pe.alloc::<u8>(ROOM);
    for team in &teams {
        let n = team.n_pes() as usize;
        for (round, size) in SIZES.into_iter().enumerate() {
            for root in (0..n).step_by(n.div_ceil(4)) {
                source.store(0, &sent(team, team.my_pe() as usize, round, size));
                dest.slice(0, size + 8).fill(0xee);
                pe.team_sync(team).unwrap();
                pe.bcast(team, dest, source, size, root as i32).unwrap();
                assert!(
                    dest.part(0, size) == sent(team, root, round, size),
                    "{size} bytes from {root} of {n}"
                );
                assert_eq!(dest.part(size, 8), [0xee; 8], "behind {size} bytes");
                let own = sent(team, team.my_pe() as usize, round, size);
                assert!(source.part(0, size) == own, "the source");
                // In place: the same bytes at the root, the root's at all others.
                pe.bcast(team, source, source, size, root as i32).unwrap();
                assert!(source.part(0, size) == sent(team, root, round, size), "in place");
            }
        }
    }
    destroy(pe, teams);
    pe.release(source);
    pe.release(dest);
}

/// Collectives of all kinds, sizes and roots one after the other, without anything between.
pub fn back_to_back(pe: &Pe) {
    const ROUNDS: usize = 60;
    const ROOM: usize = 8 * (PAYLOAD + 200);
    let team = pe.team(handles::WORLD).unwrap();
    // Everybody's source never changes, and each round has a destination of its own.
    let source = pe.alloc::<u8>(ROOM);
    let all = |rank: usize| sent(&team, rank, 0, ROOM);
    source.store(0, &all(pe.me));
    let mut random = Random(4711);
    let plan: Vec<(usize, usize, usize)> = (0..ROUNDS)
        .map(|_| {
            let near = PAYLOAD / pe.n.pow(random.below(2) as u32) + random.below(40);
            let size = if random.below(3) == 0 { random.below(64) } else { (near - 20).min(ROOM / pe.n) };
            (random.below(4), size, random.below(pe.n))
        })
        .collect();
    let dests: Vec<_> = plan.iter().map(|&(_, size, _)| pe.alloc::<u8>(size.max(1) * pe.n)).collect();
    for (&(kind, size, root), &dest) in plan.iter().zip(&dests) {
        match kind {
            0 => pe.bcast(&team, dest, source, size, root as i32).unwrap(),
            1 => pe.gather(&team, dest, source, size).unwrap(),
            2 => pe.exchange(&team, dest, source, size).unwrap(),
            _ => pe.team_sync(&team).unwrap(),
        }
    }
    for (&(kind, size, root), &dest) in plan.iter().zip(&dests) {
        let expected: Vec<u8> = match kind {
            0 => all(root)[..size].to_vec(),
            1 => (0..pe.n).flat_map(|rank| all(rank)[..size].to_vec()).collect(),
            2 => (0..pe.n).flat_map(|rank| all(rank)[pe.me * size..][..size].to_vec()).collect(),
            _ => Vec::new(),
        };
        assert!(dest.part(0, expected.len()) == expected, "kind {kind}, {size} bytes, root {root}");
    }
    pe.meet();
    dests.into_iter().for_each(|dest| pe.release(dest));
    pe.release(source);
}

/// fcollect and alltoall of every size on every team.
pub fn gathers_and_exchanges(pe: &Pe) {
    let teams = teams(pe);
    let room = 20_000 * pe.n + 8;
    let dest = pe.alloc::<u8>(room);
    let source = pe.alloc::<u8>(room);
    for team in &teams {
        let n = team.n_pes() as usize;
        let me = team.my_pe() as usize;
        for (round, size) in SIZES.into_iter().chain([PAYLOAD / n, PAYLOAD / n + 1]).enumerate() {
            source.store(0, &sent(team, me, round, size * n));
            dest.slice(0, size * n + 8).fill(0xee);
            pe.team_sync(team).unwrap();
            pe.gather(team, dest, source, size).unwrap();
            for rank in 0..n {
                let expected = &sent(team, rank, round, size * n)[..size];
                assert!(dest.part(rank * size, size) == expected, "fcollect of {size}, from {rank} of {n}");
            }
            assert_eq!(dest.part(size * n, 8), [0xee; 8], "behind fcollect of {size}");
            pe.team_sync(team).unwrap();
            pe.exchange(team, dest, source, size).unwrap();
            for rank in 0..n {
                let expected = &sent(team, rank, round, size * n)[me * size..][..size];
                assert!(dest.part(rank * size, size) == expected, "alltoall of {size}, from {rank} of {n}");
            }
            assert_eq!(dest.part(size * n, 8), [0xee; 8], "behind alltoall of {size}");
            assert!(source.part(0, size * n) == sent(team, me, round, size * n), "the source");
            pe.team_sync(team).unwrap();
            pe.exchange(team, source, source, size).unwrap();
            assert!(source.part(0, size * n) == dest.part(0, size * n), "alltoall of {size} in place");
        }
    }
    destroy(pe, teams);
    pe.release(source);
    pe.release(dest);
}

/// 1 MiB and more.
pub fn large(pe: &Pe) {
    const LEN: usize = (1 << 20) + 24;
    let team = pe.team(handles::WORLD).unwrap();
    let source = pe.alloc::<u8>(LEN);
    let dest = pe.alloc::<u8>(LEN);
    source.store(0, &sent(&team, pe.me, 1, LEN));
    pe.meet();
    let root = pe.n / 2;
    pe.bcast(&team, dest, source, LEN, root as i32).unwrap();
    assert!(dest.to_vec() == sent(&team, root, 1, LEN));
    let each = LEN / pe.n;
    pe.team_sync(&team).unwrap();
    pe.exchange(&team, dest, source, each).unwrap();
    for rank in 0..pe.n {
        assert!(dest.part(rank * each, each) == sent(&team, rank, 1, LEN)[pe.me * each..][..each]);
    }
    pe.team_sync(&team).unwrap();
    pe.gather(&team, dest, source, each).unwrap();
    for rank in 0..pe.n {
        assert!(dest.part(rank * each, each) == sent(&team, rank, 1, LEN)[..each]);
    }
    pe.meet();
    pe.release(dest);
    pe.release(source);
}

#[track_caller]
fn disagree(pe: &Pe, what: &str, result: Result<()>, words: &[&str]) {
    if pe.n == 1 {
        return;
    }
    match result {
        Err(Error::Disagreement { text, .. }) => {
            assert!(words.iter().all(|word| text.contains(word)), "{what}: {text}");
        }
        other => panic!("{what}: PE {} got {other:?}", pe.me),
    }
    // Everything works afterwards.
    pe.sync_all().unwrap();
}

/// Members that make different calls, or the same with other sizes and roots, are all told.
pub fn mismatches(pe: &Pe) {
    let team = pe.team(handles::WORLD).unwrap();
    let array = pe.alloc::<u8>(60_000 * pe.n);
    let other = pe.alloc::<u8>(60_000 * pe.n);
    let last = pe.me + 1 == pe.n;
    let first = pe.me == 0;
    // All sizes on both sides of the payload limit.
    for (a, b) in [(8, 9), (0, 8), (100, 5000), (5000, 100), (4000, 5000)] {
        let size = if last { a } else { b };
        disagree(pe, "broadcast sizes", pe.bcast(&team, array, other, size, 0), &["broadcast of ", "bytes"]);
        let size = if first { a } else { b };
        disagree(pe, "fcollect sizes", pe.gather(&team, array, other, size), &["fcollect of "]);
        disagree(pe, "alltoall sizes", pe.exchange(&team, array, other, size), &["alltoall of "]);
    }
    let root = i32::from(last) % pe.n as i32;
    disagree(
        pe,
        "roots",
        pe.bcast(&team, array, other, 16, root),
        &["PE 0 calls broadcast of 16 bytes from root 0", "calls broadcast of 16 bytes from root 1"],
    );
    let mixed = if first { pe.team_sync(&team) } else { pe.gather(&team, array, other, 64) };
    disagree(pe, "sync and fcollect", mixed, &["PE 0 calls team_sync", "fcollect of 64 bytes"]);
    let mixed = if last { pe.sync_all() } else { pe.barrier_all() };
    disagree(pe, "sync and barrier", mixed, &["sync_all", "barrier_all"]);
    let mixed = if last { pe.malloc(64).map(drop) } else { pe.barrier_all() };
    disagree(pe, "malloc and barrier", mixed, &["malloc of 64 bytes", "barrier_all"]);
    let n = pe.n as i32;
    if pe.n > 1 {
        let of_last = |what: &str| format!("PE {} calls {what}", n - 1);
        let mixed = pe.split_strided(&team, i32::from(last), 1, 1).map(drop);
        let words = of_last(&format!("team_split_strided (start = 0 on PE 0, 1 on PE {}); ", n - 1));
        disagree(pe, "starts", mixed, &[&words]);
        let mixed = pe.split_strided(&team, 0, if last { -1 } else { 1 }, 1 + i32::from(!last)).map(drop);
        let words = of_last(&format!(
            "team_split_strided (stride = 1 on PE 0, -1 on PE {}; size = 2 on PE 0, 1 on PE {}); ",
            n - 1,
            n - 1
        ));
        disagree(pe, "strides", mixed, &[&words]);
        let mixed = pe.split_2d(&team, 1 + i32::from(last)).map(drop);
        let words = of_last(&format!("team_split_2d (xrange = 1 on PE 0, 2 on PE {}); ", n - 1));
        disagree(pe, "widths", mixed, &[&words]);
        let mixed = pe.split_listed(&team, &[i32::from(last)]).map(drop);
        disagree(pe, "lists", mixed, &[&of_last("team_split_list with another list of PEs; ")]);
        let mixed = match last {
            true => pe.split_listed(&team, &[0]).map(drop),
            false => pe.split_strided(&team, 0, 1, 1).map(drop),
        };
        let words = of_last("team_split_list; ");
        disagree(pe, "splits", mixed, &["PE 0 calls team_split_strided, ", &words]);
    }
    // On a team, without the others.
    if let Some(handle) = pe.split_strided(&team, 0, 1, n.min(3)).unwrap() {
        let part = pe.team(handle).unwrap();
        let size = if first { 24 } else { 32 };
        let result = pe.bcast(&part, array, other, size, 0);
        assert_eq!(result.is_err(), part.n_pes() > 1);
        pe.team_sync(&part).unwrap();
        pe.team_destroy(handle).unwrap();
    }
    pe.meet();
    pe.release(other);
    pe.release(array);
}

/// A bad argument on one member only: no member is left waiting, and each has an error.
pub fn bad_arguments_of_one_member(pe: &Pe) {
    let team = pe.team(handles::WORLD).unwrap();
    let array = pe.alloc::<u8>(4096 * pe.n);
    let bad = pe.me + 1 == pe.n;
    let root = if bad { pe.n as i32 } else { 0 };
    for size in [16, 4096] {
        let error = pe.bcast(&team, array, array, size, root).unwrap_err();
        let expected = if bad { "there is no such PE" } else { "PEs disagree" };
        assert!(error.to_string().contains(expected), "{error}");
        pe.sync_all().unwrap();
    }
    // The own error where all pass the same.
    let error = pe.bcast(&team, array, array, 16, -1).unwrap_err().to_string();
    let n = pe.n - 1;
    assert_eq!(error, format!("PE_root = -1: there is no such PE; the team has PEs 0 to {n}"));
    let mut local = [0u8; 64];
    let outside = super::Sym::foreign(local.as_mut_ptr(), 64);
    let from = if bad { outside } else { array };
    if pe.n > 1 {
        assert!(pe.gather(&team, array, from, 8).is_err());
        pe.sync_all().unwrap();
        assert!(pe.bcast(&team, from, array, 8, 0).is_err());
        pe.sync_all().unwrap();
    }
    let align = if bad { 24 } else { 64 };
    let error = pe.align(align, 100).unwrap_err();
    assert!(error.to_string().contains(if bad { "alignment = 24" } else { "PEs disagree" }), "{error}");
    let block = if bad { array.at(1) } else { array.at(0) };
    let error = pe.realloc(block, 100).unwrap_err();
    assert!(error.to_string().contains(if bad { "inside a block" } else { "PEs disagree" }), "{error}");
    pe.meet();
    pe.release(array);
}

/// Buffers that overlap: what one member writes another may still have to read.
pub fn overlapping_buffers(pe: &Pe) {
    let team = pe.team(handles::WORLD).unwrap();
    let len = 20_000;
    let room = len * (pe.n + 1) + 1;
    let array = pe.alloc::<u8>(room);
    let from = |at: usize| array.slice(at, room - at);
    let refused = |result: Result<()>| {
        let text = result.unwrap_err().to_string();
        assert!(text.starts_with("source = 0x") && text.contains("overlaps dest"), "{text}");
    };
    for size in [1, 100, len] {
        refused(pe.gather(&team, array, array, size));
        refused(pe.gather(&team, from(1), from(size * pe.n), size));
        pe.gather(&team, from(size), array, size).unwrap();
        pe.sync_all().unwrap();
        for (dest, source) in [(0, size - 1), (size - 1, 0)].into_iter().filter(|_| size > 1) {
            refused(pe.bcast(&team, from(dest), from(source), size, 0));
            refused(pe.exchange(&team, from(dest), from(source), size));
            refused(pe.reduce(&team, from(dest), from(source), size, &u8::reducer(ReduceOp::Sum).unwrap()));
        }
        pe.bcast(&team, from(size), array, size, 0).unwrap();
        pe.sync_all().unwrap();
    }
    pe.meet();
    pe.release(array);
}

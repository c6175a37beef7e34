//! Collect and alltoalls (OpenSHMEM sections 9.10.6 and 9.10.8).
use super::pe::{Pe, Random, bytes};
use dushmem_core::coll::slot::{PAYLOAD, SMALL};
use dushmem_core::error::{Error, count_pes};
use dushmem_core::team::{Team, handles};
use std::sync::Arc;

/// The world, everybody backwards, and every second PE: those of them that this PE is in.
pub(super) fn teams(pe: &Pe) -> Vec<Arc<Team>> {
    let n = pe.n as i32;
    let world = pe.team(handles::WORLD).unwrap();
    let made = [pe.split_strided(&world, n - 1, -1, n), pe.split_strided(&world, 0, 2, (n + 1) / 2)];
    let own = made.into_iter().filter_map(|made| made.unwrap()).map(|handle| pe.team(handle).unwrap());
    std::iter::once(Arc::clone(&world)).chain(own).collect()
}

pub(super) fn destroy(pe: &Pe, teams: Vec<Arc<Team>>) {
    teams.iter().skip(1).for_each(|team| pe.team_destroy(team.handle()).unwrap());
    pe.meet();
}

/// Different amounts of every member, none included: by rank, nothing beside them.
pub fn collects(pe: &Pe) {
    const MOST: usize = 3 * PAYLOAD;
    let teams = teams(pe);
    let dest = pe.alloc::<u8>(MOST * pe.n + 8);
    let source = pe.alloc::<u8>(MOST);
    for team in &teams {
        for round in 0..24u64 {
            let ranks = 0..team.n_pes() as u64;
            // The same numbers on every PE; kinds of rounds: nothing, few, at the payload's limit, many.
            let count = |rank: u64| match round % 6 {
                0 => 0,
                1 => Random(round << 8 | rank).below(20),
                2 => [PAYLOAD, SMALL][round as usize / 6 % 2] - 8,
                3 => [PAYLOAD, SMALL][round as usize / 6 % 2] - 8 + (rank as usize + round as usize) % 2,
                4 => Random(round << 8 | rank).below(MOST),
                _ => [0, 700, MOST][(rank as usize + round as usize) % 3],
            };
            let data = |rank: u64| bytes(round << 16 | rank, count(rank));
            let mine = data(team.my_pe() as u64);
            let expected: Vec<u8> = ranks.flat_map(data).collect();
            source.store(0, &mine);
            dest.slice(0, expected.len() + 8).fill(0xee);
            pe.team_sync(team).unwrap();
            pe.collect(team, dest, source, mine.len()).unwrap();
            assert!(dest.part(0, expected.len()) == expected, "round {round} of {} PEs", team.n_pes());
            assert_eq!(dest.part(expected.len(), 8), [0xee; 8], "round {round}: behind");
            assert!(source.part(0, mine.len()) == mine, "round {round}: the source");
        }
    }
    destroy(pe, teams);
    pe.release(source);
    pe.release(dest);
}

/// A destination that is too short, a source outside: an error everywhere, and nobody is left waiting.
pub fn collects_that_are_refused(pe: &Pe) {
    let team = pe.team(handles::WORLD).unwrap();
    let (base, len) = pe.window().heap();
    let array = pe.alloc::<u8>(8 * PAYLOAD);
    for bytes in [100, 4 * PAYLOAD] {
        // So near to the heap's end that the members' data do not fit together.
        let end = super::Sym::foreign((base + len - bytes) as *mut u8, bytes);
        let refused = pe.collect(&team, end, array, bytes);
        assert_eq!(refused.is_err(), pe.n > 1, "{bytes} bytes: {refused:?}");
        pe.sync_all().unwrap();
        let overlapping = pe.collect(&team, array, array, bytes);
        assert!(overlapping.unwrap_err().to_string().contains("overlaps dest"), "{bytes} bytes");
        pe.sync_all().unwrap();
    }
    let mut local = [0u8; 64];
    let bad = pe.me + 1 == pe.n;
    let from = if bad { super::Sym::foreign(local.as_mut_ptr(), 64) } else { array };
    assert!(bad || pe.n > 1);
    let error = pe.collect(&team, array.slice(4000, 64), from, 64).unwrap_err();
    assert_eq!(matches!(error, Error::NotSymmetric { .. }), bad, "{error}");
    pe.meet();
    pe.release(array);
}

/// Element (rank, k) of a member's source goes to place (member, k) of the rank's destination.
pub fn strided_exchanges(pe: &Pe) {
    let teams = teams(pe);
    let room = 7 * 300 * pe.n;
    let (dest, source) = (pe.alloc::<u64>(room), pe.alloc::<u64>(room));
    for team in &teams {
        let (n, me) = (team.n_pes() as usize, team.my_pe() as usize);
        for (len, dst, sst) in
            [(0, 1, 1), (1, 1, 1), (1, 3, 2), (5, 2, 7), (30, 1, 2), (30, 3, 1), (300, 7, 5), (300, 1, 1)]
        {
            let value = |from: usize, to: usize, k: usize| (from << 40 | to << 20 | k) as u64;
            source.fill(u64::MAX);
            dest.fill(u64::MAX - 1);
            for i in 0..n * len {
                source.write(i * sst, value(me, i / len, i % len));
            }
            pe.team_sync(team).unwrap();
            pe.alltoalls(team, (dest, dst as isize), (source, sst as isize), len).unwrap();
            let mut expected = vec![u64::MAX - 1; room];
            for i in 0..n * len {
                expected[i * dst] = value(i / len, me, i % len);
            }
            assert!(dest.to_vec() == expected, "{len} elements a pair, strides {dst} and {sst}, {n} PEs");
            pe.team_sync(team).unwrap();
        }
    }
    destroy(pe, teams);
    pe.release(source);
    pe.release(dest);
}

/// Strides below 1, differing strides, overflowing sizes.
pub fn bad_strides(pe: &Pe) {
    let team = pe.team(handles::WORLD).unwrap();
    let array = pe.alloc::<u32>(64 * pe.n);
    let (dest, source) = (array.slice(0, 32 * pe.n), array.slice(32 * pe.n, 32 * pe.n));
    for stride in [0, -1, isize::MIN] {
        let error = pe.alltoalls(&team, (dest, stride), (source, 1), 4).unwrap_err().to_string();
        assert!(error.starts_with(&format!("dst = {stride}: ")), "{error}");
        let error = pe.alltoalls(&team, (dest, 1), (source, stride), 4).unwrap_err().to_string();
        assert!(error.starts_with(&format!("sst = {stride}: ")), "{error}");
    }
    let (all, stride) = ((4 * pe.n - 1) as u128, isize::MAX);
    let call = |dst: isize, sst: isize| {
        let (dest, source) = (dest.at(0).cast(), source.at(0).cast());
        // SAFETY: refused.
        unsafe { pe.world.alltoalls(&team, dest, source, dst, sst, 4, 4) }.unwrap_err().to_string()
    };
    let (error, end) = (call(1, stride), (all * stride as u128 + 1) * 4);
    let each = format!("nelems = 4 for each of {}", count_pes(pe.n));
    assert!(
        error.starts_with(&format!("sst = {stride}, {each}: the last element would end {end} bytes")),
        "{error}"
    );
    let error = call(1 << 38, 1);
    let begin = format!("dst = {}, {each}: the last element ends ", 1u64 << 38);
    let past = error.contains(" bytes past the end of the ") && error.contains("; dest = 0x");
    assert!(error.starts_with(&begin) && past, "{error}");
    if pe.n > 1 {
        let stride = if pe.me == 0 { 2 } else { 1 };
        let error = pe.alltoalls(&team, (dest, stride), (source, 1), 4).unwrap_err();
        let told = error.to_string().contains("alltoalls of 16 bytes (dst = 2 on PE 0, 1 on PE 1); ");
        assert!(matches!(error, Error::Disagreement { .. }) && told, "{error}");
    }
    pe.meet();
    pe.release(array);
}

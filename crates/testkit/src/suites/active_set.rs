//! Active sets (OpenSHMEM section 9.10, deprecated forms): collectives that meet in `pSync`.
use super::pe::{Pe, Sym, bytes};
use dushmem_core::amo::AmoOp;
use dushmem_core::coll::active_set::SYNC_SIZE;
use dushmem_core::coll::reduce::{ReduceNum, ReduceOp};
use dushmem_core::coll::scan::Scan;
use dushmem_core::error::{Error, Result};
use dushmem_core::team::Team;

/// The sets (start, base-2 logarithm of the stride, size) that are tried.
fn sets(n: i32) -> Vec<(i32, i32, i32)> {
    let mut sets = vec![(0, 0, n), (n - 1, 3, 1), (0, 1, (n + 1) / 2)];
    if n > 2 {
        sets.extend([(1, 0, n - 1), (1, 1, n / 2), (0, 2, (n + 3) / 4)]);
    }
    sets
}

fn psync(pe: &Pe) -> Sym<i64> {
    let array = pe.alloc::<i64>(SYNC_SIZE);
    array.fill(0);
    pe.meet();
    array
}

/// The set, if this PE belongs to it.
fn member(pe: &Pe, (start, log_stride, size): (i32, i32, i32), psync: Sym<i64>) -> Option<Team> {
    let me = pe.me as i32;
    let inside = me >= start && (me - start) % (1 << log_stride) == 0 && (me - start) >> log_stride < size;
    let set = pe.active_set(start, log_stride, size, psync.at(0));
    assert_eq!(set.is_ok(), inside, "{start} {log_stride} {size}: {set:?}");
    set.ok()
}

/// Nobody leaves before all have entered; what was put before a barrier has arrived. One array for all calls.
pub fn barriers(pe: &Pe) {
    let array = psync(pe);
    let count = pe.alloc::<u64>(pe.n);
    for set in sets(pe.n as i32) {
        count.fill(0);
        pe.meet();
        for round in 1..=40 {
            let Some(team) = member(pe, set, array) else { break };
            for &to in team.pes() {
                pe.p(pe.ctx(), count.at(pe.me), round, to as usize).unwrap();
            }
            if round % 2 == 0 {
                pe.barrier(&team).unwrap();
            } else {
                pe.quiet(pe.ctx()).unwrap();
                pe.team_sync(&team).unwrap();
            }
            for &from in team.pes() {
                let seen = count.read(from as usize);
                assert!(
                    (round..=round + 1).contains(&seen),
                    "{set:?}, round {round}: PE {from} is at {seen}"
                );
            }
        }
        pe.meet();
    }
    pe.release(count);
    pe.release(array);
}

fn sent(rank: usize, len: usize) -> Vec<u8> {
    bytes(rank as u64 | 0xa5 << 32, len)
}

/// Every collective, small and large, on every set.
pub fn every_collective(pe: &Pe) {
    let arrays = [psync(pe), psync(pe)];
    let mut turn = 0;
    let mut array = || {
        turn += 1;
        arrays[turn % 2]
    };
    const LEN: usize = 5000;
    let (dest, source) = (pe.alloc::<u8>(LEN * pe.n + 8), pe.alloc::<u8>(LEN * pe.n));
    for set in sets(pe.n as i32) {
        for len in [0, 8, 5000] {
            // Arrays in turn, and a barrier of all between uses, as the standard asks.
            let mut each =
                |what: &str, call: &dyn Fn(&Team) -> Result<()>, right: &dyn Fn(&Team) -> Vec<u8>| {
                    dest.fill(0xee);
                    source.store(0, &sent(pe.me, LEN * pe.n));
                    pe.meet();
                    if let Some(team) = member(pe, set, array()) {
                        call(&team).unwrap();
                        let right = right(&team);
                        assert!(dest.part(0, right.len()) == right, "{what} of {len} bytes on {set:?}");
                        assert_eq!(dest.part(right.len(), 8), [0xee; 8], "{what} of {len} bytes: behind");
                    }
                    pe.meet();
                };
            let all = |team: &Team| team.pes().iter().map(|&pe| pe as usize).collect::<Vec<_>>();
            let root = (set.2 - 1) / 2;
            each("broadcast", &|t| pe.bcast(t, dest, source, len, root), &|t| match t.my_pe() == root {
                // The root's own destination is not touched.
                true => Vec::new(),
                false => sent(all(t)[root as usize], len),
            });
            let gathered = |t: &Team| all(t).into_iter().flat_map(|from| sent(from, len)).collect();
            each("fcollect", &|t| pe.gather(t, dest, source, len), &gathered);
            let part = |from: usize| if len == 0 { 0 } else { from * 17 % len };
            each("collect", &|t| pe.collect(t, dest, source, part(pe.me)), &|t| {
                all(t).into_iter().flat_map(|from| sent(from, part(from))).collect()
            });
            each("alltoall", &|t| pe.exchange(t, dest, source, len), &|t| {
                let mine = t.my_pe() as usize * len;
                all(t).into_iter().flat_map(|from| sent(from, mine + len).split_off(mine)).collect()
            });
            let few = len / 3;
            each("alltoalls", &|t| pe.alltoalls(t, (dest, 1), (source, 3), few), &|t| {
                let mine = t.my_pe() as usize * few;
                let from = |from| sent(from, LEN * pe.n).into_iter().step_by(3).skip(mine).take(few);
                all(t).into_iter().flat_map(from).collect()
            });
            let sum = u8::reducer(ReduceOp::Sum).unwrap();
            each("reduce", &|t| pe.reduce(t, dest, source, len, &sum), &|t| {
                let mut total = vec![0u8; len];
                for from in all(t) {
                    total.iter_mut().zip(sent(from, len)).for_each(|(sum, x)| *sum = sum.wrapping_add(x));
                }
                total
            });
            each("scan", &|t| pe.scan(t, dest, source, len, &sum, Scan::Exclusive), &|t| {
                let mut total = vec![0u8; len];
                for from in all(t).into_iter().take(t.my_pe() as usize) {
                    total.iter_mut().zip(sent(from, len)).for_each(|(sum, x)| *sum = sum.wrapping_add(x));
                }
                total
            });
        }
    }
    pe.release(source);
    pe.release(dest);
    arrays.into_iter().rev().for_each(|array| pe.release(array));
}

/// Broadcasts and reductions without a barrier between them, with two arrays in turn.
pub fn back_to_back(pe: &Pe) {
    let arrays = [psync(pe), psync(pe)];
    let (dest, source) = (pe.alloc::<u64>(400), pe.alloc::<u64>(400));
    let sum = u64::reducer(ReduceOp::Sum).unwrap();
    let n = pe.n as u64;
    for round in 0..60u64 {
        let len = if round % 3 == 0 { 400 } else { 5 };
        let team = member(pe, (0, 0, pe.n as i32), arrays[round as usize % 2]).unwrap();
        source.fill(round * 100 + pe.me as u64);
        let (to, from) = (dest.as_bytes(), source.as_bytes());
        pe.reduce(&team, to, from, len, &sum).unwrap();
        let right = n * round * 100 + n * (n - 1) / 2;
        assert!(dest.part(0, len).iter().all(|&x| x == right), "round {round}");
    }
    pe.meet();
    pe.release(source);
    pe.release(dest);
    arrays.into_iter().rev().for_each(|array| pe.release(array));
}

/// Every call leaves the array as it found it, on every member.
pub fn restored(pe: &Pe) {
    let array = psync(pe);
    let (dest, source) = (pe.alloc::<u8>(64 * pe.n), pe.alloc::<u8>(64 * pe.n));
    for round in 0..20 {
        let team = member(pe, (0, 0, pe.n as i32), array).unwrap();
        match round % 4 {
            0 => pe.team_sync(&team).unwrap(),
            1 => pe.bcast(&team, dest, source, 64, 0).unwrap(),
            2 => pe.collect(&team, dest, source, 64 * (pe.me % 2)).unwrap(),
            _ => pe.exchange(&team, dest, source, 64).unwrap(),
        }
        pe.meet();
        assert_eq!(array.to_vec(), [0; SYNC_SIZE], "round {round}");
        pe.meet();
    }
    pe.release(source);
    pe.release(dest);
    pe.release(array);
}

/// Sets that overlap, each with an array of its own, while others still wait in the set before.
pub fn one_array_after_another(pe: &Pe) {
    let count = pe.alloc::<u64>(1);
    let n = pe.n as i32;
    let sets: Vec<_> = sets(n).into_iter().map(|set| (set, psync(pe))).collect();
    count.fill(0);
    pe.meet();
    for _ in 0..20 {
        for (set, array) in &sets {
            if let Some(team) = member(pe, *set, *array) {
                pe.amo(count.at(0), AmoOp::Add, 1, 0, team.pes()[0] as usize).unwrap();
                pe.barrier(&team).unwrap();
            }
        }
    }
    pe.meet();
    let mine: u64 = sets.iter().filter(|(set, _)| set.0 as usize == pe.me).map(|(set, _)| set.2 as u64).sum();
    assert_eq!(count.read(0), 20 * mine);
    pe.meet();
    sets.into_iter().rev().for_each(|(_, array)| pe.release(array));
    pe.release(count);
}

/// Sets that do not exist, arrays that are none or are not initialised.
pub fn refusals(pe: &Pe) {
    let array = psync(pe);
    let n = pe.n as i32;
    let refused = |start, log_stride, size, array: *mut i64, words: &str| {
        let text = pe.active_set(start, log_stride, size, array).unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    };
    refused(
        -1,
        0,
        1,
        array.at(0),
        &format!(
            "PE_start = -1, logPE_stride = 0, PE_size = 1: there is no PE -1; this job has PEs 0 to {}",
            n - 1
        ),
    );
    refused(
        n,
        0,
        1,
        array.at(0),
        &format!("PE_start = {n}, logPE_stride = 0, PE_size = 1: there is no PE {n};"),
    );
    refused(
        0,
        0,
        0,
        array.at(0),
        "PE_start = 0, logPE_stride = 0, PE_size = 0: an active set has at least one PE",
    );
    refused(0, 0, n + 1, array.at(0), &format!("PE_size = {}: there is no PE {n}; this job has", n + 1));
    refused(0, 30, 2, array.at(0), "logPE_stride = 30, PE_size = 2: there is no PE 1073741824; this job has");
    refused(0, -1, 1, array.at(0), "logPE_stride = -1, PE_size = 1: logPE_stride is the base-2");
    refused(0, 31, 1, array.at(0), "logPE_stride = 31, PE_size = 1: logPE_stride is the base-2");
    if pe.n > 1 {
        let other = (pe.me as i32 + 1) % n;
        refused(other, 0, 1, array.at(0), &format!("PE_size = 1: PE {}, which calls, is no member", pe.me));
    }
    refused(0, 0, n, core::ptr::null_mut(), "pSync is NULL");
    let mut local = [0i64; SYNC_SIZE];
    refused(0, 0, n, local.as_mut_ptr(), "pSync = 0x");
    for word in [1, 2] {
        array.write(word, -1);
        refused(0, 0, n, array.at(0), "not SHMEM_SYNC_VALUE");
        array.write(word, 0);
    }
    pe.meet();
    pe.release(array);
}

/// Members that make different calls are told, and the array can be used again.
pub fn disagreements(pe: &Pe) {
    let array = psync(pe);
    let (dest, source) = (pe.alloc::<u8>(64), pe.alloc::<u8>(64));
    let all = (0, 0, pe.n as i32);
    for _ in 0..5 {
        let team = member(pe, all, array).unwrap();
        let words = "in the active set that begins with PE 0, PE 0 calls broadcast of 16 bytes from root 0, PE 1 calls broadcast \
                     of 24 bytes from root 0; every member must make the same calls in the same order";
        let result = pe.bcast(&team, dest, source, if pe.me == 0 { 16 } else { 24 }, 0);
        match result {
            Ok(()) => assert_eq!(pe.n, 1),
            Err(Error::Disagreement { text }) => assert!(text.contains(words) && pe.n > 1, "{text}"),
            Err(other) => panic!("{other}"),
        }
        pe.team_sync(&member(pe, all, array).unwrap()).unwrap();
    }
    pe.meet();
    pe.release(source);
    pe.release(dest);
    pe.release(array);
}

//! Scans (OpenSHMEM section 9.10.10), and NVSHMEM's reducescatter.
use super::pe::{Pe, bytes};
use super::uneven::{destroy, teams};
use bytemuck::Pod;
use dushmem_core::coll::reduce::{Complex, ReduceNum, ReduceOp, Reducer};
use dushmem_core::coll::scan::Scan;
use dushmem_core::coll::slot::{PAYLOAD, SMALL};
use dushmem_core::error::Error;
use dushmem_core::team::{Team, handles};

/// Sizes in elements of 8 bytes on both sides of what fits into a payload buffer, and of what is divided.
const SIZES: [usize; 8] = [0, 1, 5, SMALL / 8, SMALL / 8 + 1, PAYLOAD / 8, PAYLOAD / 8 + 1, 4099];
const ROOM: usize = 4099 * 16 + 16;

fn operands<T: Pod>(seed: u64, rank: usize, n: usize) -> Vec<T> {
    let bytes = bytes(seed << 16 | rank as u64, n * size_of::<T>());
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}

/// Both kinds on one team, bits compared with the fold by rank.
fn check<T: Pod>(
    pe: &Pe,
    team: &Team,
    in_place: bool,
    inputs: &dyn Fn(usize) -> Vec<T>,
    sum: &Reducer,
    fold: &dyn Fn(T, T) -> T,
) {
    let (dest, source) = (pe.alloc::<u8>(ROOM), pe.alloc::<u8>(ROOM));
    let me = team.my_pe() as usize;
    let mine = inputs(me);
    let n = mine.len();
    for kind in [Scan::Inclusive, Scan::Exclusive] {
        let operands = me + usize::from(kind == Scan::Inclusive);
        let mut expected = vec![T::zeroed(); n];
        for rank in 0..operands {
            let theirs = inputs(rank);
            for i in 0..n {
                expected[i] = if rank == 0 { theirs[i] } else { fold(expected[i], theirs[i]) };
            }
        }
        source.store(0, bytemuck::cast_slice(&mine));
        let to = if in_place { source } else { dest };
        let length = n * size_of::<T>();
        to.slice(length, 16).fill(0xee);
        pe.team_sync(team).unwrap();
        pe.scan(team, to, source, n, sum, kind).unwrap();
        let name = std::any::type_name::<T>();
        assert!(
            to.part(0, length) == bytemuck::cast_slice::<T, u8>(&expected),
            "{kind:?}, {n} {name}, rank {me} of {}",
            team.n_pes()
        );
        assert_eq!(to.part(length, 16), [0xee; 16], "behind {n} {name}");
        pe.team_sync(team).unwrap();
    }
    pe.meet();
    pe.release(source);
    pe.release(dest);
}

fn all_types(pe: &Pe, in_place: bool) {
    let world = pe.team(handles::WORLD).unwrap();
    let n = pe.n as i32;
    let backwards = pe.split_strided(&world, n - 1, -1, n).unwrap().unwrap();
    let backwards = pe.team(backwards).unwrap();
    for team in [&world, &backwards] {
        for size in SIZES {
            let seed = size as u64;
            let sum = u64::reducer(ReduceOp::Sum).unwrap();
            check::<u64>(pe, team, in_place, &|r| operands(seed, r, size), &sum, &u64::wrapping_add);
            let sum = i8::reducer(ReduceOp::Sum).unwrap();
            check::<i8>(pe, team, in_place, &|r| operands(seed, r, size), &sum, &i8::wrapping_add);
            let float = |r: usize| operands::<u32>(seed, r, size).iter().map(|&x| x as f32 * 0.37).collect();
            let sum = f32::reducer(ReduceOp::Sum).unwrap();
            check::<f32>(pe, team, in_place, &float, &sum, &|a, b| a + b);
            // Complex numbers as pairs.
            let pair = |r: usize| {
                let parts = operands::<u32>(seed, r, 2 * size);
                parts.chunks(2).map(|p| [f64::from(p[0]) * 0.1, -f64::from(p[1]) * 0.3]).collect()
            };
            let sum = Complex::<f64>::reducer(ReduceOp::Sum).unwrap();
            check::<[f64; 2]>(pe, team, in_place, &pair, &sum, &|a, b| [a[0] + b[0], a[1] + b[1]]);
        }
    }
    destroy(pe, vec![world, backwards]);
}

/// Prefix sums of integers, floats and complex numbers, bit for bit; rank 0 of an exclusive scan gets zeros.
pub fn sums(pe: &Pe) {
    all_types(pe, false);
}

/// The same where the result replaces the operand.
pub fn in_place(pe: &Pe) {
    all_types(pe, true);
}

/// Each member gets its block of the reduction.
pub fn reduce_scatter(pe: &Pe) {
    let room = (PAYLOAD + 800) * pe.n + 16;
    let (dest, source) = (pe.alloc::<u8>(room), pe.alloc::<u8>(room));
    let teams = teams(pe);
    for team in &teams {
        let (n, me) = (team.n_pes() as usize, team.my_pe() as usize);
        for size in [0, 1, 30, PAYLOAD / 8 / n, PAYLOAD / 8 / n + 1, SMALL / 8 / n + 1, 900] {
            for (op, fold) in [
                (ReduceOp::Sum, i64::wrapping_add as fn(i64, i64) -> i64),
                (ReduceOp::Max, |a, b| a.max(b)),
                (ReduceOp::Xor, |a, b| a ^ b),
            ] {
                let inputs = |rank| operands::<i64>(op as u64 + 77, rank, size * n);
                let reducer = i64::reducer(op).unwrap();
                let all: Vec<Vec<i64>> = (0..n).map(inputs).collect();
                let expected: Vec<i64> = (me * size..(me + 1) * size)
                    .map(|i| all[1..].iter().fold(all[0][i], |so_far, other| fold(so_far, other[i])))
                    .collect();
                for to in [dest, source] {
                    source.store(0, bytemuck::cast_slice(&all[me]));
                    dest.slice(size * 8, 8).fill(0xee);
                    pe.team_sync(team).unwrap();
                    pe.reduce_scatter(team, to, source, size, &reducer).unwrap();
                    assert!(
                        to.part(0, size * 8) == bytemuck::cast_slice::<i64, u8>(&expected),
                        "{op:?} of {size} elements, rank {me} of {n}"
                    );
                    assert_eq!(dest.part(size * 8, 8), [0xee; 8], "behind {size} elements");
                    pe.team_sync(team).unwrap();
                }
            }
        }
    }
    destroy(pe, teams);
    pe.release(source);
    pe.release(dest);
}

/// Members that disagree about kind, type or size are told.
pub fn mismatches(pe: &Pe) {
    let team = pe.team(handles::WORLD).unwrap();
    let array = pe.alloc::<u8>(80_000);
    let (dest, source) = (array.slice(0, 40_000), array.slice(40_000, 40_000));
    let (first, sum) = (pe.me == 0, u32::reducer(ReduceOp::Sum).unwrap());
    let floats = f32::reducer(ReduceOp::Sum).unwrap();
    for n in [4, 5000] {
        let kind = if first { Scan::Inclusive } else { Scan::Exclusive };
        let other = if first { &sum } else { &floats };
        let size = if first { n } else { n + 1 };
        let inscan = |n: usize| format!("inscan of {} bytes", 4 * n);
        let exscan = format!("PE 0 calls {}, PE 1 calls exscan of {} bytes; ", inscan(n), 4 * n);
        let other_type = format!("PE 1 calls {} (type = uint32_t on PE 0, float on PE 1); ", inscan(n));
        for (result, words) in [
            (pe.scan(&team, dest, source, n, &sum, kind), exscan),
            (pe.scan(&team, dest, source, n, other, Scan::Inclusive), other_type),
            (
                pe.scan(&team, dest, source, size, &sum, Scan::Inclusive),
                format!("PE 1 calls {}; ", inscan(n + 1)),
            ),
        ] {
            match result {
                Ok(()) if pe.n == 1 => {}
                Err(Error::Disagreement { text }) if pe.n > 1 => {
                    assert!(text.contains(&words), "{words}: {text}")
                }
                other => panic!("{n} elements: {other:?}"),
            }
        }
    }
    pe.meet();
    pe.release(array);
}

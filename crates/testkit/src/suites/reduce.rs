//! Reductions (OpenSHMEM section 9.10.9).
use super::pe::{Pe, Random, Sym};
use bytemuck::Pod;
use dushmem_core::coll::reduce::{Complex, ReduceNum, ReduceOp, Reducer};
use dushmem_core::coll::slot::{PAYLOAD, SMALL};
use dushmem_core::error::Error;
use dushmem_core::team::{Team, handles};
use std::sync::Arc;

const OPS: [ReduceOp; 7] =
    [ReduceOp::And, ReduceOp::Or, ReduceOp::Xor, ReduceOp::Max, ReduceOp::Min, ReduceOp::Sum, ReduceOp::Prod];

/// Operands of the member of `rank`: the same on every PE that works them out.
fn operands<T: Pod>(seed: u64, rank: usize, n: usize) -> Vec<T> {
    let bytes = super::pe::bytes(seed << 8 | rank as u64, n * size_of::<T>());
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}

/// Reduces `n` elements on `team`, out of place and in place, and compares bits with the fold by rank.
fn compare<T: Pod>(
    pe: &Pe,
    team: &Team,
    (dest, source): (Sym<u8>, Sym<u8>),
    inputs: &dyn Fn(usize) -> Vec<T>,
    reducer: &Reducer,
    fold: &dyn Fn(T, T) -> T,
) {
    let mine = inputs(team.my_pe() as usize);
    let n = mine.len();
    let all: Vec<Vec<T>> = (0..team.n_pes() as usize).map(inputs).collect();
    let expected: Vec<T> =
        (0..n).map(|i| all[1..].iter().fold(all[0][i], |so_far, other| fold(so_far, other[i]))).collect();
    let expected: &[u8] = bytemuck::cast_slice(&expected);
    let (name, op) = (std::any::type_name::<T>(), reducer.tag >> 8 & 15);
    source.store(0, bytemuck::cast_slice(&mine));
    dest.slice(0, expected.len() + 16).fill(0xee);
    pe.team_sync(team).unwrap();
    pe.reduce(team, dest, source, n, reducer).unwrap();
    assert!(dest.part(0, expected.len()) == expected, "{n} {name}, operation {op}");
    assert_eq!(dest.part(expected.len(), 16), [0xee; 16], "behind {n} {name}");
    assert!(source.part(0, expected.len()) == bytemuck::cast_slice::<T, u8>(&mine), "the source");
    pe.team_sync(team).unwrap();
    pe.reduce(team, source, source, n, reducer).unwrap();
    assert!(source.part(0, expected.len()) == expected, "{n} {name}, operation {op}, in place");
}

macro_rules! integers {
    ($pe:expr, $team:expr, $room:expr, $($t:ty),*) => {$({
        for op in OPS {
            let reducer = <$t>::reducer(op).expect("integers have all operations");
            let fold = |a: $t, b: $t| match op {
                ReduceOp::And => a & b,
                ReduceOp::Or => a | b,
                ReduceOp::Xor => a ^ b,
                ReduceOp::Max => a.max(b),
                ReduceOp::Min => a.min(b),
                ReduceOp::Sum => a.wrapping_add(b),
                ReduceOp::Prod => a.wrapping_mul(b),
            };
            for n in [1, 37] {
                compare::<$t>($pe, $team, $room, &|rank| operands(op as u64, rank, n), &reducer, &fold);
            }
        }
    })*};
}

fn room(pe: &Pe, bytes: usize) -> (Sym<u8>, Sym<u8>) {
    (pe.alloc::<u8>(bytes), pe.alloc::<u8>(bytes))
}

fn release(pe: &Pe, (dest, source): (Sym<u8>, Sym<u8>)) {
    pe.meet();
    pe.release(dest);
    pe.release(source);
}

/// All integer types with all operations; sums and products wrap.
pub fn integers(pe: &Pe) {
    let room = room(pe, 1024);
    let world = pe.team(handles::WORLD).unwrap();
    integers!(pe, &world, room, i8, u8, i16, u16, i32, u32, i64, u64, isize, usize);
    release(pe, room);
}

/// Floating-point and complex types: bits as those of the fold by rank. Bitwise operations don't exist.
pub fn floats(pe: &Pe) {
    let room = room(pe, 8192);
    let world = pe.team(handles::WORLD).unwrap();
    // Finite values of very different size, so that the order of a sum shows.
    let double = |seed: u64, rank: usize, n: usize| -> Vec<f64> {
        let mut random = Random(seed << 8 | rank as u64);
        let value = |bits: u64| f64::from_bits(bits & 0x800f_ffff_ffff_ffff | (1023 - 20 + bits % 40) << 52);
        (0..n).map(|_| value(random.next())).collect()
    };
    let single =
        |seed: u64, rank: usize, n: usize| double(seed, rank, n).into_iter().map(|x| x as f32).collect();
    for op in [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min] {
        let by64 = |a: f64, b: f64| match op {
            ReduceOp::Sum => a + b,
            ReduceOp::Prod => a * b,
            ReduceOp::Max => a.max(b),
            _ => a.min(b),
        };
        let by32 = |a: f32, b: f32| match op {
            ReduceOp::Sum => a + b,
            ReduceOp::Prod => a * b,
            ReduceOp::Max => a.max(b),
            _ => a.min(b),
        };
        for n in [1, 50, 400] {
            compare::<f64>(
                pe,
                &world,
                room,
                &|rank| double(n as u64, rank, n),
                &f64::reducer(op).unwrap(),
                &by64,
            );
            compare::<f32>(
                pe,
                &world,
                room,
                &|rank| single(n as u64, rank, n),
                &f32::reducer(op).unwrap(),
                &by32,
            );
        }
    }
    let add = |a: [f64; 2], b: [f64; 2]| [a[0] + b[0], a[1] + b[1]];
    let multiply = |a: [f64; 2], b: [f64; 2]| [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]];
    type Fold<T> = dyn Fn([T; 2], [T; 2]) -> [T; 2];
    for (op, fold) in [(ReduceOp::Sum, &add as &Fold<f64>), (ReduceOp::Prod, &multiply)] {
        let pairs = |rank| double(9, rank, 80).chunks_exact(2).map(|c| [c[0], c[1]]).collect();
        compare::<[f64; 2]>(pe, &world, room, &pairs, &Complex::<f64>::reducer(op).unwrap(), fold);
    }
    let add = |a: [f32; 2], b: [f32; 2]| [a[0] + b[0], a[1] + b[1]];
    let pairs = |rank| {
        let all: Vec<f32> = single(9, rank, 80);
        all.chunks_exact(2).map(|c| [c[0], c[1]]).collect()
    };
    compare::<[f32; 2]>(pe, &world, room, &pairs, &Complex::<f32>::reducer(ReduceOp::Sum).unwrap(), &add);
    for op in [ReduceOp::And, ReduceOp::Or, ReduceOp::Xor] {
        assert!(f32::reducer(op).is_none() && f64::reducer(op).is_none());
        assert!(Complex::<f64>::reducer(op).is_none());
    }
    assert!(Complex::<f32>::reducer(ReduceOp::Max).is_none());
    release(pe, room);
}

/// A NaN of any member is the result of max and min; of two zeros the negative one is smaller.
pub fn nan_and_negative_zero(pe: &Pe) {
    let world = pe.team(handles::WORLD).unwrap();
    // Large vectors take another path.
    for n in [3, 1000] {
        let bytes = 8 * n;
        let (dest, source) = room(pe, bytes);
        for who in 0..pe.n.min(3) {
            let value = |i: usize| match i % 3 {
                0 if pe.me == who => f64::NAN,
                0 => [f64::INFINITY, f64::NEG_INFINITY][pe.me % 2],
                1 if pe.me == who => -0.0,
                1 => 0.0,
                _ if pe.me == who => 0.0,
                _ => -0.0,
            };
            let mine: Vec<f64> = (0..n).map(value).collect();
            for op in [ReduceOp::Max, ReduceOp::Min] {
                source.store(0, bytemuck::cast_slice(&mine));
                pe.team_sync(&world).unwrap();
                pe.reduce(&world, dest, source, n, &f64::reducer(op).unwrap()).unwrap();
                let result: Vec<f64> =
                    dest.to_vec().chunks_exact(8).map(bytemuck::pod_read_unaligned).collect();
                for (i, seen) in result.into_iter().enumerate() {
                    let negative = match (i % 3, op) {
                        (0, _) => {
                            assert!(seen.is_nan(), "{op:?} of a NaN at PE {who}: {seen}");
                            continue;
                        }
                        (1, ReduceOp::Max) => pe.n == 1,
                        (1, _) => true,
                        (_, ReduceOp::Max) => false,
                        _ => pe.n > 1,
                    };
                    assert_eq!(seen.to_bits(), if negative { 1 << 63 } else { 0 }, "{op:?} of zeros, {i}");
                }
                pe.team_sync(&world).unwrap();
            }
        }
        release(pe, (dest, source));
    }
}

/// Sizes on both sides of the payload limit and up to 1 MiB, on teams too.
pub fn sizes(pe: &Pe) {
    const LARGE: usize = (1 << 20) / 8 + 3;
    let n = pe.n as i32;
    let room = room(pe, LARGE * 8 + 16);
    let world = pe.team(handles::WORLD).unwrap();
    let backwards = pe.split_strided(&world, n - 1, -1, n).unwrap();
    let half = pe.split_strided(&world, 0, 2, (n + 1) / 2).unwrap();
    let own = [backwards, half].into_iter().flatten().map(|handle| pe.team(handle).unwrap());
    let teams: Vec<Arc<Team>> = own.collect();
    let sum = u64::reducer(ReduceOp::Sum).unwrap();
    let (limit, low) = (PAYLOAD / 8, SMALL / 8);
    for team in std::iter::once(&world).chain(&teams) {
        for n in [0, low - 1, low, low + 1, limit - 1, limit, limit + 1, 16 * pe.n + 1, 5000] {
            compare::<u64>(pe, team, room, &|rank| operands(3, rank, n), &sum, &|a, b| a.wrapping_add(b));
        }
    }
    let bytes = u8::reducer(ReduceOp::Max).unwrap();
    for n in [SMALL, SMALL + 1, PAYLOAD - 1, PAYLOAD, PAYLOAD + 1, 3001] {
        compare::<u8>(pe, &world, room, &|rank| operands(4, rank, n), &bytes, &|a, b| a.max(b));
    }
    compare::<u64>(pe, &world, room, &|rank| operands(5, rank, LARGE), &sum, &|a, b| a.wrapping_add(b));
    teams.iter().for_each(|team| pe.team_destroy(team.handle()).unwrap());
    release(pe, room);
}

/// Elements at addresses that are not aligned for their type are combined as well: the bytes count.
pub fn unaligned(pe: &Pe) {
    let world = pe.team(handles::WORLD).unwrap();
    let (dest, source) = room(pe, 17_000);
    let sum = u32::reducer(ReduceOp::Sum).unwrap();
    for n in [5, 1000, 3000] {
        let inputs = |rank| operands::<u32>(6, rank, n);
        let (dest, source) = (dest.slice(1, 16_000), source.slice(3, 16_000));
        compare::<u32>(pe, &world, (dest, source), &inputs, &sum, &|a, b| a.wrapping_add(b));
    }
    release(pe, (dest, source));
}

/// The same bits again and again, and on every member.
pub fn reproducible(pe: &Pe) {
    let world = pe.team(handles::WORLD).unwrap();
    let sum = f32::reducer(ReduceOp::Sum).unwrap();
    for n in [100, 3000] {
        let (dest, source) = room(pe, 4 * n);
        let mut random = Random(pe.me as u64);
        let mine: Vec<f32> = (0..n).map(|_| (random.next() as f32 - 9e18) * 1e-15).collect();
        source.store(0, bytemuck::cast_slice(&mine));
        pe.meet();
        let mut first: Option<Vec<u8>> = None;
        for _ in 0..5 {
            pe.reduce(&world, dest, source, n, &sum).unwrap();
            let seen = dest.to_vec();
            assert!(*first.get_or_insert_with(|| seen.clone()) == seen);
            pe.meet();
            let mut others = vec![0u8; 4 * n];
            pe.get(pe.ctx(), &mut others, dest.at(0), 0).unwrap();
            assert!(others == seen, "PE 0 has other bits");
            pe.meet();
        }
        release(pe, (dest, source));
    }
}

/// Other operations, types and lengths on one member are found on all.
pub fn mismatches(pe: &Pe) {
    let world = pe.team(handles::WORLD).unwrap();
    let (dest, source) = room(pe, 40_000);
    let last = pe.me + 1 == pe.n;
    let reducer =
        |op, wide: bool| if wide { u64::reducer(op) } else { i64::reducer(op) }.expect("an integer");
    for n in [4usize, 3000] {
        let op = if last { ReduceOp::Sum } else { ReduceOp::Max };
        let other_op = pe.reduce(&world, dest, source, n, &reducer(op, true));
        let other_type = pe.reduce(&world, dest, source, n, &reducer(ReduceOp::Max, last));
        let other_len = pe.reduce(&world, dest, source, n + usize::from(last), &reducer(ReduceOp::Max, true));
        let of = |elements: usize| format!("PE {} calls reduce of {} bytes", pe.n - 1, 8 * elements);
        for (result, words) in [
            (other_op, format!("{} (op = max on PE 0, sum on PE {}); ", of(n), pe.n - 1)),
            (other_type, format!("{} (type = int64_t on PE 0, uint64_t on PE {}); ", of(n), pe.n - 1)),
            (other_len, format!("{}; ", of(n + 1))),
        ] {
            let told = matches!(&result, Err(Error::Disagreement { text }) if text.contains(&words));
            assert_eq!(told, pe.n > 1, "{words}: {result:?}");
        }
    }
    release(pe, (dest, source));
}

/// A custom reducer, as a skin makes one for types that Rust lacks.
pub fn custom(pe: &Pe) {
    /// # Safety
    /// `n` elements of 16 bytes at both.
    unsafe fn combine(acc: *mut u8, other: *const u8, n: usize) {
        for i in 0..n {
            // SAFETY: element `i` of both.
            unsafe {
                let (to, from) = (acc.cast::<u128>().add(i), other.cast::<u128>().add(i));
                to.write(to.read().wrapping_mul(3).wrapping_add(from.read()));
            }
        }
    }
    let world = pe.team(handles::WORLD).unwrap();
    let reducer = Reducer { elem: 16, kind: None, op: ReduceOp::Sum, combine, tag: 0xabcd_0000 };
    let room = room(pe, 80_016);
    // Not commutative: shows the order of the ranks.
    let fold = |a: u128, b: u128| a.wrapping_mul(3).wrapping_add(b);
    for n in [1, 100, 122, 123, 5000] {
        compare::<u128>(pe, &world, room, &|rank| operands(8, rank, n), &reducer, &fold);
    }
    release(pe, room);
}

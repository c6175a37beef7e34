//! Collectives and teams, on both transports.
mod common;

use dushmem::{And, Max, Min, Or, Prod, Result, Sum, World, Xor};

suite!(
    broadcasts,
    collects,
    collects_of_different_lengths,
    scans,
    scattered_reductions,
    exchanges,
    reductions,
    floats_reduce_alike,
    teams,
    teams_of_teams,
    back_to_back
);

/// Below and above what travels through the engine's own buffers.
const LENGTHS: [usize; 5] = [0, 1, 7, 200, 30_000];

fn broadcasts(world: &World) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    for len in LENGTHS {
        let (dest, source) = (world.alloc_filled(len, 0u32)?, world.alloc_filled(len, 7 * me as u32)?);
        for root in 0..n {
            world.broadcast(&dest, &source, root)?;
            assert_eq!(dest.to_vec(), vec![7 * root as u32; len]);
            world.sync()?;
        }
        world.broadcast(&source, &source, n - 1)?;
        assert_eq!(source.to_vec(), vec![7 * (n - 1) as u32; len]);
    }
    Ok(())
}

fn collects(world: &World) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    for len in LENGTHS {
        let value = |pe: usize, i: usize| (pe * 1000 + i) as u16;
        let source = world.alloc_from(&(0..len).map(|i| value(me, i)).collect::<Vec<_>>())?;
        let dest = world.alloc_zeroed(n * len)?;
        world.fcollect(&dest, &source)?;
        let all: Vec<u16> = (0..n).flat_map(|pe| (0..len).map(move |i| value(pe, i))).collect();
        assert_eq!(dest.to_vec(), all);
    }
    Ok(())
}

fn collects_of_different_lengths(world: &World) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    for len in LENGTHS {
        let count = |pe: usize| (pe * len) / n + pe % 2;
        let value = |pe: usize, i: usize| (pe * 1000 + i) as u16;
        let source = world.alloc_from(&(0..=len).map(|i| value(me, i)).collect::<Vec<_>>())?;
        let all: Vec<u16> = (0..n).flat_map(|pe| (0..count(pe)).map(move |i| value(pe, i))).collect();
        let dest = world.alloc_filled(all.len() + 1, 9u16)?;
        assert_eq!(world.collect(&dest, &source[..count(me)])?, all.len());
        assert_eq!((&dest.to_vec()[..all.len()], dest[all.len()].load()), (&all[..], 9));
        if all.len() > 1 {
            world.sync()?;
            let error = world.collect(&dest[..all.len() - 1], &source[..count(me)]).unwrap_err().to_string();
            assert!(error.contains("collect: dest = ") && error.contains("no room"), "{error}");
        }
        world.sync()?;
    }
    Ok(())
}

fn scans(world: &World) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    for len in LENGTHS {
        let value = |pe: usize, i: usize| ((pe + 1) * (i + 1)) as u64;
        let sum = |end: usize| (0..len).map(|i| (0..end).map(|pe| value(pe, i)).sum()).collect::<Vec<u64>>();
        let source = world.alloc_from(&(0..len).map(|i| value(me, i)).collect::<Vec<_>>())?;
        let dest = world.alloc_filled(len, 7u64)?;
        world.sum_exscan(&dest, &source)?;
        assert_eq!(dest.to_vec(), sum(me));
        world.sum_inscan(&source, &source)?;
        assert_eq!(source.to_vec(), sum(me + 1));
    }
    assert!(n > 0);
    Ok(())
}

fn scattered_reductions(world: &World) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    for len in LENGTHS {
        let value = |pe: usize, i: usize| ((pe + 1) * (i + 1)) as i64;
        let source = world.alloc_from(&(0..len * n).map(|i| value(me, i)).collect::<Vec<_>>())?;
        let dest = world.alloc_zeroed(len)?;
        world.reduce_scatter(&dest, &source, Sum)?;
        let expected = (me * len..(me + 1) * len).map(|i| (0..n).map(|pe| value(pe, i)).sum());
        assert_eq!(dest.to_vec(), expected.collect::<Vec<i64>>());
    }
    Ok(())
}

fn exchanges(world: &World) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    for len in LENGTHS.map(|len| len / 4) {
        let value = |from: usize, to: usize, i: usize| (from * 100 + to * 10 + i) as u64;
        let mine: Vec<u64> = (0..n).flat_map(|to| (0..len).map(move |i| value(me, to, i))).collect();
        let (source, dest) = (world.alloc_from(&mine)?, world.alloc_zeroed(n * len)?);
        world.alltoall(&dest, &source)?;
        let expected: Vec<u64> = (0..n).flat_map(|from| (0..len).map(move |i| value(from, me, i))).collect();
        assert_eq!(dest.to_vec(), expected);
    }
    Ok(())
}

fn reductions(world: &World) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    for len in LENGTHS {
        let value = |pe: usize, i: usize| ((pe + 3) * (i + 5)) as i32;
        let source = world.alloc_from(&(0..len).map(|i| value(me, i)).collect::<Vec<_>>())?;
        let dest = world.alloc_zeroed(len)?;
        let expect = |what: &str, fold: fn(i32, i32) -> i32| {
            let all = |i: usize| (1..n).fold(value(0, i), |acc, pe| fold(acc, value(pe, i)));
            assert_eq!(dest.to_vec(), (0..len).map(all).collect::<Vec<_>>(), "{what} of {len}");
        };
        world.reduce(&dest, &source, Sum)?;
        expect("sum", i32::wrapping_add);
        world.reduce(&dest, &source, Prod)?;
        expect("prod", i32::wrapping_mul);
        world.reduce(&dest, &source, Min)?;
        expect("min", i32::min);
        world.reduce(&dest, &source, Max)?;
        expect("max", i32::max);
        world.reduce(&dest, &source, And)?;
        expect("and", |a, b| a & b);
        world.reduce(&dest, &source, Or)?;
        expect("or", |a, b| a | b);
        world.reduce(&dest, &source, Xor)?;
        expect("xor", |a, b| a ^ b);
        world.reduce(&source, &source, Sum)?;
        world.reduce(&dest, &source, Max)?;
        assert_eq!(dest.to_vec(), source.to_vec());
    }
    Ok(())
}

fn floats_reduce_alike(world: &World) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let value = |pe: usize, i: usize| 0.1f64 * (pe + 1) as f64 + 1e-9 * i as f64;
    for len in LENGTHS {
        let source = world.alloc_from(&(0..len).map(|i| value(me, i)).collect::<Vec<_>>())?;
        let dest = world.alloc_zeroed(len)?;
        world.reduce(&dest, &source, Sum)?;
        // In the order of the PEs, to the last bit.
        let all = |i: usize| (1..n).fold(value(0, i), |acc, pe| acc + value(pe, i)).to_bits();
        assert!(dest.iter().enumerate().all(|(i, cell)| cell.load().to_bits() == all(i)), "{len}");
    }
    let (x, y) = (world.alloc(if me == n / 2 { f32::NAN } else { 1.0 })?, world.alloc(0.0)?);
    world.reduce(y.as_slice(), x.as_slice(), Max)?;
    assert!(y.load().is_nan());
    Ok(())
}

fn teams(world: &World) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let everybody = world.team()?;
    assert_eq!((everybody.my_pe(), everybody.n_pes(), world.node_team()?.n_pes()), (me, n, n));
    let even = everybody.split_strided(0, 2, n.div_ceil(2))?;
    assert_eq!(even.is_some(), me % 2 == 0);
    let (x, sum) = (world.alloc(1 + me as u64)?, world.alloc(0u64)?);
    if let Some(team) = even {
        assert_eq!((team.my_pe(), team.n_pes()), (me / 2, n.div_ceil(2)));
        assert_eq!(team.world_pe(team.n_pes()), None);
        assert_eq!(everybody.translate_pe(me, &team), Some(me / 2));
        assert_eq!(everybody.translate_pe(1, &team), None);
        assert_eq!(team.translate_pe(me / 2, &everybody), Some(me));
        for _ in 0..10 {
            team.reduce(sum.as_slice(), x.as_slice(), Sum)?;
            assert_eq!(sum.load(), (0..n).step_by(2).map(|pe| 1 + pe as u64).sum());
            team.sync()?;
        }
        team.broadcast(sum.as_slice(), x.as_slice(), team.n_pes() - 1)?;
        assert_eq!(sum.load(), 1 + (2 * (team.n_pes() - 1)) as u64);
        let all = team.fcollect(x.as_slice(), &x.as_slice()[..0]);
        assert!(all.is_err(), "dest is too long");
        team.destroy()?;
    }
    assert!(world.team()?.destroy().is_err());
    let error = everybody.split_strided(0, 1, n + 1).unwrap_err().to_string();
    let values = format!("split_strided: start = 0, stride = 1, size = {}: ", n + 1);
    assert!(error.contains(&values), "{error}");
    world.barrier()
}

fn teams_of_teams(world: &World) -> Result<()> {
    let n = world.n_pes();
    // Halves again and again, with a sum in each.
    let mut team = world.team()?.split_strided(0, 1, n)?.expect("all are members");
    let (x, y) = (world.alloc(1u32)?, world.alloc(0u32)?);
    while team.n_pes() > 1 {
        let half = team.n_pes() / 2;
        let lower = team.split_strided(0, 1, half)?;
        let upper = team.split_strided(half, 1, team.n_pes() - half)?;
        let next = lower.or(upper).expect("each is in one half");
        next.reduce(y.as_slice(), x.as_slice(), Sum)?;
        assert_eq!(y.load() as usize, next.n_pes());
        team.destroy()?;
        team = next;
    }
    team.destroy()?;
    world.barrier()
}

fn back_to_back(world: &World) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let (x, y) = (world.alloc_zeroed::<u64>(600)?, world.alloc_zeroed::<u64>(600)?);
    for round in 0..40u64 {
        // Other roots and sizes each time, with nothing in between.
        let len = [1, 600, 40][round as usize % 3];
        let root = round as usize % n;
        x[..len].fill(round * 10 + me as u64);
        world.broadcast(&y[..len], &x[..len], root)?;
        assert_eq!(y[..len].to_vec(), vec![round * 10 + root as u64; len]);
        world.reduce(&y[..len], &y[..len], Max)?;
        assert_eq!(y[len - 1].load(), round * 10 + root as u64);
    }
    Ok(())
}

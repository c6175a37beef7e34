//! Put, get, atomics, signals, waits, order, contexts and scopes, on both transports.
mod common;

use dushmem::{Cmp, Result, SignalOp, World};

suite!(
    ring_of_values,
    slices_of_many_sizes,
    structs_travel_whole,
    strides,
    every_atomic,
    tickets_are_unique,
    floats_swap_bits,
    signals_come_after_their_data,
    fence_orders,
    quiet_completes,
    sets_of_words,
    contexts_are_independent,
    team_numbers_on_team_contexts,
    scopes_complete_at_their_end,
    scopes_complete_when_they_panic,
    atomics_in_scopes,
    threads_share_a_context,
    locks_exclude,
    peers_are_mapped_or_not,
);

fn neighbours(world: &World) -> (usize, usize, usize) {
    let (me, n) = (world.my_pe(), world.n_pes());
    (me, (me + 1) % n, (me + n - 1) % n)
}

fn ring_of_values(world: &World) -> Result<()> {
    let (me, right, left) = neighbours(world);
    let (a, b, c) = (world.alloc(0u8)?, world.alloc(0i16)?, world.alloc([0u64; 2])?);
    world.p(&a, me as u8, right)?;
    world.p(&b, -(me as i16), right)?;
    world.p(&c, [me as u64, !0], right)?;
    world.barrier()?;
    assert_eq!((a.load(), b.load(), c.load()), (left as u8, -(left as i16), [left as u64, !0]));
    assert_eq!(world.g(&a, right)?, me as u8);
    assert_eq!(world.g(&c, right)?[0], me as u64);
    world.barrier()
}

fn slices_of_many_sizes(world: &World) -> Result<()> {
    let (me, right, left) = neighbours(world);
    for len in [0, 1, 3, 8, 17, 256, 1000, 100_000] {
        let value = |pe: usize, i: usize| (pe * 7 + i) as u16;
        let x = world.alloc_zeroed::<u16>(len + 2)?;
        let mine: Vec<u16> = (0..len).map(|i| value(me, i)).collect();
        world.put(&x[1..len + 1], &mine, right)?;
        world.barrier()?;
        let got = x.to_vec();
        assert!((0..len).all(|i| got[i + 1] == value(left, i)), "{len}");
        assert_eq!((got[0], got[len + 1]), (0, 0));
        let mut back = vec![0; len];
        world.get(&mut back, &x[1..len + 1], right)?;
        assert_eq!(back, mine);
        let own = world.alloc_zeroed::<u16>(len)?;
        world.get_into(&own, &x[1..len + 1], right)?;
        assert_eq!(own.to_vec(), mine);
        world.barrier()?;
        // From own symmetric memory.
        world.put(&x[..len], &own, left)?;
        world.barrier()?;
        assert!((0..len).all(|i| x[i].load() == value(right, i)), "{len}");
    }
    Ok(())
}

fn structs_travel_whole(world: &World) -> Result<()> {
    use dushmem::bytemuck::{Pod, Zeroable};
    #[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
    #[repr(C)]
    struct Body {
        at: [f64; 3],
        id: u32,
        kind: [u8; 4],
    }
    let (me, right, left) = neighbours(world);
    let body = |pe: usize| Body { at: [pe as f64, 0.5, -1.0], id: pe as u32, kind: *b"star" };
    let x = world.alloc(body(99))?;
    world.p(&x, body(me), right)?;
    world.barrier()?;
    assert_eq!(x.load(), body(left));
    x.store(body(5));
    assert_eq!(x.load(), body(5));
    world.barrier()
}

fn strides(world: &World) -> Result<()> {
    let (me, right, left) = neighbours(world);
    let x = world.alloc_filled(20, -1i64)?;
    let source: Vec<i64> = (0..12).map(|i| (100 * me + i) as i64).collect();
    world.iput((&x[1..], 3), (&source, 2), 6, right)?;
    world.barrier()?;
    for (i, cell) in x.iter().enumerate() {
        let k = i.wrapping_sub(1);
        let expected = if i > 0 && k % 3 == 0 && k / 3 < 6 { (100 * left + 2 * (k / 3)) as i64 } else { -1 };
        assert_eq!(cell.load(), expected, "{i}");
    }
    let mut back = [0; 6];
    world.iget((&mut back, 1), (&x[1..], 3), 6, right)?;
    assert_eq!(back, [0, 2, 4, 6, 8, 10].map(|i| (100 * me + i) as i64));
    world.iget((&mut back, 1), (&x, 1), 0, right)?;
    assert!(world.iput((&x, 4), (&source, 1), 6, right).is_err());
    assert!(world.iput((&x, 0), (&source, 1), 2, right).is_err());
    world.barrier()
}

fn every_atomic(world: &World) -> Result<()> {
    let (me, right, _) = neighbours(world);
    macro_rules! check {
        ($t:ty) => {{
            let x = world.alloc::<$t>(5)?;
            assert_eq!(world.atomic_fetch_add(&x, 3, right)?, 5);
            assert_eq!(world.atomic_fetch_inc(&x, right)?, 8);
            assert_eq!(world.atomic_compare_swap(&x, 1, 2, right)?, 9);
            assert_eq!(world.atomic_compare_swap(&x, 9, 12, right)?, 9);
            assert_eq!(world.atomic_fetch_and(&x, 0b0110, right)?, 12);
            assert_eq!(world.atomic_fetch_or(&x, 0b1001, right)?, 0b0100);
            assert_eq!(world.atomic_fetch_xor(&x, 0b1111, right)?, 0b1101);
            assert_eq!(world.atomic_swap(&x, <$t>::MAX, right)?, 0b0010);
            assert_eq!(world.atomic_fetch_add(&x, 1, right)?, <$t>::MAX);
            assert_eq!(world.atomic_fetch(&x, right)?, <$t>::MIN);
            world.barrier()?;
            x.store(0);
            world.barrier()?;
            for pe in 0..world.n_pes() {
                world.atomic_or(&x, 1 << me, pe)?;
            }
            world.barrier()?;
            let n = world.n_pes() as $t;
            assert_eq!(x.load(), (1 << n) - 1);
            world.barrier()?;
            for pe in 0..world.n_pes() {
                world.atomic_add(&x, 1 << 16, pe)?;
                world.atomic_inc(&x, pe)?;
                world.atomic_add(&x, <$t>::MAX, pe)?;
                world.atomic_add(&x, <$t>::MIN, pe)?;
            }
            world.barrier()?;
            // 1 + MAX + MIN wraps to 0, whatever the order.
            assert_eq!(x.load(), (n << 16) + (1 << n) - 1);
            world.barrier()?;
            world.atomic_set(&x, 0b11, right)?;
            world.quiet()?;
            world.atomic_and(&x, 0b01, right)?;
            world.quiet()?;
            world.atomic_xor(&x, 0b10, right)?;
            world.barrier()?;
            assert_eq!(x.load(), 0b11);
            world.barrier()?;
        }};
    }
    check!(i32);
    check!(u32);
    check!(i64);
    check!(u64);
    check!(isize);
    check!(usize);
    Ok(())
}

fn tickets_are_unique(world: &World) -> Result<()> {
    const EACH: usize = 50;
    let n = world.n_pes();
    let (counter, taken) = (world.alloc(0u32)?, world.alloc_zeroed::<u32>(n * EACH)?);
    for _ in 0..EACH {
        let ticket = world.atomic_fetch_inc(&counter, n - 1)?;
        world.atomic_inc(&taken[ticket as usize], 0)?;
    }
    world.barrier()?;
    if world.my_pe() == 0 {
        assert_eq!(taken.to_vec(), vec![1; n * EACH]);
    }
    world.barrier()
}

fn floats_swap_bits(world: &World) -> Result<()> {
    let (_, right, _) = neighbours(world);
    let nan = f64::from_bits(0x7ff8_0000_0000_1234);
    let (x, y) = (world.alloc(nan)?, world.alloc(-0.0f32)?);
    assert_eq!(world.atomic_fetch(&x, right)?.to_bits(), nan.to_bits());
    assert_eq!(world.atomic_swap(&x, 1.5, right)?.to_bits(), nan.to_bits());
    assert_eq!(world.atomic_fetch(&y, right)?.to_bits(), (-0.0f32).to_bits());
    world.barrier()?;
    world.atomic_set(&y, 2.5, right)?;
    world.barrier()?;
    assert_eq!((x.load(), y.load()), (1.5, 2.5));
    world.barrier()
}

fn signals_come_after_their_data(world: &World) -> Result<()> {
    let (me, right, left) = neighbours(world);
    // In turn, so that a round's data is not overwritten before it has been read.
    let buffers = [world.alloc_zeroed::<u32>(300)?, world.alloc_zeroed::<u32>(300)?];
    let signal = world.alloc(0u64)?;
    for round in 1..=20u64 {
        let buffer = &buffers[round as usize % 2];
        let data = [me as u32 + 1000 * round as u32; 300];
        world.put_signal(buffer, &data, &signal, 1, SignalOp::Add, right)?;
        world.signal_wait_until(&signal, Cmp::Ge, round)?;
        assert_eq!(buffer.to_vec(), [left as u32 + 1000 * round as u32; 300]);
        world.barrier()?;
    }
    assert_eq!(world.signal_fetch(&signal)?, 20);
    world.barrier()?;
    world.put_signal(&buffers[0][..0], &[], &signal, 77, SignalOp::Set, right)?;
    world.signal_wait_until(&signal, Cmp::Eq, 77)?;
    world.barrier()?;
    world.signal_op(&signal, 3, SignalOp::Add, right)?;
    world.signal_wait_until(&signal, Cmp::Eq, 80)?;
    world.barrier()
}

fn fence_orders(world: &World) -> Result<()> {
    let (me, right, left) = neighbours(world);
    let (data, flag) = (world.alloc_zeroed::<u64>(40)?, world.alloc(0i32)?);
    for round in 1..=20 {
        world.put(&data, &[(me * 100 + round) as u64; 40], right)?;
        world.fence()?;
        world.atomic_set(&flag, round as i32, right)?;
        assert!(world.wait_until(&flag, Cmp::Ge, round as i32)? >= round as i32);
        assert_eq!(data.to_vec(), [(left * 100 + round) as u64; 40]);
        world.barrier()?;
    }
    Ok(())
}

fn quiet_completes(world: &World) -> Result<()> {
    let (me, right, _) = neighbours(world);
    let x = world.alloc_zeroed::<u32>(64)?;
    for round in 0..20 {
        let value = (me + 100 * round) as u32;
        world.put(&x, &[value; 64], right)?;
        world.quiet()?;
        assert_eq!(world.g(&x[63], right)?, value);
    }
    world.barrier()
}

fn sets_of_words(world: &World) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let words = world.alloc_zeroed::<u64>(n)?;
    let set = || world.wait_set(&words);
    assert!(!set().test_all(Cmp::Gt, 0)?);
    assert_eq!(set().test_any(Cmp::Gt, 0)?, None);
    assert_eq!(set().test_some(Cmp::Gt, 0)?, []);
    world.barrier()?;
    for pe in 0..n {
        world.atomic_set(&words[me], me as u64 + 10, pe)?;
    }
    let mut seen = vec![false; n];
    while let Some(i) = set().except(&seen)?.wait_any(Cmp::Ge, 10)? {
        assert!(!std::mem::replace(&mut seen[i], true));
    }
    assert_eq!(seen, vec![true; n]);
    let each: Vec<u64> = (0..n as u64).map(|i| i + 10).collect();
    set().wait_all(Cmp::Eq, &each[..])?;
    assert!(set().test_all(Cmp::Eq, &each[..])?);
    if n > 1 {
        let mut some = set().wait_some(Cmp::Ge, 11)?;
        some.sort();
        assert_eq!(some, (1..n).collect::<Vec<_>>());
    }
    assert_eq!(set().test_some(Cmp::Eq, 10)?, [0]);
    // Nothing left to wait for.
    let none = || set().except(&vec![true; n]);
    none()?.wait_all(Cmp::Eq, 0)?;
    assert_eq!(none()?.wait_any(Cmp::Eq, 0)?, None);
    assert_eq!(none()?.wait_some(Cmp::Eq, 0)?, []);
    assert!(none()?.test_all(Cmp::Eq, 0)?);
    assert!(set().except(&[]).is_err());
    world.barrier()
}

fn contexts_are_independent(world: &World) -> Result<()> {
    let (me, right, left) = neighbours(world);
    let (a, b) = (world.alloc(0usize)?, world.alloc(0usize)?);
    let (one, two) = (world.context()?, world.context()?);
    one.p(&a, me + 1, right)?;
    two.p(&b, me + 2, right)?;
    two.quiet()?;
    assert_eq!(world.g(&b, right)?, me + 2);
    one.quiet()?;
    assert_eq!(world.g(&a, right)?, me + 1);
    world.barrier()?;
    assert_eq!((a.load(), b.load()), (left + 1, left + 2));
    // A context may go before its operations are complete: the next allocation completes them.
    world.barrier()?;
    one.p(&a, 50, right)?;
    drop(one);
    world.alloc(0u8)?;
    assert_eq!(a.load(), 50);
    Ok(())
}

fn team_numbers_on_team_contexts(world: &World) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let x = world.alloc(usize::MAX)?;
    let reversed = world.team()?.split_strided(n - 1, -1, n)?.expect("everybody is a member");
    assert_eq!(reversed.my_pe(), n - 1 - me);
    let ctx = reversed.context()?;
    ctx.p(&x, me, me)?;
    ctx.quiet()?;
    reversed.barrier()?;
    assert_eq!(x.load(), n - 1 - me);
    let error = ctx.p(&x, 0, n).unwrap_err().to_string();
    assert!(error.starts_with(&format!("PE {me}: p: pe = {n}")), "{error}");
    world.barrier()?;
    reversed.destroy()
}

fn scopes_complete_at_their_end(world: &World) -> Result<()> {
    let (me, right, left) = neighbours(world);
    let (x, y, signal) =
        (world.alloc_zeroed::<u32>(1000)?, world.alloc_filled(500, me as u32)?, world.alloc(0u64)?);
    let (data, mut fetched) = (vec![me as u32 + 7; 500], vec![0; 400]);
    let own = world.alloc_zeroed::<u32>(100)?;
    let inner = world.scope(|s| {
        s.put(&x[..500], &data, right)?;
        s.put_signal(&x[500..], &y, &signal, 4, SignalOp::Set, right)?;
        s.get(&mut fetched, &y[..400], right)?;
        s.get_into(&own, &y[400..], right)?;
        Ok(me)
    })?;
    assert_eq!(inner, me);
    assert_eq!(fetched, [right as u32; 400]);
    assert_eq!(own.to_vec(), [right as u32; 100]);
    // Complete means complete at the target.
    assert_eq!(world.g(&x[499], right)?, me as u32 + 7);
    world.signal_wait_until(&signal, Cmp::Eq, 4)?;
    assert_eq!(x[500..].to_vec(), [left as u32; 500]);
    world.barrier()?;
    assert_eq!(x[..500].to_vec(), [left as u32 + 7; 500]);
    world.barrier()
}

fn scopes_complete_when_they_panic(world: &World) -> Result<()> {
    let (me, right, _) = neighbours(world);
    let x = world.alloc_zeroed::<u64>(200)?;
    let data = [me as u64 + 1; 200];
    let ctx = world.default_context();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        ctx.scope(|s| {
            s.put(&x, &data, right)?;
            // Without the message that a panic prints.
            std::panic::resume_unwind(Box::new(()));
            #[allow(unreachable_code, reason = "gives the closure its type")]
            Ok(())
        })
    }));
    assert!(caught.is_err());
    assert_eq!(world.g(&x[199], right)?, me as u64 + 1);
    world.barrier()
}

fn atomics_in_scopes(world: &World) -> Result<()> {
    let (_, right, _) = neighbours(world);
    let (x, f) = (world.alloc_from(&[1u64, 2, 3, 0b11, 0b11, 0b11, 9, 4])?, world.alloc(0.5f32)?);
    let mut old = [0; 8];
    let mut float = 0.0;
    let [a, b, c, d, e, g, h, i] = &mut old;
    world.scope(|s| {
        s.atomic_fetch(a, &x[0], right)?;
        s.atomic_fetch_add(b, &x[1], 10, right)?;
        s.atomic_fetch_inc(c, &x[2], right)?;
        s.atomic_fetch_and(d, &x[3], 0b01, right)?;
        s.atomic_fetch_or(e, &x[4], 0b100, right)?;
        s.atomic_fetch_xor(g, &x[5], 0b101, right)?;
        s.atomic_swap(h, &x[6], 1, right)?;
        s.atomic_compare_swap(i, &x[7], 4, 5, right)?;
        s.atomic_swap(&mut float, &f, 1.5, right)
    })?;
    assert_eq!((old, float), ([1, 2, 3, 3, 3, 3, 9, 4], 0.5));
    world.barrier()?;
    assert_eq!((x.to_vec(), f.load()), (vec![1, 12, 4, 0b01, 0b111, 0b110, 1, 5], 1.5));
    world.barrier()
}

fn threads_share_a_context(world: &World) -> Result<()> {
    let (me, right, left) = neighbours(world);
    let (x, counter) = (world.alloc_zeroed::<usize>(4)?, world.alloc(0u64)?);
    let ctx = world.default_context();
    std::thread::scope(|threads| {
        for i in 0..4 {
            let (x, counter) = (&x, &counter);
            threads.spawn(move || {
                ctx.p(&x[i], 10 * me + i, right).unwrap();
                ctx.fence().unwrap();
                ctx.atomic_inc(counter, right).unwrap();
            });
        }
        ctx.wait_until(&counter, Cmp::Eq, 4).unwrap();
    });
    world.barrier()?;
    assert_eq!(x.to_vec(), [0, 1, 2, 3].map(|i| 10 * left + i));
    world.barrier()
}

fn locks_exclude(world: &World) -> Result<()> {
    let (lock, total) = (world.alloc_lock()?, world.alloc_zeroed::<u64>(2)?);
    for _ in 0..10 {
        lock.with(|| {
            let [a, b] = [world.g(&total[0], 0)?, world.g(&total[1], 0)?];
            assert_eq!(a, b);
            world.p(&total[0], a + 1, 0)?;
            world.p(&total[1], b + 1, 0)
        })?;
    }
    world.barrier()?;
    assert_eq!(world.g(&total[1], 0)?, 10 * world.n_pes() as u64);
    world.barrier()?;
    if world.my_pe() == 0 {
        lock.acquire()?;
    }
    world.barrier()?;
    assert!(!lock.try_acquire()?);
    world.barrier()?;
    if world.my_pe() == 0 {
        lock.release()?;
        assert!(lock.try_acquire()?);
        lock.release()?;
    }
    let error = lock.release().unwrap_err().to_string();
    assert!(error.contains("clear_lock") && error.contains("does not hold"), "{error}");
    world.barrier()
}

fn peers_are_mapped_or_not(world: &World) -> Result<()> {
    let (me, right, left) = neighbours(world);
    let x = world.alloc_from(&[me; 10])?;
    let mapped = world.peer(&x[2..], right)?;
    assert_eq!(world.shared_team()?.n_pes() > 1, mapped.is_some() && world.n_pes() > 1);
    if let Some(theirs) = mapped {
        assert_eq!((theirs.len(), theirs.load(7)), (8, right));
        world.barrier()?;
        theirs.store(0, me + 100);
        let mut copy = [0; 8];
        theirs.copy_to(&mut copy);
        assert_eq!(copy[0], me + 100);
        copy[7] = me + 200;
        theirs.copy_from(&copy);
        world.barrier()?;
        assert_eq!((x[2].load(), x[9].load()), (left + 100, left + 200));
    }
    world.barrier()
}

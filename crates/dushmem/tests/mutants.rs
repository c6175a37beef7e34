//! Programs with an ordering call left out: the reordering transport must show what is wrong with them,
//! or the tests that pass on it would prove nothing.
mod common;

use common::builder;
use dushmem::{Cmp, Result, TransportKind, World};

// Where a PE looks while the other must not complete anything, the other waits for it without a barrier.

/// True if `body`, which says whether it saw what it should not see, does so with some seed.
fn goes_wrong(body: fn(&World) -> Result<bool>) -> bool {
    (1..40).any(|seed| {
        let seen = builder(TransportKind::Loopback, seed).run(2, body);
        seen.unwrap_or_else(|error| panic!("seed {seed}: {error}")).contains(&true)
    })
}

#[test]
fn without_a_fence_the_flag_overtakes_the_data() {
    assert!(goes_wrong(|world| {
        let (data, flag) = (world.alloc_zeroed::<u64>(100)?, world.alloc(0u32)?);
        let looked = world.alloc(0u32)?;
        let mut wrong = false;
        if world.my_pe() == 0 {
            world.put(&data, &[1; 100], 1)?;
            // world.fence()?;
            world.atomic_set(&flag, 1, 1)?;
            world.wait_until(&looked, Cmp::Eq, 1)?;
        } else {
            world.wait_until(&flag, Cmp::Eq, 1)?;
            wrong = data.iter().any(|cell| cell.load() != 1);
            world.atomic_set(&looked, 1, 0)?;
        }
        world.barrier()?;
        assert!(world.my_pe() == 0 || data.to_vec() == [1; 100]);
        Ok(wrong)
    }));
}

#[test]
fn a_fence_instead_of_a_quiet_completes_nothing() {
    assert!(goes_wrong(|world| {
        let x = world.alloc(0u32)?;
        let other = 1 - world.my_pe();
        world.p(&x, 1, other)?;
        world.fence()?; // quiet
        let wrong = world.g(&x, other)? != 1;
        world.barrier()?;
        assert_eq!(x.load(), 1);
        Ok(wrong)
    }));
}

#[test]
fn a_sync_instead_of_a_barrier_completes_no_puts() {
    assert!(goes_wrong(|world| {
        let x = world.alloc(0u32)?;
        world.p(&x, 1, 1 - world.my_pe())?;
        world.sync()?; // barrier
        let wrong = x.load() != 1;
        world.barrier()?;
        assert_eq!(x.load(), 1);
        Ok(wrong)
    }));
}

#[test]
fn a_quiet_of_another_context_completes_nothing() {
    assert!(goes_wrong(|world| {
        let (x, ctx) = (world.alloc(0u32)?, world.context()?);
        let other = 1 - world.my_pe();
        ctx.p(&x, 1, other)?;
        world.quiet()?; // ctx.quiet()
        let wrong = world.g(&x, other)? != 1;
        ctx.quiet()?;
        world.barrier()?;
        assert_eq!(x.load(), 1);
        Ok(wrong)
    }));
}

#[test]
fn a_signal_covers_no_earlier_put() {
    assert!(goes_wrong(|world| {
        let (a, b, signal) = (world.alloc(0u32)?, world.alloc(0u32)?, world.alloc(0u64)?);
        let looked = world.alloc(0u32)?;
        let mut wrong = false;
        if world.my_pe() == 0 {
            world.p(&a, 1, 1)?;
            // world.fence()?;
            world.put_signal(b.as_slice(), &[1], &signal, 1, dushmem::SignalOp::Set, 1)?;
            world.wait_until(&looked, Cmp::Eq, 1)?;
        } else {
            world.signal_wait_until(&signal, Cmp::Eq, 1)?;
            assert_eq!(b.load(), 1);
            wrong = a.load() != 1;
            world.atomic_set(&looked, 1, 0)?;
        }
        world.barrier()?;
        Ok(wrong)
    }));
}

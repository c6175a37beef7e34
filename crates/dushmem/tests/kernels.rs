//! Kernels as closures, on both transports.
mod common;

use dushmem::{Cmp, Result, SignalOp, World};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

suite!(
    a_ring_of_blocks,
    what_is_borrowed_is_used,
    kernels_wait_for_peers,
    blocks_share_memory,
    one_after_another
);

fn a_ring_of_blocks(world: &World) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let inbox = world.alloc_zeroed::<u32>(4 * 32)?;
    let ctx = world.default_context();
    world.scope(|s| {
        s.launch(4, 32, 0, |t| {
            let i = t.global_x();
            ctx.p(&inbox[i], (1000 * me + i) as u32, (me + 1) % n).unwrap();
        })
    })?;
    world.barrier()?;
    let left = (me + n - 1) % n;
    let expected: Vec<u32> = (0..128).map(|i| (1000 * left + i) as u32).collect();
    assert_eq!(inbox.to_vec(), expected);
    world.barrier()
}

fn what_is_borrowed_is_used(world: &World) -> Result<()> {
    // Locals, not symmetric: the scope's end waits for the kernel.
    let sum = AtomicU64::new(0);
    let numbers: Vec<u64> = (0..1000).collect();
    world.scope(|s| {
        s.launch((2, 2), (5, 5, 2), 0, |t| {
            let (block, thread) = (t.block_idx(), t.thread_idx());
            let i = (block.y * 2 + block.x) * 50 + (thread.z * 5 + thread.y) * 5 + thread.x;
            sum.fetch_add(numbers[i as usize], Ordering::Relaxed);
        })
    })?;
    assert_eq!(sum.into_inner(), 199 * 200 / 2);
    world.barrier()
}

fn kernels_wait_for_peers(world: &World) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let (data, signal) = (world.alloc_zeroed::<u64>(8)?, world.alloc(0u64)?);
    let ctx = world.default_context();
    let right = (me + 1) % n;
    world.scope(|s| {
        s.launch(1, 8, 0, |t| {
            let i = t.global_x();
            // The waiting threads let the last one send.
            if i == 7 {
                let values = [me as u64 + 5; 8];
                ctx.put_signal(&data, &values, &signal, 1, SignalOp::Set, right).unwrap();
            }
            ctx.signal_wait_until(&signal, Cmp::Eq, 1).unwrap();
            assert_eq!(data[i].load(), ((me + n - 1) % n) as u64 + 5);
        })
    })?;
    world.barrier()
}

fn blocks_share_memory(world: &World) -> Result<()> {
    let out = world.alloc_zeroed::<u32>(6)?;
    world.scope(|s| {
        s.launch(6, 16, 4 * 16, |t| {
            let i = t.thread_idx().x as usize;
            assert_eq!(t.shared_bytes(), 64);
            // SAFETY: 16 words, accessed atomically by the block's threads only.
            let word = |i: usize| unsafe { AtomicU32::from_ptr(t.shared().cast::<u32>().add(i)) };
            word(i).store(i as u32 + t.block_idx().x, Ordering::Relaxed);
            t.sync_threads();
            if i == 0 {
                out[t.block_idx().x as usize].store((0..16).map(|i| word(i).load(Ordering::Relaxed)).sum());
            }
        })
    })?;
    assert_eq!(out.to_vec(), [0, 1, 2, 3, 4, 5].map(|block| 120 + 16 * block));
    world.barrier()
}

fn one_after_another(world: &World) -> Result<()> {
    let x = world.alloc(1u64)?;
    world.scope(|s| {
        for _ in 0..10 {
            s.launch(1, 1, 0, |_| x.store(x.load() * 3))?;
        }
        Ok(())
    })?;
    assert_eq!(x.load(), 59_049);
    world.barrier()
}

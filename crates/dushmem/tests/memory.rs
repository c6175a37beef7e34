//! Symmetric memory: contents, alignment, and when it is reused.
mod common;

use common::Random;
use dushmem::bytemuck::{Pod, Zeroable};
use dushmem::{Result, Symmetric, World};

suite!(
    first_values,
    alignment,
    nothing,
    dropped_at_different_times,
    freed_at_once,
    reuse_waits_for_puts,
    many_blocks
);

fn first_values(world: &World) -> Result<()> {
    let me = world.my_pe();
    // Memory that was in use before is zero again where that is asked for.
    drop(world.alloc_filled(1000, u64::MAX)?);
    let zero = world.alloc_zeroed::<u64>(1000)?;
    assert_eq!(zero.to_vec(), [0; 1000]);
    let one = world.alloc(me as i8)?;
    let some = world.alloc_from(&[me, 2, 3])?;
    assert_eq!((one.load(), some.to_vec()), (me as i8, vec![me, 2, 3]));
    assert_eq!(format!("{one:?} {some:?}"), format!("{me} [{me}, 2, 3]"));
    // Values are there on all PEs when the call returns on one.
    assert_eq!(world.g(&some[0], (me + 1) % world.n_pes())?, (me + 1) % world.n_pes());
    world.barrier()
}

fn alignment(world: &World) -> Result<()> {
    #[derive(Clone, Copy, Pod, Zeroable)]
    #[repr(C, align(512))]
    struct Page([u8; 512]);
    let _odd = world.alloc(1u8)?;
    let (a, b) = (world.alloc_zeroed::<Page>(3)?, world.alloc(Page([5; 512]))?);
    assert_eq!((a.as_ptr() as usize % 512, b.as_ptr() as usize % 512), (0, 0));
    assert_eq!((a[2].load().0, b.load().0), ([0; 512], [5; 512]));
    let c = world.alloc_zeroed::<u128>(2)?;
    assert_eq!(c.as_ptr() as usize % 16, 0);
    world.barrier()
}

fn nothing(world: &World) -> Result<()> {
    let empty = world.alloc_zeroed::<u32>(0)?;
    let units = world.alloc_filled(5, ())?;
    assert_eq!((empty.len(), units.len(), world.heap_usage().used), (0, 5, 0));
    world.put(&empty, &[], 0)?;
    world.put(&units, &[(); 5], 0)?;
    world.get(&mut [], &empty, 0)?;
    world.broadcast(&empty, &empty, 0)?;
    world.free(empty)?;
    assert_eq!(world.reclaim()?, 0);
    world.barrier()
}

fn dropped_at_different_times(world: &World) -> Result<()> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let mut random = Random(me as u64 + 1);
    let mut shared = Random(4711);
    // Each PE drops blocks in an order of its own; what it still has must keep its contents, and what
    // peers write to the blocks that only they still have must hurt nobody.
    let mut blocks: Vec<(usize, Symmetric<'_, [usize]>)> = Vec::new();
    for round in 0..60 {
        let len = 1 + shared.below(3000);
        blocks.push((round, world.alloc_filled(len, round)?));
        let target = (me + 1 + random.below(n)) % n;
        for (id, block) in &blocks {
            assert!(block.iter().all(|cell| cell.load() == *id), "round {round}, block {id}");
            world.put(block, &vec![*id; block.len()], target)?;
        }
        while blocks.len() > 5 + random.below(5) {
            blocks.swap_remove(random.below(blocks.len()));
        }
    }
    // Some blocks have been reused: all of them together are larger than what is in use.
    assert!(world.heap_usage().used < 40 * 3000 * 8);
    blocks.clear();
    world.reclaim()?;
    assert_eq!(world.heap_usage().used, 0);
    world.barrier()
}

fn freed_at_once(world: &World) -> Result<()> {
    let (x, y) = (world.alloc_zeroed::<u8>(5000)?, world.alloc(3u16)?);
    let used = world.heap_usage().used;
    world.free(x)?;
    assert!(world.heap_usage().used <= used - 5000);
    world.free(y)?;
    assert_eq!((world.heap_usage().used, world.reclaim()?), (0, 0));
    Ok(())
}

fn reuse_waits_for_puts(world: &World) -> Result<()> {
    let right = (world.my_pe() + 1) % world.n_pes();
    for round in 0..10u32 {
        let (old, ctx) = (world.alloc_zeroed::<u32>(400)?, world.context()?);
        ctx.put(&old, &[u32::MAX; 400], right)?;
        world.put(&old, &[u32::MAX - 1; 400], right)?;
        let place = old.as_ptr();
        drop((old, ctx));
        // The puts may still be under way when the handle goes, but not when the memory is reused.
        let new = world.alloc_filled(400, round)?;
        assert_eq!(new.as_ptr(), place);
        assert_eq!(new.to_vec(), [round; 400]);
        world.barrier()?;
        assert_eq!(new.to_vec(), [round; 400]);
    }
    Ok(())
}

fn many_blocks(world: &World) -> Result<()> {
    blocks_of_both_kinds(world, 150)
}

#[test]
fn more_blocks_than_one_exchange_settles() {
    let run =
        common::builder(dushmem::TransportKind::Shm, 1).run(1, |world| blocks_of_both_kinds(world, 16_000));
    run.unwrap();
}

fn blocks_of_both_kinds(world: &World, count: usize) -> Result<()> {
    let blocks: Vec<_> = (0..count).map(|i| world.alloc(i)).collect::<Result<_>>()?;
    let (even, odd): (Vec<_>, Vec<_>) = blocks.into_iter().partition(|block| block.load() % 2 == 0);
    let (first, second) = if world.my_pe() == 0 { (even, odd) } else { (odd, even) };
    drop(first);
    assert_eq!(world.reclaim()?, if world.n_pes() == 1 { count / 2 } else { 0 });
    assert!(second.iter().all(|block| block.load() % 2 == (world.my_pe() == 0) as usize));
    drop(second);
    assert_eq!(world.reclaim()?, if world.n_pes() == 1 { count / 2 } else { count });
    assert_eq!(world.heap_usage().used, 0);
    Ok(())
}

//! Devices with memory of their own: when they are bound, how their heap grows, what kernels are told, and transfers
//! between the two kinds of memory. PEs are threads.
use dushmem_core::amo::AmoOp;
use dushmem_core::coll::device_slot::DeviceSlot;
use dushmem_core::coll::reduce::{ReduceNum, ReduceOp};
use dushmem_core::device::{KernelState, KernelTeam};
use dushmem_core::device_heap::driver::Sharing;
use dushmem_core::env::{HeapKind, Settings, TransportKind};
use dushmem_core::error::Error;
use dushmem_core::signal::SignalOp;
use dushmem_core::team::handles;
use dushmem_core::until::Cmp;
use dushmem_core::world::{InitOptions, World};
use dushmem_testkit::plain::{MEMORY, Plain, PlainDevice, Ways, reach};
use dushmem_testkit::suites::pe::bytes;
use dushmem_testkit::suites::{Pe, Sym, loopback, shm};
use dushmem_testkit::threads::{THREAD_PE, run_boots, run_with};
use std::sync::Arc;
use std::time::Duration;

fn run(
    pes: usize,
    settings: &Settings,
    device: &'static PlainDevice,
    body: impl Fn(&Pe, &Arc<World>) + Send + Sync + 'static,
) {
    let options = InitOptions { device: Some(device), ..THREAD_PE };
    run_with(pes, settings, options, move |world| body(&Pe::on_device(world), world));
}

fn device_of(device: &PlainDevice, pe: &Pe) -> Arc<Plain> {
    device.of(pe.me).expect("bound")
}

/// The state that kernels have been told.
fn state(device: &PlainDevice, pe: &Pe) -> KernelState {
    device_of(device, pe).told().state.expect("told")
}

fn read<T: Copy>(at: u64, i: usize) -> T {
    // SAFETY: a table of the device, at which the tests look where nobody changes it.
    unsafe { reach(at as *mut T).add(i).read_volatile() }
}

#[test]
fn bound_at_init_where_the_choice_is_clear_or_when_needed() {
    let clear = PlainDevice::new(Ways::default());
    run(2, &shm(2).settings, clear, |pe, _| assert!(pe.device_heap().is_some()));
    let late = PlainDevice::new(Ways { late: true, ..Ways::default() });
    run(3, &shm(3).settings, late, |pe, world| {
        assert!(pe.awaits_device());
        pe.meet();
        let host = pe.malloc(100).unwrap();
        assert!(pe.awaits_device(), "the host's heap needs no device");
        pe.free(host).unwrap();
        let block = pe.alloc::<u8>(100);
        assert!(!pe.awaits_device() && late.of(pe.me).is_some());
        let heap = world.device_heap().expect("bound");
        assert!(heap.contains(block.at(0) as usize, 100) && !heap.contains(block.at(0) as usize, MEMORY));
        pe.release(block);
        assert_eq!(pe.device_heap_usage().used, 0);
    });
}

#[test]
fn pes_agree_on_how_they_share() {
    for (ways, sharing, on_one) in [
        (Ways::default(), Sharing::Threads, 2),
        (Ways { each: true, ..Ways::default() }, Sharing::Threads, 1),
    ] {
        let device = PlainDevice::new(ways);
        run(2, &shm(2).settings, device, move |pe, _| {
            let agreed = device_of(device, pe).told().agreed.unwrap();
            assert_eq!((agreed.sharing, agreed.on_one, agreed.blocks), (sharing, on_one, 8 / on_one));
            let heap = pe.device_heap().unwrap();
            assert_eq!(heap.first_on_device(1), if on_one == 2 { 0 } else { 1 });
            assert_eq!(state(device, pe).sharing, 1);
        });
    }
    run(1, &shm(1).settings, PlainDevice::new(Ways::default()), |pe, _| {
        assert_eq!(pe.device_heap().unwrap().sharing(), Sharing::Alone);
    });
}

#[test]
fn the_heap_grows_and_what_is_in_it_stays() {
    let device = PlainDevice::new(Ways::default());
    run(2, &shm(2).settings, device, move |pe, _| {
        let before = pe.alloc::<u64>(1000);
        let chunks = device_of(device, pe).allocations();
        pe.put(pe.ctx(), before.at(0), &[pe.me as u64 + 7; 1000], pe.right()).unwrap();
        let large = pe.alloc::<u8>(200 << 20);
        assert_eq!(device_of(device, pe).allocations(), chunks + 1);
        let last = large.at(large.len() - 1);
        pe.p(pe.ctx(), last, 9, pe.right()).unwrap();
        pe.meet();
        assert_eq!(large.read(large.len() - 1), 9);
        assert_eq!(before.to_vec(), [pe.left() as u64 + 7; 1000]);
        // Used again without growing, and zero again.
        pe.release(large);
        let again = pe.alloc::<u8>(200 << 20);
        assert_eq!((again.at(0), again.read(again.len() - 1)), (large.at(0), 0));
        assert_eq!(device_of(device, pe).allocations(), chunks + 1);
        pe.release(again);
        pe.release(before);
    });
}

#[test]
fn device_memory_that_is_exhausted_is_the_same_error_on_all_pes() {
    // The whole device, and one PE's that has less than it seems.
    let device = PlainDevice::new(Ways::default());
    device.fails_after.store(2, std::sync::atomic::Ordering::Relaxed);
    run(3, &shm(3).settings, device, move |pe, _| {
        let too_much = pe.malloc_on(HeapKind::Device, 2 * MEMORY).unwrap_err();
        assert!(matches!(too_much, Error::OutOfMemory { .. }), "{too_much}");
        assert!(too_much.to_string().contains("the device has 536870912 bytes of memory"), "{too_much}");
        let first = pe.alloc::<u8>(100 << 20);
        let failed = pe.malloc_on(HeapKind::Device, 100 << 20).unwrap_err();
        assert!(matches!(failed, Error::NoDeviceMemory { pe: 0, .. }), "{failed}");
        assert!(failed.to_string().contains("PE 0") && failed.to_string().contains("free"), "{failed}");
        // What there is can still be used.
        let small = pe.alloc::<u8>(1000);
        pe.release(first);
        let instead = pe.alloc::<u8>(90 << 20);
        pe.release(instead);
        pe.release(small);
        assert_eq!(pe.device_heap_usage().used, 0);
    });
}

#[test]
fn blocks_change_their_size() {
    for (ways, kind) in [
        (Ways::default(), TransportKind::Shm),
        (Ways { late: true, ..Ways::default() }, TransportKind::Loopback),
    ] {
        let backend = if kind == TransportKind::Shm { shm(2) } else { loopback(2, 3) };
        run(2, &backend.settings, PlainDevice::new(ways), |pe, world| {
            let block = pe.malloc_on(HeapKind::Device, 1000).unwrap();
            let other = pe.malloc_on(HeapKind::Device, 64).unwrap();
            let data = bytes(pe.me as u64, 1000);
            pe.put(pe.ctx(), block, &data, pe.me).unwrap();
            let moved = world.realloc(block, 100 << 20).unwrap();
            assert!(moved != block && world.device_heap().unwrap().contains(moved as usize, 100 << 20));
            let mut back = vec![0; 1000];
            pe.get(pe.ctx(), &mut back, moved, pe.me).unwrap();
            assert!(back == data);
            let inside = world.free(moved.wrapping_add(64)).unwrap_err();
            assert!(inside.to_string().contains("inside a block"), "{inside}");
            let aligned = world.align_on(HeapKind::Device, 4096, 10).unwrap();
            assert!((aligned as usize).is_multiple_of(4096));
            for block in [moved, other, aligned] {
                world.free(block).unwrap();
            }
            let twice = world.free(moved).unwrap_err();
            assert!(twice.to_string().contains("freed before"), "{twice}");
            assert_eq!(world.device_heap_usage().used, 0);
        });
    }
}

#[test]
fn allocations_of_different_kinds_are_found() {
    run(2, &shm(2).settings, PlainDevice::new(Ways::default()), |pe, _| {
        let kind = if pe.me == 0 { HeapKind::Host } else { HeapKind::Device };
        let error = pe.malloc_on(kind, 64).unwrap_err();
        assert!(matches!(error, Error::Disagreement { .. }), "{error}");
    });
}

#[test]
fn kernels_are_told_their_heap_and_their_teams() {
    let device = PlainDevice::new(Ways::default());
    run(4, &shm(4).settings, device, move |pe, world| {
        let (state, heap) = (state(device, pe), world.device_heap().unwrap());
        assert_eq!((state.magic, state.my_pe, state.n_pes), (KernelState::MAGIC, pe.me as i32, 4));
        assert_eq!((state.heap as usize, state.remote, state.doorbell), (heap.heap().0, 0, 0));
        assert!(state.internals < state.heap && heap.in_slice(state.internals as usize, 8));
        let own = pe.alloc::<u64>(4);
        own.write(0, 100 + pe.me as u64);
        pe.meet();
        for other in 0..4 {
            let delta = read::<i64>(state.delta, other);
            assert_eq!(heap.peer(own.at(0) as usize, other) as i64, own.at(0) as i64 + delta);
            assert_eq!(read::<u64>((own.at(0) as i64 + delta) as u64, 0), 100 + other as u64);
            assert_eq!(state.first_delta[other] as i64, delta ^ KernelState::UNREACHABLE);
        }
        assert_eq!(state.first_delta[4..], [0; KernelState::FIRST_PES - 3]);
        let entry = |handle: i32| read::<KernelTeam>(state.teams, (handle & KernelTeam::SLOT_MASK) as usize);
        let everybody = entry(handles::WORLD);
        assert_eq!(
            (everybody.handle, everybody.my_pe, everybody.n_pes, everybody.pes),
            (0, pe.me as i32, 4, 0)
        );
        assert!(heap.in_slice(everybody.slot as usize, DeviceSlot::bytes(4)));
        assert_eq!(format!("{:?}", state.world), format!("{everybody:?}"));
        // A team of two, in descending order; its kernels count, and the next team in the slot begins above.
        let world_team = pe.team(handles::WORLD).unwrap();
        let made = world.split_strided(&world_team, 3, -2, 2).unwrap();
        assert_eq!(made.is_some(), pe.me % 2 == 1);
        if let Some(handle) = made {
            let team = entry(handle);
            assert_eq!((team.handle, team.n_pes, team.my_pe), (handle, 2, (3 - pe.me as i32) / 2));
            assert_eq!([read::<u32>(team.pes, 0), read::<u32>(team.pes, 1)], [3, 1]);
            assert_ne!(team.flags & KernelTeam::DIRECT, 0);
            // SAFETY: the own slot's count of calls, as a kernel would leave it.
            unsafe { reach(team.slot as *mut u64).write_volatile(50 + pe.me as u64) };
            world.team_destroy(handle).unwrap();
            assert_eq!(entry(handle).handle, -1);
        }
        let next = world.split_strided(&world_team, 3, -2, 2).unwrap();
        if let Some(handle) = next {
            let team = entry(handle);
            assert_ne!(Some(handle), made);
            assert_eq!(read::<u64>(team.slot, 0), 53, "the highest of the members' counts");
            world.team_destroy(handle).unwrap();
        }
        pe.meet();
        pe.release(own);
    });
}

#[test]
fn teams_that_were_made_before_a_device_is_bound_are_known_to_kernels() {
    let device = PlainDevice::new(Ways { late: true, ..Ways::default() });
    run(3, &shm(3).settings, device, move |pe, world| {
        let all = pe.team(handles::WORLD).unwrap();
        let made = world.split_strided(&all, 0, 1, 2).unwrap();
        let block = pe.alloc::<u8>(8);
        if let Some(handle) = made {
            let slot = (handle & KernelTeam::SLOT_MASK) as usize;
            let team = read::<KernelTeam>(state(device, pe).teams, slot);
            assert_eq!((team.handle, team.n_pes, team.my_pe), (handle, 2, pe.me as i32));
        }
        pe.release(block);
    });
}

/// Puts and gets between the kinds, with either as the local side.
#[test]
fn both_kinds_of_memory_in_one_transfer() {
    for backend in [shm(3), loopback(3, 11)] {
        run(3, &backend.settings, PlainDevice::new(Ways::default()), |pe, world| {
            let on_host = Pe::new(world);
            const N: usize = 3000;
            let (host, device) = (on_host.alloc::<u8>(2 * N), pe.alloc::<u8>(2 * N));
            let other = pe.alloc::<u8>(2 * N);
            let sent = |pe: usize| bytes(pe as u64, N);
            let ctx = world.default_context();
            for (far, near) in [(host, device), (device, host), (device, other)] {
                for bytes in [1, 8, 16, 100, N] {
                    far.fill(0);
                    near.fill(0);
                    near.store(0, &sent(pe.me));
                    pe.meet();
                    // SAFETY: the local sides are as long as that, and stay until the barrier.
                    unsafe {
                        world.put(ctx, far.at(N), near.at(0), bytes, pe.right() as i32).unwrap();
                        pe.meet();
                        assert_eq!(far.part(N, bytes), sent(pe.left())[..bytes]);
                        world.get_nbi(ctx, near.at(N), far.at(N), bytes, pe.right() as i32).unwrap();
                        world.quiet(ctx).unwrap();
                        assert_eq!(near.part(N, bytes), sent(pe.me)[..bytes]);
                        pe.meet();
                        world.iput(ctx, far.at(1), near.at(0), 3, 2, 1, 50, pe.right() as i32).unwrap();
                    }
                    pe.meet();
                    assert_eq!(far.read(1 + 3 * 49), sent(pe.left())[2 * 49]);
                    pe.meet();
                }
            }
            on_host.release(host);
            pe.release(device);
            pe.release(other);
        });
    }
}

#[test]
fn a_signal_in_one_memory_for_data_in_the_other() {
    for backend in [shm(2), loopback(2, 5)] {
        run(2, &backend.settings, PlainDevice::new(Ways::default()), |pe, world| {
            let on_host = Pe::new(world);
            let (host, device) = (on_host.alloc::<u64>(40), pe.alloc::<u64>(40));
            for round in 1..40u64 {
                for (data, sig) in [(host, device), (device, host), (device, device)] {
                    let message = [round * 10 + pe.me as u64; 30];
                    let update = (sig.at(35), 1, SignalOp::Add);
                    pe.put_signal((data.at(0), &message), update, pe.right()).unwrap();
                    let count = if std::ptr::eq(sig.at(0), host.at(0)) { round } else { 2 * round };
                    let expected = if std::ptr::eq(data.at(0), host.at(0)) { 2 * round - 1 } else { count };
                    let seen = pe.wait(sig.at(35).cast_const(), Cmp::Ge, expected).unwrap();
                    assert!(seen >= expected);
                    assert_eq!(data.part(0, 30), [round * 10 + pe.left() as u64; 30]);
                    pe.meet();
                }
            }
            on_host.release(host);
            pe.release(device);
        });
    }
}

#[test]
fn collectives_between_both_kinds_of_memory() {
    for backend in [shm(3), loopback(3, 21)] {
        run(3, &backend.settings, PlainDevice::new(Ways::default()), |pe, world| {
            let on_host = Pe::new(world);
            const N: usize = 700;
            let (host, device) = (on_host.alloc::<i32>(3 * N), pe.alloc::<i32>(3 * N));
            let team = pe.team(handles::WORLD).unwrap();
            let sum = i32::reducer(ReduceOp::Sum).unwrap();
            for (dest, source) in [(host, device), (device, host)] {
                let mine: Vec<i32> = (0..3 * N as i32).map(|i| i + pe.me as i32 * 1000).collect();
                source.store(0, &mine);
                pe.meet();
                pe.bcast(&team, dest, source, N, 1).unwrap();
                assert_eq!(dest.read(N - 1), N as i32 - 1 + 1000);
                pe.gather(&team, dest, source, N).unwrap();
                assert_eq!((dest.read(N), dest.read(3 * N - 1)), (1000, N as i32 - 1 + 2000));
                pe.exchange(&team, dest, source, N).unwrap();
                assert_eq!(dest.read(2 * N), pe.me as i32 * N as i32 + 2000);
                pe.reduce(&team, dest.as_bytes(), source.as_bytes(), N, &sum).unwrap();
                assert_eq!(dest.read(9), 27 + 3000);
                pe.collect(&team, dest, source, pe.me + 1).unwrap();
                assert_eq!(dest.part(0, 6), [0, 1000, 1001, 2000, 2001, 2002]);
                pe.meet();
            }
            on_host.release(host);
            pe.release(device);
        });
    }
}

#[test]
fn what_devices_do_not_have_is_refused_by_name() {
    run(2, &shm(2).settings, PlainDevice::new(Ways::default()), |pe, world| {
        let words = pe.alloc::<i64>(64);
        let lock = pe.lock(words.at(0)).unwrap_err().to_string();
        assert!(lock.contains("lock = ") && lock.contains("in the heap of the device"), "{lock}");
        let psync = world.active_set(0, 0, 2, words.at(0)).unwrap_err().to_string();
        assert!(psync.contains("in the heap of the device"), "{psync}");
        let theirs = pe.ptr(words.at(0).cast(), pe.right() as i32).unwrap().cast::<i64>();
        assert_eq!(theirs as usize, world.device_heap().unwrap().peer(words.at(0) as usize, pe.right()));
        let foreign = pe.p(pe.ctx(), theirs, 1, pe.right()).unwrap_err().to_string();
        assert!(foreign.contains("another PE's device memory"), "{foreign}");
        let end = world.device_heap().unwrap().heap();
        let beyond = Sym::foreign((end.0 + end.1 - 8) as *mut i64, 4);
        let outside = pe.put(pe.ctx(), beyond.at(0), &[1; 4], pe.right()).unwrap_err().to_string();
        assert!(
            outside.contains("starts in the heap of the device and goes 24 bytes past the end"),
            "{outside}"
        );
        let odd = words.at(0).cast::<u8>().wrapping_add(4).cast::<u64>();
        let odd = pe.amo(odd, AmoOp::Add, 1, 0, pe.right()).unwrap_err();
        assert!(matches!(odd, Error::Misaligned { .. }), "{odd}");
        assert!(pe.addr_accessible(words.at(0).cast(), 1) && !pe.addr_accessible(theirs.cast(), 1));
        pe.meet();
        pe.release(words);
    });
}

#[test]
fn heaps_of_the_host_that_devices_reach() {
    let device = PlainDevice::new(Ways::default());
    let settings = Settings { heap_kind: HeapKind::Host, ..shm(3).settings };
    let options = InitOptions { device: Some(device), ..THREAD_PE };
    run_boots(3, Duration::from_secs(60), move |boot| {
        let world = World::init(boot, &settings, options).unwrap();
        let pe = Pe::on_device(&world);
        let array = pe.alloc::<u32>(100);
        let (heap, len) = world.window().heap();
        assert!(world.window().in_heap(array.at(0) as usize, 400));
        let plain = device_of(device, &pe);
        let pinned = plain.pinned();
        assert_eq!(pinned.len(), 3);
        for other in 0..3 {
            let (start, end) = (world.window().peer(heap, other), world.window().peer(heap, other) + len);
            assert!(pinned.iter().any(|&(at, bytes)| at < start && at + bytes == end));
        }
        let state = state(device, &pe);
        assert_eq!((state.heap as usize, state.heap_len as usize), (heap, len));
        assert_eq!(read::<i64>(state.delta, pe.right()), world.window().deltas()[pe.right()] as i64);
        let team = read::<KernelTeam>(state.teams, 0);
        assert!((state.internals..state.heap).contains(&team.slot));
        assert!(
            (state.internals..state.heap).contains(&(world.device_heap().unwrap().stream_slot(3) as u64))
        );
        // A buffer of the program's is pinned as long as it is registered.
        let buffer = vec![0u8; 10_000];
        world.register_buffer(buffer.as_ptr() as usize, buffer.len()).unwrap();
        assert!(plain.pinned().contains(&(buffer.as_ptr() as usize, 10_000)));
        world.unregister_buffer(buffer.as_ptr() as usize).unwrap();
        assert_eq!(plain.pinned().len(), 3);
        world.register_buffer(buffer.as_ptr() as usize, buffer.len()).unwrap();
        pe.p(pe.ctx(), array.at(1), 5, pe.right()).unwrap();
        pe.meet();
        assert_eq!(array.read(1), 5);
        pe.release(array);
        world.finalize().unwrap();
        assert!(plain.pinned().is_empty() && plain.told().left);
    });
}

/// What the device's kernels reach of each PE's heap in the host's memory, as pinned ranges, each from the end of the last.
fn pinned_steps(plain: &Plain, world: &World, pes: usize) -> Vec<usize> {
    let (heap, _) = world.window().heap();
    let of = |pe: usize| {
        let mut all = plain.pinned();
        all.sort_unstable();
        let (mut at, mut steps) = (world.window().peer(heap, pe), Vec::new());
        while let Some(&(_, bytes)) = all.iter().find(|(start, _)| *start == at) {
            steps.push(bytes);
            at += bytes;
        }
        steps
    };
    let own = of(0);
    assert!(
        (1..pes).all(|pe| of(pe) == own) && plain.pinned().len() == pes * own.len(),
        "{:?}",
        plain.pinned()
    );
    own
}

#[test]
fn kernels_reach_the_hosts_heap_beside_the_devices_as_far_as_it_is_used() {
    const MIB: usize = 1 << 20;
    for own_atomics in [false, true] {
        let device = PlainDevice::new(Ways { late: true, own_atomics, ..Ways::default() });
        let settings = Settings { heap_size: 300 << 20, ..shm(3).settings };
        let options = InitOptions { device: Some(device), ..THREAD_PE };
        run_boots(3, Duration::from_secs(60), move |boot| {
            let world = World::init(boot, &settings, options).unwrap();
            let pe = Pe::on_device(&world);
            let early = world.malloc(1000).unwrap();
            let block = pe.alloc::<u8>(100);
            let (plain, heap) = (device_of(device, &pe), world.device_heap().unwrap());
            let (window, all) = (world.window(), world.window().heap().1);
            let known = |len: usize| {
                let state = state(device, &pe);
                assert_eq!(
                    (state.other_heap as usize, state.other_heap_len as usize),
                    (window.heap().0, len)
                );
                for other in 0..3 {
                    assert_eq!(read::<i64>(state.other_delta, other), window.deltas()[other] as i64);
                }
                // What the device orders for itself it does not order for the host.
                let flags = if own_atomics { KernelState::OTHER_BY_PROXY } else { 0 };
                assert_eq!((state.reserved, state.posts()), (flags, own_atomics));
                assert_eq!(heap.posts_for_host_words(), own_atomics);
                assert_ne!(state.heap, state.other_heap);
            };
            assert_eq!(pinned_steps(&plain, &world, 3), [64 * MIB]);
            known(64 * MIB);
            // Within that, over its end, and by more than twice as much.
            let within = world.malloc(50 * MIB).unwrap();
            assert_eq!(pinned_steps(&plain, &world, 3), [64 * MIB]);
            let over = world.malloc(30 * MIB).unwrap();
            assert_eq!(pinned_steps(&plain, &world, 3), [64 * MIB, 64 * MIB]);
            known(128 * MIB);
            let over = world.realloc(over, 210 * MIB).unwrap();
            let end = (over as usize + 210 * MIB - window.heap().0).next_multiple_of(2 * MIB);
            assert_eq!(pinned_steps(&plain, &world, 3), [64 * MIB, 64 * MIB, end - 128 * MIB]);
            known(end);
            // The last of it.
            let last = world.malloc(all - end - 3 * MIB).unwrap();
            assert_eq!(pinned_steps(&plain, &world, 3).iter().sum::<usize>(), all);
            known(all);
            for block in [within, over, last, early] {
                world.free(block).unwrap();
            }
            pe.release(block);
            world.finalize().unwrap();
            assert!(plain.pinned().is_empty() && plain.told().left);
        });
    }
}

#[test]
fn kernels_don_t_reach_a_heap_of_the_hosts_that_is_not_used() {
    let device = PlainDevice::new(Ways { own_atomics: true, ..Ways::default() });
    run(2, &shm(2).settings, device, move |pe, _| {
        let block = pe.alloc::<u8>(100);
        let state = state(device, pe);
        assert_eq!((state.other_heap, state.other_heap_len, state.reserved), (0, 0, KernelState::NEAR));
        assert!(
            device_of(device, pe).pinned().is_empty() && !pe.device_heap().unwrap().posts_for_host_words()
        );
        pe.release(block);
    });
}

/// One PE's device takes no more of it: then none reaches more than before, and hosts use it all the same.
#[test]
fn a_heap_of_the_hosts_that_one_device_does_not_reach_is_the_hosts_alone() {
    for before in [0, 2] {
        let device = PlainDevice::new(Ways { most_pins: before + 1, ..Ways::default() });
        let settings = Settings { heap_size: 200 << 20, ..shm(2).settings };
        run(2, &settings, device, move |pe, world| {
            let first = world.malloc(1000).unwrap();
            let large = world.malloc(100 << 20).unwrap();
            let steps = before / 2;
            assert_eq!(pinned_steps(&device_of(device, pe), world, 2).len(), steps);
            assert_eq!(state(device, pe).other_heap_len as usize, steps * (64 << 20));
            pe.p(pe.ctx(), large, 7u8, pe.right()).unwrap();
            pe.meet();
            // SAFETY: the own block.
            assert_eq!(unsafe { large.read_volatile() }, 7);
            for block in [large, first] {
                world.free(block).unwrap();
            }
        });
    }
}

#[test]
fn kernels_are_told_of_queue_pairs() {
    let device = PlainDevice::new(Ways::default());
    run(1, &shm(1).settings, device, move |pe, world| {
        let first = world.create_queue_pairs(3).unwrap();
        assert_eq!(state(device, pe).queue_pairs as i32, first + 3);
        assert!(world.create_queue_pairs(i32::MAX).is_err());
    });
}

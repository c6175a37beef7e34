//! The proxy, asked by kernels that are Rust closures and by host threads, in jobs whose PEs are threads.
use dushmem_boot::threads;
use dushmem_core::amo::AmoOp;
use dushmem_core::device::Device;
use dushmem_core::env::Settings;
use dushmem_core::error::Call;
use dushmem_core::proxy::request::{ALL, Op, Request, flags};
use dushmem_core::proxy::{Memory, Proxy, Shared, Wake};
use dushmem_core::until::Cmp;
use dushmem_core::world::{InitOptions, World};
use dushmem_emu::closure::{ThreadCtx, create_stream, launch_closure};
use dushmem_emu::on_stream::Emulator;
use dushmem_emu::proxy;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Runs `act` as each of `n` PEs, with these variables.
fn job(n: usize, variables: &[(&str, &str)], act: impl Fn(&Arc<World>) + Sync) {
    let get = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string());
    let settings = Settings { heap_size: 4 << 20, ..Settings::read(&["DUSHMEM"], &get).unwrap() };
    std::thread::scope(|scope| {
        for boot in threads::job(n).unwrap() {
            let (act, settings) = (&act, &settings);
            scope.spawn(move || {
                let options = InitOptions { static_data: false, thread_pe: true, device: None };
                let world = World::init(boot, settings, options).unwrap();
                Emulator.attach(&world, n).unwrap();
                act(&world);
                Emulator.detach(&world);
                assert!(proxy::of(&world).is_none());
                world.finalize().unwrap();
            });
        }
    });
}

/// Each path on which there is a proxy.
fn paths() -> Vec<Vec<(&'static str, &'static str)>> {
    let mut paths = vec![vec![("DUSHMEM_EMU_REMOTE", "all")]];
    for seed in ["1", "2", "3"] {
        paths.push(vec![("DUSHMEM_TRANSPORT", "loopback"), ("DUSHMEM_LOOPBACK_SEED", seed)]);
    }
    paths
}

fn asked(world: &World) -> Arc<Shared> {
    proxy::of(world).expect("a proxy runs")
}

fn with(op: Op, flags: u8, small: u8, ctx: i32, pe: i32, a: &[u64]) -> Request {
    Request { flags, small, ctx, ..Request::new(op, pe, a) }
}

fn amo(op: AmoOp, result: bool, word: usize, value: u64, pe: i32) -> Request {
    with(Op::Amo, if result { flags::RESULT } else { 0 }, 16 | op as u8, 0, pe, &[word as u64, value, 0])
}

#[test]
fn a_proxy_runs_where_kernels_do_not_reach_every_pe() {
    for (variables, n, runs) in [
        (&[][..], 2, false),
        (&[("DUSHMEM_EMU_REMOTE", "0")], 2, false),
        (&[("DUSHMEM_EMU_REMOTE", "1")], 1, false),
        (&[("DUSHMEM_EMU_REMOTE", "1")], 2, true),
        (&[("DUSHMEM_EMU_REMOTE", "all")], 1, true),
        (&[("DUSHMEM_TRANSPORT", "loopback")], 1, true),
    ] {
        job(n, variables, |world| {
            assert_eq!(proxy::of(world).is_some(), runs, "{variables:?}, {n} PEs");
            let me = world.my_pe() as usize;
            let only_me = runs && variables[0].1 == "1";
            for pe in 0..n {
                assert_eq!(world.kernels_reach(pe), !runs || (only_me && pe == me), "{variables:?}");
            }
        });
    }
}

/// Every kind of request, with its result looked at on the other side.
#[test]
fn every_request_does_what_the_call_does() {
    for variables in paths() {
        job(3, &variables, |world| {
            let (me, n) = (world.my_pe(), world.n_pes());
            let right = (me + 1) % n;
            let asked = asked(world);
            let heap = world.calloc(64, 8).unwrap() as usize;
            let word = |i: usize| (heap + 8 * i) as u64;
            let own = |i: usize| {
                // SAFETY: an own word of the block.
                unsafe { (word(i) as *const u64).read_volatile() }
            };
            world.barrier_all().unwrap();
            let source: Vec<u64> = (0..8).map(|i| (me as u64) * 100 + i).collect();
            let from = source.as_ptr() as u64;
            asked.call(&with(Op::Put, 0, 0, 0, right, &[word(0), from, 64]));
            asked.post(&with(Op::PutInline, flags::SCALAR, 8, 0, right, &[word(8), 7 + me as u64]));
            asked.post(&with(Op::PutInline, 0, 24, 0, right, &[word(9), 1, 2, 3 + me as u64]));
            asked.call(&with(Op::Iput, 0, 8, 0, right, &[word(12), from, 3, 2, 4]));
            asked.call(&with(Op::PutSignal, 0, 9, 0, right, &[word(24), from, 64, word(32), 1]));
            asked.post(&with(Op::Signal, 0, 0, 0, right, &[word(33), 5, 10]));
            asked.post(&amo(AmoOp::Add, false, word(34) as usize, 11, right));
            // A result only now: all before it is complete.
            asked.call(&with(Op::Quiet, 0, 0, 0, -1, &[]));
            assert_eq!(asked.call(&amo(AmoOp::Add, true, word(34) as usize, 2, right)), Some([11, 0]));
            let swap = with(Op::Amo, flags::RESULT, 16 | 3, 0, right, &[word(34), 99, 13]);
            assert_eq!(asked.call(&swap), Some([13, 0]), "compare_swap");
            assert_eq!(asked.call(&amo(AmoOp::Fetch, true, word(34) as usize, 0, right)), Some([99, 0]));
            let narrow = with(Op::Amo, flags::RESULT, 4, 0, right, &[word(35) + 4, u64::from(u32::MAX), 0]);
            assert_eq!((asked.call(&narrow), asked.call(&narrow)), (Some([0, 0]), Some([0xffff_ffff, 0])));
            assert_eq!(
                asked.call(&with(Op::GetSmall, flags::RESULT, 16, 0, right, &[word(0)])),
                Some([me as u64 * 100, me as u64 * 100 + 1])
            );
            let mut back = [0u64; 8];
            asked.call(&with(Op::Get, 0, 0, 0, right, &[back.as_mut_ptr() as u64, word(0), 64]));
            assert_eq!(back[..], source[..]);
            back = [0; 8];
            asked.post(&with(Op::Get, flags::NBI, 0, 0, right, &[back.as_mut_ptr() as u64, word(12), 80]));
            asked.call(&with(Op::Quiet, 0, 0, 0, -1, &[]));
            let mut two = [0u64; 2];
            asked.call(&with(Op::Iget, 0, 8, 0, right, &[two.as_mut_ptr() as u64, word(12), 1, 3, 2]));
            assert_eq!(two, [me as u64 * 100, me as u64 * 100 + 2]);
            world.barrier_all().unwrap();
            let left = ((me + n - 1) % n) as u64;
            assert_eq!(
                (0..8).map(own).collect::<Vec<_>>(),
                (0..8).map(|i| left * 100 + i).collect::<Vec<_>>()
            );
            assert_eq!((8..12).map(own).collect::<Vec<_>>(), [7 + left, 1, 2, 3 + left]);
            assert_eq!(
                [12, 13, 15, 18, 21].map(own),
                [left * 100, 0, left * 100 + 2, left * 100 + 4, left * 100 + 6]
            );
            assert_eq!((24..34).map(own).skip(7).collect::<Vec<_>>(), [left * 100 + 7, 1, 5]);
            world.free(heap as *mut u8).unwrap();
        });
    }
}

/// GPU threads of several blocks, each with results of its own; every old value is given once.
#[test]
fn fetching_atomics_of_many_threads_give_each_value_once() {
    for variables in paths().into_iter().take(2) {
        job(2, &variables, |world| {
            const BLOCKS: u32 = 3;
            const THREADS: u32 = 256;
            let n = world.n_pes() as usize;
            let total = n * (BLOCKS * THREADS) as usize;
            let counter = world.calloc(1, 8).unwrap() as usize;
            let seen = world.calloc(total, 8).unwrap() as usize;
            let stream = create_stream().unwrap();
            let asked = asked(world);
            let kernel = move |_: &ThreadCtx| {
                let Some([old, _]) = asked.call(&amo(AmoOp::Add, true, counter, 1, 0)) else {
                    panic!("a result")
                };
                asked.post(&amo(AmoOp::Add, false, seen + 8 * old as usize, 1, 0));
            };
            launch_closure(&stream, BLOCKS, THREADS, 0, kernel).unwrap();
            stream.synchronize();
            // The host's barrier covers what kernels have posted.
            world.barrier_all().unwrap();
            if world.my_pe() == 0 {
                // SAFETY: own words that nobody writes now.
                let seen = unsafe { std::slice::from_raw_parts(seen as *const u64, total) };
                assert!(seen.iter().all(|&times| times == 1), "{seen:?}");
            }
            world.barrier_all().unwrap();
        });
    }
}

/// More requests than slots, by more threads than can wait at a time, without waiting for any: all arrive.
#[test]
fn a_ring_that_overflows_loses_nothing() {
    job(2, &[("DUSHMEM_EMU_REMOTE", "all")], |world| {
        const EACH: u64 = 100;
        let sums = world.calloc(4, 8).unwrap() as usize;
        let stream = create_stream().unwrap();
        let (asked_, right) = (asked(world), (world.my_pe() + 1) % 2);
        let kernel = move |t: &ThreadCtx| {
            for _ in 0..EACH {
                asked_.post(&amo(AmoOp::Add, false, sums + 8 * (t.thread_idx().x as usize % 4), 1, right));
            }
        };
        launch_closure(&stream, 4, 128, 0, kernel).unwrap();
        stream.synchronize();
        world.barrier_all().unwrap();
        // SAFETY: own words that nobody writes now.
        let sums = unsafe { std::slice::from_raw_parts(sums as *const u64, 4) };
        assert_eq!(sums, [EACH * 128; 4]);
        assert_eq!(asked(world).executed(), EACH * 512);
        world.barrier_all().unwrap();
    });
}

/// Data, fence, flag: whoever sees the flag sees the data. Without the fence this fails for some seed.
#[test]
fn a_fence_orders_what_different_threads_asked_for() {
    let mut overtaken = 0;
    for (fenced, seed) in (1..=6).map(|seed| (true, seed)).chain((1..=40).map(|seed| (false, seed))) {
        let wrong = std::sync::atomic::AtomicU32::new(0);
        let seed = seed.to_string();
        let variables = [("DUSHMEM_TRANSPORT", "loopback"), ("DUSHMEM_LOOPBACK_SEED", &*seed)];
        job(2, &variables, |world| {
            let data = world.calloc(33, 8).unwrap() as usize;
            let flag = data + 32 * 8;
            let (me, asked_) = (world.my_pe(), asked(world));
            for round in 1..=8u64 {
                if me == 0 {
                    let asked_ = Arc::clone(&asked_);
                    let stream = create_stream().unwrap();
                    launch_closure(&stream, 1, 32, 0, move |t: &ThreadCtx| {
                        let dest = (data + 8 * t.thread_idx().x as usize) as u64;
                        asked_.post(&with(Op::PutInline, 0, 8, 0, 1, &[dest, round]));
                        t.sync_threads();
                        if t.thread_idx().x as usize == 7 {
                            if fenced {
                                asked_.post(&with(Op::Fence, 0, 0, 0, -1, &[]));
                            }
                            asked_.post(&with(Op::Signal, 0, 0, 0, 1, &[flag as u64, round, 9]));
                        }
                    })
                    .unwrap();
                    stream.synchronize();
                } else {
                    // SAFETY: own words, written by the other PE.
                    unsafe {
                        world.wait_until(Call::WaitUntil, flag as *const u64, Cmp::Ge, round).unwrap();
                        let missing =
                            (0..32).any(|i| ((data + 8 * i) as *const u64).read_volatile() != round);
                        wrong.fetch_add(u32::from(missing), std::sync::atomic::Ordering::Relaxed);
                    }
                }
                world.barrier_all().unwrap();
            }
        });
        let wrong = wrong.into_inner();
        assert!(!fenced || wrong == 0, "seed {seed}: data after the flag");
        overtaken += wrong;
        if !fenced && overtaken > 0 {
            break;
        }
    }
    assert!(overtaken > 0, "nothing overtook anything: this test can't fail");
}

/// Contexts of kernels: their quiets cover their own requests; the handle for all covers everything.
#[test]
fn contexts_are_completed_one_by_one_or_all() {
    let mut held_back = false;
    for seed in 1..=40 {
        let seed = seed.to_string();
        let variables = [("DUSHMEM_TRANSPORT", "loopback"), ("DUSHMEM_LOOPBACK_SEED", &*seed)];
        let open = std::sync::atomic::AtomicBool::new(false);
        job(1, &variables, |world| {
            let words = world.calloc(64, 8).unwrap() as usize;
            let asked = asked(world);
            let own = |i: usize| {
                // SAFETY: an own word.
                unsafe { ((words + 8 * i) as *const u64).read_volatile() }
            };
            let put = |i: usize, ctx: i32| {
                asked.post(&with(Op::PutInline, 0, 8, ctx, 0, &[(words + 8 * i) as u64, 1]));
            };
            (0..20).for_each(|i| put(i, 2));
            (20..40).for_each(|i| put(i, 3));
            (40..60).for_each(|i| put(i, 1));
            asked.call(&with(Op::Quiet, 0, 0, 2, -1, &[]));
            assert!((0..20).all(|i| own(i) == 1), "seed {seed}");
            open.store((20..60).any(|i| own(i) == 0), std::sync::atomic::Ordering::Relaxed);
            // The default context by its other name.
            asked.call(&with(Op::Quiet, 0, 0, 0, -1, &[]));
            assert!((40..60).all(|i| own(i) == 1), "seed {seed}");
            asked.call(&with(Op::Quiet, 0, 0, ALL, -1, &[]));
            assert!((0..60).all(|i| own(i) == 1), "seed {seed}");
        });
        held_back |= open.into_inner();
        if held_back {
            break;
        }
    }
    assert!(held_back, "a quiet of one context always completed the others too: not independent");
}

/// Words of the library's own part of a slice.
#[test]
fn the_internals_are_for_requests_that_say_so() {
    for variables in paths().into_iter().take(2) {
        job(2, &variables, |world| {
            let right = (world.my_pe() + 1) % 2;
            let asked = asked(world);
            // The second cache line of the first page, behind the doorbell: nobody uses it.
            let word = world.window().slice() as u64 + 2048;
            world.barrier_all().unwrap();
            let put = with(Op::PutInline, flags::INTERNAL, 8, 0, right, &[word, 41]);
            asked.post(&put);
            asked.post(&with(Op::Fence, 0, 0, 0, -1, &[]));
            asked.post(&with(Op::Amo, flags::INTERNAL, 16 | 4, 0, right, &[word, 1, 0]));
            asked.post(&with(Op::Signal, flags::INTERNAL, 0, 0, right, &[word + 32, 5, 9]));
            asked.call(&with(Op::Quiet, 0, 0, 0, -1, &[]));
            assert_eq!(
                asked.call(&with(Op::GetSmall, flags::RESULT | flags::INTERNAL, 8, 0, right, &[word])),
                Some([42, 0])
            );
            assert_eq!(
                asked.call(&with(Op::Amo, flags::RESULT | flags::INTERNAL, 16, 0, right, &[word + 32, 0, 0])),
                Some([5, 0])
            );
            let source = [1u64, 2, 3, 4];
            let (put, mut back) = ([word + 64, source.as_ptr() as u64, 32], [0u64; 4]);
            asked.call(&with(Op::Put, flags::INTERNAL, 0, 0, right, &put));
            asked.call(&with(Op::Quiet, 0, 0, 0, -1, &[]));
            let get = [back.as_mut_ptr() as u64, word + 64, 32];
            asked.call(&with(Op::Get, flags::INTERNAL, 0, 0, right, &get));
            assert_eq!(back, source);
            world.barrier_all().unwrap();
            // SAFETY: own words.
            unsafe { (word as *mut u64).write_volatile(0) };
        });
    }
}

fn cpu_time() -> Duration {
    // Ticks of 10 ms of all threads of this process: fields 14 and 15, behind the name in brackets.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields = stat.rsplit_once(')').unwrap().1.split_whitespace().skip(11).take(2);
    Duration::from_millis(10 * fields.map(|ticks| ticks.parse::<u64>().unwrap()).sum::<u64>())
}

#[test]
fn an_idle_proxy_sleeps_and_wakes_at_once() {
    job(2, &[("DUSHMEM_EMU_REMOTE", "all")], |world| {
        let asked = asked(world);
        asked.call(&with(Op::Quiet, 0, 0, 0, -1, &[]));
        world.barrier_all().unwrap();
        let before = cpu_time();
        std::thread::sleep(Duration::from_millis(400));
        let used = cpu_time() - before;
        // Spinning, two proxies would take 800 ms.
        assert!(used <= Duration::from_millis(60), "{used:?} of CPU time while idle");
        for _ in 0..5 {
            std::thread::sleep(Duration::from_millis(5));
            let start = Instant::now();
            asked.call(&with(Op::Quiet, 0, 0, 0, -1, &[]));
            assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
        }
        world.barrier_all().unwrap();
    });
}

/// As for a GPU, whose kernels can't wake anybody.
#[test]
fn a_proxy_that_polls_needs_no_ring() {
    job(1, &[], |world| {
        let word = world.calloc(1, 8).unwrap() as usize;
        let memory = Memory::of_process(4).unwrap();
        let proxy = Proxy::start(world, memory, Wake::Polls(Duration::from_micros(100))).unwrap();
        let (ring, shared) = (proxy.shared().ring(), proxy.shared());
        for i in 0..50 {
            if i % 10 == 0 {
                std::thread::sleep(Duration::from_millis(2));
            }
            // Without the bell.
            let words = amo(AmoOp::Add, true, word, 1, 0).encode();
            let ticket = loop {
                match ring.try_post(&words) {
                    Some(ticket) => break ticket,
                    None => std::thread::yield_now(),
                }
            };
            assert_eq!(shared.wait(ticket, || ring.take_result(ticket)), [i, 0]);
        }
        drop(proxy);
    });
}

/// What was posted is executed before the proxy ends, and the next init begins anew.
#[test]
fn ending_executes_what_was_posted() {
    for _ in 0..3 {
        job(2, &[("DUSHMEM_EMU_REMOTE", "1")], |world| {
            let words = world.calloc(1000, 8).unwrap() as usize;
            let right = (world.my_pe() + 1) % 2;
            for i in 0..1000 {
                asked(world).post(&amo(AmoOp::Add, false, words + 8 * i, i as u64 + 1, right));
            }
            let shared = asked(world);
            proxy::stop(world);
            assert_eq!(shared.executed(), 1000);
            world.barrier_all().unwrap();
            // SAFETY: own words that nobody writes now.
            let words = unsafe { std::slice::from_raw_parts(words as *const u64, 1000) };
            assert!(words.iter().enumerate().all(|(i, &value)| value == i as u64 + 1));
        });
    }
}

//! Kernels that are Rust closures, alone and as PEs of a job.
use dushmem_boot::threads;
use dushmem_core::device::{Device, Export, HeapRequest, StreamHandle, StreamOp};
use dushmem_core::env::Settings;
use dushmem_core::error::Call;
use dushmem_core::until::Cmp;
use dushmem_core::world::{InitOptions, World};
use dushmem_emu::closure::{ThreadCtx, create_stream, launch_closure};
use dushmem_emu::error::Code;
use dushmem_emu::on_stream::Emulator;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

#[test]
fn every_thread_of_a_grid_runs_once() {
    let stream = create_stream().unwrap();
    let counts: Arc<Vec<AtomicU32>> =
        Arc::new((0..7 * 3 * 2 * 5 * 4 * 3).map(|_| AtomicU32::new(0)).collect());
    let seen = Arc::clone(&counts);
    let kernel = move |t: &ThreadCtx| {
        let (width, height) = (t.global_width(), 3 * 4);
        let index = (t.global_z() * height + t.global_y()) * width + t.global_x();
        seen[index].fetch_add(1, SeqCst);
    };
    launch_closure(&stream, (7, 3, 2), (5, 4, 3), 0, kernel).unwrap();
    stream.synchronize();
    assert!(counts.iter().all(|count| count.load(SeqCst) == 1));
}

#[test]
fn a_block_sums_up_in_shared_memory() {
    let stream = create_stream().unwrap();
    let total = Arc::new(AtomicU64::new(0));
    let sum = Arc::clone(&total);
    let kernel = move |t: &ThreadCtx| {
        let (i, n) = (t.thread_idx().x as usize, t.block_dim().x as usize);
        let part = t.shared().cast::<u64>();
        assert_eq!(t.shared_bytes(), n * 8);
        assert_eq!(part as usize % 128, 0);
        // SAFETY: each thread has its element; the barrier stands between writing and reading.
        unsafe { part.add(i).write(t.global_x() as u64) };
        t.sync_threads();
        let mut step = n / 2;
        while step > 0 {
            if i < step {
                // SAFETY: elements below `step` are written by their threads, those above are only read.
                unsafe { part.add(i).write(part.add(i).read() + part.add(i + step).read()) };
            }
            t.sync_threads();
            step /= 2;
        }
        if i == 0 {
            // SAFETY: after the last barrier.
            sum.fetch_add(unsafe { part.read() }, SeqCst);
        }
    };
    launch_closure(&stream, 33, 256, 256 * 8, kernel).unwrap();
    stream.synchronize();
    let n = 33 * 256;
    assert_eq!(total.load(SeqCst), n * (n - 1) / 2);
}

#[test]
fn the_closure_is_dropped_once_when_the_stream_has_run_it() {
    struct Counted(Arc<AtomicU32>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let stream = create_stream().unwrap();
    for blocks in [1u32, 100] {
        let dropped = Arc::new(AtomicU32::new(0));
        let inside = Counted(Arc::clone(&dropped));
        launch_closure(&stream, blocks, 8, 0, move |_| assert_eq!(inside.0.load(SeqCst), 0)).unwrap();
        stream.synchronize();
        assert_eq!(dropped.load(SeqCst), 1);
        // A launch that fails gives the closure back as well.
        let inside = Counted(Arc::clone(&dropped));
        let bad =
            launch_closure(&stream, blocks, 0, 0, move |_| assert_eq!(inside.0.load(SeqCst), 9)).unwrap_err();
        assert_eq!(bad.code, Code::InvalidConfiguration);
        assert_eq!(dropped.load(SeqCst), 2);
    }
}

#[test]
fn a_launch_does_not_wait_for_the_kernel() {
    let stream = create_stream().unwrap();
    let go = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&go);
    launch_closure(&stream, 1, 2, 0, move |t| {
        while !flag.load(SeqCst) {
            t.yield_now();
        }
    })
    .unwrap();
    assert_eq!(stream.query().unwrap_err().code, Code::NotReady);
    go.store(true, SeqCst);
    stream.synchronize();
    stream.query().unwrap();
}

/// Runs `act` as each of `n` PEs.
fn job(n: usize, act: impl Fn(&Arc<World>) + Sync) {
    let settings = Settings::read(&["DUSHMEM"], &|_| None).unwrap();
    std::thread::scope(|scope| {
        for boot in threads::job(n).unwrap() {
            let (act, settings) = (&act, &settings);
            scope.spawn(move || {
                let options = InitOptions { static_data: false, thread_pe: true, device: None };
                let world = World::init(boot, settings, options).unwrap();
                Emulator.attach(&world, n).unwrap();
                act(&world);
                Emulator.detach(&world);
                world.finalize().unwrap();
            });
        }
    });
}

#[test]
fn kernels_pass_a_token_round_the_ring() {
    const ROUNDS: u64 = 50;
    job(4, |world| {
        let token = world.calloc(1, 8).unwrap() as usize;
        let stream = create_stream().unwrap();
        let kernel_world = Arc::clone(world);
        let kernel = move |_: &ThreadCtx| {
            let (w, token) = (&kernel_world, token as *mut u64);
            let (me, n) = (w.my_pe(), w.n_pes());
            for round in 1..=ROUNDS {
                // SAFETY: an own symmetric word, written by atomic sets only.
                unsafe {
                    if me != 0 || round > 1 {
                        let due = if me == 0 { round - 1 } else { round };
                        w.wait_until(Call::WaitUntil, token, Cmp::Ge, due).unwrap();
                    }
                    let ctx = w.default_context();
                    let next = (me + 1) % n;
                    w.amo(ctx, token, dushmem_core::amo::AmoOp::Set, round, 0, next).unwrap();
                }
            }
        };
        launch_closure(&stream, 1, 1, 0, kernel).unwrap();
        stream.synchronize();
        world.barrier_all().unwrap();
        // SAFETY: after the barrier nobody writes.
        assert_eq!(unsafe { (token as *const u64).read() }, ROUNDS);
        world.free(token as *mut u8).unwrap();
    });
}

#[test]
fn threads_of_a_block_wait_for_words_that_their_siblings_send() {
    // Thread i of PE p waits for word i, which thread i of the next PE sends, but only after thread i - 1
    // has got its own: waiting threads have to give way to others of the same block, in both PEs.
    job(2, |world| {
        const THREADS: usize = 64;
        let words = world.calloc(THREADS, 8).unwrap() as usize;
        let stream = create_stream().unwrap();
        let kernel_world = Arc::clone(world);
        let kernel = move |t: &ThreadCtx| {
            let w = &kernel_world;
            let i = t.thread_idx().x as usize;
            let word = |k: usize| (words as *mut u64).wrapping_add(k);
            // SAFETY: own symmetric words, set atomically.
            unsafe {
                if i > 0 {
                    w.wait_until(Call::WaitUntil, word(i - 1), Cmp::Ne, 0).unwrap();
                }
                let peer = 1 - w.my_pe();
                let ctx = w.default_context();
                w.amo(ctx, word(i), dushmem_core::amo::AmoOp::Set, i as u64 + 1, 0, peer).unwrap();
                w.wait_until(Call::WaitUntil, word(i), Cmp::Eq, i as u64 + 1).unwrap();
            }
            t.sync_threads();
        };
        launch_closure(&stream, 1, THREADS as u32, 0, kernel).unwrap();
        stream.synchronize();
        world.barrier_all().unwrap();
        world.free(words as *mut u8).unwrap();
    });
}

#[test]
fn operations_of_the_engine_keep_the_order_of_their_stream() {
    job(3, |world| {
        let (me, n) = (world.my_pe(), world.n_pes());
        let heap = world.calloc(4, 8).unwrap();
        let at = |k: usize| heap.wrapping_add(8 * k);
        let stream = create_stream().unwrap();
        let handle = StreamHandle(stream.handle());
        let put = |op| {
            // SAFETY: addresses of the own heap; nobody frees it before the stream is done.
            unsafe { Emulator.enqueue(world, handle, "test", op) }.unwrap();
        };
        let target = heap as usize;
        launch_closure(&stream, 1, 1, 0, move |_| {
            std::thread::sleep(Duration::from_millis(5));
            // SAFETY: word 1 of the own heap.
            unsafe { ((target + 8) as *mut u64).write(100 + me as u64) };
        })
        .unwrap();
        let pe = (me + 1) % n;
        put(StreamOp::Put { dest: at(0), source: at(1), bytes: 8, pe });
        put(StreamOp::BarrierAll);
        put(StreamOp::Get { dest: at(2), source: at(0), bytes: 8, pe });
        put(StreamOp::SignalOp { sig: at(3).cast(), value: 7, op: dushmem_core::signal::SignalOp::Add, pe });
        put(StreamOp::SignalWaitUntil { sig: at(3).cast(), cmp: Cmp::Eq, value: 7 });
        put(StreamOp::Quiet);
        Emulator.synchronize(handle).unwrap();
        // SAFETY: the stream is done.
        let word = |k: usize| unsafe { at(k).cast::<u64>().read() };
        assert_eq!(word(0), 100 + ((me + n - 1) % n) as u64);
        assert_eq!(word(2), 100 + me as u64);
        assert_eq!(word(3), 7);
        world.barrier_all().unwrap();
        world.free(heap).unwrap();
    });
}

#[test]
fn a_heap_can_be_exported_and_imported() {
    let request = HeapRequest { at: None, bytes: 100_000 };
    let own = Emulator.allocate(&request).unwrap();
    assert!(own.len() >= 100_000);
    let export = own.export().unwrap();
    let peer = Emulator.import(&export, &HeapRequest { at: None, bytes: own.len() }).unwrap();
    assert_ne!(own.base(), peer.base());
    // SAFETY: both map the same memory, which nobody else uses.
    unsafe {
        (own.base() as *mut u32).add(20_000).write(0x1234_5678);
        assert_eq!((peer.base() as *const u32).add(20_000).read(), 0x1234_5678);
    }
    let other = Export::Opaque(Box::new([0; 64]));
    assert!(Emulator.import(&other, &request).unwrap_err().to_string().contains("another kind"));
}

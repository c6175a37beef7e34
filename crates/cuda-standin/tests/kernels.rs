//! Modules, launches, kernels that are models.
mod common;
use common::*;
use dushmem_core::proxy::Memory;
use dushmem_core::proxy::request::{Op, Request, flags};
use dushmem_core::proxy::ring::{Descriptor, Reply, Ring};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const KERNELS: &str = "
.visible .entry dushmem_k_sync(.param .u32 a, .param .u32 b) { ret; }
.visible .entry dushmem_k_reduce(.param .u32 a, .param .u64 b, .param .u64 c, .param .u64 d, .param .u32 e,
    .param .u32 f, .param .u32 g) { ret; }
.visible .entry dushmem_k_far_reduce(.param .u32 a, .param .u64 b, .param .u64 c, .param .u64 d, .param .u32 e,
    .param .u32 f, .param .u32 g) { ret; }
.visible .entry dushmem_k_fcollect(.param .u32 a, .param .u64 b, .param .u64 c, .param .u64 d) { ret; }
.visible .entry dushmem_k_alltoall(.param .u32 a, .param .u64 b, .param .u64 c, .param .u64 d) { ret; }
.visible .entry dushmem_k_broadcast(.param .u32 a, .param .u64 b, .param .u64 c, .param .u64 d, .param .u32 e) { ret; }
.visible .entry dushmem_k_combine(.param .u64 a, .param .u32 b, .param .u32 c, .param .u64 d, .param .u32 e,
    .param .u32 f) { ret; }
.visible .entry dushmem_k_amo(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 d, .param .u32 e,
    .param .u64 f) { ret; }
.visible .entry dushmem_k_copy_strided(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d, .param .u32 e,
    .param .u64 f) { ret; }
.visible .entry dushmem_k_copy(.param .u64 a, .param .u64 b, .param .u64 c) { ret; }
.visible .entry dushmem_k_wait(.param .u64 a, .param .u32 b, .param .u32 c, .param .u32 d, .param .u64 e,
    .param .u64 f, .param .u64 g) { ret; }
.visible .entry unknown(.param .u32 a) { ret; }
.visible .entry standin_wrong(.param .u32 a) { ret; }
";

#[test]
fn modules_have_functions_and_globals() {
    start();
    let module = module(KERNELS);
    let global = |text: &str| {
        let (mut at, mut bytes) = (0usize, 0usize);
        let text = name(text);
        (cuModuleGetGlobal_v2(&mut at, &mut bytes, module, text.as_ptr()), at, bytes)
    };
    let (code, at, bytes) = global("dushmem_impl_state");
    assert_eq!((code, bytes, read(at, 32)), (0, 704, vec![0; 32]));
    let (code, at, bytes) = global("standin_count");
    assert_eq!((code, bytes, read(at, 1)[0] as u32), (0, 4, 7));
    assert_eq!(global("other").0, 500);
    assert_eq!(cuModuleGetFunction(&mut 0, module, name("other").as_ptr()), 500);
    assert_eq!(launch(function(module, "unknown"), 0, &[1]), 801);
    ok(cuModuleUnload(module));
    assert_eq!(global("standin_count").0, 400);
    for (image, code) in [("\x7fELF", 209), ("nonsense", 200), (".version 8.0\n.target sm_100\n", 209)] {
        assert_eq!(cuModuleLoadData(&mut 0, name(image).as_ptr()), code, "{image}");
    }
}

#[test]
fn single_kernels() {
    start();
    let (module, own, at) = (module(KERNELS), stream(), device_memory(4096));
    let run = |kernel: &str, arguments: &[u64]| {
        ok(launch(function(module, kernel), own, arguments));
        ok(cuStreamSynchronize(own));
    };
    let a = at as u64;
    write(at, &[5, 0, u64::MAX, 0]);
    run("dushmem_k_amo", &[a, 3, 0, 4, 1, a + 8]);
    run("dushmem_k_amo", &[a + 16, 1, 0xffff_ffff, 3, 0, a + 24]);
    assert_eq!(read(at, 4), [8, 5, 0xffff_ffff_0000_0001, 0xffff_ffff]);
    write(at, &[1, 2, 3, 4, 5, 6]);
    run("dushmem_k_copy_strided", &[a + 64, 16, a, 24, 8, 2]);
    assert_eq!((read(at + 64, 1), read(at + 80, 1)), (vec![1], vec![4]));
    write(at + 128, &[0]);
    run("dushmem_k_copy", &[a + 129, a + 64, 7]);
    assert_eq!(read(at + 128, 1), [1 << 8]);
    // Two sources of two elements, a destination that is the first of them.
    write(at + 512, &[a, a + 16, a]);
    run("dushmem_k_combine", &[a + 512, 2, 1, 2, 3, 5]);
    assert_eq!(read(at, 4), [4, 6, 3, 4]);
    ok(launch(function(module, "dushmem_k_wait"), own, &[a, 1, 1, 4, 0, a + 768, 0]));
    assert_eq!(cuStreamQuery(own), 600);
    write(at, &[0x80]);
    ok(cuStreamSynchronize(own));
    assert_eq!(read(at + 768, 1)[0] as u32, 2);
    assert_eq!(
        cuLaunchKernel(
            function(module, "standin_fault"),
            1,
            1,
            1,
            1025,
            1,
            1,
            0,
            own,
            [].as_ptr(),
            [].as_ptr()
        ),
        1
    );
}

#[test]
fn a_fault_ends_the_context() {
    start();
    let (module, own, other, at) = (module(""), stream(), stream(), device_memory(64));
    ok(launch(function(module, "standin_spin"), other, &[at as u64, 5]));
    ok(launch(function(module, "standin_fault"), own, &[]));
    assert_eq!((cuStreamSynchronize(own), cuStreamSynchronize(other)), (719, 719));
    assert_eq!((cuMemAlloc_v2(&mut 0, 1), cuMemsetD8Async(at, 0, 1, own)), (719, 719));
}

/// The part of the kernels' state that models read, for PE `me` of `n` whose slices are `stride` apart.
fn set_state(
    module: usize,
    tables: usize,
    slice: usize,
    stride: usize,
    me: usize,
    n: usize,
    hidden: Option<u64>,
) {
    let word = |low: usize, high: usize| (low | high << 32) as u64;
    let (delta, teams, members) = (tables, tables + 256, tables + 512);
    let delta_of = |pe: usize| match hidden {
        Some(_) if pe != me => 1 << 63,
        _ => (pe as u64).wrapping_sub(me as u64).wrapping_mul(stride as u64),
    };
    let deltas: Vec<u64> = (0..n).map(delta_of).collect();
    write(delta, &deltas);
    // Team 0 is the world; team 1 all in the opposite order, with a handle of the second generation.
    write(teams, &[word(me, n), 0, slice as u64, word(0, 8), word(256, 0)]);
    write(
        teams + 40,
        &[word(n - 1 - me, n), members as u64, slice as u64 + 8192, word(0x1001, 8), word(256, 0)],
    );
    let order: Vec<u64> =
        (0..n).rev().collect::<Vec<_>>().chunks(2).map(|pair| word(pair[0], pair[1])).collect();
    write(members, &order);
    let (heap, len) = (slice + 16384, stride - 16384);
    let magic = 0x6475_7368_6d65_6d31;
    let state = [
        magic,
        word(2, 96),
        word(me, n),
        heap as u64,
        len as u64,
        delta as u64,
        teams as u64,
        2,
        hidden.unwrap_or(0),
        slice as u64,
        0,
        if hidden.is_some() { n as u64 - 1 } else { 0 },
    ];
    let (mut at, mut bytes) = (0usize, 0usize);
    ok(cuModuleGetGlobal_v2(&mut at, &mut bytes, module, name("dushmem_impl_state").as_ptr()));
    write(at, &state);
}

#[test]
fn collectives_of_pes_that_are_threads() {
    const N: usize = 4;
    const HEAP: usize = 16384;
    let context = start();
    let slices = device_memory(N * GRANULE);
    let own = stream();
    ok(cuMemsetD8Async(slices, 0, N * GRANULE, own));
    ok(cuStreamSynchronize(own));
    let pe = |me: usize| {
        ok(cuCtxSetCurrent(context));
        let (module, own, tables) = (module(KERNELS), stream(), device_memory(4096));
        let slice = slices + me * GRANULE;
        set_state(module, tables, slice, GRANULE, me, N, None);
        let heap = slice + HEAP;
        let run = |kernel: &str, arguments: &[u64]| {
            ok(launch(function(module, kernel), own, arguments));
            ok(cuStreamSynchronize(own));
        };
        let (source, dest, m) = (heap as u64, heap as u64 + 1024, me as u64);
        for round in 0..20 {
            for (team, rank) in [(0, m), (0x1001, N as u64 - 1 - m)] {
                let sent: Vec<u64> = (0..4).map(|i| 100 * rank + i + round).collect();
                write(heap, &sent);
                let sum: Vec<u64> = (0..4).map(|i| 600 + 4 * i + 4 * round).collect();
                run("dushmem_k_reduce", &[team, dest, source, 4, 7, 5, 0]);
                assert_eq!(read(heap + 1024, 4), sum);
                run("dushmem_k_reduce", &[team, dest, source, 1, 7, 5, 1]);
                assert_eq!(read(heap + 1024, 1), [sum[rank as usize]]);
                run("dushmem_k_fcollect", &[team, dest, source, 8]);
                assert_eq!(read(heap + 1024, 4), [round, 100 + round, 200 + round, 300 + round]);
                run("dushmem_k_alltoall", &[team, dest, source, 8]);
                let expected: Vec<u64> = (0..4).map(|from| 100 * from + rank + round).collect();
                assert_eq!(read(heap + 1024, 4), expected);
                run("dushmem_k_broadcast", &[team, dest, source, 16, 2]);
                assert_eq!(read(heap + 1024, 2), [200 + round, 201 + round]);
                run("dushmem_k_reduce", &[team, source, source, 4, 7, 5, 0]);
                assert_eq!(read(heap, 4), sum, "in place");
                run("dushmem_k_sync", &[team, 1]);
            }
        }
    };
    std::thread::scope(|scope| (0..N).for_each(|me| drop(scope.spawn(move || pe(me)))));
}

#[test]
fn a_member_that_launches_another_grid_is_found() {
    let context = start();
    let slices = device_memory(2 * GRANULE);
    write(slices, &[0; 2048]);
    write(slices + GRANULE, &[0; 2048]);
    let pe = |me: usize| {
        ok(cuCtxSetCurrent(context));
        let (module, own, tables) = (module(KERNELS), stream(), device_memory(4096));
        set_state(module, tables, slices + me * GRANULE, GRANULE, me, 2, None);
        let arguments = [0u64, 0];
        let pointers = arguments.each_ref().map(|argument| argument as *const u64);
        let sync = function(module, "dushmem_k_sync");
        let blocks = 1 + me as u32;
        let code = cuLaunchKernel(sync, blocks, 1, 1, 64, 1, 1, 0, own, pointers.as_ptr(), std::ptr::null());
        let codes = (code, cuStreamSynchronize(own));
        assert!([(0, 719), (719, 719)].contains(&codes), "{codes:?}");
    };
    std::thread::scope(|scope| (0..2).for_each(|me| drop(scope.spawn(move || pe(me)))));
}

/// Serves the requests of PE `me`, whose peers are `stride` apart, until told to stop.
fn serve(memory: usize, slots: usize, me: usize, stride: usize, stop: &AtomicBool) {
    let (descriptors, replies) = (memory + 192, memory + 192 + 64 * slots);
    // SAFETY: a ring as the engine has laid it out, whose parts are atomics.
    let ring = unsafe {
        Ring::new(
            &*((memory + 64) as *const AtomicU64),
            std::slice::from_raw_parts(descriptors as *const Descriptor, slots),
            std::slice::from_raw_parts(replies as *const Reply, slots),
        )
    };
    let own = stream();
    let copy = |dest: usize, source: usize, len: usize| ok(cuMemcpyAsync(dest, source, len, own));
    for ticket in 0.. {
        let words = loop {
            match ring.next(ticket) {
                Some(words) => break words,
                None if stop.load(Ordering::Relaxed) => return,
                None => std::thread::yield_now(),
            }
        };
        let request = Request::decode(&words);
        let theirs =
            |at: u64| (at as usize).wrapping_add((request.pe as usize).wrapping_sub(me).wrapping_mul(stride));
        let [a, b, c, ..] = request.a;
        let mut old = 0u64;
        match request.op().unwrap() {
            Op::Put => copy(theirs(a), b as usize, c as usize),
            Op::PutInline => {
                assert_eq!(request.small, 8);
                copy(theirs(a), &raw const request.a[1] as usize, 8);
            }
            Op::Get => copy(a as usize, theirs(b), c as usize),
            Op::Amo => {
                assert_eq!(request.amo().unwrap().op, dushmem_core::amo::AmoOp::Add);
                copy(&raw mut old as usize, theirs(a), 8);
                let new = old + b;
                copy(theirs(a), &raw const new as usize, 8);
            }
            Op::Quiet => {}
            other => panic!("{other:?}"),
        }
        ok(cuStreamSynchronize(own));
        ring.finish(ticket, (request.flags & flags::RESULT != 0).then_some([old, 0]));
    }
}

#[test]
fn members_that_only_the_proxy_reaches() {
    const SLOTS: usize = 4;
    let context = start();
    let slices = device_memory(2 * GRANULE);
    let own = stream();
    ok(cuMemsetD8Async(slices, 0, 2 * GRANULE, own));
    ok(cuStreamSynchronize(own));
    let pe = |me: usize| {
        ok(cuCtxSetCurrent(context));
        let (module, own, tables) = (module(KERNELS), stream(), device_memory(4096));
        let (slice, stop) = (slices + me * GRANULE, AtomicBool::new(false));
        let pinned: usize = made(|at| cuMemHostAlloc(at, Memory::bytes(SLOTS), 3));
        let base = NonNull::new(pinned as *mut u8).unwrap();
        // SAFETY: pinned memory that stays to the end.
        let memory = unsafe { Memory::new(base, pinned as u64, SLOTS, Box::new(())) }.unwrap();
        set_state(module, tables, slice, GRANULE, me, 2, Some(memory.device_address()));
        let heap = slice + 16384;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                ok(cuCtxSetCurrent(context));
                serve(pinned, SLOTS, me, GRANULE, &stop);
            });
            let run = |kernel: &str, arguments: &[u64]| {
                ok(launch(function(module, kernel), own, arguments));
                ok(cuStreamSynchronize(own));
            };
            let (source, dest, m, other) = (heap as u64, heap as u64 + 1024, me as u64, 1 - me as u64);
            for round in 0..10 {
                write(heap, &[m + round, 5]);
                run("dushmem_k_far_reduce", &[0, dest, source, 2, 7, 5, 0]);
                assert_eq!(read(heap + 1024, 2), [1 + 2 * round, 10]);
                run("standin_put", &[dest + 64, source, 16, other]);
                run("standin_fetch_add", &[dest + 80, 1, other, dest + 88]);
                run("dushmem_k_sync", &[0, 1]);
                assert_eq!(read(heap + 1024 + 64, 4), [other + round, 5, round + 1, round]);
                run("standin_get", &[dest, source, 8, other]);
                assert_eq!(read(heap + 1024, 1), [other + round]);
                run("dushmem_k_sync", &[0, 1]);
            }
            stop.store(true, Ordering::Relaxed);
        });
    };
    std::thread::scope(|scope| (0..2).for_each(|me| drop(scope.spawn(move || pe(me)))));
}

//! The device as the engine uses it, on the stand-in for the driver.
mod common;
use common::{calls, fail, gpu, has_counters, live};
use dushmem_core::amo::{AmoOp, AmoRequest};
use dushmem_core::coll::reduce::{ReduceNum, ReduceOp};
use dushmem_core::device::{Export, KernelState, KernelTeam, Loaded};
use dushmem_core::device_heap::driver::{Combine, HeapDevice};
use dushmem_core::until::Cmp;
use dushmem_core::window::DEVICE_BASE;
use dushmem_cuda::gpu::Gpu;
use dushmem_cuda::kernels::Shape;
use dushmem_cuda::ptx::NEAR;
use dushmem_cuda::types;

const CHUNK: usize = 4 << 20;

fn bytes(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// Writes host bytes to the device and waits.
fn write(gpu: &Gpu, at: usize, bytes: &[u8]) {
    // SAFETY: the test's own memory, and the device's.
    unsafe { gpu.copy(at, bytes.as_ptr() as usize, bytes.len()) }.unwrap();
    gpu.flush().unwrap();
}

fn read(gpu: &Gpu, at: usize, n: usize) -> Vec<u8> {
    let mut found = vec![0; n];
    // SAFETY: as above.
    unsafe { gpu.copy(found.as_mut_ptr() as usize, at, n) }.unwrap();
    gpu.flush().unwrap();
    found
}

#[test]
fn memory_is_where_it_was_wanted_and_zero() {
    let gpu = gpu();
    let identity = gpu.identity();
    assert!(identity.chunks && identity.granule == 2 << 20 && identity.processors > 0, "{identity:?}");
    let base = gpu.reserve(Some(DEVICE_BASE), 1 << 40).unwrap();
    assert_eq!(base, DEVICE_BASE);
    let free = gpu.free_memory().unwrap();
    let memory = gpu.allocate(base + CHUNK, CHUNK).unwrap();
    assert_eq!((memory.base(), memory.len()), (base + CHUNK, CHUNK));
    let taken = free - gpu.free_memory().unwrap();
    assert!((CHUNK as u64..CHUNK as u64 + (64 << 20)).contains(&taken), "{taken}");
    assert_eq!(read(&gpu, base + CHUNK, 70_000), vec![0; 70_000]);
    let what = bytes(100_000);
    write(&gpu, base + CHUNK + 13, &what);
    assert_eq!(read(&gpu, base + CHUNK + 13, what.len()), what);
    assert!(gpu.is_device(memory.base()) && !gpu.is_device(what.as_ptr() as usize) && !gpu.is_device(8));
    // The same memory, as another process would see it.
    let Export::Fd(_) = memory.export().unwrap() else { panic!("no descriptor") };
    let again = memory.export().unwrap();
    if has_counters() {
        assert_eq!(calls("cuMemExportToShareableHandle"), 1, "an export takes most of the time of all calls");
    }
    let peer = gpu.import(&again, base + (1 << 39), CHUNK).unwrap();
    assert_eq!(read(&gpu, base + (1 << 39) + 13, what.len()), what);
    drop((peer, memory));
    if !has_counters() {
        return;
    }
    assert_eq!(gpu.free_memory().unwrap(), free);
    drop(gpu);
    for kind in ["memory", "mappings", "reservations", "streams", "events", "modules", "host", "contexts"] {
        assert_eq!(live(kind), 0, "{kind}");
    }
    assert_eq!(calls("cuMemFree_v2"), 0, "freeing waits for kernels");
}

/// A driver takes and keeps memory for itself meanwhile, so free memory is not what it was, to the byte.
#[test]
fn memory_that_is_dropped_can_be_had_again() {
    const LARGE: usize = 64 << 20;
    const TIMES: u64 = 6;
    let gpu = gpu();
    let base = gpu.reserve(None, 2 * LARGE).unwrap();
    let round = || {
        let memory = gpu.allocate(base, LARGE).unwrap();
        let peer = gpu.import(&memory.export().unwrap(), base + LARGE, LARGE).unwrap();
        let free = gpu.free_memory().unwrap();
        drop((memory, peer));
        free
    };
    // What the driver keeps for itself it has after the first time.
    round();
    let free = gpu.free_memory().unwrap();
    for i in 1..=TIMES {
        let meanwhile = round();
        assert!(
            free - meanwhile >= LARGE as u64 * 3 / 4,
            "round {i}: {free} bytes are free, then {meanwhile}"
        );
    }
    let kept = free.saturating_sub(gpu.free_memory().unwrap());
    // Had one round in six not given back, that were more; noise of the driver is a few granules.
    assert!(kept < LARGE as u64 / 4, "{kept} bytes did not come back in {TIMES} rounds of {LARGE}");
}

#[test]
fn small_stores_of_every_size_and_alignment() {
    let gpu = gpu();
    let at = gpu.table(4096).unwrap();
    let mut value = [0; 16];
    value.copy_from_slice(&bytes(16));
    let mut expected = vec![0; 4096];
    let mut to = 0;
    for offset in 0..8 {
        for size in [1, 2, 4, 8, 16] {
            to += 32;
            // SAFETY: within the table.
            unsafe { gpu.store(at + to + offset, value, size) }.unwrap();
            expected[to + offset..to + offset + size].copy_from_slice(&value[..size]);
        }
    }
    assert_eq!(read(&gpu, at, 4096), expected);
    // SAFETY: within the table.
    unsafe {
        assert_eq!(gpu.load(at + 5 * 32, 16).unwrap()[..16], expected[5 * 32..5 * 32 + 16]);
        let mut found = [0; 7];
        gpu.peek(at + 33, &mut found).unwrap();
        assert_eq!(found[..], expected[33..40]);
        let mut found = vec![0; 4000];
        gpu.peek(at + 3, &mut found).unwrap();
        assert_eq!(found[..], expected[3..4003]);
    }
}

#[test]
fn many_small_stores_are_done_in_their_order() {
    let gpu = gpu();
    let at = gpu.table(64).unwrap();
    // More than the pinned memory for values holds at a time.
    for i in 0..40_000u64 {
        let mut value = [0; 16];
        value[..8].copy_from_slice(&i.to_le_bytes());
        // SAFETY: within the table; odd, so that it goes through that memory.
        unsafe { gpu.store(at + 1, value, 8) }.unwrap();
    }
    assert_eq!(read(&gpu, at + 1, 8), 39_999u64.to_le_bytes());
}

#[test]
fn nothing_begun_is_nothing_waited_for() {
    let gpu = gpu();
    let at = gpu.table(64).unwrap();
    write(&gpu, at, &[1, 2, 3]);
    let before = if has_counters() { calls("*") } else { 0 };
    for _ in 0..1000 {
        gpu.flush().unwrap();
    }
    let after = if has_counters() { calls("*") } else { 0 };
    assert_eq!(after, before, "a flush with nothing under way calls the driver");
}

#[test]
fn a_look_does_not_wait_for_what_was_begun() {
    let gpu = gpu();
    let at = gpu.table(256).unwrap();
    // A kernel of the program that waits for a word.
    let kernel = gpu.kernel("dushmem_k_wait").unwrap();
    gpu.set_state(&state(3)).unwrap();
    let spin = [at as u64, 8, 0, Cmp::Eq as u64, 5, 0, 0];
    // SAFETY: a stream and a kernel of the context, with its parameters.
    unsafe {
        let stream = program_stream(&gpu);
        gpu.launch(kernel, Shape::ONE, stream, &spin).unwrap();
        // The kernel spins; own streams go on.
        let mut found = [9; 8];
        gpu.peek(at, &mut found).unwrap();
        assert_eq!(found, [0; 8]);
        gpu.store(at + 64, [7; 16], 16).unwrap();
        gpu.flush().unwrap();
        assert!(is_busy(&gpu, stream));
        // Memory, tables and states are made beside it.
        let window = gpu.reserve(None, CHUNK).unwrap();
        let memory = gpu.allocate(window, CHUNK).unwrap();
        gpu.set_state(&state(4)).unwrap();
        assert!(is_busy(&gpu, stream));
        drop(memory);
        let mut value = [0; 16];
        value[0] = 5;
        gpu.store(at, value, 8).unwrap();
        gpu.flush().unwrap();
        let _entered = gpu.context().enter().unwrap();
        gpu.driver().stream_synchronize(stream).unwrap();
        gpu.driver().stream_destroy(stream).unwrap();
    }
}

fn is_busy(gpu: &Gpu, stream: types::Stream) -> bool {
    let _entered = gpu.context().enter().unwrap();
    // SAFETY: a stream of the context.
    let asked = unsafe { gpu.driver().stream_query(stream) };
    asked.is_err_and(|why| why.code == types::errors::NOT_READY)
}

#[test]
fn atomics_of_both_widths() {
    let gpu = gpu();
    let at = gpu.table(64).unwrap();
    let request = |op, value: u64, cond: u64, wide| AmoRequest { op, wide, value, cond };
    for wide in [true, false] {
        let mask = if wide { u64::MAX } else { u32::MAX.into() };
        write(&gpu, at, &[0xff; 16]);
        let mut model = mask;
        let ops = [
            (AmoOp::Add, 5, 0),
            (AmoOp::Fetch, 0, 0),
            (AmoOp::Set, 0x1234_5678_9abc_def0, 0),
            (AmoOp::And, 0xffff_0000_ffff_00ff, 0),
            (AmoOp::Or, 0x10, 0),
            (AmoOp::Xor, u64::MAX, 0),
            (AmoOp::Swap, 77, 0),
            (AmoOp::CompareSwap, 78, 76),
            (AmoOp::CompareSwap, 79, 77),
        ];
        for (i, (op, value, cond)) in ops.into_iter().enumerate() {
            let (value, cond) = (value & mask, cond & mask);
            let old = model;
            model = match op {
                AmoOp::Add => old.wrapping_add(value) & mask,
                AmoOp::Fetch => old,
                AmoOp::Set | AmoOp::Swap => value,
                AmoOp::And => old & value,
                AmoOp::Or => old | value,
                AmoOp::Xor => old ^ value,
                AmoOp::CompareSwap => {
                    if old == cond {
                        value
                    } else {
                        old
                    }
                }
            };
            // SAFETY: a word of the table.
            let found = unsafe { gpu.amo(at, request(op, value, cond, wide), i % 2 == 1) }.unwrap();
            assert!(i % 2 == 0 || found == old, "{op:?} {wide}: {found:#x}, not {old:#x}");
            let word = read(&gpu, at, 8).try_into().map(u64::from_le_bytes).unwrap();
            assert_eq!(word, if wide { model } else { model | 0xffff_ffff << 32 }, "{op:?} {wide}");
        }
    }
}

#[test]
fn vectors_are_combined_by_rank_also_in_place() {
    let gpu = gpu();
    let n = 10_007usize;
    let window = gpu.reserve(None, 3 * CHUNK).unwrap();
    let memory = gpu.allocate(window, CHUNK).unwrap();
    let at = |i: usize| memory.base() + i * (n * 4).next_multiple_of(64);
    let vectors: Vec<Vec<f32>> = (0..3).map(|v| (0..n).map(|i| (v * n + i) as f32 * 0.1).collect()).collect();
    for (i, vector) in vectors.iter().enumerate() {
        let bytes: Vec<u8> = vector.iter().flat_map(|x| x.to_ne_bytes()).collect();
        write(&gpu, at(i), &bytes);
    }
    let reducer = f32::reducer(ReduceOp::Sum).unwrap();
    let (sources, dests) = ([at(0), at(1), at(2)], [at(1), at(3)]);
    // SAFETY: vectors of n elements.
    unsafe { gpu.combine(&Combine { sources: &sources, dests: &dests, n, reducer: &reducer }) }.unwrap();
    let expected: Vec<u8> =
        (0..n).flat_map(|i| (vectors[0][i] + vectors[1][i] + vectors[2][i]).to_ne_bytes()).collect();
    assert!(read(&gpu, at(1), n * 4) == expected && read(&gpu, at(3), n * 4) == expected);
}

#[test]
fn strided_copies_between_all_kinds_of_memory() {
    let gpu = gpu();
    let window = gpu.reserve(None, CHUNK).unwrap();
    let memory = gpu.allocate(window, CHUNK).unwrap();
    let what = bytes(1 << 20);
    for (elem, n, dest_stride, source_stride) in
        [(4, 1000, 12, 8), (1, 77, 3, 1), (16, 9, 16, 16), (3, 1, 5, 9), (70_000, 3, 80_000, 90_000)]
    {
        for (from_host, to_host) in [(true, false), (false, false), (false, true)] {
            let source = if from_host { what.as_ptr() as usize } else { memory.base() };
            write(&gpu, memory.base(), &what);
            let mut host = vec![0u8; 1 << 20];
            let dest = if to_host { host.as_mut_ptr() as usize } else { memory.base() + (2 << 20) };
            // SAFETY: ranges of the test's memory.
            unsafe {
                if !to_host {
                    gpu.zero(dest, 1 << 20).unwrap();
                }
                gpu.copy_strided(dest, dest_stride, source, source_stride, elem, n).unwrap();
            }
            gpu.flush().unwrap();
            let found = if to_host { host } else { read(&gpu, dest, 1 << 20) };
            let mut expected = vec![0; 1 << 20];
            for i in 0..n {
                let row = &what[i * source_stride..i * source_stride + elem];
                expected[i * dest_stride..i * dest_stride + elem].copy_from_slice(row);
            }
            assert!(found == expected, "{elem} x {n}, from host: {from_host}, to host: {to_host}");
        }
    }
}

/// A stream as programs make them.
fn program_stream(gpu: &Gpu) -> types::Stream {
    let mut stream = types::Stream::NULL;
    let _entered = gpu.context().enter().unwrap();
    // SAFETY: a place for a handle.
    unsafe { gpu.driver().stream_create_with_priority(&raw mut stream, 0, 0) }.unwrap();
    stream
}

fn state(pe: i32) -> KernelState {
    // SAFETY: plain words.
    let zero: KernelState = unsafe { std::mem::zeroed() };
    let size = size_of::<KernelState>() as u32;
    KernelState { magic: KernelState::MAGIC, abi: KernelState::ABI, size, my_pe: pe, n_pes: 8, ..zero }
}

/// The variable of a module of the program.
fn variable(gpu: &Gpu, module: types::Module) -> usize {
    let (mut at, mut bytes) = (0, 0);
    let _entered = gpu.context().enter().unwrap();
    // SAFETY: places for two numbers.
    unsafe {
        gpu.driver().module_get_global(&raw mut at, &raw mut bytes, module, c"dushmem_impl_state".as_ptr())
    }
    .unwrap();
    at as usize
}

fn load(gpu: &Gpu, ptx: &str) -> types::Module {
    let mut module = types::Module::NULL;
    let text = std::ffi::CString::new(ptx.trim_end_matches('\0')).unwrap();
    let _entered = gpu.context().enter().unwrap();
    // SAFETY: a place for a handle, and a C string.
    unsafe { gpu.driver().module_load_data(&raw mut module, text.as_ptr().cast()) }.unwrap();
    module
}

#[test]
fn modules_of_the_program_get_the_state_as_it_is_and_as_it_becomes() {
    let gpu = gpu();
    let (early, late, without) = (load(&gpu, NEAR[0].ptx), load(&gpu, NEAR[0].ptx), load(&gpu, WITHOUT));
    let loaded = |module: types::Module| Loaded::Module(module.0 as usize);
    let pe_of = |module| {
        let found = read(&gpu, variable(&gpu, module), size_of::<KernelState>());
        // SAFETY: that many bytes.
        let state = unsafe { found.as_ptr().cast::<KernelState>().read_unaligned() };
        (state.magic == KernelState::MAGIC).then_some((state.my_pe, state.notice))
    };
    gpu.loaded(loaded(early), true).unwrap();
    gpu.loaded(loaded(without), true).unwrap();
    assert_eq!(pe_of(early), None);
    gpu.set_state(&state(3)).unwrap();
    let (pe, notice) = pe_of(early).expect("a state");
    assert!(pe == 3 && notice != 0);
    assert_eq!(pe_of(late), None);
    gpu.loaded(loaded(late), true).unwrap();
    gpu.loaded(loaded(late), true).unwrap();
    assert_eq!(pe_of(late).expect("a state").0, 3);
    gpu.loaded(loaded(early), false).unwrap();
    gpu.set_state(&state(5)).unwrap();
    assert_eq!((pe_of(early).unwrap().0, pe_of(late).unwrap().0), (3, 5));
}

const WITHOUT: &str =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry standin_fault()\n{\nret;\n}\n";

#[test]
fn a_kernel_never_sees_a_handle_with_the_data_of_another_team() {
    let gpu = gpu();
    let table = gpu.table(4 * size_of::<KernelTeam>()).unwrap();
    let entry = |handle, slot| KernelTeam { my_pe: 1, n_pes: 2, slot, handle, ..KernelTeam::NONE };
    let look = |slot: usize| {
        let found = read(&gpu, table + slot * size_of::<KernelTeam>(), size_of::<KernelTeam>());
        // SAFETY: that many bytes.
        let team = unsafe { found.as_ptr().cast::<KernelTeam>().read_unaligned() };
        (team.handle, team.slot)
    };
    gpu.set_team(table, 2, &entry(0x1002, 77)).unwrap();
    assert_eq!((look(2), look(1)), ((0x1002, 77), (0, 0)));
    gpu.set_team(table, 2, &KernelTeam::NONE).unwrap();
    // What a kernel may be reading stays.
    assert_eq!(look(2), (-1, 77));
    // The handle goes first, and comes last.
    if has_counters() {
        fail("cuMemcpyAsync:1=999");
        gpu.set_team(table, 2, &entry(0x2002, 88)).unwrap_err();
        fail("");
        assert_eq!(look(2), (-1, 77));
    }
    gpu.set_team(table, 2, &entry(0x2002, 88)).unwrap();
    assert_eq!(look(2), (0x2002, 88));
}

#[test]
fn pinned_memory_is_not_the_devices_and_is_given_back() {
    let gpu = gpu();
    let memory = vec![3u8; 1 << 20];
    let at = (memory.as_ptr() as usize).next_multiple_of(4096);
    // SAFETY: the test's memory.
    unsafe { gpu.pin(at, 64 << 10) }.unwrap();
    assert!(!gpu.is_device(at));
    // Twice is once; the second end is an error that says so.
    // SAFETY: as above.
    unsafe { gpu.pin(at + (128 << 10), 4096) }.unwrap();
    gpu.unpin(at).unwrap();
    assert!(gpu.unpin(at).unwrap_err().to_string().contains("no memory that was pinned"));
    drop(gpu);
    assert!(!has_counters() || live("host") == 0);
}

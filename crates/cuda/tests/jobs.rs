//! Whole jobs with their heaps in memory of devices, on the stand-in: PEs as threads and as processes, in all ways of
//! sharing a device; calls of the host, and kernels with the state that they got.
mod common;
use common::choose;
use dushmem_core::amo::AmoOp;
use dushmem_core::bootstrap::Bootstrap;
use dushmem_core::coll::reduce::{ReduceNum, ReduceOp};
use dushmem_core::device::{Device, KernelState, Loaded};
use dushmem_core::device_heap::driver::{HeapDevice, Sharing};
use dushmem_core::env::{HeapKind, Hidden, Settings};
use dushmem_core::proxy::request::Request;
use dushmem_core::signal::SignalOp;
use dushmem_core::team::Team;
use dushmem_core::until::Cmp;
use dushmem_core::window::DEVICE_BASE;
use dushmem_core::world::{InitOptions, World};
use dushmem_cuda::device::{Cuda, of};
use dushmem_cuda::gpu::Gpu;
use dushmem_cuda::kernels::{Kernel, STATE, Shape};
use dushmem_cuda::types;
use dushmem_testkit::pe_test;
use dushmem_testkit::suites::{Pe, Sym};
use dushmem_testkit::threads;
use std::ffi::CString;
use std::sync::Arc;
use std::time::Instant;

/// More than a chunk of the heap.
const LARGE: usize = 100 << 20;

fn settings(hidden: Hidden) -> Settings {
    // Without a limit, a device that passes on one chunk would have the host heap's size.
    let device_heap = Some(256 << 20);
    Settings { heap_size: 16 << 20, team_slots: 16, hidden, device_heap, ..Settings::defaults() }
}

const CUDA: Option<&'static dyn Device> = Some(&Cuda);

/// A symmetric array of zeros in device memory.
fn array(pe: &Pe, len: usize) -> Sym<u64> {
    Sym::foreign(pe.calloc_on(HeapKind::Device, len, 8).unwrap().cast(), len)
}

/// The own elements of an array, from `from` on.
fn own(pe: &Pe, array: Sym<u64>, from: usize, len: usize) -> Vec<u64> {
    let mut found = vec![0; len];
    pe.get(pe.ctx(), &mut found, array.at(from), pe.me).unwrap();
    found
}

/// Stores to the own elements of an array.
fn set(pe: &Pe, array: Sym<u64>, from: usize, values: &[u64]) {
    pe.put(pe.ctx(), array.at(from), values, pe.me).unwrap();
}

/// Calls of the host on device memory.
fn host_calls(pe: &Pe) {
    let (a, right, left, n) = (array(pe, 4096), pe.right(), pe.left() as u64, pe.n as u64);
    let me = pe.me as u64;
    let heap = pe.device_heap().expect("bound by the allocation");
    assert!(heap.contains(a.at(0) as usize, 4096 * 8));
    let sent: Vec<u64> = (0..1000).map(|i| me << 32 | i).collect();
    pe.put(pe.ctx(), a.at(7), &sent, right).unwrap();
    pe.p(pe.ctx(), a.at(2000), me + 1, right).unwrap();
    for _ in 0..5 {
        pe.post(pe.ctx(), a.at(2001), AmoOp::Add, 3, 0).unwrap();
    }
    pe.put_signal((a.at(3000), &sent[..10]), (a.at(2002), 9, SignalOp::Add), right).unwrap();
    pe.wait(a.at(2002), Cmp::Eq, 9).unwrap();
    assert_eq!(own(pe, a, 3000, 10), (0..10).map(|i| left << 32 | i).collect::<Vec<_>>());
    pe.meet();
    assert_eq!(own(pe, a, 7, 1000), (0..1000).map(|i| left << 32 | i).collect::<Vec<_>>());
    assert_eq!(pe.g(pe.ctx(), a.at(2000), right).unwrap(), me + 1);
    let all = if pe.me == 0 { 15 * n } else { 0 };
    assert_eq!(own(pe, a, 2001, 1), [all]);
    // Grows, on all PEs at the same offset.
    let large = pe.malloc_on(HeapKind::Device, LARGE).unwrap();
    let end: Sym<u64> = Sym::foreign(large.cast(), LARGE / 8);
    pe.p(pe.ctx(), end.at(LARGE / 8 - 1), me + 5, right).unwrap();
    pe.meet();
    assert_eq!(own(pe, end, LARGE / 8 - 1, 1), [left + 5]);
    pe.free(large).unwrap();
    // Collectives.
    let (source, dest, team) = (a.slice(0, 100), a.slice(200, 1000), pe.world_team());
    set(pe, source, 0, &(0..100).map(|i| me * 1000 + i).collect::<Vec<_>>());
    let sum = i64::reducer(ReduceOp::Sum).unwrap();
    pe.reduce(team, dest.as_bytes(), source.as_bytes(), 100, &sum).unwrap();
    let expected: Vec<u64> = (0..100).map(|i| n * i + 1000 * n * (n - 1) / 2).collect();
    assert_eq!(own(pe, dest, 0, 100), expected);
    let root = 1.min(n - 1);
    pe.bcast(team, dest, source, 100, root as i32).unwrap();
    pe.meet();
    assert_eq!(own(pe, dest, 0, 2), [1000 * root, 1000 * root + 1]);
    pe.gather(team, dest, source, 2).unwrap();
    pe.meet();
    assert_eq!(own(pe, dest, 2 * (pe.n - 1), 2), [1000 * (n - 1), 1000 * (n - 1) + 1]);
    pe.meet();
}

/// A stream of the program, with its own module.
struct Program {
    gpu: Arc<Gpu>,
    stream: types::Stream,
    module: types::Module,
}

impl Program {
    fn new(pe: &Pe) -> Program {
        let gpu = of(&pe.world).expect("bound");
        let (mut stream, mut module) = (types::Stream::NULL, types::Module::NULL);
        let text = CString::new(cuda_standin::TEST_PTX).unwrap();
        let entered = gpu.context().enter().unwrap();
        // SAFETY: places for handles, and a C string.
        unsafe {
            gpu.driver().stream_create_with_priority(&raw mut stream, 1, 0).unwrap();
            gpu.driver().module_load_data(&raw mut module, text.as_ptr().cast()).unwrap();
        }
        drop(entered);
        // SAFETY: loaded above.
        unsafe { Cuda.loaded(&pe.world, Loaded::Module(module.0 as usize), true) }.unwrap();
        Program { gpu, stream, module }
    }

    /// The state of its module.
    fn state(&self) -> KernelState {
        let (driver, mut at, mut size) = (self.gpu.driver(), 0, 0);
        let mut bytes = [0; size_of::<KernelState>()];
        let _entered = self.gpu.context().enter().unwrap();
        // SAFETY: places for numbers; then memory of the module's.
        unsafe {
            driver.module_get_global(&raw mut at, &raw mut size, self.module, STATE.as_ptr()).unwrap();
            self.gpu.peek(at as usize, &mut bytes).unwrap();
        }
        assert_eq!(size, bytes.len(), "the variable of test.ptx");
        // SAFETY: plain words, that many bytes.
        unsafe { bytes.as_ptr().cast::<KernelState>().read_unaligned() }
    }

    fn run(&self, launch: impl FnOnce() -> dushmem_cuda::error::Driven) {
        let _entered = self.gpu.context().enter().unwrap();
        launch().unwrap();
        // SAFETY: an own stream.
        unsafe { self.gpu.driver().stream_synchronize(self.stream) }.unwrap();
    }

    /// Runs a kernel of the library.
    fn library(&self, name: &str, shape: Shape, parameters: &[u64]) {
        let kernel: Kernel = self.gpu.kernel(name).unwrap();
        // SAFETY: the kernel's parameters, with addresses that all PEs have allocated.
        self.run(|| unsafe { self.gpu.launch(kernel, shape, self.stream, parameters) });
    }

    /// Runs a kernel of the program.
    fn own(&self, name: &str, parameters: &[u64]) {
        let (mut function, name) = (types::Function::NULL, CString::new(name).unwrap());
        let driver = self.gpu.driver();
        let mut pointers: Vec<_> =
            parameters.iter().map(|word| core::ptr::from_ref(word).cast_mut().cast()).collect();
        // SAFETY: a place for a handle; the kernel's parameters.
        self.run(|| unsafe {
            driver.module_get_function(&raw mut function, self.module, name.as_ptr())?;
            let (at, none) = (pointers.as_mut_ptr(), std::ptr::null_mut());
            driver.launch_kernel(function, 1, 1, 1, 32, 1, 1, 0, self.stream, at, none)
        });
    }
}

/// Kernels of the program and of the library know the PE, its teams and its peers.
fn kernels(pe: &Pe) {
    let (a, n) = (array(pe, 4096), pe.n as u64);
    let program = Program::new(pe);
    let far = pe.settings().hidden != Hidden::Nobody;
    let (me, right, left) = (pe.me as u64, pe.right() as u64, pe.left() as u64);
    let at = |i: usize| a.at(i) as u64;
    set(pe, a, 0, &[me + 70, me + 71]);
    pe.meet();
    program.own("standin_put", &[at(10), at(0), 16, right]);
    program.own("standin_fetch_add", &[at(20), 5, 0, at(21)]);
    program.library("dushmem_k_sync", Shape { blocks: 1, threads: 64 }, &[0, 1]);
    assert_eq!(own(pe, a, 10, 2), [left + 70, left + 71]);
    assert!(own(pe, a, 21, 1)[0] < 5 * n);
    if pe.me == 0 {
        assert_eq!(own(pe, a, 20, 1), [5 * n]);
    }
    program.own("standin_get", &[at(30), at(0), 8, right]);
    assert_eq!(own(pe, a, 30, 1), [right + 70]);
    // A team of all PEs the other way round is not of the world's order; one after the other in the same slot.
    for round in 0..4 {
        let handle = pe.split_strided(pe.world_team(), pe.n as i32 - 1, -1, pe.n as i32).unwrap();
        let team = pe.team(handle.expect("all PEs are members")).unwrap();
        reductions(pe, &program, &team, a, round, far);
        pe.team_destroy(team.handle()).unwrap();
    }
    reductions(pe, &program, pe.world_team(), a, 9, far);
    pe.meet();
    if far {
        requests(pe, &program, a);
    }
}

/// Kernels count the tickets of their requests in memory of the device; the host knows how many there are, and the job
/// page what is asked for.
fn requests(pe: &Pe, program: &Program, a: Sym<u64>) {
    let (gpu, right) = (&program.gpu, pe.right() as u64);
    let state = program.state();
    let counted = (state.tickets & !63) as usize;
    assert!(gpu.is_device(counted) && state.tickets % 64 == 14 && !gpu.is_device(state.proxy as usize));
    let tickets = || {
        let mut found = [0; 8];
        // SAFETY: a word of a table.
        unsafe { gpu.peek(counted, &mut found) }.unwrap();
        u64::from_ne_bytes(found)
    };
    let noted = || pe.boot().node_memory().1.card(pe.me).requests().read();
    let before = tickets();
    for round in 1..=5 {
        // Nobody waits for any, but the barrier for all.
        program.own("standin_p", &[a.at(1000) as u64, 1000 * round, 300, right]);
        pe.meet();
        assert_eq!(own(pe, a, 1000, 300), (0..300).map(|i| 1000 * round + i).collect::<Vec<_>>());
        pe.meet();
    }
    assert!(tickets() >= before + 1500);
    let begun = Instant::now();
    let in_time = |what: &str| assert!(begun.elapsed() < threads::LIMIT, "{what}");
    let record = loop {
        in_time("a request is noted");
        program.own("standin_p", &[a.at(1000) as u64, 1, 300, right]);
        if let Some((record, _)) = noted() {
            break record;
        }
    };
    let request = Request::of_record(&record);
    assert_eq!((request.call(), request.pe as u64), ("put", right));
    assert!(record.detail >= before);
    while noted().is_some() {
        in_time("none is noted when there has been none for a while");
    }
    pe.meet();
    assert_eq!(own(pe, a, 1299, 1), [300]);
}

fn reductions(pe: &Pe, program: &Program, team: &Team, a: Sym<u64>, round: u64, far: bool) {
    let (n, rank, handle) = (pe.n as u64, team.my_pe() as u64, team.handle() as u64);
    let (source, dest) = (a.at(100) as u64, a.at(200) as u64);
    let shape = Shape { blocks: 2, threads: 512 };
    let name = |what: &str| format!("dushmem_k_{}{what}", if far { "far_" } else { "" });
    set(pe, a, 100, &(0..16).map(|i| 100 * rank + i + round).collect::<Vec<_>>());
    program.library(&name("reduce"), shape, &[handle, dest, source, 16, 7, 5, 0]);
    let expected: Vec<u64> = (0..16).map(|i| n * (i + round) + 50 * n * (n - 1)).collect();
    assert_eq!(own(pe, a, 200, 16), expected);
    program.library(&name("fcollect"), shape, &[handle, dest, source, 8]);
    assert_eq!(own(pe, a, 200, pe.n), (0..n).map(|rank| 100 * rank + round).collect::<Vec<_>>());
    program.library(&name("alltoall"), shape, &[handle, dest, source, 8]);
    assert_eq!(own(pe, a, 200, pe.n), (0..n).map(|from| 100 * from + rank + round).collect::<Vec<_>>());
    program.library(&name("broadcast"), shape, &[handle, dest, source, 128, n - 1]);
    assert_eq!(own(pe, a, 200, 2), [100 * (n - 1) + round, 100 * (n - 1) + round + 1]);
}

/// All of it, where the PEs share devices in that way.
fn everything(world: &Arc<World>, sharing: Sharing) {
    let pe = Pe::new(world);
    host_calls(&pe);
    assert_eq!(pe.device_heap().unwrap().sharing(), sharing);
    kernels(&pe);
    host_calls(&pe);
}

fn as_threads(pes: usize, hidden: Hidden) {
    choose(&[]);
    let options = InitOptions { device: CUDA, ..threads::THREAD_PE };
    let sharing = if pes == 1 { Sharing::Alone } else { Sharing::Threads };
    threads::run_boots(pes, threads::LIMIT, move |boot| {
        let world = World::init(boot, &settings(hidden), options).unwrap_or_else(|why| panic!("init: {why}"));
        everything(&world, sharing);
        world.finalize().unwrap_or_else(|why| panic!("finalize: {why}"));
    });
}

#[test]
fn threads_share_a_device() {
    [1, 2, 4].into_iter().for_each(|pes| as_threads(pes, Hidden::Nobody));
}

#[test]
fn threads_with_peers_behind_the_proxy() {
    [2, 3].into_iter().for_each(|pes| as_threads(pes, Hidden::Others));
}

fn as_processes(boot: Arc<dyn Bootstrap>, knobs: &[(&str, &str)], hidden: Hidden, sharing: Sharing) {
    choose(knobs);
    let options = InitOptions { static_data: false, thread_pe: false, device: CUDA };
    let world = World::init(boot, &settings(hidden), options).unwrap_or_else(|why| panic!("init: {why}"));
    everything(&world, sharing);
    if knobs.iter().all(|(name, _)| *name != "CUDA_STANDIN_NO_VMM") {
        // The same address on every PE.
        assert_eq!(world.device_heap().unwrap().heap().0 & !((1 << 40) - 1), DEVICE_BASE);
    }
    assert_eq!(common::calls("cuMemFree_v2"), 0, "freeing waits for kernels");
    world.finalize().unwrap();
}

pe_test!(processes_with_mps, 3, |boot| {
    as_processes(boot, &[("CUDA_STANDIN_MPS", "1")], Hidden::Nobody, Sharing::Concurrent);
});

pe_test!(processes_that_take_turns, 3, |boot| as_processes(boot, &[], Hidden::Nobody, Sharing::Turns));

pe_test!(processes_with_peers_behind_the_proxy, 2, |boot| {
    as_processes(boot, &[("CUDA_STANDIN_MPS", "1")], Hidden::Others, Sharing::Concurrent);
});

pe_test!(processes_by_ipc_handles, 2, |boot| {
    as_processes(
        boot,
        &[("CUDA_STANDIN_NO_VMM", "1"), ("CUDA_STANDIN_MPS", "1")],
        Hidden::Nobody,
        Sharing::Concurrent,
    );
});

pe_test!(processes_on_two_devices, 4, |boot| {
    let own = (boot.place().0 % 2).to_string();
    let knobs = [("CUDA_STANDIN_DEVICES", "2"), ("CUDA_VISIBLE_DEVICES", own.as_str())];
    as_processes(boot, &knobs, Hidden::Nobody, Sharing::Turns);
});

pe_test!(processes_on_two_devices_with_mps, 4, |boot| {
    let own = ["0,1", "1,0"][boot.place().0 % 2];
    let machine = [("CUDA_STANDIN_DEVICES", "2"), ("CUDA_VISIBLE_DEVICES", own)];
    let knobs = [&machine[..], &[("CUDA_STANDIN_MPS", "1")]].concat();
    as_processes(boot, &knobs, Hidden::Nobody, Sharing::Concurrent);
});

pe_test!(processes_with_a_device_each, 3, |boot| {
    let own = boot.place().0.to_string();
    let knobs = [("CUDA_STANDIN_DEVICES", "3"), ("CUDA_VISIBLE_DEVICES", own.as_str())];
    as_processes(boot, &knobs, Hidden::Nobody, Sharing::Alone);
});

//! A PE of a test, on the stand-in for the driver; with `DUSHMEM_TEST_GPU=1` on a GPU, which has to be shared as the
//! test's mode says.
use crate::common;
use dushmem_core::bootstrap::Bootstrap;
use dushmem_core::coll::reduce::{ReduceNum, ReduceOp, Reducer};
use dushmem_core::device::{Device, StreamHandle, StreamOp};
use dushmem_core::device_heap::driver::Sharing;
use dushmem_core::env::{HeapKind, Hidden, Settings};
use dushmem_core::error::Result;
use dushmem_core::team::Team;
use dushmem_core::world::{InitOptions, World};
use dushmem_cuda::driver::Driver;
use dushmem_cuda::{Cuda, driver, types};
use std::sync::{Arc, Mutex, Once};

/// See [`Mode::LittleRoom`].
pub const ROOM: usize = 64;

/// How PEs share the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Turns,
    Concurrent,
    Threads,
    /// As concurrent, but kernels reach other PEs through the proxy only.
    Hidden,
    /// Processes that take turns on two devices.
    TwoDevices,
    /// Processes under MPS on two devices.
    TwoAtOnce,
    /// Processes with a device each, that see both.
    OneEach,
    /// Processes that take turns, whose streams take no more than [`ROOM`] that isn't done.
    LittleRoom,
    /// Processes that take turns, and whose heap is the host's.
    HostHeap,
    /// The same of processes whose kernels run at the same time.
    HostHeapTogether,
    /// Processes that have chosen none of several devices yet.
    Unbound,
}

pub struct Pe {
    pub world: Arc<World>,
    pub me: usize,
    pub n: usize,
    pub driver: &'static Driver,
    capture_mode: u32,
    threads: bool,
    /// Streams that were made, and how many of them are in use.
    streams: Mutex<(Vec<StreamHandle>, usize)>,
}

/// The driver's number of the mode of captures that concern one thread.
const THREAD_LOCAL: u32 = 1;

/// A graph that can be launched.
pub struct Graph(types::GraphExec);

impl Pe {
    /// Joins the job.
    pub fn join(boot: Arc<dyn Bootstrap>, mode: Mode) -> Pe {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            if common::on_gpu() {
                return common::choose(&[]);
            }
            common::choose(&[]);
            // SAFETY: nothing else reads or changes variables yet in this test.
            unsafe {
                // Where PEs take turns, a kernel that waits for another PE's fails there.
                if matches!(mode, Mode::Turns | Mode::TwoDevices | Mode::HostHeap) {
                    std::env::set_var("CUDA_STANDIN_NO_SPIN", "1");
                }
                if mode == Mode::LittleRoom {
                    std::env::set_var("CUDA_STANDIN_ROOM", ROOM.to_string());
                }
                std::env::set_var("CUDA_STANDIN_CONNECTIONS", "1");
                let two = matches!(mode, Mode::TwoDevices | Mode::TwoAtOnce | Mode::OneEach);
                if two || mode == Mode::Unbound {
                    std::env::set_var("CUDA_STANDIN_DEVICES", "2");
                }
                // In streams that waited for another device, what that has written is flushed where it can be.
                if two {
                    std::env::set_var("CUDA_STANDIN_FLUSHES", "1");
                    let lists = if mode == Mode::OneEach { ["0,1", "1,0"] } else { ["0", "1"] };
                    std::env::set_var("CUDA_VISIBLE_DEVICES", lists[boot.place().0 % 2]);
                }
                let at_once = matches!(
                    mode,
                    Mode::Concurrent | Mode::Hidden | Mode::TwoAtOnce | Mode::HostHeapTogether
                );
                std::env::set_var("CUDA_STANDIN_MPS", if at_once { "1" } else { "0" });
            }
        });
        let settings = Settings {
            heap_size: 1 << 20,
            device_heap: Some(16 << 20),
            team_slots: 16,
            heap_kind: if matches!(mode, Mode::HostHeap | Mode::HostHeapTogether) {
                HeapKind::Host
            } else {
                HeapKind::Device
            },
            hidden: if mode == Mode::Hidden { Hidden::Others } else { Hidden::Nobody },
            ..Settings::defaults()
        };
        let device = dushmem_cuda::device().unwrap_or_else(|why| panic!("{why}"));
        let options =
            InitOptions { static_data: false, thread_pe: mode == Mode::Threads, device: Some(device) };
        let world = World::init(boot, &settings, options).unwrap_or_else(|why| panic!("init: {why}"));
        let (me, n) = (world.my_pe() as usize, world.n_pes() as usize);
        let driver = driver::get().unwrap();
        if let Some(heap) = world.device_heap() {
            let expected = match mode {
                _ if n == 1 => Sharing::Alone,
                Mode::Turns | Mode::TwoDevices | Mode::Unbound | Mode::HostHeap | Mode::LittleRoom => {
                    Sharing::Turns
                }
                Mode::Concurrent | Mode::Hidden | Mode::TwoAtOnce | Mode::HostHeapTogether => {
                    Sharing::Concurrent
                }
                Mode::OneEach => Sharing::Alone,
                Mode::Threads => Sharing::Threads,
            };
            assert_eq!(heap.sharing(), expected);
        }
        // Other threads are other PEs, which may do what they like.
        let capture_mode = if mode == Mode::Threads { THREAD_LOCAL } else { types::CAPTURE_MODE_GLOBAL };
        let threads = mode == Mode::Threads;
        Pe { world, me, n, driver, capture_mode, threads, streams: Mutex::default() }
    }

    pub fn leave(self) {
        self.world.finalize().unwrap_or_else(|why| panic!("finalize: {why}"));
        Cuda.detach(&self.world);
        let Pe { world, threads, .. } = self;
        drop(world);
        // Other threads may be PEs still.
        if threads || !common::has_counters() {
            return;
        }
        for kind in ["memory", "mappings", "reservations", "modules", "host", "contexts"] {
            assert_eq!(common::live(kind), 0, "{kind} after finalize");
        }
    }

    /// Symmetric memory of the device.
    pub fn alloc(&self, bytes: usize) -> usize {
        self.world.malloc_on(HeapKind::Device, bytes).unwrap_or_else(|why| panic!("malloc: {why}")) as usize
    }

    pub fn stream(&self) -> StreamHandle {
        let mut streams = self.streams.lock().unwrap();
        let (made, used) = &mut *streams;
        if *used == made.len() {
            made.push(self.new_stream());
        }
        *used += 1;
        made[*used - 1]
    }

    /// All streams may be given out again: they are idle. PEs that are threads have no more than the driver has queues,
    /// since streams that share one hold up each other.
    pub fn reuse_streams(&self) {
        self.streams.lock().unwrap().1 = 0;
    }

    fn new_stream(&self) -> StreamHandle {
        let gpu = dushmem_cuda::device::of(&self.world).expect("malloc has bound it");
        let _entered = gpu.context().enter().unwrap();
        self.stream_here()
    }

    /// A stream of the current context.
    pub fn stream_here(&self) -> StreamHandle {
        let mut stream = types::Stream::NULL;
        // SAFETY: a place for a handle.
        unsafe { self.driver.stream_create_with_priority(&raw mut stream, types::STREAM_NON_BLOCKING, 0) }
            .unwrap();
        StreamHandle(stream.0 as usize)
    }

    /// Puts an operation into a stream.
    #[track_caller]
    pub fn op(&self, stream: StreamHandle, op: StreamOp) {
        self.try_op(stream, op).unwrap_or_else(|why| panic!("PE {}: {why}", self.me));
    }

    pub fn try_op(&self, stream: StreamHandle, op: StreamOp) -> Result<()> {
        // SAFETY: the tests' arguments are valid until the stream has been waited for.
        unsafe { Cuda.enqueue(&self.world, stream, "test", op) }
    }

    #[track_caller]
    pub fn sync(&self, stream: StreamHandle) {
        Cuda.synchronize(stream).unwrap_or_else(|why| panic!("PE {}: {why}", self.me));
    }

    /// What is put into `stream` from now on comes after what is in `before`.
    pub fn follow(&self, stream: StreamHandle, before: StreamHandle) {
        let gpu = dushmem_cuda::device::of(&self.world).unwrap();
        let _entered = gpu.context().enter().unwrap();
        let mut event = types::Event::NULL;
        let handle = |stream: StreamHandle| types::Stream(stream.0 as *mut _);
        // SAFETY: a place for a handle, and own streams.
        unsafe {
            self.driver.event_create(&raw mut event, types::EVENT_DISABLE_TIMING).unwrap();
            self.driver.event_record(event, handle(before)).unwrap();
            self.driver.stream_wait_event(handle(stream), event, 0).unwrap();
            self.driver.event_destroy(event).unwrap();
        }
    }

    pub fn is_idle(&self, stream: StreamHandle) -> bool {
        let gpu = dushmem_cuda::device::of(&self.world).unwrap();
        let _entered = gpu.context().enter().unwrap();
        // SAFETY: an own stream.
        unsafe { self.driver.stream_query(types::Stream(stream.0 as *mut _)) }.is_ok()
    }

    /// Host bytes into device memory, now.
    pub fn write(&self, at: usize, bytes: &[u8]) {
        if !self.world.device_heap().unwrap().contains(at, bytes.len()) {
            // SAFETY: the test's memory, which is the host's.
            unsafe { bytes.as_ptr().copy_to_nonoverlapping(at as *mut u8, bytes.len()) };
            return;
        }
        let device = self.world.device_heap().unwrap().device();
        // SAFETY: the test's memory.
        unsafe { device.copy(at, bytes.as_ptr() as usize, bytes.len()) }.unwrap();
        device.flush().unwrap();
    }

    pub fn read(&self, at: usize, n: usize) -> Vec<u8> {
        let mut found = vec![0; n];
        if !self.world.device_heap().unwrap().contains(at, n) {
            // SAFETY: the test's memory, which is the host's.
            unsafe { (at as *const u8).copy_to_nonoverlapping(found.as_mut_ptr(), n) };
            return found;
        }
        let device = self.world.device_heap().unwrap().device();
        // SAFETY: the test's memory.
        unsafe { device.peek(at, &mut found) }.unwrap();
        found
    }

    pub fn write_words(&self, at: usize, words: &[u32]) {
        self.write(at, &words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>());
    }

    pub fn read_words(&self, at: usize, n: usize) -> Vec<u32> {
        self.read(at, 4 * n).chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    }

    pub fn read_u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.read(at, 8).try_into().unwrap())
    }

    /// What `work` puts into the stream, as a graph.
    pub fn capture(&self, stream: StreamHandle, work: impl FnOnce()) -> Graph {
        let handle = types::Stream(stream.0 as *mut _);
        let (mut graph, mut exec) = (types::Graph::NULL, types::GraphExec::NULL);
        let gpu = dushmem_cuda::device::of(&self.world).unwrap();
        let entered = gpu.context().enter().unwrap();
        // SAFETY: an own stream.
        unsafe { self.driver.stream_begin_capture(handle, self.capture_mode) }.unwrap();
        drop(entered);
        work();
        let _entered = gpu.context().enter().unwrap();
        // SAFETY: places for handles, and an own stream.
        unsafe {
            self.driver.stream_end_capture(handle, &raw mut graph).unwrap();
            self.driver.graph_instantiate(&raw mut exec, graph, 0).unwrap();
            self.driver.graph_destroy(graph).unwrap();
        }
        Graph(exec)
    }

    pub fn launch(&self, graph: &Graph, stream: StreamHandle) {
        let gpu = dushmem_cuda::device::of(&self.world).unwrap();
        let _entered = gpu.context().enter().unwrap();
        // SAFETY: made by `capture`.
        unsafe { self.driver.graph_launch(graph.0, types::Stream(stream.0 as *mut _)) }.unwrap();
    }

    pub fn barrier(&self) {
        self.world.barrier_all().unwrap();
    }

    pub fn world_team(&self) -> Arc<Team> {
        self.world.team(0).unwrap()
    }

    /// The team of these PEs, made by all; `None` for others.
    pub fn team(&self, pes: &[i32]) -> Option<Arc<Team>> {
        let handle = self.world.split_listed(&self.world_team(), pes).unwrap()?;
        Some(self.world.team(handle).unwrap())
    }
}

pub fn sum() -> Reducer {
    <u32 as ReduceNum>::reducer(ReduceOp::Sum).unwrap()
}

/// Runs `body` as each PE of a job of this mode: processes, or threads.
#[macro_export]
macro_rules! modes {
    ($($name:ident: $mode:ident $pes:literal $body:expr;)*) => {$(
        #[test]
        fn $name() {
            let body: fn(&$crate::pe::Pe) = $body;
            let main = move |boot| {
                let pe = $crate::pe::Pe::join(boot, $crate::pe::Mode::$mode);
                body(&pe);
                pe.leave();
            };
            if $crate::pe::Mode::$mode == $crate::pe::Mode::Threads {
                dushmem_testkit::threads::run_boots($pes, dushmem_testkit::threads::LIMIT, main);
            } else {
                let name = concat!(module_path!(), "::", stringify!($name));
                dushmem_testkit::processes::run(name, $pes, main);
            }
        }
    )*};
}

//! A device as one PE uses it: context, own streams, kernels, memory. What the other modules of the crate work on.
use crate::context::Context;
use crate::driver::Driver;
use crate::error::{Driven, Failure};
use crate::facts;
use crate::kernels::{Kernel, Library, Shape};
use crate::lane::Lane;
use crate::loading::{self, Loaded, Loading};
use crate::memory::{self, Chunk, Plain, Spaces, Tables};
use crate::notice::Notice;
use crate::pinned::{Arena, Cell, Pinned};
use crate::proxy::PeProxy;
use crate::ptx::{FAR, Image};
use crate::state::States;
use crate::types::{self, *};
use crate::waiting::Waiting;
use dushmem_core::device::{DeviceMemory, Export, KernelState, KernelTeam};
use dushmem_core::device_heap::driver::{Agreed, Sharing};
use dushmem_core::error::{Error, Result};
use dushmem_core::laps::{Laps, Step};
use dushmem_core::world::World;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

/// Bytes of pinned memory for values and tables that are under way.
const ARENA: usize = 256 << 10;
/// Threads of a block of the kernels that move or combine vectors.
pub(crate) const THREADS: u32 = 512;

/// Bytes for the word in which kernels say that they have lost their turn while they waited.
const NOTICE: usize = 64;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A device that a PE of this process uses, and its context there.
type Used = (types::Device, types::Context);

/// Those of all PEs of this process: each lets the others reach its memory.
static USED: Mutex<Vec<Used>> = Mutex::new(Vec::new());

pub(crate) fn used() -> MutexGuard<'static, Vec<Used>> {
    lock(&USED)
}

/// The device of a PE. Fields are dropped in this order.
#[derive(Debug)]
pub struct Gpu {
    pub(crate) proxy: PeProxy,
    pub(crate) states: States,
    pub(crate) tables: Tables,
    /// Host memory for others, which lives as long as the device.
    words: Mutex<Vec<Pinned>>,
    pub(crate) notice: Notice,
    pub(crate) arena: Arena,
    /// What the data lane answers, and the side lane.
    pub(crate) answer: Cell,
    pub(crate) peeked: Cell,
    loading: Loading,
    /// Whether the library's modules are among those that get the state.
    settled: Mutex<bool>,
    /// Whether the kernels for PEs behind the proxy are loaded.
    far: Mutex<bool>,
    /// Work in the order in which it was begun.
    pub(crate) data: Arc<Lane>,
    /// Makes its stream.
    maker: Mutex<Option<JoinHandle<()>>>,
    /// What must not wait for that: looks at words, states of modules.
    pub(crate) side: Lane,
    pub(crate) pins: crate::pins::Pins,
    pub(crate) spaces: Arc<Spaces>,
    pub(crate) waiting: Waiting,
    /// For waits within waits, whose own records stay.
    pub(crate) short: Waiting,
    agreed: OnceLock<Agreed>,
    pub(crate) pe: Option<usize>,
    pub(crate) facts: Facts,
    laps: Mutex<Laps>,
    context: Arc<Context>,
}

/// What does not change.
#[derive(Debug)]
pub(crate) struct Facts {
    pub name: String,
    pub uuid: [u8; 16],
    pub memory: u64,
    pub granule: u64,
    pub concurrent: bool,
    pub processors: u32,
    pub chunks: bool,
    pub max_pitch: usize,
    pub write64: bool,
    /// Whether the device's atomic operations and those of CPUs on memory of the host know of each other.
    pub host_atomics: bool,
}

/// The variables that have memory allocated as on drivers that can't make it in chunks.
const NO_CHUNKS_VARIABLES: [&str; 2] = ["DUSHMEM_DISABLE_CUDA_VMM", "NVSHMEM_DISABLE_CUDA_VMM"];

impl Gpu {
    /// The device of a context. `None`: nobody's, for measurements and tests.
    pub fn open(context: Context, world: Option<&Arc<World>>, images: &[Image]) -> Result<Gpu> {
        let gpu = Gpu::begin(context, world, images)?;
        gpu.finish_start()?;
        Ok(gpu)
    }

    /// A PE begins to use the device of a context: [`Gpu::finish_start`] waits for the rest.
    pub(crate) fn begin(context: Context, world: Option<&Arc<World>>, images: &[Image]) -> Result<Gpu> {
        let mut laps = Laps::begin();
        let pe = world.map(|world| world.my_pe() as usize);
        let (waiting, short) = match world {
            Some(world) => (Waiting::of(world), Waiting::within(world)),
            None => (Waiting::alone(), Waiting::alone()),
        };
        let (driver, device) = (context.driver(), context.device());
        let context = Arc::new(context);
        let facts = Facts::of(driver, &context)?;
        laps.lap("properties");
        let loading = Loading::begin(&context, images, THREADS);
        laps.lap("thread");
        let (data, side) = (Arc::new(Lane::new(&context)), Lane::new(&context));
        side.make().map_err(|why| why.doing("making a stream"))?;
        laps.lap("stream");
        let sizes = [NOTICE, ARENA, Cell::BYTES, Cell::BYTES];
        let [notice, arena, answer, peeked] = Pinned::several(&context, sizes)?;
        laps.lap("pinned memory");
        let gpu = Gpu {
            proxy: PeProxy::new(world),
            states: States::new(),
            tables: Tables::default(),
            words: Mutex::default(),
            notice: Notice::new(notice, pe),
            arena: Arena::new(arena),
            answer: Cell::new(answer),
            peeked: Cell::new(peeked),
            loading,
            settled: Mutex::new(false),
            far: Mutex::new(false),
            data,
            maker: Mutex::default(),
            side,
            pins: crate::pins::Pins::default(),
            spaces: Arc::new(Spaces::new(&context)),
            waiting,
            short,
            agreed: OnceLock::new(),
            pe,
            facts,
            laps: Mutex::new(laps),
            context,
        };
        used().push((device, gpu.context.handle()));
        Ok(gpu)
    }

    /// Waits for what the start has begun.
    pub(crate) fn finish_start(&self) -> Result<()> {
        let settled = self.settle();
        // Also without kernels: what is being zeroed may be given back next.
        self.side.finish(&self.short).map_err(|why| why.doing("clearing new device memory"))?;
        settled?;
        // Its first user need not wait for this, and no start does.
        let mut maker = lock(&self.maker);
        if maker.is_none() {
            self.laps().lap("zeroing and state");
            let data = Arc::clone(&self.data);
            *maker = loading::beside("dushmem-stream", move || {
                // Who needs it finds out why it can't be made.
                let _ = data.make();
            })
            .ok();
        }
        Ok(())
    }

    /// Waits for the library's kernels, and has them get the state from here on.
    pub(crate) fn settle(&self) -> Result<()> {
        let mut settled = lock(&self.settled);
        if !*settled {
            self.laps().resume();
            let loaded = self.loading.wait()?;
            for module in loaded.library.modules() {
                self.states.add_own(&self.context, module)?;
            }
            *settled = true;
            let mut laps = self.laps();
            laps.beside("kernels", loaded.took);
            laps.beside("their module", loaded.library.took());
            laps.lap("rest of kernels");
        }
        Ok(())
    }

    pub(crate) fn laps(&self) -> MutexGuard<'_, Laps> {
        lock(&self.laps)
    }

    /// How long the steps took that came after the last call.
    pub(crate) fn take_steps(&self) -> Vec<Step> {
        core::mem::replace(&mut *self.laps(), Laps::begin()).into_steps()
    }

    fn library(&self) -> Result<&Library> {
        Ok(&self.loading.wait()?.library)
    }

    /// The driver's functions.
    pub fn driver(&self) -> &'static Driver {
        self.context.driver()
    }

    /// The context that everything of the PE belongs to.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// A kernel of the library.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        self.library()?.kernel(name)
    }

    /// What a launch needs, whose kernel is there.
    #[inline]
    fn launchable(&self) -> Driven<&Loaded> {
        self.loading.get().ok_or(Failure::missing("cuModuleGetFunction"))
    }

    /// See [`Library::launch`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn launch(
        &self,
        kernel: Kernel,
        shape: Shape,
        stream: types::Stream,
        parameters: &[u64],
    ) -> Driven {
        // SAFETY: passed on.
        unsafe { self.launchable()?.library.launch(kernel, shape, stream, parameters) }
    }

    /// See [`Library::launch_raw`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn launch_raw(
        &self,
        kernel: Kernel,
        shape: Shape,
        stream: types::Stream,
        parameters: &mut [*mut core::ffi::c_void],
    ) -> Driven {
        // SAFETY: passed on.
        unsafe { self.launchable()?.library.launch_raw(kernel, shape, stream, parameters) }
    }

    /// Blocks of the library's kernels that the device runs at the same time, if nothing else runs.
    pub fn resident_blocks(&self) -> u32 {
        self.loading.get().map_or(1, |loaded| loaded.blocks)
    }

    /// Refuses a stream of another context than that of the PE's heap: the program has changed its device.
    pub fn check_stream(&self, stream: types::Stream) -> Result<()> {
        let driver = self.driver();
        let mut context = types::Context::NULL;
        let special = [types::Stream::NULL, types::Stream::LEGACY, types::Stream::PER_THREAD];
        // SAFETY: a place for a handle, and the program's stream.
        unsafe {
            match special.contains(&stream) {
                true => driver.ctx_get_current(&raw mut context),
                // The call needs a context, whichever.
                false => {
                    self.context.enter().and_then(|_entered| driver.stream_get_ctx(stream, &raw mut context))
                }
            }
        }
        .map_err(|why| why.doing(format_args!("stream = {:p}", stream.0)))?;
        // Where none is current, the default stream is that of the PE's device.
        if context == self.context.handle() || (context.is_null() && special.contains(&stream)) {
            return Ok(());
        }
        Err(Error::Device(format!(
            "stream = {:p}: it belongs to another device, or context, than this PE's heap, which is on {} ({}); choose \
             the device before the first allocation and keep it",
            stream.0,
            self.facts.name,
            facts::show_uuid(&self.facts.uuid)
        )))
    }

    /// Has a stream of the program come after all that host calls have begun. A graph can't: what was begun by the time
    /// of its capture is waited for at once.
    pub fn join(&self, stream: types::Stream, captured: bool) -> Driven {
        match captured {
            false => self.data.join(stream),
            true => self.data.finish(&self.waiting),
        }
    }

    /// Zeroed host memory that the device addresses, as both see it; it lives as long as the device.
    pub fn host_words(&self, bytes: usize) -> Result<(NonNull<u8>, types::Address)> {
        let block = Pinned::new(&self.context, bytes)?;
        let found = (block.host(), block.device());
        self.words.lock().unwrap_or_else(PoisonError::into_inner).push(block);
        Ok(found)
    }

    /// How the PEs share the device.
    pub fn sharing(&self) -> Sharing {
        self.agreed.get().map_or(Sharing::Alone, |agreed| agreed.sharing)
    }

    /// Whether PEs of the job use other devices, too.
    pub(crate) fn has_other_devices(&self) -> bool {
        self.agreed.get().is_some_and(|agreed| agreed.devices > 1)
    }

    pub(crate) fn agree(&self, agreed: Agreed) {
        let _ = self.agreed.set(agreed);
        // Processes have queues of their own.
        if agreed.sharing == Sharing::Threads && self.pe == Some(0) {
            crate::device::warn_of_few_queues(self.pe);
        }
        if agreed.sharing == Sharing::Threads && agreed.devices > 1 && !self.facts.chunks {
            self.enable_peers();
        }
    }

    /// The state with what only this side knows; starts the proxy where the PE's kernels need one.
    pub(crate) fn completed(&self, state: &KernelState) -> Result<KernelState> {
        let mut state = KernelState { notice: self.notice.device(), ..*state };
        if state.remote > 0 || state.n_pes > KernelTeam::MOST_DIRECT as i32 {
            self.load_far()?;
        }
        if state.posts() && state.proxy == 0 {
            (state.proxy, state.tickets) = self.proxy.start(&self.context, || self.new_table(64))?;
        }
        Ok(state)
    }

    /// Loads the kernels for teams whose members don't all reach each other, or are many, once.
    fn load_far(&self) -> Result<()> {
        let mut done = self.far.lock().unwrap_or_else(PoisonError::into_inner);
        if !*done {
            for image in FAR {
                let module = self.library()?.add(image)?;
                self.states.add_own(&self.context, module)?;
            }
            *done = true;
        }
        Ok(())
    }

    pub(crate) fn name_and_capability(&self) -> String {
        let number = |which| facts::attribute(self.driver(), self.context.device(), which);
        let (major, minor) = (number(ATTRIBUTE_COMPUTE_MAJOR), number(ATTRIBUTE_COMPUTE_MINOR));
        format!("{}, of compute capability {major}.{minor}", self.facts.name)
    }

    /// Devices that have to reach this one's memory.
    fn reaching(&self) -> Vec<types::Device> {
        let own = self.context.device();
        let mut devices = vec![own];
        for &(other, _) in used().iter() {
            let mut can = 0;
            // SAFETY: a place for a number.
            let asked = unsafe { self.driver().device_can_access_peer(&raw mut can, other, own) };
            if !devices.contains(&other) && asked.is_ok() && can != 0 {
                devices.push(other);
            }
        }
        devices
    }

    /// Memory that is zero when the side lane has done what was begun.
    pub(crate) fn begin_memory(&self, at: usize, bytes: usize) -> Result<Box<dyn DeviceMemory>> {
        let memory: Box<dyn DeviceMemory> = match self.facts.chunks {
            true => Box::new(Chunk::new(&self.spaces, &self.reaching(), at, bytes)?),
            false => Box::new(Plain::new(&self.context, bytes)?),
        };
        let (base, driver) = (memory.base() as Address, self.driver());
        self.side
            // SAFETY: the new memory.
            .begin(|stream| unsafe { driver.memset_d8_async(base, 0, bytes, stream) })
            .map_err(|why| why.doing("clearing new device memory"))?;
        Ok(memory)
    }

    /// Memory that is zero.
    pub(crate) fn new_memory(&self, at: usize, bytes: usize) -> Result<Box<dyn DeviceMemory>> {
        let memory = self.begin_memory(at, bytes)?;
        self.side.finish(&self.short).map_err(|why| why.doing("clearing new device memory"))?;
        Ok(memory)
    }

    /// Begins to copy bytes of the host to own memory, after it was zeroed.
    ///
    /// # Safety
    /// The destination is valid, and the bytes stay, until the side lane has done it.
    pub(crate) unsafe fn begin_fill(&self, dest: usize, bytes: &[u8]) -> Result<()> {
        let (driver, source) = (self.driver(), bytes.as_ptr() as Address);
        self.side
            // SAFETY: as the caller promises.
            .begin(|stream| unsafe { driver.memcpy_async(dest as Address, source, bytes.len(), stream) })
            .map_err(|why| why.doing("storing tables for kernels"))
    }

    pub(crate) fn import_memory(
        &self,
        export: &Export,
        at: usize,
        bytes: usize,
    ) -> Result<Box<dyn DeviceMemory>> {
        Ok(match export {
            Export::Fd(fd) => Box::new(Chunk::import(&self.spaces, fd, &[self.context.device()], at, bytes)?),
            Export::Opaque(handle) => Box::new(Plain::import(&self.context, handle, bytes)?),
        })
    }

    /// Memory for tables, in blocks of one granule at least.
    pub(crate) fn new_table(&self, bytes: usize) -> Result<usize> {
        self.tables.take(bytes, |bytes| {
            let bytes = bytes.next_multiple_of(self.facts.granule as usize);
            let at = if self.facts.chunks { self.spaces.reserve(None, bytes)? } else { 0 };
            self.new_memory(at, bytes)
        })
    }
}

impl Facts {
    fn of(driver: &Driver, context: &Context) -> Result<Facts> {
        let device = context.device();
        let number = |which| facts::attribute(driver, device, which);
        let name = facts::name(driver, device);
        if number(ATTRIBUTE_UNIFIED_ADDRESSING) == 0 {
            return Err(Error::NotSupported(format!(
                "{name} has no unified addresses, which the library needs"
            )));
        }
        let mut memory = 0;
        // SAFETY: a place for a number.
        unsafe { driver.device_total_mem(&raw mut memory, device) }?;
        let set = |name: &&str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let told = NO_CHUNKS_VARIABLES.iter().find_map(set);
        let refused = told.is_some_and(|value| !["0", "false", "no", "off"].contains(&value.trim()));
        let chunks = facts::has_chunks(driver, device) && !refused;
        let granule = if chunks { memory::granule(context)? } else { 2 << 20 };
        Ok(Facts {
            name,
            uuid: facts::uuid(driver, device)?,
            memory: memory as u64,
            granule: granule as u64,
            concurrent: number(ATTRIBUTE_MPS) != 0,
            processors: number(ATTRIBUTE_MULTIPROCESSORS).max(1) as u32,
            chunks,
            max_pitch: number(ATTRIBUTE_MAX_PITCH).max(0) as usize,
            write64: number(ATTRIBUTE_STREAM_MEM_OPS_64) != 0,
            host_atomics: number(ATTRIBUTE_HOST_NATIVE_ATOMICS) != 0,
        })
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        let mut used = used();
        if let Some(at) = used.iter().position(|&(device, _)| device == self.context.device()) {
            used.swap_remove(at);
        }
        drop(used);
        if let Some(maker) = lock(&self.maker).take() {
            let _ = loading::end(maker, &self.context);
        }
        if self.context.is_forked() {
            return;
        }
        // What is under way uses what goes away now.
        let _ = self.data.finish(&self.waiting);
        let _ = self.side.finish(&self.short);
        self.notice.look();
        self.unpin_all();
    }
}

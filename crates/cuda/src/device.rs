//! CUDA as a kind of device: which of them a PE uses, and the PEs that use one.
use crate::context::{Context, is_active};
use crate::driver::{self, CONNECTIONS_VARIABLE, Driver};
use crate::facts;
use crate::gpu::Gpu;
use crate::on_stream::in_world;
use crate::on_stream::stream::OnStream;
use crate::ptx::NEAR;
use crate::types;
use crate::units;
use dushmem_core::device::{
    Device, DeviceMemory, Export, HeapRequest, Loaded, Module, StreamHandle, StreamOp,
};
use dushmem_core::device_heap::driver::HeapDevice;
use dushmem_core::error::{Error, Result};
use dushmem_core::world::World;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// NVIDIA's GPUs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cuda;

/// CUDA, if this process can use it: otherwise one line that says why not.
pub fn device() -> Result<&'static dyn Device> {
    let driver = driver::get()?;
    if counted(driver)?.is_empty() { Err(no_device()) } else { Ok(&Cuda) }
}

/// A PE that uses a device, by the address of its world.
#[derive(Debug)]
struct Bound {
    world: usize,
    gpu: Arc<Gpu>,
    /// Its operations in streams, from the first one on.
    streams: OnceLock<Arc<OnStream>>,
}

static BOUND: RwLock<Vec<Bound>> = RwLock::new(Vec::new());

fn key(world: &World) -> usize {
    core::ptr::from_ref(world) as usize
}

/// The device that a PE uses.
pub fn of(world: &World) -> Option<Arc<Gpu>> {
    with_bound(world, |bound| Arc::clone(&bound.gpu)).ok()
}

/// The PE of this device leaves its job, and its world's address may be another one's soon: waits for what is in
/// streams.
pub(crate) fn leave(gpu: &Gpu) -> Result<()> {
    end(|bound| core::ptr::eq(Arc::as_ptr(&bound.gpu), gpu));
    gpu.wait_for_program()
}

/// Takes a PE from the list when its kernels, and the threads of this side that streams wait for, have nothing to do.
fn end(which: impl Fn(&Bound) -> bool) {
    let mut bound = BOUND.write().unwrap_or_else(PoisonError::into_inner);
    let found = bound.iter().position(which);
    let gone = found.map(|at| bound.swap_remove(at));
    drop(bound);
    // The engine hears of failures when it leaves the device.
    if let Some(Bound { gpu, streams, .. }) = gone {
        let _ = gpu.wait_for_program();
        drop(streams);
    }
}

/// A PE's operations in streams.
pub(crate) fn streams(world: &Arc<World>) -> Result<Arc<OnStream>> {
    if let Some(streams) = with_bound(world, |bound| bound.streams.get().cloned())? {
        return Ok(streams);
    }
    let gpu = of(world).ok_or(Error::NotInitialised)?;
    // Not under the lock, which others need for calls that this one may wait for in the driver.
    let made = Arc::new(in_world::make(world, &gpu)?);
    with_bound(world, |bound| Arc::clone(bound.streams.get_or_init(|| made)))
}

fn with_bound<R>(world: &World, act: impl FnOnce(&Bound) -> R) -> Result<R> {
    let bound = BOUND.read().unwrap_or_else(PoisonError::into_inner);
    let found = bound.iter().find(|bound| bound.world == key(world));
    found.map(act).ok_or(Error::NotInitialised)
}

/// The devices of all PEs of this process.
pub(crate) fn all() -> Vec<Arc<Gpu>> {
    let bound = BOUND.read().unwrap_or_else(PoisonError::into_inner);
    bound.iter().map(|bound| Arc::clone(&bound.gpu)).collect()
}

/// The context of the device that the program has chosen, as far as that can be told: the current one, the only one
/// there is, the one of the only device; with `insist` the first device's, as the runtime API has it.
fn chosen(driver: &'static Driver, insist: bool) -> Result<Option<Context>> {
    if let Some(current) = Context::current(driver)? {
        return Ok(Some(current));
    }
    let mut devices = Vec::new();
    for ordinal in counted(driver)? {
        devices.push(facts::device(driver, ordinal)?);
    }
    let active: Vec<types::Device> =
        devices.iter().copied().filter(|&device| is_active(driver, device)).collect();
    let choice = match (&active[..], &devices[..]) {
        (_, []) => return Err(no_device()),
        ([only], _) | ([], [only]) => Some(*only),
        (_, [first, ..]) => insist.then_some(*first),
    };
    choice.map(|device| Context::primary(driver, device)).transpose()
}

fn counted(driver: &Driver) -> Result<std::ops::Range<i32>> {
    facts::ordinals(driver).map_err(|why| why.doing("counting the GPUs"))
}

#[cold]
fn no_device() -> Error {
    let visible = match std::env::var("CUDA_VISIBLE_DEVICES") {
        Ok(value) => format!("CUDA_VISIBLE_DEVICES={value} leaves this process none"),
        Err(_) => "the driver finds none".into(),
    };
    Error::NotSupported(format!(
        "there is no NVIDIA GPU: {visible}; nvidia-smi -L lists those of the machine"
    ))
}

impl Device for Cuda {
    fn name(&self) -> &'static str {
        "CUDA"
    }

    fn has_memory(&self) -> bool {
        true
    }

    fn count(&self) -> Result<usize> {
        Ok(counted(driver::get()?)?.len())
    }

    fn attach(&self, _world: &Arc<World>, _local_pes: usize) -> Result<()> {
        Ok(())
    }

    fn detach(&self, world: &World) {
        end(|bound| bound.world == key(world));
    }

    fn allocate(&self, _request: &HeapRequest) -> Result<Box<dyn DeviceMemory>> {
        Err(Error::NotSupported("memory of a GPU belongs to a PE that has bound one".into()))
    }

    fn import(&self, _export: &Export, _request: &HeapRequest) -> Result<Box<dyn DeviceMemory>> {
        Err(Error::NotSupported("memory of a GPU belongs to a PE that has bound one".into()))
    }

    unsafe fn copy(&self, _dest: usize, _source: usize, _bytes: usize) -> Result<()> {
        Err(Error::NotSupported("memory of a GPU belongs to a PE that has bound one".into()))
    }

    unsafe fn enqueue(
        &self,
        world: &Arc<World>,
        stream: StreamHandle,
        call: &'static str,
        op: StreamOp,
    ) -> Result<()> {
        // SAFETY: passed on.
        unsafe { in_world::enqueue(world, stream, call, op) }
    }

    fn synchronize(&self, stream: StreamHandle) -> Result<()> {
        in_world::synchronize(stream)
    }

    fn bind(&self, world: &Arc<World>, insist: bool) -> Result<Option<Arc<dyn HeapDevice>>> {
        if let Some(gpu) = of(world) {
            return Ok(Some(gpu));
        }
        let driver = driver::get()?;
        let Some(context) = chosen(driver, insist)? else { return Ok(None) };
        let gpu = Arc::new(Gpu::begin(context, Some(world), NEAR)?);
        let bound = Bound { world: key(world), gpu: Arc::clone(&gpu), streams: OnceLock::new() };
        BOUND.write().unwrap_or_else(PoisonError::into_inner).push(bound);
        Ok(Some(gpu))
    }

    unsafe fn add_module(&self, module: *const Module) -> Result<()> {
        // SAFETY: passed on.
        unsafe { units::add(module) }
    }

    fn remove_module(&self, module: *const Module) {
        units::remove(module);
    }

    unsafe fn loaded(&self, world: &Arc<World>, module: Loaded, there: bool) -> Result<()> {
        match of(world) {
            Some(gpu) => gpu.loaded(module, there),
            // The engine binds before it calls; without a device nothing is left to take from a list.
            None if !there => Ok(()),
            None => Err(Error::Device("no GPU is bound yet: allocate symmetric memory first".into())),
        }
    }
}

/// One line where PEs could stop each other: streams that share one of the driver's queues wait for each other, and so
/// does a stream of the library with a kernel that waits for what it does.
pub(crate) fn warn_of_few_queues(pe: Option<usize>) {
    static SAID: std::sync::Once = std::sync::Once::new();
    let told = std::env::var(CONNECTIONS_VARIABLE).ok();
    if let Some(text) = few_queues(told.as_deref()) {
        SAID.call_once(|| dushmem_os::say::say(&dushmem_core::error::line(pe, "warning", &text)));
    }
}

/// What to say where the driver has fewer queues than the library asks for.
fn few_queues(told: Option<&str>) -> Option<String> {
    let queues = told.and_then(|text| text.trim().parse::<u32>().ok());
    if queues.is_some_and(|queues| queues >= 32) {
        return None;
    }
    let is = queues.map_or("not set, so the driver has 8 queues".into(), |queues| queues.to_string());
    Some(format!(
        "{CONNECTIONS_VARIABLE} is {is}: streams share them, and those of PEs that wait for each other can stop each other \
         for ever; set it to 32 before the program starts, as dushrun does"
    ))
}

#[cfg(test)]
mod tests {
    use super::few_queues;

    #[test]
    fn few_queues_are_told() {
        assert_eq!(few_queues(Some("32")), None);
        for told in [None, Some("8"), Some("many")] {
            let text = few_queues(told).expect("a line");
            assert!(text.contains("CUDA_DEVICE_MAX_CONNECTIONS is ") && text.contains("32"), "{text}");
        }
    }
}

//! The emulator as a device of the engine.
//!
//! Operations of the engine run on the worker of the stream that they were put into.
use crate::graph::capture;
use crate::graph::work::{Copied, EngineWork, Work};
use crate::{device, error, kernel, memory, stream};
use dushmem_core::device::{Device, DeviceMemory, Export, HeapRequest, StreamHandle, StreamOp, Words};
use dushmem_core::error::{Error, Result};
use dushmem_core::world::World;
use dushmem_os::machine::in_loaded_object;
use dushmem_os::memory::{Mapping, grow, memfd, page};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// The CPUs, as a device.
#[derive(Clone, Copy, Debug, Default)]
pub struct Emulator;

impl From<error::Failure> for Error {
    fn from(failure: error::Failure) -> Error {
        Error::Device(failure.to_string())
    }
}

fn system(what: &str) -> impl FnOnce(std::io::Error) -> Error {
    move |error| Error::System { what: what.into(), why: error.to_string() }
}

/// Memory that several processes can map.
#[derive(Debug)]
struct Shared {
    fd: OwnedFd,
    mapping: Mapping,
}

impl Shared {
    fn map(fd: OwnedFd, request: &HeapRequest) -> Result<Shared> {
        let len = request.bytes.next_multiple_of(page());
        let reserved = match request.at {
            // Somebody else may have that place: any other will do.
            Some(_) => Mapping::reserve(request.at, len).or_else(|_| Mapping::reserve(None, len)),
            None => Mapping::reserve(None, len),
        };
        let mapping = reserved.map_err(system("mmap of a device heap"))?;
        mapping.place(0, &fd, 0, len).map_err(system("mmap of a device heap"))?;
        memory::register_symmetric(mapping.base(), len);
        Ok(Shared { fd, mapping })
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        memory::unregister_symmetric(self.mapping.base());
    }
}

impl DeviceMemory for Shared {
    fn base(&self) -> usize {
        self.mapping.base() as usize
    }

    fn len(&self) -> usize {
        self.mapping.len()
    }

    fn export(&self) -> Result<Export> {
        Ok(Export::Fd(self.fd.try_clone().map_err(system("dup of a device heap's descriptor"))?))
    }
}

/// Heaps of the world's PEs as this process sees them: first address and length.
fn heaps(world: &World) -> impl Iterator<Item = (*mut u8, usize)> {
    let (base, len) = world.window().heap();
    (0..world.n_pes() as usize).map(move |pe| (world.window().peer(base, pe) as *mut u8, len))
}

/// Has a wait read copies of its arrays that lie in ordinary memory, where a GPU would not reach them: the program may change
/// them behind the call.
///
/// # Safety
/// The arrays are valid.
unsafe fn copy_arrays(world: &World, op: &mut StreamOp) -> Copied {
    let StreamOp::WaitUntilAll { ivars, len, status, values, .. } = op else { return Copied::default() };
    let size = match *values {
        Words::One(word) | Words::Each(_, word) => word.bytes(),
    };
    // Too many, or none: the wait says so, or reads nothing.
    let span = len.checked_mul(size).filter(|&span| span > 0);
    let me = world.my_pe();
    let is_right = |span: &usize| world.kernel_target("ivars", *ivars as usize, *span, 1, me).is_ok();
    let Some(span) = span.filter(is_right) else { return Copied::default() };
    let copy = |at: usize, bytes: usize| {
        let ordinary = at != 0 && memory::find(at).is_none() && !in_loaded_object(at, bytes);
        ordinary.then(|| {
            let mut copy: Arc<[u64]> = vec![0; bytes.div_ceil(8)].into();
            let to = Arc::get_mut(&mut copy).map_or(std::ptr::null_mut(), |copy| copy.as_mut_ptr());
            // SAFETY: as the caller promises; the copy has as many bytes.
            unsafe { (at as *const u8).copy_to_nonoverlapping(to.cast(), bytes) };
            copy
        })
    };
    let left_out = copy(*status as usize, *len * size_of::<i32>());
    if let Some(copy) = &left_out {
        *status = copy.as_ptr().cast();
    }
    let mut wanted = None;
    if let Words::Each(at, _) = values {
        wanted = copy(*at as usize, span);
        if let Some(copy) = &wanted {
            *at = copy.as_ptr().cast();
        }
    }
    [left_out, wanted]
}

impl Device for Emulator {
    fn name(&self) -> &'static str {
        "CPU emulator"
    }

    fn count(&self) -> Result<usize> {
        Ok(device::count() as usize)
    }

    fn attach(&self, world: &Arc<World>, local_pes: usize) -> Result<()> {
        device::set_local_pes(local_pes);
        for (base, len) in heaps(world) {
            memory::register_symmetric(base, len);
        }
        kernel::attach(world, crate::proxy::start(world)?);
        Ok(())
    }

    fn detach(&self, world: &World) {
        for number in 0..device::count() {
            // Fails in a forked child only, where no stream runs.
            let _ = stream::synchronize_device(number);
        }
        crate::proxy::stop(world);
        kernel::detach();
        for (base, _) in heaps(world) {
            memory::unregister_symmetric(base);
        }
    }

    fn allocate(&self, request: &HeapRequest) -> Result<Box<dyn DeviceMemory>> {
        let fd = memfd("dushmem device heap").map_err(system("memfd_create"))?;
        grow(fd.as_fd(), request.bytes.next_multiple_of(page()) as u64).map_err(system("ftruncate"))?;
        Ok(Box::new(Shared::map(fd, request)?))
    }

    fn import(&self, export: &Export, request: &HeapRequest) -> Result<Box<dyn DeviceMemory>> {
        let Export::Fd(fd) = export else {
            return Err(Error::Device(
                "a heap of another kind of device can't be imported by the emulator".into(),
            ));
        };
        let fd = fd.try_clone().map_err(system("dup of a device heap's descriptor"))?;
        Ok(Box::new(Shared::map(fd, request)?))
    }

    unsafe fn copy(&self, dest: usize, source: usize, bytes: usize) -> Result<()> {
        // SAFETY: as the caller promises; device memory is ordinary memory here.
        unsafe { (source as *const u8).copy_to_nonoverlapping(dest as *mut u8, bytes) };
        Ok(())
    }

    unsafe fn enqueue(
        &self,
        world: &Arc<World>,
        stream: StreamHandle,
        call: &'static str,
        op: StreamOp,
    ) -> Result<()> {
        world.check_alive()?;
        let mut op = op;
        // SAFETY: as the caller promises.
        let copied = unsafe { copy_arrays(world, &mut op) };
        let work = EngineWork { world: Arc::clone(world), call, op, copied };
        stream::find(stream.0)?.add(Work::Engine(work))?;
        Ok(())
    }

    fn synchronize(&self, stream: StreamHandle) -> Result<()> {
        let stream = stream::find(stream.0)?;
        capture::refuse(&stream, "waiting for it")?;
        stream.synchronize();
        Ok(())
    }
}

//! The engine's calls for a request.
use super::request::{ALL, INLINE_GET, INLINE_PUT, Op, Request, flags};
use crate::amo::{AmoOp, AmoRequest};
use crate::context::Context;
use crate::device_heap::DeviceHeap;
use crate::error::{Error, Extent, Result};
use crate::rma::near;
use crate::signal::{Signal, SignalOp};
use crate::transport::{Get, Put, Reuse};
use crate::world::World;
use std::collections::HashMap;

/// Contexts that kernels may have, beside the default one.
const MOST_CONTEXTS: i32 = 1 << 16;

/// Makes the calls of one PE's requests.
#[derive(Debug)]
pub(super) struct Executor<'a> {
    world: &'a World,
    /// By handle; those of 0 and 1 are the default one.
    contexts: HashMap<i32, Context>,
}

impl<'a> Executor<'a> {
    pub(super) fn new(world: &'a World) -> Executor<'a> {
        Executor { world, contexts: HashMap::new() }
    }

    /// Executes a request and gives its result, if it asked for one.
    pub(super) fn execute(&mut self, request: &Request) -> Result<Option<[u64; 2]>> {
        let Some(op) = request.op() else {
            return Err(Error::Device(format!(
                "number {} is no request that this library knows: compile the kernel with its own headers",
                request.op
            )));
        };
        let world = self.world;
        if request.ctx == ALL && matches!(op, Op::Fence | Op::Quiet) {
            world.flush_device()?;
            for ctx in self.contexts.values().chain([world.default_context()]) {
                if op == Op::Fence { world.order(ctx) } else { world.complete(ctx) }
            }
            return Ok(None);
        }
        let ctx = self.context(request.ctx)?;
        let Request { pe, small, a, .. } = *request;
        let small = usize::from(small);
        let (internal, nbi) = (request.has(flags::INTERNAL), request.has(flags::NBI));
        let reuse = if nbi { Reuse::AtQuiet } else { Reuse::AtReturn };
        // SAFETY: addresses on the other side are checked by the engine; local ones, of the number of bytes that
        // was asked for, are those that the kernel passed to a call with this contract.
        unsafe {
            match op {
                Op::Put if internal => put(world, ctx, a[0], a[1] as *const u8, a[2] as usize, pe, reuse)?,
                Op::Put => {
                    let (dest, source, bytes) = (a[0] as *mut u8, a[1] as *const u8, a[2] as usize);
                    if nbi {
                        world.put_nbi(ctx, dest, source, bytes, pe)?;
                    } else {
                        world.put(ctx, dest, source, bytes, pe)?;
                    }
                }
                Op::PutInline => {
                    check(small <= INLINE_PUT, small)?;
                    let source = a[1..].as_ptr().cast::<u8>();
                    if internal {
                        put(world, ctx, a[0], source, small, pe, Reuse::AtReturn)?;
                    } else {
                        let done = world.put(ctx, a[0] as *mut u8, source, small, pe);
                        named(request, done)?;
                    }
                }
                Op::Get if internal => get(world, ctx, a[0] as *mut u8, a[1], a[2] as usize, pe, reuse)?,
                Op::Get => {
                    let (dest, source, bytes) = (a[0] as *mut u8, a[1] as *const u8, a[2] as usize);
                    if nbi {
                        world.get_nbi(ctx, dest, source, bytes, pe)?;
                    } else {
                        world.get(ctx, dest, source, bytes, pe)?;
                    }
                }
                Op::GetSmall => {
                    check(small <= INLINE_GET, small)?;
                    let mut value = [0u64; 2];
                    let dest = value.as_mut_ptr().cast::<u8>();
                    if internal {
                        get(world, ctx, dest, a[0], small, pe, Reuse::AtReturn)?;
                    } else {
                        let done = world.get(ctx, dest, a[0] as *const u8, small, pe);
                        named(request, done)?;
                    }
                    return Ok(Some(value));
                }
                Op::Iput => {
                    let (dest, source) = (a[0] as *mut u8, a[1] as *const u8);
                    world.iput(ctx, dest, source, a[2] as isize, a[3] as isize, small, a[4] as usize, pe)?;
                }
                Op::Iget => {
                    let (dest, source) = (a[0] as *mut u8, a[1] as *const u8);
                    world.iget(ctx, dest, source, a[2] as isize, a[3] as isize, small, a[4] as usize, pe)?;
                }
                Op::Amo => return amo(world, ctx, request),
                Op::Signal => {
                    let op = SignalOp::from_number(a[2] as i32)?;
                    if internal {
                        let signal = Signal { addr: a[0] as usize, value: a[1], op };
                        on_internal(world, ctx, signal.addr, signal.request(), pe, false)?;
                    } else {
                        world.signal_op(ctx, a[0] as *mut u64, a[1], op, pe)?;
                    }
                }
                Op::PutSignal => {
                    let (dest, source, bytes) = (a[0] as *mut u8, a[1] as *const u8, a[2] as usize);
                    let (word, op) = (a[3] as *mut u64, SignalOp::from_number(small as i32)?);
                    if nbi {
                        world.put_signal_nbi(ctx, dest, source, bytes, word, a[4], op, pe)?;
                    } else {
                        world.put_signal(ctx, dest, source, bytes, word, a[4], op, pe)?;
                    }
                }
                Op::Fence => {
                    world.flush_device()?;
                    world.order(ctx);
                }
                Op::Quiet => {
                    world.flush_device()?;
                    world.complete(ctx);
                }
                Op::Exit => crate::process::global_exit(world, a[0] as i32),
            }
        }
        Ok(None)
    }

    fn context(&mut self, handle: i32) -> Result<&Context> {
        match handle {
            0 | 1 | ALL => Ok(self.world.default_context()),
            2..MOST_CONTEXTS => match self.contexts.entry(handle) {
                std::collections::hash_map::Entry::Occupied(made) => Ok(made.into_mut()),
                std::collections::hash_map::Entry::Vacant(room) => {
                    Ok(room.insert(self.world.create_context(None, 0)?))
                }
            },
            _ => Err(Context::invalid(handle as usize)),
        }
    }
}

fn check(good: bool, bytes: usize) -> Result<()> {
    let why = "more bytes than a request or a reply has room for";
    if good { Ok(()) } else { Err(Error::BadValue { arg: "nelems", value: bytes as i64, why }) }
}

/// An error of a call that has no length.
fn named(request: &Request, done: Result<()>) -> Result<()> {
    if request.has(flags::SCALAR) { done.map_err(Error::without_length) } else { done }
}

fn amo(world: &World, ctx: &Context, request: &Request) -> Result<Option<[u64; 2]>> {
    let Some(amo) = request.amo() else {
        return Err(Error::Device(format!(
            "number {} is no atomic operation that this library knows: compile the kernel with its own headers",
            request.small
        )));
    };
    let (addr, wants) = (request.a[0] as usize, request.has(flags::RESULT));
    if request.has(flags::INTERNAL) {
        let old = on_internal(world, ctx, addr, amo, request.pe, wants)?;
        return Ok(wants.then_some([old, 0]));
    }
    let later = (!wants && amo.op != AmoOp::Fetch).then_some(core::ptr::null_mut());
    let old = world.amo_slow(ctx, addr, amo, request.pe, later)?;
    Ok(wants.then_some([old, 0]))
}

/// An atomic operation on a word of the library's part of a slice, or of the heap; the old value if it is wanted.
fn on_internal(
    world: &World,
    ctx: &Context,
    addr: usize,
    amo: AmoRequest,
    pe: i32,
    wants: bool,
) -> Result<u64> {
    let (pe, device) = internal(world, "dest", addr, amo.width(), pe)?;
    if !addr.is_multiple_of(amo.width()) {
        return Err(Error::Misaligned { arg: "dest", addr, align: amo.width() });
    }
    if let Some(heap) = device {
        // SAFETY: an aligned word of the slice, mapped here.
        let old = unsafe { heap.device().amo(heap.peer(addr, pe), amo, wants) };
        world.ring(pe);
        return old;
    }
    let old = if wants {
        world.transport().amo(ctx.pending(), pe, addr, amo)
    } else {
        // SAFETY: no old value is stored.
        unsafe { world.transport().amo_later(ctx.pending(), pe, addr, amo, core::ptr::null_mut()) };
        0
    };
    world.ring(pe);
    Ok(old)
}

/// The world PE of an operation on an address of the library's part of a slice, or of the heap.
/// With the heap of the device where it is that one's.
fn internal<'a>(
    world: &'a World,
    arg: &'static str,
    addr: usize,
    bytes: usize,
    pe: i32,
) -> Result<(usize, Option<&'a DeviceHeap>)> {
    let pe = world.world_pe(world.default_context(), pe)?;
    let device = world.device_heap().filter(|heap| heap.in_slice(addr, bytes));
    if bytes > 0 && device.is_none() && !world.window().in_slice(addr, bytes) {
        return Err(world.past_end(arg, addr, bytes).unwrap_or(Error::NotSymmetric {
            arg,
            addr,
            extent: Extent::Bytes(bytes),
            statics: "",
            hint: "",
        }));
    }
    Ok((pe, device))
}

/// # Safety
/// As for [`World::put`].
unsafe fn put(
    world: &World,
    ctx: &Context,
    dest: u64,
    source: *const u8,
    bytes: usize,
    pe: i32,
    reuse: Reuse,
) -> Result<()> {
    let (pe, device) = internal(world, "dest", dest as usize, bytes, pe)?;
    if let Some(heap) = device.filter(|_| bytes > 0) {
        near("source", source, bytes)?;
        // SAFETY: in the slice, mapped here; the source is the caller's.
        unsafe { heap.device().copy(heap.peer(dest as usize, pe), source as usize, bytes)? };
        if reuse == Reuse::AtReturn {
            heap.device().flush()?;
        }
        world.ring(pe);
    } else if near("source", source, bytes)? {
        // SAFETY: passed on.
        unsafe {
            world.transport().put(ctx.pending(), Put { pe, dest: dest as usize, source, bytes, reuse })
        };
        world.ring(pe);
    }
    Ok(())
}

/// # Safety
/// As for [`World::get`].
unsafe fn get(
    world: &World,
    ctx: &Context,
    dest: *mut u8,
    source: u64,
    bytes: usize,
    pe: i32,
    reuse: Reuse,
) -> Result<()> {
    let (pe, device) = internal(world, "source", source as usize, bytes, pe)?;
    if let Some(heap) = device.filter(|_| bytes > 0) {
        near("dest", dest, bytes)?;
        // SAFETY: as in `put`.
        unsafe { heap.device().copy(dest as usize, heap.peer(source as usize, pe), bytes)? };
        if reuse == Reuse::AtReturn {
            heap.device().flush()?;
        }
    } else if near("dest", dest, bytes)? {
        // SAFETY: passed on.
        unsafe {
            world.transport().get(ctx.pending(), Get { pe, dest, source: source as usize, bytes, reuse })
        };
    }
    Ok(())
}

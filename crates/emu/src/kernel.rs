//! What kernels know of their PE, and what they ask of the library: addresses that are not in the heap, waits,
//! errors.
use crate::block;
use dushmem_core::coll::checks;
use dushmem_core::coll::device_slot::DeviceSlot;
use dushmem_core::coll::kernel_calls::KernelCall;
use dushmem_core::device::KernelState;
use dushmem_core::error::{Call, Error, Result, for_call, line};
use dushmem_core::job::Wanted;
use dushmem_core::strided::{Blocks, Strided};
use dushmem_core::world::World;
use std::cell::UnsafeCell;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The state that the headers read.
#[derive(Debug)]
pub struct State(UnsafeCell<KernelState>);

// SAFETY: written at attach and detach, when no kernel of this job runs.
unsafe impl Sync for State {}

const UNSET: KernelState = KernelState::NONE;

static STATE: State = State(UnsafeCell::new(UNSET));

/// The state of kernels that were compiled for this process. With `n_pes` 0 they come to the library, which says
/// what is wrong.
#[unsafe(no_mangle)]
pub static dushmem_emu_state: &State = &STATE;

/// Where in the window the PEs' slices are, seen from the own one: [`dushmem_core::window::Window::deltas`] of the attached
/// world. Null while there is none.
static WINDOW: AtomicPtr<isize> = AtomicPtr::new(std::ptr::null_mut());

struct Attached {
    world: Arc<World>,
    /// What the state's `delta` points to.
    _delta: Box<[i64]>,
}

static ATTACHED: Mutex<Option<Attached>> = Mutex::new(None);

/// Keeps kernels from looking up their PE, and nothing else.
pub(crate) struct Held(#[expect(dead_code, reason = "held, not read")] MutexGuard<'static, Option<Attached>>);

pub(crate) fn hold() -> Held {
    Held(lock())
}

fn lock() -> MutexGuard<'static, Option<Attached>> {
    ATTACHED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn attached() -> Option<Arc<World>> {
    let attached = lock();
    attached.as_ref().map(|attached| Arc::clone(&attached.world))
}

/// Kernels belong to this PE from now on; `proxy` is where its ring of requests is, or 0.
pub(crate) fn attach(world: &Arc<World>, proxy: u64) {
    let deltas = world.window().deltas();
    let delta =
        |pe: usize| if world.kernels_reach(pe) { deltas[pe] as i64 } else { KernelState::UNREACHABLE };
    let delta: Box<[i64]> = (0..deltas.len()).map(delta).collect();
    let state = KernelState { proxy, ..world.kernel_state(&delta) };
    WINDOW.store(deltas.as_ptr().cast_mut(), Release);
    *lock() = Some(Attached { world: Arc::clone(world), _delta: delta });
    // SAFETY: no kernel of this job runs yet.
    unsafe { STATE.0.get().write(state) };
}

/// The PE that kernels belong to. Takes no lock.
pub(crate) fn my_pe() -> Option<i32> {
    // SAFETY: changes at attach and detach only; a number that is out of date would be told in a message.
    let pe = unsafe { (*STATE.0.get()).my_pe };
    (pe >= 0).then_some(pe)
}

/// No kernel runs any more.
pub(crate) fn detach() {
    // SAFETY: as the caller says.
    unsafe { STATE.0.get().write(UNSET) };
    WINDOW.store(std::ptr::null_mut(), Relaxed);
    // The world may go with it, which takes time that no fork should wait for.
    let detached = lock().take();
    drop(detached);
}

/// Where the calling GPU thread is, for the end of a message.
fn place() -> String {
    block::position().map_or_else(String::new, |position| format!(" ({position})"))
}

/// Ends the job, with a line that says what a kernel did wrong. The call is told as the program names it; `call` is what
/// its templates are called, which have no other name.
pub(crate) fn end(call: &str, text: &dyn std::fmt::Display, code: i32) -> ! {
    end_at(block::call().text().unwrap_or(call), text, code, &place())
}

/// The same, at a place that is known.
pub(crate) fn end_at(call: &str, text: &dyn std::fmt::Display, code: i32, place: &str) -> ! {
    let world = attached();
    let pe = world.as_ref().map(|world| world.my_pe() as usize);
    let line = line(pe, call, &format!("{}{place}", for_call(&text.to_string(), call)));
    match world {
        Some(world) => world.boot().abort(code, &line),
        None => dushmem_os::say::say(&line),
    }
    std::process::exit(code)
}

/// Prints a line about a call of this PE's host.
pub(crate) fn say(call: &str, text: &str) {
    let pe = attached().map(|world| world.my_pe() as usize);
    dushmem_os::say::say(&line(pe, call, &text));
}

/// Prints a line about a kernel's call, which returns the error, in the words in which the host is told.
#[cold]
fn refuse(call: &str, why: impl FnOnce(&World) -> Error) {
    let Some(world) = attached() else { return };
    let call = block::call().text().unwrap_or(call);
    say(call, &format!("{}{}", for_call(&why(&world).to_string(), call), place()));
}

/// Tells of a team that this PE has not.
pub(crate) fn no_team(call: &str, handle: i32) {
    let gone = Error::BadTeam { handle, why: "a team that kernels of this PE don't know" };
    refuse(call, |world| world.team(handle).err().unwrap_or(gone));
}

/// Tells of a root that is none of the `n` members of a team.
pub(crate) fn no_root(call: &str, root: i32, n: i32) {
    refuse(call, |world| world.no_such_pe("PE_root", root, n as usize, "the team"));
}

/// Ends the job where a kernel makes this call, which is the host's: it would wait for kernels, or for other PEs'
/// hosts, and so for itself.
pub fn host_only(call: &str) {
    if block::inside() {
        end(call, &"only the host makes this call; make it before or after the launch", 1);
    }
}

/// Ends the job, as a kernel makes this collective or wait of the host's, of which kernels have one of their own. `dushcc`:
/// the same name would have meant that in a source that dushcc compiles.
#[cold]
pub fn host_function(call: &str, dushcc: bool) -> ! {
    let why = if dushcc {
        "a kernel makes this call by way of a function that is the host's alone; compile that function's file by dushcc as a \
         source with kernels, or make the call before or after the launch"
    } else {
        "a kernel makes this call, and names of OpenSHMEM are the host's; kernels have those of nvshmem_ and dushmem_"
    };
    end(call, &why, 1)
}

/// Ends the job unless kernels may name the queue pair.
pub(crate) fn queue_pair(handle: i32) {
    if !dushmem_core::proxy::queue_pairs::exists(handle) {
        let why =
            "there is no such queue pair; pass a handle that qp_create has stored, QP_DEFAULT or QP_ANY";
        end("a call on a queue pair", &format_args!("qp_index = {handle}: {why}"), 1);
    }
}

/// Ends the job for an error of the engine, in the words in which the host is told.
fn end_for(call: &str, error: &Error) -> ! {
    end(call, error, error.code())
}

/// Ends the job: `n` elements of `elem` bytes, argument `arg`, are more than there can be.
pub(crate) fn too_many(call: &str, arg: &'static str, n: usize, elem: usize) -> ! {
    end_for(call, &checks::negative(n).counting(arg, n, elem))
}

/// Ends the job unless strides and count make sense. Devices refuse strides of no elements, too.
pub(crate) fn strides(call: &str, dst: isize, sst: isize, nelems: usize, elem: usize) {
    let blocks = Blocks { dst, sst, elem, bsize: 1, nblocks: nelems.max(1) };
    if let Err(error) = Strided::check(&blocks, false) {
        end_for(call, &error);
    }
}

/// Ends the job where the buffers of a collective overlap: [`checks::apart`].
pub(crate) fn overlap(call: &str, dest: (usize, usize), source: (usize, usize), in_place: bool) {
    if let Err(error) = checks::apart(dest, source, in_place) {
        end_for(call, &error);
    }
}

fn ask<R>(call: &str, question: impl FnOnce(&World) -> Result<R>) -> R {
    let world = attached();
    let answer = world.as_ref().ok_or(Error::NotInitialised).and_then(|world| question(world));
    answer.unwrap_or_else(|error| {
        if let Some(world) = &world {
            world.boot().node_memory().1.hear_out(&error);
        }
        end_for(call, &error)
    })
}

/// The address of PE `pe`'s copy of `[addr, addr + len)`, or 0 where kernels can't load and store it. Bad
/// arguments end the job.
pub(crate) fn reach(call: &str, arg: &'static str, addr: usize, len: usize, align: usize, pe: i32) -> usize {
    ask(call, |world| {
        let address = world.kernel_target(arg, addr, len, align, pe)?;
        // SAFETY: kernels run, so nobody writes the state; its table has an entry for each PE.
        let delta = unsafe { *((*STATE.0.get()).delta as *const i64).add(pe as usize) };
        Ok(if delta == KernelState::UNREACHABLE { 0 } else { address })
    })
}

/// As `ptr` of the host, for what kernels reach.
pub(crate) fn ptr(addr: usize, pe: i32) -> usize {
    ask("ptr", |world| {
        let at = world.ptr(addr as *const u8, pe)? as usize;
        Ok(if pe == world.my_pe() || world.kernels_reach(pe as usize) { at } else { 0 })
    })
}

/// Ends the job.
pub(crate) fn global_exit(status: i32) -> ! {
    match attached() {
        Some(world) => dushmem_core::process::global_exit(&world, status),
        None => std::process::exit(status),
    }
}

/// Checks that `[addr, addr + len)` is own symmetric memory.
pub(crate) fn own(call: &str, arg: &'static str, addr: usize, len: usize, align: usize) {
    ask(call, |world| world.kernel_target(arg, addr, len, align, world.my_pe()));
}

/// In words the collective that a kernel waits in at an own address, if the address is that of one.
pub(crate) fn collective(addr: usize) -> Option<String> {
    attached()?.kernel_collective(addr)
}

/// Waits until `ready`.
pub(crate) fn wait(call: &str, addr: usize, wanted: Wanted, ready: impl FnMut() -> bool) {
    ask(call, |world| {
        world.check_alive()?;
        world.kernel_wait(Call::named(call), addr, wanted, ready);
        Ok(())
    });
}

/// A collective that a kernel begins, as member `me` of `n`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collective<'a> {
    pub call: KernelCall<'a>,
    /// Where this PE's slot of the team is.
    pub slot: usize,
    pub me: usize,
    pub n: usize,
    /// World numbers of the members, or null where they are the world's.
    pub pes: *const u32,
}

/// Says to the other members which call begins, and ends the job where one of them makes another.
///
/// # Safety
/// The slot and the numbers are those of a team of this PE.
pub(crate) unsafe fn announce(what: &Collective<'_>) {
    let window = WINDOW.load(Acquire);
    if window.is_null() {
        return;
    }
    // SAFETY: kernels run, so nobody writes the state, and the table has an entry for each PE; members of a team map each other's
    // slots.
    let done = unsafe {
        let slot = DeviceSlot::new(what.slot, (*STATE.0.get()).n_pes as usize);
        let pe = |rank: usize| if what.pes.is_null() { rank as u32 } else { *what.pes.add(rank) };
        let calls = slot.calls();
        let of = |rank: usize| {
            let pe = pe(rank);
            (pe, &*calls.wrapping_byte_offset(*window.add(pe as usize)))
        };
        let (next, last) = ((what.me + 1) % what.n, (what.me + what.n - 1) % what.n);
        let others = std::iter::once(next).chain((last != next).then_some(last));
        (*calls).announce(pe(what.me), &what.call, others.map(of))
    };
    if let Err(error) = done {
        end_for(what.call.call, &error);
    }
}

/// Wakes those of PE `pe` that sleep until something is written.
pub(crate) fn ring(pe: i32) {
    if let Some(world) = attached().filter(|world| (0..world.n_pes()).contains(&pe)) {
        world.ring(pe as usize);
    }
}

//! What the device API's headers ask of the library on the CPU.
use crate::kernel::{self, Collective};
use dushmem_core::coll::kernel_calls::KernelCall;
use dushmem_core::job::{Kind, Wanted};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// # Safety
/// `text` is a string literal of the program, or null.
unsafe fn literal(text: *const c_char) -> &'static str {
    if text.is_null() {
        return "";
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("")
}

/// Address of PE `pe`'s copy of `bytes` bytes at the own symmetric `address`, a multiple of `align`; NULL where
/// kernels can't load and store it. A bad argument, called `arg`, ends the job.
///
/// # Safety
/// `call` and `arg` are string literals.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_reach(
    call: *const c_char,
    arg: *const c_char,
    address: *const c_void,
    bytes: usize,
    align: usize,
    pe: c_int,
) -> *mut c_void {
    // SAFETY: as the caller promises.
    let (call, arg) = unsafe { (literal(call), literal(arg)) };
    kernel::reach(call, arg, address as usize, bytes, align, pe) as *mut c_void
}

/// Ends the job unless there is the queue pair that a kernel names.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_queue_pair(handle: c_int) {
    kernel::queue_pair(handle);
}

/// Ends the job unless the `bytes` bytes at `address` are own symmetric memory, aligned to `align`.
///
/// # Safety
/// `call` and `arg` are string literals.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_own(
    call: *const c_char,
    arg: *const c_char,
    address: *const c_void,
    bytes: usize,
    align: usize,
) {
    // SAFETY: as the caller promises.
    let (call, arg) = unsafe { (literal(call), literal(arg)) };
    kernel::own(call, arg, address as usize, bytes, align);
}

/// Ends the job with a line about argument `arg` of `call`, whose value is bad because of `why`. Without a name
/// the argument is left out.
///
/// # Safety
/// `call`, `arg`, and `why` are strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_fault(
    call: *const c_char,
    arg: *const c_char,
    value: i64,
    why: *const c_char,
) -> ! {
    // SAFETY: as the caller promises; they are used until the process ends, at the end of this call.
    let (call, arg, why) = unsafe { (literal(call), literal(arg), literal(why)) };
    match arg {
        "" => kernel::end(call, &why, 1),
        _ => kernel::end(call, &format_args!("{arg} = {value}: {why}"), 1),
    }
}

/// Ends the job: the `n` elements of `elem` bytes that argument `arg` asks for are more than there can be.
///
/// # Safety
/// `call` and `arg` are string literals.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_too_many(
    call: *const c_char,
    arg: *const c_char,
    n: usize,
    elem: usize,
) -> ! {
    // SAFETY: as the caller promises.
    let (call, arg) = unsafe { (literal(call), literal(arg)) };
    kernel::too_many(call, arg, n, elem)
}

/// Ends the job unless the strides and the count of a strided transfer make sense.
///
/// # Safety
/// `call` is a string literal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_strides(
    call: *const c_char,
    dst: isize,
    sst: isize,
    nelems: usize,
    elem: usize,
) {
    // SAFETY: as the caller promises.
    kernel::strides(unsafe { literal(call) }, dst, sst, nelems, elem);
}

/// Ends the job where the buffers of a collective overlap; `in_place`: but they may begin at the same address.
///
/// # Safety
/// `call` is a string literal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_overlap(
    call: *const c_char,
    dest: *const c_void,
    dest_bytes: usize,
    source: *const c_void,
    source_bytes: usize,
    in_place: c_int,
) {
    let (dest, source) = ((dest as usize, dest_bytes), (source as usize, source_bytes));
    // SAFETY: as the caller promises.
    kernel::overlap(unsafe { literal(call) }, dest, source, in_place != 0);
}

/// Waits until `ready(closure)` isn't 0; it looks at own memory at `address`. Other GPU threads of the block run
/// meanwhile. Hang reports name `call`, and what is wanted of the word, where `kind` says so: its bytes, 0x100 if it is signed,
/// the comparison from bit 16 on; it is compared with `value`.
///
/// # Safety
/// `call` is a string literal; `ready` may be called with `closure` by this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_wait(
    call: *const c_char,
    address: *const c_void,
    kind: c_uint,
    value: u64,
    ready: unsafe extern "C" fn(*mut c_void) -> c_int,
    closure: *mut c_void,
) {
    // SAFETY: as the caller promises.
    let call = unsafe { literal(call) };
    // SAFETY: as the caller promises.
    kernel::wait(call, address as usize, wanted(kind, value), || unsafe { ready(closure) } != 0);
}

fn wanted(kind: c_uint, value: u64) -> Wanted {
    let [bytes, signed, cmp, _] = kind.to_le_bytes();
    match bytes {
        0 => Wanted::default(),
        _ => {
            let kind = Some(Kind { bytes, signed: signed != 0 });
            Wanted { kind, cmp, value: Some(value), ..Wanted::default() }
        }
    }
}

/// A collective, as the header describes it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CollectiveCall {
    /// Size of this struct as the caller knows it.
    pub size: u32,
    /// The calling PE's rank in the team, and the team's size.
    pub me: c_int,
    #[allow(missing_docs, reason = "said above")]
    pub n: c_int,
    /// World numbers of the members, or null.
    pub pes: *const u32,
    /// This PE's slot of the team.
    pub slot: *const c_void,
    /// What the call is.
    pub call: *const c_char,
    /// Elements that all members must have, and the bytes of each.
    pub nelems: usize,
    #[allow(missing_docs, reason = "said above")]
    pub elem: usize,
    /// What else they have to agree on.
    pub argument: u64,
}

/// Prints the line about a team that this PE has not.
///
/// # Safety
/// `call` is a string literal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_no_team(call: *const c_char, handle: c_int) {
    // SAFETY: as the caller promises.
    kernel::no_team(unsafe { literal(call) }, handle);
}

/// Prints the line about a root that is none of the `n` members of a team.
///
/// # Safety
/// `call` is a string literal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_no_root(call: *const c_char, root: c_int, n: c_int) {
    // SAFETY: as the caller promises.
    kernel::no_root(unsafe { literal(call) }, root, n);
}

/// Says to a team's other members which collective begins. Ends the job where one of them makes another call.
///
/// # Safety
/// `what` is valid; it describes a team of this PE, and the call by a string literal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_announce(what: *const CollectiveCall) {
    // SAFETY: as the caller promises.
    let what = unsafe { &*what };
    // SAFETY: as the caller promises.
    let call = unsafe { literal(what.call) };
    let name = crate::block::call().text().unwrap_or(call);
    let (nelems, elem, argument) = (what.nelems as u64, what.elem as u64, what.argument);
    let (me, n) = (what.me as usize, what.n as usize);
    let call = KernelCall { call, name, nelems, elem, argument };
    // SAFETY: as the caller promises.
    unsafe { kernel::announce(&Collective { call, slot: what.slot as usize, me, n, pes: what.pes }) };
}

/// Wakes those of PE `pe` that sleep until something is written.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_ring(pe: c_int) {
    kernel::ring(pe);
}

/// Where PE `pe`'s copy of the own symmetric object at `address` can be loaded and stored; NULL where it can't, and
/// for what is no symmetric object.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_ptr(address: *const c_void, pe: c_int) -> *mut c_void {
    kernel::ptr(address as usize, pe) as *mut c_void
}

/// Ends the job with this exit status, on behalf of a kernel.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_global_exit(status: c_int) -> ! {
    kernel::global_exit(status)
}

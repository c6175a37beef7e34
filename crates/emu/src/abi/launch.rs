//! Launches, and what GPU threads call.
use super::runtime::null;
use crate::block::{self, Place};
use crate::error::{Code, Failure, note};
use crate::grid::{Dim3, Grid, Kernel};
use crate::warp::Meeting;
use crate::{device, fault, stream};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A launch, as the headers describe it.
#[derive(Debug)]
#[repr(C)]
pub struct Launch {
    /// Size of this struct as the caller knows it.
    pub size: u32,
    /// Bit 0: cooperative, all blocks run at the same time.
    pub flags: u32,
    /// The kernel as the program names it.
    pub name: *const c_char,
    /// Called for each GPU thread. None: the program launched a null pointer.
    pub body: Option<unsafe extern "C" fn(*mut c_void)>,
    /// Argument of `body`.
    pub args: *mut c_void,
    /// Frees `args`; called exactly once, also where the launch fails.
    pub release: Option<unsafe extern "C" fn(*mut c_void)>,
    /// Gives the place of the calling OS thread.
    pub locate: Option<unsafe extern "C" fn(*mut Place)>,
    /// Blocks.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Bytes of dynamic shared memory of a block.
    pub shared: usize,
    /// Where to run it.
    pub stream: *mut c_void,
    /// [`ABI`] of the headers.
    pub abi: u32,
}

/// Version of the structs that headers and library share, [`Launch`] and [`Place`]. Counts incompatible changes.
const ABI: u32 = 2;

/// What kernels may have as dynamic shared memory: raised by their attribute. The headers launch through
/// lambdas, which have no kernel's address, so the largest value that was asked for holds for all.
static SHARED_LIMIT: AtomicUsize = AtomicUsize::new(device::SHARED_DEFAULT);

/// Puts a kernel into a stream.
///
/// # Safety
/// `launch` is valid; `body` may be called with `args` from any OS thread until `release` is called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_launch(launch: *const Launch) -> c_int {
    // SAFETY: as the caller promises.
    let launch = unsafe { &*launch };
    let name = if launch.name.is_null() {
        "kernel".into()
    } else {
        // SAFETY: a C string, as the caller promises.
        unsafe { CStr::from_ptr(launch.name) }.to_string_lossy()
    };
    let start = || {
        if (launch.size as usize) < size_of::<Launch>() || launch.abi != ABI {
            return Err(Failure::new(
                Code::InvalidDeviceFunction,
                format!(
                    "{name}: compiled with headers of another version; compile it again with this library's dushcc"
                ),
            ));
        }
        let (Some(body), Some(locate)) = (launch.body, launch.locate) else {
            if let Some(release) = launch.release {
                // SAFETY: the launch fails, and nobody else releases.
                unsafe { release(launch.args) };
            }
            return Err(Failure::new(
                Code::InvalidDeviceFunction,
                format!("{name}: the kernel is a null pointer"),
            ));
        };
        let kernel = Kernel { body, args: launch.args, release: launch.release, locate };
        let limit = SHARED_LIMIT.load(Ordering::Relaxed);
        // SAFETY: as the caller promises. From here on, dropping the grid releases the arguments.
        let grid = unsafe { Grid::new(&name, kernel, launch.grid, launch.block, launch.shared, limit) }?;
        let grid = if launch.flags & 1 != 0 { grid.cooperative()? } else { grid };
        let stream = stream::find(launch.stream as usize)?;
        let grid = grid.on_device(stream.device());
        stream.submit(move || grid.run())
    };
    note(start())
}

/// Sets how much dynamic shared memory a kernel may get.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_allow_shared(kernel: *const c_void, bytes: usize) -> c_int {
    let allow = || {
        if kernel.is_null() {
            return Err(null("func"));
        }
        if bytes > device::SHARED_OPT_IN {
            let detail = format!("{bytes} bytes of dynamic shared memory; at most {}", device::SHARED_OPT_IN);
            return Err(Failure::new(Code::InvalidValue, detail));
        }
        SHARED_LIMIT.fetch_max(bytes, Ordering::Relaxed);
        Ok(())
    };
    note(allow())
}

/// `__syncthreads`
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_sync_threads() {
    block::sync_threads();
}

/// `__syncthreads` with a vote: in the lower half how many threads said yes, in the upper half of how many.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_sync_threads_vote(yes: c_int) -> u64 {
    let (votes, of) = block::sync_threads_vote(yes != 0);
    u64::from(of) << 32 | u64::from(votes)
}

/// Waits for all threads of a cooperative launch.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_sync_grid() {
    if let Err(text) = block::sync_grid() {
        block::fail(text);
    }
}

/// Lanes of a warp.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_warp_size() -> c_int {
    device::warp() as c_int
}

/// An operation of the calling thread's warp.
///
/// # Safety
/// `meeting` is valid, and what it points to stays so until this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_warp_meet(meeting: *const Meeting) {
    // SAFETY: as the caller promises.
    if let Err(text) = unsafe { block::warp_meet(&*meeting) } {
        block::fail(&text);
    }
}

/// Lets the block's other threads run, then other OS threads.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_yield() {
    block::yield_thread();
}

/// 1 in a GPU thread, else 0.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_in_kernel() -> c_int {
    c_int::from(block::inside())
}

/// Ends the process for something that the calling GPU thread must not do.
///
/// # Safety
/// Both are C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_kernel_error(call: *const c_char, what: *const c_char) -> ! {
    // SAFETY: as the caller promises.
    let (call, what) = unsafe { (CStr::from_ptr(call), CStr::from_ptr(what)) };
    block::fail(&format!("{}: {}", call.to_string_lossy(), what.to_string_lossy()));
}

/// Ends the kernel of the calling GPU thread with an error code that later calls return.
///
/// # Safety
/// `what` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_trap(code: c_int, what: *const c_char) -> ! {
    // SAFETY: as the caller promises.
    let what = unsafe { CStr::from_ptr(what) };
    fault::trap(Code::from_number(code), &what.to_string_lossy());
}

/// A failed `assert` of the calling GPU thread.
///
/// # Safety
/// All three are C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_assert_failed(
    what: *const c_char,
    file: *const c_char,
    line: u32,
    function: *const c_char,
) -> ! {
    // SAFETY: as the caller promises.
    let [what, file, function] =
        [what, file, function].map(|text| unsafe { CStr::from_ptr(text) }.to_string_lossy());
    fault::trap(Code::Assert, &format!("{file}:{line}: {function}: Assertion `{what}` failed."));
}

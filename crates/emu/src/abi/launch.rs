//! Launches, and what GPU threads call.
use super::runtime::null;
use crate::block::{self, Place};
use crate::error::{Code, Failure, Result, note};
use crate::graph::capture;
use crate::graph::work::{Arguments, KernelWork, Parameters, Work, run_grid};
use crate::grid::{Dim3, Grid, Kernel};
use crate::stream::Stream;
use crate::warp::Meeting;
use crate::{device, fault, occupancy, os_block, stream};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Arc, RwLock};

/// All blocks of the launch run at the same time.
pub const COOPERATIVE: u32 = 1;
/// Compiled for an OS thread a GPU thread.
pub const OS_THREADS: u32 = 2;
/// Another part of the program was compiled without that.
pub const MIXED: u32 = 4;
/// From this bit: 0, or 1 more than how far the launch's own priority is below 0.
const PRIORITY: u32 = 8;

/// A launch, as the headers describe it.
#[derive(Debug)]
#[repr(C)]
pub struct Launch {
    /// Size of this struct as the caller knows it.
    pub size: u32,
    /// [`COOPERATIVE`], [`OS_THREADS`], [`MIXED`]; in the second byte a priority of its own.
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
    /// The kernel's address; null where the launch doesn't tell it.
    pub kernel: *const c_void,
    /// Writes the addresses of the arguments, at most so many; gives their number.
    pub parameters: Option<Parameters>,
}

/// Version of the structs that headers and library share, [`Launch`] and [`Place`]. Counts incompatible changes.
const ABI: u32 = 2;

/// What kernels may have as dynamic shared memory, by their address, where their attribute says so.
static SHARED_LIMITS: RwLock<Option<HashMap<usize, usize>>> = RwLock::new(None);

/// The kernel's limit; where its address isn't known, the largest that any kernel has asked for.
fn shared_limit(kernel: usize) -> usize {
    let limits = SHARED_LIMITS.read().unwrap_or_else(|e| e.into_inner());
    let Some(limits) = limits.as_ref() else { return device::SHARED_DEFAULT };
    let limit = if kernel == 0 { limits.values().max() } else { limits.get(&kernel) };
    limit.copied().unwrap_or(device::SHARED_DEFAULT)
}

impl Launch {
    /// # Safety
    /// `name` is null or a C string.
    unsafe fn name(&self) -> String {
        if self.name.is_null() {
            return "kernel".into();
        }
        // SAFETY: as the caller promises.
        unsafe { CStr::from_ptr(self.name) }.to_string_lossy().into_owned()
    }

    fn is_cooperative(&self) -> bool {
        self.flags & COOPERATIVE != 0
    }

    /// Its own priority, or the stream's.
    fn priority(&self, stream: i32) -> i32 {
        match self.flags >> PRIORITY & 0xff {
            0 => stream,
            own => 1 - own as i32,
        }
    }

    /// A checked launch. From here on, dropping it releases the arguments.
    ///
    /// # Safety
    /// As for [`dushmem_emu_launch`].
    unsafe fn grid(&self) -> Result<Grid> {
        // SAFETY: as the caller promises.
        let name = unsafe { self.name() };
        let of_another_version = (self.size as usize) < size_of::<Launch>() || self.abi != ABI;
        let (Some(body), Some(locate), false) = (self.body, self.locate, of_another_version) else {
            // Every version has the fields that this needs, where they are now.
            self.give_up();
            let why = match of_another_version {
                true => {
                    "compiled with headers of another version; compile it again with this library's dushcc"
                }
                false => "the kernel is a null pointer",
            };
            return Err(Failure::new(Code::InvalidDeviceFunction, format!("{name}: {why}")));
        };
        let kernel = Kernel { body, args: self.args, release: self.release, locate };
        let limit = if self.shared > device::SHARED_DEFAULT {
            shared_limit(self.kernel as usize)
        } else {
            device::SHARED_DEFAULT
        };
        // SAFETY: as the caller promises.
        let grid = unsafe { Grid::new(&name, kernel, self.grid, self.block, self.shared, limit) }?;
        if self.flags & MIXED != 0 {
            let detail = format!(
                "{name}: some files of the program were compiled with -fdushmem-os-threads, others were not"
            );
            return Err(Failure::new(Code::InvalidDeviceFunction, detail));
        }
        let grid = grid.threads(self.flags & OS_THREADS != 0)?;
        if self.is_cooperative() { grid.cooperative() } else { Ok(grid) }
    }

    /// A checked launch as a node of a graph.
    ///
    /// # Safety
    /// As for [`dushmem_emu_launch`], and `body` may be called so any number of times.
    pub(super) unsafe fn work(&self, priority: i32) -> Result<Work> {
        // SAFETY: as the caller promises.
        let kernel = unsafe { self.grid() }?.into_kernel();
        Ok(Work::Kernel(KernelWork {
            // SAFETY: as the caller promises.
            name: unsafe { self.name() }.into(),
            address: self.kernel as usize,
            arguments: Arc::new(Arguments::new(kernel)),
            parameters: self.parameters,
            grid: self.grid,
            block: self.block,
            shared: self.shared,
            cooperative: self.is_cooperative(),
            os_threads: self.flags & OS_THREADS != 0,
            device: device::current(),
            priority: self.priority(priority),
        }))
    }

    /// Releases the arguments of a launch that is not made.
    fn give_up(&self) {
        if let Some(release) = self.release {
            // SAFETY: nobody else releases.
            unsafe { release(self.args) };
        }
    }

    /// # Safety
    /// As for [`dushmem_emu_launch`].
    unsafe fn start(&self, stream: &Arc<Stream>) -> Result<()> {
        if capture::is_capturing(stream) {
            // SAFETY: as the caller promises; nothing but GPU threads of the kernel changes the arguments.
            let work = unsafe { self.work(stream.priority()) }?;
            return stream.add(work);
        }
        // SAFETY: as the caller promises.
        let grid = unsafe { self.grid() }?
            .on_device(stream.device())
            .with_priority(self.priority(stream.priority()));
        stream.submit(move || run_grid(grid))
    }
}

/// Puts a kernel into a stream of the calling thread's device.
///
/// # Safety
/// `launch` is valid; `body` may be called with `args` from any OS thread until `release` is called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_launch(launch: *const Launch) -> c_int {
    // SAFETY: as the caller promises.
    let launch = unsafe { &*launch };
    match stream::find_here(launch.stream as usize) {
        // SAFETY: as the caller promises.
        Ok(stream) => note(unsafe { launch.start(&stream) }),
        Err(failure) => {
            launch.give_up();
            note::<()>(Err(failure))
        }
    }
}

/// Sets how much dynamic shared memory a kernel may get.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_allow_shared(kernel: *const c_void, bytes: usize) -> c_int {
    let allow = || {
        if kernel.is_null() {
            return Err(Failure::new(Code::InvalidDeviceFunction, "func is NULL"));
        }
        if bytes > device::SHARED_OPT_IN {
            let detail = format!("{bytes} bytes of dynamic shared memory; at most {}", device::SHARED_OPT_IN);
            return Err(Failure::new(Code::InvalidValue, detail));
        }
        let mut limits = SHARED_LIMITS.write().unwrap_or_else(|e| e.into_inner());
        limits.get_or_insert_default().insert(kernel as usize, bytes);
        Ok(())
    };
    note(allow())
}

/// How much dynamic shared memory a kernel may get.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_shared_limit(kernel: *const c_void) -> usize {
    shared_limit(kernel as usize)
}

/// Blocks of so many threads and bytes of dynamic shared memory that one multiprocessor holds.
///
/// # Safety
/// `blocks` is null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_occupancy(
    blocks: *mut c_int,
    kernel: *const c_void,
    threads: c_int,
    shared: usize,
) -> c_int {
    let ask = || {
        if kernel.is_null() {
            return Err(Failure::new(Code::InvalidDeviceFunction, "func is NULL"));
        }
        if threads <= 0 {
            return Err(Failure::new(Code::InvalidValue, format!("blockSize = {threads}: at least 1")));
        }
        if blocks.is_null() {
            return Err(null("numBlocks"));
        }
        let most = occupancy::blocks_per_multiprocessor(threads as u64, shared);
        // SAFETY: not null, and valid as the caller promises.
        unsafe { blocks.write(most as c_int) };
        Ok(())
    };
    note(ask())
}

/// The block size with which most threads are resident, and the smallest grid of it that fills the device.
/// `shared_of` (null: always `shared`) gives a block's bytes of shared memory for its size.
///
/// # Safety
/// The pointers are null or valid for one write each; `shared_of` may be called with `data`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_best_block(
    grid: *mut c_int,
    block: *mut c_int,
    shared: usize,
    limit: c_int,
    shared_of: Option<unsafe extern "C" fn(c_int, *mut c_void) -> usize>,
    data: *mut c_void,
) -> c_int {
    let ask = || {
        if grid.is_null() || block.is_null() {
            return Err(null(if grid.is_null() { "minGridSize" } else { "blockSize" }));
        }
        if limit < 0 {
            return Err(Failure::new(Code::InvalidValue, format!("blockSizeLimit = {limit}: negative")));
        }
        let (blocks, threads) = occupancy::best_block(limit as u32, |threads| match shared_of {
            // SAFETY: as the caller promises.
            Some(shared_of) => unsafe { shared_of(threads as c_int, data) },
            None => shared,
        });
        // SAFETY: not null, and valid as the caller promises.
        unsafe {
            grid.write(blocks as c_int);
            block.write(threads as c_int);
        }
        Ok(())
    };
    note(ask())
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

/// `__syncthreads`, after which one thread acts for all of the block: bit 0, the calling one. Bit 1: the others run
/// at the same time, and have to be synchronised afterwards.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_sync_once() -> c_int {
    block::sync_once() as c_int
}

/// Waits for all threads of a cooperative launch.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_sync_grid() {
    if let Err(text) = block::sync_grid() {
        block::fail(text);
    }
}

/// 1 in a cooperative launch, else 0.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_cooperative() -> c_int {
    c_int::from(block::cooperative())
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

/// The `__shared__` variable with this key of the block that the calling thread belongs to: `bytes` bytes, which
/// nobody has written at first.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_shared(key: *const c_void, bytes: usize, align: usize) -> *mut c_void {
    os_block::shared_variable(key as usize, bytes, align).map_or(std::ptr::null_mut(), |at| at.cast())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::text;

    unsafe extern "C" fn body(_: *mut c_void) {}
    unsafe extern "C" fn locate(_: *mut Place) {}
    /// # Safety
    /// `count` is a number.
    unsafe extern "C" fn release(count: *mut c_void) {
        // SAFETY: as the caller promises.
        unsafe { *count.cast::<u32>() += 1 };
    }

    #[test]
    fn launches_of_other_headers_are_refused_and_their_arguments_released() {
        let mut released = 0u32;
        let launch = Launch {
            size: size_of::<Launch>() as u32,
            flags: 0,
            name: c"old".as_ptr(),
            body: Some(body),
            args: (&raw mut released).cast(),
            release: Some(release),
            locate: Some(locate),
            grid: Dim3::new(1, 1, 1),
            block: Dim3::new(1, 1, 1),
            shared: 0,
            stream: std::ptr::null_mut(),
            abi: ABI - 1,
            kernel: std::ptr::null(),
            parameters: None,
        };
        let smaller = Launch { size: launch.size - 8, abi: ABI, ..launch };
        for old in [&launch, &smaller] {
            // SAFETY: complete, whatever it says about its size; it never gets to the kernel.
            let code = unsafe { dushmem_emu_launch(old) };
            assert_eq!(code, Code::InvalidDeviceFunction as c_int);
            let said = text(code).to_string_lossy();
            assert!(said.contains("headers of another version"), "{said}");
        }
        assert_eq!(released, 2);
    }
}

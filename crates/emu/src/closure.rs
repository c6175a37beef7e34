//! Launches of Rust closures.
use crate::block::{self, Place};
use crate::called::{Name, Passed};
use crate::device::{self, Threads};
use crate::error::Result;
use crate::grid::{Dim3, Grid, Kernel};
use crate::stream::{self, Stream};
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::Arc;

/// The Rust counterpart of a program's `threadIdx` and companions.
struct OwnPlace {
    thread: Dim3,
    block: Dim3,
    block_dim: Dim3,
    grid_dim: Dim3,
    shared: *mut c_void,
    in_kernel: bool,
    call: Name,
    arguments: Passed,
}

const NOWHERE: Dim3 = Dim3::new(0, 0, 0);

thread_local! {
    static PLACE: UnsafeCell<OwnPlace> = const {
        UnsafeCell::new(OwnPlace {
            thread: NOWHERE,
            block: NOWHERE,
            block_dim: NOWHERE,
            grid_dim: NOWHERE,
            shared: std::ptr::null_mut(),
            in_kernel: false,
            call: Name::NONE,
            arguments: Passed::NONE,
        })
    };
}

/// # Safety
/// `place` is valid for one write.
unsafe extern "C" fn locate(place: *mut Place) {
    PLACE.with(|own| {
        let own = own.get();
        // SAFETY: the addresses are taken, not read through; `place` as the caller promises.
        unsafe {
            place.write(Place {
                size: size_of::<Place>(),
                thread: &raw mut (*own).thread,
                block: &raw mut (*own).block,
                block_dim: &raw mut (*own).block_dim,
                grid_dim: &raw mut (*own).grid_dim,
                shared: &raw mut (*own).shared,
                in_kernel: &raw mut (*own).in_kernel,
                call: &raw mut (*own).call,
                arguments: &raw mut (*own).arguments,
            });
        }
    });
}

/// A GPU thread, as the closure that it runs sees it. It can't be sent to another OS thread.
#[derive(Debug)]
pub struct ThreadCtx {
    thread: Dim3,
    block: Dim3,
    block_dim: Dim3,
    grid_dim: Dim3,
    shared: *mut u8,
    shared_bytes: usize,
    _stays_here: PhantomData<*mut ()>,
}

impl ThreadCtx {
    /// Position of the thread in its block.
    pub fn thread_idx(&self) -> Dim3 {
        self.thread
    }

    /// Position of the block in the grid.
    pub fn block_idx(&self) -> Dim3 {
        self.block
    }

    /// Threads along the sides of a block.
    pub fn block_dim(&self) -> Dim3 {
        self.block_dim
    }

    /// Blocks along the sides of the grid.
    pub fn grid_dim(&self) -> Dim3 {
        self.grid_dim
    }

    /// Position of the thread in the whole grid along x.
    pub fn global_x(&self) -> usize {
        self.block.x as usize * self.block_dim.x as usize + self.thread.x as usize
    }

    /// Position of the thread in the whole grid along y.
    pub fn global_y(&self) -> usize {
        self.block.y as usize * self.block_dim.y as usize + self.thread.y as usize
    }

    /// Position of the thread in the whole grid along z.
    pub fn global_z(&self) -> usize {
        self.block.z as usize * self.block_dim.z as usize + self.thread.z as usize
    }

    /// Threads along x in the whole grid: the step of a grid-stride loop.
    pub fn global_width(&self) -> usize {
        self.grid_dim.x as usize * self.block_dim.x as usize
    }

    /// Waits for all threads of the block that haven't returned. What they wrote before is visible after.
    pub fn sync_threads(&self) {
        block::sync_threads();
    }

    /// Lets other threads of the block run: for loops that wait for something.
    pub fn yield_now(&self) {
        block::yield_thread();
    }

    /// First byte of the block's shared memory, aligned to 128 bytes. All threads of the block, and
    /// nobody else, use it: through raw pointers or atomics, with [`ThreadCtx::sync_threads`] between
    /// writing and reading. Its contents are undefined at first.
    pub fn shared(&self) -> *mut u8 {
        self.shared
    }

    /// Bytes of shared memory, as the launch asked for.
    pub fn shared_bytes(&self) -> usize {
        self.shared_bytes
    }
}

struct Shell<F> {
    shared_bytes: usize,
    act: F,
}

/// # Safety
/// `shell` is a `Shell<F>`; the place of this OS thread is that of the GPU thread.
unsafe extern "C" fn body<F: Fn(&ThreadCtx)>(shell: *mut c_void) {
    // SAFETY: as the caller promises; threads only share it.
    let shell = unsafe { &*shell.cast::<Shell<F>>() };
    let ctx = PLACE.with(|own| {
        // SAFETY: only this OS thread uses its place, and no reference to it is ever kept.
        let own = unsafe { &*own.get() };
        ThreadCtx {
            thread: own.thread,
            block: own.block,
            block_dim: own.block_dim,
            grid_dim: own.grid_dim,
            shared: own.shared.cast(),
            shared_bytes: shell.shared_bytes,
            _stays_here: PhantomData,
        }
    });
    (shell.act)(&ctx);
}

/// # Safety
/// `shell` came from `Box::into_raw` of a `Shell<F>` and is used no more.
unsafe extern "C" fn release<F>(shell: *mut c_void) {
    // SAFETY: as the caller promises.
    drop(unsafe { Box::from_raw(shell.cast::<Shell<F>>()) });
}

/// Puts a kernel into a stream, which must not be being captured: `act` runs once for each thread of the grid, concurrently. Returns at
/// once; [`Stream::synchronize`] waits for it. A panic in `act` ends the process.
///
/// Fails with the same codes as a launch from C++ does: sides of 0, more than 1,024 threads a block, more
/// than [`device::SHARED_OPT_IN`] bytes of shared memory.
pub fn launch_closure<F>(
    on: &Arc<Stream>,
    grid: impl Into<Dim3>,
    block: impl Into<Dim3>,
    shared_bytes: usize,
    act: F,
) -> Result<()>
where
    F: Fn(&ThreadCtx) + Send + Sync + 'static,
{
    let shell = Box::into_raw(Box::new(Shell { shared_bytes, act }));
    let kernel = Kernel { body: body::<F>, args: shell.cast(), release: Some(release::<F>), locate };
    let name = "closure";
    // SAFETY: the closure may run on any thread, and lives until `release`.
    let grid =
        unsafe { Grid::new(name, kernel, grid.into(), block.into(), shared_bytes, device::SHARED_OPT_IN) }?;
    let grid = grid.threads(device::threads() == Some(Threads::Os))?;
    on.submit(move || grid.run())
}

/// Makes a stream on the calling thread's device. See [`OwnedStream`].
pub fn create_stream() -> Result<OwnedStream> {
    let handle = stream::create(0, 0)?;
    Ok(OwnedStream { handle, stream: stream::find(handle)? })
}

/// A stream that goes with this value, when it has run what is in it.
#[derive(Debug)]
pub struct OwnedStream {
    handle: usize,
    stream: Arc<Stream>,
}

impl OwnedStream {
    /// The number that C programs know the stream by.
    pub fn handle(&self) -> usize {
        self.handle
    }
}

impl std::ops::Deref for OwnedStream {
    type Target = Arc<Stream>;

    fn deref(&self) -> &Arc<Stream> {
        &self.stream
    }
}

impl Drop for OwnedStream {
    fn drop(&mut self) {
        // Fails only if a C program has destroyed the handle.
        let _ = stream::destroy(self.handle);
    }
}

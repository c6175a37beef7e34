//! What a node of a graph does: the same operations that streams run, in a form that can run many times.
use super::model::Graph;
use crate::error::{Code, Failure, Result};
use crate::event::{Event, Mark};
use crate::grid::{Dim3, Grid, Kernel};
use crate::memory::{self, Rows};
use crate::occupancy;
use dushmem_core::device::StreamOp;
use dushmem_core::process;
use dushmem_core::world::World;
use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

/// The copied arguments of a kernel, released when the last node that uses them is gone.
#[derive(Debug)]
pub struct Arguments {
    kernel: Kernel,
    addresses: OnceLock<Box<[usize]>>,
}

/// Writes the addresses of a kernel's arguments, at most so many; gives their number.
pub type Parameters =
    unsafe extern "C" fn(args: *mut c_void, addresses: *mut *mut c_void, most: usize) -> usize;

impl Arguments {
    /// Those of a kernel, which is released with them.
    pub fn new(kernel: Kernel) -> Arguments {
        Arguments { kernel, addresses: OnceLock::new() }
    }

    /// The addresses of the arguments, valid as long as they are; null where nobody can tell them.
    pub fn addresses(&self, parameters: Option<Parameters>) -> *mut *mut c_void {
        let Some(parameters) = parameters else { return std::ptr::null_mut() };
        let all = self.addresses.get_or_init(|| {
            // SAFETY: the function belongs to these arguments, and writes no more than it is told.
            let count = unsafe { parameters(self.kernel.args, std::ptr::null_mut(), 0) };
            let mut all = vec![0; count].into_boxed_slice();
            // SAFETY: as above.
            unsafe { parameters(self.kernel.args, all.as_mut_ptr().cast(), count) };
            all
        });
        all.as_ptr().cast_mut().cast()
    }
}

impl Drop for Arguments {
    fn drop(&mut self) {
        if let Some(release) = self.kernel.release {
            // SAFETY: launches hold a reference while they run, so no GPU thread is left.
            unsafe { release(self.kernel.args) };
        }
    }
}

/// A launch whose shape has been checked.
#[derive(Clone, Debug)]
pub struct KernelWork {
    /// The kernel as the program names it.
    pub name: Arc<str>,
    /// The kernel's address, 0 where the launch doesn't tell it.
    pub address: usize,
    /// What runs, with its arguments.
    pub arguments: Arc<Arguments>,
    /// Addresses of the arguments, where the headers can tell them.
    pub parameters: Option<Parameters>,
    /// Blocks.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Bytes of dynamic shared memory.
    pub shared: usize,
    /// All blocks run at the same time.
    pub cooperative: bool,
    /// Compiled for an OS thread a GPU thread.
    pub os_threads: bool,
    /// The device that was current.
    pub device: u32,
    /// Priority of the stream that it was captured from.
    pub priority: i32,
}

impl KernelWork {
    /// Runs the kernel to its end on the calling thread and those that help.
    pub fn run(&self) {
        let kernel = Kernel { release: None, ..self.arguments.kernel };
        // SAFETY: the arguments live as long as `self`, which outlives the run.
        let grid = unsafe { Grid::new(&self.name, kernel, self.grid, self.block, self.shared, usize::MAX) };
        let grid = grid.and_then(|grid| grid.threads(self.os_threads));
        let grid = grid.and_then(|grid| if self.cooperative { grid.cooperative() } else { Ok(grid) });
        match grid {
            Ok(grid) => run_grid(grid.on_device(self.device).with_priority(self.priority)),
            // Checked when the node was made.
            Err(failure) => dushmem_os::say::say(&format!("dushmem: a graph's kernel: {failure}")),
        }
    }
}

/// Runs a launch; a cooperative one when its device has room for all its threads.
pub fn run_grid(grid: Grid) {
    let _room = grid.is_cooperative().then(|| occupancy::reserve(grid.device(), grid.threads_in_all()));
    grid.run();
}

/// A copy of planes of rows.
#[derive(Clone, Copy, Debug)]
pub struct CopyWork {
    /// Where to.
    pub dest: Rows,
    /// Where from.
    pub source: Rows,
    /// Bytes of a row.
    pub width: usize,
    /// Rows of a plane.
    pub rows: usize,
    /// Planes.
    pub planes: usize,
    /// Bytes from plane to plane at the destination.
    pub dest_plane: usize,
    /// Bytes from plane to plane at the source.
    pub source_plane: usize,
    /// The direction's number.
    pub direction: i32,
}

impl CopyWork {
    /// A copy of one plane.
    pub fn flat(dest: Rows, source: Rows, width: usize, rows: usize, direction: i32) -> CopyWork {
        CopyWork { dest, source, width, rows, planes: 1, dest_plane: 0, source_plane: 0, direction }
    }

    fn plane(&self, number: usize) -> (Rows, Rows) {
        let at = |rows: Rows, plane: usize| Rows { base: rows.base.wrapping_add(number * plane), ..rows };
        (at(self.dest, self.dest_plane), at(self.source, self.source_plane))
    }

    /// An error for addresses that don't fit the direction or the allocations. True if there is something
    /// to copy.
    pub fn check(&self) -> Result<bool> {
        let mut some = false;
        if self.planes > 1 {
            let apart = |what: &str, plane: usize, pitch: usize| {
                let whole =
                    pitch.checked_mul(self.rows.saturating_sub(1)).map(|n| n.saturating_add(self.width));
                if whole.is_none_or(|whole| plane < whole) || plane.checked_mul(self.planes).is_none() {
                    let why = format!("{what}: planes of {plane} bytes don't hold their rows");
                    return Err(Failure::new(Code::InvalidValue, why));
                }
                Ok(())
            };
            apart("dst", self.dest_plane, self.dest.pitch)?;
            apart("src", self.source_plane, self.source.pitch)?;
        }
        for number in 0..self.planes {
            let (dest, source) = self.plane(number);
            some |= memory::check_copy(dest, source, self.width, self.rows, self.direction)?;
        }
        Ok(some)
    }

    /// Copies.
    ///
    /// # Safety
    /// [`CopyWork::check`] accepts it, and host memory that it names is valid.
    pub unsafe fn run(&self) {
        for number in 0..self.planes {
            let (dest, source) = self.plane(number);
            // SAFETY: as the caller promises.
            unsafe { memory::copy(dest, source, self.width, self.rows) };
        }
    }
}

/// A fill of rows with a value of 1, 2 or 4 bytes.
#[derive(Clone, Copy, Debug)]
pub struct FillWork {
    /// Where.
    pub dest: Rows,
    /// The value; its first `elem` bytes count.
    pub value: u32,
    /// Bytes of the value.
    pub elem: usize,
    /// Bytes of a row.
    pub width: usize,
    /// Rows.
    pub rows: usize,
}

impl FillWork {
    /// An error for a bad size or address. True if there is something to fill.
    pub fn check(&self) -> Result<bool> {
        if !matches!(self.elem, 1 | 2 | 4) {
            let why = format!("elementSize = {}: 1, 2 or 4 bytes", self.elem);
            return Err(Failure::new(Code::InvalidValue, why));
        }
        if self.elem > 1 && !(self.dest.base as usize | self.dest.pitch).is_multiple_of(self.elem) {
            let why = format!(
                "dst = {:p}, pitch = {}: not aligned to {} bytes",
                self.dest.base, self.dest.pitch, self.elem
            );
            return Err(Failure::new(Code::InvalidValue, why));
        }
        memory::check_fill(self.dest, self.width, self.rows)
    }

    /// Fills.
    ///
    /// # Safety
    /// [`FillWork::check`] accepts it.
    pub unsafe fn run(&self) {
        if self.elem == 1 {
            // SAFETY: as the caller promises.
            return unsafe { memory::fill(self.dest, self.value as u8, self.width, self.rows) };
        }
        let bytes = self.value.to_le_bytes();
        for row in 0..self.rows {
            let row = self.dest.base.wrapping_add(row * self.dest.pitch);
            for at in (0..self.width).step_by(self.elem) {
                // SAFETY: as the caller promises.
                unsafe { bytes.as_ptr().copy_to(row.add(at), self.elem) };
            }
        }
    }
}

/// A host function.
#[derive(Clone, Copy, Debug)]
pub struct HostWork {
    /// Called with `data`.
    pub function: extern "C" fn(*mut c_void),
    /// Its argument.
    pub data: *mut c_void,
}

// SAFETY: the program that enqueues a function promises that it can run on another thread.
unsafe impl Send for HostWork {}
// SAFETY: as above.
unsafe impl Sync for HostWork {}
// SAFETY: addresses; the program that makes the node promises that the bytes are there when it runs.
unsafe impl Sync for CopyWork {}
// SAFETY: as above.
unsafe impl Sync for FillWork {}

impl HostWork {
    /// Calls the function; runtime calls that it makes are refused meanwhile.
    pub fn run(self) {
        crate::stream::in_callback(|| (self.function)(self.data));
    }
}

/// An operation of the library.
#[derive(Clone, Debug)]
pub struct EngineWork {
    /// The job that the operation belongs to.
    pub world: Arc<World>,
    /// The public name under which it was put in.
    pub call: &'static str,
    /// What to do.
    pub op: StreamOp,
    /// Arrays that it reads, where they are copies.
    pub copied: Copied,
}

/// Arrays of a wait that were copied when it was enqueued.
pub type Copied = [Option<Arc<[u64]>>; 2];

// SAFETY: as for `Send` of the operation: who enqueues it promises that its addresses are valid whenever it runs.
unsafe impl Sync for EngineWork {}

impl EngineWork {
    /// Runs it; a failure ends the job with a line that names the call.
    ///
    /// # Safety
    /// As for the call of [`World`] that the operation stands for.
    pub unsafe fn run(&self) {
        // SAFETY: as the caller promises.
        if let Err(error) = unsafe { self.op.clone().run(&self.world) } {
            process::fail(&self.world, self.call, &error);
        }
    }

    /// True if it waits for others: words, collectives, replies.
    fn waits(&self) -> bool {
        use StreamOp::*;
        !matches!(self.op, PutNbi { .. } | GetNbi { .. } | P { .. } | PutSignalNbi { .. } | SignalOp { .. })
    }
}

/// Memory that a graph allocated: it stays at its address until the graph and all made of it are gone.
#[derive(Debug)]
pub struct Held {
    /// First byte.
    pub base: *mut u8,
    /// Bytes.
    pub len: usize,
}

// SAFETY: an address.
unsafe impl Send for Held {}
// SAFETY: an address.
unsafe impl Sync for Held {}

impl Held {
    /// Allocates.
    pub fn new(bytes: usize) -> Result<Held> {
        Ok(Held { base: memory::allocate(bytes, memory::Kind::Graph)?, len: bytes })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        memory::release_graph(self.base);
    }
}

/// What a node does.
#[derive(Clone, Debug)]
pub enum Work {
    /// Nothing: it ties others together.
    Empty,
    /// Runs a kernel.
    Kernel(KernelWork),
    /// Copies.
    Copy(CopyWork),
    /// Fills.
    Fill(FillWork),
    /// Calls a host function.
    Host(HostWork),
    /// Does an operation of the library.
    Engine(EngineWork),
    /// Records an event.
    Record(Arc<Event>),
    /// Waits for an event's recording that was newest when the graph was launched.
    Wait(Arc<Event>),
    /// Runs another graph.
    Child(Arc<Graph>),
    /// Memory that the graph has.
    Allocate(Arc<Held>),
    /// The end of the use of such memory.
    Free(usize),
}

impl Work {
    /// The node's type, as both families number it. An operation of the library counts as a kernel.
    pub fn kind(&self) -> i32 {
        match self {
            Work::Kernel(_) | Work::Engine(_) => 0,
            Work::Copy(_) => 1,
            Work::Fill(_) => 2,
            Work::Host(_) => 3,
            Work::Child(_) => 4,
            Work::Empty => 5,
            Work::Wait(_) => 6,
            Work::Record(_) => 7,
            Work::Allocate(_) => 10,
            Work::Free(_) => 11,
        }
    }

    /// The type in words.
    pub fn describe(&self) -> String {
        match self {
            Work::Kernel(kernel) => format!("kernel {}", kernel.name),
            Work::Engine(engine) => engine.call.to_owned(),
            Work::Copy(_) => "memcpy".into(),
            Work::Fill(_) => "memset".into(),
            Work::Host(_) => "host function".into(),
            Work::Child(_) => "child graph".into(),
            Work::Empty => "empty node".into(),
            Work::Wait(_) => "event wait".into(),
            Work::Record(_) => "event record".into(),
            Work::Allocate(_) => "allocation".into(),
            Work::Free(_) => "free".into(),
        }
    }

    /// An error for what would go wrong if it ran now.
    pub fn check(&self) -> Result<()> {
        let checked = match self {
            Work::Copy(copy) => copy.check().map(drop),
            Work::Fill(fill) => fill.check().map(drop),
            Work::Engine(engine) => engine.world.check_alive().map_err(|error| {
                Failure::new(Code::IllegalState, format!("the job of this operation has ended: {error}"))
            }),
            _ => Ok(()),
        };
        checked
            .map_err(|failure| Failure::new(failure.code, format!("{}: {}", self.describe(), failure.detail)))
    }

    /// True if it may take as long as somebody else likes.
    pub fn may_wait(&self) -> bool {
        match self {
            Work::Kernel(_) | Work::Host(_) | Work::Child(_) | Work::Wait(_) => true,
            Work::Engine(engine) => engine.waits(),
            Work::Empty
            | Work::Copy(_)
            | Work::Fill(_)
            | Work::Record(_)
            | Work::Allocate(_)
            | Work::Free(_) => false,
        }
    }

    /// Runs it on the calling thread. `mark` is what a launch of a graph has prepared for event nodes.
    pub fn run(&self, mark: Option<&Mark>) {
        match self {
            Work::Kernel(kernel) => kernel.run(),
            // SAFETY: checked when the graph was launched, or the copy put into the stream.
            Work::Copy(copy) => unsafe { copy.run() },
            // SAFETY: as above.
            Work::Fill(fill) => unsafe { fill.run() },
            Work::Host(host) => host.run(),
            // SAFETY: as who enqueued it promised.
            Work::Engine(engine) => unsafe { engine.run() },
            Work::Record(_) => mark.into_iter().for_each(Mark::reach),
            Work::Wait(_) => {
                mark.map(Mark::wait);
            }
            Work::Empty | Work::Child(_) | Work::Allocate(_) | Work::Free(_) => {}
        }
    }
}

//! What operations in streams need of the driver: one PE's streams, and what can be put into them.
//!
//! Between this trait and the operations there is no policy: each method is a call or two of the driver.
use dushmem_core::device::StreamHandle;
use dushmem_core::error::Result;
use std::ffi::c_void;
use std::fmt::Debug;

/// A comparison that a stream can wait for without a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Until {
    /// `(word - value) >= 0` as a signed difference: right for counts that go round.
    Geq = 0,
    /// `word == value`
    Eq = 1,
    /// `word & value != 0`
    And = 2,
    /// `!(word | value) != 0`
    Nor = 3,
}

/// A memory operation of a stream, by device addresses. A write comes after everything that the stream did before, for
/// all who see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "an address, a value, and how they are compared")]
pub enum MemOp {
    Write32 { at: u64, value: u32 },
    Write64 { at: u64, value: u64 },
    Wait32 { at: u64, value: u32, until: Until },
    Wait64 { at: u64, value: u64, until: Until },
}

/// Most memory operations that one call takes.
pub const BATCH: usize = 256;

/// Whose memory an address is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The PE's device's, or a part of a heap of devices.
    Device,
    /// Another device's, which kernels may not reach.
    Elsewhere,
    /// The host's; the device addresses it.
    Pinned,
    /// The host's; the device doesn't.
    Pageable,
}

impl Place {
    /// Whether kernels load and store it.
    pub fn is_reached(self) -> bool {
        matches!(self, Place::Device | Place::Pinned)
    }
}

/// Whether a stream's operations run, or become nodes of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capture {
    /// They run.
    No,
    /// They become nodes.
    Yes,
    /// The capture has failed; the program has to end it.
    Invalid,
}

/// A strided copy: rows of `width` bytes, `pitch` apart.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "see the struct")]
pub struct Rows {
    pub dest: usize,
    pub dest_pitch: usize,
    pub source: usize,
    pub source_pitch: usize,
    pub width: usize,
    pub rows: usize,
}

/// Most arguments of a kernel of the library.
pub const MOST_ARGS: usize = 12;

/// Arguments of a kernel: 8 bytes each, of which a kernel reads as many as its parameter has; or a struct.
#[derive(Clone, Debug)]
pub struct Args {
    words: Vec<u64>,
    /// First word of each argument.
    starts: [u16; MOST_ARGS],
    len: usize,
}

impl Default for Args {
    fn default() -> Args {
        // Enough for all kernels but one, in one allocation.
        Args { words: Vec::with_capacity(32), starts: [0; MOST_ARGS], len: 0 }
    }
}

impl Args {
    fn begin(&mut self) {
        self.starts[self.len] = self.words.len() as u16;
        self.len += 1;
    }

    /// An integer of 32 or 64 bits.
    pub fn word(mut self, word: u64) -> Args {
        self.begin();
        self.words.push(word);
        self
    }

    /// A signed integer of 32 bits.
    pub fn int(self, value: i32) -> Args {
        self.word(u64::from(value as u32))
    }

    /// A struct of words, of which the first are these; `len`: all it has.
    pub fn array(mut self, words: &[u64], len: usize) -> Args {
        self.begin();
        self.words.extend_from_slice(words);
        self.words.resize(self.words.len() + len - words.len(), 0);
        self
    }

    /// Addresses of the arguments, as the driver takes them, and how many there are.
    pub fn pointers(&mut self) -> ([*mut c_void; MOST_ARGS], usize) {
        let words = self.words.as_mut_ptr();
        let mut all = [std::ptr::null_mut(); MOST_ARGS];
        for (to, &start) in all.iter_mut().zip(&self.starts[..self.len]) {
            // SAFETY: every start is an index of the vector.
            *to = unsafe { words.add(start.into()) }.cast();
        }
        (all, self.len)
    }

    /// Words of the argument of that number, for tests and messages.
    pub fn get(&self, index: usize) -> &[u64] {
        let start = |index: usize| usize::from(self.starts[index]);
        let end = if index + 1 < self.len { start(index + 1) } else { self.words.len() };
        &self.words[start(index)..end]
    }
}

/// A launch of one of the library's kernels.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "those of a launch")]
pub struct Launch {
    pub kernel: &'static str,
    pub blocks: u32,
    pub threads: u32,
    pub args: Args,
}

/// A function that a stream calls on a thread of the driver's. It may not call the driver.
pub type HostFunction = unsafe extern "C" fn(data: *mut c_void);

/// Streams of the program, as one PE uses them. All calls make the PE's context current while they last. What is
/// enqueued in a stream that is being captured becomes part of the graph.
pub trait Queue: Debug + Send + Sync {
    /// Whether the stream is being captured.
    fn capture(&self, stream: StreamHandle) -> Result<Capture>;

    /// True where [`Until::Nor`] works.
    fn has_nor(&self) -> bool;

    /// Whose memory `address` is in.
    fn place(&self, address: usize) -> Place;

    /// The address at which the device reaches what this process has at `address`; `None` for memory of the host that
    /// it can't address.
    fn device_address(&self, address: usize) -> Option<u64> {
        (self.place(address) != Place::Pageable).then_some(address as u64)
    }

    /// Enqueues memory operations, to run one after the other; at most [`BATCH`]. `captured`: they become part of a graph.
    ///
    /// # Safety
    /// The words are aligned, and valid whenever the operations run.
    unsafe fn memory_ops(&self, stream: StreamHandle, captured: bool, ops: &[MemOp]) -> Result<()>;

    /// Enqueues a copy, from and to any memory. One between two places of the host's memory is over when this returns, so
    /// this waits for all that is in front of it.
    ///
    /// # Safety
    /// Both ranges are valid whenever it runs, and don't overlap.
    unsafe fn copy(&self, stream: StreamHandle, dest: usize, source: usize, bytes: usize) -> Result<()>;

    /// Enqueues a strided copy, from and to any memory.
    ///
    /// # Safety
    /// As for [`Queue::copy`].
    unsafe fn copy_rows(&self, stream: StreamHandle, rows: &Rows) -> Result<()>;

    /// Enqueues the store of an aligned value of 1 or 2 bytes.
    ///
    /// # Safety
    /// As for [`Queue::copy`].
    unsafe fn store_small(&self, stream: StreamHandle, dest: u64, value: u16, bytes: usize) -> Result<()>;

    /// Enqueues a kernel of the library's.
    ///
    /// # Safety
    /// The arguments are what the kernel takes, and valid whenever it runs.
    unsafe fn launch(&self, stream: StreamHandle, launch: Launch) -> Result<()>;

    /// Enqueues a call of a function on the host.
    ///
    /// # Safety
    /// `data` is what it takes, whenever it runs.
    unsafe fn call(&self, stream: StreamHandle, function: HostFunction, data: *mut c_void) -> Result<()>;

    /// What this PE's host calls have begun on streams of the library's own comes before what is enqueued from now on.
    /// `captured`: it is waited for now, since a graph can't depend on it.
    fn join(&self, stream: StreamHandle, captured: bool) -> Result<()>;

    /// Reads device memory while others wait, on a stream of the library's own. May be called from any thread.
    ///
    /// # Safety
    /// The source is valid.
    unsafe fn read(&self, source: usize, into: &mut [u8]) -> Result<()>;

    /// A zeroed word of host memory that the device addresses at the same time, and that address; valid as long as the
    /// queue.
    fn host_word(&self) -> Result<(*mut u32, u64)>;

    /// Bytes of host memory, at a multiple of 256, that the device addresses at the same time, and that address; valid as
    /// long as the queue.
    fn host_block(&self, bytes: usize) -> Result<(usize, u64)>;
}

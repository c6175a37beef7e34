//! The device of one PE.
use super::space::{Space, reach};
use super::{GRANULE, MEMORY, Told, Ways};
use dushmem_core::amo::{AmoOp, AmoRequest};
use dushmem_core::coll::reduce::Reducer;
use dushmem_core::device::{DeviceMemory, Export, KernelState, KernelTeam};
use dushmem_core::device_heap::driver::{Agreed, Combine, HeapDevice, Identity};
use dushmem_core::error::{Error, Result};
use dushmem_core::transport::mapped;
use dushmem_os::memory::{grow, memfd};
use std::collections::VecDeque;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// One PE's device.
#[derive(Debug)]
pub struct Plain {
    pe: usize,
    identity: Identity,
    ways: Ways,
    allocations: AtomicUsize,
    fails_after: usize,
    taken: Arc<AtomicUsize>,
    queue: Arc<Queue>,
    spaces: Mutex<Vec<Arc<Space>>>,
    tables: Mutex<Vec<Box<dyn DeviceMemory>>>,
    pinned: Mutex<Vec<(usize, usize)>>,
    told: Mutex<Told>,
}

/// What was begun. It is done when somebody waits for it, or a while later.
#[derive(Debug, Default)]
struct Queue {
    begun: Mutex<VecDeque<Work>>,
    more: Condvar,
    over: AtomicBool,
}

impl Queue {
    fn start() -> Arc<Queue> {
        let queue = Arc::new(Queue::default());
        let mine = Arc::clone(&queue);
        let body = move || {
            while !mine.over.load(Ordering::Relaxed) {
                let begun = lock(&mine.begun);
                let idle =
                    |begun: &mut VecDeque<Work>| begun.is_empty() && !mine.over.load(Ordering::Relaxed);
                drop(mine.more.wait_timeout_while(begun, Duration::from_millis(50), idle));
                std::thread::sleep(Duration::from_micros(200));
                mine.settle();
            }
        };
        std::thread::Builder::new().name("plain device".into()).spawn(body).expect("a thread");
        queue
    }

    fn settle(&self) {
        let mut begun = lock(&self.begun);
        while let Some(work) = begun.pop_front() {
            // SAFETY: valid until now, as whoever began it has promised.
            unsafe { work.run() };
        }
    }
}

/// Something that was begun, with addresses as the program sees them.
#[derive(Debug)]
enum Work {
    Copy(usize, usize, usize),
    Zero(usize, usize),
    Strided { dest: (usize, usize), source: (usize, usize), elem: usize, n: usize },
    Store(usize, [u8; 16], usize),
    Amo(usize, AmoRequest),
    Combine { sources: Vec<usize>, dests: Vec<usize>, n: usize, reducer: Reducer },
}

/// A piece of memory.
#[derive(Debug)]
struct Memory {
    base: usize,
    len: usize,
    fd: OwnedFd,
    /// By a word of the driver's, not by descriptor.
    opaque: bool,
    /// Its own reservation, where it has one.
    space: Option<Arc<Space>>,
    taken: Option<Arc<AtomicUsize>>,
}

fn system(what: &str) -> impl FnOnce(std::io::Error) -> Error {
    move |why| Error::System { what: what.into(), why: why.to_string() }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl DeviceMemory for Memory {
    fn base(&self) -> usize {
        self.base
    }

    fn len(&self) -> usize {
        self.len
    }

    fn export(&self) -> Result<Export> {
        if self.opaque {
            let word = format!("/proc/{}/fd/{}", std::process::id(), self.fd.as_raw_fd());
            return Ok(Export::Opaque(word.into_bytes().into()));
        }
        Ok(Export::Fd(self.fd.try_clone().map_err(system("dup"))?))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(taken) = &self.taken {
            taken.fetch_sub(self.len, Ordering::Relaxed);
        }
        match &self.space {
            Some(space) => Space::forget(space),
            None => {
                // From here on nothing is there, as on a real device.
                if let Some(space) = Space::of(self.base) {
                    let empty = memfd("nothing").and_then(|fd| {
                        grow(&fd, 1)?;
                        space.real().place(space.offset(self.base).unwrap_or(0), &fd, 0, self.len)
                    });
                    assert!(empty.is_ok(), "{empty:?}");
                }
            }
        }
    }
}

impl Plain {
    pub(super) fn new(pe: usize, identity: Identity, ways: Ways, fails_after: usize) -> Plain {
        Plain {
            pe,
            identity,
            ways,
            allocations: AtomicUsize::new(0),
            fails_after,
            taken: Arc::default(),
            queue: Queue::start(),
            spaces: Mutex::default(),
            tables: Mutex::default(),
            pinned: Mutex::default(),
            told: Mutex::default(),
        }
    }

    pub(super) fn pe(&self) -> usize {
        self.pe
    }

    /// What the job told it.
    pub fn told(&self) -> Told {
        *lock(&self.told)
    }

    /// How many pieces of memory were asked of it.
    pub fn allocations(&self) -> usize {
        self.allocations.load(Ordering::Relaxed)
    }

    /// Whether memory of the host was pinned.
    pub fn pinned(&self) -> Vec<(usize, usize)> {
        lock(&self.pinned).clone()
    }

    /// Memory at `at`, or in a reservation of its own.
    fn map(&self, fd: OwnedFd, at: usize, len: usize, own: bool) -> Result<Memory> {
        let opaque = !self.identity.chunks;
        let space = match Space::of(at).filter(|_| !opaque) {
            Some(space) => {
                space.real().place(space.offset(at).unwrap_or(0), &fd, 0, len).map_err(system("mmap"))?;
                None
            }
            None if opaque || at == 0 => {
                let space = Space::reserve(None, len).map_err(system("mmap"))?;
                space.real().place(0, &fd, 0, len).map_err(system("mmap"))?;
                Some(space)
            }
            None => return Err(Error::Device(format!("{at:#x}: not reserved"))),
        };
        let base = space.as_ref().map_or(at, |space| space.base());
        let taken = own.then(|| Arc::clone(&self.taken));
        Ok(Memory { base, len, fd, opaque, space, taken })
    }

    fn begin(&self, work: Work) -> Result<()> {
        assert!(!self.told().left, "{work:?} after the PE has left");
        lock(&self.queue.begun).push_back(work);
        self.queue.more.notify_one();
        Ok(())
    }

    fn settle(&self) {
        self.queue.settle();
    }
}

/// # Safety
/// Both are valid, as the program sees them.
unsafe fn copy(dest: usize, source: usize, bytes: usize) {
    let (dest, source) = (reach(dest as *mut u8), reach(source as *mut u8));
    // SAFETY: the caller's.
    unsafe { mapped::copy(dest, source, bytes) };
}

impl Work {
    /// # Safety
    /// The addresses are valid.
    unsafe fn run(self) {
        // SAFETY: as the caller promises.
        unsafe {
            match self {
                Work::Copy(dest, source, bytes) => copy(dest, source, bytes),
                Work::Zero(at, bytes) => reach(at as *mut u8).write_bytes(0, bytes),
                Work::Strided { dest, source, elem, n } => {
                    (0..n).for_each(|i| copy(dest.0 + i * dest.1, source.0 + i * source.1, elem));
                }
                Work::Store(at, value, bytes) => {
                    mapped::copy(reach(at as *mut u8), value.as_ptr(), bytes);
                }
                Work::Amo(at, request) => drop(mapped::execute(reach(at as *mut u8), request)),
                Work::Combine { sources, dests, n, reducer } => {
                    let bytes = n * reducer.elem;
                    let mut result = vec![0u128; bytes.div_ceil(16)];
                    let acc = result.as_mut_ptr().cast::<u8>();
                    mapped::copy(acc, reach(sources[0] as *mut u8), bytes);
                    for &source in &sources[1..] {
                        (reducer.combine)(acc, reach(source as *mut u8), n);
                    }
                    dests.iter().for_each(|&dest| mapped::copy(reach(dest as *mut u8), acc, bytes));
                }
            }
        }
    }
}

impl HeapDevice for Plain {
    fn name(&self) -> String {
        "plain memory".into()
    }

    fn identity(&self) -> Identity {
        self.identity
    }

    fn free_memory(&self) -> Result<u64> {
        Ok(MEMORY.saturating_sub(self.taken.load(Ordering::Relaxed)) as u64)
    }

    fn reserve(&self, at: Option<usize>, bytes: usize) -> Result<usize> {
        assert!(self.told().agreed.is_some(), "before the PEs have agreed");
        if self.ways.moved && at.is_some() {
            return Err(Error::Device("these addresses are taken".into()));
        }
        let space = Space::reserve(at, bytes).map_err(system("mmap"))?;
        let base = space.base();
        lock(&self.spaces).push(space);
        Ok(base)
    }

    fn allocate(&self, at: usize, bytes: usize) -> Result<Box<dyn DeviceMemory>> {
        assert!(bytes > 0 && bytes.is_multiple_of(GRANULE), "{bytes}");
        let before = self.allocations.fetch_add(1, Ordering::Relaxed);
        if (self.fails_after > 0 && before >= self.fails_after) || self.free_memory()? < bytes as u64 {
            return Err(Error::Device(format!("{bytes} bytes: no memory left")));
        }
        let fd = memfd("plain").map_err(system("memfd"))?;
        grow(&fd, bytes as u64).map_err(system("ftruncate"))?;
        self.taken.fetch_add(bytes, Ordering::Relaxed);
        Ok(Box::new(self.map(fd, at, bytes, true)?))
    }

    fn import(&self, export: &Export, at: usize, bytes: usize) -> Result<Box<dyn DeviceMemory>> {
        let fd = match export {
            Export::Fd(fd) => fd.try_clone().map_err(system("dup"))?,
            Export::Opaque(word) => {
                let path = String::from_utf8_lossy(word).into_owned();
                let file = std::fs::File::options().read(true).write(true).open(path);
                file.map_err(system("opening a peer's memory"))?.into()
            }
        };
        Ok(Box::new(self.map(fd, at, bytes, false)?))
    }

    unsafe fn pin(&self, at: usize, bytes: usize) -> Result<()> {
        let mut pinned = lock(&self.pinned);
        if self.pe == 1 && self.ways.most_pins != 0 && pinned.len() >= self.ways.most_pins {
            return Err(Error::Device("no more memory can be pinned".into()));
        }
        pinned.push((at, bytes));
        Ok(())
    }

    fn shares_atomics(&self) -> bool {
        !self.ways.own_atomics
    }

    fn unpin(&self, at: usize) -> Result<()> {
        let mut pinned = lock(&self.pinned);
        let found = pinned.iter().position(|&(start, _)| start == at);
        pinned.remove(found.ok_or_else(|| Error::Device(format!("{at:#x} is not pinned")))?);
        Ok(())
    }

    fn is_device(&self, address: usize) -> bool {
        Space::of(address).is_some()
    }

    unsafe fn copy(&self, dest: usize, source: usize, bytes: usize) -> Result<()> {
        self.begin(Work::Copy(dest, source, bytes))
    }

    unsafe fn zero(&self, at: usize, bytes: usize) -> Result<()> {
        assert!(self.is_device(at), "{at:#x}");
        self.begin(Work::Zero(at, bytes))
    }

    unsafe fn copy_strided(
        &self,
        dest: usize,
        dest_stride: usize,
        source: usize,
        source_stride: usize,
        elem: usize,
        n: usize,
    ) -> Result<()> {
        assert!(dest_stride >= elem && source_stride >= elem, "{dest_stride} {source_stride} {elem}");
        self.begin(Work::Strided { dest: (dest, dest_stride), source: (source, source_stride), elem, n })
    }

    unsafe fn store(&self, dest: usize, value: [u8; 16], bytes: usize) -> Result<()> {
        assert!(
            matches!(bytes, 1 | 2 | 4 | 8 | 16) && dest.is_multiple_of(bytes.min(8)),
            "{dest:#x} {bytes}"
        );
        assert!(self.is_device(dest), "{dest:#x}");
        self.begin(Work::Store(dest, value, bytes))
    }

    unsafe fn load(&self, source: usize, bytes: usize) -> Result<[u8; 16]> {
        self.settle();
        let mut value = [0; 16];
        // SAFETY: the caller's.
        unsafe { mapped::copy(value.as_mut_ptr(), reach(source as *mut u8), bytes) };
        Ok(value)
    }

    unsafe fn peek(&self, source: usize, to: &mut [u8]) -> Result<()> {
        assert!(self.is_device(source), "{source:#x}");
        // SAFETY: the caller's.
        unsafe { mapped::copy(to.as_mut_ptr(), reach(source as *mut u8), to.len()) };
        Ok(())
    }

    unsafe fn amo(&self, at: usize, request: AmoRequest, fetch: bool) -> Result<u64> {
        assert!(self.is_device(at) && at.is_multiple_of(request.width()), "{at:#x}");
        if !fetch {
            assert!(request.op != AmoOp::Fetch);
            return self.begin(Work::Amo(at, request)).map(|()| 0);
        }
        self.settle();
        // SAFETY: the caller's.
        Ok(unsafe { mapped::execute(reach(at as *mut u8), request) })
    }

    unsafe fn combine(&self, what: &Combine<'_>) -> Result<()> {
        let align = what.reducer.kind.expect("a type that devices know").align();
        let all = what.sources.iter().chain(what.dests);
        all.for_each(|&at| assert!(self.is_device(at) && at.is_multiple_of(align), "{at:#x}"));
        assert!(!what.sources.is_empty() && !what.dests.is_empty() && what.n > 0);
        self.begin(Work::Combine {
            sources: what.sources.to_vec(),
            dests: what.dests.to_vec(),
            n: what.n,
            reducer: *what.reducer,
        })
    }

    fn flush(&self) -> Result<()> {
        self.settle();
        Ok(())
    }

    fn set_state(&self, state: &KernelState) -> Result<()> {
        lock(&self.told).state = Some(*state);
        Ok(())
    }

    fn table(&self, bytes: usize) -> Result<usize> {
        let fd = memfd("table").map_err(system("memfd"))?;
        let bytes = bytes.next_multiple_of(GRANULE);
        grow(&fd, bytes as u64).map_err(system("ftruncate"))?;
        let space = Space::reserve(None, bytes).map_err(system("mmap"))?;
        space.real().place(0, fd.as_fd(), 0, bytes).map_err(system("mmap"))?;
        let (base, opaque) = (space.base(), false);
        lock(&self.tables).push(Box::new(Memory {
            base,
            len: bytes,
            fd,
            opaque,
            space: Some(space),
            taken: None,
        }));
        Ok(base)
    }

    fn set_team(&self, table: usize, slot: usize, entry: &KernelTeam) -> Result<()> {
        let at = reach(table as *mut KernelTeam);
        // SAFETY: an entry of the table.
        unsafe { at.add(slot).write_volatile(*entry) };
        Ok(())
    }

    fn set_agreed(&self, agreed: Agreed) {
        let before = lock(&self.told).agreed.replace(agreed);
        assert!(before.is_none(), "{before:?}");
    }

    fn leave(&self) -> Result<()> {
        self.settle();
        lock(&self.told).left = true;
        Ok(())
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        self.queue.over.store(true, Ordering::Relaxed);
        self.queue.more.notify_one();
        lock(&self.spaces).iter().for_each(Space::forget);
    }
}

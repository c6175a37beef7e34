//! Streams: one worker thread each, which runs what was put into the queue, in order. A host thread that waits for
//! a stream runs what the worker hasn't begun: that saves two hand-overs between threads.
//!
//! A worker starts with the first operation. The default stream (handle 0 or 1) of a device behaves as
//! CUDA's legacy default stream does: an operation in it waits for all that was put before into the
//! device's other streams, and what is put into those later waits for it; streams made with the
//! non-blocking flag are not concerned. Handle 2 is a default stream of the calling thread.
use crate::error::{Code, Failure, Result};
use crate::event::Mark;
use crate::graph::capture;
use crate::graph::work::Work;
use crate::{block, device, fork};
use dushmem_core::job::WaitRecord;
use dushmem_core::wait::wait_for;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, RwLock};

/// Something to wait for before an operation runs.
enum Before {
    /// The first so many operations of another stream.
    Stream(Arc<Stream>, u64),
    /// A recording of an event.
    Mark(Arc<Mark>),
}

struct Entry {
    before: Vec<Before>,
    work: Box<dyn FnOnce() + Send>,
}

#[derive(Default)]
struct Queue {
    entries: VecDeque<Entry>,
    has_worker: bool,
    /// The worker sleeps until `filled`.
    asleep: bool,
}

/// A stream of a device.
pub struct Stream {
    device: u32,
    blocking: bool,
    priority: i32,
    queue: Mutex<Queue>,
    filled: Condvar,
    ended: Condvar,
    submitted: AtomicU64,
    done: AtomicU64,
    closed: AtomicBool,
    waiters: AtomicUsize,
    /// Entries that have been taken out. Changes under the lock, as the two above do where entries are taken.
    taken: AtomicU64,
    /// Entries in a row that threads took which waited for the stream.
    taken_by_waiters: AtomicU32,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (done, submitted) = (self.done.load(Ordering::Relaxed), self.submitted.load(Ordering::Relaxed));
        write!(f, "Stream(device {}, {done} of {submitted} operations done)", self.device)
    }
}

/// After so many entries in a row that others took, a worker doesn't spin for the next.
const OFTEN: u32 = 4;

/// Flag of a stream that has nothing to do with the default stream.
pub const NON_BLOCKING: u32 = 1;
/// Lowest and highest priority that streams can ask for.
pub const PRIORITIES: (i32, i32) = (0, -5);

#[derive(Default)]
struct Registry {
    streams: HashMap<usize, Arc<Stream>>,
    /// Destroyed with work in them, which others still wait for.
    closing: Vec<Arc<Stream>>,
    defaults: HashMap<u32, Arc<Stream>>,
}

static REGISTRY: RwLock<Option<Registry>> = RwLock::new(None);
/// Handles are never reused, so that one of a destroyed stream is found out.
static NEXT: AtomicUsize = AtomicUsize::new(16);

/// A thread's own default stream, gone with the thread.
struct Own(usize, Arc<Stream>);

impl Drop for Own {
    fn drop(&mut self) {
        // It may have been destroyed by its handle already.
        let _ = destroy(self.0);
    }
}

thread_local! {
    static OWN: RefCell<HashMap<u32, Own>> = RefCell::new(HashMap::new());
}

fn registry<R>(act: impl FnOnce(&mut Registry) -> R) -> R {
    let mut registry = REGISTRY.write().unwrap_or_else(|e| e.into_inner());
    act(registry.get_or_insert_default())
}

thread_local! {
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// Runs a host function of a stream. It must not use the streams: one that waited for its own would hang.
pub(crate) fn in_callback(act: impl FnOnce()) {
    let outer = IN_CALLBACK.replace(true);
    act();
    IN_CALLBACK.set(outer);
}

/// An error in a host function that a stream runs.
pub(crate) fn check_caller() -> Result<()> {
    if IN_CALLBACK.get() {
        let why = "a host function in a stream must not make calls of the runtime: do it from another thread, or \
                   after the stream has been synchronised";
        return Err(Failure::new(Code::NotPermitted, why));
    }
    Ok(())
}

/// An error in a child forked from a process that has used streams, as on a real device, and in a host
/// function of a stream.
fn check_process() -> Result<()> {
    check_caller()?;
    if fork::is_child() {
        let why = "this process was forked from one that has used the device; only that one can use it";
        return Err(Failure::new(Code::InitializationError, why));
    }
    Ok(())
}

/// Makes a stream on the calling thread's device.
pub fn create(flags: u32, priority: i32) -> Result<usize> {
    check_process()?;
    if flags & !NON_BLOCKING != 0 {
        return Err(Failure::new(Code::InvalidValue, format!("flags = {flags:#x}: unknown stream flags")));
    }
    let handle = NEXT.fetch_add(1, Ordering::Relaxed) << 4;
    let priority = priority.clamp(PRIORITIES.1, PRIORITIES.0);
    let stream = Stream::new(device::current(), flags & NON_BLOCKING == 0, priority);
    registry(|r| r.streams.insert(handle, stream));
    Ok(handle)
}

/// The stream with this handle; 0 and 1 are the default stream of the calling thread's device.
pub fn find(handle: usize) -> Result<Arc<Stream>> {
    check_process()?;
    device::alive(device::current())?;
    match handle {
        0 | 1 => Ok(default_of(device::current())),
        2 => Ok(OWN.with_borrow_mut(|own| {
            let device = device::current();
            let make = || {
                let stream = Stream::new(device, true, 0);
                let handle = NEXT.fetch_add(1, Ordering::Relaxed) << 4;
                registry(|r| r.streams.insert(handle, Arc::clone(&stream)));
                Own(handle, stream)
            };
            Arc::clone(&own.entry(device).or_insert_with(make).1)
        })),
        _ => {
            let registry = REGISTRY.read().unwrap_or_else(|e| e.into_inner());
            registry.as_ref().and_then(|r| r.streams.get(&handle)).cloned().ok_or_else(|| bad_handle(handle))
        }
    }
}

/// The stream with this handle, which must be one of the calling thread's device: kernels can't be launched
/// into others.
pub fn find_here(handle: usize) -> Result<Arc<Stream>> {
    let stream = find(handle)?;
    let here = device::current();
    if stream.device != here {
        let on = stream.device;
        let why = format!(
            "stream = {handle:#x}: a stream of device {on}, but the calling thread's device is {here}"
        );
        return Err(Failure::new(Code::InvalidHandle, why));
    }
    Ok(stream)
}

/// The default stream of a device.
pub fn default_of(device: u32) -> Arc<Stream> {
    {
        let registry = REGISTRY.read().unwrap_or_else(|e| e.into_inner());
        if let Some(stream) = registry.as_ref().and_then(|r| r.defaults.get(&device)) {
            return Arc::clone(stream);
        }
    }
    registry(|r| Arc::clone(r.defaults.entry(device).or_insert_with(|| Stream::new(device, true, 0))))
}

/// Forgets the handle. What is in the stream still runs, and whoever waits for the device waits for it.
pub fn destroy(handle: usize) -> Result<()> {
    if handle <= 2 {
        return Err(Failure::new(Code::InvalidHandle, "the default stream can't be destroyed"));
    }
    let known = {
        let registry = REGISTRY.read().unwrap_or_else(|e| e.into_inner());
        registry.as_ref().and_then(|r| r.streams.get(&handle)).cloned()
    };
    if let Some(stream) = known {
        capture::refuse(&stream, "destroying it")?;
    }
    let remove = |r: &mut Registry| {
        let stream = r.streams.remove(&handle)?;
        r.closing.retain(|old| old.query().is_err());
        r.closing.push(Arc::clone(&stream));
        Some(stream)
    };
    registry(remove).ok_or_else(|| bad_handle(handle))?.close();
    Ok(())
}

/// Waits until all streams of a device have run what is in them now.
pub fn synchronize_device(device: u32) -> Result<()> {
    check_process()?;
    for stream in all_of(device) {
        stream.synchronize();
    }
    Ok(())
}

fn all_of(device: u32) -> Vec<Arc<Stream>> {
    let registry = REGISTRY.read().unwrap_or_else(|e| e.into_inner());
    let Some(registry) = registry.as_ref() else { return Vec::new() };
    let made = registry.streams.values().chain(registry.defaults.values()).chain(&registry.closing);
    made.filter(|stream| stream.device == device).cloned().collect()
}

fn bad_handle(handle: usize) -> Failure {
    Failure::new(Code::InvalidHandle, format!("stream = {handle:#x}: not a stream, or destroyed"))
}

impl Stream {
    fn new(device: u32, blocking: bool, priority: i32) -> Arc<Stream> {
        Arc::new(Stream {
            device,
            blocking,
            priority,
            queue: Mutex::default(),
            filled: Condvar::new(),
            ended: Condvar::new(),
            submitted: AtomicU64::new(0),
            done: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            waiters: AtomicUsize::new(0),
            taken: AtomicU64::new(0),
            taken_by_waiters: AtomicU32::new(0),
        })
    }

    /// The stream's device.
    pub fn device(&self) -> u32 {
        self.device
    }

    /// The priority it was made with, from 0 down to -5: blocks of the lower number begin first.
    pub fn priority(&self) -> i32 {
        self.priority
    }

    /// The flags it was made with.
    pub fn flags(&self) -> u32 {
        if self.blocking { 0 } else { NON_BLOCKING }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// True for the legacy default stream of its device.
    pub fn is_legacy(self: &Arc<Self>) -> bool {
        self.blocking && Arc::ptr_eq(self, &default_of(self.device))
    }

    /// What an operation that is put in now has to wait for in other streams.
    fn others_before(self: &Arc<Self>) -> Vec<Before> {
        if !self.blocking {
            return Vec::new();
        }
        let busy = |stream: Arc<Stream>| {
            let upto = stream.submitted.load(Ordering::Acquire);
            (stream.done.load(Ordering::Acquire) < upto).then(|| Before::Stream(stream, upto))
        };
        if self.is_legacy() {
            let others = all_of(self.device).into_iter();
            return others.filter(|s| s.blocking && !Arc::ptr_eq(s, self)).filter_map(busy).collect();
        }
        let registry = REGISTRY.read().unwrap_or_else(|e| e.into_inner());
        let default = registry.as_ref().and_then(|r| r.defaults.get(&self.device)).cloned();
        default.and_then(busy).into_iter().collect()
    }

    /// Puts an operation in that can't become a node of a graph.
    pub fn submit(self: &Arc<Self>, work: impl FnOnce() + Send + 'static) -> Result<()> {
        capture::refuse(self, "this operation")?;
        self.submit_behind(None, work)
    }

    /// Puts an operation in, or makes a node of it where the stream is being captured.
    pub fn add(self: &Arc<Self>, work: Work) -> Result<()> {
        if capture::is_capturing(self) {
            return capture::add(self, || Ok(work)).map(drop);
        }
        self.submit(move || work.run(None))
    }

    /// Puts an operation in that also waits for a recording. Captures are the caller's concern.
    pub(crate) fn submit_behind(
        self: &Arc<Self>,
        mark: Option<Arc<Mark>>,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<()> {
        let mut before = self.others_before();
        before.extend(mark.map(Before::Mark));
        self.put(Entry { before, work: Box::new(work) })
    }

    /// Has everything that is put in later wait for a recording.
    pub fn wait_for_mark(self: &Arc<Self>, mark: Arc<Mark>) -> Result<()> {
        capture::check_legacy(self)?;
        let mut before = self.others_before();
        before.push(Before::Mark(mark));
        self.put(Entry { before, work: Box::new(|| ()) })
    }

    fn put(self: &Arc<Self>, entry: Entry) -> Result<()> {
        let mut queue = self.lock();
        if !queue.has_worker {
            fork::watch();
            let stream = Arc::clone(self);
            let worker =
                std::thread::Builder::new().name("dushmem stream".into()).spawn(move || stream.work());
            worker.map_err(|e| {
                Failure::new(Code::LaunchOutOfResources, format!("no thread for a stream: {e}"))
            })?;
            queue.has_worker = true;
        }
        queue.entries.push_back(entry);
        self.submitted.fetch_add(1, Ordering::AcqRel);
        let asleep = queue.asleep;
        drop(queue);
        if asleep {
            self.filled.notify_one();
        }
        Ok(())
    }

    /// Runs an operation in stream order and waits for it: at once on the calling thread where the
    /// stream has nothing to do.
    pub fn run(self: &Arc<Self>, work: impl FnOnce() + Send + 'static) -> Result<()> {
        capture::refuse(self, "waiting for it")?;
        if self.query().is_ok() && self.others_before().is_empty() {
            work();
            return Ok(());
        }
        self.submit(work)?;
        self.synchronize();
        device::alive(self.device)
    }

    fn close(&self) {
        // Under the lock, so that the worker doesn't miss it between its look and its sleep.
        let queue = self.lock();
        self.closed.store(true, Ordering::Release);
        drop(queue);
        self.filled.notify_all();
    }

    fn work(self: Arc<Self>) {
        while let Some(entry) = self.next() {
            self.perform(entry);
        }
    }

    fn perform(&self, entry: Entry) {
        for before in entry.before {
            match before {
                Before::Stream(stream, upto) => stream.wait_done(upto),
                Before::Mark(mark) => drop(mark.wait()),
            }
        }
        (entry.work)();
        let queue = self.lock();
        self.done.fetch_add(1, Ordering::SeqCst);
        let asleep = queue.asleep && self.has_something();
        drop(queue);
        if asleep {
            self.filled.notify_one();
        }
        if self.waiters.load(Ordering::SeqCst) != 0 {
            drop(self.lock());
            self.ended.notify_all();
        }
    }

    /// True if an entry can be taken out, or there will be none any more.
    fn has_something(&self) -> bool {
        let taken = self.taken.load(Ordering::Acquire);
        let (done, submitted) = (self.done.load(Ordering::Acquire), self.submitted.load(Ordering::Acquire));
        taken == done && (submitted > taken || self.closed.load(Ordering::Acquire))
    }

    /// The next entry, if nobody runs one.
    fn take(&self) -> Option<Entry> {
        let mut queue = self.lock();
        if self.taken.load(Ordering::Relaxed) != self.done.load(Ordering::Relaxed) {
            return None;
        }
        let entry = queue.entries.pop_front()?;
        self.taken.fetch_add(1, Ordering::AcqRel);
        Some(entry)
    }

    fn next(&self) -> Option<Entry> {
        loop {
            // Where others run everything, spinning would only keep a CPU from them.
            if self.taken_by_waiters.load(Ordering::Relaxed) < OFTEN {
                wait_for(
                    device::policy(),
                    None,
                    no_record,
                    || self.has_something().then_some(()),
                    |_nap| self.sleep(),
                );
            } else {
                self.sleep();
            }
            if let Some(entry) = self.take() {
                let by_waiters = &self.taken_by_waiters;
                by_waiters.store(by_waiters.load(Ordering::Relaxed) / 2, Ordering::Relaxed);
                return Some(entry);
            }
            let queue = self.lock();
            if self.closed.load(Ordering::Acquire) && queue.entries.is_empty() && self.has_something() {
                return None;
            }
        }
    }

    /// The worker sleeps until there is something to do.
    fn sleep(&self) {
        let mut queue = self.lock();
        while !self.has_something() {
            queue.asleep = true;
            queue = self.filled.wait(queue).unwrap_or_else(|e| e.into_inner());
            queue.asleep = false;
        }
    }

    fn wait_done(&self, upto: u64) {
        wait_for(
            device::policy(),
            None,
            no_record,
            || (self.done.load(Ordering::Acquire) >= upto).then_some(()),
            |_nap| {
                self.waiters.fetch_add(1, Ordering::SeqCst);
                let mut queue = self.lock();
                while self.done.load(Ordering::SeqCst) < upto {
                    queue = self.ended.wait(queue).unwrap_or_else(|e| e.into_inner());
                }
                self.waiters.fetch_sub(1, Ordering::SeqCst);
            },
        );
    }

    /// Waits until everything that is in the stream now has run. In the default stream that includes
    /// what its operations wait for.
    pub fn synchronize(&self) {
        let upto = self.submitted.load(Ordering::Acquire);
        // A GPU thread has a small stack, and must give way to others.
        while self.taken.load(Ordering::Acquire) < upto && !block::inside() {
            let Some(entry) = self.take() else { break };
            let by_waiters = &self.taken_by_waiters;
            by_waiters.store((by_waiters.load(Ordering::Relaxed) + 1).min(2 * OFTEN), Ordering::Relaxed);
            self.perform(entry);
        }
        self.wait_done(upto);
    }

    /// `NotReady` while something is in the stream.
    pub fn query(&self) -> Result<()> {
        if self.done.load(Ordering::Acquire) < self.submitted.load(Ordering::Acquire) {
            return Err(Failure::new(Code::NotReady, ""));
        }
        Ok(())
    }
}

fn no_record() -> WaitRecord {
    WaitRecord::default()
}

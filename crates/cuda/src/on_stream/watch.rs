//! Waits that a stream can't do by itself and that no kernel should spin for: the CPU looks at the words.
//!
//! The stream calls a function that hands the wait to a thread, waits for a word of host memory, and launches a kernel. The
//! thread reads the words from time to time and sets that word when the condition holds; the kernel sets it back. Constants
//! only, so a graph can do it again and again. The thread sleeps while nobody waits.
//!
//! A look is a call of the driver, which keeps it waiting while another thread launches into a stream that is full: for ever,
//! where that is the stream that waits. So a second thread, which calls no driver, sees to it that looks come back, and
//! otherwise tells streams to wait by the kernel.
use super::compare::Shape;
use super::kept::Copied;
use super::queue::{HostFunction, Launch, MemOp, Queue, Until};
use super::records::{Records, What};
use dushmem_core::device::StreamHandle;
use dushmem_core::error::{Error, Result};
use dushmem_core::until::Cmp;
use std::ffi::c_void;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

/// First and longest pause between two looks. A look is a copy of some microseconds.
const NAPS: (Duration, Duration) = (Duration::from_micros(20), Duration::from_micros(500));

/// A look that takes longer is kept waiting by the driver. Where it only was slow, the kernels that wait meanwhile are, too.
const STUCK: Duration = Duration::from_millis(100);

/// What the word of a wait says to the stream: that the condition holds, or that the kernel shall wait for it.
const HOLDS: u32 = 1;
const BY_KERNEL: u32 = 2;

/// What the words are compared with.
#[derive(Clone, Copy, Debug)]
pub enum Values {
    /// All with the value of the shape.
    One,
    /// Each with its own, of an array at this address.
    Each(usize),
}

/// Words, and what they shall be. Addresses are this process's.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the arguments of wait_until_all")]
pub struct Look {
    pub at: usize,
    pub shape: Shape,
    pub cmp: Cmp,
    pub n: usize,
    /// 0, or an array of 32-bit numbers, not 0 where a word is left out.
    pub status: usize,
    pub values: Values,
}

impl Look {
    /// Whether all words are as they shall be.
    fn holds(&self, queue: &dyn Queue) -> Result<bool> {
        let size = self.shape.bytes;
        let read = |at: usize, elem: usize| {
            let mut all = vec![0u8; self.n * elem];
            // SAFETY: who enqueued the wait promises that the arrays are valid while it lasts.
            unsafe { queue.read(at, &mut all) }.map(|()| all)
        };
        let words = read(self.at, size)?;
        let status = if self.status == 0 { Vec::new() } else { read(self.status, 4)? };
        let values = match self.values {
            Values::One => Vec::new(),
            Values::Each(at) => read(at, size)?,
        };
        let number = |all: &[u8], i: usize| {
            let mut bytes = [0; 8];
            bytes[..size].copy_from_slice(&all[i * size..(i + 1) * size]);
            u64::from_le_bytes(bytes)
        };
        let left_out = |i: usize| status.get(i * 4..i * 4 + 4).is_some_and(|s| s != [0; 4]);
        Ok((0..self.n).filter(|&i| !left_out(i)).all(|i| {
            let bits = if values.is_empty() { self.shape.bits } else { number(&values, i) };
            Shape { bits, ..self.shape }.holds(self.cmp, number(&words, i))
        }))
    }
}

/// A word of host memory, by both its addresses.
#[derive(Clone, Copy, Debug)]
struct Done {
    host: *mut u32,
    device: u64,
}

impl Done {
    fn word(&self) -> &AtomicU32 {
        // SAFETY: a word of the queue's, which the entry keeps; only accessed by atomics, and by the device.
        unsafe { AtomicU32::from_ptr(self.host) }
    }
}

// SAFETY: the word is accessed through atomics.
unsafe impl Send for Done {}
// SAFETY: as above.
unsafe impl Sync for Done {}

/// What is known of a wait besides what it waits for.
#[derive(Clone, Copy, Debug)]
#[allow(
    missing_docs,
    reason = "its public name, what the hang report says, and whether it becomes part of a graph"
)]
pub struct Wait {
    pub call: &'static str,
    pub what: What,
    pub captured: bool,
}

/// A wait in a stream, or in a graph.
struct Entry {
    call: &'static str,
    what: What,
    look: Look,
    /// Arrays that the look reads, where they are copies.
    _copied: [Option<Copied>; 2],
    done: Done,
    /// Its only launch is over: the word may be used again once the stream has set it back.
    over: AtomicBool,
    /// Weak, since a graph may outlive the device.
    shared: Weak<Shared>,
}

/// Is told the public name of a wait, and what failed.
pub type Report = Box<dyn Fn(&'static str, &Error) + Send + Sync>;

struct Shared {
    queue: Arc<dyn Queue>,
    report: Report,
    records: Arc<Records>,
    active: Mutex<Active>,
    changed: Condvar,
    /// Since when the driver is asked for words, 0 while it isn't.
    asked: AtomicU64,
    /// There are waits that have to be seen to.
    guarded: Condvar,
}

#[derive(Default)]
struct Active {
    /// Each with a number of its own: a graph may come to one again while a look at it is still under way.
    waits: Vec<(Arc<Entry>, u64)>,
    begun: u64,
    stop: bool,
}

impl Shared {
    fn active(&self) -> MutexGuard<'_, Active> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, entry: Arc<Entry>) {
        self.records.begin(number(&entry), entry.what);
        let mut active = self.active();
        active.begun += 1;
        let begun = active.begun;
        active.waits.push((entry, begun));
        drop(active);
        self.changed.notify_one();
        self.guarded.notify_one();
    }

    /// Tells the streams of these waits to go on.
    fn say(&self, waits: &[(Arc<Entry>, u64)], what: u32) {
        for (entry, _) in waits {
            self.records.end(number(entry));
            entry.done.word().store(what, Ordering::Release);
            entry.over.store(true, Ordering::Release);
        }
    }

    /// Waits until there are waits; `None` when all ends.
    fn some(&self, changed: &Condvar) -> Option<MutexGuard<'_, Active>> {
        let idle = |active: &mut Active| active.waits.is_empty() && !active.stop;
        let active = changed.wait_while(self.active(), idle).unwrap_or_else(PoisonError::into_inner);
        (!active.stop).then_some(active)
    }

    /// What the thread does.
    fn look(&self) {
        let mut nap = NAPS.0;
        let mut known = 0;
        while let Some(active) = self.some(&self.changed) {
            let waits = active.waits.clone();
            drop(active);
            let before = waits.len();
            let mut over = Vec::new();
            for (entry, begun) in waits {
                self.asked.store(dushmem_os::clock::monotonic_ns(), Ordering::Release);
                match entry.look.holds(&*self.queue) {
                    Ok(false) => {}
                    Ok(true) => over.push(begun),
                    Err(error) => {
                        (self.report)(entry.call, &error);
                        return;
                    }
                }
            }
            self.asked.store(0, Ordering::Release);
            let mut active = self.active();
            // Without those that the kernel waits for by now.
            let found: Vec<_> = active.waits.extract_if(.., |wait| over.contains(&wait.1)).collect();
            self.say(&found, HOLDS);
            // What is new is looked at often.
            nap = if !over.is_empty() || before > known { NAPS.0 } else { (nap * 3 / 2).min(NAPS.1) };
            known = active.waits.len();
            if over.is_empty() && !active.stop {
                drop(self.changed.wait_timeout(active, nap));
            }
        }
    }

    /// What the second thread does.
    fn guard(&self) {
        while let Some(mut active) = self.some(&self.guarded) {
            let asked = self.asked.load(Ordering::Acquire);
            let time = Duration::from_nanos(match asked {
                0 => 0,
                asked => dushmem_os::clock::monotonic_ns().saturating_sub(asked),
            });
            if time >= STUCK {
                let waits = std::mem::take(&mut active.waits);
                self.say(&waits, BY_KERNEL);
            } else {
                drop(self.guarded.wait_timeout(active, STUCK - time));
            }
        }
    }
}

/// Differs from that of every other wait that there is.
fn number(entry: &Arc<Entry>) -> usize {
    Arc::as_ptr(entry).addr()
}

/// Called by the driver: the stream has come to a wait that it meets once.
///
/// # Safety
/// `data` is an `Arc<Entry>` that nobody else owns.
unsafe extern "C" fn begin_once(data: *mut c_void) {
    // SAFETY: as the caller promises.
    let entry = unsafe { Arc::from_raw(data.cast::<Entry>().cast_const()) };
    if let Some(shared) = entry.shared.upgrade() {
        shared.begin(entry);
    }
}

/// Called by the driver: a graph has come to a wait.
///
/// # Safety
/// `data` points into an `Arc<Entry>` that lives for ever.
unsafe extern "C" fn begin_again(data: *mut c_void) {
    // SAFETY: as the caller promises.
    let entry = ManuallyDrop::new(unsafe { Arc::from_raw(data.cast::<Entry>().cast_const()) });
    if let Some(shared) = entry.shared.upgrade() {
        shared.begin(Arc::clone(&entry));
    }
}

/// The thread, and the waits that it knows of.
pub struct Watch {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Waits that were enqueued outside of captures: their words are used again.
    once: Mutex<Vec<Arc<Entry>>>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

impl Watch {
    /// The threads are started with the first wait. `report` ends the job; the records learn of all waits.
    pub fn new(queue: Arc<dyn Queue>, report: Report, records: Arc<Records>) -> Watch {
        let (changed, guarded) = (Condvar::new(), Condvar::new());
        let (active, asked) = (Mutex::default(), AtomicU64::new(0));
        let shared = Shared { queue, report, records, active, changed, asked, guarded };
        Watch { shared: Arc::new(shared), threads: Mutex::default(), once: Mutex::default() }
    }

    /// Has the stream wait. `kernel` makes the launch of one that waits for the same, given the device's address of the word
    /// that says whether it has to.
    ///
    /// # Safety
    /// The arrays are valid while the stream waits, in a graph: whenever it is launched; and so is what the kernel uses.
    pub unsafe fn enqueue(
        &self,
        stream: StreamHandle,
        wait: Wait,
        look: Look,
        copied: [Option<Copied>; 2],
        kernel: &dyn Fn(u64) -> Launch,
    ) -> Result<()> {
        self.start()?;
        let (done, Wait { call, what, captured }) = (self.word()?, wait);
        let shared = Arc::downgrade(&self.shared);
        let entry =
            Arc::new(Entry { call, what, look, _copied: copied, done, over: AtomicBool::new(false), shared });
        let queue = &*self.shared.queue;
        // The driver's own count: one that is consumed by the only call, or one for ever.
        let data = Arc::into_raw(Arc::clone(&entry)).cast_mut().cast::<c_void>();
        let begin: HostFunction = if captured { begin_again } else { begin_once };
        // SAFETY: the function takes this entry, which lives as long as it may be called.
        let called = unsafe { queue.call(stream, begin, data) };
        if let Err(error) = called {
            // SAFETY: the count made above, which nobody has taken.
            drop(unsafe { Arc::from_raw(data.cast::<Entry>().cast_const()) });
            return Err(error);
        }
        let said = MemOp::Wait32 { at: done.device, value: HOLDS, until: Until::Geq };
        // SAFETY: the word lives as long as the queue; as the caller promises.
        unsafe {
            queue.memory_ops(stream, captured, &[said])?;
            queue.launch(stream, kernel(done.device))?;
        }
        if !captured {
            self.once().push(entry);
        }
        Ok(())
    }

    fn once(&self) -> MutexGuard<'_, Vec<Arc<Entry>>> {
        self.once.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A word that is 0 and that no stream uses.
    fn word(&self) -> Result<Done> {
        let mut once = self.once();
        let free = |entry: &Arc<Entry>| {
            entry.over.load(Ordering::Acquire) && entry.done.word().load(Ordering::Acquire) == 0
        };
        if let Some(at) = once.iter().position(free) {
            return Ok(once.swap_remove(at).done);
        }
        drop(once);
        let (host, device) = self.shared.queue.host_word()?;
        Ok(Done { host, device })
    }

    fn start(&self) -> Result<()> {
        let mut threads = self.threads();
        while threads.len() < 2 {
            let shared = Arc::clone(&self.shared);
            let (name, body): (_, fn(&Shared)) = match threads.len() {
                0 => ("dushmem-watch", Shared::look),
                _ => ("dushmem-watch-2", Shared::guard),
            };
            let started = std::thread::Builder::new().name(name.into()).spawn(move || body(&shared));
            threads.push(started.map_err(|error| Error::System {
                what: "starting a thread that waits for streams".into(),
                why: error.to_string(),
            })?);
        }
        Ok(())
    }

    fn threads(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.active().stop = true;
        self.shared.changed.notify_one();
        self.shared.guarded.notify_one();
        let threads = std::mem::take(&mut *self.threads());
        for thread in threads {
            // It may end only after a panic otherwise, of which it has told.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
#[path = "tests/watch.rs"]
mod tests;

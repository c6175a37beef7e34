//! Points in a stream, with the time at which the stream reached them.
use crate::device;
use crate::error::{Code, Failure, Result};
use crate::graph::capture;
use crate::graph::work::Work;
use crate::stream::Stream;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, RwLock};
use std::time::Duration;

/// One recording: reached once, waited for by many.
#[derive(Debug, Default)]
pub struct Mark {
    reached: Mutex<Option<u64>>,
    changed: Condvar,
}

impl Mark {
    /// The stream is here now.
    pub fn reach(&self) {
        *self.lock() = Some(dushmem_os::clock::monotonic_ns());
        self.changed.notify_all();
    }

    /// When the stream was here, in nanoseconds.
    pub fn time(&self) -> Option<u64> {
        *self.lock()
    }

    /// Waits until the stream is here.
    pub fn wait(&self) -> u64 {
        let mut reached = self.lock();
        loop {
            if let Some(time) = *reached {
                return time;
            }
            reached = self.changed.wait(reached).unwrap_or_else(|e| e.into_inner());
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<u64>> {
        self.reached.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// What a recording in a capture stands for.
#[derive(Clone, Debug)]
pub struct Captured {
    /// Number of the capture.
    pub capture: u64,
    /// The nodes behind which it stands.
    pub tips: Vec<usize>,
}

/// An event's newest recording.
#[derive(Clone, Debug)]
pub enum Newest {
    /// Never recorded, which counts as reached.
    Never,
    /// In a stream.
    Mark(Arc<Mark>),
    /// In a stream that was being captured.
    Captured(Captured),
}

/// An event: its newest recording, and whether it keeps time.
#[derive(Debug)]
pub struct Event {
    handle: usize,
    device: u32,
    timing: bool,
    newest: Mutex<Newest>,
}

/// Flag of an event without time.
pub const DISABLE_TIMING: u32 = 2;
/// Flag of an event that other processes could open.
const INTERPROCESS: u32 = 4;
const KNOWN_FLAGS: u32 = 7;
/// Flag of a recording or a wait that becomes a node of its own when it is captured.
const EXTERNAL: u32 = 1;

static EVENTS: RwLock<Option<HashMap<usize, Arc<Event>>>> = RwLock::new(None);
static NEXT: AtomicUsize = AtomicUsize::new(1);

/// Makes an event of the calling thread's device; the handle is never used again for another one.
pub fn create(flags: u32) -> Result<usize> {
    if flags & !KNOWN_FLAGS != 0 {
        return Err(Failure::new(Code::InvalidValue, format!("flags = {flags:#x}: unknown event flags")));
    }
    if flags & INTERPROCESS != 0 {
        return Err(if flags & DISABLE_TIMING == 0 {
            Failure::new(Code::InvalidValue, "flags: an event for several processes must disable timing")
        } else {
            let why = "flags: events of the emulated devices can't be shared with other processes";
            Failure::new(Code::NotSupported, why)
        });
    }
    let handle = NEXT.fetch_add(1, Ordering::Relaxed) << 4;
    let timing = flags & DISABLE_TIMING == 0;
    let event = Event { handle, device: device::current(), timing, newest: Mutex::new(Newest::Never) };
    let mut events = EVENTS.write().unwrap_or_else(|e| e.into_inner());
    events.get_or_insert_default().insert(handle, Arc::new(event));
    Ok(handle)
}

fn check_flags(flags: u32) -> Result<bool> {
    if flags & !EXTERNAL != 0 {
        let why = format!("flags = {flags:#x}: 0, or 1 (external)");
        return Err(Failure::new(Code::InvalidValue, why));
    }
    Ok(flags & EXTERNAL != 0)
}

/// Has what is put into the stream later wait for the event.
pub fn wait_in_stream(event: &Arc<Event>, stream: &Arc<Stream>, flags: u32) -> Result<()> {
    if check_flags(flags)? && capture::is_capturing(stream) {
        return capture::add(stream, || Ok(Work::Wait(Arc::clone(event)))).map(drop);
    }
    if capture::wait(stream, event)? {
        return Ok(());
    }
    match event.newest() {
        Some(mark) => stream.wait_for_mark(mark),
        None => Ok(()),
    }
}

/// The event with this handle.
pub fn find(handle: usize) -> Result<Arc<Event>> {
    let events = EVENTS.read().unwrap_or_else(|e| e.into_inner());
    events.as_ref().and_then(|events| events.get(&handle)).cloned().ok_or_else(|| bad_handle(handle))
}

/// Forgets the event; who waits for it goes on waiting for its newest recording.
pub fn destroy(handle: usize) -> Result<()> {
    let mut events = EVENTS.write().unwrap_or_else(|e| e.into_inner());
    events.as_mut().and_then(|events| events.remove(&handle)).map(drop).ok_or_else(|| bad_handle(handle))
}

fn bad_handle(handle: usize) -> Failure {
    Failure::new(Code::InvalidHandle, format!("event = {handle:#x}: not an event, or destroyed"))
}

impl Event {
    fn lock(&self) -> std::sync::MutexGuard<'_, Newest> {
        self.newest.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The number that programs know it by.
    pub fn handle(&self) -> usize {
        self.handle
    }

    /// Places the event after all that is in the stream now.
    pub fn record(self: &Arc<Self>, stream: &Arc<Stream>, flags: u32) -> Result<()> {
        let external = check_flags(flags)?;
        if self.device != stream.device() {
            let (of, on) = (self.device, stream.device());
            let why = format!("event: made on device {of}, but the stream is one of device {on}");
            return Err(Failure::new(Code::InvalidHandle, why));
        }
        if external && capture::is_capturing(stream) {
            return capture::add(stream, || Ok(Work::Record(Arc::clone(self)))).map(drop);
        }
        if capture::record(stream, self)? {
            return Ok(());
        }
        let mark = Arc::new(Mark::default());
        let reached = Arc::clone(&mark);
        // In this order, so that a recording that is refused leaves the event as it is.
        stream.submit(move || reached.reach())?;
        self.renew(mark);
        Ok(())
    }

    /// Makes this the newest recording.
    pub fn renew(&self, mark: Arc<Mark>) {
        *self.lock() = Newest::Mark(mark);
    }

    /// Makes a recording in a capture the newest one.
    pub fn capture(&self, captured: Captured) {
        *self.lock() = Newest::Captured(captured);
    }

    /// The newest recording.
    pub fn newest_of_any_kind(&self) -> Newest {
        self.lock().clone()
    }

    /// The newest recording in a stream. None: never recorded, which counts as reached, or in a capture.
    pub fn newest(&self) -> Option<Arc<Mark>> {
        match &*self.lock() {
            Newest::Mark(mark) => Some(Arc::clone(mark)),
            _ => None,
        }
    }

    /// `NotReady` until the newest recording has been reached.
    pub fn query(&self) -> Result<()> {
        capture::check_event(self)?;
        match self.newest() {
            Some(mark) if mark.time().is_none() => Err(Failure::new(Code::NotReady, "")),
            _ => Ok(()),
        }
    }

    /// Waits for the newest recording.
    pub fn synchronize(&self) -> Result<()> {
        capture::check_event(self)?;
        crate::stream::check_caller()?;
        if let Some(mark) = self.newest() {
            mark.wait();
        }
        Ok(())
    }

    /// Milliseconds from `start` to this event.
    pub fn elapsed_since(&self, start: &Event) -> Result<f32> {
        capture::check_event(start)?;
        capture::check_event(self)?;
        if self.device != start.device {
            let (from, to) = (start.device, self.device);
            let detail = format!("start: an event of device {from}, but end is one of device {to}");
            return Err(Failure::new(Code::InvalidHandle, detail));
        }
        if !self.timing || !start.timing {
            let detail = "an event that was made without timing has no time";
            return Err(Failure::new(Code::InvalidHandle, detail));
        }
        let time = |event: &Event| {
            let mark = event.newest().ok_or_else(|| {
                Failure::new(
                    Code::InvalidHandle,
                    "the event has not been recorded: record it in a stream first",
                )
            })?;
            mark.time().ok_or_else(|| Failure::new(Code::NotReady, ""))
        };
        let (start, end) = (time(start)?, time(self)?);
        let sign = if end < start { -1.0 } else { 1.0 };
        Ok(sign * Duration::from_nanos(end.abs_diff(start)).as_secs_f32() * 1e3)
    }
}

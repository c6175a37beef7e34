//! Points in a stream, with the time at which the stream reached them.
use crate::error::{Code, Failure, Result};
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

/// An event: its newest recording, and whether it keeps time.
#[derive(Debug)]
pub struct Event {
    timing: bool,
    newest: Mutex<Option<Arc<Mark>>>,
}

/// Flag of an event without time.
pub const DISABLE_TIMING: u32 = 2;
const KNOWN_FLAGS: u32 = 7;

static EVENTS: RwLock<Option<HashMap<usize, Arc<Event>>>> = RwLock::new(None);
static NEXT: AtomicUsize = AtomicUsize::new(1);

/// Makes an event; the handle is never used again for another one.
pub fn create(flags: u32) -> Result<usize> {
    if flags & !KNOWN_FLAGS != 0 {
        return Err(Failure::new(Code::InvalidValue, format!("flags = {flags:#x}: unknown event flags")));
    }
    let handle = NEXT.fetch_add(1, Ordering::Relaxed) << 4;
    let event = Event { timing: flags & DISABLE_TIMING == 0, newest: Mutex::new(None) };
    let mut events = EVENTS.write().unwrap_or_else(|e| e.into_inner());
    events.get_or_insert_default().insert(handle, Arc::new(event));
    Ok(handle)
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
    /// Places the event after all that is in the stream now.
    pub fn record(&self, stream: &Arc<Stream>) -> Result<()> {
        let mark = Arc::new(Mark::default());
        *self.newest.lock().unwrap_or_else(|e| e.into_inner()) = Some(Arc::clone(&mark));
        stream.submit(move || mark.reach())
    }

    /// The newest recording. None: never recorded, which counts as reached.
    pub fn newest(&self) -> Option<Arc<Mark>> {
        self.newest.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }

    /// `NotReady` until the newest recording has been reached.
    pub fn query(&self) -> Result<()> {
        match self.newest() {
            Some(mark) if mark.time().is_none() => Err(Failure::new(Code::NotReady, "")),
            _ => Ok(()),
        }
    }

    /// Waits for the newest recording.
    pub fn synchronize(&self) {
        if let Some(mark) = self.newest() {
            mark.wait();
        }
    }

    /// Milliseconds from `start` to this event.
    pub fn elapsed_since(&self, start: &Event) -> Result<f32> {
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

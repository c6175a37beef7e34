//! Devices and their contexts.
use crate::code::{self, Code, Out};
use crate::connection::Connections;
use crate::handles::{self, Table};
use crate::knobs::KNOBS;
use crate::stream::{Stream, Streams};
use crate::{memory, module, peers, pinned};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock};

/// A device as this process sees it.
pub struct Device {
    /// Its number on the machine, which `CUDA_VISIBLE_DEVICES` may have made another for the process.
    pub physical: usize,
    pub used: AtomicUsize,
    primary: Mutex<(usize, Option<Arc<Context>>)>,
}

pub static DEVICES: LazyLock<Vec<Device>> = LazyLock::new(|| {
    let device = |physical| Device { physical, used: AtomicUsize::new(0), primary: Mutex::new((0, None)) };
    visible(std::env::var("CUDA_VISIBLE_DEVICES").ok().as_deref(), KNOBS.devices)
        .into_iter()
        .map(device)
        .collect()
});

/// Names a device on all machines that the stand-in makes.
pub fn uuid(physical: usize) -> [u8; 16] {
    let mut uuid = *b"\x5dcuda-standin\0\0\0";
    uuid[14..].copy_from_slice(&(physical as u16).to_be_bytes());
    uuid
}

/// A UUID as `CUDA_VISIBLE_DEVICES` spells it.
fn spelled(uuid: [u8; 16]) -> String {
    let hex: Vec<String> = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    let part = |range: std::ops::Range<usize>| hex[range].concat();
    format!("GPU-{}-{}-{}-{}-{}", part(0..4), part(4..6), part(6..8), part(8..10), part(10..16))
}

/// The devices that are visible, in their order: the list ends at the first entry that names none.
fn visible(list: Option<&str>, devices: usize) -> Vec<usize> {
    let Some(list) = list else { return (0..devices).collect() };
    let mut found = Vec::new();
    for entry in list.split(',').map(str::trim) {
        let device = match entry.parse::<usize>() {
            Ok(number) => Some(number).filter(|number| *number < devices),
            Err(_) if entry.len() > 4 => {
                let mut all = (0..devices).filter(|device| spelled(uuid(*device)).starts_with(entry));
                all.next().filter(|_| all.next().is_none())
            }
            Err(_) => None,
        };
        match device {
            Some(device) if found.contains(&device) => return Vec::new(),
            Some(device) => found.push(device),
            None => break,
        }
    }
    found
}

pub fn device(number: i32) -> Out<&'static Device> {
    usize::try_from(number).ok().and_then(|number| DEVICES.get(number)).ok_or(code::INVALID_DEVICE)
}

/// A context of a device.
pub struct Context {
    pub handle: usize,
    pub device: i32,
    /// The error that ended it; all later calls give it.
    failed: AtomicU32,
    gone: AtomicBool,
    pub streams: Streams,
    pub connections: Connections,
    legacy: OnceLock<Arc<Stream>>,
    /// Held by who waits for a stream to take more.
    crowded: Mutex<()>,
}

pub static CONTEXTS: Table<Context> = Table::new();

thread_local! {
    static STACK: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

impl Context {
    fn new(device: i32) -> Arc<Context> {
        let context = Arc::new(Context {
            handle: handles::fresh(),
            device,
            failed: AtomicU32::new(0),
            gone: AtomicBool::new(false),
            streams: Streams::default(),
            connections: Connections::new(),
            legacy: OnceLock::new(),
            crowded: Mutex::new(()),
        });
        CONTEXTS.insert(context.handle, context.clone());
        context
    }

    /// Its error, if it has ended.
    pub fn check(&self) -> Out {
        match self.failed.load(Ordering::Acquire) {
            0 if self.gone.load(Ordering::Acquire) => Err(code::CONTEXT_IS_DESTROYED),
            0 => Ok(()),
            code => Err(code),
        }
    }

    /// Ends the context; the first error stays.
    pub fn fail(&self, code: Code) {
        let _ = self.failed.compare_exchange(0, code, Ordering::AcqRel, Ordering::Acquire);
    }

    /// One thread at a time waits for room, and no other is in a call meanwhile.
    pub fn crowd(&self) -> MutexGuard<'_, ()> {
        self.crowded.lock().expect("no panic")
    }

    /// The stream that is meant by a null handle.
    pub fn legacy(self: &Arc<Context>) -> &Arc<Stream> {
        self.legacy.get_or_init(|| Stream::new(self, 0, 0, true))
    }

    fn destroy(&self) {
        self.gone.store(true, Ordering::Release);
        self.streams.close_all();
        module::forget(self.handle);
        pinned::forget(self.handle);
        peers::forget(self.handle);
        memory::write(|spaces| spaces.retain(|space| space.kind != memory::Kind::Allocated(self.handle)));
        let _ = CONTEXTS.remove(self.handle, 0);
    }
}

/// The handle on top of the thread's stack, 0 where there is none.
pub fn top() -> usize {
    STACK.with_borrow(|stack| stack.last().copied().unwrap_or(0))
}

/// The thread's context, if it can be used.
pub fn current() -> Out<Arc<Context>> {
    let context = match top() {
        0 => return Err(code::INVALID_CONTEXT),
        handle => CONTEXTS.get(handle, code::CONTEXT_IS_DESTROYED)?,
    };
    if KNOBS.room > 0 {
        drop(context.crowd());
    }
    context.check()?;
    Ok(context)
}

pub fn push(handle: usize) -> Out {
    CONTEXTS.get(handle, code::INVALID_CONTEXT)?;
    STACK.with_borrow_mut(|stack| stack.push(handle));
    Ok(())
}

pub fn pop() -> Out<usize> {
    STACK.with_borrow_mut(|stack| stack.pop()).ok_or(code::INVALID_CONTEXT)
}

/// Makes a context the top of the stack, in the place of what is there; 0 takes that away.
pub fn replace(handle: usize) -> Out {
    if handle != 0 {
        CONTEXTS.get(handle, code::INVALID_CONTEXT)?;
    }
    STACK.with_borrow_mut(|stack| {
        stack.pop();
        if handle != 0 {
            stack.push(handle);
        }
    });
    Ok(())
}

pub fn retain_primary(number: i32) -> Out<usize> {
    let mut primary = device(number)?.primary.lock().expect("no panic");
    let context = primary.1.get_or_insert_with(|| Context::new(number)).clone();
    context.check()?;
    primary.0 += 1;
    Ok(context.handle)
}

pub fn release_primary(number: i32) -> Out {
    let mut primary = device(number)?.primary.lock().expect("no panic");
    primary.0 = primary.0.checked_sub(1).ok_or(code::INVALID_CONTEXT)?;
    if primary.0 == 0
        && let Some(context) = primary.1.take()
    {
        context.destroy();
    }
    Ok(())
}

pub fn primary_is_active(number: i32) -> Out<bool> {
    Ok(device(number)?.primary.lock().expect("no panic").1.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visible_devices_in_any_form() {
        let both = format!("{},{}", &spelled(uuid(2)), &spelled(uuid(0))[..]);
        assert_eq!(visible(None, 3), [0, 1, 2]);
        assert_eq!(visible(Some("2,0"), 3), [2, 0]);
        assert_eq!(visible(Some(&both), 3), [2, 0]);
        assert_eq!(visible(Some("1,7,0"), 3), [1]);
        assert_eq!(visible(Some("-1"), 3), []);
        assert_eq!(visible(Some(""), 3), []);
        assert_eq!(visible(Some("0,0"), 3), []);
        // A prefix must be of one device only.
        assert_eq!(visible(Some("GPU-5d63"), 3), []);
        assert_eq!(visible(Some("GPU-5d63"), 1), [0]);
    }
}

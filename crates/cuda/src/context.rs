//! The context of a device that a PE uses, and making it current for a while.
use crate::driver::Driver;
use crate::error::Driven;
use crate::types::{self, CAPTURE_MODE_RELAXED};
use dushmem_core::error::Result;
use dushmem_os::fault::Owner;
use std::time::{Duration, Instant};

/// How long a service of the driver may take until it is ready, and how often that is looked at.
const PATIENCE: Duration = Duration::from_secs(10);
/// See [`PATIENCE`].
const PAUSE: Duration = Duration::from_millis(50);

/// Makes a call again as long as a service of the driver is not ready: the first processes of a job may come before the
/// server of MPS.
pub(crate) fn patiently(mut call: impl FnMut() -> Driven) -> Driven {
    let until = Instant::now() + PATIENCE;
    loop {
        match call() {
            Err(why) if why.may_pass() && Instant::now() < until => std::thread::sleep(PAUSE),
            other => return other,
        }
    }
}

/// A device's context in this process: the primary one, which the runtime API uses too, or one that the program has
/// made and chosen.
#[derive(Debug)]
pub struct Context {
    driver: &'static Driver,
    device: types::Device,
    handle: types::Context,
    /// The primary one, kept alive.
    retained: bool,
    owner: Owner,
}

impl Context {
    /// The primary context of a device.
    pub fn primary(driver: &'static Driver, device: types::Device) -> Result<Context> {
        let mut handle = types::Context::NULL;
        // SAFETY: a place for a handle.
        let made = patiently(|| unsafe { driver.primary_ctx_retain(&raw mut handle, device) });
        made.map_err(|why| why.doing(format_args!("making the context of GPU {device}")))?;
        Ok(Context { driver, device, handle, retained: true, owner: Owner::this_process() })
    }

    /// The context that is current on this thread, if there is one.
    pub fn current(driver: &'static Driver) -> Result<Option<Context>> {
        let mut handle = types::Context::NULL;
        // SAFETY: a place for a handle.
        unsafe { driver.ctx_get_current(&raw mut handle) }?;
        if handle.is_null() {
            return Ok(None);
        }
        let mut device = 0;
        // SAFETY: a place for a number; a context is current.
        unsafe { driver.ctx_get_device(&raw mut device) }?;
        if is_active(driver, device) {
            // Retaining the primary context keeps it; where the program has chosen another one, that one is used.
            let primary = Context::primary(driver, device)?;
            if primary.handle == handle {
                return Ok(Some(primary));
            }
        }
        Ok(Some(Context { driver, device, handle, retained: false, owner: Owner::this_process() }))
    }

    /// The driver's functions.
    pub fn driver(&self) -> &'static Driver {
        self.driver
    }

    /// The device's number in this process.
    pub fn device(&self) -> types::Device {
        self.device
    }

    /// The driver's handle.
    pub fn handle(&self) -> types::Context {
        self.handle
    }

    /// Makes the context the thread's current one, until the guard is dropped.
    #[inline]
    pub fn enter(&self) -> Driven<Entered<'_>> {
        let mut current = types::Context::NULL;
        // SAFETY: a place for a handle.
        unsafe { self.driver.ctx_get_current(&raw mut current) }?;
        let pushed = current != self.handle;
        if pushed {
            // SAFETY: a context that is alive.
            unsafe { self.driver.ctx_push_current(self.handle) }?;
        }
        Ok(Entered { context: self, pushed })
    }

    /// As [`Context::enter`], for calls that the driver refuses while the program captures a stream, though they
    /// have nothing to do with it.
    pub fn enter_relaxed(&self) -> Driven<Relaxed<'_>> {
        // First what may fail: the mode is the thread's until the guard sets it back.
        let entered = self.enter()?;
        let mut before = CAPTURE_MODE_RELAXED;
        // SAFETY: a place for a number that says the mode, and gets the one before.
        let exchanged = unsafe { self.driver.thread_exchange_stream_capture_mode(&raw mut before) }.is_ok();
        Ok(Relaxed { before: exchanged.then_some(before), entered })
    }

    /// What objects of the context ask before they call the driver when they go away: a forked child has none of them.
    pub(crate) fn is_forked(&self) -> bool {
        self.owner.is_forked_child()
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if self.retained && !self.owner.is_forked_child() {
            // SAFETY: retained once. Fails where the driver has left the process before.
            let _ = unsafe { self.driver.primary_ctx_release(self.device) };
        }
    }
}

/// Whether a device's primary context exists.
pub fn is_active(driver: &Driver, device: types::Device) -> bool {
    let (mut flags, mut active) = (0, 0);
    // SAFETY: places for two numbers.
    unsafe { driver.primary_ctx_get_state(device, &raw mut flags, &raw mut active) }.is_ok() && active != 0
}

/// A context is current.
#[derive(Debug)]
#[must_use]
pub struct Entered<'a> {
    context: &'a Context,
    pushed: bool,
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.pushed {
            let mut popped = types::Context::NULL;
            // SAFETY: a place for the handle that was pushed.
            let _ = unsafe { self.context.driver.ctx_pop_current(&raw mut popped) };
        }
    }
}

/// A context is current, and the thread's calls have nothing to do with captures.
#[derive(Debug)]
#[must_use]
pub struct Relaxed<'a> {
    before: Option<u32>,
    entered: Entered<'a>,
}

impl Drop for Relaxed<'_> {
    fn drop(&mut self) {
        if let Some(mut mode) = self.before {
            // SAFETY: as when it was exchanged.
            let _ = unsafe { self.entered.context.driver.thread_exchange_stream_capture_mode(&raw mut mode) };
        }
    }
}

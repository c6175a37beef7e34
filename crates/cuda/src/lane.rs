//! An own stream: work of the library in order, which waits for no other stream, and knows whether any is under way.
use crate::context::Context;
use crate::error::{Driven, Failure};
use crate::types::{self, EVENT_DISABLE_TIMING, STREAM_NON_BLOCKING, errors};
use crate::waiting::Waiting;
use dushmem_core::error::Call;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A stream of the library.
#[derive(Debug)]
pub struct Lane {
    context: Arc<Context>,
    made: OnceLock<Made>,
    /// Held by who makes the stream.
    making: Mutex<()>,
    begun: AtomicU64,
    done: AtomicU64,
}

#[derive(Debug)]
struct Made {
    stream: types::Stream,
    /// Recorded for streams of the program that have to come after this one.
    event: types::Event,
}

impl Lane {
    /// One whose stream is made by [`Lane::make`], or by the first work for it. That takes the driver long, and waits for no
    /// kernel.
    pub fn new(context: &Arc<Context>) -> Lane {
        let (begun, done) = (AtomicU64::new(0), AtomicU64::new(0));
        let (made, making) = (OnceLock::new(), Mutex::new(()));
        Lane { context: Arc::clone(context), made, making, begun, done }
    }

    /// Makes the stream, of the highest priority: what it does is short, and somebody waits for it.
    pub fn make(&self) -> Driven<types::Stream> {
        if let Some(made) = self.made.get() {
            return Ok(made.stream);
        }
        let _one = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = self.made.get() {
            return Ok(made.stream);
        }
        let driver = self.context.driver();
        let _relaxed = self.context.enter_relaxed()?;
        let (mut least, mut greatest) = (0, 0);
        let (mut stream, mut event) = (types::Stream::NULL, types::Event::NULL);
        // SAFETY: places for two numbers and two handles; the context is current.
        unsafe {
            let _ = driver.ctx_get_stream_priority_range(&raw mut least, &raw mut greatest);
            driver.stream_create_with_priority(&raw mut stream, STREAM_NON_BLOCKING, greatest)?;
            if let Err(why) = driver.event_create(&raw mut event, EVENT_DISABLE_TIMING) {
                let _ = driver.stream_destroy(stream);
                return Err(why);
            }
        }
        let _ = self.made.set(Made { stream, event });
        Ok(stream)
    }

    /// Puts work into the stream.
    #[inline]
    pub fn begin(&self, work: impl FnOnce(types::Stream) -> Driven) -> Driven {
        let stream = self.make()?;
        let entered = self.context.enter()?;
        let done = work(stream);
        drop(entered);
        // Also where it failed: some of it may be under way, and uses the caller's memory.
        self.begun.fetch_add(1, Ordering::Release);
        done
    }

    /// Whether nothing is under way that somebody would have to wait for.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.done.load(Ordering::Acquire) >= self.begun.load(Ordering::Acquire)
    }

    /// Waits for all that was begun; no call of the driver where there is nothing.
    #[inline]
    pub fn finish(&self, waiting: &Waiting) -> Driven {
        let begun = self.begun.load(Ordering::Acquire);
        let Some(Made { stream, .. }) = self.made.get().filter(|_| self.done.load(Ordering::Acquire) < begun)
        else {
            return Ok(());
        };
        let relaxed = self.context.enter_relaxed()?;
        let driver = self.context.driver();
        let ask = || {
            // SAFETY: an own stream.
            match unsafe { driver.stream_query(*stream) } {
                Err(Failure { code: errors::NOT_READY, .. }) => None,
                other => Some(other),
            }
        };
        let sleep = || {
            // SAFETY: as above. What it returns, the query will.
            let _ = unsafe { driver.stream_synchronize(*stream) };
        };
        waiting.until(Call::Quiet, ask, sleep)?;
        drop(relaxed);
        self.done.fetch_max(begun, Ordering::Release);
        Ok(())
    }

    /// Has a stream of the program wait for what was begun here. Not for streams that are being captured.
    pub fn join(&self, stream: types::Stream) -> Driven {
        let Some(made) = self.made.get().filter(|_| !self.is_idle()) else { return Ok(()) };
        let driver = self.context.driver();
        let _entered = self.context.enter()?;
        // SAFETY: an own event and stream, and a stream of the context. An event may be recorded again while streams
        // wait for an earlier record of it.
        unsafe {
            driver.event_record(made.event, made.stream)?;
            driver.stream_wait_event(stream, made.event, 0)
        }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        let Some(made) = self.made.get().filter(|_| !self.context.is_forked()) else { return };
        let Ok(_relaxed) = self.context.enter_relaxed() else { return };
        // SAFETY: both were made by this; destroying a stream doesn't wait for it.
        unsafe {
            let _ = self.context.driver().event_destroy(made.event);
            let _ = self.context.driver().stream_destroy(made.stream);
        }
    }
}

//! Events: points in streams.
use crate::capture::Capture;
use crate::code::{self, Out};
use crate::handles::Table;
use crate::stream::Stream;
use crate::work::Work;
use std::sync::{Arc, Mutex};

/// What was recorded last.
#[derive(Clone)]
pub enum Point {
    Never,
    At(Arc<Stream>, u64),
    Captured(Arc<Capture>, Vec<usize>),
}

pub struct Event {
    pub context: usize,
    pub point: Mutex<Point>,
}

pub static EVENTS: Table<Event> = Table::new();

impl Event {
    pub fn point(&self) -> Point {
        self.point.lock().expect("no panic").clone()
    }

    pub fn record(&self, stream: &Arc<Stream>) -> Out {
        stream.context.check()?;
        if stream.context.handle != self.context {
            return Err(code::INVALID_HANDLE);
        }
        let captured = stream.inner().capture.as_ref().map(|joined| joined.tips());
        let point = match captured {
            Some(found) => {
                let (capture, tips) = found?;
                Point::Captured(capture, tips)
            }
            None => {
                // For the legacy stream this is where it waits for the others.
                let count = stream.submit(Work::Nothing)?.unwrap_or(0);
                Point::At(stream.clone(), count)
            }
        };
        *self.point.lock().expect("no panic") = point;
        Ok(())
    }

    /// Whether all before the point is done.
    pub fn query(&self) -> Out {
        match self.point() {
            Point::Never => Ok(()),
            Point::At(stream, count) => {
                stream.context.check()?;
                if stream.is_done(count) { Ok(()) } else { Err(code::NOT_READY) }
            }
            Point::Captured(..) => Err(code::CAPTURED_EVENT),
        }
    }

    pub fn wait(&self) -> Out {
        match self.point() {
            Point::Never => Ok(()),
            Point::At(stream, count) => stream.wait(count),
            Point::Captured(..) => Err(code::CAPTURED_EVENT),
        }
    }

    /// Has a stream wait for the point.
    pub fn before(&self, stream: &Arc<Stream>) -> Out {
        match self.point() {
            Point::Captured(capture, nodes) => capture.join(stream, &nodes),
            Point::Never => Ok(()),
            Point::At(other, count) => {
                if let Some(joined) = &stream.inner().capture {
                    joined.capture.invalidate();
                    return Err(code::STREAM_CAPTURE_ISOLATION);
                }
                stream.submit(Work::After(other, count)).map(drop)
            }
        }
    }
}

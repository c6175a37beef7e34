//! Events.
use crate::call::set;
use crate::capture::forbid;
use crate::code;
use crate::context::current;
use crate::event::{EVENTS, Event, Point};
use crate::stream::find;
use std::sync::Mutex;

driver! {
    fn cuEventCreate(found: *mut usize, flags: u32) {
        let context = current()?;
        // An event between processes has no times.
        if found.is_null() || flags > 7 || flags & 6 == 4 {
            return Err(code::INVALID_VALUE);
        }
        set(found, EVENTS.add(Event { context: context.handle, point: Mutex::new(Point::Never) }))
    }

    fn cuEventRecord(event: usize, stream: usize) {
        EVENTS.get(event, code::INVALID_HANDLE)?.record(&find(stream)?)
    }

    fn cuEventRecordWithFlags(event: usize, stream: usize, flags: u32) {
        let (event, stream) = (EVENTS.get(event, code::INVALID_HANDLE)?, find(stream)?);
        let capturing = stream.inner().capture.is_some();
        match flags {
            0 => event.record(&stream),
            1 if capturing => Err(code::NOT_SUPPORTED),
            _ => Err(code::INVALID_VALUE),
        }
    }

    fn cuEventQuery(event: usize) {
        forbid()?;
        EVENTS.get(event, code::INVALID_HANDLE)?.query()
    }

    fn cuEventSynchronize(event: usize) {
        forbid()?;
        EVENTS.get(event, code::INVALID_HANDLE)?.wait()
    }

    fn cuEventDestroy_v2(event: usize) {
        EVENTS.remove(event, code::INVALID_HANDLE).map(drop)
    }

    fn cuStreamWaitEvent(stream: usize, event: usize, flags: u32) {
        let (stream, event) = (find(stream)?, EVENTS.get(event, code::INVALID_HANDLE)?);
        match flags {
            0 => event.before(&stream),
            1 if stream.inner().capture.is_some() => Err(code::NOT_SUPPORTED),
            _ => Err(code::INVALID_VALUE),
        }
    }
}

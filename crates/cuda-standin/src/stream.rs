//! Streams: what was submitted is done in order, by a thread of the stream, or by one that waits for it and comes first.
use crate::capture::{self, Joined};
use crate::code::{self, Out};
use crate::connection::Connection;
use crate::context::{self, Context};
use crate::handles::{self, Table};
use crate::knobs::KNOBS;
use crate::work::Work;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};

/// `CU_STREAM_NON_BLOCKING`: takes no notice of the legacy stream.
pub const NON_BLOCKING: u32 = 1;

#[derive(Default)]
pub struct Inner {
    /// Work, and its place in the connection.
    queue: VecDeque<(Work, u64)>,
    submitted: u64,
    done: u64,
    closed: bool,
    worker: bool,
    /// Some thread does the work at the front, which is no longer in the queue.
    running: bool,
    pub capture: Option<Joined>,
    /// Handles of the nodes that cuStreamGetCaptureInfo gave.
    pub shown: Vec<usize>,
}

pub struct Stream {
    pub handle: usize,
    pub context: Arc<Context>,
    pub flags: u32,
    pub priority: i32,
    pub legacy: bool,
    connection: Option<Arc<Connection>>,
    inner: Mutex<Inner>,
    wake: Condvar,
    finished: Condvar,
}

pub static STREAMS: Table<Stream> = Table::new();

/// The streams of a context.
#[derive(Default)]
pub struct Streams(Mutex<Vec<Weak<Stream>>>);

impl Streams {
    pub fn all(&self) -> Vec<Arc<Stream>> {
        let mut all = self.0.lock().expect("no panic");
        all.retain(|stream| stream.strong_count() > 0);
        all.iter().filter_map(Weak::upgrade).collect()
    }

    pub fn close_all(&self) {
        for stream in self.all() {
            let _ = STREAMS.remove(stream.handle, 0);
            stream.close();
        }
    }
}

thread_local! {
    static OWN: RefCell<Vec<Arc<Stream>>> = const { RefCell::new(Vec::new()) };
}

/// The stream of a handle: of the thread's context where it is one of the special ones.
pub fn find(handle: usize) -> Out<Arc<Stream>> {
    let context = context::current()?;
    match handle {
        0 | 1 => Ok(context.legacy().clone()),
        2 => OWN.with_borrow_mut(|own| {
            if let Some(stream) = own.iter().find(|stream| stream.context.handle == context.handle) {
                return Ok(stream.clone());
            }
            own.push(Stream::new(&context, 0, 0, false));
            Ok(own.last().expect("pushed").clone())
        }),
        _ => {
            let stream = STREAMS.get(handle, code::INVALID_HANDLE)?;
            stream.context.check()?;
            Ok(stream)
        }
    }
}

impl Stream {
    pub fn new(context: &Arc<Context>, flags: u32, priority: i32, legacy: bool) -> Arc<Stream> {
        let stream = Arc::new(Stream {
            handle: handles::fresh(),
            context: context.clone(),
            flags,
            priority,
            legacy,
            connection: context.connections.next(),
            inner: Mutex::new(Inner::default()),
            wake: Condvar::new(),
            finished: Condvar::new(),
        });
        context.streams.0.lock().expect("no panic").push(Arc::downgrade(&stream));
        stream
    }

    pub fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no panic")
    }

    fn blocking(&self) -> bool {
        !self.legacy && self.flags & NON_BLOCKING == 0
    }

    /// How much was submitted so far; `None` if all of it is done.
    pub fn pending(&self) -> Option<u64> {
        let inner = self.inner();
        (inner.done < inner.submitted).then_some(inner.submitted)
    }

    /// What has to come before the next work of this stream: the legacy stream and the blocking ones wait for each
    /// other.
    fn implied(&self) -> Out<Vec<Work>> {
        let after = |stream: Arc<Stream>| stream.pending().map(|count| Work::After(stream, count));
        if self.legacy {
            let others: Vec<_> =
                self.context.streams.all().into_iter().filter(|stream| stream.blocking()).collect();
            capture::none_of(&others)?;
            return Ok(others.into_iter().filter_map(after).collect());
        }
        let legacy = self.blocking().then(|| self.context.legacy().clone());
        Ok(legacy.and_then(after).into_iter().collect())
    }

    /// Takes work: at the end of the queue, whose length so far is given, or into the capture.
    pub fn submit(self: &Arc<Stream>, work: Work) -> Out<Option<u64>> {
        self.context.check()?;
        if let Some(joined) = &mut self.inner().capture {
            joined.add(work)?;
            return Ok(None);
        }
        for before in self.implied()? {
            self.enqueue(before);
        }
        Ok(Some(self.enqueue(work)))
    }

    fn enqueue(self: &Arc<Stream>, work: Work) -> u64 {
        let _crowd = (KNOBS.room > 0).then(|| self.context.crowd());
        let mut inner = self.inner();
        while KNOBS.room > 0 && inner.submitted - inner.done >= KNOBS.room && self.context.check().is_ok() {
            inner = self.finished.wait(inner).expect("no panic");
        }
        let place = self.connection.as_ref().map_or(0, |connection| connection.place());
        inner.queue.push_back((work, place));
        inner.submitted += 1;
        if !inner.worker {
            inner.worker = true;
            let own = self.clone();
            let named = std::thread::Builder::new().name("cuda-standin".into());
            named.spawn(move || own.serve()).expect("threads can be made");
        }
        self.wake.notify_one();
        inner.submitted
    }

    /// Takes work, and waits for it.
    pub fn perform(self: &Arc<Stream>, work: Work) -> Out {
        match self.submit(work)? {
            Some(count) => self.wait(count),
            None => Ok(()),
        }
    }

    /// Waits until so much is done.
    pub fn wait(&self, count: u64) -> Out {
        let mut inner = self.inner();
        while inner.done < count {
            inner = match self.take(&mut inner, false) {
                Some(work) => {
                    drop(inner);
                    self.execute(work);
                    self.inner()
                }
                None => self.finished.wait(inner).expect("no panic"),
            };
        }
        drop(inner);
        self.context.check()
    }

    /// Whether so much is done. Does itself what can be done at once.
    pub fn is_done(&self, count: u64) -> bool {
        loop {
            let mut inner = self.inner();
            if inner.done >= count {
                return true;
            }
            let Some(work) = self.take(&mut inner, true) else { return false };
            drop(inner);
            self.execute(work);
        }
    }

    /// The work at the front, for the calling thread to do, if nobody does the one before.
    fn take(&self, inner: &mut Inner, only_quick: bool) -> Option<(Work, u64)> {
        let next = |place| self.connection.as_ref().is_none_or(|connection| connection.is_next(place));
        let wanted = |(work, place): &(Work, u64)| !only_quick || work.is_quick() && next(*place);
        if inner.running || !inner.queue.front().is_some_and(wanted) {
            return None;
        }
        inner.running = true;
        inner.queue.pop_front()
    }

    fn execute(&self, (work, place): (Work, u64)) {
        let run = || {
            // After a failure nothing of the context runs any more, and nobody waits for it.
            if self.context.check().is_ok()
                && let Err(code) = work.run(&self.context)
            {
                self.context.fail(code);
            }
        };
        match &self.connection {
            Some(connection) => connection.run(place, &work, &self.context, run),
            None => run(),
        }
        drop(work);
        let mut inner = self.inner();
        inner.done += 1;
        inner.running = false;
        if !inner.queue.is_empty() || inner.closed {
            self.wake.notify_one();
        }
        self.finished.notify_all();
    }

    /// No more work comes: the thread ends when it has done what there is.
    pub fn close(&self) {
        let joined = {
            let mut inner = self.inner();
            inner.closed = true;
            self.wake.notify_one();
            inner.capture.take()
        };
        if let Some(joined) = joined {
            joined.capture.invalidate();
        }
    }

    fn serve(&self) {
        loop {
            let mut inner = self.inner();
            let work = loop {
                if let Some(work) = self.take(&mut inner, false) {
                    break work;
                }
                if inner.closed && inner.queue.is_empty() {
                    return;
                }
                inner = self.wake.wait(inner).expect("no panic");
            };
            drop(inner);
            self.execute(work);
        }
    }
}

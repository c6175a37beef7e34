//! Capture: operations that are put into a stream become nodes of a graph instead of running.
//!
//! A capture begins in one stream. Another stream joins it by waiting for an event that was recorded in a
//! stream of the capture; what is put into it from then on depends on what the event stood for. For each
//! stream the capture keeps its *tips*: the nodes that the stream's next operation depends on. What can't be
//! captured makes the capture invalid; it ends where it began, as CUDA and HIP have it.
use super::model::Graph;
use super::work::Work;
use crate::error::{Code, Failure, Result};
use crate::event::{Captured, Event, Newest};
use crate::stream::Stream;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::ThreadId;

/// Which calls a capture forbids to whom, by the number that both families give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Mode {
    /// 0: nobody may make calls that could wait for a stream.
    Global = 0,
    /// 1: the capturing thread may not.
    ThreadLocal = 1,
    /// 2: everybody may.
    Relaxed = 2,
}

impl Mode {
    /// From the number.
    pub fn from_number(number: i32) -> Result<Mode> {
        match number {
            0 => Ok(Mode::Global),
            1 => Ok(Mode::ThreadLocal),
            2 => Ok(Mode::Relaxed),
            _ => {
                let why = format!("mode = {number}: 0 (global), 1 (thread-local) or 2 (relaxed)");
                Err(Failure::new(Code::InvalidValue, why))
            }
        }
    }
}

struct Member {
    stream: Arc<Stream>,
    tips: Vec<usize>,
}

struct Session {
    id: u64,
    mode: Mode,
    thread: ThreadId,
    graph: Arc<Graph>,
    /// Why it is invalid.
    invalid: Option<String>,
    /// The streams in it; the first is where it began.
    members: Vec<Member>,
}

/// What a program can ask about a stream's capture.
#[derive(Debug, Default)]
pub struct Info {
    /// 0 none, 1 active, 2 invalidated.
    pub status: i32,
    /// Number of the capture.
    pub id: u64,
    /// The graph that is being made.
    pub graph: usize,
    /// What the stream's next operation will depend on.
    pub tips: Vec<usize>,
}

static SESSIONS: Mutex<Vec<Session>> = Mutex::new(Vec::new());
/// Captures under way: nobody takes the lock while there are none.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);
static NEXT: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static MODE: Cell<Mode> = const { Cell::new(Mode::Global) };
}

fn none() -> bool {
    ACTIVE.load(Ordering::Acquire) == 0
}

fn sessions() -> MutexGuard<'static, Vec<Session>> {
    SESSIONS.lock().unwrap_or_else(|e| e.into_inner())
}

fn of<'a>(sessions: &'a mut [Session], stream: &Arc<Stream>) -> Option<&'a mut Session> {
    sessions.iter_mut().find(|session| session.members.iter().any(|m| Arc::ptr_eq(&m.stream, stream)))
}

impl Session {
    fn invalidate(&mut self, why: &str) {
        self.invalid.get_or_insert_with(|| why.to_owned());
    }

    fn check(&self) -> Result<()> {
        match &self.invalid {
            Some(why) => Err(Failure::new(
                Code::StreamCaptureInvalidated,
                format!("the capture is invalid since {why}"),
            )),
            None => Ok(()),
        }
    }

    fn tips(&mut self, stream: &Arc<Stream>) -> Option<&mut Vec<usize>> {
        self.members.iter_mut().find(|m| Arc::ptr_eq(&m.stream, stream)).map(|m| &mut m.tips)
    }
}

fn merge(tips: &mut Vec<usize>, more: &[usize]) {
    more.iter().for_each(|id| {
        if !tips.contains(id) {
            tips.push(*id);
        }
    });
}

/// True while operations of the stream become nodes.
pub fn is_capturing(stream: &Arc<Stream>) -> bool {
    !none() && of(&mut sessions(), stream).is_some()
}

/// Begins a capture in the stream: into a new graph, or behind nodes of one that the program has.
pub fn begin(stream: &Arc<Stream>, mode: i32, into: Option<(Arc<Graph>, Vec<usize>)>) -> Result<()> {
    let mode = Mode::from_number(mode)?;
    if stream.is_legacy() {
        let why = "the legacy default stream can't be captured: make a stream, or take the per-thread one";
        return Err(Failure::new(Code::StreamCaptureUnsupported, why));
    }
    let (graph, tips) = into.unwrap_or_else(|| (Graph::new(), Vec::new()));
    tips.iter().try_for_each(|id| graph.node(*id).map(drop))?;
    let mut sessions = sessions();
    if of(&mut sessions, stream).is_some() {
        return Err(Failure::new(
            Code::IllegalState,
            "the stream is being captured already: end that capture first",
        ));
    }
    let members = vec![Member { stream: Arc::clone(stream), tips }];
    let (id, thread) = (NEXT.fetch_add(1, Ordering::Relaxed), std::thread::current().id());
    sessions.push(Session { id, mode, thread, graph, invalid: None, members });
    ACTIVE.fetch_add(1, Ordering::AcqRel);
    Ok(())
}

/// Ends the capture that began in the stream; gives its graph.
pub fn end(stream: &Arc<Stream>) -> Result<Arc<Graph>> {
    let mut sessions = sessions();
    let Some(session) = of(&mut sessions, stream) else {
        let why = "the stream is not being captured: begin a capture in it first";
        return Err(Failure::new(Code::IllegalState, why));
    };
    if !Arc::ptr_eq(&session.members[0].stream, stream) {
        let why = "the stream has joined the capture; it ends in the stream in which it began";
        return Err(Failure::new(Code::StreamCaptureUnmatched, why));
    }
    if session.mode != Mode::Relaxed && session.thread != std::thread::current().id() {
        let why = "the capture ends in the thread that began it, unless it is relaxed";
        return Err(Failure::new(Code::StreamCaptureWrongThread, why));
    }
    let id = session.id;
    let at = sessions.iter().position(|session| session.id == id).unwrap_or_default();
    let session = sessions.remove(at);
    ACTIVE.fetch_sub(1, Ordering::AcqRel);
    drop(sessions);
    session.check()?;
    let joined = session.graph.ancestors(&session.members[0].tips);
    for member in &session.members[1..] {
        if let Some(tip) = member.tips.iter().find(|id| !joined.contains(id)) {
            let last = session.graph.node(*tip).map(|node| node.work.describe()).unwrap_or_default();
            let why = format!(
                "a stream that was forked off (last: {last}) has not been joined: record an event in it, and have \
                 the stream in which the capture began wait for the event"
            );
            return Err(Failure::new(Code::StreamCaptureUnjoined, why));
        }
    }
    Ok(session.graph)
}

/// What there is to know about the stream's capture. The legacy stream can't be asked while a blocking
/// stream of its device is being captured.
pub fn info(stream: &Arc<Stream>) -> Result<Info> {
    check_legacy(stream)?;
    if none() {
        return Ok(Info::default());
    }
    let mut sessions = sessions();
    let Some(session) = of(&mut sessions, stream) else { return Ok(Info::default()) };
    let tips = session.tips(stream).cloned().unwrap_or_default();
    let status = if session.invalid.is_some() { 2 } else { 1 };
    Ok(Info { status, id: session.id, graph: session.graph.handle(), tips })
}

/// Replaces the stream's tips, or adds to them.
pub fn update_tips(stream: &Arc<Stream>, nodes: &[usize], replace: bool) -> Result<()> {
    let mut sessions = sessions();
    let Some(session) = of(&mut sessions, stream) else {
        return Err(Failure::new(Code::IllegalState, "the stream is not being captured"));
    };
    session.check()?;
    nodes.iter().try_for_each(|id| session.graph.node(*id).map(drop))?;
    if let Some(tips) = session.tips(stream) {
        if replace {
            tips.clear();
        }
        merge(tips, nodes);
    }
    Ok(())
}

/// Makes a node of an operation if the stream is being captured, and gives its number. None: the operation
/// has to be put into the stream.
pub fn add(stream: &Arc<Stream>, make: impl FnOnce() -> Result<Work>) -> Result<Option<usize>> {
    if none() {
        return Ok(None);
    }
    let mut sessions = sessions();
    let Some(session) = of(&mut sessions, stream) else { return Ok(None) };
    session.check()?;
    let tips = session.tips(stream).cloned().unwrap_or_default();
    let node = session.graph.add(make()?, &tips)?;
    if let Some(tips) = session.tips(stream) {
        *tips = vec![node];
    }
    Ok(Some(node))
}

/// Records an event in a stream that is being captured: it stands for the stream's tips. False: it isn't.
pub fn record(stream: &Arc<Stream>, event: &Event) -> Result<bool> {
    if none() {
        return Ok(false);
    }
    let mut sessions = sessions();
    let Some(session) = of(&mut sessions, stream) else { return Ok(false) };
    session.check()?;
    let tips = session.tips(stream).cloned().unwrap_or_default();
    event.capture(Captured { capture: session.id, tips });
    Ok(true)
}

/// Has the stream wait for an event, as far as a capture is concerned. False: both are outside of captures.
pub fn wait(stream: &Arc<Stream>, event: &Event) -> Result<bool> {
    let newest = event.newest_of_any_kind();
    if none() && !matches!(newest, Newest::Captured(_)) {
        return Ok(false);
    }
    let mut sessions = sessions();
    let waiter = of(&mut sessions, stream).map(|session| session.id);
    let Newest::Captured(captured) = newest else {
        let Some(session) = of(&mut sessions, stream) else { return Ok(false) };
        session.check()?;
        session.invalidate("a wait for an event that was not recorded in it");
        let why =
            "the event was not recorded in this capture: record it there, or wait with the external flag";
        return Err(Failure::new(Code::StreamCaptureIsolation, why));
    };
    if let Some(other) = waiter.filter(|id| *id != captured.capture) {
        let why = "a wait for an event of another capture";
        for session in sessions.iter_mut().filter(|s| s.id == other || s.id == captured.capture) {
            session.invalidate(why);
        }
        return Err(Failure::new(Code::StreamCaptureMerge, format!("{why}: captures can't become one")));
    }
    let Some(session) = sessions.iter_mut().find(|session| session.id == captured.capture) else {
        return Err(stale());
    };
    session.check()?;
    if stream.is_legacy() {
        session.invalidate("a wait of the legacy default stream for one of its events");
        let why = "the legacy default stream can't join a capture";
        return Err(Failure::new(Code::StreamCaptureImplicit, why));
    }
    match session.tips(stream) {
        Some(tips) => merge(tips, &captured.tips),
        None => session.members.push(Member { stream: Arc::clone(stream), tips: captured.tips }),
    }
    Ok(true)
}

fn stale() -> Failure {
    let why =
        "the event was last recorded in a capture, where it stands for no point in time: record it again";
    Failure::new(Code::CapturedEvent, why)
}

/// An error for asking an event of a capture whether it was reached; the capture becomes invalid.
pub fn check_event(event: &Event) -> Result<()> {
    let Newest::Captured(captured) = event.newest_of_any_kind() else { return Ok(()) };
    if let Some(session) = sessions().iter_mut().find(|session| session.id == captured.capture) {
        session.invalidate("a call that asks for, or waits for, an event recorded in it");
    }
    Err(stale())
}

/// An error for `call`, which would wait for the stream or can't become a node, if the stream is being
/// captured; the capture becomes invalid.
pub fn refuse(stream: &Arc<Stream>, call: &str) -> Result<()> {
    check_legacy(stream)?;
    if none() {
        return Ok(());
    }
    let mut sessions = sessions();
    let Some(session) = of(&mut sessions, stream) else { return Ok(()) };
    session.check()?;
    session.invalidate(call);
    let why = format!("{call} is not possible in a stream that is being captured");
    Err(Failure::new(Code::StreamCaptureUnsupported, why))
}

/// An error for a use of the legacy default stream while a stream is being captured that would wait for it.
pub fn check_legacy(stream: &Arc<Stream>) -> Result<()> {
    if none() || !stream.is_legacy() {
        return Ok(());
    }
    let concerns = |member: &Member| member.stream.flags() == 0 && member.stream.device() == stream.device();
    let mut found = false;
    for session in sessions().iter_mut().filter(|session| session.members.iter().any(concerns)) {
        session.invalidate("a use of the legacy default stream");
        found = true;
    }
    if !found {
        return Ok(());
    }
    let why = "the legacy default stream waits for the streams of its device, one of which is being captured: use \
               another stream, or capture a non-blocking one";
    Err(Failure::new(Code::StreamCaptureImplicit, why))
}

/// An error for `call`, which waits for all of a device, while a stream of the device is being captured.
pub fn check_device(device: u32, call: &str) -> Result<()> {
    if none() {
        return Ok(());
    }
    let mut found = false;
    for session in sessions().iter_mut().filter(|s| s.members.iter().any(|m| m.stream.device() == device)) {
        session.invalidate(call);
        found = true;
    }
    if !found {
        return Ok(());
    }
    let why = format!("{call} waits for all streams of device {device}, one of which is being captured");
    Err(Failure::new(Code::StreamCaptureUnsupported, why))
}

/// An error for `call`, which might wait for streams, where a capture forbids that to the calling thread.
pub fn check_unsafe(call: &str) -> Result<()> {
    if none() {
        return Ok(());
    }
    let (me, mode) = (std::thread::current().id(), MODE.get());
    let forbids = |session: &Session| match mode {
        Mode::Relaxed => false,
        _ if session.thread == me => session.mode != Mode::Relaxed,
        _ => mode == Mode::Global && session.mode == Mode::Global,
    };
    let mut found = false;
    for session in sessions().iter_mut().filter(|session| forbids(session)) {
        session.invalidate(call);
        found = true;
    }
    if !found {
        return Ok(());
    }
    let why = format!(
        "{call} may wait for streams, which a capture under way forbids: make the call before or after \
                       it, or capture in relaxed mode"
    );
    Err(Failure::new(Code::StreamCaptureUnsupported, why))
}

/// Sets the calling thread's own mode; gives the one it had.
pub fn exchange_mode(mode: i32) -> Result<i32> {
    Ok(MODE.replace(Mode::from_number(mode)?) as i32)
}

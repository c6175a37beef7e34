//! Capture of streams into graphs, and graphs that run.
use crate::code::{self, Out};
use crate::context::Context;
use crate::handles::{self, Table};
use crate::stream::Stream;
use crate::work::Work;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, ThreadId};

/// Modes of capture, and of threads towards captures.
pub const GLOBAL: u32 = 0;
pub const RELAXED: u32 = 2;

#[derive(Clone)]
pub struct Node {
    pub work: Work,
    /// Nodes that come before it, by number; always smaller ones.
    pub after: Vec<usize>,
}

#[derive(Default)]
struct State {
    nodes: Vec<Node>,
    invalid: bool,
    ended: bool,
    streams: Vec<Arc<Stream>>,
}

/// A capture that is under way.
pub struct Capture {
    pub id: u64,
    pub graph: usize,
    origin: usize,
    mode: u32,
    thread: ThreadId,
    state: Mutex<State>,
}

/// A stream's part in a capture.
pub struct Joined {
    pub capture: Arc<Capture>,
    pub tips: Vec<usize>,
}

pub struct Graph {
    pub nodes: Arc<[Node]>,
}

pub static GRAPHS: Table<Graph> = Table::new();
pub static EXECS: Table<Exec> = Table::new();
static ACTIVE: Mutex<Vec<Arc<Capture>>> = Mutex::new(Vec::new());

thread_local! {
    static MODE: Cell<u32> = const { Cell::new(GLOBAL) };
}

/// Sets how the thread's calls relate to captures, and gives how they did.
pub fn exchange_mode(mode: u32) -> Out<u32> {
    if mode > RELAXED { Err(code::INVALID_VALUE) } else { Ok(MODE.replace(mode)) }
}

/// Begins a call that may not happen while there is a capture, unless the thread is relaxed about it: the capture
/// becomes invalid.
pub fn forbid() -> Out {
    let (own, me) = (MODE.get(), thread::current().id());
    let active = ACTIVE.lock().expect("no panic");
    let meant = |capture: &&Arc<Capture>| {
        let theirs = capture.mode == GLOBAL && own == GLOBAL;
        own != RELAXED && capture.mode != RELAXED && (capture.thread == me || theirs)
    };
    let mut result = Ok(());
    for capture in active.iter().filter(meant) {
        capture.invalidate();
        result = Err(code::STREAM_CAPTURE_UNSUPPORTED);
    }
    result
}

/// Begins a call that waits for a stream: not one that captures.
pub fn not_capturing(stream: &Stream) -> Out {
    match &stream.inner().capture {
        Some(joined) => {
            joined.capture.invalidate();
            Err(code::STREAM_CAPTURE_UNSUPPORTED)
        }
        None => Ok(()),
    }
}

/// The legacy stream is about to depend on these.
pub fn none_of(streams: &[Arc<Stream>]) -> Out {
    for stream in streams {
        if let Some(joined) = &stream.inner().capture {
            joined.capture.invalidate();
            return Err(code::STREAM_CAPTURE_IMPLICIT);
        }
    }
    Ok(())
}

impl Joined {
    /// A node at the end of the stream.
    pub fn add(&mut self, work: Work) -> Out {
        let mut state = self.capture.state();
        if state.invalid {
            return Err(code::STREAM_CAPTURE_INVALIDATED);
        }
        state.nodes.push(Node { work, after: std::mem::take(&mut self.tips) });
        self.tips = vec![state.nodes.len() - 1];
        Ok(())
    }

    pub fn tips(&self) -> Out<(Arc<Capture>, Vec<usize>)> {
        match self.capture.is_invalid() {
            true => Err(code::STREAM_CAPTURE_INVALIDATED),
            false => Ok((self.capture.clone(), self.tips.clone())),
        }
    }
}

impl Capture {
    pub fn begin(stream: &Arc<Stream>, mode: u32) -> Out {
        if mode > RELAXED {
            return Err(code::INVALID_VALUE);
        }
        if stream.legacy {
            return Err(code::STREAM_CAPTURE_UNSUPPORTED);
        }
        static IDS: AtomicU64 = AtomicU64::new(1);
        let capture = Arc::new(Capture {
            id: IDS.fetch_add(1, Ordering::Relaxed),
            graph: handles::fresh(),
            origin: stream.handle,
            mode,
            thread: thread::current().id(),
            state: Mutex::new(State { streams: vec![stream.clone()], ..State::default() }),
        });
        let mut inner = stream.inner();
        if inner.capture.is_some() {
            return Err(code::ILLEGAL_STATE);
        }
        inner.capture = Some(Joined { capture: capture.clone(), tips: Vec::new() });
        ACTIVE.lock().expect("no panic").push(capture);
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic")
    }

    pub fn invalidate(&self) {
        self.state().invalid = true;
    }

    pub fn is_invalid(&self) -> bool {
        self.state().invalid
    }

    /// A stream waits for nodes of the capture, so it becomes part of it.
    pub fn join(self: &Arc<Capture>, stream: &Arc<Stream>, nodes: &[usize]) -> Out {
        let mut inner = stream.inner();
        if let Some(joined) = &mut inner.capture {
            if joined.capture.id != self.id {
                joined.capture.invalidate();
                self.invalidate();
                return Err(code::STREAM_CAPTURE_MERGE);
            }
            joined.tips.extend_from_slice(nodes);
            joined.tips.sort_unstable();
            joined.tips.dedup();
            return Ok(());
        }
        let mut state = self.state();
        if state.ended {
            return Err(code::CAPTURED_EVENT);
        }
        if stream.legacy {
            state.invalid = true;
            return Err(code::STREAM_CAPTURE_IMPLICIT);
        }
        state.streams.push(stream.clone());
        inner.capture = Some(Joined { capture: self.clone(), tips: nodes.to_vec() });
        Ok(())
    }

    /// Ends the capture that began at this stream, and gives the graph's handle.
    pub fn end(stream: &Arc<Stream>) -> Out<usize> {
        let found = stream.inner().capture.as_ref().map(|joined| joined.capture.clone());
        let capture = found.ok_or(code::ILLEGAL_STATE)?;
        if capture.origin != stream.handle {
            capture.invalidate();
            return Err(code::STREAM_CAPTURE_UNMATCHED);
        }
        if capture.mode != RELAXED && capture.thread != thread::current().id() {
            return Err(code::STREAM_CAPTURE_WRONG_THREAD);
        }
        ACTIVE.lock().expect("no panic").retain(|active| active.id != capture.id);
        let streams = {
            let mut state = capture.state();
            state.ended = true;
            std::mem::take(&mut state.streams)
        };
        let mut ends: Vec<(bool, Vec<usize>)> = Vec::new();
        for part in streams {
            if let Some(joined) = part.inner().capture.take() {
                ends.push((part.handle == capture.origin, joined.tips));
            }
        }
        let mut state = capture.state();
        if state.invalid {
            return Err(code::STREAM_CAPTURE_INVALIDATED);
        }
        let nodes: Arc<[Node]> = std::mem::take(&mut state.nodes).into();
        let mut reached = vec![false; nodes.len()];
        let mut open: Vec<usize> = ends.iter().filter(|end| end.0).flat_map(|end| end.1.clone()).collect();
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut reached[node], true) {
                open.extend(&nodes[node].after);
            }
        }
        if ends.iter().any(|(_, tips)| tips.iter().any(|tip| !reached[*tip])) {
            return Err(code::STREAM_CAPTURE_UNJOINED);
        }
        Ok(GRAPHS.insert(capture.graph, Arc::new(Graph { nodes })))
    }
}

/// A graph that can be launched.
pub struct Exec {
    nodes: Arc<[Node]>,
    /// Launches of one graph run one after the other.
    turn: Mutex<()>,
}

impl Exec {
    pub fn new(graph: &Graph) -> Exec {
        Exec { nodes: graph.nodes.clone(), turn: Mutex::new(()) }
    }

    pub fn run(&self, context: &Arc<Context>) -> Out {
        let _turn = self.turn.lock().expect("no panic");
        let chains = self.chains();
        if chains.len() == 1 {
            return self.nodes.iter().try_for_each(|node| node.work.run(context));
        }
        // Branches run at the same time: one may wait for what another stores.
        let (done, changed) = (Mutex::new(vec![false; self.nodes.len()]), Condvar::new());
        let run = |chain: &[usize]| {
            for number in chain {
                let node = &self.nodes[*number];
                let mut seen = done.lock().expect("no panic");
                while node.after.iter().any(|before| !seen[*before]) {
                    seen = changed.wait(seen).expect("no panic");
                }
                drop(seen);
                if context.check().is_ok()
                    && let Err(code) = node.work.run(context)
                {
                    context.fail(code);
                }
                done.lock().expect("no panic")[*number] = true;
                changed.notify_all();
            }
        };
        thread::scope(|scope| {
            for chain in &chains {
                scope.spawn(|| run(chain));
            }
        });
        Ok(())
    }

    /// The nodes as chains, in each of which a node comes after the one before.
    fn chains(&self) -> Vec<Vec<usize>> {
        let mut chains: Vec<Vec<usize>> = Vec::new();
        for (number, node) in self.nodes.iter().enumerate() {
            let follows = |chain: &&mut Vec<usize>| node.after.contains(chain.last().expect("never empty"));
            match chains.iter_mut().find(follows) {
                Some(chain) => chain.push(number),
                None => chains.push(vec![number]),
            }
        }
        chains
    }
}

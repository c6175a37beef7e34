//! Instantiated graphs: a fixed order of nodes, launched any number of times, one launch after another.
use super::model::{self, Graph, Node};
use super::run;
use super::work::Work;
use crate::device;
use crate::error::{Code, Failure, Result};
use crate::event::Mark;
use crate::graph::capture;
use crate::stream::Stream;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, RwLock};

/// A node in the order of a plan.
#[derive(Clone, Debug)]
pub struct Step {
    /// The node of the graph that it was made from.
    pub node: usize,
    /// What it does; child graphs are empty nodes here, with their nodes before them.
    pub work: Work,
    /// Steps that wait for this one.
    pub then: Vec<u32>,
    /// Steps that this one waits for.
    pub waits_for: u32,
    /// Whether it was a child graph.
    was_child: bool,
}

/// All nodes of a graph, each behind those that it depends on.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The nodes.
    pub steps: Vec<Step>,
    /// No two nodes could run at the same time, or none of them may wait: one thread runs them in order.
    pub is_chain: bool,
}

impl Plan {
    fn of(graph: &Graph) -> Result<Plan> {
        let mut plan = Plan::default();
        plan.append(graph, &[])?;
        let next = |(number, step): (usize, &Step)| step.then.first() == Some(&(number as u32 + 1));
        let last = plan.steps.len().saturating_sub(1);
        plan.is_chain = plan.steps.iter().take(last).enumerate().all(next)
            || plan.steps.iter().filter(|step| step.work.may_wait()).count() == 0;
        Ok(plan)
    }

    fn push(&mut self, node: usize, work: Work, after: &[u32], was_child: bool) -> u32 {
        let number = self.steps.len() as u32;
        after.iter().for_each(|from| self.steps[*from as usize].then.push(number));
        self.steps.push(Step { node, work, then: Vec::new(), waits_for: after.len() as u32, was_child });
        number
    }

    /// Appends the graph's nodes; those without dependencies come behind `after`. Gives the nodes that no
    /// other depends on.
    fn append(&mut self, graph: &Graph, after: &[u32]) -> Result<Vec<u32>> {
        let mut numbers: HashMap<usize, u32> = HashMap::new();
        let mut ends: Vec<u32> = Vec::new();
        for (id, Node { work, after: nodes, .. }) in graph.order()? {
            let before: Vec<u32> =
                if nodes.is_empty() { after.to_vec() } else { nodes.iter().map(|id| numbers[id]).collect() };
            let number = match work {
                Work::Child(child) => {
                    // An empty child ends where it begins.
                    let inner = self.append(&child, &before)?;
                    let before = if inner.is_empty() { before.clone() } else { inner };
                    self.push(id, Work::Empty, &before, true)
                }
                work => self.push(id, work, &before, false),
            };
            ends.retain(|end| !before.contains(end));
            ends.push(number);
            numbers.insert(id, number);
        }
        Ok(ends)
    }

    /// An error for what would go wrong if the graph ran now.
    fn check(&self) -> Result<()> {
        self.steps.iter().try_for_each(|step| step.work.check())
    }

    /// New recordings for the nodes that record events, and those that nodes have to wait for.
    fn marks(&self) -> Vec<Option<Arc<Mark>>> {
        let mark = |step: &Step| match &step.work {
            Work::Record(event) => {
                let mark = Arc::new(Mark::default());
                event.renew(Arc::clone(&mark));
                Some(mark)
            }
            Work::Wait(event) => event.newest(),
            _ => None,
        };
        self.steps.iter().map(mark).collect()
    }

    /// Those of the marks that the graph itself will reach.
    fn recordings(&self, marks: &[Option<Arc<Mark>>]) -> Vec<Arc<Mark>> {
        let own = |(step, _): &(&Step, &Option<Arc<Mark>>)| matches!(step.work, Work::Record(_));
        self.steps.iter().zip(marks).filter(own).filter_map(|(_, mark)| mark.clone()).collect()
    }

    /// The same as a graph, for launches that are captured.
    fn to_graph(&self) -> Result<Arc<Graph>> {
        let graph = Graph::new();
        let mut nodes: Vec<usize> = Vec::new();
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); self.steps.len()];
        for (number, step) in self.steps.iter().enumerate() {
            let id = graph.add(step.work.clone(), &before[number])?;
            step.then.iter().for_each(|to| before[*to as usize].push(id));
            nodes.push(id);
        }
        Ok(graph)
    }
}

/// An instantiated graph.
#[derive(Debug)]
pub struct Exec {
    plan: Mutex<Arc<Plan>>,
    /// Reached when the newest launch has ended.
    newest: Mutex<Option<Arc<Mark>>>,
}

static EXECS: RwLock<Option<HashMap<usize, Arc<Exec>>>> = RwLock::new(None);

/// Why a graph could not be updated: the numbers of both families.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Difference {
    /// Other nodes, or other dependencies.
    Topology = 2,
    /// A node of another type.
    NodeType = 3,
    /// Another operation of the library.
    NotSupported = 6,
}

/// Makes a graph ready to run; gives the handle.
pub fn instantiate(graph: &Graph, flags: u64) -> Result<usize> {
    const AUTO_FREE: u64 = 1;
    const UPLOAD: u64 = 2;
    const DEVICE_LAUNCH: u64 = 4;
    const NODE_PRIORITY: u64 = 8;
    if flags & DEVICE_LAUNCH != 0 {
        let why = "flags: the emulated devices can't launch graphs from kernels";
        return Err(Failure::new(Code::NotSupported, why));
    }
    if flags & !(AUTO_FREE | UPLOAD | NODE_PRIORITY) != 0 {
        return Err(Failure::new(
            Code::InvalidValue,
            format!("flags = {flags:#x}: unknown flags of a graph"),
        ));
    }
    let exec = Exec { plan: Mutex::new(Arc::new(Plan::of(graph)?)), newest: Mutex::new(None) };
    let handle = model::new_handle();
    let mut execs = EXECS.write().unwrap_or_else(|e| e.into_inner());
    execs.get_or_insert_default().insert(handle, Arc::new(exec));
    Ok(handle)
}

fn bad_handle(handle: usize) -> Failure {
    let why = format!("graphExec = {handle:#x}: not an instantiated graph, or destroyed");
    Failure::new(Code::InvalidValue, why)
}

/// The instantiated graph with this handle.
pub fn find(handle: usize) -> Result<Arc<Exec>> {
    let execs = EXECS.read().unwrap_or_else(|e| e.into_inner());
    execs.as_ref().and_then(|execs| execs.get(&handle)).cloned().ok_or_else(|| bad_handle(handle))
}

/// Forgets an instantiated graph; launches that are under way still run.
pub fn destroy(handle: usize) -> Result<()> {
    let gone =
        EXECS.write().unwrap_or_else(|e| e.into_inner()).as_mut().and_then(|execs| execs.remove(&handle));
    gone.map(drop).ok_or_else(|| bad_handle(handle))
}

impl Exec {
    fn plan(&self) -> Arc<Plan> {
        Arc::clone(&self.plan.lock().unwrap_or_else(|e| e.into_inner()))
    }

    /// Puts a launch into a stream, behind earlier launches of the same graph wherever they are. In a
    /// capturing stream it becomes a node.
    pub fn launch(&self, stream: &Arc<Stream>) -> Result<()> {
        let plan = self.plan();
        if capture::is_capturing(stream) {
            return capture::add(stream, || Ok(Work::Child(plan.to_graph()?))).map(drop);
        }
        capture::check_legacy(stream)?;
        device::alive(stream.device())?;
        plan.check()?;
        let mark = Arc::new(Mark::default());
        // Held until the launch is queued, so that launches of several threads come in one order everywhere.
        let mut newest = self.newest.lock().unwrap_or_else(|e| e.into_inner());
        let before = newest.clone().filter(|mark| mark.time().is_none());
        let marks = plan.marks();
        let (mine, announced) = (Arc::clone(&mark), plan.recordings(&marks));
        let put = stream.submit_behind(before, move || {
            run::run(plan, marks);
            mine.reach();
        });
        match put {
            Ok(()) => *newest = Some(mark),
            // Nobody will ever run the recordings that were just announced.
            Err(_) => announced.iter().for_each(|mark| mark.reach()),
        }
        put
    }

    /// Replaces what a node does, for later launches.
    pub fn set(&self, node: usize, work: Work) -> Result<()> {
        let mut plan = self.plan.lock().unwrap_or_else(|e| e.into_inner());
        let at =
            plan.steps.iter().position(|step| step.node == node && !step.was_child).ok_or_else(|| {
                let why = format!("node = {node:#x}: not a node of the graph that was instantiated");
                Failure::new(Code::InvalidValue, why)
            })?;
        let is = &plan.steps[at].work;
        if is.kind() != work.kind() || matches!(is, Work::Engine(_)) {
            let why = format!("node = {node:#x}: is a {}, not a {}", is.describe(), work.describe());
            return Err(Failure::new(Code::InvalidValue, why));
        }
        Arc::make_mut(&mut plan).steps[at].work = work;
        Ok(())
    }

    /// Takes over what the nodes of a graph of the same shape do. On a difference gives the node of `graph`
    /// where it shows (0: nowhere in particular).
    pub fn update(&self, graph: &Graph) -> std::result::Result<(), (Difference, usize, Failure)> {
        let refused = |what: Difference, node: usize, why: String| {
            (what, node, Failure::new(Code::GraphExecUpdateFailure, why))
        };
        let new = Plan::of(graph).map_err(|failure| (Difference::Topology, 0, failure))?;
        let mut plan = self.plan.lock().unwrap_or_else(|e| e.into_inner());
        if plan.steps.len() != new.steps.len() {
            let why = format!("{} nodes instead of {}", new.steps.len(), plan.steps.len());
            return Err(refused(Difference::Topology, 0, why));
        }
        for (old, new) in plan.steps.iter().zip(&new.steps) {
            let (is, was) = (new.work.describe(), old.work.describe());
            if old.work.kind() != new.work.kind() || old.was_child != new.was_child {
                return Err(refused(Difference::NodeType, new.node, format!("{is} instead of {was}")));
            }
            if old.then != new.then || old.waits_for != new.waits_for {
                return Err(refused(Difference::Topology, new.node, format!("{is}: other dependencies")));
            }
            let operation = |work: &Work| matches!(work, Work::Engine(_));
            if operation(&old.work) != operation(&new.work) {
                return Err(refused(Difference::NotSupported, new.node, format!("{is} instead of {was}")));
            }
        }
        let steps = &mut Arc::make_mut(&mut plan).steps;
        for (step, new) in steps.iter_mut().zip(new.steps) {
            step.work = new.work;
        }
        Ok(())
    }
}

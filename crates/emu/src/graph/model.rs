//! Graphs as programs build them. Handles of graphs and nodes are numbers that are never used again.
use super::work::Work;
use crate::error::{Code, Failure, Result};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// A node: what it does, and after which others.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it does.
    pub work: Work,
    /// Nodes that it depends on, each once.
    pub after: Vec<usize>,
    /// The node that it was cloned from, or 0.
    pub original: usize,
}

/// A graph. Nodes are kept in the order in which they were made.
#[derive(Debug)]
pub struct Graph {
    handle: usize,
    nodes: Mutex<BTreeMap<usize, Node>>,
}

#[derive(Default)]
struct Registry {
    /// Graphs that the program has to destroy.
    owned: HashMap<usize, Arc<Graph>>,
    /// All graphs, those inside of others included.
    all: HashMap<usize, Weak<Graph>>,
    /// The graph of each node.
    nodes: HashMap<usize, Weak<Graph>>,
}

static REGISTRY: Mutex<Option<Registry>> = Mutex::new(None);
static NEXT: AtomicUsize = AtomicUsize::new(1);

/// A number for something new.
pub(super) fn new_handle() -> usize {
    NEXT.fetch_add(1, Ordering::Relaxed) << 4
}

fn registry<R>(act: impl FnOnce(&mut Registry) -> R) -> R {
    act(REGISTRY.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert_default())
}

fn invalid(detail: String) -> Failure {
    Failure::new(Code::InvalidValue, detail)
}

/// Gives the graph to the program, by its handle.
pub fn own(graph: Arc<Graph>) -> usize {
    let handle = graph.handle;
    registry(|r| r.owned.insert(handle, graph));
    handle
}

/// The graph with this handle.
pub fn find(handle: usize) -> Result<Arc<Graph>> {
    registry(|r| r.all.get(&handle).and_then(Weak::upgrade))
        .ok_or_else(|| invalid(format!("graph = {handle:#x}: not a graph, or destroyed")))
}

/// The graph of a node.
pub fn graph_of(node: usize) -> Result<Arc<Graph>> {
    registry(|r| r.nodes.get(&node).and_then(Weak::upgrade))
        .ok_or_else(|| invalid(format!("node = {node:#x}: not a node, or destroyed")))
}

/// Forgets a graph. What was instantiated from it stays.
pub fn destroy(handle: usize) -> Result<()> {
    let graph = find(handle)?;
    let owned = registry(|r| r.owned.remove(&handle));
    // Dropped outside of the registry's lock, which its nodes need.
    drop(graph);
    owned
        .map(drop)
        .ok_or_else(|| invalid(format!("graph = {handle:#x}: part of another graph, which owns it")))
}

impl Graph {
    /// An empty graph.
    pub fn new() -> Arc<Graph> {
        let graph = Arc::new(Graph { handle: new_handle(), nodes: Mutex::default() });
        registry(|r| r.all.insert(graph.handle, Arc::downgrade(&graph)));
        graph
    }

    /// The number that programs know it by.
    pub fn handle(&self) -> usize {
        self.handle
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, Node>> {
        self.nodes.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The nodes, in the order in which they were made.
    pub fn nodes(&self) -> Vec<usize> {
        self.lock().keys().copied().collect()
    }

    /// Nodes that depend on none.
    pub fn roots(&self) -> Vec<usize> {
        self.lock().iter().filter(|(_, node)| node.after.is_empty()).map(|(id, _)| *id).collect()
    }

    /// All pairs of a node and one that depends on it.
    pub fn edges(&self) -> Vec<(usize, usize)> {
        let nodes = self.lock();
        nodes.iter().flat_map(|(to, node)| node.after.iter().map(move |from| (*from, *to))).collect()
    }

    /// A copy of a node.
    pub fn node(&self, id: usize) -> Result<Node> {
        self.lock().get(&id).cloned().ok_or_else(|| self.stranger(id))
    }

    fn stranger(&self, id: usize) -> Failure {
        invalid(format!("node = {id:#x}: not a node of graph {:#x}", self.handle))
    }

    /// Adds a node behind others.
    pub fn add(self: &Arc<Self>, work: Work, after: &[usize]) -> Result<usize> {
        let mut nodes = self.lock();
        let mut once = Vec::with_capacity(after.len());
        for &id in after {
            if !nodes.contains_key(&id) {
                return Err(self.stranger(id));
            }
            if once.contains(&id) {
                return Err(invalid(format!("dependencies: node {id:#x} stands there twice")));
            }
            once.push(id);
        }
        let id = new_handle();
        nodes.insert(id, Node { work, after: once, original: 0 });
        drop(nodes);
        registry(|r| r.nodes.insert(id, Arc::downgrade(self)));
        Ok(id)
    }

    /// Replaces what a node does by something of the same type.
    pub fn set(&self, id: usize, work: Work) -> Result<()> {
        let mut nodes = self.lock();
        let node = nodes.get_mut(&id).ok_or_else(|| self.stranger(id))?;
        if node.work.kind() != work.kind() || matches!(node.work, Work::Engine(_)) {
            let (is, new) = (node.work.describe(), work.describe());
            return Err(invalid(format!("node = {id:#x}: is a {is}, which can't become a {new}")));
        }
        node.work = work;
        Ok(())
    }

    /// Adds a dependency: `to` comes after `from`.
    pub fn connect(&self, from: usize, to: usize) -> Result<()> {
        let mut nodes = self.lock();
        if !nodes.contains_key(&from) {
            return Err(self.stranger(from));
        }
        let node = nodes.get_mut(&to).ok_or_else(|| self.stranger(to))?;
        if from == to || node.after.contains(&from) {
            let why = if from == to { "can't depend on itself" } else { "depends on it already" };
            return Err(invalid(format!("from = {from:#x}, to = {to:#x}: the node {why}")));
        }
        node.after.push(from);
        Ok(())
    }

    /// Takes a dependency away.
    pub fn disconnect(&self, from: usize, to: usize) -> Result<()> {
        let mut nodes = self.lock();
        let node = nodes.get_mut(&to).ok_or_else(|| self.stranger(to))?;
        let at = node.after.iter().position(|id| *id == from);
        let at = at.ok_or_else(|| invalid(format!("from = {from:#x}, to = {to:#x}: no such dependency")))?;
        node.after.remove(at);
        Ok(())
    }

    /// Takes a node out, with its dependencies.
    pub fn remove(&self, id: usize) -> Result<()> {
        let mut nodes = self.lock();
        let gone = nodes.remove(&id).ok_or_else(|| self.stranger(id))?;
        for node in nodes.values_mut() {
            node.after.retain(|other| *other != id);
        }
        drop(nodes);
        registry(|r| r.nodes.remove(&id));
        drop(gone);
        Ok(())
    }

    /// Nodes that depend on this one.
    pub fn dependents(&self, id: usize) -> Result<Vec<usize>> {
        let nodes = self.lock();
        if !nodes.contains_key(&id) {
            return Err(self.stranger(id));
        }
        Ok(nodes.iter().filter(|(_, node)| node.after.contains(&id)).map(|(id, _)| *id).collect())
    }

    /// The nodes and everything that they depend on.
    pub fn ancestors(&self, of: &[usize]) -> BTreeSet<usize> {
        let nodes = self.lock();
        let mut seen = BTreeSet::new();
        let mut open = of.to_vec();
        while let Some(id) = open.pop() {
            if seen.insert(id)
                && let Some(node) = nodes.get(&id)
            {
                open.extend(&node.after);
            }
        }
        seen
    }

    /// A graph with copies of the nodes; those inside of child graphs are copied as well.
    pub fn duplicate(&self) -> Arc<Graph> {
        let nodes = self.lock().clone();
        let made = Graph::new();
        let new: HashMap<usize, usize> = nodes.keys().map(|id| (*id, new_handle())).collect();
        let copies: BTreeMap<usize, Node> = nodes
            .into_iter()
            .map(|(id, node)| {
                let work = match node.work {
                    Work::Child(child) => Work::Child(child.duplicate()),
                    other => other,
                };
                let after = node.after.iter().map(|id| new[id]).collect();
                (new[&id], Node { work, after, original: id })
            })
            .collect();
        registry(|r| r.nodes.extend(new.values().map(|id| (*id, Arc::downgrade(&made)))));
        *made.lock() = copies;
        made
    }

    /// The copy of `original` in a graph made by [`Graph::duplicate`].
    pub fn copy_of(&self, original: usize) -> Result<usize> {
        let found = self.lock().iter().find(|(_, node)| node.original == original).map(|(id, _)| *id);
        found.ok_or_else(|| {
            invalid(format!("node = {original:#x}: graph {:#x} holds no copy of it", self.handle))
        })
    }

    /// The nodes so that each comes behind those it depends on; of several, the oldest first. An error if
    /// they depend on each other in a circle.
    pub fn order(&self) -> Result<Vec<(usize, Node)>> {
        let nodes = self.lock();
        let mut left: HashMap<usize, usize> =
            nodes.iter().map(|(id, node)| (*id, node.after.len())).collect();
        let mut behind: HashMap<usize, Vec<usize>> = HashMap::new();
        for (id, node) in nodes.iter() {
            node.after.iter().for_each(|from| behind.entry(*from).or_default().push(*id));
        }
        let reversed = std::cmp::Reverse::<usize>;
        let mut open: BinaryHeap<_> =
            left.iter().filter(|(_, count)| **count == 0).map(|(id, _)| reversed(*id)).collect();
        let mut order = Vec::with_capacity(nodes.len());
        while let Some(std::cmp::Reverse(id)) = open.pop() {
            order.push((id, nodes[&id].clone()));
            for to in behind.remove(&id).unwrap_or_default() {
                if let Some(count) = left.get_mut(&to) {
                    *count -= 1;
                    if *count == 0 {
                        open.push(reversed(to));
                    }
                }
            }
        }
        if order.len() < nodes.len() {
            let why = "graph: nodes depend on each other in a circle, so none of them can be the first";
            return Err(invalid(why.into()));
        }
        Ok(order)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let nodes = std::mem::take(self.nodes.get_mut().unwrap_or_else(|e| e.into_inner()));
        registry(|r| {
            r.all.remove(&self.handle);
            nodes.keys().for_each(|id| drop(r.nodes.remove(id)));
        });
        // Child graphs go here, and take the registry's lock themselves.
        drop(nodes);
    }
}

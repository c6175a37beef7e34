//! Graphs.
use super::launch::Launch;
use super::runtime::{give, null};
use crate::error::{Code, Failure, Result, note};
use crate::graph::work::{CopyWork, FillWork, Held, HostWork, Work};
use crate::graph::{exec, model};
use crate::memory::Rows;
use crate::{event, stream};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// A copy of planes of rows.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Copy {
    /// Where to.
    pub dest: *mut c_void,
    /// Bytes from row to row there.
    pub dest_pitch: usize,
    /// Bytes from plane to plane there.
    pub dest_plane: usize,
    /// Where from.
    pub source: *const c_void,
    /// Bytes from row to row there.
    pub source_pitch: usize,
    /// Bytes from plane to plane there.
    pub source_plane: usize,
    /// Bytes of a row.
    pub width: usize,
    /// Rows of a plane.
    pub rows: usize,
    /// Planes.
    pub planes: usize,
    /// The direction's number.
    pub direction: c_int,
}

impl Copy {
    pub(super) fn work(&self) -> CopyWork {
        CopyWork {
            dest: Rows { base: self.dest.cast(), pitch: self.dest_pitch },
            source: Rows { base: self.source.cast_mut().cast(), pitch: self.source_pitch },
            width: self.width,
            rows: self.rows,
            planes: self.planes,
            dest_plane: self.dest_plane,
            source_plane: self.source_plane,
            direction: self.direction,
        }
    }
}

/// A fill of rows.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Fill {
    /// Where.
    pub dest: *mut c_void,
    /// Bytes from row to row.
    pub pitch: usize,
    /// The value.
    pub value: u32,
    /// Its bytes: 1, 2 or 4.
    pub elem: u32,
    /// Bytes of a row.
    pub width: usize,
    /// Rows.
    pub rows: usize,
}

/// What a node does. Which fields count depends on `kind`.
#[derive(Debug)]
#[repr(C)]
pub struct Node {
    /// Size of this struct as the caller knows it.
    pub size: u32,
    /// The node's type, as both families number it.
    pub kind: c_int,
    /// 0: a kernel.
    pub launch: Launch,
    /// 1: a copy.
    pub copy: Copy,
    /// 2: a fill.
    pub fill: Fill,
    /// 3: a host function.
    pub function: Option<extern "C" fn(*mut c_void)>,
    /// Its argument.
    pub data: *mut c_void,
    /// 4: a graph.
    pub child: *mut c_void,
    /// 6, 7: an event to wait for, to record.
    pub event: *mut c_void,
    /// 10, 11: memory, and its bytes.
    pub memory: *mut c_void,
    /// See `memory`.
    pub bytes: usize,
    /// Set by [`dushmem_emu_node_get`]: addresses of a kernel's arguments, or null.
    pub arguments: *mut *mut c_void,
}

impl Node {
    /// # Safety
    /// The fields that count are valid; see [`super::dushmem_emu_launch`].
    unsafe fn work(&self) -> Result<Work> {
        let work = match self.kind {
            // SAFETY: as the caller promises; the headers' kernels don't change their arguments.
            0 => return unsafe { self.launch.work(0) },
            1 => Work::Copy(self.copy.work()),
            2 => {
                let dest = Rows { base: self.fill.dest.cast(), pitch: self.fill.pitch };
                let Fill { value, elem, width, rows, .. } = self.fill;
                Work::Fill(FillWork { dest, value, elem: elem as usize, width, rows })
            }
            3 => Work::Host(HostWork { function: self.function.ok_or_else(|| null("fn"))?, data: self.data }),
            4 => Work::Child(model::find(self.child as usize)?.duplicate()),
            5 => Work::Empty,
            6 => Work::Wait(event::find(self.event as usize)?),
            7 => Work::Record(event::find(self.event as usize)?),
            10 => Work::Allocate(Arc::new(Held::new(self.bytes)?)),
            11 => Work::Free(self.memory as usize),
            kind => {
                let why = format!("type = {kind}: the emulator has no such nodes");
                return Err(Failure::new(Code::NotSupported, why));
            }
        };
        work.check()?;
        Ok(work)
    }

    /// Makes the work, and does something with it, if `ready`; a kernel's arguments are released otherwise.
    ///
    /// # Safety
    /// As for [`Node::work`].
    unsafe fn used<T, R>(&self, ready: Result<T>, act: impl FnOnce(T, Work) -> Result<R>) -> Result<R> {
        match ready {
            // SAFETY: as the caller promises.
            Ok(ready) => act(ready, unsafe { self.work() }?),
            Err(failure) => {
                if let (0, Some(release)) = (self.kind, self.launch.release) {
                    // SAFETY: nobody else releases them.
                    unsafe { release(self.launch.args) };
                }
                Err(failure)
            }
        }
    }
}

/// # Safety
/// `nodes` is null or has `count` entries.
pub(super) unsafe fn list(arg: &str, nodes: *const *mut c_void, count: usize) -> Result<Vec<usize>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if nodes.is_null() {
        return Err(null(arg));
    }
    // SAFETY: as the caller promises.
    Ok(unsafe { std::slice::from_raw_parts(nodes, count) }.iter().map(|node| *node as usize).collect())
}

/// Writes as many as there is room for, nulls behind them, and how many there are; only the number if `out`
/// is null.
///
/// # Safety
/// `count` is null or valid; `out` is null or has `*count` entries.
unsafe fn give_list(found: &[usize], out: *mut *mut c_void, count: *mut usize) -> Result<()> {
    if count.is_null() {
        return Err(null("the number of nodes"));
    }
    // SAFETY: as the caller promises.
    unsafe {
        if !out.is_null() {
            for at in 0..*count {
                out.add(at).write(found.get(at).map_or(std::ptr::null_mut(), |id| *id as *mut c_void));
            }
        }
        let written = if out.is_null() { found.len() } else { found.len().min(*count) };
        count.write(written);
    }
    Ok(())
}

/// Makes an empty graph.
///
/// # Safety
/// `graph` is null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_graph_create(graph: *mut *mut c_void) -> c_int {
    if graph.is_null() {
        return note::<()>(Err(null("pGraph")));
    }
    // SAFETY: as the caller promises.
    note(unsafe { give("pGraph", graph, model::own(model::Graph::new()) as *mut c_void) })
}

/// Destroys a graph.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_graph_destroy(graph: *mut c_void) -> c_int {
    note(model::destroy(graph as usize))
}

/// Copies a graph.
///
/// # Safety
/// `clone` is null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_graph_clone(clone: *mut *mut c_void, graph: *mut c_void) -> c_int {
    let copy = || {
        if clone.is_null() {
            return Err(null("pGraphClone"));
        }
        let made = model::own(model::find(graph as usize)?.duplicate());
        // SAFETY: as the caller promises.
        unsafe { give("pGraphClone", clone, made as *mut c_void) }
    };
    note(copy())
}

/// Adds a node behind `count` others.
///
/// # Safety
/// `node` is null or valid for one write; `after` has `count` entries; `what` is valid, and a kernel of it as for
/// [`super::dushmem_emu_launch`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_graph_add(
    node: *mut *mut c_void,
    graph: *mut c_void,
    after: *const *mut c_void,
    count: usize,
    what: *const Node,
) -> c_int {
    let ready = || {
        if node.is_null() {
            return Err(null("pGraphNode"));
        }
        // SAFETY: as the caller promises.
        Ok((model::find(graph as usize)?, unsafe { list("pDependencies", after, count) }?))
    };
    // SAFETY: as the caller promises.
    let made = unsafe { (*what).used(ready(), |(graph, after), work| graph.add(work, &after)) };
    // SAFETY: as the caller promises.
    note(made.and_then(|made| unsafe { give("pGraphNode", node, made as *mut c_void) }))
}

/// Replaces what a node does.
///
/// # Safety
/// As for [`dushmem_emu_graph_add`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_node_set(node: *mut c_void, what: *const Node) -> c_int {
    let graph = model::graph_of(node as usize);
    // SAFETY: as the caller promises.
    note(unsafe { (*what).used(graph, |graph, work| graph.set(node as usize, work)) })
}

/// Replaces what the instantiation of a node does.
///
/// # Safety
/// As for [`dushmem_emu_graph_add`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_exec_set(
    graph: *mut c_void,
    node: *mut c_void,
    what: *const Node,
) -> c_int {
    let exec = exec::find(graph as usize);
    // SAFETY: as the caller promises.
    note(unsafe { (*what).used(exec, |exec, work| exec.set(node as usize, work)) })
}

/// Says what a node does.
///
/// # Safety
/// `what` is valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_node_get(node: *mut c_void, what: *mut Node) -> c_int {
    let get = || {
        let work = model::graph_of(node as usize)?.node(node as usize)?.work;
        // SAFETY: as the caller promises.
        let what = unsafe { &mut *what };
        what.kind = work.kind();
        match &work {
            Work::Kernel(kernel) => {
                what.launch.kernel = kernel.address as *const c_void;
                (what.launch.grid, what.launch.block) = (kernel.grid, kernel.block);
                (what.launch.shared, what.launch.flags) = (kernel.shared, u32::from(kernel.cooperative));
                what.arguments = kernel.arguments.addresses(kernel.parameters);
            }
            Work::Copy(copy) => {
                what.copy = Copy {
                    dest: copy.dest.base.cast(),
                    dest_pitch: copy.dest.pitch,
                    dest_plane: copy.dest_plane,
                    source: copy.source.base.cast(),
                    source_pitch: copy.source.pitch,
                    source_plane: copy.source_plane,
                    width: copy.width,
                    rows: copy.rows,
                    planes: copy.planes,
                    direction: copy.direction,
                };
            }
            Work::Fill(fill) => {
                let (dest, pitch) = (fill.dest.base.cast(), fill.dest.pitch);
                let FillWork { value, elem, width, rows, .. } = *fill;
                what.fill = Fill { dest, pitch, value, elem: elem as u32, width, rows };
            }
            Work::Host(host) => (what.function, what.data) = (Some(host.function), host.data),
            Work::Child(child) => what.child = child.handle() as *mut c_void,
            Work::Allocate(held) => (what.memory, what.bytes) = (held.base.cast(), held.len),
            Work::Free(base) => what.memory = *base as *mut c_void,
            Work::Engine(engine) => {
                let why = format!("node: {} has no parameters to tell", engine.call);
                return Err(Failure::new(Code::InvalidValue, why));
            }
            Work::Record(event) | Work::Wait(event) => what.event = event.handle() as *mut c_void,
            Work::Empty => {}
        }
        Ok(())
    };
    note(get())
}

/// The type of a node.
///
/// # Safety
/// `kind` is null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_node_kind(node: *mut c_void, kind: *mut c_int) -> c_int {
    let found = model::graph_of(node as usize).and_then(|graph| graph.node(node as usize));
    // SAFETY: as the caller promises.
    note(found.and_then(|found| unsafe { give("pType", kind, found.work.kind()) }))
}

/// The nodes of a graph; only those without dependencies if `roots`.
///
/// # Safety
/// `count` is null or valid; `nodes` is null or has `*count` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_graph_nodes(
    graph: *mut c_void,
    roots: c_int,
    nodes: *mut *mut c_void,
    count: *mut usize,
) -> c_int {
    let found = model::find(graph as usize).map(|g| if roots != 0 { g.roots() } else { g.nodes() });
    // SAFETY: as the caller promises.
    note(found.and_then(|found| unsafe { give_list(&found, nodes, count) }))
}

/// The dependencies of a graph.
///
/// # Safety
/// `count` is null or valid; `from` and `to` are null or have `*count` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_graph_edges(
    graph: *mut c_void,
    from: *mut *mut c_void,
    to: *mut *mut c_void,
    count: *mut usize,
) -> c_int {
    let edges = || {
        if from.is_null() != to.is_null() {
            return Err(null(if from.is_null() { "from" } else { "to" }));
        }
        let (starts, ends): (Vec<usize>, Vec<usize>) =
            model::find(graph as usize)?.edges().into_iter().unzip();
        // SAFETY: as the caller promises; the first call leaves the room there is in a copy.
        unsafe {
            let mut room = if count.is_null() { 0 } else { *count };
            give_list(&starts, from, &raw mut room)?;
            give_list(&ends, to, count)
        }
    };
    note(edges())
}

/// What a node depends on, or, if `dependents`, what depends on it.
///
/// # Safety
/// `count` is null or valid; `nodes` is null or has `*count` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_node_links(
    node: *mut c_void,
    dependents: c_int,
    nodes: *mut *mut c_void,
    count: *mut usize,
) -> c_int {
    let found = model::graph_of(node as usize).and_then(|graph| match dependents {
        0 => Ok(graph.node(node as usize)?.after),
        _ => graph.dependents(node as usize),
    });
    // SAFETY: as the caller promises.
    note(found.and_then(|found| unsafe { give_list(&found, nodes, count) }))
}

/// Adds (or, if `remove`, takes away) `count` dependencies.
///
/// # Safety
/// `from` and `to` have `count` entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_graph_connect(
    graph: *mut c_void,
    from: *const *mut c_void,
    to: *const *mut c_void,
    count: usize,
    remove: c_int,
) -> c_int {
    let connect = || {
        let graph = model::find(graph as usize)?;
        // SAFETY: as the caller promises.
        let (from, to) = unsafe { (list("from", from, count)?, list("to", to, count)?) };
        from.into_iter().zip(to).try_for_each(|(from, to)| match remove {
            0 => graph.connect(from, to),
            _ => graph.disconnect(from, to),
        })
    };
    note(connect())
}

/// Takes a node out of its graph.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_node_destroy(node: *mut c_void) -> c_int {
    note(model::graph_of(node as usize).and_then(|graph| graph.remove(node as usize)))
}

/// The copy of a node in a graph that was cloned from its own.
///
/// # Safety
/// `node` is null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_node_in_clone(
    node: *mut *mut c_void,
    original: *mut c_void,
    clone: *mut c_void,
) -> c_int {
    let found = model::find(clone as usize).and_then(|graph| graph.copy_of(original as usize));
    // SAFETY: as the caller promises.
    note(found.and_then(|found| unsafe { give("pNode", node, found as *mut c_void) }))
}

/// Instantiates a graph.
///
/// # Safety
/// `made` is null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_graph_instantiate(
    made: *mut *mut c_void,
    graph: *mut c_void,
    flags: u64,
) -> c_int {
    let make = || {
        if made.is_null() {
            return Err(null("pGraphExec"));
        }
        let exec = exec::instantiate(&*model::find(graph as usize)?, flags)?;
        // SAFETY: as the caller promises.
        unsafe { give("pGraphExec", made, exec as *mut c_void) }
    };
    note(make())
}

/// Puts a launch of an instantiated graph into a stream.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_graph_launch(graph: *mut c_void, on: *mut c_void) -> c_int {
    note(exec::find(graph as usize).and_then(|exec| exec.launch(&stream::find(on as usize)?)))
}

/// Fails unless it is an instantiated graph.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_exec_check(graph: *mut c_void) -> c_int {
    note(exec::find(graph as usize))
}

/// Destroys an instantiated graph.
#[unsafe(no_mangle)]
pub extern "C" fn dushmem_emu_exec_destroy(graph: *mut c_void) -> c_int {
    note(exec::destroy(graph as usize))
}

/// Has an instantiated graph do what the nodes of another graph of the same shape do. `result` gets 0 or why
/// not, `node` where.
///
/// # Safety
/// `result` and `node` are null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dushmem_emu_exec_update(
    exec: *mut c_void,
    graph: *mut c_void,
    result: *mut c_int,
    node: *mut *mut c_void,
) -> c_int {
    let update = || {
        let (exec, graph) = (exec::find(exec as usize)?, model::find(graph as usize)?);
        let (difference, at, failure) = match exec.update(&graph) {
            Ok(()) => (0, 0, None),
            Err((difference, at, failure)) => (difference as c_int, at, Some(failure)),
        };
        // SAFETY: as the caller promises.
        unsafe {
            if !result.is_null() {
                result.write(difference);
            }
            if !node.is_null() {
                node.write(at as *mut c_void);
            }
        }
        failure.map_or(Ok(()), Err)
    };
    note(update())
}

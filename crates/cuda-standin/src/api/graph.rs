//! Graphs.
use crate::call::set;
use crate::capture::{EXECS, Exec, GRAPHS, forbid};
use crate::code;
use crate::context::current;
use crate::stream::find;
use crate::work::Work;

driver! {
    fn cuGraphInstantiateWithFlags(found: *mut usize, graph: usize, flags: u64) {
        current()?;
        forbid()?;
        let graph = GRAPHS.get(graph, code::INVALID_VALUE)?;
        if found.is_null() || flags > 15 {
            return Err(code::INVALID_VALUE);
        }
        set(found, EXECS.add(Exec::new(&graph)))
    }

    fn cuGraphGetNodes(graph: usize, nodes: *mut usize, count: *mut usize) {
        let found = GRAPHS.get(graph, code::INVALID_VALUE)?.nodes.len();
        if !nodes.is_null() {
            for i in 0..found.min(crate::call::get(count)?) {
                set(nodes.wrapping_add(i), graph + 1 + i)?;
            }
        }
        set(count, found)
    }

    fn cuGraphLaunch(exec: usize, stream: usize) {
        let exec = EXECS.get(exec, code::INVALID_VALUE)?;
        find(stream)?.submit(Work::Graph(exec)).map(drop)
    }

    fn cuGraphExecDestroy(exec: usize) {
        EXECS.remove(exec, code::INVALID_VALUE).map(drop)
    }

    fn cuGraphDestroy(graph: usize) {
        GRAPHS.remove(graph, code::INVALID_VALUE).map(drop)
    }
}

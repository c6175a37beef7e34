//! One launch of a graph: which thread runs which node.
//!
//! The stream's worker runs nodes itself. Where several that may wait are ready at the same time, other
//! threads run all but one of them, so that they can wait for each other; those that can't wait are never
//! worth a thread.
use super::exec::Plan;
use super::pool;
use super::work::Work;
use crate::device;
use crate::event::Mark;
use dushmem_core::job::WaitRecord;
use dushmem_core::wait::wait_for;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// Nodes of a launch that run at the same time: as many grids as large devices run. More wait for their turn.
const MOST_AT_ONCE: usize = 128;

/// A node that could run: higher priority first (a smaller number), then the order of the graph.
type Ready = std::cmp::Reverse<(i32, u32)>;

struct Open {
    ready: BinaryHeap<Ready>,
    threads: usize,
}

struct Run {
    plan: Arc<Plan>,
    marks: Vec<Option<Arc<Mark>>>,
    /// For each node, how many it still has to wait for.
    left: Vec<AtomicU32>,
    open: Mutex<Open>,
    done: AtomicUsize,
    end: Mutex<()>,
    ended: Condvar,
}

/// Runs all nodes; returns when the last has ended. `marks` has an entry for each node.
pub(super) fn run(plan: Arc<Plan>, marks: Vec<Option<Arc<Mark>>>) {
    if plan.is_chain {
        for (step, mark) in plan.steps.iter().zip(&marks) {
            step.work.run(mark.as_deref());
        }
        return;
    }
    let total = plan.steps.len();
    let left = plan.steps.iter().map(|step| AtomicU32::new(step.waits_for)).collect();
    let roots = (0..total as u32).filter(|step| plan.steps[*step as usize].waits_for == 0).collect();
    let open = Mutex::new(Open { ready: BinaryHeap::new(), threads: 1 });
    let (done, end, ended) = (AtomicUsize::new(0), Mutex::new(()), Condvar::new());
    let run = Arc::new(Run { plan, marks, left, open, done, end, ended });
    run.work(roots);
    let all = || (run.done.load(Ordering::Acquire) == total).then_some(());
    wait_for(device::policy(), None, WaitRecord::default, all, |_nap| {
        let mut guard = run.end.lock().unwrap_or_else(|e| e.into_inner());
        while run.done.load(Ordering::Acquire) < total {
            guard = run.ended.wait(guard).unwrap_or_else(|e| e.into_inner());
        }
    });
}

impl Run {
    /// Runs nodes until none is ready. `ready` are this thread's to run or to hand over.
    fn work(self: &Arc<Self>, ready: Vec<u32>) {
        // Of the nodes that may wait, this thread keeps one.
        let (mut quick, mut slow) = (Vec::new(), None);
        self.sort(ready, &mut quick, &mut slow);
        while let Some(number) = quick.pop().or_else(|| slow.take()).or_else(|| self.take()) {
            let step = &self.plan.steps[number as usize];
            step.work.run(self.marks[number as usize].as_deref());
            let freed = |to: &&u32| self.left[**to as usize].fetch_sub(1, Ordering::AcqRel) == 1;
            self.sort(step.then.iter().filter(freed).copied().collect(), &mut quick, &mut slow);
            if self.done.fetch_add(1, Ordering::AcqRel) + 1 == self.plan.steps.len() {
                drop(self.end.lock());
                self.ended.notify_all();
            }
        }
    }

    fn rank(&self, number: u32) -> (i32, u32) {
        let priority = match &self.plan.steps[number as usize].work {
            Work::Kernel(kernel) => kernel.priority,
            _ => 0,
        };
        (priority, number)
    }

    /// Sorts ready nodes: those that can't wait, the one to go on with, and the others, for other threads.
    fn sort(self: &Arc<Self>, ready: Vec<u32>, quick: &mut Vec<u32>, slow: &mut Option<u32>) {
        let mut others = Vec::new();
        for number in ready {
            if !self.plan.steps[number as usize].work.may_wait() {
                quick.push(number);
                continue;
            }
            let better = slow.is_none_or(|kept| self.rank(number) < self.rank(kept));
            let other = if better { slow.replace(number) } else { Some(number) };
            others.extend(other);
        }
        if !others.is_empty() {
            self.hand_over(others);
        }
    }

    fn hand_over(self: &Arc<Self>, nodes: Vec<u32>) {
        let mut open = self.open.lock().unwrap_or_else(|e| e.into_inner());
        let more = nodes.len().min(MOST_AT_ONCE.saturating_sub(open.threads));
        open.ready.extend(nodes.iter().map(|number| std::cmp::Reverse(self.rank(*number))));
        open.threads += more;
        drop(open);
        for _ in 0..more {
            let run = Arc::clone(self);
            pool::start(Box::new(move || run.work(Vec::new())));
        }
    }

    /// A node that was handed over. None: this thread has nothing to do for this launch any more.
    fn take(&self) -> Option<u32> {
        let mut open = self.open.lock().unwrap_or_else(|e| e.into_inner());
        let taken = open.ready.pop();
        if taken.is_none() {
            open.threads -= 1;
        }
        taken.map(|std::cmp::Reverse((_, number))| number)
    }
}

//! Counts the nodes of an unbalanced tree; PEs that run out of work steal it from others.
//!
//!   cargo build --release -p dushmem --example work_stealing
//!   dushrun -n 8 target/release/examples/work_stealing
//!   dushrun -n 8 target/release/examples/work_stealing 1000000 --locks 1
//!
//! A node's number decides how many children it has, so nobody knows in advance where the work is. A PE keeps its
//! tasks in a deque of its own, which costs no synchronisation, and offers some of the oldest (they lead to the
//! largest trees) on a shelf in symmetric memory. One word says what lies there: `generation << 32 | tasks`.
//! Whoever lowers the number has taken the tasks at the end: by compare_swap, or with --locks 1 under the lock
//! of that shelf. The generation changes with each filling, so that a compare_swap that comes late fails. A
//! shelf is filled again when all that was taken has been copied, which the takers count in `copied`.
//!
//! The end: `busy` on PE 0 counts the PEs that have tasks, in the deque or on the shelf. A thief that sees tasks
//! adds itself before it takes them, so a task always belongs to a PE that is counted: 0 means that there are
//! none, and as only tasks make tasks there never will be. Nobody waits for anything that another PE may not do.
//!
//! The check: PE 0 counts the tree alone; number, depth, and checksum of the nodes must be the same, so no task
//! was lost or done twice.
use bytemuck::{Pod, Zeroable};
use dushmem::{Lock, Max, Result, Sum, Symmetric};
use program::{Report, Run, Setting, below, random_at};
use std::collections::VecDeque;
use std::process::ExitCode;
use std::time::{Duration, Instant};

mod program;

const SHELF: usize = 64;

fn main() -> ExitCode {
    let settings = [
        Setting("size", 1_000_000, 1..=1 << 40, "nodes of the tree, roughly"),
        Setting("grain", 20, 0..=1 << 30, "work in a node, in random numbers"),
        Setting("locks", 0, 0..=1, "1: tasks are taken under locks, 0: by compare_swap"),
    ];
    program::main(
        "work_stealing",
        "counts the nodes of an unbalanced tree",
        settings,
        |run, [size, grain, locks]| {
            let mut worker = Worker::new(run, Tree { size, grain }, locks == 1)?;
            run.barrier()?;
            let began = Instant::now();
            worker.work()?;
            run.barrier()?;
            let time = began.elapsed();
            let seen = worker.seen.of_all(run)?;
            let thefts = run.all(worker.thefts, Sum)?;
            if run.my_pe() == 0 {
                println!("{thefts} thefts");
                check(run, worker.tree, seen);
            }
            let Seen { nodes, depth, sum } = seen;
            let text = format!("{nodes} nodes, depth {depth}, checksum {sum:016x}");
            Ok(Report { text, items: nodes, unit: "nodes", time })
        },
    )
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Task {
    number: u64,
    depth: u64,
}

/// A tree of about `size` nodes; `grain` says how much work there is in each.
#[derive(Clone, Copy)]
struct Tree {
    size: u64,
    grain: u64,
}

/// What is known of the nodes visited.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Seen {
    nodes: u64,
    depth: u64,
    sum: u64,
}

impl Seen {
    /// What all PEs have seen. Collective.
    fn of_all(self, run: &Run<'_>) -> Result<Seen> {
        let Seen { nodes, depth, sum } = self;
        Ok(Seen { nodes: run.all(nodes, Sum)?, depth: run.all(depth, Max)?, sum: run.all(sum, Sum)? })
    }
}

impl Tree {
    /// Visits a node and pushes its children: the root has as many as it takes for a tree of about `size` nodes,
    /// others have 8 with a probability of 1 in 8.4, and mostly none.
    fn visit(self, task: Task, seen: &mut Seen, deque: &mut VecDeque<Task>) {
        let random = (0..=self.grain).fold(task.number, |random, _| random_at(1, random));
        seen.nodes += 1;
        seen.depth = seen.depth.max(task.depth);
        seen.sum = seen.sum.wrapping_add(random);
        let children = match task.depth {
            0 => self.size / 21 + 1,
            _ if below(random, 84) < 10 => 8,
            _ => 0,
        };
        let child = |i| Task { number: random_at(2, random.wrapping_add(i)), depth: task.depth + 1 };
        deque.extend((0..children).map(child));
    }
}

/// One PE's part of the search.
struct Worker<'w> {
    run: &'w Run<'w>,
    tree: Tree,
    seen: Seen,
    thefts: u64,
    deque: VecDeque<Task>,
    shelf: Symmetric<'w, [Task]>,
    lying: Symmetric<'w, u64>,
    copied: Symmetric<'w, u64>,
    /// Counts on PE 0.
    busy: Symmetric<'w, u64>,
    /// For the shelf of each PE; empty where there is no need of them.
    locks: Vec<Lock<'w>>,
    /// Fillings of the own shelf, and tasks laid there, so far.
    generation: u64,
    laid: u64,
}

impl<'w> Worker<'w> {
    fn new(run: &'w Run<'w>, tree: Tree, locks: bool) -> Result<Worker<'w>> {
        let root = Task { number: 0, depth: 0 };
        Ok(Worker {
            run,
            tree,
            seen: Seen::default(),
            thefts: 0,
            // PE 0 begins with the root.
            deque: (run.my_pe() == 0).then_some(root).into_iter().collect(),
            shelf: run.alloc_zeroed(SHELF)?,
            lying: run.alloc(0)?,
            copied: run.alloc(0)?,
            busy: run.alloc(1)?,
            locks: (0..if locks { run.n_pes() } else { 0 })
                .map(|_| run.alloc_lock())
                .collect::<Result<_>>()?,
            generation: 0,
            laid: 0,
        })
    }

    fn work(&mut self) -> Result<()> {
        let mut counted = self.run.my_pe() == 0;
        loop {
            while let Some(task) = self.deque.pop_back() {
                self.tree.visit(task, &mut self.seen, &mut self.deque);
                if self.deque.len() >= 8 && self.seen.nodes.is_multiple_of(16) {
                    self.offer()?;
                }
                if self.seen.nodes.is_multiple_of(1024) {
                    self.run.progress("nodes of PE 0", self.seen.nodes, self.tree.size);
                }
            }
            if self.take(self.run.my_pe())? > 0 {
                continue;
            }
            if counted {
                self.run.atomic_fetch_add(&self.busy, u64::MAX, 0)?; // one less
            }
            if !self.steal()? {
                return Ok(());
            }
            counted = true;
            self.thefts += 1;
        }
    }

    /// Takes half of what lies on PE `pe`'s shelf, or all of the own. Returns how many tasks that were.
    fn take(&mut self, pe: usize) -> Result<usize> {
        let mut taken = [Task::zeroed(); SHELF];
        let count = match self.locks.get(pe) {
            Some(lock) => lock.with(|| self.copy_from_shelf(pe, &mut taken))?,
            None => self.copy_from_shelf(pe, &mut taken)?,
        };
        self.deque.extend(&taken[..count]);
        Ok(count)
    }

    fn copy_from_shelf(&self, pe: usize, taken: &mut [Task]) -> Result<usize> {
        let run = self.run;
        let mut word = run.atomic_fetch(&self.lying, pe)?;
        let (there, count) = loop {
            let there = word & 0xffff_ffff;
            let count = if pe == run.my_pe() { there } else { there.div_ceil(2) };
            if count == 0 {
                return Ok(0);
            }
            if !self.locks.is_empty() {
                // Nobody else changes it, and giving the lock back completes this.
                run.atomic_set(&self.lying, word - count, pe)?;
                break (there as usize, count);
            }
            match run.atomic_compare_swap(&self.lying, word, word - count, pe)? {
                seen if seen == word => break (there as usize, count),
                seen => word = seen,
            }
        };
        let copies = count as usize;
        run.get(&mut taken[..copies], &self.shelf[there - copies..there], pe)?;
        run.atomic_fetch_add(&self.copied, count, pe)?;
        Ok(copies)
    }

    /// Lays the oldest tasks on the own shelf, if it is empty and what was taken from it has been copied.
    fn offer(&mut self) -> Result<()> {
        let (run, me) = (self.run, self.run.my_pe());
        if run.atomic_fetch(&self.copied, me)? != self.laid {
            return Ok(());
        }
        let count = (self.deque.len() / 2).min(SHELF);
        for (place, task) in self.shelf.iter().zip(self.deque.drain(..count)) {
            place.store(task);
        }
        self.laid += count as u64;
        self.generation += 1;
        let word = self.generation << 32 | count as u64;
        run.fence()?; // the tasks before the word
        let fill = || run.atomic_swap(&self.lying, word, me);
        match self.locks.get(me) {
            Some(lock) => lock.with(fill)?,
            None => fill()?,
        };
        Ok(())
    }

    /// Looks for tasks at the others' until it has some, or there are none anywhere.
    fn steal(&mut self) -> Result<bool> {
        let (run, me, n) = (self.run, self.run.my_pe(), self.run.n_pes());
        let mut pause = Duration::from_micros(1);
        for round in 0.. {
            let first = below(random_at(3, (me as u64) << 32 | (self.thefts + round)), n as u64) as usize;
            for pe in (first..n).chain(0..first).filter(|&pe| pe != me) {
                if run.atomic_fetch(&self.lying, pe)? & 0xffff_ffff == 0 {
                    continue;
                }
                run.atomic_fetch_inc(&self.busy, 0)?;
                if self.take(pe)? > 0 {
                    return Ok(true);
                }
                run.atomic_fetch_add(&self.busy, u64::MAX, 0)?;
            }
            if run.atomic_fetch(&self.busy, 0)? == 0 {
                return Ok(false);
            }
            std::thread::sleep(pause); // the CPU is for those who have work
            pause = (2 * pause).min(Duration::from_micros(500));
        }
        Ok(false)
    }
}

/// Counts the tree alone, and compares.
fn check(run: &Run<'_>, tree: Tree, seen: Seen) {
    let mut alone = Seen::default();
    let mut deque = VecDeque::from([Task { number: 0, depth: 0 }]);
    while let Some(task) = deque.pop_back() {
        tree.visit(task, &mut alone, &mut deque);
        if alone.nodes.is_multiple_of(1024) {
            run.progress("nodes of the check", alone.nodes, seen.nodes);
        }
    }
    if seen != alone {
        run.wrong(format!("should be {alone:x?}"));
    }
}

/// Each of these is run by `crates/dushmem/tests/programs.rs`.
#[cfg(test)]
mod tests {
    use super::*;

    fn noted(damage: impl Fn(&mut Worker<'_>) + Sync) -> u64 {
        program::noted(|run| {
            let mut worker = Worker::new(run, Tree { size: 1000, grain: 1 }, false)?;
            damage(&mut worker);
            worker.work()?;
            let seen = worker.seen.of_all(run)?;
            if run.my_pe() == 0 {
                check(run, worker.tree, seen);
            }
            Ok(())
        })
    }

    #[test]
    fn a_task_that_was_lost_or_done_twice_is_noted() {
        assert_eq!(noted(|_| ()), 0);
        assert_eq!(noted(|worker| worker.deque.clear()), 1);
        assert_eq!(noted(|worker| worker.deque.extend(worker.deque.back().copied())), 1);
    }
}

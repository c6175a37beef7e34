//! Collectives of PEs that take turns on a device: meetings, and between them work that waits for nobody.
//!
//! A process that has something to run on the device needs a turn, which costs more than the work of most collectives. So
//! the first member on a device works for all members on it, in its own stream; the others' streams only meet.
use super::kernels::{COMBINE_ADDRESSES, Computes};
use dushmem_core::coll::reduce::{ElementKind, ReduceOp, part};

/// What one member's stream does.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "device addresses, and lengths")]
pub enum Step {
    /// Nobody goes on before all have come here.
    Meet,
    Copy {
        dest: u64,
        source: u64,
        bytes: usize,
    },
    Combine {
        sources: Vec<u64>,
        dests: Vec<u64>,
        n: usize,
        elem: usize,
        what: Computes,
    },
}

/// Where the members' buffers are, by rank.
#[derive(Clone, Debug)]
pub struct Places {
    /// This member.
    pub me: usize,
    /// First bytes of the destinations.
    pub dests: Vec<u64>,
    /// First bytes of the sources.
    pub sources: Vec<u64>,
    /// Who does a member's part.
    pub worker: Vec<usize>,
}

impl Places {
    fn n(&self) -> usize {
        self.dests.len()
    }

    /// Members whose part this one does.
    fn mine(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.n()).filter(|&rank| self.worker[rank] == self.me)
    }

    /// Whether one member works for all.
    fn alone(&self) -> bool {
        self.worker.iter().all(|&worker| worker == self.worker[0])
    }
}

/// A copy from one place to several: from three on, a kernel reads the source once.
fn spread(steps: &mut Vec<Step>, source: u64, dests: Vec<u64>, bytes: usize) {
    let dests: Vec<u64> = dests.into_iter().filter(|&dest| dest != source).collect();
    let aligned = dests.iter().chain([&source]).all(|at| at % 8 == 0) && bytes.is_multiple_of(8);
    if bytes == 0 {
        return;
    }
    if aligned && (3..COMBINE_ADDRESSES).contains(&dests.len()) {
        let what = Computes { kind: ElementKind::U64, op: ReduceOp::Or };
        steps.push(Step::Combine { sources: vec![source], dests, n: bytes / 8, elem: 8, what });
    } else {
        steps.extend(dests.into_iter().map(|dest| Step::Copy { dest, source, bytes }));
    }
}

/// Exchanges the contents of two places without a third.
fn swap(steps: &mut Vec<Step>, a: u64, b: u64, bytes: usize) {
    let wide = a.is_multiple_of(8) && b.is_multiple_of(8) && bytes.is_multiple_of(8);
    let (kind, elem) = if wide { (ElementKind::U64, 8) } else { (ElementKind::U8, 1) };
    let what = Computes { kind, op: ReduceOp::Xor };
    for into in [a, b, a] {
        steps.push(Step::Combine { sources: vec![a, b], dests: vec![into], n: bytes / elem, elem, what });
    }
}

fn framed(work: impl FnOnce(&mut Vec<Step>)) -> Vec<Step> {
    let mut steps = vec![Step::Meet];
    work(&mut steps);
    steps.push(Step::Meet);
    steps
}

/// The root's data to all.
pub fn broadcast(places: &Places, root: usize, bytes: usize) -> Vec<Step> {
    framed(|steps| {
        if places.worker[root] == places.me {
            spread(steps, places.sources[root], places.dests.clone(), bytes);
        }
    })
}

/// Everybody's block to all.
pub fn fcollect(places: &Places, bytes: usize) -> Vec<Step> {
    framed(|steps| {
        for rank in places.mine() {
            let dests = places.dests.iter().map(|dest| dest + (rank * bytes) as u64).collect();
            spread(steps, places.sources[rank], dests, bytes);
        }
    })
}

/// A block from each to each.
pub fn alltoall(places: &Places, bytes: usize, in_place: bool) -> Vec<Step> {
    let block = |all: &[u64], rank: usize, block: usize| all[rank] + (block * bytes) as u64;
    framed(|steps| {
        for rank in places.mine().filter(|_| bytes > 0) {
            for other in 0..places.n() {
                let (to, from) = (block(&places.dests, other, rank), block(&places.sources, rank, other));
                if !in_place {
                    steps.push(Step::Copy { dest: to, source: from, bytes });
                } else if other > rank {
                    swap(steps, to, from, bytes);
                }
            }
        }
    })
}

/// Elements of all, combined, to all. In place is safe: a part is read and written by one kernel, element by element.
pub fn reduce(places: &Places, n: usize, elem: usize, what: Computes) -> Vec<Step> {
    framed(|steps| {
        let mut combine = |from: usize, to: usize| {
            let at = |all: &[u64]| all.iter().map(|at| at + (from * elem) as u64).collect();
            let (sources, dests) = (at(&places.sources), at(&places.dests));
            if to > from {
                steps.push(Step::Combine { sources, dests, n: to - from, elem, what });
            }
        };
        if places.alone() {
            if places.worker[0] == places.me {
                combine(0, n);
            }
        } else {
            places.mine().map(|rank| part(n, places.n(), rank)).for_each(|(from, to)| combine(from, to));
        }
    })
}

/// Block `rank` of all, combined, to the member of that rank.
pub fn reduce_scatter(places: &Places, n: usize, elem: usize, what: Computes, in_place: bool) -> Vec<Step> {
    framed(|steps| {
        let combine = |steps: &mut Vec<Step>, rank: usize| {
            let sources = places.sources.iter().map(|at| at + (rank * n * elem) as u64).collect();
            let dests = vec![places.dests[rank]];
            if n > 0 {
                steps.push(Step::Combine { sources, dests, n, elem, what });
            }
        };
        // In place every result lies where the first member's operands do, so those have to be read first.
        if places.worker[0] == places.me {
            combine(steps, 0);
        }
        if in_place && !places.alone() {
            steps.push(Step::Meet);
        }
        places.mine().filter(|&rank| rank != 0).for_each(|rank| combine(steps, rank));
    })
}

#[cfg(test)]
#[path = "tests/turns.rs"]
mod tests;

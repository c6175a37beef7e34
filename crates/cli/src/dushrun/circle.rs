//! PEs that wait for each other for ever.
//!
//! Told is only what is certain: each of the PEs has all its threads in waits of the library that have lasted for long, and
//! all that could end these waits are such PEs too. A thread that is anywhere else, of a PE or of a process that a PE has
//! started, may do so some time, however long it sleeps; so may a kernel, a stream, or a PE that is stopped.
use dushmem_boot::job::{JobPage, PeState, WaitRecord, WaitSlot};
use dushmem_os::process;
use std::time::Duration;

/// Waits that have lasted for less may be about to end.
const LONG: Duration = Duration::from_secs(3);
/// How often to look.
pub const LOOK: Duration = Duration::from_secs(1);
/// So many looks in a row have to find the same waits.
const LOOKS: u32 = 3;
/// The library's own threads that do nothing for other PEs, by as much of their names as the kernel keeps.
const IDLE: [&str; 3] = ["dushmem-watch", "dushmem watch", "dushmem watchdo"];

/// Signals whose handlers no program uses to go on: those of its own mistakes, of its user and terminal, of children that have
/// ended and of closed pipes, and the two of the C library. Others may come from a timer.
const HARMLESS: u64 = {
    let mut all = 0u64;
    let mut signals: &[u32] = &[1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 15, 17, 18, 20, 28, 31, 32, 33];
    while let [signal, rest @ ..] = signals {
        all |= 1 << (*signal - 1);
        signals = rest;
    }
    all
};

/// A PE and when one of its waits began.
type Wait = (usize, u64);

/// What was found so far.
#[derive(Debug, Default)]
pub struct Circles {
    last: Vec<Wait>,
    times: u32,
    /// What was told; a circle that others join is not told again.
    told: Vec<Wait>,
}

impl Circles {
    /// Looks once more. Gives the PEs that wait for ever, once. `over`: those that have ended. `process`: that of a PE which
    /// runs, unless something keeps it from running. `alone`: whether PEs are all that belongs to the job.
    pub fn look(
        &mut self,
        page: &JobPage,
        over: &[bool],
        process: impl Fn(usize) -> Option<u32>,
        alone: impl FnOnce() -> bool,
    ) -> Option<Vec<usize>> {
        let found = stuck(page, over, process);
        if found.is_empty() || found != self.last {
            self.times = 0;
        }
        self.times += u32::from(!found.is_empty());
        self.last = found;
        let is_told = self.last.iter().any(|wait| self.told.contains(wait));
        if self.times < LOOKS || is_told || !alone() {
            return None;
        }
        self.told.clone_from(&self.last);
        let mut pes: Vec<usize> = self.last.iter().map(|(pe, _)| *pe).collect();
        pes.dedup();
        Some(pes)
    }
}

/// All noted waits of a PE; none where it may be somewhere else as well.
fn waits(page: &JobPage, pe: usize) -> Vec<(WaitRecord, u64)> {
    let slots = page.card(pe).waits();
    let waits: Vec<_> = slots.iter().filter_map(|slot| slot.read()).collect();
    let live = slots.iter().filter(|slot| slot.read().is_some()).all(WaitSlot::is_live);
    let now = dushmem_os::clock::monotonic_ns();
    let counts = |(record, since): &(WaitRecord, u64)| {
        !record.in_stream() && !record.in_kernel() && now.saturating_sub(*since) >= LONG.as_nanos() as u64
    };
    let all = live && page.card(pe).state() == PeState::Joined && waits.iter().all(counts);
    if all { waits } else { Vec::new() }
}

/// Takes out PEs that one outside may let go on, until none is left.
fn close(stuck: &mut [Vec<(WaitRecord, u64)>], over: &[bool]) {
    loop {
        let free = |pe: usize| stuck[pe].is_empty() && !over[pe];
        let freed = |(record, _): &(WaitRecord, u64)| match record.members.all() {
            Some(pes) => pes.iter().any(|pe| free(*pe as usize)),
            // Of a larger team, or a word that any PE may write.
            None => (0..stuck.len()).any(free),
        };
        let Some(pe) = stuck.iter().position(|waits| waits.iter().any(freed)) else { return };
        stuck[pe].clear();
    }
}

/// The waits that nobody can end.
fn stuck(page: &JobPage, over: &[bool], process: impl Fn(usize) -> Option<u32>) -> Vec<Wait> {
    let waits_of = |pe: usize| if over[pe] { Vec::new() } else { waits(page, pe) };
    let mut stuck: Vec<Vec<(WaitRecord, u64)>> = (0..over.len()).map(waits_of).collect();
    close(&mut stuck, over);
    // Only now, since it takes long.
    for (pe, waits) in stuck.iter_mut().enumerate().filter(|(_, waits)| !waits.is_empty()) {
        let handles = |pid: &u32| process::caught_signals(*pid).is_none_or(|caught| caught & !HARMLESS != 0);
        let pid = process(pe).filter(|pid| !handles(pid));
        let asleep = pid.and_then(process::tasks).is_some_and(|tasks| {
            let others = tasks.iter().filter(|task| !IDLE.contains(&&*task.name)).count();
            others == waits.len() && tasks.iter().all(|task| task.sleeps && !task.has_children)
        });
        // What has ended meanwhile, and what has begun.
        if !asleep || waits_of(pe) != *waits {
            waits.clear();
        }
    }
    close(&mut stuck, over);
    let each = stuck.iter().enumerate();
    each.flat_map(|(pe, waits)| waits.iter().map(move |(_, since)| (pe, *since))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dushmem_boot::Call;
    use dushmem_boot::job::{IN_KERNEL, Made, Members};

    fn sync(pes: &[u32]) -> WaitRecord {
        let (call, members) = (Call::TeamSync as u32, Members::new(Made::Listed, pes));
        WaitRecord { call, team: 4102, awaited: -1, members, ..WaitRecord::default() }
    }

    fn word() -> WaitRecord {
        WaitRecord {
            call: Call::WaitUntil as u32,
            team: -1,
            awaited: -1,
            address: 8,
            ..WaitRecord::default()
        }
    }

    /// PEs that are left, of some of which the waits are these, and some of which have ended.
    fn left(waits: &[&[WaitRecord]], over: &[usize]) -> Vec<usize> {
        let mut stuck: Vec<Vec<_>> =
            waits.iter().map(|waits| waits.iter().map(|wait| (*wait, 1)).collect()).collect();
        let over: Vec<bool> = (0..waits.len()).map(|pe| over.contains(&pe)).collect();
        close(&mut stuck, &over);
        (0..waits.len()).filter(|pe| !stuck[*pe].is_empty()).collect()
    }

    #[test]
    fn who_may_be_let_go_on_is_in_no_circle() {
        // Two teams, in each of which the other one is missing; PE 2 computes.
        assert_eq!(left(&[&[sync(&[0, 1])], &[sync(&[1, 0])], &[]], &[]), [0, 1]);
        // It may come to the second, or write the word.
        assert!(left(&[&[sync(&[0, 1])], &[sync(&[1, 2])], &[]], &[]).is_empty());
        assert!(left(&[&[sync(&[0, 1])], &[word()], &[]], &[]).is_empty());
        // Not if it has ended, or waits as well.
        assert_eq!(left(&[&[sync(&[0, 1])], &[word()], &[]], &[2]), [0, 1]);
        assert_eq!(left(&[&[sync(&[0, 1])], &[word()], &[sync(&[0, 2])]], &[]), [0, 1, 2]);
        // One thread of PE 1 may be let go on, and do something for the other PEs.
        assert!(left(&[&[sync(&[0, 1])], &[sync(&[1, 0]), sync(&[1, 2])], &[]], &[]).is_empty());
        // Members that are too many to be noted may be any.
        let many: Vec<u32> = (0..9).collect();
        assert!(left(&[&[sync(&many)], &[sync(&[0, 1])], &[]], &[]).is_empty());
    }

    #[test]
    fn waits_count_that_have_lasted_and_are_all_that_a_pe_does() {
        let (_memory, page) = dushmem_boot::launcher::job_memory(1).unwrap();
        let (slots, now) = (page.card(0).waits(), dushmem_os::clock::monotonic_ns());
        let long = now - LONG.as_nanos() as u64;
        slots[0].show(Some((word(), long)));
        page.set_state(0, PeState::Joined);
        assert!(waits(&page, 0).is_empty(), "nobody looks at what was noted");
        slots[0].looks();
        assert_eq!(waits(&page, 0).len(), 1);
        page.set_state(0, PeState::Finalized);
        assert!(waits(&page, 0).is_empty(), "it is not in the job");
        page.set_state(0, PeState::Joined);
        for (record, since) in [(word(), now), (WaitRecord { call: word().call | IN_KERNEL, ..word() }, long)]
        {
            slots[1].show(Some((record, since)));
            slots[1].looks();
            assert!(waits(&page, 0).is_empty(), "{record:?}");
        }
        // This process has other threads than the one.
        slots[1].show(None);
        assert!(stuck(&page, &[false], |_| Some(std::process::id())).is_empty());
        assert!(stuck(&page, &[false], |_| None).is_empty());
        assert_eq!(stuck(&page, &[true], |_| None), []);
    }
}

//! Teams without a parent: made by exactly their members, who find each other by a number.
//!
//! The number says at which PE's *desk* they meet: a few entries at the beginning of its internals. A member
//! enters its PE number and its rank in a list there; whoever comes last finds out whether the list is right.
//! Then the members are a provisional team, in a slot that is kept for this, and split the real one off it. The
//! PE whose desk it is has no part in it.
use crate::atomics::{AtomicU32, AtomicU64, Ordering, park};
use crate::error::{Call, Error, Result};
use crate::job::{Made, WaitRecord};
use crate::sync::tag;
use crate::team::Team;
use crate::wait::wait_for;
use crate::world::World;
use std::time::Duration;

/// Where the meeting part of the internals begins, behind the doorbell.
pub(crate) const OFFSET: usize = 512;

/// The slot of provisional teams: below the program's, unused otherwise.
const SLOT: usize = 4;

/// Teams that can be in the making at one desk, and calls that one PE can be in.
const ENTRIES: usize = 32;
const NODES: usize = 24;

/// Most members of a team.
const MAX_MEMBERS: usize = 65_535;

/// State of an entry.
mod state {
    pub const GATHERING: u32 = 0;
    pub const COMPLETE: u32 = 1;
    pub const FAILED: u32 = 2;
    /// Made: kept to find a member that comes later with another count.
    pub const MADE: u32 = 3;
}

/// What was found wrong.
#[repr(u32)]
#[derive(Clone, Copy)]
enum Fault {
    /// Members give different counts: one, another.
    Counts = 1,
    /// A rank is not below the count: rank, count.
    Rank = 2,
    /// Two members have one rank: rank, PE.
    Twice = 3,
    /// A PE comes twice: PE.
    SamePe = 4,
}

/// A member's place on a list.
#[derive(PartialEq)]
enum Part {
    /// None: the team had failed, or this member made it fail.
    None,
    Member,
    /// The one that completes the list.
    Last,
}

/// A list of members that is being written.
#[repr(C, align(64))]
struct Entry {
    state: AtomicU32,
    /// Members on the list, and those of them that have seen that it failed.
    came: AtomicU32,
    gone: AtomicU32,
    fault: AtomicU32,
    /// 0: free. Otherwise the number plus 1.
    key: AtomicU64,
    count: AtomicU64,
    /// The member that came last: PE << 32 | node + 1; 0 for none.
    last: AtomicU64,
    a: AtomicU64,
    b: AtomicU64,
}

/// What a member says.
#[repr(C)]
struct Node {
    taken: AtomicU32,
    rank: AtomicU32,
    /// As [`Entry::last`].
    next: AtomicU64,
}

/// This part of the internals of a PE. All-zero bytes are the initial state.
#[repr(C, align(64))]
pub(crate) struct Meeting {
    /// The PE's part in a provisional team is taken.
    busy: AtomicU32,
    /// Somebody writes at the desk.
    locked: AtomicU32,
    nodes: [Node; NODES],
    entries: [Entry; ENTRIES],
}

// loom's atomics are larger.
#[cfg(not(loom))]
const _: () = assert!(OFFSET + size_of::<Meeting>() <= 4096 && size_of::<crate::wait::Doorbell>() <= OFFSET);

impl World {
    fn meeting(&self, pe: usize) -> &Meeting {
        // SAFETY: in the first page of a slice's internals, of atomics for which any bytes are valid.
        unsafe { &*(self.window().peer(self.internals().doorbell + OFFSET, pe) as *const Meeting) }
    }

    /// A number for a team to be made by [`World::team_init`], different from all others of the job. Local.
    pub fn team_unique_id(&self) -> Result<u64> {
        self.check_alive()?;
        Ok((self.my_pe() as u64 + 1) << 44 | self.next_team_id())
    }

    /// Makes a team of `npes` PEs, of which this one has the number `index`. Collective over exactly these, all of
    /// which pass the same `unique_id`: no parent, and no other PE, has a part in it. What is wrong with the
    /// numbers is the same error on all members. A number serves one team at a time, and none after a failure.
    pub fn team_init(&self, unique_id: u64, npes: i32, index: i32) -> Result<i32> {
        self.check_alive()?;
        let key = unique_id.wrapping_add(1);
        if key == 0 {
            let why = "no number to meet under; get one from team_get_uniqueid";
            return Err(Error::BadValue { arg: "config.uniqueid", value: -1, why });
        }
        let desk = self.meeting(tag(&[unique_id]) as usize % self.n_pes() as usize);
        let node = self.take_node()?;
        let came = self.come(desk, key, npes, index, node);
        let (entry, part) = came.inspect_err(|_| self.node(node).taken.store(0, Ordering::Release))?;
        if part == Part::Last {
            self.take_parts(entry);
            entry.tell(state::COMPLETE);
        }
        let record = || WaitRecord {
            call: Call::TeamInit as u32,
            team: -1,
            awaited: -1,
            detail: npes as u64,
            ..WaitRecord::default()
        };
        let over = || match entry.state.load(Ordering::Acquire) {
            state::GATHERING => None,
            now => Some(now),
        };
        let nap = |nap: Duration| park::wait(&entry.state, state::GATHERING, Some(nap));
        let outcome = wait_for(self.policy(), Some(self.wait_slot()), record, over, nap);
        if outcome == state::FAILED {
            self.node(node).taken.store(0, Ordering::Release);
            let error = entry.error(unique_id);
            if part == Part::Member {
                entry.gone.fetch_add(1, Ordering::Release);
            }
            return Err(error);
        }
        // Lists are read before anybody's part is given back, which is after all members have met.
        let mut pes = vec![0u32; npes as usize].into_boxed_slice();
        self.walk(entry, |pe, node| pes[node.rank.load(Ordering::Relaxed) as usize] = pe as u32);
        let line = self.slot_line(SLOT, pes[0] as usize);
        let provisional = Team::new(SLOT as i32, SLOT, pes, index as usize, line, Made::Met(unique_id));
        let everybody = vec![(0..npes as usize).collect()];
        let made =
            self.split_groups(&provisional, &everybody, [unique_id, 3, npes as u64], Made::Met(unique_id));
        // All have read the list by now. A member that has left may come again with the same number.
        if index == 0 {
            self.locked(desk, || entry.state.store(state::MADE, Ordering::Release));
        }
        // The slot is used by another team next, so nobody may be reading in it.
        let left = self.synchronise(&provisional, Call::TeamInit, tag(&[Call::TeamInit as u64]), 0);
        self.node(node).taken.store(0, Ordering::Release);
        self.meeting(self.my_pe() as usize).busy.store(0, Ordering::Release);
        left?;
        made?.ok_or(Error::BadTeam { handle: -1, why: "not made for this PE" })
    }

    /// Enters this member at the desk.
    fn come<'a>(
        &self,
        desk: &'a Meeting,
        key: u64,
        npes: i32,
        index: i32,
        node: usize,
    ) -> Result<(&'a Entry, Part)> {
        self.locked(desk, || {
            let with = |key: u64| desk.entries.iter().find(|e| e.key.load(Ordering::Relaxed) == key);
            // Teams that are made, or not to be, stay for those that come late, until their place is needed.
            let over = |e: &&Entry| match e.state.load(Ordering::Relaxed) {
                state::FAILED => e.gone.load(Ordering::Acquire) == e.came.load(Ordering::Relaxed),
                now => now == state::MADE,
            };
            let (early, late) = desk.entries.split_at(key as usize % ENTRIES);
            let old = || late.iter().chain(early).find(over);
            let Some(entry) = with(key).or_else(|| with(0)).or_else(old) else {
                let why = format!("{ENTRIES} teams are being made at the same time; make fewer at once");
                return Err(Error::NotSupported(why));
            };
            let (same, count) = (entry.key.load(Ordering::Relaxed) == key, npes as u64);
            let again = entry.state.load(Ordering::Relaxed) == state::MADE;
            if !same || (again && entry.count.load(Ordering::Relaxed) == count) {
                entry.clear();
                entry.count.store(count, Ordering::Relaxed);
                entry.key.store(key, Ordering::Release);
            } else if entry.state.load(Ordering::Relaxed) == state::FAILED {
                return Ok((entry, Part::None));
            }
            let (me, count) = (self.my_pe() as usize, entry.count.load(Ordering::Relaxed));
            if u64::from(entry.came.load(Ordering::Relaxed)) == count && count > 0 {
                // Those who have made the team, or are about to, are not to be disturbed.
                return Err(Fault::Counts.error(key - 1, count, npes as u64));
            }
            let most = (self.n_pes() as usize).min(MAX_MEMBERS) as u64;
            let mut fault = match () {
                _ if count != npes as u64 => Some((Fault::Counts, count, npes as u64)),
                _ if !(1..=most).contains(&count) || !(0..npes).contains(&index) => {
                    Some((Fault::Rank, index as u64, npes as u64))
                }
                _ => None,
            };
            self.walk(entry, |pe, other| {
                if pe == me {
                    fault = Some((Fault::SamePe, pe as u64, 0));
                } else if other.rank.load(Ordering::Relaxed) == index as u32 {
                    fault = Some((Fault::Twice, index as u64, pe as u64));
                }
            });
            if let Some((fault, a, b)) = fault {
                entry.fault.store(fault as u32, Ordering::Relaxed);
                entry.a.store(a, Ordering::Relaxed);
                entry.b.store(b, Ordering::Relaxed);
                entry.tell(state::FAILED);
                return Ok((entry, Part::None));
            }
            let own = self.node(node);
            own.rank.store(index as u32, Ordering::Relaxed);
            own.next.store(entry.last.load(Ordering::Relaxed), Ordering::Relaxed);
            entry.last.store((me as u64) << 32 | (node as u64 + 1), Ordering::Relaxed);
            let came = entry.came.fetch_add(1, Ordering::Relaxed) + 1;
            Ok((entry, if came == npes as u32 { Part::Last } else { Part::Member }))
        })
    }

    /// Takes every member's part in a provisional team, in the order of the PEs, so that several teams with common
    /// members get on one after the other.
    fn take_parts(&self, entry: &Entry) {
        let mut pes = Vec::new();
        self.walk(entry, |pe, _| pes.push(pe));
        pes.sort_unstable();
        for pe in pes {
            self.take(&self.meeting(pe).busy);
        }
    }

    /// Calls `each` with every member of a list that nobody writes.
    fn walk(&self, entry: &Entry, mut each: impl FnMut(usize, &Node)) {
        let mut at = entry.last.load(Ordering::Relaxed);
        while at != 0 {
            let pe = (at >> 32) as usize;
            let node = &self.meeting(pe).nodes[(at as u32 - 1) as usize];
            each(pe, node);
            at = node.next.load(Ordering::Relaxed);
        }
    }

    fn node(&self, node: usize) -> &Node {
        &self.meeting(self.my_pe() as usize).nodes[node]
    }

    /// A node for one call of this PE.
    fn take_node(&self) -> Result<usize> {
        let nodes = &self.meeting(self.my_pe() as usize).nodes;
        let free =
            |node: &Node| node.taken.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        nodes.iter().position(free).ok_or_else(|| {
            Error::NotSupported(format!("{NODES} threads of this PE make teams already; make fewer at once"))
        })
    }

    fn locked<R>(&self, desk: &Meeting, change: impl FnOnce() -> R) -> R {
        self.take(&desk.locked);
        let changed = change();
        desk.locked.store(0, Ordering::Release);
        changed
    }

    /// Sets a word from 0 to 1, however long that takes. Held for moments, or for the making of a team.
    fn take(&self, word: &AtomicU32) {
        let record =
            || WaitRecord { call: Call::TeamInit as u32, team: -1, awaited: -1, ..WaitRecord::default() };
        let ready = || word.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).ok();
        let nap = |nap: Duration| park::wait(word, 1, Some(nap.min(Duration::from_millis(1))));
        wait_for(self.policy(), None, record, ready, nap);
    }
}

impl Entry {
    fn clear(&self) {
        for word in [&self.state, &self.came, &self.gone, &self.fault] {
            word.store(0, Ordering::Relaxed);
        }
        for word in [&self.count, &self.last, &self.a, &self.b, &self.key] {
            word.store(0, Ordering::Release);
        }
    }

    fn tell(&self, outcome: u32) {
        self.state.store(outcome, Ordering::Release);
        park::wake_all(&self.state);
    }

    /// What all members are told.
    fn error(&self, unique_id: u64) -> Error {
        let (a, b) = (self.a.load(Ordering::Relaxed), self.b.load(Ordering::Relaxed));
        let number = self.fault.load(Ordering::Relaxed);
        let all = [Fault::Counts, Fault::Rank, Fault::Twice];
        let fault = all.into_iter().find(|&fault| fault as u32 == number);
        fault.unwrap_or(Fault::SamePe).error(unique_id, a, b)
    }
}

impl Fault {
    fn error(self, unique_id: u64, a: u64, b: u64) -> Error {
        let what = match self {
            Fault::Counts if a == b => format!("all {a} members have come already"),
            Fault::Counts => format!("npes is {} for one member and {} for another", a as i32, b as i32),
            Fault::Rank => {
                format!(
                    "a member has pe_idx {} of npes = {}, which is no team of this job",
                    a as i32, b as i32
                )
            }
            Fault::Twice => format!("pe_idx {a} is that of PE {b} and of another member"),
            Fault::SamePe => format!("PE {a} calls twice for one team"),
        };
        let text = format!("team of unique id {unique_id:#x}: {what}; get a new id for the next attempt");
        Error::Disagreement { text }.found_at(unique_id)
    }
}

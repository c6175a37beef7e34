//! Teams (OpenSHMEM section 9.4): ordered lists of PEs with synchronisation state of their own.
//!
//! The state lies in a *team slot* of the internals. All members of a team use the same slot number, so a
//! member finds everybody's slot by address arithmetic; the counted line of rank 0 is the one used.
//! Creating a team is collective over its parent only: the parent's members exchange which slots they have
//! free, and all compute the same answer.
use crate::coll::slot::{PAYLOAD, TeamSlot};
use crate::error::{Call, Error, Result};
use crate::sync::{SyncLine, tag};
use crate::world::World;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Handles of the predefined teams, as NVSHMEM numbers them.
pub mod handles {
    /// No team.
    pub const INVALID: i32 = -1;
    /// All PEs.
    pub const WORLD: i32 = 0;
    /// PEs that can load and store each other's heap.
    pub const SHARED: i32 = 1;
    /// PEs of this node.
    pub const NODE: i32 = 2;
    /// PEs with this local number, one a node.
    pub const SAME_MYPE_NODE: i32 = 3;
    /// First slot of the program's own teams.
    pub const FIRST_USER: usize = 6;
}

/// Low bits of a handle: the slot. The bits above tell successive teams in one slot apart.
const SLOT_BITS: u32 = 12;

/// A team that this PE is a member of.
#[derive(Debug)]
pub struct Team {
    handle: i32,
    slot: usize,
    me: usize,
    pes: Box<[u32]>,
    /// Synchronisations so far, as counted by rank 0's line.
    epoch: AtomicU32,
    meets: Meets,
    destroyed: AtomicBool,
}

/// What the members synchronise with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Meets {
    /// Rank 0's line in its team slot, in mapped internals that outlive the team.
    Slot(*const SyncLine),
    /// The `pSync` array of an active set: each member's own copy of a symmetric object.
    Array(*mut i64),
}

// SAFETY: the line consists of atomics in memory that the world keeps mapped; the array is used through the
// engine's atomics, which check it.
unsafe impl Send for Team {}
// SAFETY: as above.
unsafe impl Sync for Team {}

impl Team {
    /// The number that C programs hold.
    pub fn handle(&self) -> i32 {
        self.handle
    }

    /// This PE's number in the team.
    pub fn my_pe(&self) -> i32 {
        self.me as i32
    }

    /// Number of members.
    pub fn n_pes(&self) -> i32 {
        self.pes.len() as i32
    }

    /// World PE of a member.
    pub fn world_pe(&self, rank: i32) -> Option<usize> {
        usize::try_from(rank).ok().and_then(|rank| self.pes.get(rank)).map(|&pe| pe as usize)
    }

    /// Rank of a world PE.
    pub fn rank_of(&self, world: usize) -> Option<usize> {
        self.pes.iter().position(|&pe| pe as usize == world)
    }

    /// World PEs of the members, in order of rank.
    pub fn pes(&self) -> &[u32] {
        &self.pes
    }

    pub(crate) fn me(&self) -> usize {
        self.me
    }

    pub(crate) fn slot(&self) -> usize {
        self.slot
    }

    /// The members of an active set, which have nothing in common but their `pSync` array.
    pub(crate) fn active_set(pes: Box<[u32]>, me: usize, psync: *mut i64) -> Team {
        Team {
            handle: handles::INVALID,
            slot: usize::MAX,
            me,
            pes,
            epoch: AtomicU32::new(0),
            meets: Meets::Array(psync),
            destroyed: AtomicBool::new(false),
        }
    }

    #[inline]
    pub(crate) fn meets(&self) -> Meets {
        self.meets
    }

    /// True where members have payload buffers for that many bytes.
    #[inline]
    pub(crate) fn carries(&self, bytes: usize) -> bool {
        bytes <= PAYLOAD && matches!(self.meets, Meets::Slot(_))
    }

    /// Number of the next synchronisation.
    pub(crate) fn next_epoch(&self) -> u32 {
        // Collectives of one team are not called by two threads at a time, so load and store suffice.
        let epoch = self.epoch.load(Ordering::Relaxed).wrapping_add(1);
        self.epoch.store(epoch, Ordering::Relaxed);
        epoch
    }
}

/// The teams of one PE, by slot.
#[derive(Debug)]
pub(crate) struct Teams {
    slots: RwLock<Vec<Entry>>,
}

#[derive(Clone, Debug, Default)]
struct Entry {
    team: Option<Arc<Team>>,
    /// Chosen by a split that has not ended yet.
    reserved: bool,
    generation: u32,
}

impl Teams {
    pub(crate) fn new(slots: usize) -> Teams {
        Teams { slots: RwLock::new(vec![Entry::default(); slots]) }
    }

    fn get(&self, handle: i32) -> Result<Arc<Team>> {
        let bad = |why| Error::BadTeam { handle, why };
        if handle == handles::INVALID {
            return Err(bad("the invalid team; the call that made it failed, or this PE is not a member"));
        }
        let slot = (handle as u32 & ((1 << SLOT_BITS) - 1)) as usize;
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        match slots.get(slot).and_then(|entry| entry.team.as_ref()) {
            Some(team) if team.handle == handle => Ok(Arc::clone(team)),
            Some(_) => Err(bad("a team that was destroyed")),
            None if slot < handles::FIRST_USER || handle < 0 => Err(bad("not a team")),
            None => Err(bad("not a team, or one that was destroyed")),
        }
    }

    /// One bit a slot, set where free for the program's teams.
    fn free_bits(&self) -> Vec<u64> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let mut bits = vec![0u64; slots.len().div_ceil(64)];
        for (i, entry) in slots.iter().enumerate().skip(handles::FIRST_USER) {
            if entry.team.is_none() && !entry.reserved {
                bits[i / 64] |= 1 << (i % 64);
            }
        }
        bits
    }

    /// Keeps a slot from other threads. False where one of them was faster.
    fn reserve(&self, slot: usize) -> bool {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let entry = &mut slots[slot];
        let free = entry.team.is_none() && !entry.reserved;
        entry.reserved |= free;
        free
    }

    fn unreserve(&self, slot: usize) {
        self.slots.write().unwrap_or_else(PoisonError::into_inner)[slot].reserved = false;
    }

    pub(crate) fn insert(&self, slot: usize, pes: Box<[u32]>, me: usize, line: *const SyncLine) -> Arc<Team> {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let entry = &mut slots[slot];
        if slot >= handles::FIRST_USER {
            entry.generation = (entry.generation + 1) & 0x3ffff;
        }
        let handle = (slot as u32 | entry.generation << SLOT_BITS) as i32;
        // SAFETY: the caller's line is mapped.
        let epoch = AtomicU32::new(unsafe { &*line }.released_epoch());
        let team = Arc::new(Team {
            handle,
            slot,
            me,
            pes,
            epoch,
            meets: Meets::Slot(line),
            destroyed: AtomicBool::new(false),
        });
        entry.team = Some(Arc::clone(&team));
        entry.reserved = false;
        team
    }

    fn remove(&self, slot: usize) {
        self.slots.write().unwrap_or_else(PoisonError::into_inner)[slot].team = None;
    }
}

impl World {
    /// The team of that handle, if this PE is a member.
    pub fn team(&self, handle: i32) -> Result<Arc<Team>> {
        self.check_alive()?;
        self.teams().get(handle)
    }

    /// An error after finalize, and for a team that was destroyed: its slot may be another team's by now.
    #[inline(always)]
    pub(crate) fn check_team(&self, team: &Team) -> Result<()> {
        if team.destroyed.load(Ordering::Relaxed) {
            return Err(Error::BadTeam { handle: team.handle, why: "a team that was destroyed" });
        }
        self.check_alive()
    }

    /// Splits off the team of the parent's PEs `start, start + stride, ...`, `size` of them. The stride may
    /// be negative, and is irrelevant for one PE. Collective over the parent; gives the new team's handle to
    /// its members and `None` to the parent's other PEs. Fails on all of them alike.
    pub fn split_strided(&self, parent: &Team, start: i32, stride: i32, size: i32) -> Result<Option<i32>> {
        self.check_team(parent)?;
        let of = "the parent team";
        let n = parent.n_pes();
        let last = i64::from(start) + i64::from(stride) * (i64::from(size) - 1);
        let wrong = match () {
            _ if size < 1 => Some(("size", size, "a team has at least one PE")),
            _ if size > n => Some(("size", size, "more PEs than the parent team has")),
            _ if stride == 0 && size > 1 => {
                Some(("stride", stride, "zero is possible for a team of one PE only"))
            }
            _ if start < 0 || start >= n || last < 0 || last >= i64::from(n) => {
                Some(("start", start, "start + (size - 1) * stride is no PE of the parent team"))
            }
            _ => None,
        };
        let ranks: Vec<usize> = match wrong {
            None => {
                (0..i64::from(size)).map(|i| (i64::from(start) + i * i64::from(stride)) as usize).collect()
            }
            Some(_) => Vec::new(),
        };
        let made = self.split_list(parent, &ranks, [start as u64, stride as u64, size as u64]);
        match wrong {
            Some(("start", value, _)) if value < 0 || value >= n => {
                made.and(Err(Error::BadPe { arg: "start", pe: value, n: n as usize, of }))
            }
            Some((arg, value, why)) => made.and(Err(Error::BadValue { arg, value: value.into(), why })),
            None => made,
        }
    }

    /// Splits off the team of the parent's PEs `ranks`, in that order; with no ranks only checks that all
    /// of the parent's PEs made the same call. Collective over the parent.
    pub fn split_list(&self, parent: &Team, ranks: &[usize], what: [u64; 3]) -> Result<Option<i32>> {
        let sign = tag(&[Call::TeamSplit as u64, what[0], what[1], what[2]]);
        let member = ranks.iter().position(|&rank| rank == parent.me());
        // Other threads of a member may split other teams meanwhile, so a slot that all members had free may
        // be gone; then all choose again, and begin to look at another place, not to meet in lockstep.
        for attempt in 0.. {
            let Some(slot) = self.choose_slot(parent, ranks, sign, what[2], attempt)? else {
                return Ok(None);
            };
            let mine = member.is_none() || self.teams().reserve(slot);
            let all = self.exchange(parent, Call::TeamSplit, sign, what[2], &[mine.into()]);
            let made = all.as_ref().is_ok_and(|all| all.iter().all(|&got| got == 1));
            if let (Some(me), true) = (member, made) {
                let pes: Box<[u32]> = ranks.iter().map(|&rank| parent.pes()[rank]).collect();
                let line = self.slot_line(slot, pes[0] as usize);
                return Ok(Some(self.teams().insert(slot, pes, me, line).handle()));
            }
            if member.is_some() && mine {
                self.teams().unreserve(slot);
            }
            if all.map(|_| made)? {
                return Ok(None);
            }
        }
        unreachable!("attempts do not end")
    }

    /// A slot that all members-to-be have free, the same on all PEs of the parent; `None` without ranks.
    fn choose_slot(
        &self,
        parent: &Team,
        ranks: &[usize],
        sign: u32,
        detail: u64,
        attempt: usize,
    ) -> Result<Option<usize>> {
        let mine = self.teams().free_bits();
        let bytes: Vec<u8> = mine.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let all = self.exchange(parent, Call::TeamSplit, sign, detail, &bytes)?;
        if ranks.is_empty() {
            return Ok(None);
        }
        let mut common = vec![u64::MAX; mine.len()];
        for &rank in ranks {
            let theirs = &all[rank * bytes.len()..(rank + 1) * bytes.len()];
            for (word, bits) in common.iter_mut().zip(theirs.chunks_exact(8)) {
                *word &= u64::from_ne_bytes(bits.try_into().unwrap_or_default());
            }
        }
        let free: Vec<usize> =
            (0..mine.len() * 64).filter(|&slot| common[slot / 64] >> (slot % 64) & 1 == 1).collect();
        if free.is_empty() {
            let (what, variable) = ("team slots of a PE", "DUSHMEM_TEAM_SLOTS");
            return Err(Error::Exhausted { what, limit: self.team_slots(), variable });
        }
        let skip = attempt.min(1) * tag(&[parent.slot() as u64, attempt as u64]) as usize;
        Ok(Some(free[skip % free.len()]))
    }

    /// Destroys a team. Collective over its members.
    pub fn team_destroy(&self, handle: i32) -> Result<()> {
        let team = self.team(handle)?;
        if team.slot() < handles::FIRST_USER {
            let why = "a predefined team, which lives as long as the library";
            return Err(Error::BadTeam { handle, why });
        }
        // Nobody may use the slot anew while another member is still in a collective.
        let agreed = self.synchronise(&team, Call::TeamDestroy, tag(&[Call::TeamDestroy as u64]), 0);
        team.destroyed.store(true, Ordering::Relaxed);
        self.teams().remove(team.slot());
        agreed
    }

    /// The number in `dest` of PE `pe` of `source`, or -1.
    pub fn translate_pe(&self, source: &Team, pe: i32, dest: &Team) -> i32 {
        source.world_pe(pe).and_then(|world| dest.rank_of(world)).map_or(-1, |rank| rank as i32)
    }

    fn slot_line(&self, slot: usize, pe: usize) -> *const SyncLine {
        // SAFETY: the slot lies in mapped internals.
        unsafe { &raw const (*self.team_slot(slot, pe)).line }
    }

    /// Makes the predefined teams.
    pub(crate) fn make_predefined_teams(&self) -> Arc<Team> {
        let (me, n) = (self.my_pe() as usize, self.n_pes() as u32);
        let everybody: Box<[u32]> = (0..n).collect();
        let mapped = self.is_mapped();
        let shared: Box<[u32]> = if mapped { everybody.clone() } else { Box::new([me as u32]) };
        let insert = |slot: i32, pes: Box<[u32]>| {
            let rank = pes.iter().position(|&pe| pe as usize == me).unwrap_or(0);
            let line = self.slot_line(slot as usize, pes[0] as usize);
            self.teams().insert(slot as usize, pes, rank, line)
        };
        insert(handles::SHARED, shared);
        insert(handles::NODE, everybody.clone());
        insert(handles::SAME_MYPE_NODE, Box::new([me as u32]));
        insert(handles::WORLD, everybody)
    }

    pub(crate) fn team_slot(&self, slot: usize, pe: usize) -> *mut TeamSlot {
        let own = self.internals().slots + slot * size_of::<TeamSlot>();
        self.window().peer(own, pe) as *mut TeamSlot
    }
}

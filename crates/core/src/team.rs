//! Teams (OpenSHMEM section 9.4): ordered lists of PEs with synchronisation state of their own.
//!
//! The state lies in a *team slot* of the internals. All members of a team use the same slot number, so a
//! member finds everybody's slot by address arithmetic; the counted line of rank 0 is the one used.
//! Teams are made by [`crate::split`], which is collective over a parent only, and by [`crate::meeting`], which
//! needs no parent.
use crate::coll::agreed::{Agreed, Order};
use crate::coll::device_slot::DeviceSlot;
use crate::coll::slot::{Epoch, TeamSlot};
use crate::device::KernelTeam;
use crate::env::DebugLevel;
use crate::error::{Call, Error, Result};
use crate::job::{Made, Members};
use crate::kernel_teams::KernelTeams;
use crate::sync::{SyncLine, tag};
use crate::world::World;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

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
pub(crate) const SLOT_BITS: u32 = 12;

/// What a program asks of a team when it makes it (section 9.4.3). Stored for those who ask; contexts can be
/// made whatever it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TeamConfig {
    /// Contexts that the program means to make on the team.
    pub num_contexts: i32,
    /// The number under which its members have met, where they did.
    pub unique_id: u64,
}

impl TeamConfig {
    /// The number that stands for none.
    pub const NO_ID: u64 = u64::MAX;
}

impl Default for TeamConfig {
    fn default() -> Self {
        TeamConfig { num_contexts: 0, unique_id: Self::NO_ID }
    }
}

/// A team that this PE is a member of.
#[derive(Debug)]
pub struct Team {
    handle: i32,
    slot: usize,
    me: usize,
    pes: Box<[u32]>,
    /// What wait records say of it.
    members: Members,
    /// Synchronisations so far, as counted by rank 0's line.
    epoch: AtomicU32,
    /// The last of them that this member knows all to have arrived at.
    released: AtomicU32,
    /// How many all have waited for, and agreed on.
    turn: AtomicU32,
    /// Broadcasts that may run ahead.
    agreed: Agreed,
    roots: Order,
    meets: Meets,
    /// What a member of an active set has announced last: call, detail, argument. Others are told that where they differ.
    said: [AtomicU64; 3],
    /// Bytes up to which data travel in payload buffers: the same on all members.
    small: usize,
    /// What its members' kernels began to count at.
    kernel_base: u64,
    destroyed: AtomicBool,
    config: Mutex<TeamConfig>,
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
    /// A team in a slot. The line, that of rank 0's slot, has to stay mapped as long as the team is used.
    pub(crate) fn new(
        handle: i32,
        slot: usize,
        pes: Box<[u32]>,
        me: usize,
        line: *const SyncLine,
        made: Made,
    ) -> Team {
        // SAFETY: the caller's line is mapped.
        let epoch = unsafe { &*line }.released_epoch();
        let (destroyed, config) = (AtomicBool::new(false), Mutex::default());
        Team {
            handle,
            slot,
            me,
            members: Members::new(made, &pes),
            pes,
            epoch: AtomicU32::new(epoch),
            released: AtomicU32::new(epoch),
            turn: AtomicU32::new(0),
            agreed: Agreed::new(),
            roots: Order::new(),
            meets: Meets::Slot(line),
            said: Default::default(),
            small: 0,
            kernel_base: 0,
            destroyed,
            config,
        }
    }

    /// The same, with payload buffers for messages of up to `small` bytes, and kernels that count from `base` on.
    pub(crate) fn carrying(self, small: usize, base: u64) -> Team {
        Team { small, kernel_base: base, ..self }
    }

    /// What its members' kernels began to count at.
    pub(crate) fn kernel_base(&self) -> u64 {
        self.kernel_base
    }

    /// What the program asked of the team.
    pub fn config(&self) -> TeamConfig {
        *self.config.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what the program asks of the team. Known to this PE only.
    pub fn set_config(&self, config: TeamConfig) {
        *self.config.lock().unwrap_or_else(PoisonError::into_inner) = config;
    }

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

    pub(crate) fn members(&self) -> Members {
        self.members
    }

    pub(crate) fn me(&self) -> usize {
        self.me
    }

    /// Its place in tables by team: the same on all members, and another team's when this one is destroyed.
    pub fn slot(&self) -> usize {
        self.slot
    }

    /// The members of an active set, which have nothing in common but their `pSync` array.
    pub(crate) fn active_set(pes: Box<[u32]>, me: usize, psync: *mut i64) -> Team {
        Team {
            handle: handles::INVALID,
            slot: usize::MAX,
            me,
            members: Members::new(Made::ActiveSet, &pes),
            pes,
            epoch: AtomicU32::new(0),
            released: AtomicU32::new(0),
            turn: AtomicU32::new(0),
            agreed: Agreed::none(),
            roots: Order::none(),
            meets: Meets::Array(psync),
            said: Default::default(),
            small: 0,
            kernel_base: 0,
            destroyed: AtomicBool::new(false),
            config: Mutex::default(),
        }
    }

    /// Notes what this member of an active set announces.
    pub(crate) fn say(&self, what: [u64; 3]) {
        self.said.iter().zip(what).for_each(|(word, value)| word.store(value, Ordering::Relaxed));
    }

    /// What it has announced last.
    pub(crate) fn said(&self) -> [u64; 3] {
        std::array::from_fn(|i| self.said[i].load(Ordering::Relaxed))
    }

    #[inline]
    pub(crate) fn meets(&self) -> Meets {
        self.meets
    }

    /// True where that many bytes travel in the members' payload buffers.
    #[inline]
    pub(crate) fn carries(&self, bytes: usize) -> bool {
        bytes <= self.small && matches!(self.meets, Meets::Slot(_))
    }

    /// Number of the next synchronisation.
    pub(crate) fn next_epoch(&self) -> Epoch {
        // Collectives of one team are not called by two threads at a time, so load and store suffice.
        let number = self.epoch.load(Ordering::Relaxed).wrapping_add(1);
        self.epoch.store(number, Ordering::Relaxed);
        Epoch { number, turn: self.next_turn() }
    }

    /// The synchronisation that this member has arrived at last, for [`Error::found_at`].
    #[cold]
    pub(crate) fn place(&self) -> u64 {
        self.place_of(self.epoch.load(Ordering::Relaxed))
    }

    /// Synchronisation `epoch`: of all that go by the line of rank 0 in this slot.
    #[cold]
    pub(crate) fn place_of(&self, epoch: u32) -> u64 {
        u64::from(self.pes[0]) << (32 + SLOT_BITS) | (self.slot as u64) << 32 | u64::from(epoch)
    }

    /// The next synchronisation, where this member has arrived at some that not all have.
    pub(crate) fn first_behind(&self, released: u32) -> Option<u32> {
        let ahead = self.epoch.load(Ordering::Relaxed).wrapping_sub(released) as i32;
        (ahead > 0).then(|| released.wrapping_add(1))
    }

    /// Which buffers the next synchronisation uses.
    #[inline]
    pub(crate) fn next_turn(&self) -> u32 {
        self.turn.load(Ordering::Relaxed)
    }

    /// The last synchronisation that this member knows all to have arrived at.
    #[inline]
    pub(crate) fn released(&self) -> u32 {
        self.released.load(Ordering::Relaxed)
    }

    /// All have arrived at synchronisation `number`.
    #[inline]
    pub(crate) fn saw(&self, number: u32) {
        self.released.store(number, Ordering::Relaxed);
    }

    /// All have waited for the same synchronisation: the next one uses the other buffers.
    #[inline]
    pub(crate) fn turn(&self, epoch: Epoch) {
        self.turn.store(epoch.turn ^ 1, Ordering::Relaxed);
    }

    /// Broadcasts that may run ahead.
    #[inline]
    pub(crate) fn agreed(&self) -> &Agreed {
        &self.agreed
    }

    /// Who is root after whom.
    #[inline]
    pub(crate) fn roots(&self) -> &Order {
        &self.roots
    }
}

/// The teams of one PE, by slot.
#[derive(Debug)]
pub(crate) struct Teams {
    slots: RwLock<Vec<Entry>>,
    kernels: KernelTeams,
    /// What [`Team::carries`] goes by.
    small: usize,
}

#[derive(Clone, Debug, Default)]
struct Entry {
    team: Option<Arc<Team>>,
    /// Chosen by a split that has not ended yet.
    reserved: bool,
    generation: u32,
}

impl Teams {
    pub(crate) fn new(slots: usize, small: usize) -> Teams {
        let kernels = KernelTeams::new(slots);
        Teams { slots: RwLock::new(vec![Entry::default(); slots]), kernels, small }
    }

    pub(crate) fn get(&self, handle: i32) -> Result<Arc<Team>> {
        let bad = |why| Error::BadTeam { handle, why };
        if handle == handles::INVALID {
            return Err(bad(
                "the invalid team (TEAM_INVALID); the call that made it failed, or this PE is not a member",
            ));
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
    pub(crate) fn free_bits(&self) -> Vec<u64> {
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
    pub(crate) fn reserve(&self, slot: usize) -> bool {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let entry = &mut slots[slot];
        let free = entry.team.is_none() && !entry.reserved;
        entry.reserved |= free;
        free
    }

    pub(crate) fn unreserve(&self, slot: usize) {
        self.slots.write().unwrap_or_else(PoisonError::into_inner)[slot].reserved = false;
    }

    pub(crate) fn insert(
        &self,
        slot: usize,
        pes: Box<[u32]>,
        me: usize,
        line: *const SyncLine,
        base: u64,
        made: Made,
    ) -> Arc<Team> {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let entry = &mut slots[slot];
        if slot >= handles::FIRST_USER {
            entry.generation = (entry.generation + 1) & 0x3ffff;
        }
        let handle = (slot as u32 | entry.generation << SLOT_BITS) as i32;
        let team = Arc::new(Team::new(handle, slot, pes, me, line, made).carrying(self.small, base));
        entry.team = Some(Arc::clone(&team));
        entry.reserved = false;
        team
    }

    /// The team in that slot.
    pub(crate) fn in_slot(&self, slot: usize) -> Option<Arc<Team>> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots.get(slot)?.team.clone()
    }

    /// All teams.
    pub(crate) fn each(&self) -> Vec<Arc<Team>> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots.iter().filter_map(|entry| entry.team.clone()).collect()
    }

    /// What kernels know of the teams.
    pub(crate) fn kernels(&self) -> &KernelTeams {
        &self.kernels
    }

    fn remove(&self, slot: usize) {
        self.kernels.withdraw(slot);
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
        // SAFETY: the own slot, in mapped internals; all have read by now, and no other team has it yet.
        unsafe { (*self.team_slot(team.slot(), self.my_pe() as usize)).posts.clear() };
        self.note(DebugLevel::Info, || format!("team {handle:#x} destroyed"));
        self.withdraw_on_device(team.slot());
        self.teams().remove(team.slot());
        agreed
    }

    /// The number in `dest` of PE `pe` of `source`, or -1.
    pub fn translate_pe(&self, source: &Team, pe: i32, dest: &Team) -> i32 {
        source.world_pe(pe).and_then(|world| dest.rank_of(world)).map_or(-1, |rank| rank as i32)
    }

    pub(crate) fn slot_line(&self, slot: usize, pe: usize) -> *const SyncLine {
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
            self.add_team(slot as usize, pes, rank, 0, Made::Otherwise)
        };
        insert(handles::SHARED, shared);
        insert(handles::NODE, everybody.clone());
        insert(handles::SAME_MYPE_NODE, Box::new([me as u32]));
        insert(handles::WORLD, everybody)
    }

    /// Makes the team of the world's PEs `pes`, of which this one is number `me`. Its members' kernels count from
    /// `base` on, which is at least what [`DeviceSlot::high_water`] gives on each of them.
    pub(crate) fn add_team(
        &self,
        slot: usize,
        pes: Box<[u32]>,
        me: usize,
        base: u64,
        made: Made,
    ) -> Arc<Team> {
        let line = self.slot_line(slot, pes[0] as usize);
        self.device_slot(slot).begin(base);
        // SAFETY: in the own internals.
        unsafe { &*self.device_slot(slot).calls() }.begin(base);
        let team = self.teams().insert(slot, pes, me, line, base, made);
        let (slot, direct) = (self.device_slot(slot), self.reaches_all_of(&team));
        self.teams().kernels().publish(&team, slot, self.n_pes() as usize, direct);
        self.publish_on_device(&team);
        team
    }

    /// Whether kernels load and store the memory of the members, who are few enough for that: see
    /// [`KernelTeam::DIRECT`]. Which PEs they reach depends on the job, so all members find the same.
    pub fn reaches_all_of(&self, team: &Team) -> bool {
        team.pes().len() <= KernelTeam::MOST_DIRECT
            && team.pes().iter().all(|&pe| self.kernels_reach(pe as usize))
    }

    /// The table of teams for kernels: by slot, changed where it lies as teams come and go.
    pub fn kernel_teams(&self) -> (*const KernelTeam, usize) {
        self.teams().kernels().table()
    }

    /// This PE's part of a team slot that kernels use.
    pub(crate) fn device_slot(&self, slot: usize) -> DeviceSlot {
        let pes = self.n_pes() as usize;
        // SAFETY: in the mapped internals, which have room for all of them.
        unsafe { DeviceSlot::new(self.internals().device_slots + slot * DeviceSlot::bytes(pes), pes) }
    }

    pub(crate) fn team_slot(&self, slot: usize, pe: usize) -> *mut TeamSlot {
        let own = self.internals().slots + slot * size_of::<TeamSlot>();
        self.window().peer(own, pe) as *mut TeamSlot
    }
}

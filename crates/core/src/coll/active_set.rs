//! Active sets: the collectives of OpenSHMEM before teams (section 9.10, deprecated forms).
//!
//! The members of an active set are known from the arguments of the call alone, and only they make it, so
//! all that they can meet in is the `pSync` array that each of them passes. The first member counts arrivals
//! in a word of its array. The last to arrive sets that word back, then releases every member by a word of
//! the member's own array, which the member sets back before it returns. So the array holds its initial
//! values again when a call returns, and the same array can be used again at once by the same set.
//!
//! All accesses go through the engine's atomics: the array is an ordinary symmetric object, which may be in
//! static data, and need not be reachable by load and store.
use super::barrier::{disagreement, wait_record};
use super::slot::Announced;
use crate::amo::AmoOp;
use crate::error::{Call, Error, Result};
use crate::sync::{all_with, arrival, arrived};
use crate::team::Team;
use crate::triple::Triple;
use crate::until::WaitInt;
use crate::world::World;

/// Elements of a `pSync` array that a program provides: the `..._SYNC_SIZE` constants.
pub const SYNC_SIZE: usize = 8;

/// Word of the first member's array at which all arrive: a count of 16 bits above a sum of tags.
const ARRIVED: usize = 0;
/// Word of each member's array by which it is released.
const RELEASED: usize = 1;
/// Word of each member's array that it shows to the others.
const SHOWN: usize = 2;
/// The first of the three words in which it shows what it has announced, where members differ.
const SAID: usize = 3;

/// Values of the word [`RELEASED`].
const SAME: u64 = 1;
const DIFFER: u64 = 2;

impl World {
    /// The active set of the PEs `start, start + 2^log_stride, ...`, `size` of them, to which this PE must
    /// belong. `psync` is the own copy of a symmetric array of [`SYNC_SIZE`] elements.
    pub fn active_set(&self, start: i32, log_stride: i32, size: i32, psync: *mut i64) -> Result<Team> {
        self.check_alive()?;
        let n = self.n_pes();
        let values = [start, log_stride, size].map(i64::from);
        let triple = Triple { names: ["PE_start", "logPE_stride", "PE_size"], values };
        if size < 1 {
            return Err(triple.wrong("an active set has at least one PE"));
        }
        if !(0..31).contains(&log_stride) {
            return Err(triple.wrong("logPE_stride is the base-2 logarithm of the stride, 0 to 30"));
        }
        if let Some(error) = triple.outside(1 << log_stride, n, "this job", self.launch_hint()) {
            return Err(error);
        }
        let pes: Box<[u32]> = (0..size as u32).map(|i| start as u32 + (i << log_stride)).collect();
        let me = self.my_pe();
        let Some(me) = pes.iter().position(|&pe| pe as i32 == me) else {
            let why =
                format_args!("PE {me}, which calls, is no member of this active set; only members call");
            return Err(triple.wrong(why));
        };
        self.own_range("pSync", psync as usize, SYNC_SIZE * size_of::<i64>(), size_of::<i64>())
            .map_err(Error::without_length)?;
        let first = self.shown(psync, ARRIVED);
        let untouched = if me == 0 { arrived(first) < u64::from(size as u32) } else { first == 0 };
        if !untouched || self.shown(psync, RELEASED) != 0 || self.shown(psync, SHOWN) != 0 {
            let why = "an element is not SHMEM_SYNC_VALUE: initialise the array on all PEs, and use another \
                       one while a collective of other PEs may still be using it";
            return Err(Error::BadAddress { arg: "pSync", addr: psync as usize, why });
        }
        Ok(Team::active_set(pes, me, psync))
    }

    /// A word of the own array.
    fn shown(&self, psync: *mut i64, word: usize) -> u64 {
        // SAFETY: inside the own array, which was checked.
        unsafe { u64::load(psync.cast::<u64>().add(word)) }
    }

    /// An atomic operation on a word of a member's array, complete when it returns.
    fn in_array(&self, psync: *mut i64, word: usize, op: AmoOp, value: u64, pe: u32) -> Result<u64> {
        // SAFETY: inside the array, which was checked here; the members' are the same object.
        unsafe {
            let word = psync.cast::<u64>().add(word);
            self.amo(self.default_context(), word, op, value, 0, pe as i32)
        }
    }

    /// One synchronisation of an active set.
    pub(super) fn meet_in_array(&self, team: &Team, psync: *mut i64, call: Call, sign: u32) -> Result<()> {
        if self.all_meet_in_array(team, psync, call, sign)? {
            return Ok(());
        }
        Err(self.differ_in_array(team, psync, call)?)
    }

    /// The same; false, on all of them, where they have not come with the same tag.
    fn all_meet_in_array(&self, team: &Team, psync: *mut i64, call: Call, sign: u32) -> Result<bool> {
        // What this thread has stored is visible to whoever sees it arrive.
        crate::order::full_barrier();
        let (members, mine) = (team.pes().len() as u64, arrival(sign));
        let sum = self.in_array(psync, ARRIVED, AmoOp::Add, mine, team.pes()[0])?.wrapping_add(mine);
        if arrived(sum) == members {
            let same = all_with(sum, members, sign);
            self.in_array(psync, ARRIVED, AmoOp::Swap, 0, team.pes()[0])?;
            for &pe in team.pes() {
                let verdict = if same { SAME } else { DIFFER };
                self.in_array(psync, RELEASED, AmoOp::Swap, verdict, pe)?;
            }
        }
        let verdict = self.wait_as(wait_record(team, call as u32, -1, SAME), || {
            Some(self.shown(psync, RELEASED)).filter(|&verdict| verdict != 0)
        });
        self.in_array(psync, RELEASED, AmoOp::Swap, 0, self.my_pe() as u32)?;
        Ok(verdict == SAME)
    }

    /// What members are told that differ: each shows what it has announced, while nobody goes on.
    #[cold]
    fn differ_in_array(&self, team: &Team, psync: *mut i64, call: Call) -> Result<Error> {
        let own = self.my_pe() as u32;
        let meet = || self.all_meet_in_array(team, psync, call, SAID as u32);
        for (word, value) in team.said().into_iter().enumerate() {
            self.in_array(psync, SAID + word, AmoOp::Swap, value, own)?;
        }
        meet()?;
        let said = |pe: u32| {
            let word = |at| self.in_array(psync, SAID + at, AmoOp::Fetch, 0, pe);
            Ok(Announced { call: word(0)? as u32, detail: word(1)?, argument: word(2)?, empty_calls: 0 })
        };
        let all = team.pes().iter().map(|&pe| said(pe)).collect::<Result<Vec<_>>>()?;
        meet()?;
        for word in SAID..SAID + 3 {
            self.in_array(psync, word, AmoOp::Swap, 0, own)?;
        }
        let text = disagreement(team, |rank| all[rank], |_, _| String::new());
        let text = format!("in the active set that begins with PE {}, {text}", team.pes()[0]);
        Ok(Error::Disagreement { text })
    }

    /// Each member contributes one number; gives everybody's, by rank.
    pub(super) fn exchange_in_array(
        &self,
        team: &Team,
        psync: *mut i64,
        call: Call,
        sign: u32,
        mine: u64,
    ) -> Result<Vec<u64>> {
        self.announce(team, call, 0, 0);
        self.in_array(psync, SHOWN, AmoOp::Swap, mine, self.my_pe() as u32)?;
        self.meet_in_array(team, psync, call, sign)?;
        let all: Result<Vec<u64>> =
            team.pes().iter().map(|&pe| self.in_array(psync, SHOWN, AmoOp::Fetch, 0, pe)).collect();
        self.meet_in_array(team, psync, call, sign)?;
        self.in_array(psync, SHOWN, AmoOp::Swap, 0, self.my_pe() as u32)?;
        all
    }
}

//! Making teams out of the PEs of another one (OpenSHMEM sections 9.4.6 and 9.4.7).
//!
//! Collective over the parent only: its members exchange which slots they have free, and all compute the same
//! answer. Teams without common members, such as the rows of a grid, are made by one call.
use crate::coll::announced;
use crate::env::DebugLevel;
use crate::error::{Call, Error, Result};
use crate::job::Made;
use crate::sync::tag;
use crate::team::Team;
use crate::triple::Triple;
use crate::world::World;

/// What a member says about the slot that was chosen for its team.
mod vote {
    pub const LOST: u8 = 0;
    pub const RESERVED: u8 = 1;
}

/// The teams that a splitting call makes, as ranks of the parent in the order of the new ranks. None of them have
/// members in common.
type Groups = Vec<Vec<usize>>;

/// Bytes of what a PE says about a choice of slots: a vote, and its kernels' count in the slot of its group.
const VOTE: usize = 1 + size_of::<u64>();

/// The count that the parent's PE `rank` has said.
fn count_of(all: &[u8], rank: usize) -> u64 {
    let said = &all[rank * VOTE..(rank + 1) * VOTE];
    u64::from_ne_bytes(said[1..].try_into().unwrap_or_default())
}

impl World {
    /// Splits off the team of the parent's PEs `start, start + stride, ...`, `size` of them. The stride may
    /// be negative, and is irrelevant for one PE. Numbers of any size, so that an error shows them as they were
    /// given. Collective over the parent; gives the new team's handle to
    /// its members and `None` to the parent's other PEs. Fails on all of them alike.
    pub fn split_strided(
        &self,
        parent: &Team,
        start: impl Into<i64>,
        stride: impl Into<i64>,
        size: impl Into<i64>,
    ) -> Result<Option<i32>> {
        self.check_team(parent)?;
        let n = parent.n_pes();
        let values @ [start, stride, size] = [start.into(), stride.into(), size.into()];
        let triple = Triple { names: ["start", "stride", "size"], values };
        let hint = self.launch_hint();
        let wrong = match () {
            _ if size < 1 => Some(triple.wrong("a team has at least one PE")),
            _ if size > i64::from(n) => {
                Some(triple.wrong(format_args!("a larger size than that of the parent team, {n}{hint}")))
            }
            _ if stride == 0 && size > 1 => {
                Some(triple.wrong("a stride of zero is possible for a team of one PE only"))
            }
            _ => triple.outside(stride, n, "the parent team", hint),
        };
        if let Some(error) = wrong {
            return self.refuse(parent, Call::TeamSplit, error);
        }
        // One PE may have any stride.
        let rank = |i| start.wrapping_add(stride.wrapping_mul(i)) as usize;
        let groups: Groups = vec![(0..size).map(rank).collect()];
        self.split_groups(parent, &groups, [start as u64, stride as u64, size as u64], Made::Strided(values))
    }

    /// Takes part in a splitting call with an argument that is wrong on this PE: the parent's other PEs are told, and
    /// this one gets its `error`.
    pub fn refuse_split<T>(&self, parent: &Team, error: Error) -> Result<T> {
        self.check_team(parent)?;
        self.refuse(parent, Call::TeamSplit, error)
    }

    /// Splits the parent into the rows and the columns of a grid that is `xrange` PEs wide, and as high as needed:
    /// the last row may be short. A wider one than the parent is one row. Gives the handles of this PE's row
    /// (x axis: the PEs with the same y) and of its column. Collective over the parent; fails on all its PEs
    /// alike, and then makes no team at all.
    pub fn split_2d(&self, parent: &Team, xrange: i32) -> Result<(i32, i32)> {
        self.check_team(parent)?;
        let n = parent.n_pes() as usize;
        let what = [xrange as u64, 0, n as u64];
        if xrange < 1 {
            let why = "a row has at least one PE";
            let error = Error::BadValue { arg: "xrange", value: xrange.into(), why };
            return self.refuse(parent, Call::TeamSplit, error);
        }
        let width = (xrange as usize).min(n);
        let rows: Groups = (0..n).step_by(width).map(|from| (from..n.min(from + width)).collect()).collect();
        let columns: Groups = (0..width).map(|x| (x..n).step_by(width).collect()).collect();
        let own = |handle: Option<i32>| handle.ok_or(Error::BadTeam { handle: -1, why: "no row or column" });
        let row = self.split_groups(parent, &rows, what, Made::Row(xrange.into())).and_then(own)?;
        let column = Made::Column(xrange.into());
        match self.split_groups(parent, &columns, [what[0], 1, what[2]], column).and_then(own) {
            Ok(column) => Ok((row, column)),
            Err(error) => {
                // Every PE of the parent comes here, so all members of the rows do.
                self.team_destroy(row)?;
                Err(error)
            }
        }
    }

    /// Splits off the team of the parent's PEs `ranks`, in that order, each at most once. Collective over the
    /// parent, whose PEs pass the same list; gives the handle to members and `None` to the others.
    pub fn split_listed(&self, parent: &Team, ranks: &[i32]) -> Result<Option<i32>> {
        self.check_team(parent)?;
        let n = parent.n_pes();
        let mut seen = vec![false; n as usize];
        let mut wrong = ranks.is_empty().then_some(Error::BadValue {
            arg: "npes",
            value: 0,
            why: "a team has at least one PE",
        });
        for &rank in ranks {
            if !(0..n).contains(&rank) {
                let (arg, of) = ("pes", "the parent team");
                wrong.get_or_insert_with(|| self.no_such_pe(arg, rank, n as usize, of));
            } else if std::mem::replace(&mut seen[rank as usize], true) {
                let why = "a PE is in a team once only";
                wrong.get_or_insert(Error::BadValue { arg: "pes", value: rank.into(), why });
            }
        }
        let members: Vec<usize> = ranks.iter().map(|&rank| rank as usize).collect();
        let words: Vec<u64> = ranks.iter().map(|&rank| rank as u64).collect();
        match wrong {
            Some(error) => self.refuse(parent, Call::TeamSplit, error),
            None => {
                let what = [tag(&words).into(), 2, ranks.len() as u64];
                self.split_groups(parent, &vec![members], what, Made::Listed)
            }
        }
    }

    /// Makes a team of each group of the parent's PEs. All of them make the same call, which `what` describes.
    pub(crate) fn split_groups(
        &self,
        parent: &Team,
        groups: &Groups,
        what: [u64; 3],
        made: Made,
    ) -> Result<Option<i32>> {
        let said = (what[2], announced::of_split(made, what[0]));
        let sign = tag(&[Call::TeamSplit as u64, what[0], what[1], what[2]]);
        let mine = groups.iter().position(|group| group.contains(&parent.me()));
        // Other threads of a member may split other teams meanwhile, so a slot that all members had free may
        // be gone; then all choose again, and begin to look at another place, not to meet in lockstep.
        for attempt in 0.. {
            let slots = self.choose_slots(parent, groups, sign, said, attempt)?;
            let reserved = mine.is_none_or(|group| self.teams().reserve(slots[group]));
            let vote = if reserved { vote::RESERVED } else { vote::LOST };
            // Members' kernels go on counting where the highest of them stopped.
            let count = mine.map_or(0, |group| self.kernel_count(slots[group]));
            let mut vote = [vote; VOTE];
            vote[1..].copy_from_slice(&count.to_ne_bytes());
            let all = self.exchange_as(parent, Call::TeamSplit, sign, said, &vote);
            let agreed = all.as_ref().is_ok_and(|all| all.chunks(VOTE).all(|said| said[0] == vote::RESERVED));
            if let (Some(group), true) = (mine, agreed) {
                let ranks = &groups[group];
                let pes: Box<[u32]> = ranks.iter().map(|&rank| parent.pes()[rank]).collect();
                let me = ranks.iter().position(|&rank| rank == parent.me()).unwrap_or(0);
                let counts = all.iter().flat_map(|all| ranks.iter().map(|&rank| count_of(all, rank)));
                let team = self.add_team(slots[group], pes, me, counts.max().unwrap_or(0), made);
                self.note(DebugLevel::Info, || {
                    let (handle, slot) = (team.handle(), slots[group]);
                    format!("team {handle:#x} in slot {slot}, this PE is number {me} of {:?}", team.pes())
                });
                return Ok(Some(team.handle()));
            }
            if let (Some(group), true) = (mine, reserved) {
                self.teams().unreserve(slots[group]);
            }
            if all.map(|_| agreed)? {
                return Ok(None);
            }
        }
        unreachable!("attempts do not end")
    }

    /// For each group a slot that all its members have free, the same on all PEs of the parent.
    fn choose_slots(
        &self,
        parent: &Team,
        groups: &Groups,
        sign: u32,
        said: (u64, u64),
        attempt: usize,
    ) -> Result<Vec<usize>> {
        let mine = self.teams().free_bits();
        let bytes: Vec<u8> = mine.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let all = self.exchange_as(parent, Call::TeamSplit, sign, said, &bytes)?;
        let skip = attempt.min(1) * tag(&[parent.slot() as u64, attempt as u64]) as usize;
        let choose = |ranks: &Vec<usize>| {
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
                let error = Error::Exhausted { what, limit: self.team_slots(), variable };
                return Err(error.found_at(parent.place()));
            }
            Ok(free[skip % free.len()])
        };
        groups.iter().map(choose).collect()
    }
}

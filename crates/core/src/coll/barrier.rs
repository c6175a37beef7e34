//! Barrier and sync, and what every other collective synchronises with.
use super::slot::{Announced, PAYLOAD};
use crate::error::{Call, Error, Result};
use crate::job::WaitRecord;
use crate::sync::{Agreement, tag};
use crate::team::Team;
use crate::world::World;

/// The tag of a call without arguments to compare.
const fn plain(call: Call) -> u32 {
    0x5bd1_e995u32.wrapping_mul(call as u32 + 1)
}

impl World {
    /// Completes what was issued on the default context and waits for all PEs (section 9.10.1).
    #[inline]
    pub fn barrier_all(&self) -> Result<()> {
        self.quiet(self.default_context())?;
        self.synchronise(self.world_team(), Call::BarrierAll, plain(Call::BarrierAll), 0)
    }

    /// Waits for all PEs; completes this thread's stores only (section 9.10.4).
    #[inline]
    pub fn sync_all(&self) -> Result<()> {
        self.check_alive()?;
        self.synchronise(self.world_team(), Call::SyncAll, plain(Call::SyncAll), 0)
    }

    /// Completes what was issued on the default context and waits for the team's PEs.
    #[inline]
    pub fn barrier(&self, team: &Team) -> Result<()> {
        self.quiet(self.default_context())?;
        self.synchronise(team, Call::Barrier, plain(Call::Barrier), 0)
    }

    /// Waits for the team's PEs; completes this thread's stores only.
    #[inline]
    pub fn team_sync(&self, team: &Team) -> Result<()> {
        self.check_alive()?;
        self.synchronise(team, Call::TeamSync, plain(Call::TeamSync), 0)
    }

    /// One counted synchronisation. All members learn whether all passed the same tag.
    #[inline]
    pub(crate) fn synchronise(&self, team: &Team, call: Call, sign: u32, detail: u64) -> Result<()> {
        let epoch = self.announce(team, call, detail);
        self.meet(team, call, sign, detail, epoch)
    }

    /// Gives this member's next synchronisation its number and says what it is for.
    #[inline]
    pub(crate) fn announce(&self, team: &Team, call: Call, detail: u64) -> u32 {
        let epoch = team.next_epoch();
        let what = Announced { call: call as u32, detail, empty_calls: self.empty_calls() };
        // SAFETY: the own slot, in mapped internals.
        unsafe { &*self.team_slot(team.slot(), self.my_pe() as usize) }.say(epoch, what);
        epoch
    }

    #[inline]
    pub(crate) fn meet(&self, team: &Team, call: Call, sign: u32, detail: u64, epoch: u32) -> Result<()> {
        let line = team.line();
        // Calls that don't synchronise (allocations of size zero) count too.
        let sign = sign.wrapping_add((self.empty_calls() as u32).wrapping_mul(0x9e37_79b9));
        line.arrive(team.n_pes() as u32, epoch, sign);
        let record =
            || WaitRecord { call: call as u32, team: team.handle(), awaited: -1, address: 0, detail };
        match line.wait(epoch, self.policy(), Some(self.wait_slot()), record) {
            Agreement::Same => Ok(()),
            Agreement::Differ => Err(self.disagreement(team, epoch)),
        }
    }

    /// Says who called what.
    #[cold]
    fn disagreement(&self, team: &Team, epoch: u32) -> Error {
        let said = |rank: usize| {
            // SAFETY: a member's slot, in mapped internals.
            unsafe { &*self.team_slot(team.slot(), team.pes()[rank] as usize) }.said(epoch)
        };
        let show = |rank: usize, what: Announced| {
            let name = Call::name(what.call);
            let takes_size = (Call::Malloc as u32..=Call::Free as u32).contains(&what.call)
                || (Call::Broadcast as u32..=Call::TeamSplit as u32).contains(&what.call);
            let detail = if takes_size { format!(" of {} bytes", what.detail) } else { String::new() };
            format!("PE {} calls {name}{detail}", team.pes()[rank])
        };
        let speaker = team.pes()[0] as usize;
        let first = said(0);
        let other = (1..team.pes().len()).map(|rank| (rank, said(rank))).find(|(_, what)| *what != first);
        let Some((rank, what)) = other else {
            let text = format!(
                "{}, and others call it with other arguments; every member must pass the same",
                show(0, first)
            );
            return Error::Disagreement { text, first: speaker };
        };
        let mut text = format!("{}, {}", show(0, first), show(rank, what));
        if what.empty_calls != first.empty_calls {
            let (more, fewer) = if what.empty_calls > first.empty_calls { (rank, 0) } else { (0, rank) };
            text = format!(
                "PE {} has called malloc with size 0 where PE {} passed another size (now {text})",
                team.pes()[more],
                team.pes()[fewer]
            );
        }
        let text = format!("{text}; every member must make the same calls in the same order");
        Error::Disagreement { text, first: speaker }
    }

    /// Each member contributes equally many bytes, at most [`PAYLOAD`]; gives everybody's, by rank.
    pub(crate) fn exchange(
        &self,
        team: &Team,
        call: Call,
        sign: u32,
        detail: u64,
        mine: &[u8],
    ) -> Result<Vec<u8>> {
        assert!(mine.len() <= PAYLOAD);
        let epoch = self.announce(team, call, detail);
        // SAFETY: the own buffer of this epoch, which nobody reads before the synchronisation.
        unsafe {
            let own = (*self.team_slot(team.slot(), self.my_pe() as usize)).payload(epoch);
            own.copy_from_nonoverlapping(mine.as_ptr(), mine.len());
        }
        self.meet(team, call, sign, detail, epoch)?;
        let mut all = vec![0u8; mine.len() * team.pes().len()];
        for (part, &pe) in all.chunks_exact_mut(mine.len().max(1)).zip(team.pes()) {
            // SAFETY: a member's buffer of this epoch, written before the synchronisation.
            unsafe {
                let theirs = (*self.team_slot(team.slot(), pe as usize)).payload(epoch);
                part.as_mut_ptr().copy_from_nonoverlapping(theirs, part.len());
            }
        }
        Ok(all)
    }
}

/// The tag of a collective that moves data.
pub(crate) fn data_tag(call: Call, parts: &[u64]) -> u32 {
    let mut all = [call as u64, 0, 0, 0];
    all[1..=parts.len()].copy_from_slice(parts);
    tag(&all)
}

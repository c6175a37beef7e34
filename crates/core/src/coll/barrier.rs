//! Barrier and sync, and what every other collective synchronises with.
use super::announced;
use super::post::CARGO;
use super::slot::{Announced, Epoch, PAYLOAD, TeamSlot};
use crate::error::{Call, Error, Result};
use crate::job::WaitRecord;
use crate::sync::{Agreement, SyncLine, tag};
use crate::team::{Meets, Team};
use crate::world::World;

/// Set in the number of an announced call whose arguments were found wrong by the member itself.
const REFUSED: u32 = 1 << 31;
/// What is asked of members that disagree.
pub(crate) const SAME_CALLS: &str = "every member must make the same calls in the same order";
/// Set in the number of an announced call that does not wait for all members.
pub(crate) const AHEAD: u32 = 1 << 30;
/// Members of a team that a message lists.
const SHOWN_MEMBERS: usize = 8;
/// Most bytes of what such a member tells the others of it.
const REASON: usize = 1000;

/// The tag of a call without arguments to compare.
const fn plain(call: Call) -> u32 {
    0x5bd1_e995u32.wrapping_mul(call as u32 + 1)
}

impl World {
    /// Completes what was issued on the default context and waits for all PEs (section 9.10.1).
    #[inline]
    pub fn barrier_all(&self) -> Result<()> {
        if self.has_devices() {
            self.bind_device(Call::BarrierAll, false)?;
        }
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
        self.check_team(team)?;
        self.quiet(self.default_context())?;
        self.synchronise(team, Call::Barrier, plain(Call::Barrier), 0)
    }

    /// Waits for the team's PEs; completes this thread's stores only.
    #[inline]
    pub fn team_sync(&self, team: &Team) -> Result<()> {
        self.check_team(team)?;
        self.synchronise(team, Call::TeamSync, plain(Call::TeamSync), 0)
    }

    /// One counted synchronisation. All members learn whether all passed the same tag.
    #[inline]
    pub(crate) fn synchronise(&self, team: &Team, call: Call, sign: u32, detail: u64) -> Result<()> {
        self.synchronise_as(team, call, sign, detail, announced::hash(sign))
    }

    /// The same of a call with arguments that are told where members differ.
    pub(crate) fn synchronise_as(
        &self,
        team: &Team,
        call: Call,
        sign: u32,
        detail: u64,
        argument: u64,
    ) -> Result<()> {
        let epoch = self.announce(team, call, detail, argument);
        self.meet(team, call, sign, detail, epoch)
    }

    /// Gives this member's next synchronisation its number and says what it is for.
    #[inline]
    pub(crate) fn announce(&self, team: &Team, call: Call, detail: u64, argument: u64) -> Epoch {
        self.announce_as(team, call as u32, detail, argument)
    }

    pub(super) fn announce_as(&self, team: &Team, call: u32, detail: u64, argument: u64) -> Epoch {
        let Meets::Slot(line) = team.meets() else {
            team.say([call.into(), detail, argument]);
            return Epoch::NONE;
        };
        let epoch = team.next_epoch();
        if !SyncLine::has_room(epoch.number, team.released()) {
            // SAFETY: points to mapped internals; the world that made the team keeps them.
            self.catch_up(team, unsafe { &*line }, call, detail, epoch);
        }
        let what = Announced { call, detail, argument, empty_calls: self.empty_calls_for(team) };
        // SAFETY: the own slot, in mapped internals.
        unsafe { &*self.team_slot(team.slot(), self.my_pe() as usize) }.say(epoch.number, what);
        epoch
    }

    /// Waits for members that are far behind.
    fn catch_up(&self, team: &Team, line: &SyncLine, call: u32, detail: u64, epoch: Epoch) {
        let call = call & !(REFUSED | AHEAD);
        let record = || wait_record(team, call, -1, detail);
        team.saw(line.wait_for_room(epoch.number, self.policy(), Some(self.wait_slot()), record));
    }

    #[inline]
    pub(crate) fn meet(&self, team: &Team, call: Call, sign: u32, detail: u64, epoch: Epoch) -> Result<()> {
        let line = match team.meets() {
            // SAFETY: points to mapped internals; the world that made the team keeps them.
            Meets::Slot(line) => unsafe { &*line },
            Meets::Array(psync) => return self.meet_in_array(team, psync, call, sign),
        };
        match line.count(team.n_pes() as u32, epoch.number, self.sign_for(team, sign)) {
            None => {}
            // Tags are sums of hashes, which differ for almost all different calls. Allocations have the time to
            // look closer: heaps that drift apart would be found nowhere else.
            Some(true) if !(is_exact(call) && self.differ(team, epoch.number)) => line.release(epoch.number),
            Some(_) => self.part(team, line, epoch.number),
        }
        let record = || wait_record(team, call as u32, -1, detail);
        let agreed = line.wait(epoch.number, self.policy(), Some(self.wait_slot()), record);
        team.saw(epoch.number);
        if agreed == Agreement::Same {
            team.turn(epoch);
            return Ok(());
        }
        Err(self.told(team))
    }

    /// The tag with which a member arrives.
    #[inline]
    pub(super) fn sign_for(&self, team: &Team, sign: u32) -> u32 {
        match self.empty_calls_for(team) {
            0 => sign,
            empty => tag(&[sign.into(), empty]),
        }
    }

    /// What the last to arrive does where members differ: it says how, and releases all of them, wherever they wait.
    #[cold]
    pub(super) fn part(&self, team: &Team, line: &SyncLine, epoch: u32) {
        let members = 0..team.pes().len();
        // Who makes the call of a root that has posted has what it needs, as has that root unless it waits for readers.
        let goes_on = |rank: usize| {
            let what = self.said(team, epoch, rank);
            let (ahead, root) = (what.call & AHEAD != 0 && rank != team.me(), what.argument as usize);
            ahead && self.said(team, epoch, root) == what && (rank != root || what.detail as usize <= CARGO)
        };
        let (ahead, went_on) = (
            members.clone().any(|rank| self.said(team, epoch, rank).call & AHEAD != 0),
            members.clone().any(goes_on),
        );
        // Members begin to count empty calls anew, the same everywhere.
        let most = members.clone().map(|rank| self.said(team, epoch, rank).empty_calls).max();
        let said = |rank| self.said(team, epoch, rank);
        let text = disagreement(team, said, |rank, what| self.refusal(team, rank, what));
        self.slot_of(team, 0).tell(&text, most.unwrap_or(0));
        line.release_differing(epoch, went_on);
        if ahead {
            members.for_each(|rank| self.slot_of(team, rank).posts.ring());
        }
    }

    /// What was told of members that differ.
    #[cold]
    pub(super) fn told(&self, team: &Team) -> Error {
        let (text, most) = self.slot_of(team, 0).told();
        if team.slot() == 0 {
            self.set_empty_calls(most);
        }
        if let Meets::Slot(line) = team.meets()
            // SAFETY: points to mapped internals; the world that made the team keeps them.
            && unsafe { &*line }.all_are_told()
        {
            team.agreed().forget();
        }
        Error::Disagreement { text }.found_at(team.place())
    }

    /// An error where some have made a call on a team that others of it have not, after all have made their last call: a
    /// broadcast, which doesn't wait for all.
    pub(crate) fn check_for_lost_calls(&self) -> Result<()> {
        for team in self.teams().each() {
            let Meets::Slot(line) = team.meets() else { continue };
            // SAFETY: points to mapped internals; the world that made the team keeps them.
            let line = unsafe { &*line };
            let Some(epoch) = team.first_behind(line.released_epoch()) else { continue };
            let (call, came, members) =
                (self.said(&team, epoch, team.me()), line.arrived_at(epoch), team.pes());
            let some = members.iter().take(SHOWN_MEMBERS).map(u32::to_string).collect::<Vec<_>>().join(", ");
            let more = if members.len() > SHOWN_MEMBERS { ", ..." } else { "" };
            let text = format!(
                "only {came} of the {} members of the team of PEs {some}{more} called {call}; {SAME_CALLS}",
                members.len()
            );
            return Err(Error::Disagreement { text }.found_at(team.place_of(epoch)));
        }
        Ok(())
    }

    /// A member's slot.
    #[inline]
    pub(super) fn slot_of(&self, team: &Team, rank: usize) -> &TeamSlot {
        // SAFETY: in mapped internals.
        unsafe { &*self.team_slot(team.slot(), team.pes()[rank] as usize) }
    }

    /// Allocations of size zero, which don't synchronise, as far as `team` is concerned. They belong to the
    /// world: elsewhere a member may legally be one ahead of another.
    #[inline]
    fn empty_calls_for(&self, team: &Team) -> u64 {
        if team.slot() == 0 { self.empty_calls() } else { 0 }
    }

    /// Takes part in a collective with arguments that are wrong, so that members with right ones don't wait
    /// for this one: they are told, and why, and this one gets its own `error`. It owes a line until whoever called
    /// has printed that ([`crate::job::JobPage::settle`]).
    #[cold]
    pub(crate) fn refuse<T>(&self, team: &Team, call: Call, error: Error) -> Result<T> {
        if error != Error::NotInitialised {
            let text = error.to_string();
            let text = &text.as_bytes()[..text.len().min(REASON)];
            // Members may be at another turn, if they go on.
            let turn = team.next_turn();
            let epoch = self.announce_as(team, call as u32 | REFUSED, text.len() as u64, turn.into());
            if let Meets::Slot(_) = team.meets() {
                // SAFETY: the own buffer of this turn, which nobody reads before the synchronisation.
                unsafe { self.own_payload(team, epoch).copy_from_nonoverlapping(text.as_ptr(), text.len()) };
            }
            let (page, me) = (self.boot().node_memory().1, self.my_pe() as usize);
            let place = matches!(team.meets(), Meets::Slot(_)).then(|| team.place());
            page.owe(me, place);
            let _ = self.meet(team, call, tag(&[call as u64, REFUSED.into()]), 0, epoch);
        }
        Err(error)
    }

    /// What the member of a rank announced.
    fn said(&self, team: &Team, epoch: u32, rank: usize) -> Announced {
        self.slot_of(team, rank).said(epoch)
    }

    fn differ(&self, team: &Team, epoch: u32) -> bool {
        let first = self.said(team, epoch, 0);
        (1..team.pes().len()).any(|rank| self.said(team, epoch, rank) != first)
    }

    /// Why a member's arguments are wrong, as it has told in its buffer.
    fn refusal(&self, team: &Team, rank: usize, said: Announced) -> String {
        let mut text = vec![0; (said.detail as usize).min(REASON)];
        // SAFETY: a member's buffer, written before it has arrived.
        unsafe {
            let theirs = self.slot_of(team, rank).payload(said.argument as u32);
            text.as_mut_ptr().copy_from_nonoverlapping(theirs, text.len());
        }
        format!(" ({})", String::from_utf8_lossy(&text))
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
        self.exchange_as(team, call, sign, (detail, announced::hash(sign)), mine)
    }

    /// The same of a call with arguments that are told where members differ.
    pub(crate) fn exchange_as(
        &self,
        team: &Team,
        call: Call,
        sign: u32,
        (detail, argument): (u64, u64),
        mine: &[u8],
    ) -> Result<Vec<u8>> {
        assert!(mine.len() <= PAYLOAD);
        let epoch = self.announce(team, call, detail, argument);
        // SAFETY: the own buffer of this epoch, which nobody reads before the synchronisation.
        unsafe { self.own_payload(team, epoch).copy_from_nonoverlapping(mine.as_ptr(), mine.len()) };
        self.meet(team, call, sign, detail, epoch)?;
        let mut all = vec![0u8; mine.len() * team.pes().len()];
        for (part, &pe) in all.chunks_exact_mut(mine.len().max(1)).zip(team.pes()) {
            // SAFETY: a member's buffer of this epoch, written before the synchronisation.
            unsafe {
                let theirs = self.payload_of(team, pe as usize, epoch);
                part.as_mut_ptr().copy_from_nonoverlapping(theirs, part.len());
            }
        }
        Ok(all)
    }
}

/// Says who called what, as it is `said` by the member of each rank, and `why` who makes a mistake does so.
#[cold]
pub(super) fn disagreement(
    team: &Team,
    said: impl Fn(usize) -> Announced,
    why: impl Fn(usize, Announced) -> String,
) -> String {
    let show = |rank: usize, what: Announced| {
        let pe = team.pes()[rank];
        if what.call & REFUSED != 0 {
            let (name, why) = (Call::name(what.call & !REFUSED), why(rank, what));
            return format!("PE {pe} calls {name} with an argument that is wrong{why}");
        }
        format!("PE {pe} calls {what}")
    };
    let members = 0..team.pes().len();
    let first = said(0);
    // A member that has made a mistake itself explains more than others that differ.
    let mut others = members.map(|rank| (rank, said(rank)));
    let refused = others.clone().find(|(_, what)| what.call & REFUSED != 0 && *what != first);
    let other = refused.or_else(|| others.find(|(_, what)| *what != first));
    let Some((rank, what)) = other else {
        return format!(
            "{}, and others call it with other arguments; every member must pass the same",
            show(0, first)
        );
    };
    let mut text = format!("{}, {}", show(0, first), show(rank, what));
    if what.call & REFUSED == 0 && first.call & REFUSED == 0 {
        text += &first.differs(&what, [team.pes()[0], team.pes()[rank]]);
    }
    if what.empty_calls != first.empty_calls {
        let (more, fewer) = if what.empty_calls > first.empty_calls { (rank, 0) } else { (0, rank) };
        text = format!(
            "PE {} has called malloc with size 0 where PE {} passed another size (now {text})",
            team.pes()[more],
            team.pes()[fewer]
        );
    }
    format!("{text}; {SAME_CALLS}")
}

/// What a member notes that waits for PE `awaited`, or for any, in a call of this team.
pub(crate) fn wait_record(team: &Team, call: u32, awaited: i32, detail: u64) -> WaitRecord {
    let (team, members) = (team.handle(), team.members());
    WaitRecord { call, team, awaited, detail, members, ..WaitRecord::default() }
}

/// Whether members compare more than tags.
const fn is_exact(call: Call) -> bool {
    call as u32 >= Call::Malloc as u32 && call as u32 <= Call::Free as u32
}

/// The tag of a collective that moves data.
pub(crate) fn data_tag(call: Call, parts: &[u64]) -> u32 {
    let mut all = [call as u64, 0, 0, 0];
    all[1..=parts.len()].copy_from_slice(parts);
    tag(&all)
}

//! Calls that some members of a team have made, and others not, when all PEs have ended without finalize.
//!
//! The launcher looks for them in the memory that is left: nothing has to be done at the end of a process for that. While a PE
//! runs, others may still come to any call.
use crate::coll::barrier::{AHEAD, SAME_CALLS};
use crate::coll::slot::TeamSlot;
use crate::error::Call;
use crate::job::{JobPage, PeState};

/// In words the first such call, where each PE has ended between init and finalize.
pub fn call(page: &JobPage) -> Option<String> {
    let pes = 0..page.pes();
    if !pes.clone().all(|pe| page.card(pe).state() == PeState::Joined) {
        return None;
    }
    // The first member's slot has the line.
    pes.flat_map(|pe| (0..page.card(pe).team_slots().1).map(move |slot| (pe, slot)))
        .find_map(|(pe, slot)| lost(page, pe, slot))
}

/// Words of slot `slot` of PE `pe`.
fn words(page: &JobPage, pe: usize, slot: u64, at: usize, count: usize) -> Option<Vec<u64>> {
    let (slots, _) = page.card(pe).team_slots();
    page.words_at(slots + slot * size_of::<TeamSlot>() as u64 + at as u64, 8, count)
}

fn lost(page: &JobPage, first: usize, slot: u64) -> Option<String> {
    let (at, len) = TeamSlot::LINE;
    let (epoch, came) = crate::sync::SyncLine::begun(&words(page, first, slot, at, len)?)?;
    let call_of = |pe: usize| {
        let word = words(page, pe, slot, TeamSlot::call_at(epoch), 1)?[0];
        TeamSlot::call_of(word, epoch).map(|call| (pe, Call::name(call & !AHEAD)))
    };
    // PEs of another team in that slot of theirs may have announced one of that number as well.
    let callers: Vec<_> = (0..page.pes()).filter_map(call_of).collect();
    let team = match slot {
        0 => format!("the {} members of TEAM_WORLD", page.pes()),
        _ => format!("the members of the team that begins with PE {first}"),
    };
    let what = match &callers[..] {
        [(pe, name)] => format!("made a call, {name} of PE {pe}"),
        [(_, name), ..] if callers.len() as u64 == came => format!("called {name}"),
        _ => "made a call".to_owned(),
    };
    Some(format!("only {came} of {team} {what}, and all PEs have exited without finalize; {SAME_CALLS}"))
}

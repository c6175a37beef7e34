//! Meeting of a team's members by memory operations of streams, without kernels: for PEs that take turns on a device
//! (docs/design/cuda-streams.md says why this is safe).
//!
//! A member tells others that it is there by writing words in their device slots, each at the writer's world number, and
//! waits for those that others write in its own. Rounds of a dissemination make that enough for everybody.
use super::queue::{MemOp, Until};
use dushmem_core::error;

/// Arrays of words in a device slot, by the world number of who writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Words {
    /// How many times the writer has told this PE that it is there, for operations that were not captured.
    Epoch,
    /// 1 while the writer is there and this PE has not seen it: first half of captured operations.
    Ready,
    /// The same for the second half.
    Done,
}

/// The halves of a captured operation. Each is a meeting, with words of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "explained in the design")]
pub enum Half {
    First,
    Second,
}

impl Half {
    fn words(self) -> Words {
        match self {
            Half::First => Words::Ready,
            Half::Second => Words::Done,
        }
    }

    /// The other one.
    pub fn next(self) -> Half {
        match self {
            Half::First => Half::Second,
            Half::Second => Half::First,
        }
    }
}

/// Up to this many members write to each other directly.
const DIRECT: usize = 3;

/// In each round, the members that one writes to and those that it waits for, by rank.
fn rounds(members: usize, me: usize) -> Vec<(Vec<usize>, Vec<usize>)> {
    if members <= DIRECT {
        let others: Vec<usize> = (1..members).map(|i| (me + i) % members).collect();
        return if others.is_empty() { vec![] } else { vec![(others.clone(), others)] };
    }
    let distances = std::iter::successors(Some(1), |d| Some(d * 2)).take_while(|&d| d < members);
    distances.map(|d| (vec![(me + d) % members], vec![(me + members - d) % members])).collect()
}

/// How often a PE has written to each other one and has waited for it, in one slot. Both ends of a pair count the same
/// meetings, whichever teams use the slot in turn, so nothing has to be agreed on when a team is made.
#[derive(Clone, Debug)]
pub struct Counts {
    sent: Box<[u32]>,
    got: Box<[u32]>,
}

impl Counts {
    /// For a world of `pes` PEs.
    pub fn new(pes: usize) -> Counts {
        Counts { sent: vec![0; pes].into(), got: vec![0; pes].into() }
    }
}

/// A team as meetings need it.
pub struct Group<'a> {
    /// World numbers of the members.
    pub pes: &'a [u32],
    /// This PE's rank.
    pub me: usize,
    /// Device address of a word, from the array, whose slot, and the writer: world numbers.
    pub word: &'a dyn Fn(Words, usize, usize) -> u64,
}

impl Group<'_> {
    fn each_round(&self) -> impl Iterator<Item = (Vec<usize>, Vec<usize>)> + '_ {
        let pe = |rank: usize| self.pes[rank] as usize;
        let rounds = rounds(self.pes.len(), self.me).into_iter();
        rounds.map(move |(to, from)| (to.into_iter().map(pe).collect(), from.into_iter().map(pe).collect()))
    }

    /// A meeting that is not captured: words count.
    pub fn meet(&self, counts: &mut Counts, ops: &mut Vec<MemOp>) {
        let me = self.pes[self.me] as usize;
        for (to, from) in self.each_round() {
            for pe in to {
                counts.sent[pe] = counts.sent[pe].wrapping_add(1);
                ops.push(MemOp::Write32 { at: (self.word)(Words::Epoch, pe, me), value: counts.sent[pe] });
            }
            for pe in from {
                counts.got[pe] = counts.got[pe].wrapping_add(1);
                let at = (self.word)(Words::Epoch, me, pe);
                ops.push(MemOp::Wait32 { at, value: counts.got[pe], until: Until::Geq });
            }
        }
    }

    /// The member that the stream waits for in meetings that are not captured, if it waits: one that has told this PE less
    /// often than it has been told; and how often it has. `counts`: what was put into streams; `read` gives a word that is
    /// there by now.
    pub fn awaited(
        &self,
        counts: &Counts,
        read: &mut dyn FnMut(u64) -> error::Result<u32>,
    ) -> error::Result<Option<(i32, u64)>> {
        let me = self.pes[self.me] as usize;
        for (to, from) in self.each_round() {
            for (&told, &heard) in to.iter().zip(&from) {
                // Meetings that are still to come for this end.
                let to_tell = counts.sent[told].wrapping_sub(read((self.word)(Words::Epoch, told, me))?);
                let heard_of = read((self.word)(Words::Epoch, me, heard))?;
                let to_hear = counts.got[heard].wrapping_sub(heard_of);
                if (to_hear.wrapping_sub(to_tell) as i32) > 0 {
                    return Ok(Some((heard as i32, heard_of.into())));
                }
            }
        }
        Ok(None)
    }

    /// One half of a captured meeting: constants only, so that each launch of the graph does the same. Who waits sets
    /// its words back; it has done so before it comes to the other half, and nobody leaves that half before all have
    /// come to it: so nobody sets a word of this half again too early. Not before the end of this half: until then the words
    /// tell who has come ([`Group::awaited_captured`]).
    pub fn meet_captured(&self, half: Half, ops: &mut Vec<MemOp>) {
        let me = self.pes[self.me] as usize;
        let mut seen = Vec::new();
        for (to, from) in self.each_round() {
            ops.extend(
                to.iter().map(|&pe| MemOp::Write32 { at: (self.word)(half.words(), pe, me), value: 1 }),
            );
            for &pe in &from {
                let at = (self.word)(half.words(), me, pe);
                ops.push(MemOp::Wait32 { at, value: 1, until: Until::Eq });
                seen.push(MemOp::Write32 { at, value: 0 });
            }
        }
        ops.extend(seen);
    }

    /// The member that the stream waits for in a captured meeting, in whichever half that is. `read`: as above.
    pub fn awaited_captured(
        &self,
        read: &mut dyn FnMut(u64) -> error::Result<u32>,
    ) -> error::Result<Option<i32>> {
        let me = self.pes[self.me] as usize;
        let from: Vec<usize> = self.each_round().flat_map(|(_, from)| from).collect();
        let mut missing = None;
        for half in [Half::First, Half::Second] {
            let words: error::Result<Vec<u32>> =
                from.iter().map(|&pe| read((self.word)(half.words(), me, pe))).collect();
            let words = words?;
            missing = words.iter().position(|&word| word == 0).map(|at| from[at] as i32);
            // Of the other half nothing is left, or nothing there yet. Where nobody has come it is the same in both.
            if words.iter().any(|&word| word != 0) {
                break;
            }
        }
        Ok(missing)
    }
}

#[cfg(test)]
#[path = "tests/meet.rs"]
mod tests;

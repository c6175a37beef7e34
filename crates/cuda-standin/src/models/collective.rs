//! Collectives of a team, with the state and the slots that the real kernels use.
//!
//! The members meet twice: when all sources are ready, and when all have read them. A meeting is a word in each other's
//! slot, at the writer's place in an array that is for such words, that counts up; the count is the slot's first word. The
//! low bits say how many blocks the member launched: the real kernels need the same number everywhere.
use super::call::{Call, Model};
use super::element;
use super::state::State;
use crate::code::Out;
use crate::knobs;
use crate::work::{load, move_bytes, store, wait_until};

pub const MODELS: &[Model] = &[
    Model { name: "dushmem_k_sync", sizes: &[4, 4], run: sync, quick: false },
    Model { name: "dushmem_k_reduce", sizes: &[4, 8, 8, 8, 4, 4, 4], run: reduce, quick: false },
    Model { name: "dushmem_k_fcollect", sizes: &[4, 8, 8, 8], run: fcollect, quick: false },
    Model { name: "dushmem_k_alltoall", sizes: &[4, 8, 8, 8], run: alltoall, quick: false },
    Model { name: "dushmem_k_broadcast", sizes: &[4, 8, 8, 8, 4], run: broadcast, quick: false },
    // The same with the team as an argument.
    Model { name: "dushmem_k_few_sync", sizes: &[FEW, 4], run: few_sync, quick: false },
    Model { name: "dushmem_k_few_reduce", sizes: &[FEW, 8, 8, 4, 4, 4, 4, 4], run: few_reduce, quick: false },
    Model { name: "dushmem_k_few_exchange", sizes: &[FEW, 8, 8, 4, 4, 4], run: few_exchange, quick: false },
    Model { name: "dushmem_k_few_broadcast", sizes: &[FEW, 8, 8, 4, 4, 4], run: few_broadcast, quick: false },
    // And in the blocks of a grid.
    Model {
        name: "dushmem_k_flagged_reduce",
        sizes: &[FEW, 8, 8, 4, 4, 4, 4, 4],
        run: flagged_reduce,
        quick: false,
    },
    Model {
        name: "dushmem_k_flagged_exchange",
        sizes: &[FEW, 8, 8, 4, 4, 4],
        run: flagged_exchange,
        quick: false,
    },
    Model {
        name: "dushmem_k_flagged_broadcast",
        sizes: &[FEW, 8, 8, 4, 4, 4],
        run: flagged_broadcast,
        quick: false,
    },
    // For members that are reached by the proxy. These do that by themselves where it is needed.
    Model { name: "dushmem_k_far_reduce", sizes: &[4, 8, 8, 8, 4, 4, 4], run: reduce, quick: false },
    Model { name: "dushmem_k_far_fcollect", sizes: &[4, 8, 8, 8], run: fcollect, quick: false },
    Model { name: "dushmem_k_far_alltoall", sizes: &[4, 8, 8, 8], run: alltoall, quick: false },
    Model { name: "dushmem_k_far_broadcast", sizes: &[4, 8, 8, 8, 4], run: broadcast, quick: false },
];

/// Bytes of `dushmem_k_few`, and its members.
const FEW: usize = 136;
const MOST_FEW: usize = 8;
/// Blocks that send words: `dushmem_k_flagged_blocks`.
const MOST_BLOCKS: usize = 64;

/// Bytes in front of a slot's arrays.
const HEAD: usize = 64;
/// The array of the words, `Words::Sync`: behind the counts of a grid's blocks and two arrays of the owner's.
const ARRAY: usize = 2;
const ENTRY: usize = 40;
const BLOCKS: u32 = 10;

/// A team as its table entry has it.
struct Team<'a> {
    state: State<'a>,
    handle: i32,
    rank: usize,
    pes: Vec<i32>,
    slot: usize,
    /// Where in a slot the words are.
    words: usize,
}

impl<'a> Team<'a> {
    fn find(call: &'a Call<'a>, handle: i32) -> Out<Team<'a>> {
        let state = State::of(call)?;
        let index = handle as usize & 0xfff;
        let count = state.word(56)? as usize;
        let entry = state.word(48)? as usize + ENTRY * index;
        if handle < 0 || index >= count || call.load(entry + 24, 4)? as i32 != handle {
            return Err(call.fault(&format!("{handle:#x} is no team of the {count} in the table")));
        }
        let (rank, n) = (call.load(entry, 4)? as usize, call.load(entry + 4, 4)? as i32);
        let (members, slot) = (call.load(entry + 8, 8)? as usize, call.load(entry + 16, 8)? as usize);
        let member = |i: i32| match members {
            0 => Ok(i),
            at => call.load(at + 4 * i as usize, 4).map(|pe| pe as i32),
        };
        let pes: Out<Vec<i32>> = (0..n).map(member).collect();
        let (words, flags) = (call.load(entry + 28, 4)? as usize, call.load(entry + 36, 4)? as usize);
        let words = HEAD + 8 * (flags >> 8) + 8 * ARRAY * words;
        Ok(Team { state, handle, rank, pes: pes?, slot, words })
    }

    /// The team that the first argument is: what the host says of it has to be what the state says.
    fn few(call: &'a Call<'a>, blocks: usize) -> Out<Team<'a>> {
        let state = State::of(call)?;
        let all = call.words(0);
        let (slot, arrays, buffers) = (all[0] as usize, all[1] as usize, all[2] as usize);
        let halves = |word: u64| (word as u32 as usize, (word >> 32) as usize);
        let ((words, cell), (rank, n)) = (halves(all[3]), halves(all[4]));
        if n > MOST_FEW || rank >= n {
            return Err(call.fault(&format!("rank {rank} of {n} members")));
        }
        let pe = |rank: usize| {
            let (low, high) = halves(all[5 + MOST_FEW + rank / 2]);
            if rank.is_multiple_of(2) { low as i32 } else { high as i32 }
        };
        let pes: Vec<i32> = (0..n).map(pe).collect();
        // Both parities of the buffers lie behind each member's slot, where the delta says: of one block, or of a grid's.
        for (rank, &pe) in pes.iter().enumerate() {
            let found = state.peer(slot, buffers - slot + 2 * blocks * n * cell, pe)?;
            let said = slot.wrapping_add_signed(all[5 + rank] as i64 as isize);
            if found != Some(said) {
                return Err(call.fault(&format!("PE {pe}'s slot is at {found:x?}, not {said:#x}")));
            }
        }
        Ok(Team { state, handle: 0, rank, pes, slot, words: arrays - slot + 8 * ARRAY * words })
    }

    /// Whether so many bytes are short, and their words' places as many as was said.
    fn check_short(&self, bytes: usize, shift: u64) -> Out {
        let (call, all) = (self.call(), self.call().words(0));
        let cell = (all[3] >> 32) as usize;
        let right = bytes.div_ceil(8).next_power_of_two() == 1 << shift && bytes <= cell / 2;
        if right && call.launch.blocks == 1 {
            return Ok(());
        }
        Err(call.fault(&format!("{bytes} bytes, {} blocks, shift {shift}", call.launch.blocks)))
    }

    /// Whether each block's part fits into its buffers, and all of the data into the parts.
    fn check_divided(&self, bytes: usize, part: usize) -> Out {
        let call = self.call();
        let (cell, blocks) = ((call.words(0)[3] >> 32) as usize, call.launch.blocks as usize);
        let right = part.is_multiple_of(8)
            && part <= cell / 2
            && (1..=MOST_BLOCKS).contains(&blocks)
            && bytes.div_ceil(part.max(1)) == blocks;
        if right {
            return Ok(());
        }
        Err(call.fault(&format!("{bytes} bytes in {blocks} blocks of {part}, with buffers of {cell}")))
    }

    fn call(&self) -> &'a Call<'a> {
        self.state.call
    }

    /// Returns when all members have come here.
    fn meet(&self) -> Out {
        let call = self.call();
        if self.pes.len() > 1 && knobs::text("NO_SPIN").is_some() {
            return Err(call.fault("waits for other PEs in a kernel"));
        }
        let count = call.word_at(self.slot, 8)?;
        let epoch = load(count, 8) + 1;
        store(count, epoch, 8);
        let blocks = u64::from(call.launch.blocks.min((1 << BLOCKS) - 1));
        let mine = self.words + 8 * self.pes[self.rank] as usize;
        for pe in &self.pes {
            self.state.put_word(self.slot + mine, epoch << BLOCKS | blocks, *pe)?;
        }
        self.state.quiet()?;
        for pe in &self.pes {
            let word = call.word_at(self.slot + self.words + 8 * *pe as usize, 8)?;
            wait_until(call.context, || load(word, 8) >> BLOCKS >= epoch)?;
            let theirs = load(word, 8);
            if theirs >> BLOCKS == epoch && theirs & ((1 << BLOCKS) - 1) != blocks {
                let theirs = theirs & ((1 << BLOCKS) - 1);
                return Err(call.fault(&format!(
                    "team {:#x}: {blocks} blocks here, {theirs} at PE {pe}: another collective, or another size",
                    self.handle
                )));
            }
        }
        Ok(())
    }

    /// Takes a member's copy of own memory.
    fn take(&self, into: &mut [u8], address: usize, rank: usize) -> Out {
        self.state.get(into, address, self.pes[rank])
    }

    /// Meets, takes the result from the members' sources, meets, stores it.
    fn gather(&self, dest: usize, len: usize, take: impl FnOnce(&mut [u8]) -> Out) -> Out {
        let to = self.call().at(dest, len)?;
        self.meet()?;
        let mut result = vec![0; len];
        take(&mut result)?;
        self.meet()?;
        move_bytes(to, result.as_ptr(), len);
        Ok(())
    }
}

fn sync(call: &Call<'_>) -> Out {
    Team::find(call, call.number(0))?.meet()
}

/// What a reduction computes: the numbers of the type and of the operation; `part`: a block for each.
#[derive(Clone, Copy)]
struct Computes {
    kind: u32,
    op: u32,
    part: bool,
}

fn reduce(call: &Call<'_>) -> Out {
    let team = Team::find(call, call.number(0))?;
    let what = Computes { kind: call.word(4) as u32, op: call.word(5) as u32, part: call.word(6) == 1 };
    let bytes = element::bytes(what.kind).unwrap_or(0);
    combine(&team, call.size(1), call.size(2), call.size(3) * bytes, what)
}

/// `len` bytes of each member, combined, to `dest`.
fn combine(team: &Team<'_>, dest: usize, source: usize, len: usize, what: Computes) -> Out {
    let Computes { kind, op, part } = what;
    let (Some(bytes), Some(f)) = (element::bytes(kind), element::combine(kind, op)) else {
        return Err(team.call().fault(&format!("operation {op} on type {kind}")));
    };
    let first = if part { source + team.rank * len } else { source };
    team.gather(dest, len, |result| {
        let mut other = vec![0; len];
        team.take(result, first, 0)?;
        for rank in 1..team.pes.len() {
            team.take(&mut other, first, rank)?;
            result.chunks_exact_mut(bytes).zip(other.chunks_exact(bytes)).for_each(|(a, b)| f(a, b));
        }
        Ok(())
    })
}

fn few_sync(call: &Call<'_>) -> Out {
    Team::few(call, 1)?.meet()
}

/// The team, destination, source and bytes of a short call.
fn short<'a>(call: &'a Call<'a>) -> Out<(Team<'a>, usize, usize, usize)> {
    let (team, len) = (Team::few(call, 1)?, call.size(3));
    team.check_short(len, call.word(4))?;
    Ok((team, call.size(1), call.size(2), len))
}

/// The same of a call that is divided among the blocks of a grid.
fn divided<'a>(call: &'a Call<'a>) -> Out<(Team<'a>, usize, usize, usize)> {
    let (team, len) = (Team::few(call, MOST_BLOCKS)?, call.size(3));
    team.check_divided(len, call.size(4))?;
    Ok((team, call.size(1), call.size(2), len))
}

fn few_reduce(call: &Call<'_>) -> Out {
    reduce_of(call, short(call)?)
}

fn flagged_reduce(call: &Call<'_>) -> Out {
    reduce_of(call, divided(call)?)
}

fn reduce_of(call: &Call<'_>, (team, dest, source, len): (Team<'_>, usize, usize, usize)) -> Out {
    let what = Computes { kind: call.word(5) as u32, op: call.word(6) as u32, part: call.word(7) == 1 };
    combine(&team, dest, source, len, what)
}

fn few_exchange(call: &Call<'_>) -> Out {
    exchange_of(call, short(call)?)
}

fn flagged_exchange(call: &Call<'_>) -> Out {
    exchange_of(call, divided(call)?)
}

fn exchange_of(call: &Call<'_>, (team, dest, source, len): (Team<'_>, usize, usize, usize)) -> Out {
    collect(&team, dest, len, if call.word(5) == 0 { source } else { source + team.rank * len })
}

fn few_broadcast(call: &Call<'_>) -> Out {
    broadcast_of(call, short(call)?)
}

fn flagged_broadcast(call: &Call<'_>) -> Out {
    broadcast_of(call, divided(call)?)
}

fn broadcast_of(call: &Call<'_>, (team, dest, source, len): (Team<'_>, usize, usize, usize)) -> Out {
    team.gather(dest, len, |result| team.take(result, source, call.number(5) as usize))
}

fn fcollect(call: &Call<'_>) -> Out {
    let team = Team::find(call, call.number(0))?;
    let (dest, source, len) = (call.size(1), call.size(2), call.size(3));
    collect(&team, dest, len, source)
}

fn alltoall(call: &Call<'_>) -> Out {
    let team = Team::find(call, call.number(0))?;
    let (dest, source, len) = (call.size(1), call.size(2), call.size(3));
    collect(&team, dest, len, source + team.rank * len)
}

/// From every member `len` bytes at its copy of `source`.
fn collect(team: &Team<'_>, dest: usize, len: usize, source: usize) -> Out {
    team.gather(dest, len * team.pes.len(), |result| {
        for (rank, part) in result.chunks_exact_mut(len.max(1)).enumerate() {
            team.take(part, source, rank)?;
        }
        Ok(())
    })
}

fn broadcast(call: &Call<'_>) -> Out {
    let team = Team::find(call, call.number(0))?;
    let (dest, source, len, root) = (call.size(1), call.size(2), call.size(3), call.number(4) as usize);
    if root >= team.pes.len() {
        return Err(call.fault(&format!("root {root} of {}", team.pes.len())));
    }
    team.gather(dest, len, |result| team.take(result, source, root))
}

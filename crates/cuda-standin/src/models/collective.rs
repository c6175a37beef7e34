//! Collectives of a team, with the state and the slots that the real kernels use.
//!
//! The members meet twice: when all sources are ready, and when all have read them. A meeting is a word in each other's
//! slot, at the writer's place in the first array, that counts up; the count is the slot's first word. The low bits say
//! how many blocks the member launched: the real kernels need the same number everywhere.
use super::call::{Call, Model};
use super::element;
use crate::code::Out;
use crate::work::{load, move_bytes, store, wait_until};
use std::cell::Cell;

pub const MODELS: &[Model] = &[
    Model { name: "dushmem_k_sync", sizes: &[4, 4], run: sync },
    Model { name: "dushmem_k_reduce", sizes: &[4, 8, 8, 8, 4, 4, 4], run: reduce },
    Model { name: "dushmem_k_fcollect", sizes: &[4, 8, 8, 8], run: fcollect },
    Model { name: "dushmem_k_alltoall", sizes: &[4, 8, 8, 8], run: alltoall },
    Model { name: "dushmem_k_broadcast", sizes: &[4, 8, 8, 8, 4], run: broadcast },
];

/// `DUSHMEM_IMPL_STATE_MAGIC`.
const MAGIC: u64 = 0x6475_7368_6d65_6d31;
/// Bytes in front of a slot's arrays.
const HEAD: usize = 64;
const ENTRY: usize = 40;
const BLOCKS: u32 = 10;

/// The state of the module, as words of `dushmem_impl_kernel_state`.
struct State<'a> {
    call: &'a Call<'a>,
    at: usize,
    size: usize,
}

impl<'a> State<'a> {
    fn of(call: &'a Call<'a>) -> Out<State<'a>> {
        let module = &call.launch.function.module;
        let found = module.globals.get("dushmem_impl_state");
        let (at, bytes) = *found.ok_or_else(|| call.fault("the module has no state"))?;
        let mut state = State { call, at, size: bytes };
        if state.word(0)? != MAGIC {
            return Err(call.fault("the module's state was never set"));
        }
        state.size = bytes.min(call.load(at + 12, 4)? as usize);
        Ok(state)
    }

    /// The 64-bit field at an offset; 0 where the state that was set is older and ends before it.
    fn word(&self, offset: usize) -> Out<u64> {
        if offset + 8 > self.size { Ok(0) } else { self.call.load(self.at + offset, 8) }
    }

    /// Where the copy of own memory at PE `pe` is: of the heap and the internals in front of it, or of the other heap.
    fn peer(&self, address: usize, len: usize, pe: i32) -> Out<usize> {
        let (heap, heap_len, internals) = (self.word(24)?, self.word(32)?, self.word(72)?);
        let (other, other_len) = (self.word(96)?, self.word(104)?);
        let begins = address as u64;
        let ends = begins + len as u64;
        let table = if (internals.min(heap)..=heap + heap_len).contains(&begins) && ends <= heap + heap_len {
            self.word(40)?
        } else if other_len != 0 && begins >= other && ends <= other + other_len {
            self.word(112)?
        } else {
            return Err(self.call.fault(&format!("{len} bytes at {address:#x} are not symmetric")));
        };
        let delta = self.call.load(table as usize + 8 * pe as usize, 8)? as i64;
        if delta == i64::MIN {
            return Err(self.call.fault(&format!("PE {pe} is not reached by load and store")));
        }
        Ok((begins as i64).wrapping_add(delta) as usize)
    }
}

/// A team as its table entry has it.
struct Team<'a> {
    state: State<'a>,
    handle: i32,
    rank: usize,
    pes: Vec<i32>,
    slot: usize,
    epoch: Cell<u64>,
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
        Ok(Team { state, handle, rank, pes: pes?, slot, epoch: Cell::new(0) })
    }

    fn call(&self) -> &'a Call<'a> {
        self.state.call
    }

    /// Returns when all members have come here.
    fn meet(&self) -> Out {
        let call = self.call();
        let count = call.word_at(self.slot, 8)?;
        let epoch = load(count, 8) + 1;
        store(count, epoch, 8);
        self.epoch.set(epoch);
        let blocks = u64::from(call.launch.blocks.min((1 << BLOCKS) - 1));
        let mine = HEAD + 8 * self.pes[self.rank] as usize;
        for pe in &self.pes {
            call.store(self.state.peer(self.slot + mine, 8, *pe)?, epoch << BLOCKS | blocks, 8)?;
        }
        for pe in &self.pes {
            let word = call.word_at(self.slot + HEAD + 8 * *pe as usize, 8)?;
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

    /// Where a member's copy of own memory is, as the stand-in sees it.
    fn copy_of(&self, address: usize, len: usize, rank: usize) -> Out<*mut u8> {
        self.call().at(self.state.peer(address, len, self.pes[rank])?, len)
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

fn reduce(call: &Call<'_>) -> Out {
    let team = Team::find(call, call.number(0))?;
    let (dest, source, n) = (call.size(1), call.size(2), call.size(3));
    let (kind, op, part) = (call.word(4) as u32, call.word(5) as u32, call.word(6));
    let (Some(bytes), Some(f)) = (element::bytes(kind), element::combine(kind, op)) else {
        return Err(call.fault(&format!("operation {op} on type {kind}")));
    };
    let len = n * bytes;
    let first = if part == 1 { source + team.rank * len } else { source };
    team.gather(dest, len, |result| {
        let mut other = vec![0; len];
        move_bytes(result.as_mut_ptr(), team.copy_of(first, len, 0)?, len);
        for rank in 1..team.pes.len() {
            move_bytes(other.as_mut_ptr(), team.copy_of(first, len, rank)?, len);
            result.chunks_exact_mut(bytes).zip(other.chunks_exact(bytes)).for_each(|(a, b)| f(a, b));
        }
        Ok(())
    })
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
            move_bytes(part.as_mut_ptr(), team.copy_of(source, len, rank)?, len);
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
    team.gather(dest, len, |result| {
        move_bytes(result.as_mut_ptr(), team.copy_of(source, len, root)?, len);
        Ok(())
    })
}

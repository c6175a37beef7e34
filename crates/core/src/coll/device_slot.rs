//! What a member of a team shows to the others' kernels: flags and buffers of the collectives that kernels
//! call (`include/dushmem/impl/coll_*.h`, docs/design/device-collectives.md).
//!
//! A PE has one for each team slot. Flags stand at the world number of the PE that writes them, so a word has one
//! writer, whichever teams use the slot in turn; they count up and are never reset. A team begins where
//! the highest count of its members stands ([`DeviceSlot::high_water`]), so what was written for an earlier team,
//! even if it arrives late, is below all that the new one waits for. All-zero bytes are the initial state.
use super::kernel_calls::KernelCalls;
use core::sync::atomic::{AtomicU64, Ordering};

/// Arrays of words, one a PE of the world. The first two are the owner's, the others are written by others.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "explained in the header")]
#[repr(usize)]
pub enum Words {
    Sent = 0,
    Got = 1,
    Sync = 2,
    Note = 3,
    Mail = 4,
    Room = 5,
    Here = 6,
    /// For collectives on streams made of memory operations; counted by the host, from team to team.
    StreamEpoch = 7,
    /// The same in captured graphs: set, waited for and reset.
    GraphReady = 8,
    /// As before.
    GraphDone = 9,
}

/// Number of arrays.
const ARRAYS: usize = 10;
/// Bytes in front: the owner's count of calls, where the counts of this team began, the count of calls with data and
/// flag in one word, and the last of these in which everybody sent to everybody.
const HEAD: usize = 64;
/// Counts at the beginning of [`HEAD`], where the team's counts begin too.
const COUNTS: usize = 4;
/// Most blocks of a grid that makes a collective, and words of their flags in large worlds.
const MOST_BLOCKS: usize = 128;
const GRID_WORDS: usize = 8192;
/// Bytes of the buffers of one parity, shared by the members of a team.
const BUFFERS: usize = 64 << 10;
/// Bounds of the buffer that a member has at another.
const SMALLEST: usize = 256;
const LARGEST: usize = 32 << 10;

/// The slot of one PE, by the address at which it begins.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSlot {
    at: usize,
    pes: usize,
}

impl DeviceSlot {
    /// The slot at `at` of a PE of a world of `pes` PEs.
    ///
    /// # Safety
    /// `at` is the aligned beginning of [`DeviceSlot::bytes`] mapped bytes of internals.
    pub unsafe fn new(at: usize, pes: usize) -> DeviceSlot {
        DeviceSlot { at, pes }
    }

    /// Where it begins.
    pub fn address(&self) -> usize {
        self.at
    }

    /// Words of one array: whole cache lines.
    pub fn words(pes: usize) -> usize {
        pes.next_multiple_of(8)
    }

    /// Bytes of the buffer that each member of a team of `members` has at each other, once a parity.
    pub fn cell(members: usize) -> usize {
        (BUFFERS / members / 64 * 64).clamp(SMALLEST, LARGEST)
    }

    /// Blocks that a grid can have that makes a collective in a world of `pes` PEs.
    pub fn blocks(pes: usize) -> usize {
        (GRID_WORDS / Self::words(pes) / 8 * 8).clamp(8, MOST_BLOCKS)
    }

    /// Where an array begins, in bytes from the slot's beginning.
    pub fn array(array: Words, pes: usize) -> usize {
        HEAD + Self::blocks(pes) * 8 + array as usize * Self::words(pes) * 8
    }

    /// All counts of the owner lie in so many bytes from the slot's beginning on. On a device they are read and set
    /// in a copy of these bytes.
    pub fn counts(pes: usize) -> usize {
        Self::array(Words::Sync, pes)
    }

    /// Bytes of the buffers of one kind: both parities.
    fn buffers(pes: usize) -> usize {
        2 * BUFFERS.max(Self::words(pes) * SMALLEST)
    }

    /// Bytes in front of the buffers: the arrays, and behind them the flags of grids, an array a block.
    fn flags(pes: usize) -> usize {
        Self::grids(pes) + Self::blocks(pes) * Self::words(pes) * 8
    }

    /// Bytes of a slot in a world of `pes` PEs, whole pages. Behind the flags lie the buffers of messages, then those
    /// of words that hold data and flag; at the end [`DeviceSlot::calls`].
    pub fn bytes(pes: usize) -> usize {
        (Self::flags(pes) + 2 * Self::buffers(pes) + size_of::<KernelCalls>()).next_multiple_of(4096)
    }

    /// What the owner says of its kernels' calls: used on the CPU, by every PE that maps the slot.
    pub fn calls(&self) -> *const KernelCalls {
        (self.at + Self::bytes(self.pes) - size_of::<KernelCalls>()) as *const KernelCalls
    }

    /// Where the flags of grids begin, in bytes from the slot's beginning: an array a block.
    pub fn grids(pes: usize) -> usize {
        HEAD + Self::blocks(pes) * 8 + ARRAYS * Self::words(pes) * 8
    }

    /// Where the owner counts the calls of the first block of a grid.
    pub const GRID_CALLS: usize = HEAD;

    /// Where the buffers of words that hold data and flag begin, in bytes from the slot's beginning: those of even calls,
    /// then of odd ones, each a buffer ([`DeviceSlot::cell`]) a member, by rank.
    pub fn flagged(pes: usize) -> usize {
        Self::flags(pes) + Self::buffers(pes)
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        debug_assert!(index * 8 < Self::counts(self.pes));
        // SAFETY: a word in front of the buffers of mapped internals.
        unsafe { &*(self.at as *const AtomicU64).add(index) }
    }

    fn own(&self, array: Words, pe: usize) -> &AtomicU64 {
        self.word(Self::array(array, self.pes) / 8 + pe)
    }

    /// Calls that block `block` of a grid has made.
    fn grid(&self, block: usize) -> &AtomicU64 {
        self.word(HEAD / 8 + block)
    }

    fn all(&self) -> impl Iterator<Item = &AtomicU64> {
        let messages = (0..self.pes).flat_map(|pe| [self.own(Words::Sent, pe), self.own(Words::Got, pe)]);
        let grids = (0..Self::blocks(self.pes)).map(|block| self.grid(block));
        messages.chain(grids).chain((0..COUNTS).map(|index| self.word(index)))
    }

    /// The highest of the owner's counts: no word that it has written anywhere for this slot is above.
    pub fn high_water(&self) -> u64 {
        self.all().map(|word| word.load(Ordering::Relaxed)).max().unwrap_or(0)
    }

    /// Has the owner's counts begin at `base`, at which those of the team's other members begin too.
    pub fn begin(&self, base: u64) {
        self.all().for_each(|word| word.store(base, Ordering::Release));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_every_team_fit() {
        for pes in 1..=2000 {
            let room = DeviceSlot::buffers(pes);
            assert!(DeviceSlot::flags(pes) + 2 * room <= DeviceSlot::bytes(pes));
            for members in [1, 2, 3, pes / 2, pes - 1, pes] {
                let members = members.clamp(1, pes);
                let cell = DeviceSlot::cell(members);
                assert!(2 * members * cell <= room && cell.is_multiple_of(64), "{members} of {pes}: {cell}");
            }
        }
    }

    #[test]
    fn buffers_are_where_kernels_look_for_them() {
        // `members::at`, `grid` and `flagged` of impl/coll_team.h.
        for pes in [1, 2, 7, 8, 9, 64, 100, 500] {
            let (stride, blocks) = (DeviceSlot::words(pes), DeviceSlot::blocks(pes));
            let at = |array: usize| 64 + 8 * blocks + 8 * array * stride;
            assert_eq!(DeviceSlot::array(Words::Here, pes), at(6));
            assert_eq!(DeviceSlot::grids(pes), at(10));
            let messages = at(10) + 8 * blocks * stride;
            assert_eq!(DeviceSlot::flagged(pes), messages + 2 * (256 * stride).max(65536));
            assert!(DeviceSlot::flagged(pes) + 2 * pes * DeviceSlot::cell(pes) <= DeviceSlot::bytes(pes));
        }
    }

    #[test]
    fn every_world_has_flags_for_a_few_blocks() {
        for pes in 1..=2000 {
            let blocks = DeviceSlot::blocks(pes);
            assert!(blocks.is_multiple_of(8) && blocks <= MOST_BLOCKS, "{pes}: {blocks}");
            assert!(pes > 64 || blocks == MOST_BLOCKS, "{pes}: {blocks}");
            assert!(DeviceSlot::flags(pes) < 300 << 10, "{pes}: {} bytes", DeviceSlot::flags(pes));
        }
    }

    #[test]
    fn a_team_begins_above_all_that_was_counted() {
        let pes = 5;
        let mut memory = vec![0u64; DeviceSlot::bytes(pes) / 8];
        // SAFETY: as many bytes as a slot has.
        let slot = unsafe { DeviceSlot::new(memory.as_mut_ptr() as usize, pes) };
        assert_eq!(slot.high_water(), 0);
        slot.own(Words::Got, 3).store(7, Ordering::Relaxed);
        assert_eq!(slot.high_water(), 7);
        slot.own(Words::Sent, 4).store(9, Ordering::Relaxed);
        assert_eq!(slot.high_water(), 9);
        slot.begin(12);
        assert_eq!(slot.high_water(), 12);
        slot.word(0).store(13, Ordering::Relaxed);
        assert_eq!(slot.high_water(), 13);
        slot.grid(127).store(15, Ordering::Relaxed);
        assert_eq!(slot.high_water(), 15);
        slot.begin(16);
        assert_eq!(
            [slot.grid(0), slot.word(2), slot.word(3)].map(|word| word.load(Ordering::Relaxed)),
            [16; 3]
        );
        // What others write, and what the host counts on from team to team, is left alone.
        assert!(memory[DeviceSlot::counts(pes) / 8..].iter().all(|&word| word == 0));
    }
}

//! What a member of a team shows to the others' kernels: flags and buffers of the collectives that kernels
//! call (`include/dushmem/impl/coll_*.h`, docs/design/device-collectives.md).
//!
//! A PE has one for each team slot. Flags stand at the world number of the PE that writes them, so a word has one
//! writer, whichever teams use the slot in turn; they count up and are never reset. A team begins where
//! the highest count of its members stands ([`DeviceSlot::high_water`]), so what was written for an earlier team,
//! even if it arrives late, is below all that the new one waits for. All-zero bytes are the initial state.
use core::sync::atomic::{AtomicU64, Ordering};

/// Arrays of words, one a PE of the world. The first four are written by others, the others by the owner.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "explained in the header")]
#[repr(usize)]
pub enum Words {
    Sync = 0,
    Note = 1,
    Mail = 2,
    Room = 3,
    Sent = 4,
    Got = 5,
}

/// Number of arrays.
const ARRAYS: usize = 6;
/// Bytes in front of the arrays: the owner's count of calls, and where the counts of this team began.
const HEAD: usize = 64;
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

    /// Bytes of a slot in a world of `pes` PEs, whole pages.
    pub fn bytes(pes: usize) -> usize {
        let buffers = 2 * BUFFERS.max(pes * SMALLEST);
        (HEAD + ARRAYS * Self::words(pes) * 8 + buffers).next_multiple_of(4096)
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        debug_assert!(index < (HEAD / 8) + ARRAYS * Self::words(self.pes));
        // SAFETY: a word in front of the buffers of mapped internals.
        unsafe { &*(self.at as *const AtomicU64).add(index) }
    }

    fn own(&self, array: Words, pe: usize) -> &AtomicU64 {
        self.word(HEAD / 8 + array as usize * Self::words(self.pes) + pe)
    }

    /// The highest of the owner's counts: no word that it has written anywhere for this slot is above.
    pub fn high_water(&self) -> u64 {
        let counts = (0..self.pes).flat_map(|pe| [self.own(Words::Sent, pe), self.own(Words::Got, pe)]);
        counts.chain([self.word(0)]).map(|word| word.load(Ordering::Relaxed)).max().unwrap_or(0)
    }

    /// Has the owner's counts begin at `base`, at which those of the team's other members begin too.
    pub fn begin(&self, base: u64) {
        for pe in 0..self.pes {
            self.own(Words::Sent, pe).store(base, Ordering::Relaxed);
            self.own(Words::Got, pe).store(base, Ordering::Relaxed);
        }
        self.word(0).store(base, Ordering::Relaxed);
        self.word(1).store(base, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_every_team_fit() {
        for pes in 1..=2000 {
            let room = DeviceSlot::bytes(pes) - HEAD - ARRAYS * DeviceSlot::words(pes) * 8;
            for members in [1, 2, 3, pes / 2, pes - 1, pes] {
                let members = members.clamp(1, pes);
                let cell = DeviceSlot::cell(members);
                assert!(2 * members * cell <= room && cell.is_multiple_of(64), "{members} of {pes}: {cell}");
            }
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
    }
}

//! Freeing blocks that each PE gives up at a time of its own.
use crate::coll::slot::PAYLOAD;
use crate::error::{Call, Result};
use crate::sync::tag;
use crate::world::World;

/// Blocks that one exchange can settle.
const ROUND: usize = PAYLOAD * 8;

impl World {
    /// Frees the blocks that every PE has given up. `given_up` is how many this PE has. `blocks` gives the
    /// blocks of the malloc family in use, the same ones in the same order on all PEs, and for each whether
    /// this PE has given it up; it is asked only where every PE has given up some. Returns for each block
    /// whether it was freed, which is the same on all PEs, or nothing if none was.
    ///
    /// Collective over all PEs, with a barrier at the beginning, also where there is nothing to free. `call`
    /// and `detail` are what a report of disagreement names: the allocation that this belongs to.
    pub fn reclaim(
        &self,
        call: Call,
        detail: u64,
        given_up: usize,
        blocks: impl FnOnce() -> Vec<(*mut u8, bool)>,
    ) -> Result<Vec<bool>> {
        self.check_alive()?;
        // What this PE still has under way to a block that it gives up must arrive before it is reused.
        self.quiet(self.default_context())?;
        let sign = tag(&[call as u64, detail]);
        let counts =
            self.exchange(self.world_team(), call, sign, detail, &(given_up as u64).to_ne_bytes())?;
        if counts.chunks_exact(8).any(|count| count == [0; 8]) {
            return Ok(Vec::new());
        }
        let blocks = blocks();
        let mut agreed = Vec::with_capacity(blocks.len());
        for (round, part) in blocks.chunks(ROUND).enumerate() {
            let mine = pack(part.iter().map(|&(_, given_up)| given_up));
            let sign = tag(&[call as u64, detail, blocks.len() as u64, round as u64]);
            let all = self.exchange(self.world_team(), call, sign, detail, &mine)?;
            let both = |a: Vec<u8>, b: &[u8]| a.iter().zip(b).map(|(a, b)| a & b).collect();
            let common = all.chunks_exact(mine.len()).fold(vec![u8::MAX; mine.len()], both);
            agreed.extend((0..part.len()).map(|i| common[i / 8] >> (i % 8) & 1 == 1));
        }
        for (&(block, _), _) in blocks.iter().zip(&agreed).filter(|(_, agreed)| **agreed) {
            let arena = self.arena_of(block as usize);
            arena.blocks().release(block as usize - arena.base());
        }
        Ok(agreed)
    }
}

/// One bit a block.
fn pack(bits: impl ExactSizeIterator<Item = bool>) -> Vec<u8> {
    let mut bytes = vec![0; bits.len().div_ceil(8)];
    for (i, _) in bits.enumerate().filter(|&(_, bit)| bit) {
        bytes[i / 8] |= 1 << (i % 8);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_packed_from_the_lowest() {
        assert_eq!(pack([].into_iter()), []);
        let mut bits = [false; 11];
        for i in [0, 3, 8, 10] {
            bits[i] = true;
        }
        assert_eq!(pack(bits.into_iter()), [0b1001, 0b101]);
    }
}

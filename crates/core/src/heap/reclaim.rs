//! Freeing blocks that each PE gives up at a time of its own.
use crate::coll::slot::PAYLOAD;
use crate::error::{Call, Result};
use crate::sync::tag;
use crate::world::World;

/// Blocks that one exchange can settle.
const ROUND: usize = PAYLOAD * 8;

impl World {
    /// Frees the blocks that every PE has given up. `blocks` are blocks of the malloc family in use, the
    /// same ones in the same order on all PEs; `given_up[i]` says whether this PE will not use `blocks[i]`
    /// any more. Returns for each block whether it was freed, which is the same on all PEs.
    ///
    /// Collective over all PEs, with a barrier at the beginning, also where there is nothing to free. `call`
    /// and `detail` are what a report of disagreement names: the allocation that this belongs to.
    pub fn reclaim(
        &self,
        call: Call,
        detail: u64,
        blocks: &[*mut u8],
        given_up: &[bool],
    ) -> Result<Vec<bool>> {
        assert_eq!(blocks.len(), given_up.len());
        self.check_alive()?;
        // What this PE still has under way to a block that it gives up must arrive before it is reused.
        self.quiet(self.default_context())?;
        let mut agreed = Vec::with_capacity(blocks.len());
        // One round at least: it is what finds PEs that make another call.
        for round in 0..blocks.len().div_ceil(ROUND).max(1) {
            let from = round * ROUND;
            let mine = pack(&given_up[from..given_up.len().min(from + ROUND)]);
            let sign = tag(&[call as u64, detail, blocks.len() as u64, round as u64]);
            let all = self.exchange(self.world_team(), call, sign, detail, &mine)?;
            let common =
                all.chunks_exact(mine.len().max(1)).fold(vec![u8::MAX; mine.len()], |acc, theirs| {
                    acc.iter().zip(theirs).map(|(a, b)| a & b).collect()
                });
            let here = (blocks.len() - from).min(ROUND);
            agreed.extend((0..here).map(|i| common[i / 8] >> (i % 8) & 1 == 1));
        }
        for (&block, _) in blocks.iter().zip(&agreed).filter(|(_, agreed)| **agreed) {
            let offset = block as usize - self.window().heap().0;
            self.heap().release(offset);
        }
        Ok(agreed)
    }
}

/// One bit a block.
fn pack(bits: &[bool]) -> Vec<u8> {
    let byte = |eight: &[bool]| eight.iter().enumerate().fold(0, |byte, (i, &bit)| byte | u8::from(bit) << i);
    bits.chunks(8).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_packed_from_the_lowest() {
        assert_eq!(pack(&[]), []);
        let mut bits = [false; 11];
        for i in [0, 3, 8, 10] {
            bits[i] = true;
        }
        assert_eq!(pack(&bits), [0b1001, 0b101]);
    }
}

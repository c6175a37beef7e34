//! A deterministic allocator whose bookkeeping lies outside the memory that it divides.
//!
//! Every PE runs its own copy. Offsets depend on the sequence of calls alone (no addresses, no time, no
//! hashing), so equal call sequences give equal offsets on all PEs; and a stray remote put cannot damage
//! the bookkeeping.
use std::collections::{BTreeMap, BTreeSet};

/// Blocks begin and end at multiples of this: a cache line, which suits any type.
pub const GRAIN: usize = 64;

/// The allocator of one heap.
#[derive(Debug)]
pub struct Allocator {
    total: usize,
    /// Where offset 0 lies in something that is aligned as far as anybody asks.
    phase: usize,
    /// Free blocks by offset.
    free: BTreeMap<usize, usize>,
    /// The same by size, then offset: the smallest that fits is taken, the lowest among equals.
    by_size: BTreeSet<(usize, usize)>,
    /// Blocks in use: length reserved, and length asked for.
    used: BTreeMap<usize, Block>,
    in_use: usize,
    high_water: usize,
}

/// A block in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Bytes reserved.
    pub reserved: usize,
    /// Bytes asked for.
    pub asked: usize,
}

impl Allocator {
    /// An allocator over `total` bytes that begin `phase` bytes, a multiple of [`GRAIN`], after an address
    /// that is aligned as far as anybody asks.
    pub fn new(total: usize, phase: usize) -> Allocator {
        let total = total / GRAIN * GRAIN;
        let mut new = Allocator {
            total,
            phase,
            free: BTreeMap::new(),
            by_size: BTreeSet::new(),
            used: BTreeMap::new(),
            in_use: 0,
            high_water: 0,
        };
        if total > 0 {
            new.insert_free(0, total);
        }
        new
    }

    /// Takes `bytes > 0` bytes at a place aligned to `align`, a power of two. `None` where no block fits.
    pub fn alloc(&mut self, bytes: usize, align: usize) -> Option<usize> {
        debug_assert!(bytes > 0 && align.is_power_of_two());
        let want = bytes.checked_next_multiple_of(GRAIN)?;
        let align = align.max(GRAIN);
        let (block, len, start) = self.by_size.range((want, 0)..).find_map(|&(len, offset)| {
            let start = (self.phase + offset).checked_next_multiple_of(align)? - self.phase;
            (start - offset <= len - want).then_some((offset, len, start))
        })?;
        self.remove_free(block, len);
        if start > block {
            self.insert_free(block, start - block);
        }
        let end = start + want;
        if end < block + len {
            self.insert_free(end, block + len - end);
        }
        self.used.insert(start, Block { reserved: want, asked: bytes });
        self.in_use += want;
        self.high_water = self.high_water.max(end);
        Some(start)
    }

    /// Returns a block. `None` where no block in use begins at `offset`.
    pub fn release(&mut self, offset: usize) -> Option<Block> {
        let block = self.used.remove(&offset)?;
        self.in_use -= block.reserved;
        let (mut start, mut len) = (offset, block.reserved);
        if let Some((&before, &before_len)) = self.free.range(..offset).next_back()
            && before + before_len == offset
        {
            self.remove_free(before, before_len);
            start = before;
            len += before_len;
        }
        let end = offset + block.reserved;
        if let Some(&after_len) = self.free.get(&end) {
            self.remove_free(end, after_len);
            len += after_len;
        }
        self.insert_free(start, len);
        Some(block)
    }

    /// Changes the size of a block where it stands. False where there is no room; nothing changes then.
    pub fn resize(&mut self, offset: usize, bytes: usize) -> bool {
        let Some(&block) = self.used.get(&offset) else { return false };
        let Some(want) = bytes.checked_next_multiple_of(GRAIN) else { return false };
        let end = offset + block.reserved;
        if want > block.reserved {
            let more = want - block.reserved;
            match self.free.get(&end) {
                Some(&len) if len >= more => {
                    self.remove_free(end, len);
                    if len > more {
                        self.insert_free(end + more, len - more);
                    }
                }
                _ => return false,
            }
        } else if want < block.reserved {
            let less = block.reserved - want;
            let after = self.free.get(&end).copied().unwrap_or(0);
            if after > 0 {
                self.remove_free(end, after);
            }
            self.insert_free(offset + want, less + after);
        }
        self.in_use = self.in_use - block.reserved + want;
        self.high_water = self.high_water.max(offset + want);
        self.used.insert(offset, Block { reserved: want, asked: bytes });
        true
    }

    /// The block in use that begins at `offset`.
    pub fn block(&self, offset: usize) -> Option<Block> {
        self.used.get(&offset).copied()
    }

    /// The block in use that contains `offset`: its beginning and itself.
    pub fn containing(&self, offset: usize) -> Option<(usize, Block)> {
        let (&start, &block) = self.used.range(..=offset).next_back()?;
        (offset < start + block.reserved).then_some((start, block))
    }

    /// All bytes, bytes in use, and the largest free block.
    pub fn usage(&self) -> (usize, usize, usize) {
        (self.total, self.in_use, self.by_size.last().map_or(0, |&(len, _)| len))
    }

    /// As for [`Allocator::new`].
    pub fn phase(&self) -> usize {
        self.phase
    }

    /// The least size that would have had room for `bytes` more at a multiple of `align`, whatever lies between the blocks in
    /// use, in memory that begins `phase` bytes after an address that is aligned as far as anybody asks. `grows`: the block
    /// whose place may become that of the new one, as it is enlarged.
    pub fn enough(&self, bytes: usize, align: usize, phase: usize, grows: Option<usize>) -> usize {
        let last = self.used.last_key_value();
        let end = match last {
            Some((offset, _)) if grows == Some(*offset) => *offset,
            _ => last.map_or(0, |(offset, block)| offset + block.reserved),
        };
        let start = phase.saturating_add(end).checked_next_multiple_of(align.max(GRAIN));
        let start = start.map_or(usize::MAX, |start| start - phase);
        start.saturating_add(bytes.checked_next_multiple_of(GRAIN).unwrap_or(usize::MAX))
    }

    /// End of the highest block that was ever in use: memory above it was never handed out.
    pub fn high_water(&self) -> usize {
        self.high_water
    }

    fn insert_free(&mut self, offset: usize, len: usize) {
        self.free.insert(offset, len);
        self.by_size.insert((len, offset));
    }

    fn remove_free(&mut self, offset: usize, len: usize) {
        self.free.remove(&offset);
        self.by_size.remove(&(len, offset));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PHASE: usize = 3 << 10;

    #[derive(Clone, Debug)]
    enum Step {
        Alloc { bytes: usize, align: u32 },
        Free { which: usize },
        Resize { which: usize, bytes: usize },
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            (1usize..5000, 3u32..13).prop_map(|(bytes, align)| Step::Alloc { bytes, align }),
            any::<usize>().prop_map(|which| Step::Free { which }),
            (any::<usize>(), 1usize..5000).prop_map(|(which, bytes)| Step::Resize { which, bytes }),
        ];
        prop::collection::vec(step, 1..200)
    }

    /// Runs the steps, checks against a list of live blocks, and returns the offsets given out.
    fn run(steps: &[Step]) -> Vec<Option<usize>> {
        let mut heap = Allocator::new(64 << 10, PHASE);
        let mut live: Vec<(usize, usize)> = Vec::new();
        let mut given = Vec::new();
        for step in steps {
            match *step {
                Step::Alloc { bytes, align } => {
                    let at = heap.alloc(bytes, 1 << align);
                    if let Some(at) = at {
                        assert_eq!((PHASE + at) % (1 << align), 0);
                        live.push((at, bytes));
                    }
                    given.push(at);
                }
                Step::Free { which } if !live.is_empty() => {
                    let (at, bytes) = live.swap_remove(which % live.len());
                    assert_eq!(heap.release(at).map(|b| b.asked), Some(bytes));
                    assert_eq!(heap.release(at), None, "a second free of {at}");
                }
                Step::Resize { which, bytes } if !live.is_empty() => {
                    let index = which % live.len();
                    if heap.resize(live[index].0, bytes) {
                        live[index].1 = bytes;
                    }
                }
                _ => {}
            }
            let mut sorted = live.clone();
            sorted.sort_unstable();
            for pair in sorted.windows(2) {
                assert!(pair[0].0 + pair[0].1 <= pair[1].0, "blocks overlap: {pair:?}");
            }
            assert!(sorted.last().is_none_or(|&(at, bytes)| at + bytes <= 64 << 10));
            let (total, used, _) = heap.usage();
            assert_eq!(used + heap.free.values().sum::<usize>(), total);
            assert_eq!(heap.free.len(), heap.by_size.len());
            for (a, b) in heap.free.iter().zip(heap.free.iter().skip(1)) {
                assert!(a.0 + a.1 < *b.0, "free neighbours were not joined");
            }
        }
        given
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn blocks_are_disjoint_and_offsets_depend_on_the_calls_alone(steps in steps()) {
            prop_assert_eq!(run(&steps), run(&steps));
        }
    }

    #[test]
    fn what_is_said_to_be_enough_is() {
        for (bytes, align) in [(600, GRAIN), (5000, 2048), (64, 4096)] {
            let filled = |total: usize| {
                let mut heap = Allocator::new(total, 64);
                for _ in 0..7 {
                    heap.alloc(500, GRAIN).unwrap();
                }
                // Free in sum, but not in one piece.
                for offset in [0, 1024, 2048] {
                    heap.release(offset).unwrap();
                }
                heap
            };
            let mut small = filled(3584);
            assert_eq!(small.alloc(bytes, align), None);
            let enough = small.enough(bytes, align, 64, None);
            assert!(filled(enough).alloc(bytes, align).is_some(), "{bytes} at {align}: {enough}");
            assert_eq!(filled(enough - GRAIN).alloc(bytes, align), None, "{bytes} at {align}: {enough}");
            // As a block that grows where it stands.
            let last = 3072;
            assert!(!small.resize(last, bytes + 512) && small.block(last).is_some());
            let enough = small.enough(bytes + 512, GRAIN, 64, Some(last));
            assert!(filled(enough).resize(last, bytes + 512), "{bytes}: {enough}");
            assert!(!filled(enough - GRAIN).resize(last, bytes + 512), "{bytes}: {enough}");
        }
    }

    #[test]
    fn everything_comes_back() {
        let mut heap = Allocator::new(1 << 20, 0);
        let blocks: Vec<_> = (1..100).filter_map(|n| heap.alloc(n * 37, 64)).collect();
        assert_eq!(blocks.len(), 99);
        for at in blocks {
            heap.release(at);
        }
        assert_eq!(heap.usage(), (1 << 20, 0, 1 << 20));
        assert_eq!(heap.alloc(1 << 20, 64), Some(0));
        assert_eq!(heap.alloc(1, 64), None);
    }

    #[test]
    fn sizes_near_the_limit_do_not_overflow() {
        let mut heap = Allocator::new(4096, 0);
        assert_eq!(heap.alloc(usize::MAX, 64), None);
        assert_eq!(heap.alloc(usize::MAX - 63, 1 << 40), None);
        assert_eq!(Allocator::new(4096, 64).alloc(64, 1 << 40), None);
        assert_eq!(heap.alloc(64, 1 << 40), Some(0));
    }
}

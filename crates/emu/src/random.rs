//! Random orders that a seed repeats: `DUSHMEM_EMU_SEED`.
use crate::device;
use dushmem_core::env;
use std::sync::OnceLock;

/// The seed, if one is set: a number that a program's threads and blocks are shuffled by.
pub fn seed() -> Option<u64> {
    static SEED: OnceLock<Option<u64>> = OnceLock::new();
    *SEED.get_or_init(|| device::setting(env::emu_seed, None, "GPU threads run in their usual order"))
}

/// SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Another sequence for each combination of parts.
    pub fn new(parts: &[u64]) -> Random {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        for part in parts {
            random.0 ^= part.wrapping_mul(0xff51_afd7_ed55_8ccd);
            random.0 = random.next();
        }
        random
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: u32) -> u32 {
        (((self.next() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// The numbers below `n` in some order.
    pub fn shuffle(&mut self, numbers: &mut Vec<u16>, n: u16) {
        numbers.clear();
        numbers.extend(0..n);
        for i in (1..numbers.len()).rev() {
            numbers.swap(i, self.below(i as u32 + 1) as usize);
        }
    }
}

/// A permutation of the numbers below `n`, computed number by number: four rounds of a Feistel network over the
/// next even number of bits, again and again until the result is below `n`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Permutation {
    n: u64,
    half: u32,
    key: u64,
}

impl Permutation {
    pub fn new(n: u64, key: u64) -> Permutation {
        let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
        Permutation { n, half: bits.div_ceil(2).max(1), key }
    }

    pub fn at(&self, number: u64) -> u64 {
        let mask = (1u64 << self.half) - 1;
        let mut number = number;
        loop {
            let (mut left, mut right) = (number >> self.half, number & mask);
            for round in 0..4 {
                let mixed = Random::new(&[self.key, round, right]).0;
                (left, right) = (right, left ^ (mixed & mask));
            }
            number = left << self.half | right;
            if number < self.n {
                return number;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_has_every_number_once_and_depends_on_its_key() {
        for n in [1, 2, 3, 5, 64, 100, 1000, 4097] {
            let order = |key| {
                let permutation = Permutation::new(n, key);
                (0..n).map(|i| permutation.at(i)).collect::<Vec<_>>()
            };
            let mut sorted = order(7);
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..n), "{n}");
            assert_eq!(order(7), order(7));
            assert!(n < 64 || order(7) != order(8));
        }
        // Most blocks that a grid can have.
        let most = (i32::MAX as u64) * 65_535 * 65_535;
        assert!(Permutation::new(most, 3).at(most - 1) < most);
    }

    #[test]
    fn numbers_are_spread() {
        let mut random = Random::new(&[1, 2]);
        let mut counts = [0; 10];
        for _ in 0..10_000 {
            counts[random.below(10) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (800..1200).contains(count)), "{counts:?}");
        let mut numbers = Vec::new();
        random.shuffle(&mut numbers, 1024);
        assert!(numbers[..100].iter().enumerate().filter(|(i, n)| *i == **n as usize).count() < 10);
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..1024));
    }
}

//! Memory management: blocks are disjoint, aligned, keep their bytes through everything that happens to
//! others, and a call fails only where there is no room.
use super::api::Api;
use super::input::Input;
use crate::suites::pe::bytes;
use std::ops::Range;

/// Blocks begin at multiples of this.
const GRAIN: usize = 64;

/// The heap of a program: what its PEs have to be given.
pub const HEAP: usize = 64 << 10;

#[derive(Debug)]
struct Block {
    at: *mut u8,
    size: usize,
    /// What it holds: [`bytes`] of this seed.
    seed: u64,
}

struct Program<'a, A: Api> {
    api: &'a A,
    base: usize,
    live: Vec<Block>,
    steps: u64,
    /// Of the offsets given out.
    hash: u64,
}

/// Runs the program that `input` stands for. Every PE of the job calls this with the same input.
///
/// # Panics
/// Where memory is not as it has to be.
pub fn run<A: Api>(api: &A, input: &[u8]) {
    let mut input = Input::new(input);
    // All of the heap, so that its beginning is known.
    let all = api.malloc(HEAP);
    assert!(!all.is_null(), "an empty heap has room for a block of its size");
    let mut program = Program { api, base: all as usize, live: Vec::new(), steps: 0, hash: 0 };
    // SAFETY: a block in use, filled so that memory is known not to be zero.
    unsafe {
        all.write_bytes(0xee, HEAP);
        api.free(all);
    }
    while !input.is_empty() && program.steps < 300 {
        program.step(&mut input);
    }
    while let Some(block) = program.live.pop() {
        program.check(&block);
        // SAFETY: in use.
        unsafe { api.free(block.at) };
    }
    let all = api.malloc(HEAP);
    assert_eq!(all as usize, program.base, "a heap without blocks is whole again");
    // SAFETY: in use.
    unsafe { program.compare_hashes(all) };
    // SAFETY: in use.
    unsafe { api.free(all) };
}

impl<A: Api> Program<'_, A> {
    fn step(&mut self, input: &mut Input<'_>) {
        self.steps += 1;
        let api = self.api;
        match input.below(12) {
            0 | 1 => {
                let size = self.size(input);
                self.born(api.malloc(size), size, GRAIN, false);
            }
            2 => {
                let size = self.size(input);
                let hints = i64::from(input.small());
                self.born(api.malloc_with_hints(size, hints), size, GRAIN, false);
            }
            3 | 4 => {
                let (count, size) = (input.below(40), self.size(input) / 16);
                self.born(api.calloc(count, size), count * size, GRAIN, true);
            }
            5 => {
                // Not all of them are possible: the call says which.
                let alignment = input.below(1 << 13) & (-1isize << input.below(13)) as usize;
                let size = self.size(input);
                let block = api.align(alignment, size);
                if alignment.is_power_of_two() && alignment >= 8 {
                    self.born(block, size, alignment.max(GRAIN), false);
                } else {
                    assert!(block.is_null(), "align to {alignment}");
                }
            }
            6 | 7 if !self.live.is_empty() => self.realloc(input),
            8 | 9 if !self.live.is_empty() => {
                let block = self.live.swap_remove(input.below(self.live.len()));
                self.check(&block);
                // SAFETY: in use.
                unsafe { api.free(block.at) };
            }
            10 => {
                assert!(api.malloc(0).is_null() && api.calloc(0, 7).is_null() && api.align(64, 0).is_null());
                assert!(api.calloc(usize::MAX / 2, 3).is_null() && api.malloc(usize::MAX).is_null());
                // SAFETY: null is nothing.
                unsafe {
                    api.free(std::ptr::null_mut());
                    assert!(api.realloc(std::ptr::null_mut(), 0).is_null());
                }
            }
            11 if !self.live.is_empty() => {
                // Bytes of the neighbour: nothing but this block changes there.
                let which = input.below(self.live.len());
                let (n, me) = (api.n(), api.me());
                let seed = |pe: usize| self.steps << 16 | 0x8000 | pe as u64;
                let (at, size) = (self.live[which].at, self.live[which].size);
                let to = (me + 1) % n;
                // SAFETY: a block in use, which nobody else writes to between the barriers.
                unsafe {
                    api.barrier_all();
                    api.put(at, bytes(seed(to), size).as_ptr(), size, to);
                    api.barrier_all();
                }
                self.live[which].seed = seed(me);
            }
            _ => self.live.iter().for_each(|block| self.check(block)),
        }
    }

    /// Mostly small, at times near to what the heap has.
    fn size(&self, input: &mut Input<'_>) -> usize {
        match input.below(8) {
            0 => input.below(4 * GRAIN),
            1..=4 => input.below(2000),
            5 | 6 => input.below(HEAP / 4),
            _ => HEAP - input.below(HEAP),
        }
    }

    /// Gaps between the blocks, as offsets; `without` is left out of the blocks.
    fn gaps(&self, without: Option<usize>) -> Vec<Range<usize>> {
        let taken = self.live.iter().enumerate().filter(|(i, _)| Some(*i) != without);
        let mut taken: Vec<(usize, usize)> =
            taken.map(|(_, b)| (b.at as usize - self.base, b.size.next_multiple_of(GRAIN))).collect();
        taken.push((HEAP, 0));
        taken.sort_unstable();
        let mut end = 0;
        let mut gaps = Vec::new();
        for (at, size) in taken {
            assert!(at >= end, "blocks overlap at offset {at}");
            gaps.push(end..at);
            end = at + size;
        }
        assert!(end <= HEAP, "a block ends at {end} in a heap of {HEAP}");
        gaps.retain(|gap| !gap.is_empty());
        gaps
    }

    fn room(&self, size: usize, alignment: usize, without: Option<usize>) -> bool {
        self.gaps(without).iter().any(|gap| {
            let start = (self.base + gap.start).next_multiple_of(alignment) - self.base;
            start + size.next_multiple_of(GRAIN) <= gap.end
        })
    }

    /// What an allocation gave.
    fn born(&mut self, at: *mut u8, size: usize, alignment: usize, zero: bool) {
        let room = size > 0 && self.room(size, alignment, None);
        assert_eq!(!at.is_null(), room, "{size} bytes aligned to {alignment}, gaps {:?}", self.gaps(None));
        if at.is_null() {
            return;
        }
        assert_eq!(at as usize % alignment, 0, "{size} bytes aligned to {alignment}");
        if zero {
            // SAFETY: a block in use.
            let is = unsafe { std::slice::from_raw_parts(at, size) };
            assert!(is.iter().all(|&byte| byte == 0), "calloc of {size} bytes is not zero");
        }
        self.keep(at, size);
    }

    /// Fills a block and adds it.
    fn keep(&mut self, at: *mut u8, size: usize) {
        let seed = self.steps << 16 | self.api.me() as u64;
        // SAFETY: a block in use, which other PEs don't write to now.
        unsafe { at.copy_from(bytes(seed, size).as_ptr(), size) };
        self.hash = self.hash.rotate_left(7) ^ (at as usize - self.base) as u64;
        self.live.push(Block { at, size, seed });
        self.gaps(None);
    }

    fn check(&self, block: &Block) {
        // SAFETY: a block in use, which other PEs don't write to now.
        let is = unsafe { std::slice::from_raw_parts(block.at, block.size) };
        assert!(is == bytes(block.seed, block.size), "a block of {} bytes changed", block.size);
    }

    fn realloc(&mut self, input: &mut Input<'_>) {
        let which = input.below(self.live.len());
        let size = if input.one_in(9) { 0 } else { self.size(input) };
        let old = &self.live[which];
        let (old_at, old_size, seed) = (old.at, old.size, old.seed);
        self.check(old);
        // SAFETY: in use on all PEs.
        let at = unsafe { self.api.realloc(old_at, size) };
        if size == 0 {
            assert!(at.is_null(), "realloc to nothing");
            self.live.swap_remove(which);
            return;
        }
        let offset = old_at as usize - self.base;
        let in_place = self
            .gaps(Some(which))
            .iter()
            .any(|gap| gap.contains(&offset) && offset + size.next_multiple_of(GRAIN) <= gap.end);
        let room = in_place || self.room(size, GRAIN, None);
        assert_eq!(!at.is_null(), room, "realloc of {old_size} bytes to {size}, gaps {:?}", self.gaps(None));
        if at.is_null() {
            self.check(&self.live[which]);
            return;
        }
        let kept = size.min(old_size);
        // SAFETY: a block in use.
        let is = unsafe { std::slice::from_raw_parts(at, kept) };
        assert!(is == &bytes(seed, old_size)[..kept], "realloc of {old_size} bytes to {size} lost some");
        self.live.swap_remove(which);
        self.keep(at, size);
    }

    /// All PEs were given the same offsets.
    ///
    /// # Safety
    /// `place` is a block in use of at least two words a PE.
    unsafe fn compare_hashes(&self, place: *mut u8) {
        let (api, words) = (self.api, place.cast::<u64>());
        // SAFETY: the caller's block; one word, and then one for each PE.
        unsafe {
            words.write(self.hash);
            let buffers = super::api::Buffers { dest: words.add(1).cast(), source: place };
            assert!(api.fcollect(0, buffers, 8));
            for pe in 0..api.n() {
                assert_eq!(words.add(1 + pe).read(), self.hash, "offsets of PE {pe}");
            }
        }
        api.barrier_all();
    }
}

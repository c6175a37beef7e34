//! Random updates of a distributed table: each xors a random number into a random word of the table.
//!
//!   cargo build --release -p dushmem --example gups
//!   dushrun -n 8 target/release/examples/gups
//!   dushrun -n 8 target/release/examples/gups 4000000 --bucket 512
//!
//! The table lies in equal blocks on the PEs. An update is one atomic xor, which needs no answer, so nothing waits
//! for it; the barrier behind all of them completes them. That is best where a PE can reach the word itself.
//! On a network one message a word is dear: with --bucket a PE collects what goes to the same owner, and sends
//! it by a put with signal. The owner applies it to its own memory, without atomics.
//!
//! The check: xor changes a checksum of the table by what every PE can compute from its own updates alone. And
//! all updates once more must give the first table again.
use dushmem::{Cmp, Result, SignalOp, Symmetric, Xor};
use program::{Report, Run, Setting, below, mark, random_at};
use std::ops::Range;
use std::process::ExitCode;
use std::time::Instant;

mod program;

fn main() -> ExitCode {
    let settings = [
        Setting("size", 1 << 20, 1..=1 << 32, "words of the table"),
        Setting("updates", 1 << 23, 1..=1 << 48, "updates of all PEs together"),
        Setting("bucket", 0, 0..=1 << 20, "updates that are sent together, 0: atomics instead"),
    ];
    program::main(
        "gups",
        "random updates of a distributed table",
        settings,
        |run, [size, updates, bucket]| {
            let table = Table::new(run, size)?;
            let mut buckets = Buckets::new(run, bucket as usize)?;
            let mine = run.share(updates);
            let mut update = || match bucket {
                0 => table.update_each(mine.clone()),
                _ => table.update_in(&mut buckets, mine.clone()),
            };
            let began = Instant::now();
            update()?;
            let time = began.elapsed();
            let checksum = table.check_once(mine.clone())?;
            update()?;
            table.check_twice();
            let text = format!("{size} words, {updates} updates, checksum {checksum:016x}");
            Ok(Report { text, items: updates, unit: "updates", time })
        },
    )
}

fn update(u: u64) -> u64 {
    random_at(1, u)
}

/// Word `i` of it is `i` at first.
struct Table<'w> {
    run: &'w Run<'w>,
    size: u64,
    /// Words a PE.
    block: u64,
    /// The first word of this PE, and how many it has.
    begin: u64,
    len: u64,
    words: Symmetric<'w, [u64]>,
}

/// Where updates are collected and arrive, and the round of sending that comes next.
struct Buckets<'w> {
    len: usize,
    round: u64,
    /// Two for each PE, used in turn.
    inbox: Symmetric<'w, [u64]>,
    /// For each of them `round << 32 | the sender's last round << 31 | updates`.
    arrived: Symmetric<'w, [u64]>,
    out: Vec<Vec<u64>>,
}

impl<'w> Buckets<'w> {
    fn new(run: &'w Run<'w>, len: usize) -> Result<Buckets<'w>> {
        let n = run.n_pes();
        let (inbox, arrived) = (run.alloc_zeroed(2 * n * len)?, run.alloc_zeroed(2 * n)?);
        Ok(Buckets { len, round: 1, inbox, arrived, out: vec![Vec::with_capacity(len); n] })
    }
}

impl<'w> Table<'w> {
    fn new(run: &'w Run<'w>, size: u64) -> Result<Table<'w>> {
        let block = size.div_ceil(run.n_pes() as u64);
        let begin = (run.my_pe() as u64 * block).min(size);
        let words: Vec<u64> = (begin..begin + block).collect();
        Ok(Table { run, size, block, begin, len: block.min(size - begin), words: run.alloc_from(&words)? })
    }

    fn place(&self, random: u64) -> u64 {
        below(random, self.size)
    }

    fn update_each(&self, mine: Range<u64>) -> Result<()> {
        for u in mine.clone() {
            let at = self.place(update(u));
            let word = &self.words[(at % self.block) as usize];
            self.run.atomic_xor(word, update(u), (at / self.block) as usize)?;
            if u % 4096 == 0 {
                self.run.progress("updates of PE 0", u - mine.start, mine.end - mine.start);
            }
        }
        self.run.barrier()
    }

    /// Rounds of one bucket from every PE to every PE. A PE sends the buckets of round r + 2 when it has all of
    /// round r + 1, whose senders had emptied their inbox of round r. No barrier.
    fn update_in(&self, buckets: &mut Buckets<'_>, mine: Range<u64>) -> Result<()> {
        const LAST: u64 = 1 << 31;
        let Buckets { len, round, inbox, arrived, out } = buckets;
        let (me, n) = (self.run.my_pe(), self.run.n_pes());
        let mut left = mine.clone();
        let mut more = true;
        while more {
            out.iter_mut().for_each(Vec::clear);
            while left.start < left.end {
                let random = update(left.start);
                let bucket = &mut out[(self.place(random) / self.block) as usize];
                if bucket.len() == *len {
                    break;
                }
                bucket.push(random);
                left.start += 1;
            }
            let turn = (*round % 2) as usize * n;
            let last = if left.is_empty() { LAST } else { 0 };
            // Beginning with the own number: not all to the same PE at a time.
            for pe in (me..n).chain(0..me) {
                let (bucket, at) = (&out[pe], (turn + me) * *len);
                let word = *round << 32 | last | bucket.len() as u64;
                let there = &inbox[at..at + bucket.len()];
                self.run.put_signal(there, bucket, &arrived[turn + me], word, SignalOp::Set, pe)?;
            }
            more = false;
            for pe in (0..=me).rev().chain((me + 1..n).rev()) {
                let word = self.run.signal_wait_until(&arrived[turn + pe], Cmp::Ge, *round << 32)?;
                // The same on all PEs, so all stop in the same round.
                more |= word & LAST == 0;
                let at = (turn + pe) * *len;
                for random in &inbox[at..at + (word & (LAST - 1)) as usize] {
                    let random = random.load();
                    let word = &self.words[(self.place(random) % self.block) as usize];
                    word.store(word.load() ^ random);
                }
            }
            *round += 1;
            self.run.progress("updates of PE 0", left.start - mine.start, mine.end - mine.start);
        }
        self.run.barrier()
    }

    /// This PE's places and words.
    fn own(&self) -> impl Iterator<Item = (u64, u64)> {
        (self.begin..).zip(&self.words[..self.len as usize]).map(|(place, word)| (place, word.load()))
    }

    /// The table after each update once: its checksum. Collective.
    fn check_once(&self, mine: Range<u64>) -> Result<u64> {
        let found = self.own().fold(0, |sum, (place, word)| sum ^ mark(place, word));
        let first = self.own().fold(0, |sum, (place, _)| sum ^ mark(place, place));
        let expected = mine.map(update).fold(first, |sum, random| sum ^ mark(self.place(random), random));
        let (found, expected) = (self.run.all(found, Xor)?, self.run.all(expected, Xor)?);
        if self.run.my_pe() == 0 && found != expected {
            self.run.wrong(format!("the checksum should be {expected:016x}"));
        }
        Ok(found)
    }

    /// The table after each update twice: the first one.
    fn check_twice(&self) {
        for (place, word) in self.own().filter(|(place, word)| place != word) {
            self.run.wrong(format!("word {place} is {word} after all updates twice"));
        }
    }
}

/// Each of these is run by `crates/dushmem/tests/programs.rs`.
#[cfg(test)]
mod tests {
    use super::*;

    fn noted(damage: impl Fn(&Table<'_>) -> Result<()> + Sync) -> u64 {
        program::noted(|run| {
            let table = Table::new(run, 100)?;
            table.update_each(run.share(1000))?;
            damage(&table)?;
            run.barrier()?;
            table.check_once(run.share(1000))?;
            table.update_each(run.share(1000))?;
            table.check_twice();
            Ok(())
        })
    }

    #[test]
    fn a_wrong_or_misplaced_word_is_noted() {
        assert_eq!(noted(|_| Ok(())), 0);
        assert_eq!(noted(|table| table.run.atomic_xor(&table.words[3], 1 << 40, 1)), 2); // three times one bit
        let swap = |table: &Table<'_>| {
            let (one, other) = (table.words[3].load(), table.words[4].load());
            table.words[3].store(other);
            table.words[4].store(one);
            Ok(())
        };
        assert_eq!(noted(swap), 1 + 3 * 2);
    }
}

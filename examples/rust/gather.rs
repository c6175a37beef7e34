//! Gathers words of a distributed table by a list of random places, as sparse matrices and graphs do.
//!
//!   cargo build --release -p dushmem --example gather
//!   dushrun -n 8 target/release/examples/gather
//!   dushrun -n 8 target/release/examples/gather 4000000 --batch 512
//!
//! The table lies in equal blocks on the PEs. Every word is fetched by a get of its own, non-blocking, so that
//! many are under way at a time; a scope of a thousand bounds how many. They go by a context of their own: the
//! quiet at a scope's end waits for these gets and nothing else.
//! On a network one message a word is dear: with --batch a PE collects what it wants from the same owner, sends
//! the list by a put with signal, and the owner answers likewise.
//!
//! The check: what a word of the table holds follows from its place, so each PE knows what it must have got.
use dushmem::{Cmp, Result, SignalOp, Symmetric, Xor};
use program::{Report, Run, Setting, below, mark, random_at};
use std::process::ExitCode;
use std::time::Instant;

mod program;

const WINDOW: usize = 1024;

fn main() -> ExitCode {
    let settings = [
        Setting("size", 1 << 23, 1..=1 << 40, "words that all PEs together gather"),
        Setting("table", 1 << 20, 1..=1 << 32, "words of the table"),
        Setting("batch", 0, 0..=1 << 20, "places that are sent together, 0: gets instead"),
    ];
    let about = "fetches words of a distributed table by a list of places";
    program::main("gather", about, settings, |run, [size, words, batch]| {
        let table = Table::new(run, words)?;
        let places: Vec<u64> = run.share(size).map(|g| below(random_at(2, g), words)).collect();
        run.barrier()?;
        let began = Instant::now();
        let got = match batch {
            0 => table.gather_each(&places)?,
            _ => table.gather_in_batches(&places, batch as usize)?,
        };
        run.barrier()?;
        let time = began.elapsed();
        check(run, &places, &got);
        let sum = (run.share(size).start..).zip(&got).fold(0, |sum, (g, &word)| sum ^ mark(g, word));
        let text = format!("{size} of {words} words, checksum {:016x}", run.all(sum, Xor)?);
        Ok(Report { text, items: size, unit: "words", time })
    })
}

fn value_at(place: u64) -> u64 {
    random_at(1, place)
}

/// A table of which each PE has `block` words.
struct Table<'w> {
    run: &'w Run<'w>,
    block: u64,
    words: Symmetric<'w, [u64]>,
}

impl<'w> Table<'w> {
    fn new(run: &'w Run<'w>, size: u64) -> Result<Table<'w>> {
        let block = size.div_ceil(run.n_pes() as u64);
        let begin = run.my_pe() as u64 * block;
        let words: Vec<u64> = (begin..begin + block).map(value_at).collect();
        Ok(Table { run, block, words: run.alloc_from(&words)? })
    }

    /// Owner of a place, and where it is there.
    fn find(&self, place: u64) -> (usize, usize) {
        ((place / self.block) as usize, (place % self.block) as usize)
    }

    fn gather_each(&self, places: &[u64]) -> Result<Vec<u64>> {
        let mut got = vec![0; places.len()];
        let gets = self.run.context()?;
        for (window, (got, places)) in got.chunks_mut(WINDOW).zip(places.chunks(WINDOW)).enumerate() {
            gets.scope(|scope| {
                for (word, &place) in got.chunks_mut(1).zip(places) {
                    let (pe, at) = self.find(place);
                    scope.get(word, &self.words[at..=at], pe)?;
                }
                Ok(())
            })?;
            self.progress(window * WINDOW, places.len());
        }
        Ok(got)
    }

    /// Rounds of one list from every PE to every PE, and an answer to each. A PE sends the lists of the next round
    /// when it has all answers of this one, so the places that lists and answers arrive at are free by then.
    fn gather_in_batches(&self, places: &[u64], batch: usize) -> Result<Vec<u64>> {
        const LAST: u64 = 1 << 31;
        let run = self.run;
        let (me, n) = (run.my_pe(), run.n_pes());
        let (wanted, answers) = (run.alloc_zeroed::<u64>(n * batch)?, run.alloc_zeroed::<u64>(n * batch)?);
        // For each PE `round << 32 | its last round << 31 | length of the list`, and the round of its answer.
        let (asked, answered) = (run.alloc_zeroed::<u64>(n)?, run.alloc_zeroed::<u64>(n)?);
        let mut lists = vec![Vec::with_capacity(batch); n];
        let mut back = vec![Vec::with_capacity(batch); n];
        let mut got = vec![0; places.len()];
        let (mut next, mut more) = (0, true);
        for round in 1.. {
            if !more {
                break;
            }
            lists.iter_mut().for_each(Vec::clear);
            back.iter_mut().for_each(Vec::clear);
            while next < places.len() {
                let (pe, at) = self.find(places[next]);
                if lists[pe].len() == batch {
                    break;
                }
                lists[pe].push(at as u64);
                back[pe].push(next);
                next += 1;
            }
            let last = if next == places.len() { LAST } else { 0 };
            // Beginning with the own number: not all to the same PE at a time.
            for pe in (me..n).chain(0..me) {
                let (list, at) = (&lists[pe], me * batch);
                let word = round << 32 | last | list.len() as u64;
                run.put_signal(&wanted[at..at + list.len()], list, &asked[me], word, SignalOp::Set, pe)?;
            }
            more = false;
            for pe in (0..=me).rev().chain((me + 1..n).rev()) {
                let word = run.signal_wait_until(&asked[pe], Cmp::Ge, round << 32)?;
                // The same on all PEs, so all stop in the same round.
                more |= word & LAST == 0;
                let asks = &wanted[pe * batch..pe * batch + (word & (LAST - 1)) as usize];
                let reply: Vec<u64> = asks.iter().map(|at| self.words[at.load() as usize].load()).collect();
                let there = &answers[me * batch..me * batch + reply.len()];
                run.put_signal(there, &reply, &answered[me], round, SignalOp::Set, pe)?;
            }
            for pe in (me..n).chain(0..me) {
                run.signal_wait_until(&answered[pe], Cmp::Ge, round)?;
                for (&to, answer) in back[pe].iter().zip(&answers[pe * batch..]) {
                    got[to] = answer.load();
                }
            }
            self.progress(next, places.len());
        }
        Ok(got)
    }

    fn progress(&self, done: usize, all: usize) {
        self.run.progress("words of PE 0", done as u64, all as u64);
    }
}

/// Notes which words are not those of their places.
fn check(run: &Run<'_>, places: &[u64], got: &[u64]) {
    for (&place, &word) in places.iter().zip(got).filter(|&(&place, &word)| word != value_at(place)) {
        run.wrong(format!("word {place} is {word:016x}, not {:016x}", value_at(place)));
    }
}

/// Each of these is run by `crates/dushmem/tests/programs.rs`.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_word_is_noted() {
        for batch in [0, 7] {
            for wrong in [0, 1] {
                let noted = program::noted(|run| {
                    let table = Table::new(run, 100)?;
                    let places: Vec<u64> = (0..100).collect();
                    if run.my_pe() == 1 {
                        table.words[5].store(table.words[5].load() ^ wrong);
                    }
                    run.barrier()?;
                    let got = match batch {
                        0 => table.gather_each(&places)?,
                        _ => table.gather_in_batches(&places, batch)?,
                    };
                    check(run, &places, &got);
                    Ok(())
                });
                assert_eq!(noted, 3 * wrong, "each of three PEs has gathered it");
            }
        }
    }
}

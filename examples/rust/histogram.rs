//! A histogram of random values that the PEs count together.
//!
//!   cargo build --release -p dushmem --example histogram
//!   dushrun -n 8 target/release/examples/histogram
//!   dushrun -n 8 target/release/examples/histogram 40000000 --reduce 1
//!
//! Each PE counts its values in bins of its own. Then these are added up, in one of two ways:
//! * by atomic additions to bins that lie in blocks on the PEs. PEs may come when they are ready, and only bins
//!   in which there is something are sent: right for many bins of which each PE has few;
//! * by a sum reduction, after which every PE has the whole histogram.
//!
//! The check: PE 0 counts all values alone.
use dushmem::{Result, Sum, Symmetric};
use program::{Report, Run, Setting, mark, random_at};
use std::ops::Range;
use std::process::ExitCode;
use std::time::Instant;

mod program;

fn main() -> ExitCode {
    let settings = [
        Setting("size", 1 << 25, 1..=1 << 48, "values of all PEs together"),
        Setting("bins", 1000, 1..=1 << 30, "bins"),
        Setting("reduce", 0, 0..=1, "1: bins are added up by a reduction, 0: by atomics"),
    ];
    program::main("histogram", "counts random values", settings, |run, [size, bins, reduce]| {
        let (bins, reduce) = (bins as usize, reduce == 1);
        run.barrier()?;
        let began = Instant::now();
        let mine = count(run, bins, run.share(size), "values of PE 0");
        let all = if reduce { add_by_reduction(run, &mine)? } else { add_by_atomics(run, &mine)? };
        let time = began.elapsed();
        let checksum = if reduce {
            check_copies(run, &all)?;
            check(run, &all.to_vec(), size)
        } else {
            check(run, &collect(run, &all, bins)?, size)
        };
        let text = format!("{size} values in {bins} bins, checksum {checksum:016x}");
        Ok(Report { text, items: size, unit: "values", time })
    })
}

/// The mean of two random numbers: bins in the middle get more than those at the ends.
fn bin_of(bins: usize, i: u64) -> usize {
    let random = random_at(1, i);
    ((((random >> 32) + (random & 0xffff_ffff)) * bins as u64) >> 33) as usize
}

fn count(run: &Run<'_>, bins: usize, values: Range<u64>, what: &str) -> Vec<u64> {
    let mut counts = vec![0; bins];
    for i in values.clone() {
        counts[bin_of(bins, i)] += 1;
        if i % 65536 == 0 {
            run.progress(what, i - values.start, values.end - values.start);
        }
    }
    counts
}

/// This PE's block of the histogram.
fn add_by_atomics<'w>(run: &'w Run<'_>, mine: &[u64]) -> Result<Symmetric<'w, [u64]>> {
    let block = mine.len().div_ceil(run.n_pes());
    let all = run.alloc_zeroed(block)?;
    // From the own bins on: not all to the same PE at a time.
    let first = (run.my_pe() * block).min(mine.len());
    for bin in (first..mine.len()).chain(0..first).filter(|&bin| mine[bin] > 0) {
        run.atomic_add(&all[bin % block], mine[bin], bin / block)?;
    }
    run.barrier()?; // the additions have arrived
    Ok(all)
}

/// The whole histogram.
fn add_by_reduction<'w>(run: &'w Run<'_>, mine: &[u64]) -> Result<Symmetric<'w, [u64]>> {
    let all = run.alloc_from(mine)?;
    run.reduce(&all, &all, Sum)?;
    run.barrier()?;
    Ok(all)
}

/// On PE 0 the blocks of all PEs. Collective.
fn collect(run: &Run<'_>, all: &Symmetric<'_, [u64]>, bins: usize) -> Result<Vec<u64>> {
    let mut found = vec![0; if run.my_pe() == 0 { all.len() * run.n_pes() } else { 0 }];
    for (pe, block) in found.chunks_exact_mut(all.len()).enumerate() {
        run.get(block, all, pe)?;
    }
    // Nobody gives a block back before it has been read.
    run.barrier()?;
    found.truncate(bins);
    Ok(found)
}

/// Notes where this PE's histogram is not that of PE 0.
fn check_copies(run: &Run<'_>, all: &Symmetric<'_, [u64]>) -> Result<()> {
    let mut first = vec![0; all.len()];
    run.get(&mut first, all, 0)?;
    for (bin, (found, first)) in all.to_vec().into_iter().zip(first).enumerate() {
        if found != first {
            run.wrong(format!("bin {bin} has {found} values, on PE 0 {first}"));
        }
    }
    run.barrier()
}

/// Counts the values alone, on PE 0, and compares. Returns the checksum of what was found.
fn check(run: &Run<'_>, found: &[u64], size: u64) -> u64 {
    if run.my_pe() > 0 {
        return 0;
    }
    let alone = count(run, found.len(), 0..size, "values of the check");
    for (bin, (found, alone)) in found.iter().zip(alone).enumerate() {
        if *found != alone {
            run.wrong(format!("bin {bin} has {found} values, not {alone}"));
        }
    }
    (0..).zip(found).fold(0, |sum, (bin, &found)| sum ^ mark(bin, found))
}

/// Each of these is run by `crates/dushmem/tests/programs.rs`.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_bin_is_noted() {
        for wrong in [0, 1] {
            let noted = program::noted(|run| {
                let mine = count(run, 10, run.share(1000), "values");
                let all = add_by_atomics(run, &mine)?;
                if run.my_pe() == 2 {
                    all[1].store(all[1].load() + wrong);
                }
                run.barrier()?;
                check(run, &collect(run, &all, 10)?, 1000);
                Ok(())
            });
            assert_eq!(noted, wrong);
            let noted = program::noted(|run| {
                let all = add_by_reduction(run, &count(run, 10, run.share(1000), "values"))?;
                all[4].store(all[4].load() + if run.my_pe() == 1 { wrong } else { 0 });
                check_copies(run, &all)?;
                check(run, &all.to_vec(), 1000);
                Ok(())
            });
            assert_eq!(noted, wrong);
        }
    }
}

//! Sorts random integers: keys go to the PE of their range, which sorts them.
//!
//!   cargo build --release -p dushmem --example bucket_sort
//!   dushrun -n 8 target/release/examples/bucket_sort
//!
//! An alltoall of counts tells every PE how many keys come from each; it adds up where their places begin, and a
//! second alltoall returns those to the senders. So each sender puts its keys where they belong, all at once and
//! without a word from the receiver, and a barrier completes them. How much room that takes depends on the
//! keys (try --skew 1): the PEs agree on the largest by a reduction before they allocate.
//!
//! The check: every key is in its PE's range and not below the one before it, and the sum over a hash of all keys
//! is the same as before.
use dushmem::{Max, Result, Sum, Xor};
use program::{Report, Run, Setting, below, mark, random_at};
use std::process::ExitCode;
use std::time::Instant;

mod program;

fn main() -> ExitCode {
    let settings = [
        Setting("size", 1 << 23, 1..=1 << 40, "keys of all PEs together"),
        Setting("skew", 0, 0..=1, "1: small keys are more frequent, so the first PEs get more"),
    ];
    program::main("bucket_sort", "sorts random integers", settings, |run, [size, skew]| {
        let (from, to) = (run.share(size).start, run.share(size).end);
        let key = |i: u64| {
            if i.is_multiple_of(65536) {
                run.progress("keys of PE 0", i - from, to - from);
            }
            key_at(i, skew == 1)
        };
        let mine: Vec<u32> = (from..to).map(key).collect();
        run.barrier()?;
        let began = Instant::now();
        let mut keys = exchange(run, &mine)?;
        sort(run, &mut keys);
        run.barrier()?;
        let time = began.elapsed();
        let checksum = check(run, &mine, &keys)?;
        let kind = if skew == 1 { " (skewed)" } else { "" };
        Ok(Report {
            text: format!("{size} keys{kind}, checksum {checksum:016x}"),
            items: size,
            unit: "keys",
            time,
        })
    })
}

fn key_at(i: u64, skew: bool) -> u32 {
    let random = random_at(1, i);
    (if skew { below(random, random & 0xffff_ffff) } else { random >> 32 }) as u32
}

/// The PE whose range a key is in.
fn owner(run: &Run<'_>, key: u32) -> usize {
    ((u64::from(key) * run.n_pes() as u64) >> 32) as usize
}

/// The sum of what stands before each count.
fn running_sums(counts: &[usize]) -> Vec<usize> {
    let sums = counts.iter().scan(0, |sum, count| {
        *sum += count;
        Some(*sum - count)
    });
    sums.collect()
}

/// Sends each key to its owner; returns those that have come to this PE.
fn exchange(run: &Run<'_>, mine: &[u32]) -> Result<Vec<u32>> {
    let (me, n) = (run.my_pe(), run.n_pes());
    let mut groups = vec![Vec::new(); n];
    mine.iter().for_each(|&key| groups[owner(run, key)].push(key));
    let counts: Vec<usize> = groups.iter().map(Vec::len).collect();
    let (counts, coming) = (run.alloc_from(&counts)?, run.alloc_zeroed::<usize>(n)?);
    run.alltoall(&coming, &counts)?;
    let coming = coming.to_vec();
    let (begins, places) = (run.alloc_from(&running_sums(&coming))?, run.alloc_zeroed(n)?);
    run.alltoall(&places, &begins)?;
    let received = coming.iter().sum();
    let keys = run.alloc_zeroed::<u32>(run.all(received, Max)?)?;
    run.scope(|scope| {
        // Beginning with the own number: not all to the same PE at a time.
        for pe in (me..n).chain(0..me) {
            let place = places[pe].load();
            scope.put(&keys[place..place + groups[pe].len()], &groups[pe], pe)?;
        }
        Ok(())
    })?;
    run.barrier()?;
    Ok(keys[..received].to_vec())
}

/// Sorts by eleven bits at a time, from the lowest.
fn sort(run: &Run<'_>, keys: &mut Vec<u32>) {
    let mut other = vec![0; keys.len()];
    for shift in [0, 11, 22] {
        let digit = |key: u32| (key >> shift & 2047) as usize;
        let mut counts = [0; 2048];
        keys.iter().for_each(|&key| counts[digit(key)] += 1);
        let mut places = running_sums(&counts);
        for &key in &*keys {
            other[places[digit(key)]] = key;
            places[digit(key)] += 1;
        }
        std::mem::swap(keys, &mut other);
        run.progress("bits sorted by PE 0", shift + 11, 33);
    }
}

/// Notes what is wrong with `keys`, which were made from every PE's `mine`. Returns their checksum. Collective.
fn check(run: &Run<'_>, mine: &[u32], keys: &[u32]) -> Result<u64> {
    let hash = |keys: &[u32]| keys.iter().fold(0u64, |sum, &key| sum.wrapping_add(random_at(2, key.into())));
    for &key in keys.iter().filter(|&&key| owner(run, key) != run.my_pe()) {
        run.wrong(format!("key {key} belongs to PE {}", owner(run, key)));
    }
    for pair in keys.windows(2).filter(|pair| pair[0] > pair[1]) {
        run.wrong(format!("key {} comes behind {}", pair[1], pair[0]));
    }
    if run.all(mine.len(), Sum)? != run.all(keys.len(), Sum)? && run.my_pe() == 0 {
        run.wrong("some keys are lost, or there twice");
    }
    if run.all(hash(mine), Sum)? != run.all(hash(keys), Sum)? && run.my_pe() == 0 {
        run.wrong("the keys are not those from before");
    }
    // Where this PE's keys begin in the whole.
    let (len, lens) = (run.alloc(keys.len())?, run.alloc_zeroed(run.n_pes())?);
    run.fcollect(&lens, len.as_slice())?;
    let begin = running_sums(&lens.to_vec())[run.my_pe()] as u64;
    run.all((begin..).zip(keys).fold(0, |sum, (place, &key)| sum ^ mark(place, key.into())), Xor)
}

/// Each of these is run by `crates/dushmem/tests/programs.rs`.
#[cfg(test)]
mod tests {
    use super::*;

    fn noted(damage: impl Fn(&mut Vec<u32>) + Sync) -> u64 {
        program::noted(|run| {
            let mine: Vec<u32> = run.share(3000).map(|i| key_at(i, false)).collect();
            let mut keys = exchange(run, &mine)?;
            sort(run, &mut keys);
            if run.my_pe() == 1 {
                damage(&mut keys);
            }
            check(run, &mine, &keys).map(drop)
        })
    }

    #[test]
    fn wrong_keys_are_noted() {
        assert_eq!(noted(|_| ()), 0);
        assert_eq!(noted(|keys| keys.swap(10, 11)), 1); // the wrong order
        assert_eq!(noted(|keys| keys[10] = keys[11]), 1); // one lost, one twice
        assert_eq!(noted(|keys| keys.truncate(keys.len() - 1)), 2); // lost
        assert_eq!(noted(|keys| keys[0] = 7), 2); // not this PE's
    }
}

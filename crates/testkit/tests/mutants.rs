//! For each rule of the memory model: the program that keeps it sees no old value on either transport, and
//! the one that leaves it out sees some on the transport that reorders, with every seed.
use dushmem_testkit::suites::{Backend, Pe, loopback, mutants, shm};
use dushmem_testkit::threads;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const ROUNDS: u64 = 40;
/// Times that a rule is left out until it shows.
const PATIENCE: u32 = 25;
const SEEDS: std::ops::Range<u64> = 0..4;

/// Old values seen by all PEs.
fn old_values(backend: &Backend, rule: usize, kept: bool) -> usize {
    let sum = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sum);
    threads::run(backend.pes, &backend.settings, move |world| {
        let old = mutants::run(&Pe::new(world), &mutants::RULES[rule], kept, ROUNDS);
        counted.fetch_add(old, Ordering::Relaxed);
    });
    sum.load(Ordering::Relaxed)
}

fn check(rule: usize) {
    let name = mutants::RULES[rule].name;
    assert_eq!(old_values(&shm(3), rule, true), 0, "shm, with: {name}");
    for seed in SEEDS {
        let backend = loopback(3, seed);
        assert_eq!(old_values(&backend, rule, true), 0, "seed {seed}, with: {name}");
        // On a loaded machine PEs are far apart at times, and nobody looks at the right moment.
        let old = (0..PATIENCE).map(|_| old_values(&backend, rule, false)).find(|old| *old > 0);
        println!("seed {seed}, without {name}: {old:?} old values in {ROUNDS} rounds");
        assert!(old.is_some(), "seed {seed}: nothing went wrong without: {name}");
    }
}

macro_rules! rules {
    ($($name:ident $number:literal)*) => {
        $(#[test] fn $name() { check($number); })*
        const _: () = assert!([$($number),*].len() == mutants::RULES.len());
    };
}

rules! {
    fence_before_flag 0
    fence_before_fetching_atomic 1
    fence_before_put_signal 2
    put_with_signal 3
    fence_on_its_context 4
    quiet_before_third 5
    quiet_on_its_context 6
    quiet_before_get 7
    quiet_not_fence 8
    quiet_before_reuse 9
    quiet_after_get 10
    quiet_after_amo 11
    barrier_not_sync 12
}

//! Random programs against a shadow model, with PEs as threads: those that fuzzing kept, and more of the same.
use dushmem_core::env::Settings;
use dushmem_testkit::model::{alloc, corpus, strided, teams};
use dushmem_testkit::suites::pe::{Random, bytes};
use dushmem_testkit::suites::{Pe, loopback, shm};
use dushmem_testkit::threads;

fn play(name: &str, run: fn(&Pe, &[u8])) {
    let mut random = Random(23);
    let mut inputs = corpus::inputs(name);
    let more = (100..140).map(|seed| (format!("seed {seed}"), bytes(seed, 40 + random.below(600))));
    inputs.extend(more);
    for backend in [shm(1), shm(2), shm(7), loopback(3, 1), loopback(8, 7919)] {
        let heap_size = alloc::HEAP as u64;
        let settings = Settings { heap_size, team_slots: teams::TEAM_SLOTS, ..backend.settings };
        let inputs = inputs.clone();
        threads::run(backend.pes, &settings, move |world| {
            let pe = Pe::new(world);
            inputs.iter().for_each(|(_, input)| run(&pe, input));
        });
    }
}

#[test]
fn alloc() {
    play("alloc", alloc::run);
}

#[test]
fn strided() {
    play("strided", strided::run);
}

#[test]
fn teams() {
    play("teams", teams::run);
    // As the fuzz target does it.
    for (name, input) in corpus::inputs("teams") {
        println!("{name}");
        teams::run_job(&input);
    }
}

//! Teams and collectives, with up to 8 PEs that are threads. The first byte says how many, and over which
//! transport.
#![no_main]
use dushmem_core::env::Settings;
use dushmem_testkit::model::{alloc, teams};
use dushmem_testkit::suites::{Pe, loopback, shm};
use dushmem_testkit::threads;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((&first, rest)) = input.split_first() else { return };
    let pes = 1 + usize::from(first % 8);
    let backend = if first & 8 == 0 { shm(pes) } else { loopback(pes, first.into()) };
    let heap_size = alloc::HEAP as u64;
    let settings = Settings { heap_size, team_slots: teams::TEAM_SLOTS, ..backend.settings };
    let rest = rest.to_vec();
    threads::run(pes, &settings, move |world| teams::run(&Pe::new(world), &rest));
});

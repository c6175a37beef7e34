//! The suites with PEs as processes, started by dushrun: heaps at the same address everywhere, doorbells and
//! futexes across address spaces.
use dushmem_core::bootstrap::Bootstrap;
use dushmem_core::window::HOST_BASE;
use dushmem_core::world::{InitOptions, World};
use dushmem_testkit::pe_test;
use dushmem_testkit::suites::{
    Backend, Pe, ahead, amo, coll, context, errors, heap, life, lock, loopback, order, reduce, rma, shm,
    team, until,
};
use std::sync::Arc;

const PES: usize = 3;
const OPTIONS: InitOptions = InitOptions { static_data: false, thread_pe: false, device: None };

const DATA: &[fn(&Pe)] = &[
    rma::every_small_size,
    rma::large_sizes,
    rma::strides,
    rma::non_blocking,
    amo::every_operation,
    amo::from_all_at_once,
    order::flag_after_fence,
    order::quiet_before_telling_a_third,
    order::store_buffer,
    order::put_with_signal,
    until::types_and_comparisons,
    until::every_way_of_updating,
    until::sets,
    until::any_collects_from_all,
];

const COLLECTIVES: &[fn(&Pe)] = &[
    team::predefined,
    team::strided,
    team::made_again_and_again,
    team::exhaustion,
    team::from_several_threads,
    context::of_teams,
    context::several_threads,
    coll::barriers,
    coll::broadcasts,
    coll::back_to_back,
    coll::gathers_and_exchanges,
    coll::mismatches,
    coll::bad_arguments_of_one_member,
    coll::overlapping_buffers,
    ahead::roots_go_on,
    ahead::mixed,
    ahead::told_later,
    reduce::floats,
    reduce::nan_and_negative_zero,
    reduce::sizes,
];

const MEMORY: &[fn(&Pe)] = &[
    heap::random_calls,
    heap::nothing,
    heap::calloc_is_zero,
    heap::exhaustion,
    heap::bad_frees,
    heap::disagreements,
    heap::addresses,
    lock::mutual_exclusion,
    lock::first_come_first_served,
    lock::testing_and_threads,
    errors::wrong_pe,
    errors::wrong_addresses,
    errors::null,
    errors::misaligned,
];

/// All of them between one init and one finalize.
fn all(boot: Arc<dyn Bootstrap>, backend: &Backend, suites: &[fn(&Pe)]) {
    let world = World::init(boot, &backend.settings, OPTIONS).expect("init");
    let pe = Pe::new(&world);
    assert_eq!(pe.window().slice() as usize, HOST_BASE, "heaps are at the same address on all PEs");
    for suite in suites {
        suite(&pe);
        assert_eq!(pe.heap_usage().used, 0, "a suite gives back what it takes");
    }
    pe.finalize().expect("finalize");
}

pe_test!(data_by_shm, PES, |boot| all(boot, &shm(PES), DATA));
pe_test!(data_by_loopback, PES, |boot| all(boot, &loopback(PES, 5), DATA));
pe_test!(collectives_by_shm, PES, |boot| all(boot, &shm(PES), COLLECTIVES));
pe_test!(collectives_by_loopback, PES, |boot| all(boot, &loopback(PES, 6), COLLECTIVES));
pe_test!(memory_by_shm, PES, |boot| all(boot, &shm(PES), MEMORY));
pe_test!(memory_by_loopback, PES, |boot| all(boot, &loopback(PES, 7), MEMORY));

pe_test!(init_and_finalize, PES, |boot| {
    for backend in [shm(PES), loopback(PES, 8)] {
        life::again_and_again(&boot, &backend.settings, OPTIONS);
        life::finalize_completes_every_context(&boot, &backend.settings, OPTIONS);
        life::unequal_settings(&boot, &backend.settings, OPTIONS);
        life::heap_too_large(&boot, &backend.settings, OPTIONS);
        life::every_call_fails_after_finalize(&boot, &backend.settings, OPTIONS);
    }
});

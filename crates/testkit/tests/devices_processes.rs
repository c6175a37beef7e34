//! Devices with memory of their own, with PEs as processes: memory by descriptors, at the same address everywhere.
use dushmem_core::bootstrap::Bootstrap;
use dushmem_core::device::Device;
use dushmem_core::device_heap::driver::Sharing;
use dushmem_core::window::DEVICE_BASE;
use dushmem_core::world::{InitOptions, World};
use dushmem_testkit::pe_test;
use dushmem_testkit::plain::{PlainDevice, Ways};
use dushmem_testkit::suites::{
    Backend, Pe, amo, coll, loopback, order, reduce, rma, scan, shm, team, uneven, until,
};
use std::sync::Arc;

const PES: usize = 3;

const SUITES: &[fn(&Pe)] = &[
    rma::every_small_size,
    rma::large_sizes,
    rma::strides,
    rma::non_blocking,
    amo::every_operation,
    amo::from_all_at_once,
    order::flag_after_fence,
    order::put_with_signal,
    until::every_way_of_updating,
    until::sets,
    team::made_again_and_again,
    coll::broadcasts,
    coll::gathers_and_exchanges,
    reduce::sizes,
    uneven::collects,
    scan::sums,
];

fn all(boot: Arc<dyn Bootstrap>, backend: Backend, ways: Ways, sharing: Sharing) {
    let device = PlainDevice::new(ways);
    let options = InitOptions { device: Some(device), ..InitOptions::default() };
    for _ in 0..2 {
        let world = World::init(Arc::clone(&boot), &backend.settings, options).expect("init");
        let pe = Pe::on_device(&world);
        for suite in SUITES {
            suite(&pe);
            assert_eq!(pe.device_heap_usage().used, 0, "a suite gives back what it takes");
        }
        // Chunks that come later, too.
        let large = pe.alloc::<u64>(20 << 20);
        let last = large.len() - 1;
        pe.p(pe.ctx(), large.at(last), pe.me as u64 + 1, pe.right()).unwrap();
        pe.meet();
        assert_eq!(large.read(last), pe.left() as u64 + 1);
        pe.release(large);
        let heap = world.device_heap().expect("bound");
        assert_eq!(heap.sharing(), sharing);
        if !ways.moved && !ways.one_chunk {
            assert!((DEVICE_BASE..DEVICE_BASE + (1 << 30)).contains(&heap.heap().0), "{:#x}", heap.heap().0);
        }
        world.finalize().expect("finalize");
        device.detach(&world);
    }
}

pe_test!(by_descriptor, PES, |boot| all(boot, shm(PES), Ways::default(), Sharing::Concurrent));
pe_test!(in_turns_at_other_addresses, PES, |boot| {
    all(
        boot,
        loopback(PES, 4),
        Ways { turns: true, moved: true, late: true, ..Ways::default() },
        Sharing::Turns,
    );
});
pe_test!(by_a_word_of_the_driver, PES, |boot| {
    let mut backend = shm(PES);
    backend.settings.device_heap = Some(256 << 20);
    all(boot, backend, Ways { one_chunk: true, each: true, ..Ways::default() }, Sharing::Alone);
});

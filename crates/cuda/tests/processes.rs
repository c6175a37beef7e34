//! PEs as processes that share a GPU, on the stand-in: heaps in chunks and in one piece, at the same addresses and not.
mod common;
use dushmem_core::bootstrap::Bootstrap;
use dushmem_core::device_heap::driver::Sharing;
use dushmem_core::env::{HeapKind, Settings};
use dushmem_core::error::Call;
use dushmem_core::size::Size;
use dushmem_core::window::DEVICE_BASE;
use dushmem_core::world::{InitOptions, World};
use dushmem_cuda::Cuda;
use dushmem_testkit::pe_test;
use dushmem_testkit::suites::{self, Pe};
use std::sync::Arc;

/// One PE: init, a body, finalize; then nothing of the device's is left.
fn pe(boot: Arc<dyn Bootstrap>, knobs: &[(&str, &str)], body: impl FnOnce(&Pe)) {
    common::choose(knobs);
    let mut settings = Settings { heap_size: 16 << 20, team_slots: 16, ..Settings::defaults() };
    settings.device_heap = Some(64 << 20);
    let options = InitOptions { static_data: false, thread_pe: false, device: Some(&Cuda) };
    let world = World::init(boot, &settings, options).unwrap_or_else(|why| panic!("init: {why}"));
    world.bind_device(Call::Malloc, true).unwrap_or_else(|why| panic!("bind: {why}"));
    body(&Pe::on_device(&world));
    common::finalize(world);
}

pe_test!(in_turns, 3, |boot| {
    pe(boot, &[], |pe| {
        let heap = pe.world.device_heap().unwrap();
        assert_eq!(heap.sharing(), Sharing::Turns);
        assert!((DEVICE_BASE..DEVICE_BASE + (1 << 40)).contains(&heap.heap().0), "{:x?}", heap.heap());
        common::all_paths(pe);
    });
});

pe_test!(at_the_same_time, 2, |boot| {
    pe(boot, &[("CUDA_STANDIN_MPS", "1")], |pe| {
        assert_eq!(pe.world.device_heap().unwrap().sharing(), Sharing::Concurrent);
        common::all_paths(pe);
    });
});

pe_test!(a_heap_in_one_piece, 3, |boot| {
    pe(boot, &[("CUDA_STANDIN_NO_VMM", "1")], common::all_paths);
});

pe_test!(heaps_that_are_not_where_they_were_wanted, 2, |boot| {
    pe(boot, &[("CUDA_STANDIN_NO_HINTS", "1")], common::all_paths);
});

pe_test!(a_gpu_for_each, 2, |boot| {
    let (me, _) = boot.place();
    // Each is the only one that its process sees.
    let own = if me == 0 { "0" } else { "1" };
    pe(boot, &[("CUDA_STANDIN_DEVICES", "2"), ("CUDA_VISIBLE_DEVICES", own)], |pe| {
        assert_eq!(pe.world.device_heap().unwrap().sharing(), Sharing::Alone);
        common::all_paths(pe);
    });
});

pe_test!(init_again_after_finalize, 2, |boot| {
    for _ in 0..3 {
        pe(Arc::clone(&boot), &[], suites::rma::large_sizes);
    }
});

/// What a PE says that has no device, where only PE 1 of all has met the failure.
fn without_device(boot: Arc<dyn Bootstrap>, failure: &str) -> String {
    let (me, _) = boot.place();
    common::choose(if me == 1 { &[("CUDA_STANDIN_FAIL", "cuDevicePrimaryCtxRetain:1+=46")] } else { &[] });
    let settings = Settings { heap_size: 16 << 20, team_slots: 16, ..Settings::defaults() };
    let options = InitOptions { static_data: false, thread_pe: false, device: Some(&Cuda) };
    let bound = World::init(boot, &settings, options)
        .and_then(|world| world.bind_device(Call::Malloc, true).map(|heap| assert!(heap.is_none())));
    let error = bound.expect_err("no device").to_string();
    assert!(error.contains(failure), "PE {me}: {error}");
    error
}

pe_test!(a_pe_without_a_device_is_named_by_all_with_its_reason, 3, |boot| {
    let (me, _) = boot.place();
    let error = without_device(boot, "CUDA_ERROR_DEVICE_UNAVAILABLE");
    assert_eq!(error.contains("PE 1 can't use its device: making the context of GPU 0"), me != 1, "{error}");
});

// What a heap of a device that is full is to be set to is enough, and the next smaller size is not.
pe_test!(a_bound_that_is_said_to_be_enough, 2, |boot| {
    common::choose(&[]);
    let request = (70 << 20) + 1;
    let with = |bound: u64| {
        let mut settings = Settings { heap_size: 16 << 20, team_slots: 16, ..Settings::defaults() };
        settings.device_heap = Some(bound);
        let options = InitOptions { static_data: false, thread_pe: false, device: Some(&Cuda) };
        let world = World::init(Arc::clone(&boot), &settings, options).unwrap();
        let block = world.malloc_on(HeapKind::Device, request).map(drop).map_err(|error| error.to_string());
        common::finalize(world);
        block
    };
    let told = with(64 << 20).expect_err("it is full");
    let size = told.split("set DUSHMEM_DEVICE_HEAP_SIZE to ").nth(1).and_then(|rest| rest.split(' ').next());
    let bound = Size::parse(size.unwrap_or_else(|| panic!("{told}"))).unwrap().bytes;
    assert_eq!(with(bound), Ok(()), "{told}");
    assert!(with(Size::round_down(bound - 1)).is_err(), "{told}");
});

// Members that disagree are told the values as one writes them.
pe_test!(settings_that_differ, 2, |boot| {
    common::choose(&[]);
    let (me, _) = boot.place();
    let differ = |change: fn(&mut Settings), text: &str| {
        let mut settings = Settings { heap_size: 16 << 20, team_slots: 16, ..Settings::defaults() };
        if me == 1 {
            change(&mut settings);
        }
        let options = InitOptions { static_data: false, thread_pe: false, device: Some(&Cuda) };
        let bound = World::init(Arc::clone(&boot), &settings, options)
            .and_then(|world| world.bind_device(Call::Malloc, true).map(drop));
        assert_eq!(bound.unwrap_err().to_string(), format!("PEs disagree: {text}; start all PEs alike"));
    };
    differ(
        |settings| settings.heap_kind = HeapKind::Host,
        "DUSHMEM_HEAP_KIND: PE 0 has device, PE 1 has host",
    );
    differ(
        |settings| settings.device_heap = Some(64 << 20),
        "DUSHMEM_DEVICE_HEAP_SIZE: PE 0 has no bound, PE 1 has 64M",
    );
});

pe_test!(a_server_of_mps_that_is_not_ready_yet, 2, |boot| {
    let failures = ("CUDA_STANDIN_FAIL", "cuInit:1=805,cuDevicePrimaryCtxRetain:1=807");
    pe(boot, &[("CUDA_STANDIN_MPS", "1"), failures], |pe| {
        assert!(pe.world.device_heap().is_some());
    });
});

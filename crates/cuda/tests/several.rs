//! PEs on several GPUs, on the stand-in: which of them each process sees and in which order, how many PEs share one, what
//! the links between them can do, and what is said where they can't.
mod common;
use dushmem_core::bootstrap::Bootstrap;
use dushmem_core::device_heap::driver::{HeapDevice, Link, Sharing};
use dushmem_core::env::{HeapKind, Settings};
use dushmem_core::error::{Call, Result};
use dushmem_core::window::DEVICE_BASE;
use dushmem_core::world::{InitOptions, World};
use dushmem_cuda::Cuda;
use dushmem_cuda::context::Context;
use dushmem_cuda::driver;
use dushmem_testkit::pe_test;
use dushmem_testkit::suites::Pe;
use dushmem_testkit::threads;
use std::sync::Arc;

/// Names of the stand-in's first two devices.
const FIRST: &str = "GPU-5d637564-612d-7374-616e-64696e000000";
const SECOND: &str = "GPU-5d637564-612d-7374-616e-64696e000001";

type Knobs<'a> = [(&'a str, &'a str)];

/// Settings of a small job.
fn settings() -> Settings {
    Settings { heap_size: 16 << 20, team_slots: 16, device_heap: Some(64 << 20), ..Settings::defaults() }
}

/// Init binds the only device that a process sees; where there are several, what comes later does.
fn bound(
    boot: Arc<dyn Bootstrap>,
    visible: &str,
    knobs: &Knobs<'_>,
    settings: &Settings,
) -> Result<Arc<World>> {
    common::choose(&[&[("CUDA_STANDIN_DEVICES", "2"), ("CUDA_VISIBLE_DEVICES", visible)], knobs].concat());
    let options = InitOptions { static_data: false, thread_pe: false, device: Some(&Cuda) };
    let world = World::init(boot, settings, options)?;
    world.bind_device(Call::Malloc, true)?;
    Ok(world)
}

fn join(boot: Arc<dyn Bootstrap>, visible: &str, knobs: &Knobs<'_>, settings: &Settings) -> Arc<World> {
    bound(boot, visible, knobs, settings).unwrap_or_else(|why| panic!("{why}"))
}

/// One PE whose process sees these of two devices, and takes the first: everything works, and nothing is left behind.
fn pe(boot: Arc<dyn Bootstrap>, visible: &str, knobs: &Knobs<'_>, sharing: Sharing) {
    let world = join(boot, visible, knobs, &settings());
    let heap = world.device_heap().unwrap();
    let agreed = heap.agreed();
    assert_eq!((agreed.sharing, agreed.devices), (sharing, 2));
    if knobs.iter().all(|(name, _)| *name != "CUDA_STANDIN_NO_VMM") {
        // The same address on every PE, whichever device its memory belongs to.
        assert!((DEVICE_BASE..DEVICE_BASE + (1 << 40)).contains(&heap.heap().0), "{:x?}", heap.heap());
    }
    common::all_paths(&Pe::on_device(&world));
    common::finalize(world);
}

/// The devices that the first, the second, ... PE sees.
fn seen<'a>(boot: &Arc<dyn Bootstrap>, lists: &[&'a str]) -> &'a str {
    lists[boot.place().0]
}

pe_test!(two_on_two_that_see_both, 2, |boot| {
    pe(Arc::clone(&boot), seen(&boot, &["0,1", "1,0"]), &[], Sharing::Alone);
});

pe_test!(two_on_two_that_see_their_own, 2, |boot| {
    pe(Arc::clone(&boot), seen(&boot, &[SECOND, FIRST]), &[], Sharing::Alone);
});

pe_test!(one_sees_both_and_one_its_own, 2, |boot| {
    pe(Arc::clone(&boot), seen(&boot, &["0,1", SECOND]), &[], Sharing::Alone);
});

pe_test!(four_on_two_in_turns, 4, |boot| {
    pe(Arc::clone(&boot), seen(&boot, &["0", "1", "0,1", "1,0"]), &[], Sharing::Turns);
});

pe_test!(four_on_two_at_the_same_time, 4, |boot| {
    let seen = seen(&boot, &["1", "0", SECOND, FIRST]);
    pe(boot, seen, &[("CUDA_STANDIN_MPS", "1")], Sharing::Concurrent);
});

pe_test!(two_on_two_by_ipc_handles, 2, |boot| {
    pe(Arc::clone(&boot), seen(&boot, &["0", "1"]), &[("CUDA_STANDIN_NO_VMM", "1")], Sharing::Alone);
});

pe_test!(heaps_that_are_not_where_they_were_wanted, 2, |boot| {
    let world =
        join(Arc::clone(&boot), seen(&boot, &["0", "1"]), &[("CUDA_STANDIN_NO_HINTS", "1")], &settings());
    common::all_paths(&Pe::on_device(&world));
    world.finalize().unwrap();
});

pe_test!(who_has_a_device_alone_takes_no_turns, 3, |boot| {
    let world = join(Arc::clone(&boot), seen(&boot, &["0", "0", "1"]), &[], &settings());
    let heap = world.device_heap().unwrap();
    let own = if world.my_pe() == 2 { Sharing::Alone } else { Sharing::Turns };
    assert_eq!((heap.sharing(), heap.own_sharing()), (Sharing::Turns, own));
    common::all_paths(&Pe::on_device(&world));
    world.finalize().unwrap();
});

pe_test!(a_process_knows_the_links_of_what_it_sees, 1, |boot| {
    let knobs = [("CUDA_STANDIN_NO_PEERS", "0-2"), ("CUDA_STANDIN_NO_PEER_ATOMICS", "0-1")];
    common::choose(
        &[&[("CUDA_STANDIN_DEVICES", "4"), ("CUDA_VISIBLE_DEVICES", "2,1,0")], &knobs[..]].concat(),
    );
    drop(boot);
    let driver = driver::get().unwrap();
    let open = |device| {
        let context = Context::primary(driver, device).unwrap();
        dushmem_cuda::gpu::Gpu::open(context, None, dushmem_cuda::ptx::NEAR).unwrap()
    };
    let uuid = |number: u8| {
        let mut uuid = *b"\x5dcuda-standin\0\0\0";
        uuid[15] = number;
        uuid
    };
    let of = |ordinal, number| open(ordinal).link(&uuid(number));
    // By their order in this process: 2, 1, 0 of the machine.
    assert_eq!([of(0, 2), of(0, 1), of(0, 0)], [Link::Whole, Link::Whole, Link::Missing]);
    assert_eq!([of(2, 1), of(2, 2), of(1, 3)], [Link::WithoutAtomics, Link::Missing, Link::Unseen]);
});

/// What a PE says whose device has no way to the other one's memory.
fn without_a_link(boot: Arc<dyn Bootstrap>, visible: &str, knobs: &Knobs<'_>) -> String {
    let knobs = [&[("CUDA_STANDIN_NO_PEERS", "all")], knobs].concat();
    let error = bound(boot, visible, &knobs, &settings()).expect_err("no heap").to_string();
    assert!(error.contains("DUSHMEM_HEAP_KIND=host"), "{error}");
    error
}

pe_test!(a_missing_link_is_named, 2, |boot| {
    let me = boot.place().0;
    let error = without_a_link(Arc::clone(&boot), seen(&boot, &["0,1", "1,0"]), &[]);
    let expected = format!("can't load or store the memory of PE {}'s device", 1 - me);
    assert!(error.contains(&expected) && error.contains("GPU-5d637564"), "{error}");
});

pe_test!(a_missing_link_to_a_device_that_is_not_seen_is_named, 2, |boot| {
    let me = boot.place().0;
    let error = without_a_link(Arc::clone(&boot), seen(&boot, &["0", "1"]), &[]);
    assert!(error.contains(&format!("memory of PE {}", 1 - me)), "{error}");
    assert!(error.contains("CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"), "{error}");
});

pe_test!(a_missing_link_by_ipc_handles_is_named, 2, |boot| {
    let me = boot.place().0;
    let error = without_a_link(Arc::clone(&boot), seen(&boot, &["0", "1"]), &[("CUDA_STANDIN_NO_VMM", "1")]);
    assert!(error.contains(&format!("memory of PE {}", 1 - me)), "{error}");
});

pe_test!(the_heap_of_the_host_needs_no_link, 2, |boot| {
    let settings = Settings { heap_kind: HeapKind::Host, ..settings() };
    let visible = seen(&boot, &["0", "0,1"]);
    let visible = if visible == "0" { visible } else { "1,0" };
    let world = join(boot, visible, &[("CUDA_STANDIN_NO_PEERS", "all")], &settings);
    let heap = world.device_heap().unwrap();
    assert_eq!((heap.kind(), heap.agreed().devices), (HeapKind::Host, 2));
    common::all_paths(&Pe::new(&world));
    world.finalize().unwrap();
});

pe_test!(links_without_atomics_are_refused_where_that_is_wanted, 2, |boot| {
    let settings = Settings { strict: true, ..settings() };
    let visible = seen(&boot, &["0,1", "1,0"]);
    let bound = bound(boot, visible, &[("CUDA_STANDIN_NO_PEER_ATOMICS", "0-1")], &settings);
    let error = bound.expect_err("no heap").to_string();
    assert!(
        error.contains("are not atomic for others") && error.contains("DUSHMEM_HEAP_KIND=host"),
        "{error}"
    );
});

pe_test!(links_without_atomics_do, 2, |boot| {
    let visible = seen(&boot, &["0,1", "1,0"]);
    pe(boot, visible, &[("CUDA_STANDIN_NO_PEER_ATOMICS", "0-1")], Sharing::Alone);
});

/// PEs as threads of one process, which choose their devices in turn.
fn as_threads(knobs: &[(&str, &str)]) {
    common::choose(&[&[("CUDA_STANDIN_DEVICES", "2")], knobs].concat());
    let options = InitOptions { device: Some(&Cuda), ..threads::THREAD_PE };
    threads::run_boots(4, threads::LIMIT, move |boot| {
        let context = Context::primary(driver::get().unwrap(), (boot.place().0 % 2) as i32).unwrap();
        let _current = context.enter().unwrap();
        let world = World::init(boot, &settings(), options).unwrap_or_else(|why| panic!("init: {why}"));
        world.bind_device(Call::Malloc, true).unwrap_or_else(|why| panic!("bind: {why}"));
        let agreed = world.device_heap().unwrap().agreed();
        assert_eq!((agreed.sharing, agreed.on_one, agreed.devices), (Sharing::Threads, 2, 2));
        common::all_paths(&Pe::on_device(&world));
        world.finalize().unwrap_or_else(|why| panic!("finalize: {why}"));
    });
}

// In processes of their own, whose drivers have two devices.
pe_test!(threads_on_two, 1, |boot| {
    drop(boot);
    as_threads(&[]);
});

pe_test!(threads_on_two_by_the_drivers_places, 1, |boot| {
    drop(boot);
    as_threads(&[("CUDA_STANDIN_NO_VMM", "1")]);
});

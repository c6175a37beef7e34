//! The engine on PEs that are processes of a launched job.
use dushmem_boot::bootstrap::Bootstrap;
use dushmem_boot::job::PeState;
use dushmem_boot::unique_id::{self, UniqueId};
use dushmem_core::env::Settings;
use dushmem_core::world::{InitOptions, World};
use dushmem_testkit::job::Job;
use dushmem_testkit::pe_test;
use std::sync::Arc;

fn join(boot: Arc<dyn Bootstrap>, heap: u64) -> Arc<World> {
    let settings = Settings { heap_size: heap, ..Settings::defaults() };
    World::init(boot, &settings, InitOptions { static_data: false, thread_pe: false, device: None }).unwrap()
}

/// Each PE puts to its neighbour and finds what the other neighbour has put.
fn ring(world: &World) {
    let (me, n) = (world.my_pe(), world.n_pes());
    let word = world.calloc(1, 4).unwrap().cast::<i32>();
    let ctx = world.default_context();
    // SAFETY: `word` is a symmetric object of four bytes, which is read after the barrier only.
    unsafe {
        assert_eq!(*word, 0);
        world.barrier_all().unwrap();
        world.p(ctx, word, 100 + me, (me + 1) % n).unwrap();
        world.barrier_all().unwrap();
        assert_eq!(*word, 100 + (me + n - 1) % n);
    }
    world.free(word.cast()).unwrap();
}

pe_test!(a_ring_of_processes, 4, |boot| {
    let world = join(boot, 1 << 20);
    ring(&world);
    world.finalize().unwrap();
});

pe_test!(a_job_can_init_again_with_another_heap, 3, |boot| {
    for heap in [1 << 20, 8 << 20, 2 << 20] {
        let again = dushmem_boot::connect().unwrap();
        assert_eq!(again.place(), boot.place());
        let world = join(again, heap);
        assert_eq!(world.heap_usage().total as u64, heap);
        ring(&world);
        world.finalize().unwrap();
    }
});

pe_test!(a_unique_id_brings_processes_together, 4, |boot| {
    const MAKER: usize = 2;
    let (me, n) = boot.place();
    let mine = if me == MAKER { *unique_id::make().unwrap().bytes() } else { [0; unique_id::BYTES] };
    let bytes = boot.allgather(&mine)[MAKER].clone();
    let id = UniqueId::from_bytes(bytes.try_into().unwrap()).unwrap();
    for heap in [1 << 20, 4 << 20] {
        // Numbers of their own, not the launcher's.
        let job = unique_id::join(&id, (n - 1 - me) as i32, n as i32).unwrap();
        assert_eq!(job.place(), (n - 1 - me, n));
        let world = join(job, heap);
        ring(&world);
        world.finalize().unwrap();
    }
    // A meeting whose numbers do not fit is an error on all.
    let mine = if me == MAKER { *unique_id::make().unwrap().bytes() } else { [0; unique_id::BYTES] };
    let bytes = boot.allgather(&mine)[MAKER].clone();
    let id = UniqueId::from_bytes(bytes.try_into().unwrap()).unwrap();
    boot.barrier();
    let error = unique_id::join(&id, 0, n as i32).unwrap_err().to_string();
    // Who comes late finds that the maker has failed already.
    let told = ["myrank = 0: both process", "nobody waits", "ended before all PEs had joined"];
    assert!(told.iter().any(|text| error.contains(text)), "{error}");
});

/// Starts the ignored test `name` as `pes` PEs.
fn launch(pes: usize, options: &str, name: &str) -> Job {
    let test = std::env::current_exe().unwrap();
    let job = Job::dushrun().words(options).args(["-n", &pes.to_string()]).args([test]);
    job.args(["--exact", name, "--nocapture", "--ignored"])
}

#[test]
fn who_waits_in_a_barrier_is_told_at_the_time_limit() {
    let outcome = launch(3, "--timeout 2", "pe_1_stays_away").run();
    let line = |what: &str| outcome.stderr.lines().any(|line| line.contains(what));
    assert_eq!(outcome.code, 124, "{outcome:?}");
    assert!(line("waits in barrier_all (TEAM_WORLD)") && line("PE 1 (pid"), "{outcome:?}");
    assert!(line("computes: no wait of the library is noted"), "{outcome:?}");
}

#[test]
#[ignore = "is a PE of who_waits_in_a_barrier_is_told_at_the_time_limit"]
fn pe_1_stays_away() {
    let world = join(dushmem_boot::connect().unwrap(), 1 << 20);
    if world.my_pe() == 1 {
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
    world.barrier_all().unwrap();
}

#[test]
fn a_pe_that_leaves_while_others_are_in_a_barrier_is_named() {
    let outcome = launch(3, "", "pe_1_leaves").run();
    assert!(outcome.time < std::time::Duration::from_secs(5), "{outcome:?}");
    outcome.failure(1, &["PE 1 (pid ", "left without finalize", "waits in barrier_all (TEAM_WORLD)"]);
}

#[test]
#[ignore = "is a PE of a_pe_that_leaves_while_others_are_in_a_barrier_is_named"]
fn pe_1_leaves() {
    let world = join(dushmem_boot::connect().unwrap(), 1 << 20);
    if world.my_pe() == 1 {
        std::process::exit(0);
    }
    world.barrier_all().unwrap();
}

#[test]
fn a_pe_that_never_inits_is_named() {
    let outcome = launch(3, "", "pe_2_does_not_init").run();
    assert!(outcome.time < std::time::Duration::from_secs(5), "{outcome:?}");
    outcome.failure(1, &["PE 2 (pid ", "left without joining the job", "waits in init"]);
}

#[test]
#[ignore = "is a PE of a_pe_that_never_inits_is_named"]
fn pe_2_does_not_init() {
    if std::env::var("DUSHMEM_PE").as_deref() == Ok("2") {
        std::process::exit(0);
    }
    let world = join(dushmem_boot::connect().unwrap(), 1 << 20);
    assert_eq!(world.boot().node_memory().1.card(0).state(), PeState::Joined);
}

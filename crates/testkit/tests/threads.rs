//! The harness itself: a job that fails or hangs ends the test, with what happened where.
use dushmem_core::env::Settings;
use dushmem_core::world::World;
use dushmem_testkit::suites::{Pe, shm};
use dushmem_testkit::threads::{THREAD_PE, run, run_boots};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

fn message(job: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(job)).expect_err("the job fails");
    panic.downcast_ref::<String>().expect("a formatted message").clone()
}

#[test]
fn a_hang_names_who_waits_where() {
    let settings: Settings = shm(3).settings;
    let text = message(|| {
        run_boots(3, Duration::from_millis(500), move |boot| {
            let pe = Pe::new(&World::init(boot, &settings, THREAD_PE).unwrap());
            let word = pe.alloc::<u64>(1);
            match pe.me {
                0 => drop(pe.wait(word.at(0), dushmem_core::until::Cmp::Eq, 1)),
                1 => pe.meet(),
                // Returns without finalize.
                _ => {}
            }
        });
    });
    assert!(text.starts_with("3 PEs did not end within 500ms\n"), "{text}");
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].starts_with("PE 0 waits in wait_until (team "), "{text}");
    assert!(lines[1].starts_with("PE 1 waits in barrier_all (team 0x0, "), "{text}");
}

#[test]
fn a_panic_fails_the_test_though_others_wait() {
    let text = message(|| {
        run(2, &shm(2).settings, |world| {
            assert!(world.my_pe() == 0, "PE {} does not like it", world.my_pe());
            let _ = world.barrier_all();
        });
    });
    assert!(
        text.starts_with("PE 1 of 2 panicked: PE 1 does not like it\nPE 0 waits in barrier_all"),
        "{text}"
    );
}

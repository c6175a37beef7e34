//! The bootstraps as the engine uses them.
use dushmem_boot::bootstrap::Bootstrap;
use dushmem_boot::job::{BLOB, PeState};
use dushmem_boot::{connect, threads};
use dushmem_testkit::pe_test;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Exchanges of all sizes, in turn with barriers.
fn exchange(boot: &dyn Bootstrap) {
    let (me, n) = boot.place();
    for round in 0..50u8 {
        for len in [1, 8, 31, BLOB] {
            let mine: Vec<u8> = (0..len).map(|at| (me as u8).wrapping_mul(31) ^ at as u8 ^ round).collect();
            let all = boot.allgather(&mine);
            assert_eq!(all.len(), n);
            for (pe, blob) in all.iter().enumerate() {
                let theirs: Vec<u8> =
                    (0..len).map(|at| (pe as u8).wrapping_mul(31) ^ at as u8 ^ round).collect();
                assert_eq!(*blob, theirs, "from PE {pe} on PE {me}");
            }
        }
        boot.barrier();
    }
    assert_eq!(boot.allgather(&[]), vec![Vec::<u8>::new(); n]);
}

/// Runs `body` on `n` PEs that are threads.
fn on_threads(n: usize, body: impl Fn(&Arc<dyn Bootstrap>) + Sync) {
    std::thread::scope(|scope| {
        for boot in threads::job(n).unwrap() {
            let body = &body;
            scope.spawn(move || body(&boot));
        }
    });
}

#[test]
fn threads_exchange() {
    for n in [1, 2, 3, 8] {
        on_threads(n, |boot| exchange(&**boot));
    }
}

#[test]
fn a_barrier_of_threads_holds_back() {
    let arrived = AtomicUsize::new(0);
    on_threads(4, |boot| {
        for round in 1..=200 {
            arrived.fetch_add(1, Ordering::Relaxed);
            boot.barrier();
            assert!(arrived.load(Ordering::Relaxed) >= 4 * round);
            boot.barrier();
        }
    });
}

#[test]
fn threads_share_memory_and_states() {
    on_threads(3, |boot| {
        let (me, _) = boot.place();
        boot.report(PeState::Joined);
        boot.barrier();
        let (_, page) = boot.node_memory();
        assert!((0..3).all(|pe| page.card(pe).state() == PeState::Joined));
        boot.barrier();
        if me == 1 {
            boot.report(PeState::Finalized);
        }
        boot.barrier();
        assert_eq!(page.card(1).state(), PeState::Finalized);
        assert_eq!(page.card(0).state(), PeState::Joined);
    });
}

#[test]
fn jobs_of_threads_do_not_meet() {
    let (one, other) = (threads::job(1).unwrap(), threads::job(1).unwrap());
    one[0].report(PeState::Joined);
    assert_eq!(other[0].node_memory().1.card(0).state(), PeState::Started);
}

#[test]
fn impossible_numbers_of_pes_are_refused() {
    for n in [0, 65_536, usize::MAX] {
        let error = threads::job(n).unwrap_err().to_string();
        assert!(error.contains(&format!("npes = {n}")) && error.contains("65535"), "{error}");
        assert!(dushmem_boot::launcher::job_memory(n).is_err());
    }
}

#[test]
#[should_panic(expected = "a blob of 257 bytes")]
fn too_long_a_blob_is_a_mistake_of_the_caller() {
    threads::job(1).unwrap()[0].allgather(&[0; BLOB + 1]);
}

pe_test!(processes_exchange, 4, |boot| exchange(&*boot));

pe_test!(connecting_again_gives_the_same_job, 3, |boot| {
    let again = connect().unwrap();
    assert_eq!(again.place(), boot.place());
    assert!(Arc::ptr_eq(&again, &boot));
    assert!(std::env::var_os("DUSHMEM_LAUNCH").is_none());
});

pe_test!(children_of_a_pe_inherit_no_descriptor_of_the_job, 2, |_boot| {
    let output = std::process::Command::new("ls").args(["-l", "/proc/self/fd"]).output().unwrap();
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    // Descriptors 1 and 2 of the child are pipes of this process.
    let open: Vec<&str> =
        list.lines().filter(|line| line.contains("socket:") || line.contains("memfd")).collect();
    assert!(open.is_empty(), "{list}");
});

#[test]
fn a_failing_process_fails_its_test() {
    // What `pe_test!` relies on: a panic in one PE ends the job with a code.
    let test = std::env::current_exe().unwrap();
    let job = dushmem_testkit::job::Job::new(2, test);
    let outcome = job.args(["--exact", "panics_on_pe_1", "--nocapture", "--ignored"]).run();
    assert!(outcome.code == 101 && outcome.stderr.contains("PE 1 (pid "), "{outcome:?}");
}

#[test]
#[ignore = "is a PE of a_failing_process_fails_its_test"]
fn panics_on_pe_1() {
    let boot = connect().unwrap();
    boot.report(PeState::Joined);
    boot.barrier();
    assert_eq!(boot.place().0, 0);
    boot.barrier();
}

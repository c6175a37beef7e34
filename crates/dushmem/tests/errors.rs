//! What is wrong is said in one line that names the PE, the call, the argument and its value.
use dushmem::{Builder, Cause, Error, Result, Sum, World};
use std::io::BufRead;

/// Runs `body` on two PEs, each of which must get a line with all of `words`.
#[track_caller]
fn both_fail(body: fn(&World) -> Result<()>, words: &[&str]) {
    let lines = Builder::new().heap_size(1 << 20).run(2, |world| {
        let error = body(world).expect_err("the call is wrong");
        world.barrier()?;
        Ok(error.to_string())
    });
    for (pe, line) in lines.expect("the job goes on after such errors").iter().enumerate() {
        assert!(line.starts_with(&format!("PE {pe}: ")), "{line}");
        assert!(words.iter().all(|word| line.contains(word)), "{words:?} in: {line}");
        assert!(!line.contains('\n'), "{line:?}");
    }
}

#[test]
fn wrong_pe_numbers() {
    both_fail(|world| world.p(&*world.alloc(0)?, 1, 2), &["p: pe = 2", "PEs 0 to 1"]);
    both_fail(|world| world.g(&*world.alloc(0)?, usize::MAX).map(drop), &["g: pe = ", "PEs 0 to 1"]);
    both_fail(|world| world.atomic_inc(&*world.alloc(0u32)?, 7), &["atomic_inc: pe = 7"]);
    both_fail(
        |world| {
            let x = world.alloc_zeroed::<u8>(4)?;
            world.broadcast(&x, &x, 2)
        },
        &["broadcast: PE_root = 2"],
    );
}

#[test]
fn lengths_that_do_not_fit() {
    both_fail(
        |world| world.put(&*world.alloc_zeroed::<u8>(4)?, &[1, 2, 3], 0),
        &["put: source has 3 elements, but 4 are needed"],
    );
    both_fail(
        |world| world.get(&mut [0; 5], &*world.alloc_zeroed::<u8>(4)?, 0),
        &["get: dest has 5 elements, but 4 are needed"],
    );
    both_fail(
        |world| {
            let x = world.alloc_zeroed::<u8>(5)?;
            world.fcollect(&x[..3], &x[3..])
        },
        &["fcollect: dest has 3 elements, but 4 are needed", "for each PE"],
    );
    both_fail(
        |world| {
            let x = world.alloc_zeroed::<u8>(6)?;
            world.alltoall(&x[..3], &x[3..])
        },
        &["alltoall: source has 3 elements, but 4 are needed"],
    );
}

#[test]
fn buffers_that_overlap() {
    both_fail(
        |world| {
            let x = world.alloc_zeroed::<u32>(6)?;
            world.reduce(&x[..4], &x[2..], Sum)
        },
        &["reduce: source = ", "overlaps dest"],
    );
}

#[test]
fn no_room() {
    both_fail(
        |world| world.alloc_zeroed::<u64>(1 << 20).map(drop),
        &[
            "alloc_zeroed: the symmetric heap of 1048576 bytes has no room for 8388608 bytes",
            "DUSHMEM_SYMMETRIC_SIZE",
        ],
    );
    both_fail(
        |world| world.alloc_filled(usize::MAX / 4, 1u64).map(drop),
        &["alloc_filled: size = ", "larger than any heap"],
    );
}

#[test]
fn sizes_that_differ() {
    both_fail(
        |world| world.alloc_zeroed::<u8>(8 + world.my_pe()).map(drop),
        &["alloc_zeroed: PEs disagree", "8 bytes", "9 bytes"],
    );
    both_fail(
        |world| world.alloc_zeroed::<u8>(8 * world.my_pe()).map(drop),
        &["alloc_zeroed: PEs disagree", "0 bytes", "8 bytes"],
    );
}

#[test]
fn other_collectives() {
    both_fail(
        |world| if world.my_pe() == 0 { world.barrier() } else { world.sync() },
        &["PEs disagree", "barrier_all", "sync_all"],
    );
    both_fail(
        |world| if world.my_pe() == 0 { world.reclaim().map(drop) } else { world.barrier() },
        &["PEs disagree", "barrier_all"],
    );
}

/// Whoever prints its error first, and ends the job, says what was wrong.
#[test]
fn one_pe_wrong_among_others_that_are_right() {
    both_fail(
        |world| {
            if world.my_pe() == 0 {
                world.alloc_filled(usize::MAX / 4, 1u64).map(drop)
            } else {
                world.barrier()
            }
        },
        &["size = ", "larger than any heap"],
    );
}

#[test]
fn kernels_that_no_device_takes() {
    both_fail(|world| world.scope(|s| s.launch(1, 2000, 0, |_| {})), &["launch: ", "2000"]);
    both_fail(
        |world| {
            let result = std::sync::Mutex::new(Ok(()));
            let ctx = world.default_context();
            ctx.scope(|s| s.launch(1, 1, 0, |_| *result.lock().unwrap() = s.launch(1, 1, 0, |_| {})))?;
            result.into_inner().unwrap()
        },
        &["launch: ", "a kernel can't launch kernels"],
    );
}

#[test]
fn no_pes_and_too_many() {
    assert!(dushmem::run(0, |_| Ok(())).unwrap_err().to_string().contains("run: npes = 0"));
    assert!(dushmem::run(usize::MAX, |_| Ok(())).unwrap_err().to_string().contains("run: npes = "));
    let error = Builder::new().team_slots(3).run(2, |_| Ok(())).unwrap_err().to_string();
    assert!(error.contains("init: team_slots = 3"), "{error}");
}

#[test]
fn one_world_a_process() {
    let world = World::init().unwrap();
    assert_eq!((world.my_pe(), world.n_pes()), (0, 1));
    let error = World::init().unwrap_err().to_string();
    assert!(error.contains("init: this process is a PE already"), "{error}");
    world.finalize().unwrap();
    let again = World::init().unwrap();
    again.finalize().unwrap();
    assert_eq!(dushmem::with_world(|world| Ok(world.n_pes())).unwrap(), 1);
}

#[test]
fn errors_of_bodies_come_back() {
    let run = dushmem::run(3, |world| if world.my_pe() < 5 { Err(Error::other("no")) } else { Ok(()) });
    assert_eq!(run.unwrap_err().to_string(), "no");
    // Debug is what a main that returns an error prints.
    let error = dushmem::run(1, |world| world.p(&*world.alloc(0)?, 0, 9)).unwrap_err();
    assert_eq!(format!("{error:?}"), error.to_string());
    assert_eq!(error.cause(), Some(&Cause::BadPe { arg: "pe", pe: 9, n: 1, of: "this job", hint: "" }));
}

#[test]
fn panics_of_bodies_come_back() {
    let caught = std::panic::catch_unwind(|| {
        dushmem::run(2, |world| -> Result<()> {
            std::panic::resume_unwind(Box::new(world.n_pes()));
        })
    });
    assert_eq!(*caught.unwrap_err().downcast::<usize>().unwrap(), 2);
}

/// Set in the process that this test starts.
const INNER: &str = "DUSHMEM_TESTKIT_FAILED_PE";

#[test]
fn a_failed_pe_does_not_leave_the_others_waiting() {
    let body = |world: &World| match world.my_pe() {
        1 => world.p(&*world.alloc(0)?, 0, 9),
        _ => world.alloc(0).and_then(|_| world.barrier()),
    };
    if std::env::var_os(INNER).is_some() {
        let _ = dushmem::run(3, body);
        unreachable!("the process has been ended");
    }
    let start = std::time::Instant::now();
    let name = "a_failed_pe_does_not_leave_the_others_waiting";
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(INNER, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.contains("ending the job")).unwrap_or_else(|| panic!("{text}"));
    assert_eq!(output.status.code(), Some(1), "{text}");
    for words in ["PE 1: p: pe = 9", "PE 0 waits in barrier_all", "PE 2 waits in barrier_all"] {
        assert!(line.contains(words), "{line}");
    }
    assert!(start.elapsed() < std::time::Duration::from_secs(20));
}

#[test]
fn a_pe_that_makes_a_call_less_is_told() {
    let name = "a_pe_that_makes_a_call_less_is_told";
    if std::env::var_os(INNER).is_some() {
        let _ = dushmem::run(3, |world| if world.my_pe() == 1 { Ok(()) } else { world.barrier() });
        unreachable!("nobody ends that but this test");
    }
    let mut process = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(INNER, "1")
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let lines = std::io::BufReader::new(process.stderr.take().unwrap()).lines();
    let line = lines.map_while(std::result::Result::ok).find(|line| line.contains("have returned"));
    process.kill().unwrap();
    process.wait().unwrap();
    let line = line.expect("a line about it");
    for words in ["PE 0 waits in barrier_all, PE 2 waits in barrier_all", "the other PEs (1 of 3)"] {
        assert!(line.contains(words), "{line}");
    }
}

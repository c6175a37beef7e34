//! How PEs and jobs begin and end: children, ends of every kind while others are anywhere, several families and
//! several copies of the library in one process.
use crate::build::Program;
use crate::programs::succeeded;
use crate::trial;
use dushmem_testkit::folder::Folder;
use dushmem_testkit::installation::prefix;
use dushmem_testkit::job::{Job, Outcome};
use dushmem_testkit::tools;
use libtest_mimic::Trial;
use std::path::Path;
use std::time::Duration;

/// Where the other PEs are.
const PLACES: [&str; 6] = ["barrier", "wait", "lock", "compute", "finalize", "sleep"];
/// What is said of a SIGKILL that no shortage of memory explains.
const KILLED: &str = "was ended by SIGKILL: sent by the PE itself, by another process, ";
/// How one of them ends, the exit code of the job, and what is said.
const ENDS: [(&str, i32, &str); 7] = [
    ("exit3", 3, "exited with code 3 before finalize"),
    ("_exit3", 3, "exited with code 3 before finalize"),
    ("abort", 134, "was ended by SIGABRT"),
    ("segv", 139, "was ended by SIGSEGV"),
    ("kill", 137, KILLED),
    ("term", 143, "was ended by SIGTERM"),
    ("overflow", 139, "was ended by SIGSEGV"),
];

fn ending(how: &str, place: &str, family: &str) -> Job {
    let ending = Program::new("ending").family(family).flags("-O0 -Wno-infinite-recursion");
    Job::new(4, ending.build()).args([how, place, "/bin/true"])
}

/// Nothing waits for what can't come.
#[track_caller]
fn soon(outcome: Outcome, what: &str) -> Outcome {
    assert!(outcome.time < Duration::from_secs(20), "{what}: {outcome:#?}");
    assert!(
        !outcome.stderr.contains("went on") && !outcome.stderr.contains("still here"),
        "{what}: {outcome:#?}"
    );
    outcome
}

/// Adds the tests.
pub fn add(trials: &mut Vec<Trial>) {
    for place in PLACES {
        let long = if ["lock", "finalize", "sleep"].contains(&place) { "long_" } else { "" };
        trials.push(trial(format!("ending::{place}::{long}by_itself"), move || {
            for (how, code, said) in ENDS {
                let outcome = soon(ending(how, place, "SHMEM").run(), how);
                outcome.failure(code, &["dushrun: PE 1 (pid ", said]);
            }
        }));
        trials.push(trial(format!("ending::{place}::{long}global_exit"), move || global_exit(place)));
    }
    for place in ["barrier", "wait", "lock", "finalize"] {
        trials.push(trial(format!("ending::{place}::without_finalize"), move || {
            // The words of the program that takes its place are its own.
            for how in ["exit0", "exec"] {
                let outcome = soon(ending(how, place, "SHMEM").run(), how);
                outcome
                    .failure(1, &["PE 1 (pid ", "left without finalize (exit code 0) while PE ", "waits in"]);
            }
        }));
    }
    trials.push(trial("ending::other_families".into(), || {
        for family in ["NVSHMEM", "DUSHMEM"] {
            soon(ending("kill", "wait", family).run(), family).failure(137, &["PE 1 (pid ", KILLED]);
            assert_eq!(soon(ending("global_exit", "compute", family).run(), family).code, 7);
        }
    }));
    trials.push(trial("ending::while_a_thread_reads".into(), || {
        let program = Program::new("ending").flags("-O0 -Wno-infinite-recursion").build();
        let folder = Folder::new("reads");
        // A pipe that stays open.
        let script = "mkfifo \"$DIR/fifo\" 2>/dev/null; exec 9<>\"$DIR/fifo\"; exec \"$@\" <&9";
        let shell = || Job::of("sh".as_ref()).args(["-c", script, "sh"]).env("DIR", folder.path());
        for (how, code) in [("reads_and_fails", 4), ("reads_and_ends", 7)] {
            let job = shell().args([tools::program("dushrun")]).words("-n 2").args([&program]);
            let outcome = soon(job.args([how, "barrier", "-"]).run(), how);
            assert_eq!((outcome.code, outcome.stdout.trim_end()), (code, "half a line"), "{outcome:?}");
            let outcome = soon(shell().args([&program]).args([how, "barrier", "-"]).run(), how);
            assert_eq!((outcome.code, outcome.stdout.trim_end()), (code, "half a line"), "{outcome:?}");
        }
    }));
    trials.push(trial("ending::alone".into(), || {
        let program = Program::new("ending").flags("-O0 -Wno-infinite-recursion").build();
        let outcome = Job::of(&program).args(["global_exit", "barrier", "-"]).run();
        assert_eq!((outcome.code, &*outcome.stdout), (7, "half a line, exit handler\n"), "{outcome:?}");
    }));
    for (pes, transport) in [(1, "shm"), (3, "shm"), (8, "shm"), (2, "loopback")] {
        trials.push(trial(format!("children::{transport}_{pes}_pes"), move || {
            let ring = Program::example("ring").build();
            let program = Program::new("children").build();
            succeeded(Job::new(pes, program).args([ring]).env("DUSHMEM_TRANSPORT", transport).run());
        }));
        trials.push(trial(format!("three_families::{transport}_{pes}_pes"), move || {
            let program = Program::new("three_families").build();
            succeeded(Job::new(pes, program).env("DUSHMEM_TRANSPORT", transport).run());
        }));
    }
    trials.push(trial("children::of_other_families".into(), || {
        for family in ["NVSHMEM", "DUSHMEM"] {
            let ring = Program::example("ring").build();
            succeeded(Job::new(3, Program::new("children").family(family).build()).args([ring]).run());
        }
    }));
    trials.push(trial("copies".into(), copies));
    for family in ["SHMEM", "DUSHMEM"] {
        for (pes, transport) in [(1, "shm"), (2, "shm"), (4, "shm"), (3, "loopback")] {
            let label = format!("threads::{}::{transport}_{pes}_pes", family.to_lowercase());
            trials.push(trial(label, move || {
                let job = Job::new(pes, Program::new("threads").family(family).build());
                succeeded(job.env("DUSHMEM_TRANSPORT", transport).run());
            }));
        }
    }
    trials.push(trial("large::long_2_pes".into(), || {
        let job = Job::new(2, Program::new("large").build()).env("DUSHMEM_SYMMETRIC_SIZE", "6G");
        succeeded(job.limit(Duration::from_secs(200)).run());
    }));
    trials.push(trial("sleepers::alone_8_pes".into(), || {
        let outcome = Job::new(8, Program::new("sleepers").build()).run();
        let time: u32 = outcome.stdout.split(' ').next().and_then(|ms| ms.parse().ok()).expect("a number");
        assert!(time <= 300, "8 PEs that wait for 2 s: {outcome:#?}");
        succeeded(outcome);
    }));
}

fn global_exit(place: &str) {
    for how in ["global_exit", "thread", "threads", "handler_finalizes"] {
        let outcome = soon(ending(how, place, "SHMEM").run(), how);
        assert!(outcome.code == 7 && outcome.stderr.is_empty(), "{how}: {outcome:#?}");
        let said = match how {
            "global_exit" => "half a line, exit handler\n",
            "thread" => "exit handler\n",
            _ => "",
        };
        assert_eq!(outcome.stdout, said, "{how}");
    }
    let outcome = soon(ending("global_exit0", place, "SHMEM").run(), "global_exit(0)");
    assert!(outcome.code == 0 && outcome.stderr.is_empty(), "{outcome:#?}");
}

/// The library once more in the same process.
fn copies() {
    let library = prefix().join("lib/libdushmem.so.0");
    let folder = Folder::new("copies");
    let copy = folder.join("libdushmem-copy.so");
    std::fs::copy(&library, &copy).unwrap_or_else(|why| panic!("{}: {why}", library.display()));
    let program = Program::new("copies").flags("-ldl").build();
    let with_static = Program::new("copies").flags("-ldl --static-lib").build();
    for when in ["later", "first"] {
        let run = |program: &Path, library: &Path, pes: usize| {
            Job::new(pes, program).args([library]).args([when]).run()
        };
        // The same file is the same library.
        for pes in [1, 3] {
            succeeded(run(&program, &library, pes));
            for (program, library) in [(&program, &copy), (&with_static, &library)] {
                let outcome = run(program, library, pes);
                assert_ne!(outcome.code, 0, "{outcome:#?}");
                let told = "shmem_init: another copy of dushmem in this process (";
                let (dushrun, library): (Vec<&str>, Vec<&str>) =
                    outcome.stderr.lines().partition(|line| line.starts_with("dushrun: PE "));
                assert!(
                    !library.is_empty() && library.iter().all(|line| line.contains(told)),
                    "{outcome:#?}"
                );
                assert_eq!(dushrun.len(), 1, "{outcome:#?}");
            }
        }
    }
}

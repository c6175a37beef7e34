//! What is told about jobs that hang.
use crate::build::Program;
use crate::trial;
use dushmem_testkit::job::Job;
use libtest_mimic::Trial;

/// What PE 1 of 4 waits in, in words: case, and pieces of the line in their order.
const WAITS: &[(&str, &[&str])] = &[
    (
        "strided",
        &[" waits in team_sync (team of PEs 1, 3; split_strided with start 1, stride 2, size 2; handle "],
    ),
    ("column", &[" waits in team_sync (team of PEs 1, 3; a column of split_2d with xrange 2; handle "]),
    ("shared", &[" waits in team_sync (TEAM_SHARED), "]),
    (
        "word",
        &[
            " waits in wait_until(ivar = heap + ",
            ", in the object of 512 bytes at heap + ",
            ", CMP_EQ, 5); it is 3, ",
        ],
    ),
    (
        "object",
        &[
            " waits in wait_until(ivar = heap + ",
            ", where an object of 12 bytes begins, CMP_GT, -1); it is -1, ",
        ],
    ),
    ("global", &[" waits in wait_until(ivar = 0x", ", a global of the program, CMP_NE, 7); it is 7, "]),
    ("all", &[" waits in wait_until_all(ivars = heap + ", ", nelems = 3, CMP_LE, 0); they are -1, 0, 1, "]),
    (
        "any",
        &[
            " waits in wait_until_any(ivars = heap + ",
            ", nelems = 20, CMP_LT, -4); they are 0, 0, 0, 0, 0, 0, 0, 0, ..., ",
        ],
    ),
    ("vector", &[", nelems = 3, CMP_EQ, values of their own); they are -1, 0, 1, "]),
    (
        "signal",
        &[" waits in signal_wait_until(sig_addr = heap + ", "CMP_GE, 18446744073709551615); it is 0, "],
    ),
];

/// The line about a PE.
fn told(stderr: &str, pe: usize) -> &str {
    let begin = format!("dushrun: PE {pe} (pid ");
    stderr.lines().find(|line| line.starts_with(&begin)).unwrap_or_default()
}

/// How the line begins about PEs that wait for each other.
const CIRCLE: &str = "dushrun: these PEs wait for each other, ";

/// Adds the tests.
pub fn add(trials: &mut Vec<Trial>) {
    trials.push(trial("hangs::a_circle_is_told".into(), || {
        let program = Program::new("hangs").family("SHMEM").build();
        let outcome = Job::dushrun().words("--timeout 20 -n 4").args([&program]).args(["crossed"]);
        let outcome = outcome.run();
        let (before, after) = outcome.stderr.split_once(CIRCLE).unwrap_or_else(|| panic!("{outcome:#?}"));
        let (told, rest) = after.split_once("dushrun: the time limit").unwrap_or_default();
        let waits = |pe: usize, text: &str| told.contains(&format!("PE {pe} (pid ")) && told.contains(text);
        assert!(
            waits(0, "team_sync (team of PEs 0, 1; ") && waits(1, "team_sync (team of PEs 1, 0; "),
            "{outcome:#?}"
        );
        // Those that compute are in none, and it is told once.
        assert!(!told.contains("PE 2 ") && !told.contains("PE 3 "), "{outcome:#?}");
        assert!(before.is_empty() && !rest.contains(CIRCLE) && outcome.code == 124, "{outcome:#?}");
    }));
    for (case, text) in [
        (
            "lost",
            "dushrun: only 1 of the 3 members of TEAM_WORLD made a call, broadcast of PE 0, and all PEs",
        ),
        (
            "lost_in_team",
            "dushrun: only 1 of the members of the team that begins with PE 1 made a call, broadcast of PE 1, and all PEs",
        ),
        ("not_lost", ""),
    ] {
        trials.push(trial(format!("hangs::{case}"), move || {
            let program = Program::new("hangs").family("SHMEM").build();
            let outcome = Job::dushrun().words("-n 3").args([&program]).args([case]).run();
            if text.is_empty() {
                assert_eq!((outcome.code, &*outcome.stderr), (0, ""), "{outcome:#?}");
            } else {
                assert!(outcome.code == 4 && outcome.stderr.starts_with(text), "{outcome:#?}");
            }
        }));
    }
    // A thread, a child, a PE that sleeps or a timer may still act; who has jumped out of a wait is in none, for nobody.
    for case in ["thread", "child", "late", "alarm", "jump", "left"] {
        trials.push(trial(format!("hangs::no_circle_{case}"), move || {
            let program = Program::new("hangs").family("SHMEM").build();
            let outcome = Job::dushrun().words("--timeout 60 -n 3").args([&program]).args([case]).run();
            assert_eq!((outcome.code, &*outcome.stderr), (0, ""), "{outcome:#?}");
        }));
    }
    for (case, words) in WAITS {
        trials.push(trial(format!("hangs::{case}"), move || {
            let program = Program::new("hangs").family("SHMEM").build();
            let job = Job::dushrun().words("--timeout 0.5 -n 4").args([&program]).args([case]);
            let outcome = job.run();
            assert_eq!(outcome.code, 124, "{outcome:#?}");
            let mut rest = told(&outcome.stderr, 1);
            for word in *words {
                let at = rest.find(word).unwrap_or_else(|| panic!("{word:?} is missing: {outcome:#?}"));
                rest = &rest[at + word.len()..];
            }
            assert!(rest.ends_with(" s now"), "{outcome:#?}");
        }));
    }
}

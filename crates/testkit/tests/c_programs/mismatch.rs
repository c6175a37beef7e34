//! Members of a team that make different calls: who is told, when, and by how many lines.
use crate::build::Program;
use crate::programs::FAMILIES;
use crate::trial;
use dushmem_testkit::job::{Job, Outcome};
use libtest_mimic::Trial;
use std::time::{Duration, Instant};

const PES: usize = 3;

fn run(family: &str, case: &str, transport: &str) -> Outcome {
    with_pes(PES, family, case, transport).run()
}

fn with_pes(pes: usize, family: &str, case: &str, transport: &str) -> Job {
    let program = Program::new("mismatch").family(family).build();
    Job::new(pes, program).words(case).env("DUSHMEM_TRANSPORT", transport)
}

/// Fails unless there is one line with each of the `texts`, in any order, and no other.
#[track_caller]
fn told(outcome: &Outcome, code: i32, texts: &[&str]) {
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    assert!(outcome.code == code && lines.len() == texts.len(), "{texts:?}: {outcome:#?}");
    for text in texts {
        assert_eq!(lines.iter().filter(|line| line.contains(text)).count(), 1, "{text}: {outcome:#?}");
    }
}

/// Adds the tests.
pub fn add(trials: &mut Vec<Trial>) {
    let cases = FAMILIES.map(|family| [(family, "shm"), (family, "loopback")]).concat();
    let each = move |test: fn(&str, &str)| {
        let cases = cases.clone();
        move || cases.iter().for_each(|(family, transport)| test(family, transport))
    };
    trials.push(trial("mismatch::a_call_that_the_others_never_make".into(), each(|family, transport| {
        let text = format!(
            "{}_finalize: PEs disagree: only 1 of the 3 members of the team of PEs 0, 1, 2 called broadcast of 8 bytes \
             from root 2; every member must make the same calls in the same order",
            family.to_lowercase()
        );
        told(&run(family, "lost", transport), 4, &[&text]);
    })));
    trials.push(trial(
        "mismatch::told_twice".into(),
        each(|family, transport| {
            let outcome = run(family, "twice", transport);
            told(
                &outcome,
                0,
                &["_broadcast: PEs disagree: ", "_team_sync: PEs disagree: ", "_fcollect: PEs disagree: "],
            );
        }),
    ));
    trials.push(trial(
        "mismatch::a_part_and_all".into(),
        each(|family, transport| {
            let outcome = run(family, "part", transport);
            told(&outcome, 0, &["_fcollect: PEs disagree: ", "_alltoall: PEs disagree: "]);
        }),
    ));
    trials.push(trial(
        "mismatch::members_that_are_ahead_by_different_counts".into(),
        each(|family, transport| {
            let text = "only 2 of the 3 members of the team of PEs 0, 1, 2 called broadcast of 8 bytes from root 2; ";
            told(&run(family, "lost_by_two", transport), 4, &[text]);
        }),
    ));
    trials.push(trial(
        "mismatch::wrong_again_and_again".into(),
        each(|family, transport| {
            let start = Instant::now();
            let outcome = run(family, "again", transport);
            let count = |text: &str| outcome.stderr.lines().filter(|line| line.contains(text)).count();
            let own = count("_broadcast: PE_root = 77: ");
            let of_others = count("PE 2 calls broadcast with an argument that is wrong (PE_root = 77: ");
            assert!(outcome.code == 0 && (own, of_others) == (50, 50), "{outcome:#?}");
            // Once they waited 5 s for each other, in nearly each of the calls.
            assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        }),
    ));
    trials.push(trial(
        "mismatch::two_teams_at_once".into(),
        each(|family, transport| {
            let texts: Vec<String> = (1..=20)
                .flat_map(|i| [0, 2].map(|pe| (pe, i)))
                .map(|(pe, i)| format!("PE {pe} calls fcollect of {} bytes, ", 8 * i))
                .collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            told(&with_pes(4, family, "teams", transport).run(), 0, &texts);
        }),
    ));
    trials.push(trial(
        "mismatch::slots_that_run_out_twice".into(),
        each(|family, transport| {
            let outcome = with_pes(2, family, "slots", transport).env("DUSHMEM_TEAM_SLOTS", "8").run();
            let lines: Vec<&str> = outcome.stderr.lines().collect();
            assert!(outcome.code == 0 && lines.len() == 2, "{outcome:#?}");
            assert!(lines.iter().all(|line| line.contains("all 8 are in use")), "{outcome:#?}");
        }),
    ));
    trials.push(trial("mismatch::settings_that_differ".into(), || {
        let program = Program::new("mismatch").family("NVSHMEM").build();
        for (one, other, text) in [
            ("", "DUSHMEM_TRANSPORT=loopback", "DUSHMEM_TRANSPORT: PE 0 has shm, PE 1 has loopback; "),
            ("NVSHMEM_TRANSPORT=loopback", "", "NVSHMEM_TRANSPORT: PE 0 has loopback, PE 1 has shm; "),
            ("", "NVSHMEM_SYMMETRIC_SIZE=2M", "NVSHMEM_SYMMETRIC_SIZE: PE 0 has 1G, PE 1 has 2M; "),
            (
                "DUSHMEM_TEAM_SLOTS=16",
                "NVSHMEM_MAX_TEAMS=32",
                "NVSHMEM_MAX_TEAMS: PE 0 has 16 by the variable with DUSHMEM_, PE 1 has 32; ",
            ),
        ] {
            let script = format!("[ $DUSHMEM_PE = 0 ] && export {one} || export {other}; exec \"$@\"");
            let job = Job::new(2, "sh").args(["-c", &script, "sh"]).args([&program]).words("lost");
            let outcome = job.run();
            let line = format!("_init: PEs disagree: {text}start all PEs alike\n");
            let told = outcome.stderr.lines().count() == 1 && outcome.stderr.ends_with(&line);
            assert!(outcome.code == 4 && told, "{line}: {outcome:#?}");
        }
    }));
}

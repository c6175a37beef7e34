//! PEs under gdb.
mod common;
use common::pes_with;

#[test]
fn every_pe_under_a_debugger_prints_where_it_crashed() {
    let job = pes_with("-l --gdb", 2, "join barrier 1:kill=11 hold").env("DISPLAY", "");
    let outcome = job.limit(std::time::Duration::from_secs(90)).run();
    let crash = outcome.stdout.lines().find(|line| line.contains("SIGSEGV"));
    assert!(crash.is_some_and(|line| line.starts_with("[1] ")), "{outcome:?}");
    assert!(outcome.stdout.lines().any(|line| line.starts_with("[1] #0 ")), "{outcome:?}");
    assert_ne!(outcome.code, 0);
}

#[test]
fn pes_that_end_well_end_well_under_a_debugger() {
    let outcome = pes_with("--gdb", 2, "join barrier place finalize exit=4").env("DISPLAY", "").run();
    assert!(outcome.stdout.contains("(0, 2)") && outcome.stdout.contains("(1, 2)"), "{outcome:?}");
    assert_eq!(outcome.code, 4, "{outcome:?}");
}

#[test]
fn one_pe_under_a_debugger_takes_commands_from_the_input() {
    let job = pes_with("--gdb=1", 3, "join barrier place finalize");
    let outcome = job.stdin("run\nprint 40+2\nquit\n").run();
    for text in ["(0, 3)", "(1, 3)", "(2, 3)", "$1 = 42"] {
        assert!(outcome.stdout.contains(text), "{text}: {outcome:?}");
    }
    assert_eq!(outcome.code, 0, "{outcome:?}");
}

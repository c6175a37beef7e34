//! How a job ends: the first PE that fails, abort, time limit, exit codes, and that nothing is left.
mod common;
use common::{patiently, pe, pes, pes_with};
use dushmem_os::signal::number::SIGKILL;
use dushmem_testkit::folder::Folder;
use dushmem_testkit::job::{Job, until};
use dushmem_testkit::{leftovers, tools};
use std::time::Duration;

#[test]
fn a_pe_that_is_killed_ends_the_job_with_its_signal() {
    for (number, name) in [(11, "SIGSEGV"), (6, "SIGABRT"), (9, "SIGKILL"), (15, "SIGTERM"), (8, "SIGFPE")] {
        let outcome = pes(3, &format!("join 1:kill={number} hold")).run();
        assert!(outcome.time < Duration::from_secs(5), "{outcome:?}");
        outcome.failure(128 + number, &["PE 1 (pid ", name]);
    }
}

#[test]
fn a_pe_that_exits_with_a_code_before_finalize_ends_the_job() {
    let outcome = pes(4, "join 2:exit=5 hold").run();
    assert!(outcome.time < Duration::from_secs(5), "{outcome:?}");
    outcome.failure(5, &["PE 2 (pid ", "code 5", "before finalize"]);
    pes(3, "0:exit=9 sleep=30000").run().failure(9, &["PE 0", "code 9", "before it had joined"]);
    pes(2, "join 1:sleep=200 1:exit=255 hold").run().failure(255, &["PE 1", "code 255"]);
}

#[test]
fn a_pe_that_leaves_without_finalize_ends_the_job_when_others_wait() {
    // Of two: among more the one that waits first is named, and that is anyone on a busy machine.
    let outcome = pes(2, "join 1:exit=0 hold").run();
    assert!(outcome.time < Duration::from_secs(5), "{outcome:?}");
    outcome.failure(1, &["PE 1 (pid ", "without finalize", "PE 0 waits in barrier_all"]);
    let outcome = pes(3, "2:exit=0 join hold").run();
    assert!(outcome.time < Duration::from_secs(5), "{outcome:?}");
    outcome.failure(1, &["PE 2 (pid ", "without joining the job", "waits in"]);
}

#[test]
fn a_pe_that_leaves_without_finalize_is_no_failure_while_nobody_waits() {
    pes(3, "join exit=0").run().success();
    pes(2, "join 1:exit=0 sleep=3000 0:out=done").run().success();
}

#[test]
fn a_pe_that_has_finalized_and_ended_is_missed_by_those_that_initialise_again() {
    for code in [0, 7] {
        let outcome = pes(3, &format!("join finalize 1:exit={code} gather")).run();
        assert!(outcome.time < Duration::from_secs(5), "{outcome:?}");
        let how = format!("ended after finalize (exit code {code})");
        outcome.failure(code.max(1), &["PE 1 (pid ", &how, "waits in init"]);
    }
    // Whatever else it waits for is no business of the one that has gone.
    pes(2, "join finalize 1:exit=0 0:linger 0:out=done").run().success();
}

#[test]
fn a_pe_that_is_missing_in_finalize_is_waited_for_in_finalize() {
    let outcome = pes(2, "join 1:exit=0 finalize").run();
    outcome.failure(1, &["PE 1 (pid ", "left without finalize", "waits in finalize (TEAM_WORLD)"]);
}

#[test]
fn a_code_after_finalize_is_passed_on_and_ends_nobody() {
    let outcome = pes(3, "join finalize 1:exit=7 sleep=400 2:exit=8 err=late out=alive").run();
    assert_eq!((outcome.code, &*outcome.stdout), (7, "alive\n"), "{outcome:?}");
    // The line about it comes last, when everybody is done.
    let (before, line) = outcome.stderr.split_once('\n').unwrap();
    assert_eq!(before, "late");
    assert!(
        line.starts_with("dushrun: PE 1 (pid ") && line.ends_with(") exited with code 7 after finalize\n")
    );
}

#[test]
fn stumps_of_pes_that_dushrun_ends_are_not_shown() {
    // The others are in the middle of a line when PE 1 fails, which is itself in the middle of one.
    let words = "join errpart=stump barrier 1:errpart=whole 1:exit=5 hold";
    for options in ["", "-l"] {
        let outcome = pes_with(options, 3, words).run();
        let lines: Vec<&str> = outcome.stderr.lines().collect();
        assert!(outcome.code == 5 && lines.len() == 2 && outcome.stderr.ends_with('\n'), "{outcome:?}");
        assert!(lines.iter().any(|line| line.ends_with("stumpwhole")), "{outcome:?}");
        assert!(lines.iter().any(|line| line.contains("exited with code 5")), "{outcome:?}");
    }
    // Who leaves when asked to says what it says.
    let words = "exiton=15 join errpart=kept barrier 1:exit=5 hold";
    let outcome = pes(2, words).run();
    assert!(outcome.stderr.matches("kept\n").count() == 2 && outcome.code == 5, "{outcome:?}");
    // So does who is ended by something else, and whole lines stay.
    let outcome = pes(2, "join err=line errpart=kept barrier 1:kill=11 hold").run();
    let count = |text: &str| outcome.stderr.lines().filter(|line| *line == text).count();
    assert_eq!((outcome.code, count("line"), count("kept")), (139, 2, 1), "{outcome:?}");
}

#[test]
fn a_stump_is_left_out_while_a_descendant_holds_the_pipe() {
    let command = format!("printf stump >&2; sleep 600 & exec {} join barrier 1:exit=3 hold", pe());
    let outcome = Job::new(2, "sh").args(["-c", &command]).run();
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    assert!(outcome.code == 3 && lines.len() == 2 && outcome.stderr.ends_with('\n'), "{outcome:?}");
    assert_eq!(outcome.stderr.matches("stump").count(), 1, "{outcome:?}");
}

#[test]
fn a_job_that_fails_ends_with_a_newline() {
    let outcome = pes(2, "join part=half barrier 1:exit=5 hold").run();
    assert_eq!((outcome.code, &*outcome.stdout), (5, "half\nhalf\n"), "{outcome:?}");
    let attempt = |time: Duration| {
        let limit = format!("--timeout {}", time.as_secs_f32());
        pes_with(&limit, 2, "part=half sleep=30000").run()
    };
    let outcome = patiently(Duration::from_millis(500), attempt, |o| o.stdout.len() == 10);
    assert_eq!((outcome.code, &*outcome.stdout), (124, "half\nhalf\n"), "{outcome:?}");
    let outcome = pes(2, "join part=half finalize 1:errpart=half 1:exit=5").run();
    assert_eq!((outcome.code, &*outcome.stdout), (5, "half\nhalf\n"), "{outcome:?}");
    assert!(outcome.stderr.starts_with("half\ndushrun: PE 1 "), "{outcome:?}");
}

#[test]
fn an_unfinished_line_is_shown_when_its_pe_ends() {
    let job = pes(2, "1:errpart=early 1:exit=0 sleep=60000").start();
    let (pids, began) = (|| job.processes().len(), std::time::Instant::now());
    until("PE 1 has ended", || pids() == 2);
    std::thread::sleep(Duration::from_millis(300));
    job.signal(SIGKILL);
    let outcome = job.finish();
    assert!(outcome.stderr == "early" && began.elapsed() < Duration::from_secs(30), "{outcome:?}");
}

#[test]
fn abort_ends_the_job_with_its_code_and_its_message() {
    let outcome = pes(4, "join 1:abort=9:PE_1_says_so hold").run();
    assert!(outcome.time < Duration::from_secs(5), "{outcome:?}");
    outcome.failure(9, &["PE_1_says_so"]);
    pes(4, "join 2:abort=0 hold").run().success();
    let outcome = pes(4, "join 2:abort=3 hold").run();
    assert_eq!((outcome.code, &*outcome.stderr), (3, ""));
    pes(4, "join abort=4:together").run().failure(4, &["together"]);
}

#[test]
fn abort_writes_out_what_was_printed() {
    assert_eq!(pes(2, "join 1:part=unfinished 1:abort=0 hold").run().success().stdout, "unfinished");
}

#[test]
fn abort_of_one_pe_alone_ends_it() {
    let outcome = Job::of(pe().as_ref()).words("join abort=6:alone").run();
    assert_eq!((outcome.code, &*outcome.stderr), (6, "alone\n"));
}

#[test]
fn pes_that_ignore_the_request_to_end_are_killed() {
    let outcome = pes(3, "ignore=15 join barrier 1:exit=5 sleep=30000").run();
    assert!(outcome.time < Duration::from_secs(5), "{outcome:?}");
    outcome.failure(5, &["PE 1"]);
}

#[test]
fn the_time_limit_tells_where_each_pe_is() {
    let attempt = |time: Duration| {
        let limit = format!("--timeout {}", time.as_secs());
        let outcome = pes_with(&limit, 4, "0:sleep=20000 join 2:spin 3:finalize hold").run();
        assert!(outcome.time < time + Duration::from_secs(3), "{outcome:?}");
        outcome
    };
    let outcome = patiently(Duration::from_secs(1), attempt, |o| o.stderr.contains("waits in finalize"));
    assert!(outcome.code == 124, "{outcome:?}");
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    let expected = ["the time limit of ", "PE 0", "PE 1", "PE 2", "PE 3"];
    assert!(
        lines.len() == 5 && lines.iter().zip(expected).all(|(line, what)| line.contains(what)),
        "{outcome:?}"
    );
    for (line, what) in
        lines[1..].iter().zip(["not called init", "waits in barrier_all", "computes", "waits in finalize"])
    {
        assert!(line.contains("(pid ") && line.contains(what), "{outcome:?}");
    }
}

#[test]
fn the_time_limit_tells_who_has_left_while_others_poll() {
    // Those that poll note no wait; one that has finalized is missed by nobody.
    let attempt = |time: Duration| {
        pes_with(&format!("--timeout {}", time.as_secs()), 4, "3:exit=0 join 1:exit=0 spin").run()
    };
    let right = |o: &dushmem_testkit::job::Outcome| {
        o.stderr.contains("without joining") && o.stderr.contains("without finalize")
    };
    let outcome = patiently(Duration::from_secs(1), attempt, right);
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    assert!(outcome.code == 124 && lines.len() == 5, "{outcome:?}");
    let expected = [
        "computes: no wait of the library is noted",
        "left without finalize (exit code 0): whatever others still expect of it never comes",
        "computes: no wait of the library is noted",
        "left without joining the job (exit code 0): whatever others still expect of it never comes",
    ];
    for (pe, (line, what)) in lines[1..].iter().zip(expected).enumerate() {
        assert!(line.starts_with(&format!("dushrun: PE {pe} (pid ")) && line.ends_with(what), "{outcome:?}");
    }
    // Programs that don't use the library leave as they like.
    let outcome = pes_with("--timeout 1", 2, "1:exit=0 spin").run();
    assert!(outcome.code == 124 && !outcome.stderr.contains("left"), "{outcome:?}");
}

#[test]
fn a_job_within_its_time_limit_is_left_alone() {
    pes_with("--timeout 1h", 2, "join finalize").run().success();
}

#[test]
fn pes_end_with_a_launcher_that_is_killed() {
    let pe = pe();
    let valgrind = format!("valgrind -q {pe} join barrier touch=$DIR/up.$DUSHMEM_PE hold");
    let cases = [
        ("plain", format!("exec {pe} join barrier touch=$DIR/up.$DUSHMEM_PE hold")),
        ("shell", format!("{pe} join barrier touch=$DIR/up.$DUSHMEM_PE hold; true")),
        ("shells", format!("sh -c '{pe} join barrier touch=$DIR/up.$DUSHMEM_PE spin; true'; true")),
        ("background", format!("{pe} join barrier touch=$DIR/up.$DUSHMEM_PE hold & wait")),
        ("valgrind", format!("exec {valgrind}")),
        ("valgrind-in-shell", format!("{valgrind}; true")),
    ];
    for (name, command) in cases {
        let folder = Folder::new(&format!("killed-{name}"));
        let job = Job::new(3, "sh").args(["-c", &command]).env("DIR", folder.file(""));
        let job = job.start();
        until(name, || folder.count("up.") == 3);
        assert!(job.processes().len() > 3);
        job.signal(SIGKILL);
        // `finish` asserts that no process is left.
        assert_eq!(job.finish().code, 137, "{name}");
    }
}

#[test]
fn pes_that_never_join_end_with_a_launcher_that_is_killed() {
    let folder = Folder::new("never-join");
    let job = pes(3, &format!("touch={}.$ sleep=30000", folder.file("up"))).start();
    until("all PEs run", || folder.count("up") == 3);
    job.signal(SIGKILL);
    assert_eq!(job.finish().code, 137);
}

#[test]
fn pes_behind_shells_are_ended_with_the_job() {
    let pe = pe();
    let outcome =
        Job::new(3, "sh").args(["-c", &format!("exec 2>&-; {pe} join 1:kill=11 hold; exit $?")]).run();
    assert!(outcome.time < Duration::from_secs(5), "{outcome:?}");
    outcome.failure(139, &["PE 1 (pid ", "code 139"]);
    // The shell hides its end: found by watching the process that joined.
    let outcome =
        Job::new(3, "sh").args(["-c", &format!("exec 2>&-; {pe} join 1:kill=11 hold; sleep 60")]).run();
    assert!(outcome.time < Duration::from_secs(5), "{outcome:?}");
    outcome.failure(1, &["PE 1 (pid ", "ended before finalize"]);
    // What PEs have started in the background goes with a job that fails.
    let outcome = Job::new(2, "sh")
        .args(["-c", &format!("sleep 600 & sleep 601 & {pe} join barrier 1:exit=3 hold")])
        .run();
    assert!(outcome.time < Duration::from_secs(5), "{outcome:?}");
    outcome.failure(3, &["PE 1"]);
}

#[test]
fn pes_run_under_valgrind() {
    let outcome =
        Job::new(2, "valgrind").args(["-q", &pe(), "join", "barrier", "place", "finalize"]).run().success();
    assert_eq!(outcome.sorted_lines(), ["(0, 2)", "(1, 2)"]);
}

#[test]
fn nothing_with_a_name_exists_at_any_time() {
    let before = leftovers::named_objects();
    let folder = Folder::new("named");
    let job = pes(4, &format!("join barrier touch={}.$ hold", folder.file("up"))).start();
    until("the PEs have joined", || folder.count("up") == 4);
    let during = leftovers::named_objects();
    job.signal(SIGKILL);
    job.finish();
    let after = leftovers::named_objects();
    let new: Vec<_> = during.union(&after).filter(|name| !before.contains(*name)).collect();
    assert!(new.is_empty(), "{new:?}");
}

#[test]
fn many_jobs_at_once_do_not_meet() {
    let run = |_| std::thread::spawn(|| pes(3, "join gather barrier finalize").run().success());
    let jobs: Vec<_> = (0..6).map(run).collect();
    for job in jobs {
        assert_eq!(job.join().unwrap().stdout.lines().count(), 3);
    }
}

#[test]
fn pes_stay_in_the_callers_process_group() {
    let dushrun = tools::program("dushrun").display().to_string();
    let command = format!("{dushrun} -n 2 sh -c 'ps -o pgid= -p $$' ; ps -o pgid= -p $$");
    let outcome = Job::of("sh".as_ref()).args(["-c", &command]).run().success();
    let groups: std::collections::BTreeSet<&str> = outcome.stdout.lines().map(str::trim).collect();
    assert!(groups.len() == 1 && outcome.stdout.lines().count() == 3, "{outcome:?}");
}

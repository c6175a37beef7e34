//! Signals that dushrun gets.
mod common;
use common::{patiently, pes, pes_with};
use dushmem_os::signal::number::*;
use dushmem_testkit::folder::Folder;
use dushmem_testkit::job::{Job, Outcome, Running, until};
use std::time::Duration;

/// Starts PEs, each of which says by a file that it is ready.
fn ready(name: &str, words: &str, n: usize) -> (Running, Folder) {
    let folder = Folder::new(name);
    let job = pes(n, &words.replace("READY", &format!("join barrier touch={}.$", folder.file("up")))).start();
    until("the PEs are ready", || folder.count("up") == n);
    (job, folder)
}

/// What became of PEs that got a signal so long after they were ready.
fn signalled(name: &str, words: &str, n: usize, number: i32, time: Duration) -> Outcome {
    let (job, _folder) = ready(name, words, n);
    std::thread::sleep(time);
    job.signal(number);
    job.finish()
}

fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

#[test]
fn a_request_to_end_is_passed_on() {
    for (number, name) in [(SIGINT, "SIGINT"), (SIGTERM, "SIGTERM"), (SIGHUP, "SIGHUP"), (SIGQUIT, "SIGQUIT")]
    {
        let (job, _folder) = ready(&format!("end-{number}"), "READY spin", 3);
        job.signal(number);
        let outcome = job.finish();
        assert!(outcome.time < Duration::from_secs(5), "{outcome:?}");
        outcome.failure(128 + number, &["the job was ended by", name]);
    }
}

#[test]
fn a_request_to_end_tells_who_waits_where() {
    for (words, number, first) in [
        ("READY !1:hold spin", SIGINT, "dushrun: the job was ended by SIGINT"),
        ("ignore=2 READY !1:hold spin", SIGINT, "dushrun: SIGINT again: the job is killed"),
        ("exiton=15 READY !1:hold spin", SIGTERM, "exited with code 99 before finalize"),
    ] {
        let attempt = |time| {
            let (job, _folder) = ready("waits", words, 3);
            std::thread::sleep(time);
            job.signal(number);
            if words.contains("ignore") {
                std::thread::sleep(Duration::from_millis(300));
                job.signal(number);
            }
            job.finish()
        };
        let outcome = patiently(Duration::from_millis(300), attempt, |o| o.stderr.lines().count() == 3);
        let lines: Vec<&str> = outcome.stderr.lines().collect();
        assert!(lines.len() == 3 && lines[0].contains(first), "{outcome:?}");
        for (line, pe) in lines[1..].iter().zip([0, 2]) {
            assert!(line.starts_with(&format!("dushrun: PE {pe} (pid ")), "{outcome:?}");
            let (_, since) =
                line.split_once(") waits in barrier_all (TEAM_WORLD), ").expect("what it waits in");
            let seconds: f64 = since.strip_suffix(" s now").expect("since when").parse().expect("seconds");
            assert!(seconds > 0.0 && seconds < outcome.time.as_secs_f64(), "{outcome:?}");
        }
    }
}

#[test]
fn what_kernels_ask_the_proxy_for_is_told() {
    let attempt = |time| signalled("asks", "READY asks", 2, SIGTERM, time);
    let said = "has kernels that ask the proxy: now put to PE 0, after 5 requests, ";
    let outcome = patiently(Duration::from_millis(300), attempt, |o| o.stderr.contains(said));
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    assert_eq!((lines.len(), lines[0]), (3, "dushrun: the job was ended by SIGTERM"), "{outcome:?}");
    for (line, pe) in lines[1..].iter().zip(0..) {
        assert!(line.starts_with(&format!("dushrun: PE {pe} (pid ")) && line.contains(said), "{outcome:?}");
        assert!(line.ends_with(" s without a pause"), "{outcome:?}");
    }
}

#[test]
fn many_waiting_pes_are_counted() {
    let attempt = |time| signalled("many", "READY hold", 20, SIGINT, time);
    let outcome = patiently(Duration::from_millis(500), attempt, |o| o.stderr.contains(" 4 more PEs wait"));
    assert_eq!(outcome.stderr.lines().count(), 18, "{outcome:?}");
    assert_eq!(outcome.stderr.lines().last(), Some("dushrun: 4 more PEs wait"), "{outcome:?}");
}

#[test]
fn pes_may_handle_a_request_to_end() {
    let (job, _folder) = ready("handled", "catch=15 READY sleep=700 barrier out=done finalize", 2);
    job.signal(SIGTERM);
    let outcome = job.finish().success();
    assert_eq!(outcome.sorted_lines(), ["PE 0 got SIGTERM", "PE 1 got SIGTERM", "done", "done"]);
}

#[test]
fn the_second_request_to_end_kills() {
    let (job, _folder) = ready("second", "ignore=2 READY sleep=30000", 3);
    job.signal(SIGINT);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(job.processes().len(), 4);
    job.signal(SIGINT);
    job.finish().failure(130, &["SIGINT again"]);
}

#[test]
fn pes_that_ignore_a_request_to_end_are_told_about() {
    let (job, _folder) = ready("stubborn", "ignore=15 READY sleep=30000", 3);
    job.signal(SIGTERM);
    // As `timeout` does it: to dushrun, and at once to its group.
    std::thread::sleep(Duration::from_millis(20));
    job.signal(SIGTERM);
    std::thread::sleep(Duration::from_millis(2500));
    job.signal(SIGTERM);
    let outcome = job.finish();
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    assert_eq!((outcome.code, lines.len()), (143, 2), "{outcome:?}");
    assert!(
        lines[0].contains("3 of 3 PEs go on after SIGTERM") && lines[1].contains("SIGTERM again"),
        "{outcome:?}"
    );
}

#[test]
fn what_was_ignored_at_the_start_stays_ignored() {
    let folder = Folder::new("nohup");
    let script = format!(
        "trap '' HUP INT; exec '{}' -n 2 '{}' join barrier touch={}.$ sleep=800 finalize",
        env!("CARGO_BIN_EXE_dushrun"),
        common::pe(),
        folder.file("up")
    );
    let job = Job::of("sh".as_ref()).args(["-c", &script]).start();
    until("the PEs are ready", || folder.count("up") == 2);
    job.signal(SIGHUP);
    job.signal(SIGINT);
    job.finish().success();
}

#[test]
fn user_signals_reach_every_pe_once() {
    for (number, name) in [(SIGUSR1, "SIGUSR1"), (SIGUSR2, "SIGUSR2")] {
        let words = format!("catch={number} READY sleep=700 finalize");
        let (job, _folder) = ready(&format!("user-{number}"), &words, 2);
        job.signal(number);
        let outcome = job.finish().success();
        assert_eq!(outcome.sorted_lines(), [format!("PE 0 got {name}"), format!("PE 1 got {name}")]);
    }
}

#[test]
fn stopping_and_continuing_takes_the_pes_along() {
    let (job, folder) = ready("stop", "READY 0:out=on spin", 3);
    job.signal(SIGTSTP);
    until("all are stopped", || job.processes().iter().all(|pid| state(*pid) == Some('T')));
    job.signal(SIGCONT);
    until("all go on", || job.processes().iter().all(|pid| state(*pid) != Some('T')));
    job.signal(SIGTERM);
    assert_eq!(job.finish().code, 128 + SIGTERM);
    drop(folder);
}

/// Stops PE 1 and gives its process id.
fn stop_pe_1(job: &Running) -> u32 {
    let is_pe_1 = |pid: &u32| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|variable| variable == b"DUSHMEM_PE=1")
    };
    let pid = job.processes().into_iter().find(is_pe_1).expect("PE 1 runs");
    assert!(dushmem_os::signal::send(pid, SIGSTOP));
    until("PE 1 is stopped", || state(pid) == Some('T'));
    pid
}

#[test]
fn who_has_left_is_told_while_others_poll() {
    let attempt = |time| signalled("left", "READY 1:exit=0 spin", 3, SIGTERM, time);
    let outcome = patiently(Duration::from_millis(300), attempt, |o| o.stderr.lines().count() == 2);
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    assert_eq!((outcome.code, lines.len()), (143, 2), "{outcome:?}");
    let line = lines[1];
    let what = "left without finalize (exit code 0): whatever others still expect of it never comes";
    assert!(line.starts_with("dushrun: PE 1 (pid ") && line.ends_with(what), "{outcome:?}");
}

#[test]
fn a_stopped_pe_is_told_and_ended() {
    // It computes, waits, or ignores what it is asked; in the end no process of it is left.
    for (words, n, number) in [
        ("READY spin", 3, SIGTERM),
        ("READY hold", 2, SIGINT),
        ("READY 1:hold spin", 2, SIGQUIT),
        ("READY sleep=30000", 2, SIGHUP),
    ] {
        let (job, _folder) = ready("is-stopped", words, n);
        std::thread::sleep(Duration::from_millis(300));
        let pid = stop_pe_1(&job);
        job.signal(number);
        let outcome = job.finish();
        assert!(outcome.code == 128 + number && outcome.time < Duration::from_secs(5), "{outcome:?}");
        let how =
            format!("dushrun: PE 1 (pid {pid}) is stopped, as by SIGSTOP or SIGTSTP: kill -CONT {pid} lets");
        // Before those that wait for it.
        assert!(outcome.stderr.lines().nth(1).is_some_and(|line| line.starts_with(&how)), "{outcome:?}");
        assert_eq!(outcome.stderr.contains("it waits in barrier_all"), words.contains("hold"), "{outcome:?}");
    }
}

#[test]
fn the_time_limit_tells_who_is_stopped() {
    for words in ["join barrier spin", "ignore=15 join barrier spin"] {
        let folder = Folder::new("stopped-at-limit");
        let words = words.replace("spin", &format!("touch={}.$ spin", folder.file("up")));
        let job = pes_with("--timeout 3", 2, &words).start();
        until("the PEs are ready", || folder.count("up") == 2);
        let pid = stop_pe_1(&job);
        let outcome = job.finish();
        let lines: Vec<&str> = outcome.stderr.lines().collect();
        assert!(outcome.code == 124 && lines.len() == 3, "{outcome:?}");
        assert!(lines[1].ends_with("computes: no wait of the library is noted"), "{outcome:?}");
        let how = format!("is stopped, as by SIGSTOP or SIGTSTP: kill -CONT {pid} lets it go on");
        assert_eq!(lines[2], format!("dushrun: PE 1 (pid {pid}) {how}"), "{outcome:?}");
    }
}

#[test]
fn the_time_limit_does_not_run_while_stopped() {
    let folder = Folder::new("stopped-limit");
    let job =
        pes_with("--timeout 2", 2, &format!("touch={}.$ sleep=500 out=done", folder.file("up"))).start();
    until("both PEs run", || folder.count("up") == 2);
    job.signal(SIGTSTP);
    std::thread::sleep(Duration::from_millis(2500));
    job.signal(SIGCONT);
    assert_eq!(job.finish().success().stdout, "done\ndone\n");
}

#[test]
fn signals_reach_pes_behind_shells() {
    // PEs sleep that long, and get the signal meanwhile.
    let attempt = |time: Duration| {
        let folder = Folder::new("behind");
        let (pe, up, ms) = (common::pe(), folder.file("up"), time.as_millis());
        let command = format!("{pe} catch=10 join barrier touch={up}.$ sleep={ms} finalize; true");
        let job = Job::new(2, "sh").args(["-c", &format!("trap '' USR1; {command}")]).start();
        until("the PEs are ready", || folder.count("up") == 2);
        job.signal(SIGUSR1);
        job.finish().success()
    };
    let outcome = patiently(Duration::from_millis(700), attempt, |o| o.sorted_lines().len() == 2);
    assert_eq!(outcome.sorted_lines(), ["PE 0 got SIGUSR1", "PE 1 got SIGUSR1"]);
}

#[test]
fn pes_start_with_the_signals_that_dushrun_was_given() {
    let status = |outcome: dushmem_testkit::job::Outcome| {
        let line = |name: &str| outcome.stdout.lines().find(|line| line.starts_with(name)).map(str::to_owned);
        (line("SigBlk"), line("SigIgn"))
    };
    let direct = dushmem_testkit::job::Job::of("cat".as_ref()).words("/proc/self/status").run().success();
    let launched = dushmem_testkit::job::Job::new(1, "cat").words("/proc/self/status").run().success();
    assert_eq!(status(launched), status(direct));
}

//! dushrun in a terminal (of `script`, which passes its input on as if it were typed).
mod common;
use common::pe;
use dushmem_testkit::folder::Folder;
use dushmem_testkit::job::{Job, until};
use dushmem_testkit::tools;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

/// Runs dushrun in a terminal; types `text` when the file `up` of the folder exists and the terminal shows
/// `shown`.
fn typed(name: &str, words: &str, shown: &str, text: &[u8]) -> (Option<i32>, String) {
    let folder = Folder::new(name);
    let words = words.replace("UP", &folder.file("up")).replace("PE", &pe());
    let line = format!("{} {words}", tools::program("dushrun").display());
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = script.spawn().unwrap();
    let mut keys = child.stdin.take().unwrap();
    let mut screen = child.stdout.take().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let reader = std::thread::spawn({
        let seen = Arc::clone(&seen);
        move || {
            let mut bytes = [0; 1000];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                seen.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        }
    });
    let text_seen = || String::from_utf8_lossy(&seen.lock().unwrap()).into_owned();
    until("the PEs are ready", || folder.count("up") == 1 && text_seen().contains(shown));
    keys.write_all(text).unwrap();
    keys.flush().unwrap();
    // The end of the input would be typed as well: it stays open until dushrun has ended.
    let status = child.wait().unwrap();
    drop(keys);
    reader.join().unwrap();
    (status.code(), text_seen())
}

#[test]
fn the_interrupt_key_ends_the_job_and_tells_who_waits() {
    let (code, text) = typed(
        "key",
        "-n 3 -- sh -c 'exec PE join barrier !2:touch=UP !2:hold 2:sleep=400 2:out=now 2:spin'",
        "now",
        b"\x03",
    );
    assert_eq!(code, Some(130), "{text}");
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("dushrun")).collect();
    assert!(lines.len() == 3 && lines[0].contains("the job was ended by SIGINT"), "{text}");
    for (line, pe) in lines[1..].iter().zip(["PE 0 (pid ", "PE 1 (pid "]) {
        assert!(line.contains(pe) && line.contains(") waits in barrier_all (TEAM_WORLD), "), "{text}");
    }
}

#[test]
fn a_question_appears_before_its_answer() {
    // `typed` waits for the question.
    let (code, text) = typed("ask", "-n 2 PE 0:part=name? touch=UP 0:cat", "name?", b"someone\n\x04");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("someone"), "{text}");
}

#[test]
fn pes_of_a_job_in_a_terminal_write_to_pipes() {
    let (code, text) = typed("pipes", "-n 2 -- sh -c 'test -t 1 || echo pipe; touch UP'", "", b"");
    assert!(code == Some(0) && text.matches("pipe").count() == 2, "{text}");
    // One PE has the terminal itself.
    let (code, text) = typed("direct", "-n 1 -- sh -c 'test -t 1 && echo terminal; touch UP'", "", b"");
    assert!(code == Some(0) && text.contains("terminal"), "{text}");
}

#[test]
fn without_a_terminal_one_pe_writes_where_dushrun_writes() {
    let folder = Folder::new("file");
    let (run, file) = (tools::program("dushrun"), folder.file("out"));
    let command = format!("{} -n 1 readlink /proc/self/fd/1 > {file}", run.display());
    Job::of("sh".as_ref()).args(["-c", &command]).run().success();
    assert_eq!(std::fs::read_to_string(&file).unwrap().trim(), file);
}

//! dushrun --gpu-share, with a program that takes the place of NVIDIA's control program.
mod common;
use common::pe;
use dushmem_os::signal::{self, number::*};
use dushmem_testkit::folder::Folder;
use dushmem_testkit::job::{Job, until};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

/// A daemon with a server, for as long as nobody says `quit` at its pipe; and what gives it commands. What it is to do
/// wrong stands in FAULT.
const CONTROL: &str = r#"#!/bin/sh
pipes=$CUDA_MPS_PIPE_DIRECTORY
if [ "$1" = -f ] && [ "$FAULT" = old ]; then echo 'unknown option' >&2; exit 1; fi
if [ "$1" = -d ] && [ "$FAULT" = old ]; then FAULT= "$0" -f & exit 0; fi
if [ "$1" = -f ] || [ "$1" = -d ]; then
  echo "CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES-not set}"
  [ "$FAULT" = start ] && { echo 'no device found' >&2; exit 3; }
  [ -d "$CUDA_MPS_LOG_DIRECTORY" ] || exit 4
  [ "$FAULT" = slow ] && { : > "$NOTES/begun"; sleep 2; }
  cp /proc/self/status "$NOTES/status"
  case "$FAULT" in stubborn) trap '' TERM;; esac
  sleep 1000 & server=$!
  echo "$$ $server" > "$NOTES/pids"
  echo "$pipes" > "$NOTES/pipes"
  mkfifo "$pipes/commands" && : > "$pipes/control"
  while read -r word < "$pipes/commands"; do
    case "$word" in quit) [ "$FAULT" = stubborn ] || { kill $server; rm -r "$pipes/commands"; exit 0; };; esac
  done
else
  [ -p "$pipes/commands" ] || { echo 'Cannot find MPS control daemon process'; exit 1; }
  read -r word
  case "$word" in quit) echo quit > "$pipes/commands";; esac
fi
"#;

struct Machine(Folder);

impl Machine {
    fn new(name: &str) -> Machine {
        let folder = Folder::new(&format!("gpus-{name}"));
        for part in ["bin", "tmp", "notes"] {
            fs::create_dir(folder.join(part)).expect("a new folder");
        }
        let control = folder.join("bin/nvidia-cuda-mps-control");
        fs::write(&control, CONTROL).expect("written");
        fs::set_permissions(&control, fs::Permissions::from_mode(0o755)).expect("executable");
        Machine(folder)
    }

    /// Two PEs with these options for dushrun.
    fn job(&self, options: &str, words: &str) -> Job {
        let path = format!("{}:{}", self.0.file("bin"), std::env::var("PATH").unwrap_or_default());
        let job = Job::dushrun().words(options).args(["-n", "2"]).args([pe()]).words(words);
        let job = job.env("PATH", path).env("TMPDIR", self.0.join("tmp")).env("NOTES", self.0.join("notes"));
        job.without("DUSHMEM_GPU_SHARE")
            .without("CUDA_MPS_PIPE_DIRECTORY")
            .without("CUDA_DEVICE_MAX_CONNECTIONS")
    }

    fn note(&self, name: &str) -> String {
        fs::read_to_string(self.0.join("notes").join(name)).unwrap_or_default()
    }

    fn pids(&self) -> Vec<u32> {
        self.note("pids").split_whitespace().map(|pid| pid.parse().expect("a number")).collect()
    }

    /// Whether nothing is left of a daemon that there was.
    fn clean(&self) -> bool {
        let pids = self.pids();
        assert_eq!(pids.len(), 2, "there was no daemon");
        let running = |pid: &u32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
        };
        !pids.iter().any(running) && fs::read_dir(self.0.join("tmp")).expect("there").next().is_none()
    }

    #[track_caller]
    fn is_clean(&self) {
        assert!(
            self.clean(),
            "{:?}, {:?}",
            self.pids(),
            fs::read_dir(self.0.join("tmp")).unwrap().collect::<Vec<_>>()
        );
    }
}

#[test]
fn a_job_gets_a_daemon_of_its_own() {
    let machine = Machine::new("own");
    let words = "join barrier env=DUSHMEM_GPU_SHARE env=CUDA_MPS_PIPE_DIRECTORY finalize";
    let job = machine.job("--gpu-share=mps", words).env("CUDA_VISIBLE_DEVICES", "1");
    let outcome = job.run().success();
    let pipes = machine.note("pipes").trim().to_owned();
    assert!(pipes.starts_with(&machine.0.file("tmp/dushrun-mps-")), "{pipes}");
    let each = ["DUSHMEM_GPU_SHARE=mps".to_owned(), format!("CUDA_MPS_PIPE_DIRECTORY={pipes}")];
    outcome.prints(each.iter().chain(&each));
    machine.is_clean();
    // It has its signals as usual: none is ignored or blocked that was not before.
    let mask = |name: &str| {
        let line = machine.note("status").lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
        u64::from_str_radix(line.expect("the kernel tells").trim(), 16).expect("a mask")
    };
    let asked = 1 << (SIGINT - 1) | 1 << (SIGTERM - 1) | 1 << (SIGCHLD - 1);
    assert_eq!((mask("SigBlk:") & asked, mask("SigIgn:") & asked), (0, 0));
}

#[test]
fn a_daemon_that_knows_the_background_only_is_ended_too() {
    let machine = Machine::new("old");
    let job =
        || machine.job("--gpu-share=mps", "join barrier env=DUSHMEM_GPU_SHARE finalize").env("FAULT", "old");
    job().run().success().prints(["DUSHMEM_GPU_SHARE=mps", "DUSHMEM_GPU_SHARE=mps"]);
    machine.is_clean();
}

#[test]
fn the_daemon_does_not_hide_gpus() {
    let machine = Machine::new("visible");
    let log = format!("sh=cat {}/dushrun-mps-*/log/output", machine.0.file("tmp"));
    let mut job = machine.job("--gpu-share mps", "env=CUDA_VISIBLE_DEVICES");
    job = job.args(["0:".to_owned() + &log]).env("CUDA_VISIBLE_DEVICES", "1");
    job.run().success().prints([
        "CUDA_VISIBLE_DEVICES=1",
        "CUDA_VISIBLE_DEVICES=1",
        "CUDA_VISIBLE_DEVICES=not set",
    ]);
    machine.is_clean();
}

#[test]
fn each_pe_sees_a_gpu_of_its_own() {
    let machine = Machine::new("bind");
    let job = |options: &str| {
        machine.job(options, "env=CUDA_VISIBLE_DEVICES").env("CUDA_VISIBLE_DEVICES", "3,GPU-8932f937,1")
    };
    let run = |options: &str, values: &[&str]| {
        let lines = values.iter().map(|value| format!("CUDA_VISIBLE_DEVICES={value}"));
        job(options).run().success().prints(lines);
    };
    run("", &["3,GPU-8932f937,1", "3,GPU-8932f937,1"]);
    run("--gpu-bind=each", &["3", "GPU-8932f937"]);
    run("--gpu-bind 7", &["7", "7"]);
    // What is set for the PEs is what is given out.
    run("--gpu-bind=each -x CUDA_VISIBLE_DEVICES=5,6", &["5", "6"]);
    run("--gpu-share=mps --gpu-bind=0,1", &["0", "1"]);
    machine.is_clean();
    let none = machine.job("--gpu-bind=each", "join").env("CUDA_VISIBLE_DEVICES", "");
    none.run().failure(125, &["--gpu-bind=each: no GPU can be seen here"]);
    machine.job("--gpu-bind=some", "join").run().failure(125, &["--gpu-bind", "none, each, or GPUs"]);
}

#[test]
fn the_daemon_ends_however_the_job_ends() {
    let machine = Machine::new("ends");
    let job = |words: &str| machine.job("--gpu-share=mps", words);
    job("join 1:exit=7 hold").run().failure(7, &["exited with code 7"]);
    machine.is_clean();
    job("join 1:kill=11 hold").run().failure(139, &["SIGSEGV"]);
    machine.is_clean();
    let outcome = machine.job("--gpu-share=mps --timeout 0.3", "join hold").run();
    assert!(outcome.code == 124 && outcome.stderr.contains("time limit"), "{outcome:?}");
    machine.is_clean();
    // A program that is not there.
    Job::dushrun().words("--gpu-share=mps -n 2 /no/such/program").run().failure(127, &["no such program"]);

    for (number, group) in [(SIGINT, false), (SIGTERM, true), (SIGKILL, false), (SIGKILL, true)] {
        let up = machine.0.file(&format!("up-{number}-{group}"));
        let running = job(&format!("join barrier touch={up} sleep=30000")).start();
        until("the PEs are there", || std::path::Path::new(&up).exists());
        assert!(!machine.clean(), "the daemon is not there");
        match group {
            false => running.signal(number),
            // The whole of dushrun's group, as a terminal or a batch system does it.
            true => {
                for pid in
                    running.processes().into_iter().filter(|pid| group_of(*pid) == group_of(running.pid()))
                {
                    signal::send(pid, number);
                }
            }
        }
        let outcome = running.finish();
        assert_ne!(outcome.code, 0);
        // Nobody waits for the keeper where dushrun was killed.
        until("the daemon is gone", || machine.clean());
    }
}

#[test]
fn a_job_that_is_ended_while_its_daemon_starts_leaves_nothing() {
    for number in [SIGINT, SIGKILL] {
        let machine = Machine::new(&format!("early-{number}"));
        let running = machine.job("--gpu-share=mps", "join").env("FAULT", "slow").start();
        let begun = machine.0.join("notes/begun");
        until("the daemon begins", || begun.exists());
        signal::send(running.pid(), number);
        // The keeper goes on for as long as the daemon needs to be there, and then ends it.
        until("the daemon is gone", || !machine.pids().is_empty() && machine.clean());
        let outcome = running.finish();
        assert_eq!((outcome.code, &*outcome.stdout), (128 + number, ""), "{outcome:?}");
    }
}

#[test]
fn the_daemons_folder_has_a_short_name_or_is_refused() {
    let machine = Machine::new("folder");
    let long = machine.0.join("tmp").join("x".repeat(60));
    fs::create_dir(&long).expect("a new folder");
    let outcome =
        machine.job("--gpu-share=mps", "env=CUDA_MPS_PIPE_DIRECTORY").env("TMPDIR", &long).run().success();
    let pipes = machine.note("pipes").trim().to_owned();
    assert!(pipes.starts_with("/tmp/dushrun-mps-") && pipes.len() < 60, "{pipes}");
    assert!(!std::path::Path::new(&pipes).exists());
    let line = format!("CUDA_MPS_PIPE_DIRECTORY={pipes}");
    outcome.prints([&line, &line]);
    let job = machine.job("--gpu-share=mps", "join").env("TMPDIR", "/no/such/folder");
    let outcome = job.run().failure(125, &["can't make a folder", "/no/such/folder", "set TMPDIR"]);
    assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
}

/// The process group of a process that runs.
fn group_of(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(2).map(str::to_owned)
}

#[test]
fn long_a_daemon_that_does_not_end_is_ended() {
    let machine = Machine::new("stubborn");
    machine.job("--gpu-share=mps", "join barrier finalize").env("FAULT", "stubborn").run().success();
    machine.is_clean();
}

#[test]
fn a_daemon_that_cannot_be_had_is_an_error() {
    let machine = Machine::new("fails");
    let outcome = machine.job("--gpu-share=mps", "join").env("FAULT", "start").run();
    let outcome = outcome.failure(125, &["--gpu-share=mps", "does not answer", "no device found"]);
    assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
    assert!(fs::read_dir(machine.0.join("tmp")).expect("there").next().is_none());
    let job = machine.job("", "join").env("DUSHMEM_GPU_SHARE", "mps").env("PATH", "/usr/bin:/bin");
    let outcome =
        job.run().failure(125, &["DUSHMEM_GPU_SHARE=mps", "nvidia-cuda-mps-control", "--gpu-share=plain"]);
    assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
    machine.job("--gpu-share=some", "join").run().failure(125, &["--gpu-share", "mps, plain or auto"]);
    let job = machine.job("", "join").env("DUSHMEM_GPU_SHARE", "some");
    job.run().failure(125, &["DUSHMEM_GPU_SHARE=some: write mps, plain or auto"]);
}

#[test]
fn a_daemon_that_is_there_is_used_or_passed_by() {
    let machine = Machine::new("there");
    // The PEs of the outer job are jobs inside its daemon.
    let inner = |share: &str| {
        let run = dushmem_testkit::tools::program("dushrun");
        let words = "env=DUSHMEM_GPU_SHARE env=CUDA_MPS_PIPE_DIRECTORY";
        format!("0:sh={} -n 1 --gpu-share={share} {} {words}", run.display(), pe())
    };
    let outer = |share: &str| machine.job("--gpu-share=mps", "").args([inner(share)]).run().success();
    let outcome = outer("mps");
    let pipes = machine.note("pipes").trim().to_owned();
    outcome.prints(["DUSHMEM_GPU_SHARE=mps".to_owned(), format!("CUDA_MPS_PIPE_DIRECTORY={pipes}")]);
    machine.is_clean();
    outer("plain").prints(["DUSHMEM_GPU_SHARE=plain", "CUDA_MPS_PIPE_DIRECTORY=/dev/null"]);
    machine.is_clean();
}

#[test]
fn without_a_word_everything_stays() {
    let machine = Machine::new("nothing");
    let words = "env=DUSHMEM_GPU_SHARE env=CUDA_MPS_PIPE_DIRECTORY";
    let both = ["DUSHMEM_GPU_SHARE=", "CUDA_MPS_PIPE_DIRECTORY=/somewhere"];
    let job = |options: &str| machine.job(options, words).env("CUDA_MPS_PIPE_DIRECTORY", "/somewhere");
    job("").run().success().prints(both.iter().chain(&both));
    if !std::path::Path::new("/dev/nvidia0").exists() {
        // PEs that share no GPU need no daemon.
        job("--gpu-share=auto").run().success().prints(both.iter().chain(&both));
    }
    assert_eq!(machine.note("pids"), "");
}

#[test]
fn pes_have_enough_connections() {
    let machine = Machine::new("connections");
    let job = |options: &str| machine.job(options, "env=CUDA_DEVICE_MAX_CONNECTIONS");
    let prints = |job: Job, number: &str| {
        let line = format!("CUDA_DEVICE_MAX_CONNECTIONS={number}");
        job.limit(Duration::from_secs(60)).run().success().prints([&line, &line]);
    };
    prints(job(""), "32");
    prints(job("-x CUDA_DEVICE_MAX_CONNECTIONS=4"), "4");
    prints(job("").env("CUDA_DEVICE_MAX_CONNECTIONS", "16"), "16");
}

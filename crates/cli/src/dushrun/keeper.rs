//! The daemon of NVIDIA's Multi-Process Service for one job, and the process that ends it.
//!
//! The daemon has files with names, and clients that it outlives. So it is not dushrun's child but a *keeper's*: this
//! program once more, in a process group of its own. It starts the daemon in a private folder, waits until dushrun's end
//! of a pipe closes, which happens however dushrun ends, then ends the daemon and removes the folder.
use crate::gpus::{CONTROL, LOGS, PIPES};
use dushmem_os::interrupt::Interrupts;
use dushmem_os::reason::reason;
use dushmem_os::signal::number::{SIGKILL, SIGTERM};
use dushmem_os::socket::{self, PollFd, PollFlags};
use dushmem_os::{process, signal};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The name under which the keeper is started.
const NAME: &str = "dushrun-mps-keeper";
/// For the daemon to answer.
const START: Duration = Duration::from_secs(20);
/// For a daemon that may be there already to answer.
const ASK: Duration = Duration::from_secs(3);
/// For the daemon to end when it is told to, and again when it gets a signal.
const QUIT: Duration = Duration::from_secs(5);
/// Names of sockets are at most 107 bytes, and the daemon's stand below the folder.
const LONGEST: usize = 56;

/// The daemon, as dushrun sees it. It is ended by [`Keeper::end`], or when this process ends.
#[derive(Debug)]
pub struct Keeper {
    pid: u32,
    life: ChildStdin,
    said: ChildStdout,
    folder: PathBuf,
}

impl Keeper {
    /// Starts a daemon and waits until it answers.
    pub fn start(control: &Path) -> Result<Keeper, String> {
        // The file may have been replaced since this program was started.
        let mut command = Command::new("/proc/self/exe");
        command.arg0(NAME).arg(control).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let child = command.spawn().map_err(|why| format!("cannot start {NAME}: {}", reason(&why)))?;
        let pid = child.id();
        let (Some(life), Some(mut said)) = (child.stdin, child.stdout) else {
            return Err(format!("{NAME} has no pipes"));
        };
        let mut text = Vec::new();
        let mut byte = [0];
        while said.read(&mut byte).is_ok_and(|len| len == 1) && byte[0] != b'\n' {
            text.push(byte[0]);
        }
        match text.strip_prefix(b"ready ") {
            Some(folder) => {
                let folder = PathBuf::from(OsString::from_vec(folder.to_vec()));
                Ok(Keeper { pid, life, said, folder })
            }
            None if text.is_empty() => Err(format!("{NAME} has ended before it started {CONTROL}")),
            None => Err(String::from_utf8_lossy(&text).into_owned()),
        }
    }

    /// Process id of the keeper, which is no process that a PE has left behind.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// What CUDA programs need to find the daemon.
    pub fn pipes(&self) -> PathBuf {
        self.folder.join("pipe")
    }

    /// Where the daemon and its servers write.
    pub fn logs(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Has the daemon ended, and waits until nothing of it is left. Gives the folder where that takes too long.
    pub fn end(self) -> Option<PathBuf> {
        drop(self.life);
        // The keeper's last descriptor closes when it ends.
        let until = Instant::now() + 4 * QUIT;
        while Instant::now() < until {
            if socket::hung_up(&self.said) {
                return None;
            }
            socket::poll(&mut [PollFd::new(&self.said, PollFlags::empty())], Some(QUIT));
        }
        Some(self.folder)
    }

    /// Whether a daemon answers at these pipes.
    pub fn answers(control: &Path, pipes: &Path) -> bool {
        ask(control, pipes, "get_server_list", ASK).is_ok()
    }
}

/// Is the keeper, where this process was started as one.
pub fn be_keeper(mut words: impl Iterator<Item = OsString>) -> Option<i32> {
    words.next().filter(|name| name == NAME)?;
    let control = PathBuf::from(words.next().unwrap_or_else(|| CONTROL.into()));
    process::adopt_orphans();
    // Whoever ends a job means dushrun. What the keeper starts has the signals as ever.
    let interrupts = Interrupts::block().ok();
    let tell = |text: &[u8]| {
        let mut out = io::stdout().lock();
        let _ = out.write_all(text).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
    };
    let folder = match make_folder() {
        Ok(folder) => folder,
        Err(text) => {
            tell(text.as_bytes());
            return Some(1);
        }
    };
    let code = match start(&control, &folder, interrupts.as_ref()) {
        Ok(()) => {
            tell(&[b"ready ", folder.as_os_str().as_bytes()].concat());
            let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
            stop(&control, &folder);
            0
        }
        Err(text) => {
            tell(text.replace('\n', " ").as_bytes());
            1
        }
    };
    let _ = fs::remove_dir_all(&folder);
    Some(code)
}

fn make_folder() -> Result<PathBuf, String> {
    let asked = std::path::absolute(std::env::temp_dir()).unwrap_or_else(|_| "/tmp".into());
    let base = if asked.as_os_str().len() > LONGEST { PathBuf::from("/tmp") } else { asked };
    let random = std::hash::RandomState::new().build_hasher().finish();
    let folder = base.join(format!("dushrun-mps-{random:016x}"));
    let make = |path: &Path| DirBuilder::new().mode(0o700).create(path);
    let made =
        make(&folder).and_then(|()| make(&folder.join("pipe"))).and_then(|()| make(&folder.join("log")));
    match made {
        Ok(()) => Ok(folder),
        Err(why) => Err(format!(
            "can't make a folder for {CONTROL} in {} ({}); set TMPDIR to a folder that can be written to",
            base.display(),
            reason(&why)
        )),
    }
}

/// The control program, for the daemon of this folder.
fn command(control: &Path, pipes: &Path) -> Command {
    let mut command = Command::new(control);
    command.env(PIPES, pipes).env(LOGS, pipes.with_file_name("log"));
    // It would count for the daemon and, again, for each PE, which then has no GPU.
    command.env_remove("CUDA_VISIBLE_DEVICES");
    command
}

fn start(control: &Path, folder: &Path, interrupts: Option<&Interrupts>) -> Result<(), String> {
    // In the foreground, else, as old drivers have it, in the background: then this process adopts it.
    let begun = |option: &str| begin(control, folder, option, interrupts);
    begun("-f").or_else(|why| begun("-d").map_err(|_| why))
}

/// Starts the daemon and waits until it answers.
fn begin(control: &Path, folder: &Path, option: &str, interrupts: Option<&Interrupts>) -> Result<(), String> {
    let failed = |why: io::Error| format!("cannot start {}: {}", control.display(), reason(&why));
    let (pipes, output) = (folder.join("pipe"), folder.join("log/output"));
    let file = File::create(&output).map_err(failed)?;
    let mut command = command(control, &pipes);
    command.arg(option).stdin(Stdio::null()).stdout(file.try_clone().map_err(failed)?).stderr(file);
    interrupts.into_iter().for_each(|interrupts| interrupts.unblock_in(&mut command));
    let mut daemon = command.spawn().map_err(failed)?;
    // The second attempt is for few, and the first has said why already.
    let until = Instant::now() + if option == "-f" { START } else { START / 4 };
    loop {
        let ended = daemon.try_wait().map_err(failed)?;
        let answer = match ended {
            Some(status) if option == "-f" || !status.success() => Err(format!("it has ended ({status})")),
            _ => ask(control, &pipes, "get_server_list", ASK),
        };
        let Err(why) = answer else { return Ok(()) };
        let over = ended.is_some_and(|status| option == "-f" || !status.success());
        if over || Instant::now() > until {
            end_all();
            let text = fs::read_to_string(&output).unwrap_or_default();
            let last = text.lines().rev().find(|line| !line.trim().is_empty());
            let why = last.map_or(why, |line| line.trim().to_owned());
            return Err(format!("{} does not answer: {why}", control.display()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Gives the daemon a command, by the control program.
fn ask(control: &Path, pipes: &Path, words: &str, limit: Duration) -> Result<(), String> {
    let mut command = command(control, pipes);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|why| reason(&why))?;
    if let Some(mut input) = child.stdin.take() {
        let _ = writeln!(input, "{words}");
    }
    let until = Instant::now() + limit;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) => {
                let _ = child.kill().and_then(|()| child.wait());
                return Err(format!("no answer within {} s", limit.as_secs()));
            }
            Err(why) => return Err(reason(&why)),
        }
    };
    let mut text = String::new();
    let _ = child.stdout.take().map(|mut out| out.read_to_string(&mut text));
    // Whatever its exit code is then.
    match status.success() && !text.contains("Cannot find MPS control daemon") {
        true => Ok(()),
        false => Err(format!("{status} {}", text.trim())),
    }
}

/// Ends the daemon, by asking first.
fn stop(control: &Path, folder: &Path) {
    let _ = ask(control, &folder.join("pipe"), "quit", QUIT);
    let until = Instant::now() + QUIT;
    while Instant::now() < until {
        while process::reap().is_some() {}
        // Servers that a daemon leaves are children of this process then.
        if process::children().is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    end_all();
}

/// Ends the daemon and its servers.
fn end_all() {
    let until = Instant::now() + QUIT;
    let mut number = SIGTERM;
    while Instant::now() < until {
        while process::reap().is_some() {}
        let left = process::children();
        if left.is_empty() {
            return;
        }
        for pid in left {
            signal::send(pid, number);
        }
        if until - Instant::now() < QUIT - Duration::from_millis(500) {
            number = SIGKILL;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

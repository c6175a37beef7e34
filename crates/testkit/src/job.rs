//! Running a job of processes.
use crate::{leftovers, tools};
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A command line of dushrun, or one that leads to it.
#[derive(Debug)]
pub struct Job {
    command: Command,
    mark: String,
    limit: Duration,
    stdin: Option<String>,
}

/// What came of a job.
#[derive(Debug)]
pub struct Outcome {
    /// Exit code, or 128 + number of the signal that ended dushrun.
    pub code: i32,
    /// Everything on standard output.
    pub stdout: String,
    /// Everything on standard error.
    pub stderr: String,
    /// From start to end.
    pub time: Duration,
}

impl Outcome {
    /// Lines of standard output in the order of the alphabet.
    pub fn sorted_lines(&self) -> Vec<&str> {
        let mut lines: Vec<&str> = self.stdout.lines().collect();
        lines.sort_unstable();
        lines
    }

    /// Asserts that the job succeeded and printed these lines, in any order, and nothing else.
    #[track_caller]
    pub fn prints<S: AsRef<str>>(self, lines: impl IntoIterator<Item = S>) {
        let mut lines: Vec<S> = lines.into_iter().collect();
        lines.sort_unstable_by(|one, other| one.as_ref().cmp(other.as_ref()));
        let lines: Vec<&str> = lines.iter().map(AsRef::as_ref).collect();
        let outcome = self.success();
        assert_eq!(outcome.sorted_lines(), lines, "{outcome:#?}");
    }

    /// Asserts that the job was a ring of `pes` PEs, each of which printed what it got from its left.
    #[track_caller]
    pub fn prints_ring(self, pes: usize) {
        let from = |me: usize| (me + pes - 1) % pes;
        self.prints((0..pes).map(|me| format!("PE {me}: received {0}, expected {0}", from(me))));
    }

    /// Asserts that the job succeeded without a word on standard error, and gives the outcome back.
    #[track_caller]
    pub fn success(self) -> Outcome {
        assert!(self.code == 0 && self.stderr.is_empty(), "{self:#?}");
        self
    }

    /// Asserts that the job ended with `code` and one line of dushrun's that contains each of `words`.
    #[track_caller]
    pub fn failure(self, code: i32, words: &[&str]) -> Outcome {
        let lines: Vec<&str> = self.stderr.lines().collect();
        assert!(self.code == code && lines.len() == 1, "expected code {code} and one line: {self:#?}");
        assert!(words.iter().all(|word| lines[0].contains(word)), "expected {words:?}: {self:#?}");
        self
    }
}

impl Job {
    /// `dushrun` with nothing after it.
    pub fn dushrun() -> Job {
        Job::of(&tools::program("dushrun"))
    }

    /// `dushrun -n pes program`.
    pub fn new(pes: usize, program: impl AsRef<OsStr>) -> Job {
        Job::dushrun().args(["-n", &pes.to_string()]).args([program.as_ref()])
    }

    /// Any program.
    pub fn of(program: &Path) -> Job {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let mark = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let mut command = Command::new(program);
        command.env(leftovers::MARK, &mark).stdout(Stdio::piped()).stderr(Stdio::piped());
        for name in ["DUSHMEM_LAUNCH", "DUSHMEM_PE", "DUSHMEM_NPES", "DUSHMEM_BOOTSTRAP"] {
            command.env_remove(name);
        }
        Job { command, mark, limit: Duration::from_secs(50), stdin: None }
    }

    /// Further words.
    pub fn args<S: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = S>) -> Job {
        self.command.args(words);
        self
    }

    /// Further words, separated by spaces.
    pub fn words(self, words: &str) -> Job {
        self.args(words.split_whitespace())
    }

    /// A variable of the job's environment.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Job {
        self.command.env(name, value);
        self
    }

    /// Takes a variable out of the job's environment.
    pub fn without(mut self, name: impl AsRef<OsStr>) -> Job {
        self.command.env_remove(name);
        self
    }

    /// The folder in which the job runs.
    pub fn at(mut self, folder: &Path) -> Job {
        self.command.current_dir(folder);
        self
    }

    /// Time after which the test fails; 50 s where nothing is said, less than the runner's own limit.
    pub fn limit(mut self, limit: Duration) -> Job {
        self.limit = limit;
        self
    }

    /// What dushrun reads; nothing where nothing is said.
    pub fn stdin(mut self, text: &str) -> Job {
        self.stdin = Some(text.to_owned());
        self
    }

    /// Starts the job.
    pub fn start(mut self) -> Running {
        self.command.stdin(if self.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
        let began = Instant::now();
        let mut child = self.command.spawn().unwrap_or_else(|why| panic!("{:?}: {why}", self.command));
        if let (Some(text), Some(mut pipe)) = (self.stdin, child.stdin.take()) {
            // A program that does not read its input is no error here.
            std::thread::spawn(move || drop(std::io::Write::write_all(&mut pipe, text.as_bytes())));
        }
        let read = |pipe: Option<Box<dyn Read + Send>>| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                if let Some(mut pipe) = pipe {
                    let _ = pipe.read_to_end(&mut bytes);
                }
                String::from_utf8_lossy(&bytes).into_owned()
            })
        };
        let out = read(child.stdout.take().map(|pipe| Box::new(pipe) as _));
        let err = read(child.stderr.take().map(|pipe| Box::new(pipe) as _));
        let words = std::iter::once(self.command.get_program()).chain(self.command.get_args());
        let line = words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ");
        Running { line, left: Left { child, mark: self.mark }, limit: self.limit, began, out, err }
    }

    /// Runs the job to its end, and asserts that no process of it is left.
    #[track_caller]
    pub fn run(self) -> Outcome {
        self.start().finish()
    }
}

/// A job that has been started.
#[derive(Debug)]
pub struct Running {
    line: String,
    left: Left,
    limit: Duration,
    began: Instant,
    out: std::thread::JoinHandle<String>,
    err: std::thread::JoinHandle<String>,
}

impl Running {
    /// Process id of dushrun.
    pub fn pid(&self) -> u32 {
        self.left.child.id()
    }

    /// Sends dushrun a signal.
    pub fn signal(&self, number: i32) {
        assert!(dushmem_os::signal::send(self.left.child.id(), number));
    }

    /// Processes of the job, dushrun among them.
    pub fn processes(&self) -> Vec<u32> {
        leftovers::processes(&self.left.mark)
    }

    /// The mark of the job's processes.
    pub fn mark(&self) -> &str {
        &self.left.mark
    }

    /// Waits for the job's end, and asserts that no process of it is left.
    #[track_caller]
    pub fn finish(mut self) -> Outcome {
        let status = loop {
            if let Some(status) = self.left.child.try_wait().expect("the child is ours") {
                break status;
            }
            if self.began.elapsed() > self.limit {
                self.left.ask_and_kill_all();
                let (out, err) = (self.out.join(), self.err.join());
                let (line, limit) = (self.line, self.limit);
                panic!("`{line}` did not end within {limit:?}\nstdout: {out:?}\nstderr: {err:?}");
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let time = self.began.elapsed();
        // The kernel needs a moment for what dushrun did not wait for.
        let left = leftovers::processes_after(&self.left.mark, Duration::from_secs(2));
        if !left.is_empty() {
            let names = left.iter().map(|pid| std::fs::read_to_string(format!("/proc/{pid}/cmdline")));
            let names: Vec<_> = names.map(Result::unwrap_or_default).collect();
            self.left.kill_all();
            panic!("`{}` left processes behind: {left:?} {names:?}", self.line);
        }
        let join =
            |thread: std::thread::JoinHandle<String>| thread.join().expect("the reader does not panic");
        Outcome {
            code: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
            stdout: join(self.out),
            stderr: join(self.err),
            time,
        }
    }
}

/// The processes of a job, which end with the test at the latest.
#[derive(Debug)]
struct Left {
    child: Child,
    mark: String,
}

impl Left {
    /// dushrun says who waits for what before it goes, if it still can.
    fn ask_and_kill_all(&mut self) {
        dushmem_os::signal::send(self.child.id(), dushmem_os::signal::number::SIGTERM);
        let asked = Instant::now();
        while asked.elapsed() < Duration::from_secs(5) && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.kill_all();
    }

    fn kill_all(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for pid in leftovers::processes(&self.mark) {
            dushmem_os::signal::send(pid, dushmem_os::signal::number::SIGKILL);
        }
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.kill_all();
        }
    }
}

/// Waits until `condition` holds.
///
/// # Panics
/// When it does not within 60 s.
#[track_caller]
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_secs(60), "in vain for 60 s: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

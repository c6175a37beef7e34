//! Running a program for at most some time, and ending all that it has started if it takes longer.
use dushmem_os::signal;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Why a run gave nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// It was ended after the time limit.
    Hung(Duration),
    /// It ended by itself, with another code than 0 or by a signal.
    Ended(String),
    /// An operation moved wrong data.
    Wrong(String),
    /// It could not be started.
    NotStarted(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Hung(limit) => write!(f, "hung: ended after {} s", limit.as_secs()),
            Failure::Ended(how) => f.write_str(how),
            Failure::Wrong(what) => write!(f, "wrong data: {what}"),
            Failure::NotStarted(why) => write!(f, "not started: {why}"),
        }
    }
}

/// What a run that succeeded printed, and from start to end how long it took.
#[derive(Clone, Debug)]
pub struct Done {
    /// Its standard output.
    pub output: String,
    /// From start to end.
    pub time: Duration,
}

/// Time for a launcher to end its processes after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);

/// Runs `command`, its output in files of `folder`.
pub fn run(mut command: Command, folder: &Path, limit: Duration) -> Result<Done, Failure> {
    let [out, err] = ["out", "err"].map(|name| folder.join(name));
    let file = |path| File::create(path).map_err(|why| Failure::NotStarted(why.to_string()));
    command.stdin(Stdio::null()).stdout(file(&out)?).stderr(file(&err)?);
    let start = Instant::now();
    let mut child = command.spawn().map_err(|why| Failure::NotStarted(why.to_string()))?;
    let pid = child.id();
    let (ended, watch) = mpsc::channel::<()>();
    // A thread of its own watches the time, so that this one is woken by the end itself.
    let watchdog = std::thread::spawn(move || {
        if watch.recv_timeout(limit) != Err(mpsc::RecvTimeoutError::Timeout) {
            return false;
        }
        end(pid, &watch);
        true
    });
    let status = child.wait();
    let time = start.elapsed();
    drop(ended);
    let hung = watchdog.join().unwrap_or(false);
    let text = |path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    let (output, errors) = (text(out), text(err));
    if hung {
        return Err(Failure::Hung(limit));
    }
    if let Some(line) = output.lines().find_map(|line| line.strip_prefix("wrong\t")) {
        return Err(Failure::Wrong(line.replace('\t', " ")));
    }
    match status {
        Ok(status) if status.success() => Ok(Done { output, time }),
        Ok(status) => Err(Failure::Ended(reason(status, &errors))),
        Err(why) => Err(Failure::Ended(why.to_string())),
    }
}

/// How it ended, with the line of its errors that says most.
fn reason(status: ExitStatus, errors: &str) -> String {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(number)) => format!("ended by {}", signal::name(number)),
        (None, None) => status.to_string(),
    };
    let telling = |line: &&str| {
        ["signal", "SIG", "dushrun:", "beside:", "error", "Error"].iter().any(|word| line.contains(word))
    };
    let plain = |line: &&str| line.chars().any(char::is_alphanumeric);
    let line = errors.lines().find(telling).or_else(|| errors.lines().find(plain));
    match line {
        Some(line) => format!("{how}: {}", line.trim()),
        None => how,
    }
}

/// Asks process `pid` to end, and after some time ends what is left of it and of all that it had started.
fn end(pid: u32, ended: &mpsc::Receiver<()>) {
    const TERM: i32 = 15;
    const KILL: i32 = 9;
    let all = family(pid);
    signal::send(pid, TERM);
    let gone = ended.recv_timeout(GRACE) == Err(mpsc::RecvTimeoutError::Disconnected);
    if !gone {
        signal::send(pid, KILL);
    }
    for (member, started) in all {
        // The number may belong to another process by now.
        if member != pid && parent_and_start(member).is_some_and(|(_, now)| now == started) {
            signal::send(member, KILL);
        }
    }
}

/// The process and its descendants, each with the time at which it was started.
fn family(pid: u32) -> BTreeMap<u32, u64> {
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let all: BTreeMap<u32, (u32, u64)> =
        numbers.filter_map(|number| Some((number, parent_and_start(number)?))).collect();
    let mut found = BTreeMap::new();
    let mut open = vec![pid];
    while let Some(next) = open.pop() {
        if let Some(&(_, started)) = all.get(&next)
            && found.insert(next, started).is_none()
        {
            open.extend(all.iter().filter(|(_, of)| of.0 == next).map(|(&number, _)| number));
        }
    }
    found
}

/// A process's parent and the time of its start.
fn parent_and_start(pid: u32) -> Option<(u32, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some((fields.get(1)?.parse().ok()?, fields.get(19)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dushmem_testkit::folder::Folder;

    fn shell(line: &str, limit: Duration) -> Result<Done, Failure> {
        let folder = Folder::new("bench-run");
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        run(command, folder.path(), limit)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn ends_are_told_apart() {
        assert_eq!(shell("echo row; echo more >&2", LONG).unwrap().output, "row\n");
        let failed = |line| shell(line, LONG).unwrap_err().to_string();
        assert_eq!(
            failed("echo; echo '[x] *** Process received signal ***' >&2; exit 7"),
            "exit code 7: [x] *** Process received signal ***"
        );
        assert_eq!(failed("kill -SEGV $$"), "ended by SIGSEGV");
        assert_eq!(failed("printf 'wrong\\tput\\t8\\t1\\n'"), "wrong data: put 8 1");
        let folder = Folder::new("bench-run-none");
        let none = run(Command::new(folder.join("none")), folder.path(), LONG).unwrap_err();
        assert!(none.to_string().starts_with("not started: "), "{none}");
    }

    #[test]
    fn a_hang_is_ended_with_all_that_it_started() {
        let folder = Folder::new("bench-hang");
        let note = folder.join("pid");
        // Neither it nor its child listens to SIGTERM.
        let line = format!(
            "trap '' TERM; (trap '' TERM; sleep 1000) & echo $! > '{}'; wait; sleep 1000",
            note.display()
        );
        let limit = Duration::from_millis(300);
        let failure = shell(&line, limit).unwrap_err();
        assert_eq!(failure, Failure::Hung(limit));
        let pid: u32 = fs::read_to_string(note).unwrap().trim().parse().unwrap();
        let gone = || match fs::read_to_string(format!("/proc/{pid}/stat")) {
            Ok(stat) => stat.contains(") Z "),
            Err(_) => true,
        };
        let until = Instant::now() + Duration::from_secs(10);
        while !gone() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(gone(), "process {pid} is still there");
    }
}

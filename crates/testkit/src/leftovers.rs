//! What a job must not leave behind.
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Variable that marks the processes of one job of a test: each has a value of its own.
pub const MARK: &str = "DUSHMEM_TESTKIT_JOB";

/// Process ids of the processes whose environment has `MARK=mark`, zombies not among them.
pub fn processes(mark: &str) -> Vec<u32> {
    let wanted = format!("{MARK}={mark}").into_bytes();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let marked = |pid: &u32| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|word| word == wanted)
    };
    pids.filter(marked).collect()
}

/// Waits until no process is marked with `mark`; gives those that are left when `limit` is over.
pub fn processes_after(mark: &str, limit: Duration) -> Vec<u32> {
    let began = Instant::now();
    loop {
        let left = processes(mark);
        if left.is_empty() || began.elapsed() > limit {
            return left;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Names in `/dev/shm` and keys of System V memory, semaphores and queues that exist now.
pub fn named_objects() -> BTreeSet<String> {
    let files = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let mut all: BTreeSet<String> = files.map(|f| format!("/dev/shm/{}", f.file_name().display())).collect();
    for kind in ["shm", "sem", "msg"] {
        let table = std::fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap_or_default();
        let lines =
            table.lines().skip(1).map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" "));
        all.extend(lines.map(|line| format!("{kind} {line}")));
    }
    all
}

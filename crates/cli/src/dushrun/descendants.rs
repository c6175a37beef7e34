//! Processes that PEs have left behind.
use dushmem_os::signal::number::{SIGKILL, SIGTERM};
use dushmem_os::{process, signal};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Between SIGTERM and SIGKILL for orphans.
const GRACE: Duration = Duration::from_millis(300);

/// Kills the children of this process that are no PEs, nor `other`: orphans that it adopted.
pub fn kill_orphans(pes: &HashMap<u32, usize>, other: Option<u32>) {
    for pid in process::children().into_iter().filter(|pid| !pes.contains_key(pid) && other != Some(*pid)) {
        signal::send(pid, SIGKILL);
    }
}

/// After the last PE of a job that was ended: ends whatever PEs had started and left running. `other` is a
/// child with a task of its own.
pub fn end_all(other: Option<u32>) {
    let began = Instant::now();
    let mut number = SIGTERM;
    loop {
        while process::reap().is_some() {}
        let mut orphans = process::children();
        orphans.retain(|pid| other != Some(*pid));
        // Their children come up as orphans in turn.
        if orphans.is_empty() || began.elapsed() > 4 * GRACE {
            return;
        }
        if began.elapsed() > GRACE {
            number = SIGKILL;
        }
        for pid in orphans {
            signal::send(pid, number);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

//! Processes that PEs have left behind.
use dushmem_os::signal::number::{SIGKILL, SIGTERM};
use dushmem_os::{process, signal};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Between SIGTERM and SIGKILL for orphans.
const GRACE: Duration = Duration::from_millis(300);

/// Kills the children of this process that are no PEs: orphans that it adopted.
pub fn kill_orphans(pes: &HashMap<u32, usize>) {
    for pid in process::children().into_iter().filter(|pid| !pes.contains_key(pid)) {
        signal::send(pid, SIGKILL);
    }
}

/// After the last PE of a job that was ended: ends whatever PEs had started and left running.
pub fn end_all() {
    let began = Instant::now();
    let mut number = SIGTERM;
    loop {
        while process::reap().is_some() {}
        let orphans = process::children();
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

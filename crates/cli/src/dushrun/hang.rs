//! What PEs wait for, from the wait records in the job page.
use dushmem_boot::Call;
use dushmem_boot::job::{IN_STREAM, JobPage, PeState, WaitRecord};
use std::time::Duration;

/// The longest noted wait of a PE, and for how long it has lasted.
pub fn longest_wait(page: &JobPage, pe: usize) -> Option<(WaitRecord, Duration)> {
    let now = dushmem_os::clock::monotonic_ns();
    let waits = page.card(pe).waits().iter().filter_map(|slot| slot.read());
    let longest = waits.min_by_key(|(_, since)| *since)?;
    Some((longest.0, Duration::from_nanos(now.saturating_sub(longest.1))))
}

/// The wait in words: call, team, PE waited for, time.
pub fn describe(record: &WaitRecord, time: Duration) -> String {
    let in_stream = record.call & IN_STREAM != 0;
    let who = if in_stream { "has a stream that waits in" } else { "waits in" };
    let mut text = format!("{who} {}", Call::name(record.call & !IN_STREAM));
    match record.team {
        i32::MIN..0 => {}
        0 => text += " (world team)",
        1 => text += " (shared team)",
        2 => text += " (node team)",
        team => text += &format!(" (team {team})"),
    }
    if record.awaited >= 0 {
        text += &format!(" for PE {}", record.awaited);
    }
    if record.address != 0 {
        text += &format!(" on the word at {:#x}", record.address);
        if in_stream {
            text += &format!(", which is {:#x}", record.detail);
        }
    }
    text + &format!(", {:.1} s now", time.as_secs_f64())
}

/// One line about where PE `pe`, which still runs, is.
pub fn whereabouts(page: &JobPage, pe: usize) -> String {
    match (longest_wait(page, pe), page.card(pe).state()) {
        (Some((record, time)), _) => describe(&record, time),
        (None, PeState::Started) => "has not called init".to_owned(),
        (None, PeState::Joined) => "computes: no wait of the library is noted".to_owned(),
        (None, PeState::Finalized) => "has finalized and still runs".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_described() {
        let record = WaitRecord { call: 8, team: 0, awaited: 3, ..WaitRecord::default() };
        let text = describe(&record, Duration::from_millis(2500));
        assert_eq!(text, "waits in barrier_all (world team) for PE 3, 2.5 s now");
        let record = WaitRecord { call: 18, team: -1, awaited: -1, address: 0x1000, detail: 0 };
        assert_eq!(describe(&record, Duration::ZERO), "waits in wait_until on the word at 0x1000, 0.0 s now");
        let record = WaitRecord { call: 18 | IN_STREAM, detail: 7, ..record };
        let text = describe(&record, Duration::ZERO);
        assert_eq!(
            text,
            "has a stream that waits in wait_until on the word at 0x1000, which is 0x7, 0.0 s now"
        );
    }

    #[test]
    fn the_oldest_wait_counts() {
        let (_memory, page) = dushmem_boot::launcher::job_memory(2).unwrap();
        assert_eq!(whereabouts(&page, 1), "has not called init");
        let slots = page.card(1).waits();
        let _older = slots[3].note(&WaitRecord { call: 9, ..WaitRecord::default() });
        std::thread::sleep(Duration::from_millis(2));
        let _newer = slots[0].note(&WaitRecord { call: 8, ..WaitRecord::default() });
        assert_eq!(longest_wait(&page, 1).unwrap().0.call, 9);
        assert!(longest_wait(&page, 0).is_none());
    }
}

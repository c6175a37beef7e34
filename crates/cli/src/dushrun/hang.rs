//! What PEs wait for, from the wait records in the job page.
use dushmem_boot::Call;
use dushmem_boot::job::{JobPage, PeState, WaitRecord, WaitSlot, Wanted};
use dushmem_boot::request::Request;
use dushmem_os::process::Halt;
use std::time::Duration;

/// The longest noted wait of a PE, and for how long it has lasted.
pub fn longest_wait(page: &JobPage, pe: usize) -> Option<(WaitRecord, Duration)> {
    let now = dushmem_os::clock::monotonic_ns();
    let waits = page.card(pe).waits().iter().filter_map(|slot| slot.read());
    let longest = waits.min_by_key(|(_, since)| *since)?;
    Some((longest.0, Duration::from_nanos(now.saturating_sub(longest.1))))
}

/// The same of what host threads wait for that still look.
pub fn longest_live_wait(page: &JobPage, pe: usize) -> Option<(WaitRecord, Duration)> {
    let slots = page.card(pe).waits();
    let stale = |slot: &&WaitSlot| {
        slot.read().is_some_and(|(record, _)| !record.in_stream() && !record.in_kernel()) && !slot.is_live()
    };
    longest_wait(page, pe).filter(|_| !slots.iter().any(|slot| stale(&slot)))
}

/// A wait below this is part of any job that works.
pub const NOTEWORTHY: Duration = Duration::from_millis(100);

/// What the proxy took last for kernels of a PE on a GPU, and for how long they have asked for one thing after another.
fn requests(page: &JobPage, pe: usize) -> Option<(Request, u64, Duration)> {
    let (record, since) = page.card(pe).requests().read()?;
    let time = Duration::from_nanos(dushmem_os::clock::monotonic_ns().saturating_sub(since));
    Some((Request::of_record(&record), record.detail, time))
}

/// Whether a PE, or the proxy for its kernels, is at something that may never end.
pub fn takes_long(page: &JobPage, pe: usize) -> bool {
    longest_wait(page, pe).is_some_and(|(_, time)| time >= NOTEWORTHY)
        || requests(page, pe).is_some_and(|(.., time)| time >= NOTEWORTHY)
}

/// Who holds the lock that a PE waits for, where that is known: each that waits for it names the PE before it, and who is
/// waited for and does not wait holds it.
fn holder(page: &JobPage, record: &WaitRecord) -> Option<i32> {
    let is_lock = |wait: &WaitRecord| wait.call == Call::SetLock as u32 && wait.detail == record.detail;
    let mut holder = record.awaited;
    for _ in 0..page.pes() {
        let pe = usize::try_from(holder).ok().filter(|pe| *pe < page.pes())?;
        let waits = page.card(pe).waits().iter().filter_map(|slot| slot.read());
        // A thread of a PE that waits for another one of it names its own PE.
        let before = |(wait, _): (WaitRecord, u64)| {
            (is_lock(&wait) && wait.awaited != holder && wait.awaited >= 0).then_some(wait.awaited)
        };
        match waits.filter_map(before).next() {
            Some(next) => holder = next,
            None => return Some(holder),
        }
    }
    None
}

/// The wait of a PE in words: call, team, PE waited for, time.
fn describe(page: &JobPage, record: &WaitRecord, time: Duration) -> String {
    if *record == WaitRecord::NO_ANSWER {
        return format!(
            "gets no answer from its GPU: its driver is in another call, or a kernel keeps the GPU to itself, {:.1} s now",
            time.as_secs_f64()
        );
    }
    let who = match (record.in_stream(), record.in_kernel()) {
        (true, _) => "has a stream that waits in",
        (_, true) => "has a kernel that waits in",
        _ => "waits in",
    };
    let mut text = format!("{who} {}", record.call_text());
    if record.number() == Call::SetLock as u32 {
        text += &holder(page, record).map_or_else(String::new, |pe| format!(", held by PE {pe}"));
    } else if record.awaited >= 0 {
        text += &format!(" for PE {}", record.awaited);
    }
    text + &seen(page, record) + &format!(", {:.1} s now", time.as_secs_f64())
}

/// So many words are shown of those that a call waits for.
const WORDS: usize = 8;

/// What the words that a PE waits for are.
fn seen(page: &JobPage, record: &WaitRecord) -> String {
    let Wanted { kind, count, in_file, .. } = record.wanted;
    let (kind, all) = match kind {
        Some(kind) => (kind, count.unwrap_or(1) as usize),
        // What was seen last on a GPU.
        None if record.in_stream() && record.address != 0 => return format!("; it is {}", record.detail),
        None => return String::new(),
    };
    if record.in_stream() {
        return format!("; it is {}", kind.show(record.detail));
    }
    let file = (in_file != 0).then_some(in_file);
    let words = file.and_then(|at| page.words_at(at, kind.bytes.into(), all.min(WORDS)));
    let Some(words) = words else { return String::new() };
    let list = words.iter().map(|word| kind.show(*word)).collect::<Vec<_>>().join(", ");
    let more = if all > WORDS { ", ..." } else { "" };
    let is = if count.is_some() { "they are" } else { "it is" };
    format!("; {is} {list}{more}")
}

/// One line about PE `pe` whose process, or that before it, `pid`, is kept from running: by what, how to go on, and
/// what the PE waited for.
pub fn halted(page: &JobPage, pe: usize, pid: u32, halt: Halt) -> String {
    let how = match halt {
        Halt::Stopped => format!("is stopped, as by SIGSTOP or SIGTSTP: kill -CONT {pid} lets it go on"),
        Halt::Traced(0) => "is held by a debugger: let it go on there".to_owned(),
        Halt::Traced(by) => format!("is held by a debugger (pid {by}): let it go on there"),
    };
    match (longest_wait(page, pe), page.card(pe).state()) {
        // So it is not known what it would do.
        (None, PeState::Joined) => how,
        _ => format!("{how}; it {}", whereabouts(page, pe)),
    }
}

/// One line about where PE `pe`, which still runs, is.
pub fn whereabouts(page: &JobPage, pe: usize) -> String {
    let wait = longest_wait(page, pe);
    if let Some((request, executed, time)) = requests(page, pe)
        && wait.is_none_or(|(_, time)| time < NOTEWORTHY)
    {
        let whom = if request.pe >= 0 { format!(" to PE {}", request.pe) } else { String::new() };
        return format!(
            "has kernels that ask the proxy: now {}{whom}, after {executed} requests, {:.1} s without a pause",
            request.call(),
            time.as_secs_f64()
        );
    }
    match (wait, page.card(pe).state()) {
        (Some((record, time)), _) => describe(page, &record, time),
        (None, PeState::Started) => "has not called init".to_owned(),
        (None, PeState::Joined) => "computes: no wait of the library is noted".to_owned(),
        (None, PeState::Finalized) => "has finalized and still runs".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dushmem_boot::job::{IN_STREAM, Kind, Made, Members, Place};
    use dushmem_boot::request::Op;

    #[test]
    fn a_wait_is_described() {
        let (_memory, page) = dushmem_boot::launcher::job_memory(1).unwrap();
        let describe = |record: &WaitRecord, time| describe(&page, record, time);
        let record = WaitRecord { call: 8, team: 0, awaited: 3, ..WaitRecord::default() };
        let text = describe(&record, Duration::from_millis(2500));
        assert_eq!(text, "waits in barrier_all (TEAM_WORLD) for PE 3, 2.5 s now");
        let none = WaitRecord { team: -1, awaited: -1, ..WaitRecord::default() };
        let record = WaitRecord { call: 18, address: 0x1000, ..none };
        assert_eq!(describe(&record, Duration::ZERO), "waits in wait_until(ivar = 0x1000), 0.0 s now");
        let record = WaitRecord { call: 18 | IN_STREAM, detail: 7, ..record };
        let text = describe(&record, Duration::ZERO);
        assert_eq!(text, "has a stream that waits in wait_until(ivar = 0x1000); it is 7, 0.0 s now");
        let members = Members::new(Made::Strided([0, 2, 2]), &[0, 2]);
        let record = WaitRecord { call: 9, team: 4102, members, ..none };
        assert_eq!(
            describe(&record, Duration::ZERO),
            "waits in barrier (team of PEs 0, 2; split_strided with start 0, stride 2, size 2; handle 4102), 0.0 s now"
        );
    }

    #[test]
    fn words_are_told_with_what_is_wanted_of_them_and_what_they_are() {
        let (memory, mut page) = dushmem_boot::launcher::job_memory(1).unwrap();
        let at = JobPage::reserved(1) as u64;
        let file = std::fs::File::from(memory);
        let bytes: Vec<u8> = [-3i32, 4, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
        std::os::unix::fs::FileExt::write_all_at(&file, &bytes, at).unwrap();
        let kind = Some(Kind { bytes: 4, signed: true });
        let place = Place::Heap(4104, 4096, 64);
        let wanted = Wanted { kind, cmp: 0, value: Some(5), count: None, place, in_file: at };
        let record =
            WaitRecord { call: 18, team: -1, awaited: -1, address: 0x1000, wanted, ..WaitRecord::default() };
        let text = |record: &WaitRecord, page: &JobPage| describe(page, record, Duration::ZERO);
        let wait =
            "waits in wait_until(ivar = heap + 4104, in the object of 64 bytes at heap + 4096, CMP_EQ, 5)";
        // Who has no file tells the rest.
        assert_eq!(text(&record, &page), format!("{wait}, 0.0 s now"));
        page.keep(file.into());
        assert_eq!(text(&record, &page), format!("{wait}; it is -3, 0.0 s now"));
        let place = Place::Global;
        let wanted = Wanted { cmp: 5, value: None, count: Some(3), place, ..wanted };
        let record = WaitRecord { call: 19, wanted, ..record };
        assert_eq!(
            text(&record, &page),
            "waits in wait_until_all(ivars = 0x1000, a global of the program, nelems = 3, CMP_GE, values of their own); \
             they are -3, 4, 0, 0.0 s now"
        );
    }

    #[test]
    fn a_gpu_that_does_not_answer_is_told() {
        let (_memory, page) = dushmem_boot::launcher::job_memory(1).unwrap();
        assert_eq!(
            describe(&page, &WaitRecord::NO_ANSWER, Duration::from_millis(2500)),
            "gets no answer from its GPU: its driver is in another call, or a kernel keeps the GPU to itself, 2.5 s now"
        );
    }

    #[test]
    fn a_look_at_a_gpu_is_no_wait_yet() {
        let (_memory, page) = dushmem_boot::launcher::job_memory(1).unwrap();
        let (slot, now) = (&page.card(0).waits()[0], dushmem_os::clock::monotonic_ns());
        slot.show(Some((WaitRecord::NO_ANSWER, now)));
        assert!(longest_wait(&page, 0).is_none() && !takes_long(&page, 0));
        slot.show(Some((WaitRecord::NO_ANSWER, now - 2_000_000_000)));
        assert_eq!(longest_wait(&page, 0).unwrap().0, WaitRecord::NO_ANSWER);
        slot.show(None);
        assert!(longest_wait(&page, 0).is_none());
    }

    #[test]
    fn who_holds_a_lock_is_found_along_the_queue() {
        let (_memory, page) = dushmem_boot::launcher::job_memory(4).unwrap();
        let wait = |awaited: i32, detail: u64| WaitRecord {
            call: Call::SetLock as u32,
            team: -1,
            awaited,
            address: 0x1000,
            detail,
            ..WaitRecord::default()
        };
        let slots = |pe: usize| page.card(pe).waits();
        // PE 2 holds it; 0 and 3 queue behind it, and another thread of 3 behind the first. PE 2 waits for another lock.
        let _noted = [
            slots(0)[0].note(&wait(2, 64)),
            slots(3)[1].note(&wait(0, 64)),
            slots(3)[0].note(&wait(3, 64)),
            slots(2)[0].note(&wait(1, 8)),
        ];
        for record in [wait(2, 64), wait(0, 64), wait(3, 64)] {
            assert_eq!(holder(&page, &record), Some(2));
        }
        assert_eq!(
            describe(&page, &wait(0, 64), Duration::ZERO),
            "waits in set_lock(lock = 0x1000), held by PE 2, 0.0 s now"
        );
        // Who gives it away waits for who joins the queue; a queue that has changed meanwhile leads nowhere.
        assert_eq!(holder(&page, &wait(-1, 64)), None);
        let _circle = slots(2)[1].note(&wait(0, 64));
        assert_eq!(holder(&page, &wait(0, 64)), None);
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

    #[test]
    fn what_is_halted_is_told_how_to_go_on() {
        let (_memory, page) = dushmem_boot::launcher::job_memory(1).unwrap();
        let stopped = halted(&page, 0, 77, Halt::Stopped);
        let how = "is stopped, as by SIGSTOP or SIGTSTP: kill -CONT 77 lets it go on";
        assert_eq!(stopped, format!("{how}; it has not called init"));
        page.set_state(0, PeState::Joined);
        assert_eq!(halted(&page, 0, 77, Halt::Stopped), how);
        let held = "is held by a debugger (pid 99): let it go on there";
        assert_eq!(halted(&page, 0, 77, Halt::Traced(99)), held);
        let record = WaitRecord { call: 8, team: -1, awaited: -1, ..WaitRecord::default() };
        let _noted = page.card(0).waits()[0].note(&record);
        let text = halted(&page, 0, 77, Halt::Traced(0));
        assert!(
            text.starts_with("is held by a debugger: let it go on there; it waits in barrier_all, "),
            "{text}"
        );
    }

    #[test]
    fn kernels_that_ask_the_proxy_are_told() {
        let (_memory, page) = dushmem_boot::launcher::job_memory(1).unwrap();
        let card = page.card(0);
        let request = Request { small: 16 | 4, ..Request::new(Op::Amo, 3, &[0x1000, 1]) };
        let since = dushmem_os::clock::monotonic_ns() - 2_500_000_000;
        let show = |request: &Request| card.requests().show(Some((request.record(77), since)));
        show(&request);
        let text = "has kernels that ask the proxy: now atomic_add to PE 3, after 77 requests, 2.5 s without a pause";
        assert_eq!(whereabouts(&page, 0), text);
        assert!(takes_long(&page, 0) && longest_wait(&page, 0).is_none());
        show(&Request::new(Op::Quiet, -1, &[]));
        assert!(whereabouts(&page, 0).contains("now quiet, after"));
        // What a thread of the PE has waited for for long comes first, short waits don't.
        let noted = card.waits()[0].note(&WaitRecord { call: 8, team: -1, ..WaitRecord::default() });
        assert!(whereabouts(&page, 0).contains("ask the proxy"));
        std::thread::sleep(NOTEWORTHY);
        assert!(whereabouts(&page, 0).starts_with("waits in barrier_all"));
        drop(noted);
        card.requests().show(None);
        assert!(!takes_long(&page, 0));
        assert_eq!(whereabouts(&page, 0), "has not called init");
    }
}

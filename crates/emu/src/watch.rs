//! Blocks that make no progress, and what is said about them.
use crate::board::{self, Board, Launch, What, lock, unpack};
use crate::called::Name;
use crate::device;
use crate::grid::Dim3;
use dushmem_core::env;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Ends the process: every thread of the block that is left waits for others of the block.
#[cold]
pub(crate) fn stuck(board: &Board, warps: &str) -> ! {
    static TOLD: AtomicBool = AtomicBool::new(false);
    if TOLD.swap(true, Relaxed) {
        // Another block is in the same state, and ends the process: one line is enough.
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    }
    let mut text = format!("{}{}: nobody can go on: {}", heading(), place(board), waits(board));
    if !warps.is_empty() {
        let _ = write!(text, " ({warps})");
    }
    let returned = board.returned.load(Relaxed);
    if returned != 0 {
        let _ = write!(text, "; {returned} threads have returned");
    }
    text.push_str(". All threads of a block, or of the mask, must reach the same barrier");
    dushmem_os::say::say(&text);
    dushmem_os::crash::silence();
    std::process::abort();
}

/// "kernel k, block (0, 0, 0)"
pub(crate) fn place(board: &Board) -> String {
    let name = lock(&board.launch).as_ref().map(|launch| launch.name.to_string());
    format!("kernel {}, block {}", name.unwrap_or_default(), board.block_index())
}

/// Who waits in what: a line's worth.
pub(crate) fn waits(board: &Board) -> String {
    let mut groups: Vec<(What, Option<u32>, Name, Vec<Dim3>)> = Vec::new();
    // Threads of one collective wait for words of different members.
    let (mut objects, mut known) = (Vec::new(), HashMap::new());
    for slot in &board.slots {
        let (what, address) = (What(slot.what.load(Relaxed)), slot.address.load(Relaxed));
        if what == What::NOTHING {
            continue;
        }
        let object = (what.is_call() && address != 0).then(|| {
            *known.entry(address).or_insert_with(|| {
                let text = match crate::kernel::collective(address as usize) {
                    Some(collective) => collective,
                    None => format!("on the word at {address:#x}"),
                };
                let at = objects.iter().position(|known| *known == text).unwrap_or(objects.len());
                if at == objects.len() {
                    objects.push(text);
                }
                at as u32
            })
        });
        let at = unpack(slot.index.load(Relaxed));
        let call = slot.name();
        let same = |group: &&mut (What, Option<u32>, Name, _)| {
            (group.0, group.1) == (what, object) && group.2.same(call)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.3.push(at),
            None => groups.push((what, object, call, vec![at])),
        }
    }
    let mut parts = Vec::new();
    for (what, object, call, mut threads) in groups {
        // A call of the library, as the program names it, says more than what it does there.
        let name = call.text().unwrap_or_else(|| what.name());
        threads.sort_by_key(|at| (at.z, at.y, at.x));
        let mut part = match &threads[..] {
            [one] => format!("thread {one} waits in {name}"),
            [one, .., last] => {
                format!("{} threads, {one} to {last}, wait in {name}", threads.len())
            }
            [] => continue,
        };
        if let Some(object) = object {
            let _ = write!(part, " {}", objects[object as usize]);
        }
        parts.push(part);
    }
    parts.join("; ")
}

/// The variable that says after how many seconds a block that makes no progress is reported.
pub const WATCHDOG_VARIABLE: &str = "DUSHMEM_EMU_WATCHDOG";
/// The watch ends when no block has run for this long; the next one starts it again.
const LINGER: Duration = Duration::from_secs(20);
/// Blocks of a launch that a report tells about.
const TOLD: usize = 3;

/// After how long a block that makes no progress is reported; None: never.
fn limit() -> Option<Duration> {
    static LIMIT: OnceLock<Option<Duration>> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        let usual = env::EMU_WATCHDOG;
        device::setting(env::emu_watchdog, Some(usual), &format!("taking {}", usual.as_secs()))
    })
}

static RUNNING: AtomicBool = AtomicBool::new(false);

/// Starts the watch where it doesn't run.
#[inline]
pub(crate) fn start() {
    if !RUNNING.load(Relaxed) {
        start_thread();
    }
}

#[cold]
fn start_thread() {
    let Some(limit) = limit() else {
        // Nothing to start, ever.
        RUNNING.store(true, Relaxed);
        return;
    };
    if !RUNNING.swap(true, Relaxed) {
        let spawned = std::thread::Builder::new().name("dushmem watchdog".into()).spawn(move || watch(limit));
        if spawned.is_err() {
            RUNNING.store(false, Relaxed);
        }
    }
}

/// What the watch remembers about a board.
struct Seen {
    board: Arc<Board>,
    progress: u64,
    turns: u64,
    /// Since when the two have been what they are.
    progress_since: Instant,
    turns_since: Instant,
}

fn watch(limit: Duration) {
    let mut seen: Vec<Seen> = Vec::new();
    // Launches that have been told about, by the addresses of their names, while they run.
    let mut reported: Vec<usize> = Vec::new();
    let mut idle_since = Instant::now();
    loop {
        std::thread::sleep((limit / 4).clamp(Duration::from_millis(5), Duration::from_secs(1)));
        let now = Instant::now();
        let boards = board::all();
        reported.retain(|id| {
            boards.iter().any(|board| lock(&board.launch).as_ref().is_some_and(|l| l.id() == *id))
        });
        seen.retain(|seen| boards.iter().any(|board| Arc::ptr_eq(board, &seen.board)));
        let mut stalled: Vec<(Launch, Vec<usize>)> = Vec::new();
        for board in boards {
            let (progress, turns) = (board.progress.load(Relaxed), board.turns.load(Relaxed));
            if board.busy.load(Relaxed) {
                idle_since = now;
            }
            let at = seen.iter().position(|seen| Arc::ptr_eq(&board, &seen.board)).unwrap_or_else(|| {
                let board = Arc::clone(&board);
                seen.push(Seen { board, progress, turns, progress_since: now, turns_since: now });
                seen.len() - 1
            });
            let one = &mut seen[at];
            if one.progress != progress || !board.busy.load(Relaxed) {
                (one.progress, one.progress_since) = (progress, now);
            }
            if one.turns != turns || one.progress_since == now {
                (one.turns, one.turns_since) = (turns, now);
            }
            if now - one.progress_since < limit {
                continue;
            }
            let Some(launch) = lock(&board.launch).clone() else { continue };
            let id = launch.id();
            if !reported.contains(&id)
                && (one.spins(now - one.turns_since >= limit) || !waits(&board).is_empty())
            {
                match stalled.iter_mut().find(|(other, _)| other.id() == id) {
                    Some((_, which)) => which.push(at),
                    None => stalled.push((launch, vec![at])),
                }
            }
        }
        for (launch, which) in stalled {
            reported.push(launch.id());
            report(&launch, which.into_iter().map(|at| &seen[at]).collect(), now, limit);
        }
        if now - idle_since > LINGER {
            RUNNING.store(false, Relaxed);
            return;
        }
    }
}

impl Seen {
    /// True if a thread runs that keeps others from running. `still` says that nobody has given way for long.
    fn spins(&self, still: bool) -> bool {
        let board = &*self.board;
        let threads = lock(&board.launch).as_ref().map_or(0, |launch| launch.block.count());
        still
            && !board.os_threads.load(Relaxed)
            && u64::from(board.returned.load(Relaxed)) + 1 < threads
            && self.runner().is_some()
    }

    /// Position of the thread that runs, unless it is one that waits.
    fn runner(&self) -> Option<Dim3> {
        let slot = self.board.slots.get(self.board.current.load(Relaxed) as usize)?;
        (slot.what.load(Relaxed) == 0).then(|| unpack(slot.index.load(Relaxed)))
    }

    fn tell(&self, now: Instant, limit: Duration) -> String {
        let board = &*self.board;
        let mut text = format!("block {}: ", board.block_index());
        let waiting = waits(board);
        if self.spins(now - self.turns_since >= limit)
            && let Some(thread) = self.runner()
        {
            let time = (now - self.turns_since).as_secs_f64();
            let _ = write!(
                text,
                "thread {thread} has run for {time:.1} s without giving way to the others of its block"
            );
            if !waiting.is_empty() {
                text.push_str("; ");
            }
        }
        text.push_str(&waiting);
        text
    }
}

fn report(launch: &Launch, stalled: Vec<&Seen>, now: Instant, limit: Duration) {
    let time = stalled.iter().map(|one| (now - one.progress_since).as_secs_f64()).fold(0.0, f64::max);
    let blocks = match stalled.len() {
        1 => String::new(),
        n => format!(" in {n} blocks"),
    };
    let mut text = format!("{}kernel {}: no progress for {time:.1} s{blocks}: ", heading(), launch.name);
    let told: Vec<String> = stalled.iter().take(TOLD).map(|one| one.tell(now, limit)).collect();
    text.push_str(&told.join("; "));
    if stalled.len() > TOLD {
        let _ = write!(text, "; and {} blocks more", stalled.len() - TOLD);
    }
    if stalled.iter().any(|one| one.spins(now - one.turns_since >= limit)) {
        text.push_str(
            ". A thread that waits for another one of its block in a loop of its own must call __nanosleep there; or \
             compile with dushcc -fdushmem-os-threads, which gives every GPU thread an OS thread",
        );
    }
    let left = crate::helpers::not_begun(&launch.name);
    if left != 0 {
        let most = crate::device::RESIDENT_BLOCKS;
        let _ = write!(text, "; {left} blocks have not begun (at most {most} run or wait at the same time)");
    }
    let _ = write!(text, ". {WATCHDOG_VARIABLE} says after how many seconds this is told, 0: never");
    dushmem_os::say::say(&text);
}

/// How lines about kernels begin: with the PE where a launcher has given the process one.
pub(crate) fn heading() -> String {
    match std::env::var("DUSHMEM_PE") {
        Ok(pe) => format!("dushmem: PE {pe}: "),
        Err(_) => "dushmem: ".into(),
    }
}

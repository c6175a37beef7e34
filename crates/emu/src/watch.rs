//! Blocks that make no progress, and what is said about them.
use crate::board::{Board, What, lock, unpack};
use crate::grid::Dim3;
use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;

/// Ends the process: every thread of the block that is left waits for others of the block.
#[cold]
pub(crate) fn stuck(board: &Board, warps: &str) -> ! {
    let mut text = format!("dushmem: {}: nobody can go on: {}", place(board), waits(board));
    if !warps.is_empty() {
        let _ = write!(text, " ({warps})");
    }
    let returned = board.returned.load(Relaxed);
    if returned != 0 {
        let _ = write!(text, "; {returned} threads have returned");
    }
    text.push_str(". All threads of a block, or of the mask, must reach the same barrier");
    dushmem_os::say::say(&text);
    std::process::abort();
}

/// "kernel k, block (0, 0, 0)"
fn place(board: &Board) -> String {
    let name = lock(&board.launch).as_ref().map(|launch| launch.name.to_string());
    format!("kernel {}, block {}", name.unwrap_or_default(), board.block_index())
}

/// Who waits in what: a line's worth.
fn waits(board: &Board) -> String {
    let mut groups: Vec<(What, u64, Vec<Dim3>)> = Vec::new();
    for slot in &board.slots {
        let (what, address) = (What(slot.what.load(Relaxed)), slot.address.load(Relaxed));
        if what == What::NOTHING {
            continue;
        }
        let address = if what.is_call() { address } else { 0 };
        let at = unpack(slot.index.load(Relaxed));
        match groups.iter_mut().find(|group| (group.0, group.1) == (what, address)) {
            Some(group) => group.2.push(at),
            None => groups.push((what, address, vec![at])),
        }
    }
    let mut parts = Vec::new();
    for (what, address, mut threads) in groups {
        threads.sort_by_key(|at| (at.z, at.y, at.x));
        let mut part = match &threads[..] {
            [one] => format!("thread {one} waits in {}", what.name()),
            [one, .., last] => {
                format!("{} threads, {one} to {last}, wait in {}", threads.len(), what.name())
            }
            [] => continue,
        };
        if address != 0 {
            let _ = write!(part, " on the word at {address:#x}");
        }
        parts.push(part);
    }
    parts.join("; ")
}

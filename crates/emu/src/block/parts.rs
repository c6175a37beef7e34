//! Rendezvous of a part of a block: a warp, or several warps.
use super::{ACTIVE, Block, Pause, Slot, suspend};
use crate::grid::Dim3;

/// A part whose threads have synchronised before: `width` consecutive threads, the `number`-th such.
#[derive(Debug)]
pub(super) struct Part {
    width: u32,
    number: u32,
    /// Its threads that haven't returned.
    alive: u32,
    arrived: u32,
    waiting: Vec<u32>,
}

/// Waits for all threads, of the `width` consecutive ones that the calling thread is one of, that haven't returned.
/// `width` divides the number of the first of them. Does nothing outside a kernel.
pub fn sync_part(width: u32) {
    let block = ACTIVE.get();
    if block.is_null() {
        return;
    }
    // SAFETY: the active block of this OS thread; no reference is kept across the suspend.
    unsafe {
        let current = (*block).current;
        let number = linear(&*block, (*Slot::current(block)).index) / width;
        let at = find(block, width, number);
        {
            let block = &mut *block;
            block.progress += 1;
            let part = &mut block.parts[at];
            part.arrived += 1;
            if part.arrived == part.alive {
                part.arrived = 0;
                block.ready.extend(part.waiting.drain(..));
                return;
            }
            part.waiting.push(current);
        }
        suspend(block, Pause::Rendezvous);
    }
}

/// A thread has returned: those of its parts that wait need not wait for it.
pub(super) fn leave(block: &mut Block, index: Dim3) {
    let thread = linear(block, index);
    let Block { parts, ready, .. } = block;
    for part in parts.iter_mut().filter(|part| thread / part.width == part.number) {
        part.alive -= 1;
        if part.arrived != 0 && part.arrived == part.alive {
            part.arrived = 0;
            ready.extend(part.waiting.drain(..));
        }
    }
}

fn linear(block: &Block, index: Dim3) -> u32 {
    index.x + block.dims.x * (index.y + block.dims.y * index.z)
}

/// Index of the part among those of the block.
///
/// # Safety
/// `block` is the active block, and one of its fibers calls.
unsafe fn find(block: *mut Block, width: u32, number: u32) -> usize {
    // SAFETY: as the caller promises. Of the running slot only the index is read: the scheduler holds a reference
    // to its fiber.
    unsafe {
        let known = &(*block).parts;
        if let Some(at) = known.iter().position(|part| part.width == width && part.number == number) {
            return at;
        }
        let first = number * width;
        let end = (first + width).min((*block).threads);
        // Those that haven't begun, and those that a fiber runs.
        let mut alive = end.saturating_sub((*block).begun.max(first));
        for slot in 0..(*block).slots.len() {
            let one = (*block).slots.as_mut_ptr().add(slot);
            let runs = slot == (*block).current as usize || (*one).fiber.is_some();
            if runs && linear(&*block, (*one).index) / width == number {
                alive += 1;
            }
        }
        (*block).parts.push(Part { width, number, alive, arrived: 0, waiting: Vec::new() });
        (*block).parts.len() - 1
    }
}

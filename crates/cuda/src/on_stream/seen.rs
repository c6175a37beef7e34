//! Whom kernels of the library's wait for, as the words of their team's slot say it: a member that is in a call has told the
//! others its number, and notes it when the call is over, or, with data and flag in one word, when it has sent its part.
use super::job::{Job, TeamSlot};
use super::queue::Queue;
use dushmem_core::coll::device_slot::{DeviceSlot, Words};
use dushmem_core::error::Result;

/// Members that one tells in a round of a synchronisation: `radix` of impl/coll_sync.h.
const RADIX: usize = 8;

/// A PE that kernels wait for, or -1 where that can't be told, and the number of the call.
pub type Awaited = (i32, u64);

struct Slot<'a> {
    job: &'a dyn Job,
    queue: &'a dyn Queue,
    at: TeamSlot,
    pes: &'a [u32],
    me: usize,
}

/// The member that kernels of these PEs wait for, of whom this one is `me`: all reach each other.
pub fn awaited_by_kernel(
    job: &dyn Job,
    queue: &dyn Queue,
    slot: usize,
    pes: &[u32],
    me: usize,
) -> Result<Option<Awaited>> {
    let slot = Slot { job, queue, at: job.team_slot(slot), pes, me };
    // What is told first is read first: else a call that goes on meanwhile would look like one that waits.
    let met = slot.told(slot.at.array(Words::Sync))?;
    let grid = slot.told(slot.at.grid())?;
    let [calls, began, flagged, by_all] = slot.words(slot.at.at)?;
    if met > calls {
        return slot.behind(slot.at.array(Words::Sync), met, RADIX);
    }
    let [done] = slot.words(slot.at.at + DeviceSlot::GRID_CALLS as u64)?;
    if grid > 2 * done + 2 {
        return slot.behind(slot.at.grid(), grid, usize::MAX);
    }
    if flagged > began { slot.unsent(flagged, flagged == by_all) } else { Ok(None) }
}

impl Slot<'_> {
    fn words<const N: usize>(&self, at: u64) -> Result<[u64; N]> {
        let mut bytes = vec![0; 8 * N];
        // SAFETY: words of a slot, mapped as long as the device is in use.
        unsafe { self.queue.read(at as usize, &mut bytes) }?;
        let mut words =
            bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
        Ok(std::array::from_fn(|_| words.next().unwrap_or_default()))
    }

    fn word(&self, at: u64) -> Result<u64> {
        self.words(at).map(|[word]| word)
    }

    /// What this PE has told the next member last, which it tells first.
    fn told(&self, array: u64) -> Result<u64> {
        let (me, next) = (self.pes[self.me] as u64, self.pes[(self.me + 1) % self.pes.len()] as usize);
        self.word(self.job.peer(array + 8 * me, next))
    }

    /// The first member behind whose number is lower, of those that tell this one in the first round.
    fn behind(&self, array: u64, number: u64, most: usize) -> Result<Option<Awaited>> {
        let n = self.pes.len();
        for distance in 1..n.min(most) {
            let pe = self.pes[(self.me + n - distance) % n];
            if self.word(array + 8 * u64::from(pe))? < number {
                return Ok(Some((pe as i32, number)));
            }
        }
        // In a later round, of which there are two at the most, it can be any of the others.
        Ok((n > most).then_some((-1, number)))
    }

    /// The member that has not sent its part of call `number`.
    fn unsent(&self, number: u64, by_all: bool) -> Result<Option<Awaited>> {
        let n = self.pes.len();
        let cell = DeviceSlot::cell(n) as u64;
        let mut missing = None;
        let mut sent = 0;
        for (rank, &pe) in self.pes.iter().enumerate() {
            let buffer = self.at.buffers() + ((number & 1) * n as u64 + rank as u64) * cell;
            // Behind the first word of data.
            if self.word(buffer + 8)? < number {
                missing = missing.or(Some(pe as i32));
            } else {
                sent += 1;
            }
        }
        // Of a broadcast only the root sends, whoever that is.
        let waits = if by_all { missing } else { (sent == 0).then_some(-1) };
        Ok(waits.map(|pe| (pe, number)))
    }
}

//! A bounded queue with many producers and one consumer, in memory that both map, with replies.
//!
//! Ticket `t` uses slot `t mod slots` for the `t / slots`-th time, its *lap*. A slot's `turn` is twice the
//! laps that it has seen end; it is odd while a result waits for the one that asked for it.
//!
//! | step | who | turn of the slot in lap `l` |
//! |---|---|---|
//! | the slot is free: a producer takes the ticket by compare-and-swap on `head` | any producer | `2 l` |
//! | it fills the descriptor and publishes it: `seq = ticket + 1` | that producer | `2 l` |
//! | executes it | the consumer | `2 l` |
//! | no result: free for the next lap | the consumer | `2 l + 2` |
//! | a result is there | the consumer | `2 l + 1` |
//! | has read the result: free for the next lap | that producer | `2 l + 2` |
//!
//! Tickets are taken only for free slots, and nothing waits between taking and publishing, so a producer that
//! is held up never holds others up. All-zero memory is an empty ring.
use crate::atomics::{AtomicU64, Ordering};

/// Words of a descriptor behind `seq`.
pub const WORDS: usize = 7;
/// loom tries every order of accesses, so its descriptors have one word.
const STORED: usize = if cfg!(loom) { 1 } else { WORDS };

/// A request.
#[repr(C)]
#[cfg_attr(not(loom), repr(align(64)))]
#[derive(Debug)]
pub struct Descriptor {
    seq: AtomicU64,
    words: [AtomicU64; STORED],
}

/// What becomes of it.
#[repr(C)]
#[cfg_attr(not(loom), repr(align(32)))]
#[derive(Debug)]
pub struct Reply {
    turn: AtomicU64,
    value: [AtomicU64; 2],
    reserved: u64,
}

impl Default for Descriptor {
    fn default() -> Self {
        Descriptor { seq: AtomicU64::new(0), words: core::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

impl Default for Reply {
    fn default() -> Self {
        Reply { turn: AtomicU64::new(0), value: core::array::from_fn(|_| AtomicU64::new(0)), reserved: 0 }
    }
}

/// A ring, wherever its parts lie.
#[derive(Clone, Copy, Debug)]
pub struct Ring<'a> {
    head: &'a AtomicU64,
    descriptors: &'a [Descriptor],
    replies: &'a [Reply],
    shift: u32,
}

impl<'a> Ring<'a> {
    /// A ring of these parts: as many descriptors as replies, a power of two.
    pub fn new(head: &'a AtomicU64, descriptors: &'a [Descriptor], replies: &'a [Reply]) -> Ring<'a> {
        assert!(descriptors.len().is_power_of_two() && descriptors.len() == replies.len());
        Ring { head, descriptors, replies, shift: descriptors.len().ilog2() }
    }

    fn slot(&self, ticket: u64) -> usize {
        ticket as usize & (self.descriptors.len() - 1)
    }

    fn turn(&self, ticket: u64) -> u64 {
        2 * (ticket >> self.shift)
    }

    fn reply(&self, ticket: u64) -> &'a Reply {
        &self.replies[self.slot(ticket)]
    }

    /// A producer's attempt: the ticket, or `None` where the ring is full or another producer was faster.
    pub fn try_post(&self, words: &[u64; WORDS]) -> Option<u64> {
        let ticket = self.head.load(Ordering::Relaxed);
        // The consumer has read what the descriptor held before, and the owner of a result that.
        if self.reply(ticket).turn.load(Ordering::Acquire) < self.turn(ticket) {
            return None;
        }
        self.head.compare_exchange(ticket, ticket + 1, Ordering::AcqRel, Ordering::Relaxed).ok()?;
        let descriptor = &self.descriptors[self.slot(ticket)];
        for (to, word) in descriptor.words.iter().zip(words) {
            to.store(*word, Ordering::Relaxed);
        }
        descriptor.seq.store(ticket + 1, Ordering::Release);
        Some(ticket)
    }

    /// True where there is room for one more request just now.
    pub fn has_room(&self) -> bool {
        let ticket = self.reserved();
        self.reply(ticket).turn.load(Ordering::Acquire) >= self.turn(ticket)
    }

    /// True when the request has been executed. Of one with a result, only before that has been taken.
    pub fn is_executed(&self, ticket: u64) -> bool {
        self.reply(ticket).turn.load(Ordering::Acquire) > self.turn(ticket)
    }

    /// The result of an own request that was posted with one, once: the slot is free then.
    pub fn take_result(&self, ticket: u64) -> Option<[u64; 2]> {
        let reply = self.reply(ticket);
        if reply.turn.load(Ordering::Acquire) != self.turn(ticket) + 1 {
            return None;
        }
        let value = [0, 1].map(|i| reply.value[i].load(Ordering::Relaxed));
        reply.turn.store(self.turn(ticket) + 2, Ordering::Release);
        Some(value)
    }

    /// Number of tickets taken so far.
    pub fn reserved(&self) -> u64 {
        self.head.load(Ordering::Acquire)
    }

    /// The consumer's side: the request of this ticket, if it has been published.
    pub fn next(&self, ticket: u64) -> Option<[u64; WORDS]> {
        let descriptor = &self.descriptors[self.slot(ticket)];
        if descriptor.seq.load(Ordering::Acquire) != ticket + 1 {
            return None;
        }
        Some(core::array::from_fn(|i| descriptor.words.get(i).map_or(0, |word| word.load(Ordering::Relaxed))))
    }

    /// The consumer's side: the request has been executed. `result` is given if and only if it asked for one.
    pub fn finish(&self, ticket: u64, result: Option<[u64; 2]>) {
        let reply = self.reply(ticket);
        let turn = match result {
            None => self.turn(ticket) + 2,
            Some(value) => {
                for (to, word) in reply.value.iter().zip(value) {
                    to.store(word, Ordering::Relaxed);
                }
                self.turn(ticket) + 1
            }
        };
        reply.turn.store(turn, Ordering::Release);
    }
}

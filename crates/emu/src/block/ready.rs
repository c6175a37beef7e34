//! The fibers of a block that can go on.
use super::MOST;

/// Fibers that can go on, first come, first served. Each is in it once at most.
#[derive(Debug)]
pub(super) struct Ready {
    ring: Box<[u16; MOST]>,
    head: u32,
    tail: u32,
}

impl Extend<u32> for Ready {
    fn extend<T: IntoIterator<Item = u32>>(&mut self, slots: T) {
        slots.into_iter().for_each(|slot| self.push(slot as u16));
    }
}

impl Ready {
    pub fn new() -> Ready {
        Ready { ring: Box::new([0; MOST]), head: 0, tail: 0 }
    }

    pub fn clear(&mut self) {
        self.head = self.tail;
    }

    pub fn len(&self) -> u32 {
        self.tail.wrapping_sub(self.head)
    }

    pub fn push(&mut self, slot: u16) {
        self.ring[self.tail as usize % MOST] = slot;
        self.tail = self.tail.wrapping_add(1);
    }

    /// The one that comes after so many others.
    pub fn peek(&self, after: u32) -> Option<u16> {
        (self.len() > after).then(|| self.ring[self.head.wrapping_add(after) as usize % MOST])
    }

    pub fn pop(&mut self) -> Option<u16> {
        (self.head != self.tail).then(|| {
            let slot = self.ring[self.head as usize % MOST];
            self.head = self.head.wrapping_add(1);
            slot
        })
    }

    /// The one at this place of the queue; the first one takes its place.
    pub fn take(&mut self, nth: u32) -> Option<u16> {
        let at = self.head.wrapping_add(nth) as usize % MOST;
        self.ring.swap(at, self.head as usize % MOST);
        self.pop()
    }
}

//! Which broadcasts of a team may run ahead of those who make another call.
use std::sync::atomic::{AtomicU64, Ordering};

/// Broadcasts that are remembered, by size and root.
const KNOWN: usize = 64;

/// The broadcasts that all members of a team have made before, and agreed on: the same on all of them, since all note what
/// all have waited for.
///
/// A member that goes on without waiting for the others can't be told by this very call that they differ. They mostly do so
/// the first time, so all wait then.
#[derive(Debug)]
pub(crate) struct Agreed(Box<[AtomicU64]>);

impl Agreed {
    pub(crate) fn new() -> Agreed {
        Agreed((0..KNOWN).map(|_| AtomicU64::new(0)).collect())
    }

    /// For those that note nothing.
    pub(crate) fn none() -> Agreed {
        Agreed(Box::default())
    }

    /// Place and key. Roots in turn have places of their own.
    #[inline]
    fn key(bytes: usize, root: i32) -> (usize, u64) {
        let spread = (bytes as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        ((spread as usize).wrapping_add(root as usize) % KNOWN, (bytes as u64) << 16 | (root as u64 + 1))
    }

    /// Whether all have made a broadcast of so many bytes from this root.
    #[inline]
    pub(crate) fn has(&self, bytes: usize, root: i32) -> bool {
        let (place, key) = Self::key(bytes, root);
        self.0.get(place).is_some_and(|known| known.load(Ordering::Relaxed) == key)
    }

    /// All have.
    pub(crate) fn note(&self, bytes: usize, root: i32) {
        let (place, key) = Self::key(bytes, root);
        if let Some(known) = self.0.get(place) {
            known.store(key, Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_known_and_nothing_else() {
        let agreed = Agreed::new();
        assert!(!agreed.has(0, 0) && !agreed.has(8, 0));
        (0..KNOWN as i32).for_each(|root| agreed.note(8, root));
        assert!((0..KNOWN as i32).all(|root| agreed.has(8, root)));
        assert!(!agreed.has(8, KNOWN as i32) && !agreed.has(9, 0) && !agreed.has(0, 8));
        // A newer one takes the place of an older one.
        agreed.note(8, KNOWN as i32);
        assert!(agreed.has(8, KNOWN as i32) && !agreed.has(8, 0) && agreed.has(8, 1));
        let none = Agreed::none();
        none.note(8, 0);
        assert!(!none.has(8, 0));
    }
}

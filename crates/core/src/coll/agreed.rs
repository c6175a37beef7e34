//! What is known of a team's broadcasts: which may run ahead of those who make another call, and who is root after whom.
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

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

    /// Members have differed, and all have been told: from now on all wait for all the first time again.
    pub(crate) fn forget(&self) {
        self.0.iter().for_each(|known| known.store(0, Ordering::Relaxed));
    }
}

/// Roots of which it is remembered who followed.
const ROOTS: usize = 64;

/// In which order the members of a team are roots, as far as it has shown.
///
/// A broadcast comes to its end only once its root has been given a CPU, and the roots before it. So with more PEs than CPUs
/// it is worth while that the one which is next does not give its CPU away just before its turn.
#[derive(Debug)]
pub(crate) struct Order {
    last: AtomicU32,
    next: Box<[AtomicU32]>,
}

impl Order {
    pub(crate) fn new() -> Order {
        Order { last: AtomicU32::new(0), next: (0..ROOTS).map(|_| AtomicU32::new(u32::MAX)).collect() }
    }

    /// For those that note nothing.
    pub(crate) fn none() -> Order {
        Order { last: AtomicU32::new(0), next: Box::default() }
    }

    /// Notes that `root` is root now, and gives who was after it the last time.
    #[inline]
    pub(crate) fn after(&self, root: u32) -> Option<u32> {
        let last = self.last.load(Ordering::Relaxed);
        self.last.store(root, Ordering::Relaxed);
        self.next.get(last as usize % ROOTS)?.store(root, Ordering::Relaxed);
        Some(self.next.get(root as usize % ROOTS)?.load(Ordering::Relaxed))
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
        agreed.forget();
        assert!(!agreed.has(8, 1));
        let none = Agreed::none();
        none.note(8, 0);
        assert!(!none.has(8, 0));
    }

    #[test]
    fn roots_follow_each_other_as_they_did() {
        let order = Order::new();
        let known = |root: u32| order.after(root).filter(|&next| next != u32::MAX);
        assert_eq!([0, 2, 1, 0, 2, 1].map(known), [Some(0), None, None, Some(2), Some(1), Some(0)]);
        // Of one that is root again and again it is known, too.
        assert_eq!([1, 1].map(known), [Some(1), Some(1)]);
        assert_eq!(Order::none().after(1), None);
    }
}

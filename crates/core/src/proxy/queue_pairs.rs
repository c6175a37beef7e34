//! Numbers of queue pairs: contexts of kernels, which are made when they are first used.
use super::request::ALL;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// First number of a queue pair that is none of the constants.
const FIRST: i32 = 2;

/// The number of the next queue pair. Numbers are not used again: kernels may still name one.
static NEXT: AtomicI32 = AtomicI32::new(FIRST);

/// Gives out `count` numbers, from the one that is returned on. `None`: there are not so many left.
pub fn create(count: i32) -> Option<i32> {
    NEXT.fetch_update(Relaxed, Relaxed, |next| next.checked_add(count)).ok()
}

/// The number that comes next: all below it exist.
pub fn end() -> u32 {
    NEXT.load(Relaxed) as u32
}

/// Whether kernels may name this number: one that was given out, or a constant.
pub fn exists(handle: i32) -> bool {
    handle == ALL || (0..NEXT.load(Relaxed)).contains(&handle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_exist_when_they_were_given_out() {
        assert!([0, 1, ALL].into_iter().all(exists) && !exists(-1));
        let first = create(3).expect("there are enough");
        assert!(first >= FIRST && (first..first + 3).all(exists));
        assert!(end() as i32 >= first + 3 && exists(end() as i32 - 1));
        assert!(!exists(first + 1000) && !exists(ALL - 1));
        assert_eq!(create(i32::MAX), None);
    }
}

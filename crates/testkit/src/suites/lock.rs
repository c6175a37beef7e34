//! Locks (OpenSHMEM section 9.13).
use super::pe::Pe;
use dushmem_core::amo::AmoOp;
use dushmem_core::until::Cmp;
use std::time::Duration;

/// A counter that only the lock protects: no update is lost. Puts before clear_lock are there for the next
/// holder.
pub fn mutual_exclusion(pe: &Pe) {
    const EACH: u64 = 25;
    let locks = pe.alloc::<i64>(3);
    let counts = pe.alloc::<u64>(3);
    for round in 0..EACH {
        let which = (round as usize + pe.me) % 3;
        // Each lock protects a counter on another PE.
        let home = which % pe.n;
        pe.lock(locks.at(which)).unwrap();
        let seen = pe.g(pe.ctx(), counts.at(which), home).unwrap();
        pe.p(pe.ctx(), counts.at(which), seen + 1, home).unwrap();
        pe.unlock(locks.at(which)).unwrap();
    }
    pe.meet();
    let sum: u64 = (0..3).map(|which| pe.g(pe.ctx(), counts.at(which), which % pe.n).unwrap()).sum();
    assert_eq!(sum, EACH * pe.n as u64);
    assert_eq!(locks.to_vec(), [0; 3], "all bits are zero when nobody holds it");
    pe.meet();
    pe.release(counts);
    pe.release(locks);
}

/// Who asks first gets it first.
pub fn first_come_first_served(pe: &Pe) {
    let lock = pe.alloc::<i64>(1);
    let queued = pe.alloc::<u64>(1);
    let order = pe.alloc::<u64>(pe.n);
    let served = pe.alloc::<u64>(1);
    if pe.me == 0 {
        pe.lock(lock.at(0)).unwrap();
    }
    pe.meet();
    if pe.me == 0 {
        // The PEs queue up one after the other, when PE 0 says so; highest number first.
        for next in (1..pe.n).rev() {
            pe.p(pe.ctx(), queued.at(0), 1, next).unwrap();
            pe.quiet(pe.ctx()).unwrap();
            // It says that it is about to ask; then it needs a moment.
            pe.wait(queued.at(0), Cmp::Ge, (pe.n - next) as u64).unwrap();
            std::thread::sleep(Duration::from_millis(30));
        }
        pe.unlock(lock.at(0)).unwrap();
    } else {
        pe.wait(queued.at(0), Cmp::Eq, 1).unwrap();
        pe.amo(queued.at(0), AmoOp::Add, 1, 0, 0).unwrap();
        pe.lock(lock.at(0)).unwrap();
        let place = pe.amo(served.at(0), AmoOp::Add, 1, 0, 0).unwrap();
        pe.p(pe.ctx(), order.at(place as usize), pe.me as u64, 0).unwrap();
        pe.unlock(lock.at(0)).unwrap();
    }
    pe.meet();
    if pe.me == 0 {
        let expected: Vec<u64> = (1..pe.n as u64).rev().collect();
        assert_eq!(order.part(0, pe.n - 1), expected);
    }
    pe.meet();
    pe.release(served);
    pe.release(order);
    pe.release(queued);
    pe.release(lock);
}

/// test_lock takes a free lock and leaves a taken one alone; several threads of a PE exclude each other.
pub fn testing_and_threads(pe: &Pe) {
    let lock = pe.alloc::<i64>(1);
    let count = pe.alloc::<u64>(1);
    if pe.me == 0 {
        assert!(pe.try_lock(lock.at(0)).unwrap());
        assert!(!pe.try_lock(lock.at(0)).unwrap(), "not taken twice by one PE");
    }
    pe.meet();
    if pe.me != 0 {
        assert!(!pe.try_lock(lock.at(0)).unwrap(), "PE 0 holds it");
    }
    pe.meet();
    if pe.me == 0 {
        pe.unlock(lock.at(0)).unwrap();
    }
    let text = pe.unlock(lock.at(0)).unwrap_err().to_string();
    assert!(text.contains("this PE does not hold the lock"), "{text}");
    pe.meet();
    std::thread::scope(|scope| {
        for thread in 0..2 {
            scope.spawn(move || {
                for i in 0..15 {
                    if (i + thread) % 2 == 0 {
                        pe.lock(lock.at(0)).unwrap();
                    } else {
                        while !pe.try_lock(lock.at(0)).unwrap() {
                            std::thread::yield_now();
                        }
                    }
                    let seen = pe.g(pe.ctx(), count.at(0), 0).unwrap();
                    pe.p(pe.ctx(), count.at(0), seen + 1, 0).unwrap();
                    pe.unlock(lock.at(0)).unwrap();
                }
            });
        }
    });
    pe.meet();
    if pe.me == 0 {
        assert_eq!(count.read(0), 30 * pe.n as u64);
    }
    let local = Box::leak(Box::new(0i64));
    assert!(pe.lock(local).is_err() && pe.try_lock(local).is_err() && pe.unlock(local).is_err());
    assert!(pe.lock(std::ptr::null_mut()).is_err());
    pe.meet();
    pe.release(count);
    pe.release(lock);
}

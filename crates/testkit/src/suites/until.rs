//! Waiting and testing (OpenSHMEM section 9.11).
use super::pe::{Pe, Words};
use dushmem_core::amo::AmoOp;
use dushmem_core::rma::Scalar;
use dushmem_core::until::{Cmp, WaitInt};
use std::fmt::Debug;

const ALL: [Cmp; 6] = [Cmp::Eq, Cmp::Ne, Cmp::Gt, Cmp::Le, Cmp::Lt, Cmp::Ge];

/// A start value and an update for which `cmp value` is false, then true; also for negative values.
fn cases<T: WaitInt + From<u8> + std::ops::Sub<Output = T>>(signed: bool) -> Vec<(T, Cmp, T, T)> {
    let n = |value: u8| T::from(value);
    let low = |value: u8| if signed { n(0) - n(value) } else { n(value) };
    vec![
        (n(1), Cmp::Eq, n(5), n(5)),
        (n(5), Cmp::Ne, n(5), n(6)),
        (low(7), Cmp::Gt, n(7), n(8)),
        (n(9), Cmp::Le, n(8), low(8)),
        (n(9), Cmp::Lt, n(9), low(8)),
        (low(6), Cmp::Ge, n(7), n(7)),
    ]
}

fn one_type<T>(pe: &Pe, signed: bool)
where
    T: WaitInt + Scalar + Debug + From<u8> + std::ops::Sub<Output = T>,
{
    let words = pe.alloc::<T>(8);
    let cases = cases::<T>(signed);
    for (i, &(start, ..)) in cases.iter().enumerate() {
        words.write(i, start);
    }
    for (i, &(_, cmp, value, _)) in cases.iter().enumerate() {
        assert!(!pe.is(words.at(i), cmp, value).unwrap(), "test before: {cmp:?}");
    }
    pe.meet();
    for (i, &(_, cmp, value, update)) in cases.iter().enumerate() {
        pe.p(pe.ctx(), words.at(i), update, pe.right()).unwrap();
        let seen = pe.wait(words.at(i), cmp, value).unwrap();
        assert!(seen == update, "{cmp:?} saw {seen:?}");
        assert!(pe.is(words.at(i), cmp, value).unwrap(), "test after: {cmp:?}");
        pe.meet();
    }
    pe.release(words);
}

/// Every type with every comparison.
pub fn types_and_comparisons(pe: &Pe) {
    one_type::<i16>(pe, true);
    one_type::<u16>(pe, false);
    one_type::<i32>(pe, true);
    one_type::<u32>(pe, false);
    one_type::<i64>(pe, true);
    one_type::<u64>(pe, false);
    one_type::<isize>(pe, true);
    one_type::<usize>(pe, false);
}

/// A wait sees every way of updating, also a plain store through `ptr`, which wakes nobody.
pub fn every_way_of_updating(pe: &Pe) {
    let word = pe.alloc::<u64>(1);
    for round in 1..=12u64 {
        match round % 4 {
            0 => pe.put(pe.ctx(), word.at(0), &[round], pe.right()).unwrap(),
            1 => pe.post(pe.ctx(), word.at(0), AmoOp::Add, 1, pe.right()).unwrap(),
            2 => {
                let at = pe.ptr(word.at(0).cast(), pe.right() as i32).unwrap();
                if at.is_null() {
                    pe.p(pe.ctx(), word.at(0), round, pe.right()).unwrap();
                } else {
                    // Others must be asleep for this to show anything.
                    std::thread::sleep(std::time::Duration::from_millis(2));
                    super::Sym::foreign(at.cast::<u64>(), 1).write(0, round);
                }
            }
            _ => pe.iput(word.at(0), &[round], (1, 1), 1, pe.right()).unwrap(),
        }
        assert_eq!(pe.wait(word.at(0), Cmp::Ge, round).unwrap(), round);
        pe.meet();
    }
    pe.release(word);
}

/// Sets without an included word: at once, with the answers of the text.
pub fn empty_sets(pe: &Pe) {
    let words = pe.alloc::<i32>(4);
    let excluded = [1, 7, -1, 1];
    let value = [1];
    let none = Words { status: Some(&excluded), ..Words::of(words, Cmp::Eq, &value[0]) };
    let empty = Words { ivars: std::ptr::null(), len: 0, status: None, cmp: Cmp::Eq, values: &value };
    for set in [none, empty] {
        pe.wait_all(&set).unwrap();
        assert_eq!(pe.wait_any(&set).unwrap(), usize::MAX);
        assert_eq!(pe.wait_some(&set).unwrap(), []);
        assert!(pe.test_all(&set).unwrap());
        assert_eq!(pe.test_any(&set).unwrap(), usize::MAX);
        assert_eq!(pe.test_some(&set).unwrap(), []);
    }
    pe.release(words);
}

/// All, any and some, with one value and with a value each, with and without a status array.
pub fn sets(pe: &Pe) {
    const LEN: usize = 9;
    let words = pe.alloc::<u64>(LEN);
    let status: Vec<i32> = (0..LEN).map(|i| i32::from(i % 3 == 2)).collect();
    let targets: Vec<u64> = (0..LEN).map(|i| 10 + i as u64).collect();
    let excluded = |i: usize| i % 3 == 2;
    let one = 10u64;
    let plain = Words::of(words, Cmp::Ge, &one);
    let each = Words { values: &targets, ..plain };
    let some_each = Words { status: Some(&status), ..each };
    for set in [plain, each, some_each] {
        words.fill(0);
        assert!(!pe.test_all(&set).unwrap());
        assert_eq!(pe.test_any(&set).unwrap(), usize::MAX);
        assert_eq!(pe.test_some(&set).unwrap(), []);
        pe.meet();
        // One word, in the middle.
        pe.p(pe.ctx(), words.at(4), 14, pe.right()).unwrap();
        assert_eq!(pe.wait_any(&set).unwrap(), 4);
        assert_eq!(pe.wait_some(&set).unwrap(), [4]);
        assert_eq!(pe.test_any(&set).unwrap(), 4);
        assert!(!pe.test_all(&set).unwrap());
        pe.meet();
        // All others: some sets may see them one by one.
        for (i, &target) in targets.iter().enumerate().filter(|(i, _)| *i != 4) {
            pe.p(pe.ctx(), words.at(i), target, pe.right()).unwrap();
        }
        let with_status = set.status.is_some();
        let wanted: Vec<usize> = (0..LEN).filter(|&i| !with_status || !excluded(i)).collect();
        pe.wait_all(&set).unwrap();
        assert!(pe.test_all(&set).unwrap());
        let mut found = pe.wait_some(&set).unwrap();
        found.sort_unstable();
        assert_eq!(found, wanted, "all that compare, each once");
        let mut found = pe.test_some(&set).unwrap();
        found.sort_unstable();
        assert_eq!(found, wanted);
        pe.meet();
    }
    assert_eq!(status, (0..LEN).map(|i| i32::from(excluded(i))).collect::<Vec<_>>(), "status is only read");
    pe.release(words);
}

/// Repeated calls of the `any` family give every word that compares, also where calls on several sets
/// alternate.
pub fn any_is_fair(pe: &Pe) {
    let words = pe.alloc::<u32>(4);
    words.fill(1);
    for len in 2..=4 {
        let value = 1u32;
        let set = Words { len, ..Words::of(words, Cmp::Eq, &value) };
        let mut by_wait = vec![0; len];
        let mut by_test = vec![0; len];
        for _ in 0..300 {
            by_wait[pe.wait_any(&set).unwrap()] += 1;
            by_test[pe.test_any(&set).unwrap()] += 1;
        }
        assert!(by_wait.iter().chain(&by_test).all(|&n| n > 10), "{by_wait:?} {by_test:?} of {len}");
    }
    pe.release(words);
}

/// Work handed out by `any`: each result is taken once, from whoever has finished.
pub fn any_collects_from_all(pe: &Pe) {
    let done = pe.alloc::<u64>(pe.n);
    pe.p(pe.ctx(), done.at(pe.me), 100 + pe.me as u64, 0).unwrap();
    if pe.me == 0 {
        let mut status = vec![0; pe.n];
        let mut got = Vec::new();
        for _ in 0..pe.n {
            let zero = 0;
            let set = Words { status: Some(&status), ..Words::of(done, Cmp::Ne, &zero) };
            let i = pe.wait_any(&set).unwrap();
            assert_eq!(done.read(i), 100 + i as u64);
            status[i] = 1;
            got.push(i);
        }
        got.sort_unstable();
        assert!(got.into_iter().eq(0..pe.n));
    }
    pe.meet();
    pe.release(done);
}

/// Addresses and numbers that the family refuses.
pub fn refusals(pe: &Pe) {
    let words = pe.alloc::<u64>(4);
    let local = 0u64;
    let text = |result: dushmem_core::error::Result<u64>| result.unwrap_err().to_string();
    assert_eq!(
        text(pe.wait(std::ptr::null::<u64>(), Cmp::Eq, 0)),
        "ivar is NULL; this call needs the address of an object in symmetric memory"
    );
    let odd = words.at(0).cast::<u8>().wrapping_add(4).cast::<u64>();
    let seen = text(pe.wait(odd, Cmp::Eq, 0));
    assert_eq!(
        seen,
        format!("ivar = {:#x}: not aligned to 8 bytes, which this operation needs", odd as usize)
    );
    let seen = text(pe.wait(&raw const local, Cmp::Eq, 0));
    assert!(seen.starts_with("ivar = 0x") && seen.contains("not in symmetric memory"), "{seen}");
    assert!(pe.is(&raw const local, Cmp::Eq, 0).is_err());
    let value = 0;
    let beyond = Words { len: usize::MAX / 8, ..Words::of(words, Cmp::Eq, &value) };
    assert!(pe.test_all(&beyond).is_err());
    let huge = Words { len: usize::MAX, ..Words::of(words, Cmp::Eq, &value) };
    let seen = pe.test_any(&huge).unwrap_err().to_string();
    assert!(seen.starts_with("nelems = ") && seen.ends_with("more than the address space"), "{seen}");
    for (number, cmp) in (0..).zip(ALL) {
        assert_eq!(Cmp::from_number(number).unwrap(), cmp);
    }
    let seen = Cmp::from_number(6).unwrap_err().to_string();
    assert_eq!(seen, "cmp = 6: no comparison; use the constants CMP_EQ to CMP_GE");
    pe.meet();
    pe.release(words);
}

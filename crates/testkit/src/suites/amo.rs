//! Atomics (OpenSHMEM section 9.7).
use super::pe::Pe;
use dushmem_core::amo::{Amo, AmoInt, AmoOp};
use dushmem_core::rma::Scalar;
use std::fmt::Debug;

/// A type whose atomics are tested: values from bits.
trait Word: Amo + Scalar + PartialEq + Debug {
    const BYTES: usize = size_of::<Self>();
}
impl<T: Amo + Scalar + PartialEq + Debug> Word for T {}

fn of<T: Word>(bits: u64) -> T {
    T::from_bits(bits)
}

/// Fetch, set and swap, with canaries on both sides.
fn moves<T: Word>(pe: &Pe) {
    let canary = 0xa5a5_a5a5_a5a5_a5a5;
    let cells = pe.alloc::<T>(3 * pe.n);
    (0..3 * pe.n).for_each(|i| cells.write(i, of(canary)));
    pe.meet();
    let bits = |who: usize, step: u64| 0xff00_ff00_ff00_ff00u64.rotate_left(who as u32) ^ step << 33 ^ step;
    // The middle word of block `me` on the right PE is this PE's alone.
    let word = cells.at(3 * pe.me + 1);
    let to = pe.right();
    let old: T = pe.amo(word, AmoOp::Swap, of(bits(pe.me, 1)), of(0), to).unwrap();
    assert_eq!(old.to_bits(), of::<T>(canary).to_bits(), "swap");
    let now: T = pe.amo(word, AmoOp::Fetch, of(0), of(0), to).unwrap();
    assert_eq!(now.to_bits(), of::<T>(bits(pe.me, 1)).to_bits(), "fetch");
    pe.post(pe.ctx(), word, AmoOp::Set, of::<T>(bits(pe.me, 2)), to).unwrap();
    pe.quiet(pe.ctx()).unwrap();
    let mut later: T = of(0);
    pe.amo_nbi(&mut later, word, AmoOp::Swap, of(bits(pe.me, 3)), of(0), to).unwrap();
    pe.quiet(pe.ctx()).unwrap();
    assert_eq!(later.to_bits(), of::<T>(bits(pe.me, 2)).to_bits(), "set, then swap_nbi");
    pe.amo_nbi(&mut later, word, AmoOp::Fetch, of(0), of(0), to).unwrap();
    pe.meet();
    assert_eq!(later.to_bits(), of::<T>(bits(pe.me, 3)).to_bits(), "fetch_nbi");
    for (i, cell) in cells.to_vec().into_iter().enumerate() {
        let written = i == 3 * pe.left() + 1;
        let expected = if written { bits(pe.left(), 3) } else { canary };
        assert_eq!(cell.to_bits(), of::<T>(expected).to_bits(), "word {i} of {} bytes", T::BYTES);
    }
    pe.release(cells);
}

/// All operations of one type: what is fetched, what is left, and the neighbours.
fn computes<T: Word + AmoInt>(pe: &Pe) {
    let canary = 0x5a5a_5a5a_5a5a_5a5a;
    let cells = pe.alloc::<T>(3 * pe.n);
    (0..3 * pe.n).for_each(|i| cells.write(i, of(canary)));
    pe.meet();
    let word = cells.at(3 * pe.me + 1);
    let to = pe.right();
    let mask = if T::BYTES == 8 { u64::MAX } else { u64::from(u32::MAX) };
    let mut expected = canary & mask;
    type Fold = fn(u64, u64) -> u64;
    let ops: [(AmoOp, Fold); 6] = [
        (AmoOp::Add, |a, b| a.wrapping_add(b)),
        (AmoOp::And, |a, b| a & b),
        (AmoOp::Or, |a, b| a | b),
        (AmoOp::Xor, |a, b| a ^ b),
        (AmoOp::Swap, |_, b| b),
        (AmoOp::Set, |_, b| b),
    ];
    let operands = [0, 1, u64::MAX, 0x8000_0000_8000_0000, 0x7fff_ffff_7fff_ffff, 0x0123_4567_89ab_cdef];
    for (op, fold) in ops {
        for operand in operands {
            if op != AmoOp::Set {
                let old: T = pe.amo(word, op, of(operand), of(0), to).unwrap();
                assert_eq!(old.to_bits(), expected, "{op:?} {operand:#x}");
                expected = fold(expected, operand) & mask;
                let mut later: T = of(0);
                pe.amo_nbi(&mut later, word, op, of(operand), of(0), to).unwrap();
                pe.quiet(pe.ctx()).unwrap();
                assert_eq!(later.to_bits(), expected, "{op:?}_nbi {operand:#x}");
                expected = fold(expected, operand) & mask;
            }
            pe.post(pe.ctx(), word, op, of::<T>(operand), to).unwrap();
            pe.quiet(pe.ctx()).unwrap();
            expected = fold(expected, operand) & mask;
            let now: T = pe.amo(word, AmoOp::Fetch, of(0), of(0), to).unwrap();
            assert_eq!(now.to_bits(), expected, "after {op:?} {operand:#x}");
        }
    }
    let wrong = expected ^ 1;
    let old: T = pe.amo(word, AmoOp::CompareSwap, of(7), of(wrong), to).unwrap();
    assert_eq!(old.to_bits(), expected, "compare_swap that must not swap");
    let old: T = pe.amo(word, AmoOp::CompareSwap, of(7), of(expected), to).unwrap();
    assert_eq!(old.to_bits(), expected, "compare_swap");
    let mut later: T = of(0);
    pe.amo_nbi(&mut later, word, AmoOp::CompareSwap, of(u64::MAX), of(7), to).unwrap();
    pe.meet();
    assert_eq!(later.to_bits(), 7, "compare_swap_nbi");
    for (i, cell) in cells.to_vec().into_iter().enumerate() {
        let expected = if i == 3 * pe.left() + 1 { u64::MAX } else { canary };
        assert_eq!(cell.to_bits(), expected & mask, "word {i} of {} bytes", T::BYTES);
    }
    pe.release(cells);
}

/// Every operation of every type, on a word between canaries.
pub fn every_operation(pe: &Pe) {
    computes::<i32>(pe);
    computes::<u32>(pe);
    computes::<i64>(pe);
    computes::<u64>(pe);
    computes::<isize>(pe);
    computes::<usize>(pe);
    moves::<i32>(pe);
    moves::<u64>(pe);
}

/// Floating-point words are moved as bits: NaNs keep their payload, zeros their sign.
pub fn floats_are_bits(pe: &Pe) {
    moves::<f32>(pe);
    moves::<f64>(pe);
    let cell = pe.alloc::<f64>(1);
    for bits in [0x7ff0_0000_0000_0001u64, 0xfff8_dead_beef_0001, 0x8000_0000_0000_0000] {
        pe.meet();
        pe.post(pe.ctx(), cell.at(0), AmoOp::Set, f64::from_bits(bits), pe.right()).unwrap();
        pe.meet();
        let seen = pe.amo(cell.at(0), AmoOp::Fetch, 0.0, 0.0, pe.me).unwrap();
        assert_eq!(seen.to_bits(), bits);
    }
    pe.release(cell);
}

/// All PEs update the same words at the same time: no update is lost, no ticket is drawn twice.
pub fn from_all_at_once(pe: &Pe) {
    const EACH: u64 = 200;
    let narrow = pe.alloc::<u32>(4);
    let wide = pe.alloc::<u64>(6);
    let seen = pe.alloc::<u64>(EACH as usize);
    for i in 0..EACH {
        pe.post(pe.ctx(), wide.at(0), AmoOp::Add, i, 0).unwrap();
        let ticket = pe.amo(wide.at(1), AmoOp::Add, 1, 0, 0).unwrap();
        seen.write(i as usize, ticket);
        pe.post(pe.ctx(), narrow.at(1), AmoOp::Add, 1, 0).unwrap();
        pe.amo(wide.at(2), AmoOp::Xor, 1 << pe.me, 0, 0).unwrap();
        pe.post(pe.ctx(), wide.at(3), AmoOp::Or, 1 << pe.me, 0).unwrap();
        // A counter by compare-and-swap.
        let mut old = pe.amo(narrow.at(2), AmoOp::Fetch, 0, 0, 0).unwrap();
        loop {
            match pe.amo(narrow.at(2), AmoOp::CompareSwap, old + 3, old, 0).unwrap() {
                now if now == old => break,
                now => old = now,
            }
        }
    }
    pe.meet();
    if pe.me == 0 {
        let all = EACH * pe.n as u64;
        assert_eq!(wide.read(0), pe.n as u64 * (EACH * (EACH - 1) / 2));
        assert_eq!((wide.read(1), wide.read(2), wide.read(3)), (all, 0, (1 << pe.n) - 1));
        assert_eq!((narrow.read(0), narrow.read(3)), (0, 0), "beside the words");
        assert_eq!((u64::from(narrow.read(1)), u64::from(narrow.read(2))), (all, 3 * all));
        let mut tickets = Vec::new();
        for from in 0..pe.n {
            let mut theirs = vec![0; EACH as usize];
            pe.get(pe.ctx(), &mut theirs, seen.at(0), from).unwrap();
            assert!(theirs.is_sorted(), "one PE's tickets grow");
            tickets.extend(theirs);
        }
        tickets.sort_unstable();
        assert!(tickets.into_iter().eq(0..all), "every ticket once");
    }
    pe.meet();
    pe.release(seen);
    pe.release(wide);
    pe.release(narrow);
}

/// Adding wraps around at both ends of every type.
pub fn wrap_around(pe: &Pe) {
    let cell = pe.alloc::<u64>(4);
    let signed = cell.at(0).cast::<i64>();
    pe.amo(signed, AmoOp::Set, i64::MAX, 0, pe.me).unwrap();
    pe.quiet(pe.ctx()).unwrap();
    assert_eq!(pe.amo(signed, AmoOp::Add, 1, 0, pe.me).unwrap(), i64::MAX);
    assert_eq!(pe.amo(signed, AmoOp::Add, -1, 0, pe.me).unwrap(), i64::MIN);
    let small = cell.at(1).cast::<i32>();
    pe.amo(small, AmoOp::Swap, i32::MIN, 0, pe.me).unwrap();
    assert_eq!(pe.amo(small, AmoOp::Add, -1, 0, pe.me).unwrap(), i32::MIN);
    assert_eq!(pe.amo(small, AmoOp::Fetch, 0, 0, pe.me).unwrap(), i32::MAX);
    let unsigned = cell.at(2).cast::<u32>();
    assert_eq!(pe.amo(unsigned, AmoOp::Add, u32::MAX, 0, pe.me).unwrap(), 0);
    assert_eq!(pe.amo(unsigned, AmoOp::Add, 2, 0, pe.me).unwrap(), u32::MAX);
    assert_eq!(pe.amo(unsigned, AmoOp::Fetch, 0, 0, pe.me).unwrap(), 1);
    // The upper halves of the 8-byte cells are nobody's.
    assert_eq!(cell.read(1) >> 32 | cell.read(2) >> 32 | cell.read(3), 0);
    pe.meet();
    pe.release(cell);
}

/// Many updates before one quiet: their cost does not grow with their number.
pub fn many_pending(pe: &Pe) {
    const EACH: u64 = 60_000;
    let count = pe.alloc::<u64>(1);
    let began = std::time::Instant::now();
    for i in 0..EACH {
        pe.post(pe.ctx(), count.at(0), AmoOp::Add, 1, (pe.me + i as usize) % pe.n).unwrap();
    }
    pe.meet();
    assert_eq!(count.read(0), EACH);
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
    pe.release(count);
}

//! A stream that waits and has taken all it can: who has more for it waits in the driver, and nobody else of the process gets
//! at the GPU until the stream goes on. A GPU's streams take some thousand launches.
use crate::pe::{Pe, ROOM};
use dushmem_core::device::{StreamOp, Word, Words};
use dushmem_core::until::Cmp;
use std::time::Duration;

/// More than a stream takes.
const MANY: usize = 3 * ROOM;

/// The two PEs take turns: one fills a stream that waits, the other ends the waits.
pub fn all(pe: &Pe) {
    let (at, values, last) = (pe.alloc(64), pe.alloc(64), pe.alloc(8));
    let (stream, other) = (pe.stream(), pe.stream());
    let wanted: Vec<u32> = vec![7, 0x8000_0001, 3, 9];
    pe.write_words(values, &wanted);
    // None is one that a stream compares by itself.
    let wait = || {
        let ivar = at as *mut u8;
        pe.op(stream, StreamOp::WaitUntil { ivar, cmp: Cmp::Ne, value: Word::U64(5) });
        let status = std::ptr::null();
        let ivars = (at + 16) as *mut u8;
        let each = Words::Each(values as *const u8, Word::U32(0));
        pe.op(stream, StreamOp::WaitUntilAll { ivars, len: 4, status, cmp: Cmp::Ge, values: each });
        let ivar = (at + 32) as *mut u8;
        pe.op(stream, StreamOp::WaitUntil { ivar, cmp: Cmp::Lt, value: Word::I16(-3) });
    };
    let mut word = [0; 48];
    word[..8].copy_from_slice(&5u64.to_le_bytes());
    let graph = pe.capture(stream, wait);
    for round in 0..8 {
        pe.write(at, &word);
        pe.write(last, &[0; 8]);
        pe.barrier();
        if pe.me == round % 2 {
            match round / 2 % 2 {
                0 => wait(),
                _ => pe.launch(&graph, stream),
            }
            for i in 1..=MANY as u64 {
                let mut value = [0; 16];
                value[..8].copy_from_slice(&i.to_le_bytes());
                pe.op(stream, StreamOp::P { dest: last as *mut u8, value, bytes: 8, pe: pe.me as i32 });
            }
            pe.sync(stream);
            assert_eq!(pe.read_u64(last), MANY as u64, "round {round}");
        } else {
            // The neighbour's thread is in the driver by then, and no look comes back.
            std::thread::sleep(Duration::from_millis(200));
            let put = |offset: usize, bytes: usize, bits: u64| {
                let mut value = [0; 16];
                value[..8].copy_from_slice(&bits.to_le_bytes());
                let dest = (at + offset) as *mut u8;
                pe.op(other, StreamOp::P { dest, value, bytes, pe: 1 - pe.me as i32 });
            };
            put(0, 8, 6);
            (0..4).for_each(|i| put(16 + 4 * i, 4, u64::from(wanted[i])));
            put(32, 2, -4i16 as u16 as u64);
            pe.sync(other);
        }
        pe.barrier();
    }
}

//! Which comparisons of the API a stream can wait for without a kernel.
//!
//! The driver's "greater or equal" is one of counts that go round. As a comparison of numbers it is wrong for half of
//! all values, and a wait for it may never end, or end at once. Only what is right for every value is used here.
use super::queue::{MemOp, Until};
use dushmem_core::device::Word;
use dushmem_core::until::Cmp;

/// How to wait for a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It holds whatever the word is.
    Always,
    /// By a memory operation, with the value in as many bits as the word has.
    Stream(Until, u64),
    /// Somebody has to look at it.
    Look,
}

/// A word's type and the bits of a value of it, zero-extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bytes.
    pub bytes: usize,
    /// Whether comparisons are signed.
    pub signed: bool,
    /// The value.
    pub bits: u64,
}

impl From<Word> for Shape {
    fn from(word: Word) -> Shape {
        let (bytes, signed, bits) = match word {
            Word::I16(v) => (2, true, u64::from(v as u16)),
            Word::U16(v) => (2, false, u64::from(v)),
            Word::I32(v) => (4, true, u64::from(v as u32)),
            Word::U32(v) => (4, false, u64::from(v)),
            Word::I64(v) => (8, true, v as u64),
            Word::U64(v) => (8, false, v),
        };
        Shape { bytes, signed, bits }
    }
}

impl Shape {
    /// All bits of a word.
    fn all(self) -> u64 {
        u64::MAX >> (64 - 8 * self.bytes)
    }

    /// The bits as a number of which greater ones come later in the word's own order.
    fn rank(self, bits: u64) -> u64 {
        if self.signed { bits ^ self.top() } else { bits }
    }

    fn top(self) -> u64 {
        1 << (8 * self.bytes - 1)
    }

    /// Whether `word cmp value` holds.
    pub fn holds(self, cmp: Cmp, word: u64) -> bool {
        cmp.holds(self.rank(word & self.all()), self.rank(self.bits))
    }

    /// How a stream waits until `word cmp value` holds.
    pub fn how(self, cmp: Cmp, nor: bool) -> How {
        let (all, top) = (self.all(), self.top());
        // By rank, from 0 to `all`: what holds is a range of ranks, or all but one.
        let value = self.rank(self.bits);
        let (from, to) = match cmp {
            Cmp::Ne => return self.stream(self.differs(self.bits), nor),
            Cmp::Eq => (value, value),
            Cmp::Ge => (value, all),
            Cmp::Le => (0, value),
            Cmp::Gt if value == all => return How::Look,
            Cmp::Gt => (value + 1, all),
            Cmp::Lt if value == 0 => return How::Look,
            Cmp::Lt => (0, value - 1),
        };
        let found = match (from, to) {
            (0, to) if to == all => return How::Always,
            (from, to) if from == to => Some((Until::Eq, self.rank(from))),
            (1, to) if to == all => self.differs(self.rank(0)),
            (0, to) if to == all - 1 => self.differs(self.rank(all)),
            // The upper or the lower half: the top bit says which.
            (from, to) if to == all && from == top && !self.signed => Some((Until::And, top)),
            (from, to) if to == all && from == top => Some((Until::Geq, 0)),
            (0, to) if to == top - 1 && self.signed => Some((Until::And, top)),
            (0, to) if to == top - 1 => Some((Until::Nor, !top & all)),
            _ => None,
        };
        self.stream(found, nor)
    }

    /// Any word but this one, where the driver can wait for that.
    fn differs(self, bits: u64) -> Option<(Until, u64)> {
        match bits {
            0 => Some((Until::And, self.all())),
            bits if bits == self.all() => Some((Until::Nor, 0)),
            _ => None,
        }
    }

    fn stream(self, found: Option<(Until, u64)>, nor: bool) -> How {
        match found {
            Some((Until::Nor, _)) if !nor => How::Look,
            Some((until, value)) if self.bytes >= 4 => How::Stream(until, value),
            _ => How::Look,
        }
    }

    /// The memory operation.
    pub fn operation(self, at: u64, until: Until, value: u64) -> MemOp {
        match self.bytes {
            4 => MemOp::Wait32 { at, value: value as u32, until },
            _ => MemOp::Wait64 { at, value, until },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn driver(until: Until, word: u64, value: u64, bytes: usize) -> bool {
        match (until, bytes) {
            (Until::Geq, 4) => (word as u32).wrapping_sub(value as u32) as i32 >= 0,
            (Until::Geq, _) => word.wrapping_sub(value) as i64 >= 0,
            (Until::Eq, _) => word == value,
            (Until::And, _) => word & value != 0,
            (Until::Nor, 4) => !(word as u32 | value as u32) != 0,
            (Until::Nor, _) => !(word | value) != 0,
        }
    }

    fn interesting(bytes: usize) -> Vec<u64> {
        let all = u64::MAX >> (64 - 8 * bytes);
        let near = [0, all / 2, all / 2 + 1, all, 1 << 12, all / 3];
        near.iter().flat_map(|&v| (0..7).map(move |d| v.wrapping_add(d).wrapping_sub(3) & all)).collect()
    }

    const ALL: [Cmp; 6] = [Cmp::Eq, Cmp::Ne, Cmp::Gt, Cmp::Le, Cmp::Lt, Cmp::Ge];

    #[test]
    fn what_the_driver_waits_for_is_what_was_asked() {
        let mut by_stream = 0;
        for (bytes, signed) in [(2, false), (2, true), (4, false), (4, true), (8, false), (8, true)] {
            for bits in interesting(bytes) {
                let shape = Shape { bytes, signed, bits };
                for cmp in ALL {
                    let how = shape.how(cmp, true);
                    for word in interesting(bytes) {
                        let asked = shape.holds(cmp, word);
                        match how {
                            How::Always => assert!(asked, "{shape:?} {cmp:?} {word:#x}"),
                            How::Stream(until, value) => {
                                by_stream += 1;
                                let got = driver(until, word, value, bytes);
                                assert_eq!(got, asked, "{shape:?} {cmp:?} {word:#x}: {until:?} {value:#x}");
                            }
                            How::Look => {}
                        }
                    }
                }
            }
        }
        assert!(by_stream > 1000, "{by_stream}");
    }

    #[test]
    fn common_waits_need_nobody_to_look() {
        let signal = |cmp, value: u64| Shape::from(Word::U64(value)).how(cmp, true);
        assert_eq!(signal(Cmp::Eq, 7), How::Stream(Until::Eq, 7));
        assert_eq!(signal(Cmp::Ge, 1), How::Stream(Until::And, u64::MAX));
        assert_eq!(signal(Cmp::Ne, 0), How::Stream(Until::And, u64::MAX));
        assert_eq!(signal(Cmp::Gt, 0), How::Stream(Until::And, u64::MAX));
        assert_eq!(signal(Cmp::Ge, 0), How::Always);
        assert_eq!(Shape::from(Word::I32(-1)).how(Cmp::Gt, true), How::Stream(Until::Geq, 0));
        assert_eq!(Shape::from(Word::I64(0)).how(Cmp::Lt, true), How::Stream(Until::And, 1 << 63));
        // As a comparison of counts that go round, this would miss a signal of 2^63 + 2 or more.
        assert_eq!(signal(Cmp::Ge, 2), How::Look);
        assert_eq!(signal(Cmp::Ne, u64::MAX), How::Stream(Until::Nor, 0));
        assert_eq!(Shape::from(Word::U64(0)).how(Cmp::Ne, false), How::Stream(Until::And, u64::MAX));
        assert_eq!(Shape::from(Word::U64(u64::MAX)).how(Cmp::Ne, false), How::Look);
    }

    #[test]
    fn words_are_compared_as_their_type_says() {
        assert!(Shape::from(Word::I16(-3)).holds(Cmp::Lt, u64::from(-4i16 as u16)));
        assert!(!Shape::from(Word::U16(0xfffd)).holds(Cmp::Lt, 0xfffe));
        assert!(Shape::from(Word::I64(-1)).holds(Cmp::Gt, 0));
        assert!(Shape::from(Word::I32(5)).holds(Cmp::Ge, 0xdead_beef_0000_0005));
    }
}

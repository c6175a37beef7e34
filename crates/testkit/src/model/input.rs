//! Bytes read as numbers, so that any bytes are a program.

/// What is left of an input. At its end all numbers are 0.
#[derive(Clone, Debug)]
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    /// All of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Input<'a> {
        Input(bytes)
    }

    /// True where nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// A number below `n`, made of one byte, or of two where one is too few.
    ///
    /// # Panics
    /// For `n` of 0.
    pub fn below(&mut self, n: usize) -> usize {
        let one = usize::from(self.byte());
        if n <= 256 { one % n } else { (one | usize::from(self.byte()) << 8) % n }
    }

    /// True in one of `n` cases.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    /// A small number, which may be negative.
    pub fn small(&mut self) -> i32 {
        i32::from(self.byte() as i8) / 8
    }
}

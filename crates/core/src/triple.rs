//! PEs that a call names by start, stride and size: what is wrong with them, all three shown.
use crate::error::Error;
use core::fmt::Display;

/// So many PEs that don't exist are named.
const NAMED: usize = 4;

/// The three arguments, under the names that they have in the call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Triple {
    pub names: [&'static str; 3],
    pub values: [i64; 3],
}

impl Triple {
    /// The error that says `why`.
    #[cold]
    pub fn wrong(&self, why: impl Display) -> Error {
        let Triple { names: [a, b, c], values: [start, stride, size] } = self;
        Error::BadSet { text: format!("{a} = {start}, {b} = {stride}, {c} = {size}: {why}") }
    }

    /// The error where some of the PEs `start, start + step, ...` are none of the `n` of `of`; `hint`: what to add to it.
    pub fn outside(&self, step: i64, n: i32, of: &str, hint: &str) -> Option<Error> {
        let [start, _, size] = self.values.map(i128::from);
        let pe = |i: i128| start + i * i128::from(step);
        let exists = |pe: i128| (0..i128::from(n)).contains(&pe);
        if exists(start) && exists(pe(size - 1)) {
            return None;
        }
        let mut missing: Vec<String> =
            (0..size).map(pe).filter(|pe| !exists(*pe)).take(NAMED + 1).map(|pe| pe.to_string()).collect();
        let what = if missing.len() == 1 { "there is no PE" } else { "there are no PEs" };
        if missing.len() > NAMED {
            missing[NAMED] = "...".into();
        }
        Some(self.wrong(format_args!("{what} {}; {of} has PEs 0 to {}{hint}", missing.join(", "), n - 1)))
    }
}

//! Lengths and buffers of calls on vectors, checked alike for calls of the host and for those in streams.
use crate::error::{Error, Result};

/// No more than an address space holds.
pub(crate) fn fits(bytes: Option<usize>) -> Option<usize> {
    bytes.filter(|&bytes| bytes <= isize::MAX as usize)
}

/// Why a number of elements can't be right.
pub(crate) const TOO_MANY: &str = "more than the address space";

/// The same of what becomes of a negative one.
pub(crate) const NEGATIVE: &str = "more than the address space; was the number negative?";

/// Bytes of `n` elements, argument `arg`, of `elem` bytes each.
pub fn bytes(arg: &'static str, n: usize, elem: usize) -> Result<usize> {
    fits(n.checked_mul(elem)).ok_or(Error::BadValue { arg, value: n as i64, why: TOO_MANY })
}

/// Bytes of `n` elements, argument `arg`, of `elem` bytes each, from each of so many members.
pub fn bytes_of_all(arg: &'static str, n: usize, elem: usize, members: usize) -> Result<usize> {
    let why = "more than the address space for all members together";
    let total = n.checked_mul(elem).and_then(|bytes| bytes.checked_mul(members));
    fits(total).ok_or(Error::BadValue { arg, value: n as i64, why })
}

/// The error about a stride and a count that lead out of the address space; `said`: these, as the caller passed them. The
/// last element ends `end` bytes after the first one begins.
#[cold]
pub(crate) fn beyond(said: &str, end: u128) -> Error {
    Error::BadSet {
        text: format!(
            "{said}: the last element would end {end} bytes after the first begins, more than an address space holds"
        ),
    }
}

/// Where the last element ends, in bytes from the first: that of `n` blocks of `block` elements, `stride` apart.
pub(crate) fn end(stride: isize, n: usize, block: usize, elem: usize) -> u128 {
    let last = if n > 1 { stride as u128 * (n as u128 - 1) } else { 0 };
    // Three factors below 2^64 fit, where one of them is the size of a type.
    if n == 0 { 0 } else { last.saturating_add(block as u128).saturating_mul(elem as u128) }
}

/// The error about a length that is what becomes of a negative count.
pub fn negative(len: usize) -> Error {
    Error::BadValue { arg: "length", value: len as i64, why: NEGATIVE }
}

/// The root of a collective of `n` members is one of them.
pub fn root(root: i32, n: usize) -> Result<()> {
    if usize::try_from(root).is_ok_and(|root| root < n) {
        return Ok(());
    }
    Err(Error::BadPe { arg: "PE_root", pe: root, n, of: "the team", hint: "" })
}

/// The buffers of a collective, an address and bytes each, don't overlap, which would give wrong values where others still
/// read what this member writes; `in_place`: but they may begin at the same address.
pub fn apart(dest: (usize, usize), source: (usize, usize), in_place: bool) -> Result<()> {
    let ((to, to_len), (from, from_len)) = (dest, source);
    if (to == from && in_place) || to.max(from) >= (to + to_len).min(from + from_len) {
        return Ok(());
    }
    let why = if in_place {
        "overlaps dest; pass the same address for both, or separate buffers"
    } else {
        "overlaps dest; this collective needs separate buffers"
    };
    Err(Error::BadAddress { arg: "source", addr: from, why })
}

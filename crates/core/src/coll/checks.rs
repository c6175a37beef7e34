//! Lengths and buffers of calls on vectors, checked alike for calls of the host and for those in streams.
use crate::error::{Error, Result};

/// No more than an address space holds.
pub(crate) fn fits(bytes: Option<usize>) -> Option<usize> {
    bytes.filter(|&bytes| bytes <= isize::MAX as usize)
}

/// Bytes of `n` elements, argument `arg`, of `elem` bytes each.
pub fn bytes(arg: &'static str, n: usize, elem: usize) -> Result<usize> {
    let why = "more than the address space";
    fits(n.checked_mul(elem)).ok_or(Error::BadValue { arg, value: n as i64, why })
}

/// Bytes of `n` elements, argument `arg`, of `elem` bytes each, from each of so many members.
pub fn bytes_of_all(arg: &'static str, n: usize, elem: usize, members: usize) -> Result<usize> {
    let why = "more than the address space for all members together";
    let total = n.checked_mul(elem).and_then(|bytes| bytes.checked_mul(members));
    fits(total).ok_or(Error::BadValue { arg, value: n as i64, why })
}

/// The error about a length that is what becomes of a negative count.
pub fn negative(len: usize) -> Error {
    let why = "more than the address space; was the number negative?";
    Error::BadValue { arg: "length", value: len as i64, why }
}

/// The root of a collective of `n` members is one of them.
pub fn root(root: i32, n: usize) -> Result<()> {
    if usize::try_from(root).is_ok_and(|root| root < n) {
        return Ok(());
    }
    Err(Error::BadPe { arg: "PE_root", pe: root, n, of: "the team" })
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

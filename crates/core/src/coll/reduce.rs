//! Reductions, the result of which every member gets.
//!
//! The operands are combined in the order of the ranks, whatever the size, so floating-point results are
//! the same bits on all members and in every run. Small vectors travel in the payload buffers and every
//! member combines all of them; large ones are divided: each member combines one part, then all collect
//! the parts, so each byte is read from its owner once.
use super::announced;
use super::barrier::data_tag;
use crate::coll::checks;
use crate::device_heap::{Announce, Vectors};
use crate::error::{Call, Result};
use crate::team::Team;
use crate::transport::mapped;
use crate::world::World;

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the standard")]
pub enum ReduceOp {
    And = 0,
    Or = 1,
    Xor = 2,
    Max = 3,
    Min = 4,
    Sum = 5,
    Prod = 6,
}

/// Element types that devices combine, by the numbers that the library's kernels know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the types of their names")]
#[repr(u32)]
pub enum ElementKind {
    U8 = 0,
    U16 = 1,
    U32 = 2,
    U64 = 3,
    I8 = 4,
    I16 = 5,
    I32 = 6,
    I64 = 7,
    F32 = 8,
    F64 = 9,
    Half = 10,
    BFloat16 = 11,
    ComplexF32 = 12,
    ComplexF64 = 13,
}

impl ElementKind {
    /// What the address of a vector has to be a multiple of.
    pub fn align(self) -> usize {
        use ElementKind::*;
        match self {
            U8 | I8 => 1,
            U16 | I16 | Half | BFloat16 => 2,
            U32 | I32 | F32 | ComplexF32 => 4,
            U64 | I64 | F64 | ComplexF64 => 8,
        }
    }
}

/// How to combine vectors of one type.
#[derive(Clone, Copy, Debug)]
pub struct Reducer {
    /// Bytes of an element.
    pub elem: usize,
    /// What the elements are, where devices can combine them: otherwise the CPU does, wherever the vectors lie.
    pub kind: Option<ElementKind>,
    /// What is computed, where `kind` says of what.
    pub op: ReduceOp,
    /// `acc[i] = acc[i] op other[i]` for `n` elements. Neither pointer need be aligned beyond the element
    /// type's alignment; they don't overlap.
    pub combine: unsafe fn(acc: *mut u8, other: *const u8, n: usize),
    /// Distinguishes operations and types: members that disagree are found.
    pub tag: u32,
}

/// A complex number as C lays it out.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Complex<T> {
    /// Real part.
    pub re: T,
    /// Imaginary part.
    pub im: T,
}

/// Element types with all seven operations.
pub trait ReduceInt: ReduceNum {
    /// The reducer of a bitwise operation.
    fn bitwise(op: ReduceOp) -> Option<Reducer>;
}

/// Element types with max, min, sum and prod.
pub trait ReduceNum: Copy + 'static {
    /// The reducer of `op`, if the type has it.
    fn reducer(op: ReduceOp) -> Option<Reducer>;
}

/// # Safety
/// Both vectors have `n` elements.
#[inline(always)]
unsafe fn each<T: Copy>(acc: *mut u8, other: *const u8, n: usize, f: impl Fn(T, T) -> T) {
    // Costs nothing on x86-64, and a vector at an odd address is no reason to crash.
    let (acc, other) = (acc.cast::<T>(), other.cast::<T>());
    for i in 0..n {
        // SAFETY: element i of both.
        unsafe { acc.add(i).write_unaligned(f(acc.add(i).read_unaligned(), other.add(i).read_unaligned())) };
    }
}

macro_rules! reducer {
    ($t:ty, $kind:ident, $op:expr, $f:expr) => {{
        unsafe fn combine(acc: *mut u8, other: *const u8, n: usize) {
            // SAFETY: the caller's vectors.
            unsafe { each::<$t>(acc, other, n, $f) }
        }
        let (elem, kind, tag) =
            (size_of::<$t>(), Some(ElementKind::$kind), ($op as u32) << 8 | type_tag::<$t>());
        Some(Reducer { elem, kind, op: $op, combine, tag })
    }};
}

/// A number that differs between types of different meaning.
pub(super) fn type_tag<T: 'static>() -> u32 {
    let name = core::any::type_name::<T>();
    name.bytes().fold(size_of::<T>() as u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()))
        << 16
        | size_of::<T>() as u32
}

macro_rules! integers {
    ($($t:ty, $kind:ident;)*) => {$(
        impl ReduceNum for $t {
            fn reducer(op: ReduceOp) -> Option<Reducer> {
                match op {
                    ReduceOp::And => reducer!($t, $kind, op, |a, b| a & b),
                    ReduceOp::Or => reducer!($t, $kind, op, |a, b| a | b),
                    ReduceOp::Xor => reducer!($t, $kind, op, |a, b| a ^ b),
                    ReduceOp::Max => reducer!($t, $kind, op, |a, b| if b > a { b } else { a }),
                    ReduceOp::Min => reducer!($t, $kind, op, |a, b| if b < a { b } else { a }),
                    ReduceOp::Sum => reducer!($t, $kind, op, |a: $t, b: $t| a.wrapping_add(b)),
                    ReduceOp::Prod => reducer!($t, $kind, op, |a: $t, b: $t| a.wrapping_mul(b)),
                }
            }
        }
        impl ReduceInt for $t {
            fn bitwise(op: ReduceOp) -> Option<Reducer> {
                Self::reducer(op)
            }
        }
    )*};
}
integers! {
    i8, I8;
    u8, U8;
    i16, I16;
    u16, U16;
    i32, I32;
    u32, U32;
    i64, I64;
    u64, U64;
    isize, I64;
    usize, U64;
}

macro_rules! floats {
    ($($t:ty, $kind:ident, $complex:ident;)*) => {$(
        impl ReduceNum for $t {
            fn reducer(op: ReduceOp) -> Option<Reducer> {
                match op {
                    // A NaN among the operands is the result, whichever rank it comes from.
                    ReduceOp::Max => reducer!($t, $kind, op, |a: $t, b: $t| if a.is_nan() || a > b { a } else if b.is_nan() || b > a { b } else if a.is_sign_negative() { b } else { a }),
                    ReduceOp::Min => reducer!($t, $kind, op, |a: $t, b: $t| if a.is_nan() || a < b { a } else if b.is_nan() || b < a { b } else if a.is_sign_negative() { a } else { b }),
                    ReduceOp::Sum => reducer!($t, $kind, op, |a, b| a + b),
                    ReduceOp::Prod => reducer!($t, $kind, op, |a, b| a * b),
                    _ => None,
                }
            }
        }
        impl ReduceNum for Complex<$t> {
            fn reducer(op: ReduceOp) -> Option<Reducer> {
                match op {
                    ReduceOp::Sum => reducer!(Complex<$t>, $complex, op, |a: Complex<$t>, b: Complex<$t>| Complex {
                        re: a.re + b.re,
                        im: a.im + b.im,
                    }),
                    ReduceOp::Prod => reducer!(Complex<$t>, $complex, op, |a: Complex<$t>, b: Complex<$t>| Complex {
                        re: a.re * b.re - a.im * b.im,
                        im: a.re * b.im + a.im * b.re,
                    }),
                    _ => None,
                }
            }
        }
    )*};
}
floats! {
    f32, F32, ComplexF32;
    f64, F64, ComplexF64;
}

impl World {
    /// Combines `n` elements at `source` of every member, by rank, and stores the result at `dest` of every
    /// member. `dest == source` is fine; other overlaps are not.
    ///
    /// # Safety
    /// Both are own symmetric addresses of `n` elements, aligned for the element type.
    pub unsafe fn reduce(
        &self,
        team: &Team,
        dest: *mut u8,
        source: *const u8,
        n: usize,
        reducer: &Reducer,
    ) -> Result<()> {
        self.check_team(team)?;
        let call = Call::Reduce;
        let checked = checks::bytes("nreduce", n, reducer.elem)
            .and_then(|bytes| Ok((bytes, self.own_buffers(dest, bytes, source, bytes, true)?)));
        let (bytes, device) = match checked {
            Ok(checked) => checked,
            Err(error) => return self.refuse(team, call, error),
        };
        let sign = data_tag(call, &[bytes as u64, reducer.tag.into()]);
        let argument = announced::of_reducer(reducer, false);
        if device {
            let vectors = Vectors { dest: dest as usize, source: source as usize, n, reducer };
            // SAFETY: both were checked.
            return unsafe { self.reduce_on_device(team, Announce { call, sign, bytes, argument }, vectors) };
        }
        let members = team.pes().len();
        let epoch = self.announce(team, call, bytes as u64, argument);
        if team.carries(bytes) {
            // SAFETY: payload buffers of this epoch; source and destination were checked.
            unsafe {
                mapped::copy(self.own_payload(team, epoch), source, bytes);
                self.meet(team, call, sign, bytes as u64, epoch)?;
                mapped::copy(dest, self.payload_of(team, team.pes()[0] as usize, epoch), bytes);
                for &pe in &team.pes()[1..] {
                    (reducer.combine)(dest, self.payload_of(team, pe as usize, epoch), n);
                }
            }
            return Ok(());
        }
        self.meet(team, call, sign, bytes as u64, epoch)?;
        let (from, to) = part(n, members, team.me());
        if to > from {
            let at = from * reducer.elem;
            // SAFETY: parts of buffers that were checked. In place this overwrites only what nobody else reads.
            unsafe { self.combine_all(team, dest.add(at), source as usize + at, to - from, reducer) };
        }
        self.synchronise(team, call, sign, bytes as u64)?;
        for (rank, pe) in self.members_from_me(team) {
            let (from, to) = part(n, members, rank);
            if rank != team.me() && to > from {
                let at = from * reducer.elem;
                // SAFETY: a part of the destination, here and on the member.
                unsafe { self.fetch(pe, dest.add(at), dest as usize + at, (to - from) * reducer.elem) };
            }
        }
        self.synchronise(team, call, sign, bytes as u64)
    }

    /// Combines `n` elements at the symmetric address `source` of all members, by rank, into `dest`.
    ///
    /// # Safety
    /// Both have `n` elements. They are apart, unless nobody else reads the own source.
    unsafe fn combine_all(&self, team: &Team, dest: *mut u8, source: usize, n: usize, reducer: &Reducer) {
        /// Elements are combined in pieces that stay in the first-level cache.
        const PIECE: usize = 16 << 10;
        let step = (PIECE / reducer.elem).clamp(1, n.max(1));
        let mut scratch = Scratch::new(2 * step * reducer.elem);
        let (acc, other) = scratch.halves();
        let mut at = 0;
        while at < n {
            let count = step.min(n - at);
            let (offset, bytes) = (at * reducer.elem, count * reducer.elem);
            for (rank, &pe) in team.pes().iter().enumerate() {
                // SAFETY: `count` elements of both scratch vectors and of the member's source.
                unsafe {
                    let into = if rank == 0 { acc } else { other };
                    match self.mapped_address(pe as usize, source + offset, bytes) {
                        Some(theirs) if rank > 0 => (reducer.combine)(acc, theirs, count),
                        _ => {
                            self.fetch(pe as usize, into, source + offset, bytes);
                            if rank > 0 {
                                (reducer.combine)(acc, other, count);
                            }
                        }
                    }
                }
            }
            // SAFETY: the own destination.
            unsafe { mapped::copy(dest.add(offset), acc, bytes) };
            at += count;
        }
    }

    /// Combines block `me` (`n` elements a block, a block for each member) of all members' `source`, by rank,
    /// and stores it at `dest`. NVSHMEM's reducescatter. In place (`dest == source`) is fine, at the price of a
    /// copy.
    ///
    /// # Safety
    /// Both are own symmetric addresses, `dest` of `n` elements, `source` of `n` for each member.
    pub unsafe fn reduce_scatter(
        &self,
        team: &Team,
        dest: *mut u8,
        source: *const u8,
        n: usize,
        reducer: &Reducer,
    ) -> Result<()> {
        self.check_team(team)?;
        let call = Call::ReduceScatter;
        let checked = checks::bytes_of_all("nreduce", n, reducer.elem, team.pes().len())
            .and_then(|total| Ok((total, self.own_buffers(dest, n * reducer.elem, source, total, true)?)));
        let (total, device) = match checked {
            Ok(checked) => checked,
            Err(error) => return self.refuse(team, call, error),
        };
        let bytes = n * reducer.elem;
        let mine = team.me() * bytes;
        let sign = data_tag(call, &[bytes as u64, reducer.tag.into()]);
        let argument = announced::of_reducer(reducer, false);
        if device {
            let vectors = Vectors { dest: dest as usize, source: source as usize, n, reducer };
            // SAFETY: both were checked.
            return unsafe {
                self.reduce_scatter_on_device(team, Announce { call, sign, bytes, argument }, vectors)
            };
        }
        let epoch = self.announce(team, call, bytes as u64, argument);
        if team.carries(total) {
            // SAFETY: payload buffers of this epoch; source and destination were checked.
            unsafe {
                mapped::copy(self.own_payload(team, epoch), source, total);
                self.meet(team, call, sign, bytes as u64, epoch)?;
                let block = |pe: u32| self.payload_of(team, pe as usize, epoch).add(mine);
                mapped::copy(dest, block(team.pes()[0]), bytes);
                for &pe in &team.pes()[1..] {
                    (reducer.combine)(dest, block(pe), n);
                }
            }
            return Ok(());
        }
        self.meet(team, call, sign, bytes as u64, epoch)?;
        if dest.cast_const() != source {
            // SAFETY: both were checked, and are apart.
            unsafe { self.combine_all(team, dest, source as usize + mine, n, reducer) };
            return self.synchronise(team, call, sign, bytes as u64);
        }
        // The others read from the own source what the result would overwrite.
        let mut result = Scratch::new(bytes);
        // SAFETY: room for `n` elements; the source was checked.
        unsafe { self.combine_all(team, result.start(), source as usize + mine, n, reducer) };
        self.synchronise(team, call, sign, bytes as u64)?;
        // SAFETY: the destination was checked.
        unsafe { mapped::copy(dest, result.start(), bytes) };
        Ok(())
    }
}

/// Local memory aligned for every element type.
pub(crate) struct Scratch {
    words: Vec<u128>,
}

impl Scratch {
    pub(crate) fn new(bytes: usize) -> Scratch {
        Scratch { words: vec![0; bytes.div_ceil(16) + 1] }
    }

    pub(crate) fn start(&mut self) -> *mut u8 {
        self.words.as_mut_ptr().cast()
    }

    /// Two pieces of half the size each.
    fn halves(&mut self) -> (*mut u8, *mut u8) {
        let half = self.words.len() / 2;
        let start = self.words.as_mut_ptr();
        (start.cast(), start.wrapping_add(half).cast())
    }
}

/// The elements that the member of `rank` combines: parts differ by at most one cache line.
pub fn part(n: usize, members: usize, rank: usize) -> (usize, usize) {
    let each = n.div_ceil(members).next_multiple_of(16);
    ((rank * each).min(n), ((rank + 1) * each).min(n))
}

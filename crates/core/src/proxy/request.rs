//! What a descriptor says: the same numbers as in `include/dushmem/impl/proxy.h`.
use super::ring::WORDS;
use crate::amo::{AmoOp, AmoRequest};
use crate::job::WaitRecord;

/// What is asked for. Numbers are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the calls of World with these names")]
#[repr(u8)]
pub enum Op {
    /// `[dest, source, bytes]`
    Put = 1,
    /// `[dest, data...]`; `small`: bytes, up to 24.
    PutInline = 2,
    /// `[dest, source, bytes]`
    Get = 3,
    /// `[source]`; `small`: bytes, up to 16. The reply holds them.
    GetSmall = 4,
    /// `[dest, source, dst, sst, nelems]`; `small`: bytes of an element.
    Iput = 5,
    /// As [`Op::Iput`].
    Iget = 6,
    /// `[word, value, cond]`; `small`: kind, and 16 for 8 bytes. The reply holds the old value if one is asked for.
    Amo = 7,
    /// `[word, value, operator]`
    Signal = 8,
    /// `[dest, source, bytes, word, value]`; `small`: operator.
    PutSignal = 9,
    Fence = 10,
    Quiet = 11,
    /// `[status]`
    Exit = 12,
}

/// Bits of [`Request::flags`].
pub mod flags {
    /// The local buffer is in use until quiet.
    pub const NBI: u8 = 1;
    /// The address may lie in the library's part of a slice.
    pub const INTERNAL: u8 = 2;
    /// A call of one scalar; of a signal: one with data.
    pub const SCALAR: u8 = 4;
    /// The reply's value is read by the one who asked.
    pub const RESULT: u8 = 8;
}

/// Most bytes that travel in a descriptor.
pub const INLINE_PUT: usize = 24;
/// Most bytes that a reply holds.
pub const INLINE_GET: usize = 16;

/// A request as it was posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// An [`Op`], or a number that this library does not know.
    pub op: u8,
    /// Bits of [`flags`].
    pub flags: u8,
    /// Number of the thread in its block.
    pub thread: u16,
    /// Handle of the context: 0 and 1 are the default one.
    pub ctx: i32,
    /// World PE.
    pub pe: i32,
    /// Depends on the operation.
    pub small: u8,
    /// Number of the block in its grid; the largest stands for larger ones too.
    pub block: u32,
    /// Depends on the operation.
    pub a: [u64; 5],
}

/// The handle that means every context in fence and quiet.
pub const ALL: i32 = i32::MAX;

impl Request {
    /// From a descriptor.
    pub fn decode(words: &[u64; WORDS]) -> Request {
        Request {
            op: words[0] as u8,
            flags: (words[0] >> 8) as u8,
            thread: (words[0] >> 16) as u16,
            ctx: (words[0] >> 32) as i32,
            pe: words[1] as i32,
            small: (words[1] >> 32) as u8,
            block: (words[1] >> 40) as u32,
            a: core::array::from_fn(|i| words[2 + i]),
        }
    }

    /// To a descriptor.
    pub fn encode(&self) -> [u64; WORDS] {
        let Request { op, flags, thread, ctx, pe, small, block, a } = *self;
        let what =
            u64::from(op) | u64::from(flags) << 8 | u64::from(thread) << 16 | u64::from(ctx as u32) << 32;
        let whom = u64::from(pe as u32) | u64::from(small) << 32 | u64::from(block.min(0xff_ffff)) << 40;
        [what, whom, a[0], a[1], a[2], a[3], a[4]]
    }

    /// A request of the host's, for the default context.
    pub fn new(op: Op, pe: i32, a: &[u64]) -> Request {
        let mut all = [0; 5];
        all[..a.len()].copy_from_slice(a);
        Request { op: op as u8, flags: 0, thread: 0, ctx: 0, pe, small: 0, block: 0, a: all }
    }

    /// What the job page says of it: `executed` requests came before.
    pub fn record(&self, executed: u64) -> WaitRecord {
        let Request { op, flags, small, ctx, pe, a, .. } = *self;
        let call = u32::from_le_bytes([op, flags, small, 0]);
        WaitRecord { call, team: ctx, awaited: pe, address: a[0], detail: executed, ..WaitRecord::default() }
    }

    /// The request of such a record, as far as it is told there.
    pub fn of_record(record: &WaitRecord) -> Request {
        let [op, flags, small, _] = record.call.to_le_bytes();
        let ctx = record.team;
        Request { op, flags, small, ctx, ..Request::new(Op::Quiet, record.awaited, &[record.address]) }
    }

    /// True for a bit of [`flags`].
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The operation, if this library knows it.
    pub fn op(&self) -> Option<Op> {
        use Op::{Amo, Exit, Fence, Get, GetSmall, Iget, Iput, Put, PutInline, PutSignal, Quiet, Signal};
        [Put, PutInline, Get, GetSmall, Iput, Iget, Amo, Signal, PutSignal, Fence, Quiet, Exit]
            .into_iter()
            .find(|&op| op as u8 == self.op)
    }

    /// The atomic operation, if this library knows it.
    pub fn amo(&self) -> Option<AmoRequest> {
        use AmoOp::{Add, And, CompareSwap, Fetch, Or, Set, Swap, Xor};
        let op = *[Fetch, Set, Swap, CompareSwap, Add, And, Or, Xor].get(usize::from(self.small & 15))?;
        Some(AmoRequest { op, wide: self.small & 16 != 0, value: self.a[1], cond: self.a[2] })
    }

    /// The call, without a family's prefix and a type, as messages name it.
    pub fn call(&self) -> &'static str {
        let nbi = self.has(flags::NBI);
        match self.op() {
            Some(Op::PutInline) if self.has(flags::SCALAR) => "p",
            Some(Op::Put | Op::PutInline) if nbi => "put_nbi",
            Some(Op::Put | Op::PutInline) => "put",
            Some(Op::GetSmall) if self.has(flags::SCALAR) => "g",
            Some(Op::Get) if nbi => "get_nbi",
            Some(Op::Get | Op::GetSmall) => "get",
            Some(Op::Iput) => "iput",
            Some(Op::Iget) => "iget",
            Some(Op::Amo) => self.amo_call(),
            Some(Op::Signal) if !self.has(flags::SCALAR) => "signal_op",
            Some(Op::Signal | Op::PutSignal) if nbi => "put_signal_nbi",
            Some(Op::Signal | Op::PutSignal) => "put_signal",
            Some(Op::Fence) => "fence",
            Some(Op::Quiet) => "quiet",
            Some(Op::Exit) => "global_exit",
            None => "a request to the proxy",
        }
    }

    fn amo_call(&self) -> &'static str {
        let fetching = self.has(flags::RESULT);
        match self.amo().map(|amo| amo.op) {
            Some(AmoOp::Fetch) => "atomic_fetch",
            Some(AmoOp::Set) => "atomic_set",
            Some(AmoOp::Swap) => "atomic_swap",
            Some(AmoOp::CompareSwap) => "atomic_compare_swap",
            Some(AmoOp::Add) if fetching => "atomic_fetch_add",
            Some(AmoOp::Add) => "atomic_add",
            Some(AmoOp::And) if fetching => "atomic_fetch_and",
            Some(AmoOp::And) => "atomic_and",
            Some(AmoOp::Or) if fetching => "atomic_fetch_or",
            Some(AmoOp::Or) => "atomic_or",
            Some(AmoOp::Xor) if fetching => "atomic_fetch_xor",
            Some(AmoOp::Xor) => "atomic_xor",
            None => "an atomic operation",
        }
    }
}

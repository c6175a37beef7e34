//! Prefix sums over the members of a team (OpenSHMEM section 9.10.10).
//!
//! As in reductions, operands are combined in the order of the ranks, whatever the size. Small vectors
//! travel in the payload buffers; large ones are divided among the members: each reads its part from all,
//! and writes every member's prefix of it, so each byte is read once and written once.
use super::announced;
use super::barrier::data_tag;
use super::reduce::{Reducer, Scratch};
use crate::coll::checks;
use crate::context::Context;
use crate::device_heap::{Announce, Vectors};
use crate::error::{Call, Result};
use crate::team::Team;
use crate::transport::{Put, Reuse, mapped};
use crate::world::World;

/// Which operands a member's result is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    /// Those of the ranks up to the own one.
    Inclusive,
    /// Those of the ranks below the own one; all-zero bytes on rank 0.
    Exclusive,
}

impl World {
    /// Combines `n` elements at `source` of the members up to this one, and stores the result at `dest`.
    /// `dest == source` is fine; other overlaps are not. The operation's neutral element is all-zero bytes.
    ///
    /// # Safety
    /// Both are own symmetric addresses of `n` elements, aligned for the element type.
    pub unsafe fn scan(
        &self,
        team: &Team,
        dest: *mut u8,
        source: *const u8,
        n: usize,
        reducer: &Reducer,
        kind: Scan,
    ) -> Result<()> {
        self.check_team(team)?;
        let call = Call::Scan;
        let checked = checks::bytes("nelems", n, reducer.elem)
            .and_then(|bytes| Ok((bytes, self.own_buffers(dest, bytes, source, bytes, true)?)));
        let (bytes, device) = match checked {
            Ok(checked) => checked,
            Err(error) => return self.refuse(team, call, error),
        };
        let operation = u64::from(reducer.tag) << 1 | u64::from(kind == Scan::Exclusive);
        let sign = data_tag(call, &[bytes as u64, operation]);
        let argument = announced::of_reducer(reducer, kind == Scan::Exclusive);
        if device {
            let vectors = Vectors { dest: dest as usize, source: source as usize, n, reducer };
            // SAFETY: both were checked.
            return unsafe {
                self.scan_on_device(team, Announce { call, sign, bytes, argument }, vectors, kind)
            };
        }
        let epoch = self.announce(team, call, bytes as u64, argument);
        if team.carries(bytes) {
            // SAFETY: payload buffers of this epoch; source and destination were checked.
            unsafe {
                mapped::copy(self.own_payload(team, epoch), source, bytes);
                self.meet(team, call, sign, bytes as u64, epoch)?;
                let operands = team.me() + usize::from(kind == Scan::Inclusive);
                let mut prefix = Scratch::new(bytes);
                for (rank, &pe) in team.pes()[..operands].iter().enumerate() {
                    let theirs = self.payload_of(team, pe as usize, epoch);
                    match rank {
                        0 => mapped::copy(prefix.start(), theirs, bytes),
                        _ => (reducer.combine)(prefix.start(), theirs, n),
                    }
                }
                mapped::copy(dest, prefix.start(), bytes);
            }
            return Ok(());
        }
        self.meet(team, call, sign, bytes as u64, epoch)?;
        let (from, to) = super::reduce::part(n, team.pes().len(), team.me());
        // SAFETY: a part of buffers that were checked, which no other member touches.
        unsafe { self.scan_part(team, dest as usize, source as usize, (from, to), reducer, kind) };
        self.transport().quiet(Context::pending(self.default_context()), None);
        self.synchronise(team, call, sign, bytes as u64)
    }

    /// Computes all members' results of the elements of one part.
    ///
    /// # Safety
    /// As for [`World::scan`]; nobody else touches that part of anybody's buffers.
    unsafe fn scan_part(
        &self,
        team: &Team,
        dest: usize,
        source: usize,
        (from, to): (usize, usize),
        reducer: &Reducer,
        kind: Scan,
    ) {
        /// Elements are combined in pieces that stay in the first-level cache.
        const PIECE: usize = 8 << 10;
        let step = (PIECE / reducer.elem).max(1);
        let (mut prefix, mut operand) =
            (Scratch::new(step * reducer.elem), Scratch::new(step * reducer.elem));
        let mut at = from;
        while at < to {
            let count = step.min(to - at);
            let (offset, bytes) = (at * reducer.elem, count * reducer.elem);
            // SAFETY: room for `step` elements.
            unsafe { prefix.start().write_bytes(0, bytes) };
            for (rank, &pe) in team.pes().iter().enumerate() {
                // SAFETY: `count` elements of the scratch vectors and of the member's buffers. In place, the
                // operand is read before the result is written.
                unsafe {
                    self.fetch(pe as usize, operand.start(), source + offset, bytes);
                    let result = |prefix: *mut u8| Put {
                        pe: pe as usize,
                        dest: dest + offset,
                        source: prefix,
                        bytes,
                        reuse: Reuse::AtReturn,
                    };
                    let pending = Context::pending(self.default_context());
                    if kind == Scan::Exclusive {
                        self.transport().put(pending, result(prefix.start()));
                    }
                    match rank {
                        // Not `0 + operand`: that would turn -0.0 into 0.0.
                        0 => mapped::copy(prefix.start(), operand.start(), bytes),
                        _ => (reducer.combine)(prefix.start(), operand.start(), count),
                    }
                    if kind == Scan::Inclusive {
                        self.transport().put(pending, result(prefix.start()));
                    }
                }
            }
            at += count;
        }
    }
}

//! What a module's kernels know of their PE, and how they reach the others: by load and store, or by requests to the
//! proxy.
use super::call::Call;
use crate::code::Out;
use crate::work::{self, wait_until};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// `DUSHMEM_IMPL_STATE_MAGIC`.
const MAGIC: u64 = 0x6475_7368_6d65_6d31;
/// `DUSHMEM_IMPL_PROXY_MAGIC`.
const RING: u64 = 0x6475_7368_6d70_7831;

/// Requests to the proxy.
const PUT: u64 = 1;
const PUT_INLINE: u64 = 2;
const GET: u64 = 3;
const AMO: u64 = 7;
const QUIET: u64 = 11;
/// `DUSHMEM_IMPL_FLAG_...`.
const HEAP_BY_PROXY: u64 = 4;
const OTHER_BY_PROXY: u64 = 8;
/// Flags of requests.
const INTERNAL: u64 = 2;
const RESULT: u64 = 8;

/// The state of the module, as words of `dushmem_impl_kernel_state`.
pub struct State<'a> {
    pub call: &'a Call<'a>,
    at: usize,
    size: usize,
}

impl<'a> State<'a> {
    pub fn of(call: &'a Call<'a>) -> Out<State<'a>> {
        let module = &call.launch.function.module;
        let found = module.globals.get("dushmem_impl_state");
        let (at, bytes) = *found.ok_or_else(|| call.fault("the module has no state"))?;
        let mut state = State { call, at, size: bytes };
        if state.word(0)? != MAGIC {
            return Err(call.fault("the module's state was never set"));
        }
        state.size = bytes.min(call.load(at + 12, 4)? as usize);
        Ok(state)
    }

    /// The 64-bit field at an offset; 0 where the state that was set is older and ends before it.
    pub fn word(&self, offset: usize) -> Out<u64> {
        if offset + 8 > self.size { Ok(0) } else { self.call.load(self.at + offset, 8) }
    }

    /// Where the copy of own memory at PE `pe` is: of the heap and the internals in front of it, or of the other heap.
    /// `None` where kernels don't reach it.
    pub fn peer(&self, address: usize, len: usize, pe: i32) -> Out<Option<usize>> {
        let (heap, heap_len, internals) = (self.word(24)?, self.word(32)?, self.word(72)?);
        let (other, other_len) = (self.word(96)?, self.word(104)?);
        let begins = address as u64;
        let ends = begins + len as u64;
        let table = if (internals.min(heap)..=heap + heap_len).contains(&begins) && ends <= heap + heap_len {
            self.word(40)?
        } else if other_len != 0 && begins >= other && ends <= other + other_len {
            self.word(112)?
        } else {
            return Err(self.call.fault(&format!("{len} bytes at {address:#x} are not symmetric")));
        };
        let pes = self.word(16)? >> 32;
        if pe < 0 || pe as u64 >= pes {
            return Err(self.call.fault(&format!("PE {pe} of {pes}")));
        }
        let delta = self.call.load(table as usize + 8 * pe as usize, 8)? as i64;
        Ok((delta != i64::MIN).then(|| (begins as i64).wrapping_add(delta) as usize))
    }

    /// Puts a word; complete at quiet.
    pub fn put_word(&self, address: usize, value: u64, pe: i32) -> Out {
        match self.peer(address, 8, pe)? {
            Some(at) => self.call.store(at, value, 8),
            None => self.post(PUT_INLINE | INTERNAL << 8, pe, 8, &[address as u64, value]).map(drop),
        }
    }

    /// Puts from memory of the device, and waits until it is complete.
    pub fn put(&self, dest: usize, source: usize, len: usize, pe: i32) -> Out {
        match self.peer(dest, len, pe)? {
            Some(at) => {
                work::move_bytes(self.call.at(at, len)?, self.call.at(source, len)?, len);
                Ok(())
            }
            None => {
                self.request(PUT, pe, 0, &[dest as u64, source as u64, len as u64])?;
                self.quiet()
            }
        }
    }

    /// Gets into memory of the stand-in.
    pub fn get(&self, into: &mut [u8], source: usize, pe: i32) -> Out {
        let (to, len) = (into.as_mut_ptr(), into.len());
        match self.peer(source, len, pe)? {
            Some(at) => {
                work::move_bytes(to, self.call.at(at, len)?, len);
                Ok(())
            }
            None => self.request(GET | INTERNAL << 8, pe, 0, &[to as u64, source as u64, len as u64]),
        }
    }

    /// Whether the proxy changes words of the heap, and of the other heap, for kernels.
    fn by_proxy(&self) -> Out<(bool, bool)> {
        let flags = self.word(88)? >> 32;
        Ok((flags & HEAP_BY_PROXY != 0, flags & OTHER_BY_PROXY != 0))
    }

    /// Adds to a word of 8 bytes, and gives what it was.
    pub fn fetch_add(&self, word: usize, value: u64, pe: i32) -> Out<u64> {
        let (other, other_len) = (self.word(96)?, self.word(104)?);
        let in_other = (word as u64).wrapping_sub(other) < other_len;
        let (heap_by_proxy, other_by_proxy) = self.by_proxy()?;
        let asks = if in_other { other_by_proxy } else { heap_by_proxy };
        let reached = self.peer(word, 8, pe)?;
        if let Some(at) = reached.filter(|_| !asks) {
            // SAFETY: a mapped and aligned word.
            let word = unsafe { AtomicU64::from_ptr(self.call.word_at(at, 8)?.cast()) };
            return Ok(word.fetch_add(value, Ordering::SeqCst));
        }
        let (ring, ticket) = self.post(AMO | RESULT << 8, pe, 4 | 16, &[word as u64, value])?;
        let reply = ring.reply(ticket);
        self.wait(|| Ok(self.call.load(reply, 8)? == ring.turn(ticket) + 1))?;
        let old = self.call.load(reply + 8, 8)?;
        self.call.store(reply, ring.turn(ticket) + 2, 8)?;
        Ok(old)
    }

    /// Completes what was begun by way of the proxy.
    pub fn quiet(&self) -> Out {
        let asks = self.word(88)? as u32 != 0 || self.by_proxy()? != (false, false);
        if asks { self.request(QUIET, 0, 0, &[]) } else { Ok(()) }
    }

    /// A request that is waited for.
    fn request(&self, op: u64, pe: i32, small: u64, a: &[u64]) -> Out {
        let (ring, ticket) = self.post(op, pe, small, a)?;
        self.wait(|| Ok(self.call.load(ring.reply(ticket), 8)? > ring.turn(ticket)))
    }

    fn wait(&self, ready: impl Fn() -> Out<bool>) -> Out {
        let mut found = Ok(true);
        wait_until(self.call.context, || {
            found = ready();
            found != Ok(false)
        })?;
        found.map(drop)
    }

    /// Posts a request: `include/dushmem/impl/proxy.h`.
    fn post(&self, op: u64, pe: i32, small: u64, a: &[u64]) -> Out<(Ring, u64)> {
        let (call, at) = (self.call, self.word(64)? as usize);
        if at == 0 || call.load(at, 8)? != RING {
            return Err(call.fault(&format!("PE {pe} is out of reach, and no proxy runs")));
        }
        let words = |offset: usize| call.load(at + offset, 8);
        let ring = Ring {
            slots: words(16)? & 0xffff_ffff,
            descriptors: words(24)? as usize,
            replies: words(32)? as usize,
        };
        let shown = at + 64;
        let counted = match self.word(696)? as usize & !63 {
            0 => shown,
            elsewhere => elsewhere,
        };
        // SAFETY: a mapped and aligned word.
        let head = unsafe { AtomicU64::from_ptr(call.word_at(counted, 8)?.cast()) };
        let ticket = Cell::new(0);
        self.wait(|| {
            let next = head.load(Ordering::SeqCst);
            let taken = call.load(ring.reply(next), 8)? >= ring.turn(next)
                && head.compare_exchange(next, next + 1, Ordering::SeqCst, Ordering::SeqCst).is_ok();
            ticket.set(next);
            Ok(taken)
        })?;
        let ticket = ticket.get();
        if counted != shown {
            // SAFETY: as above.
            let shown = unsafe { AtomicU64::from_ptr(call.word_at(shown, 8)?.cast()) };
            shown.fetch_max(ticket + 1, Ordering::SeqCst);
        }
        let to = ring.descriptors + 64 * (ticket & (ring.slots - 1)) as usize;
        call.store(to + 8, op, 8)?;
        call.store(to + 16, u64::from(pe as u32) | small << 32, 8)?;
        for (i, word) in a.iter().enumerate() {
            call.store(to + 24 + 8 * i, *word, 8)?;
        }
        call.store(to, ticket + 1, 8)?;
        Ok((ring, ticket))
    }
}

/// Where the parts of a ring lie.
struct Ring {
    slots: u64,
    descriptors: usize,
    replies: usize,
}

impl Ring {
    /// The turn word of a ticket's slot; the result's words follow.
    fn reply(&self, ticket: u64) -> usize {
        self.replies + 32 * (ticket & (self.slots - 1)) as usize
    }

    /// The turn at which the slot is free for the ticket.
    fn turn(&self, ticket: u64) -> u64 {
        2 * (ticket >> self.slots.ilog2())
    }
}

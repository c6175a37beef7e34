//! Distributed locks (OpenSHMEM section 9.13).
//!
//! A queue lock that fits into the standard's `long`: the upper half of the word on the lock's *home* PE
//! names the last PE in the queue; the lower half of each PE's own word says whether it is in the queue, whether it waits,
//! and who is next. A PE waits on its own word, where the library's updates wake it, and gets the lock in the order
//! of arrival. All bits are zero when nobody holds the lock.
use crate::amo::AmoOp;
use crate::error::{Call, Error, Result};
use crate::job::{WaitRecord, Wanted};
use crate::until::WaitInt;
use crate::world::World;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// In the lower half: waiting for the PE before.
const WAITING: u32 = 1 << 31;
/// In the lower half: in the queue, waiting or with the lock. It is set before a PE can be last in the queue, and stays until
/// nobody can find it there. The bits below it: number of the next PE plus one.
const QUEUED: u32 = 1 << 30;

/// A half of a lock's word with a value that the queue never gives it.
#[cold]
fn never_a_lock(lock: usize, half: &str, pe: i32, value: u32) -> Error {
    let text = format!(
        "lock = {lock:#x}: the {half} half of its word on PE {pe} is {value:#x}, which no lock has there: the word was \
         not 0 when the lock was first used, or something else wrote to it; a lock is set to 0 on all PEs, followed by a \
         barrier, before its first use"
    );
    Error::BadSet { text }
}

/// Sets the own lower half while this PE can't be found in the queue, so that nobody else writes to it.
///
/// # Safety
/// `node` is that half.
unsafe fn set_alone(node: *mut u32, value: u32) {
    // SAFETY: as the caller promises.
    unsafe { AtomicU32::from_ptr(node) }.store(value, Ordering::Release);
}

/// Locks that a thread of this PE holds or waits for: the queue knows PEs, not threads.
#[derive(Debug, Default)]
pub(crate) struct LocalLocks {
    taken: Mutex<HashMap<usize, ThreadId>>,
    freed: Condvar,
}

impl LocalLocks {
    fn lock(&self) -> MutexGuard<'_, HashMap<usize, ThreadId>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lock for the calling thread, without waiting. False where another thread of this PE has it;
    /// an error where this one has.
    fn try_take(&self, lock: usize) -> Result<bool> {
        let me = thread::current().id();
        match self.lock().entry(lock) {
            Entry::Vacant(place) => {
                place.insert(me);
                Ok(true)
            }
            Entry::Occupied(place) if *place.get() == me => {
                let why = "this thread holds the lock already, and would wait for itself";
                Err(Error::BadAddress { arg: "lock", addr: lock, why })
            }
            Entry::Occupied(_) => Ok(false),
        }
    }

    fn take(&self, lock: usize) -> Result<()> {
        while !self.try_take(lock)? {
            let taken = self.lock();
            if taken.contains_key(&lock) {
                drop(self.freed.wait(taken).unwrap_or_else(PoisonError::into_inner));
            }
        }
        Ok(())
    }

    fn free(&self, lock: usize) {
        self.lock().remove(&lock);
        self.freed.notify_all();
    }
}

impl World {
    /// Waits for the lock.
    ///
    /// # Safety
    /// `lock` is an own symmetric word, zero at first, used for nothing else.
    pub unsafe fn set_lock(&self, lock: *mut i64) -> Result<()> {
        let (node, tail, home) = self.lock_parts(lock)?;
        if !self.locks().try_take(lock as usize)? {
            let address = lock as u64;
            let record = WaitRecord {
                call: Call::SetLock as u32,
                team: -1,
                awaited: self.my_pe(),
                address,
                detail: self.lock_number(lock),
                ..WaitRecord::default()
            };
            let _noted = self.wait_slot().note(&self.placed(record));
            self.locks().take(lock as usize)?;
        }
        let me = self.my_pe() as u32 + 1;
        let own = self.my_pe();
        // SAFETY: halves of the caller's word, accessed atomically only.
        unsafe {
            let idle = self.lock_amo(node, AmoOp::Swap, QUEUED | WAITING, own)?;
            if idle != 0 {
                return Err(self.refuse_lock(lock, "lower", own, idle));
            }
            let before = self.lock_amo(tail, AmoOp::Swap, me, home)?;
            if before != 0 {
                if !self.may_stand_before(before) {
                    return Err(self.refuse_lock(lock, "upper", home, before));
                }
                let theirs = self.lock_amo(node, AmoOp::Or, me, before as i32 - 1)?;
                if theirs & !(QUEUED | WAITING) != 0 {
                    return Err(self.refuse_lock(lock, "lower", before as i32 - 1, theirs));
                }
                // That PE can't leave the queue before it knows who is next.
                if theirs & QUEUED == 0 {
                    return Err(self.refuse_lock(lock, "upper", home, before));
                }
                // The launcher follows the queue to who holds the lock.
                let (address, detail) = (lock as u64, self.lock_number(lock));
                let (call, awaited) = (Call::SetLock as u32, before as i32 - 1);
                let record = WaitRecord { call, team: -1, awaited, address, detail, ..WaitRecord::default() };
                self.wait_as(record, || (u32::load(node) & WAITING == 0).then_some(()));
            } else {
                self.lock_amo(node, AmoOp::And, !WAITING, own)?;
            }
        }
        Ok(())
    }

    /// Takes the lock if it is free. True if so.
    ///
    /// # Safety
    /// As for [`World::set_lock`].
    pub unsafe fn test_lock(&self, lock: *mut i64) -> Result<bool> {
        let (node, tail, home) = self.lock_parts(lock)?;
        if !self.locks().try_take(lock as usize).unwrap_or(false) {
            return Ok(false);
        }
        // SAFETY: a half of the caller's word, to which nobody writes while this PE is not in the queue.
        let idle = unsafe { u32::load(node) };
        if idle != 0 {
            return Err(self.refuse_lock(lock, "lower", self.my_pe(), idle));
        }
        let me = self.my_pe() as u32 + 1;
        // SAFETY: halves of the caller's word.
        let before = unsafe {
            set_alone(node, QUEUED);
            self.amo(self.default_context(), tail, AmoOp::CompareSwap, me, 0, home)?
        };
        if before != 0 {
            // SAFETY: as above.
            unsafe { set_alone(node, 0) };
            if !self.may_stand_before(before) {
                return Err(self.refuse_lock(lock, "upper", home, before));
            }
            self.locks().free(lock as usize);
            self.failed_test();
        }
        Ok(before == 0)
    }

    /// Gives the lock to the next PE, after completing what was issued on the default context.
    ///
    /// # Safety
    /// As for [`World::set_lock`].
    pub unsafe fn clear_lock(&self, lock: *mut i64) -> Result<()> {
        let (node, tail, home) = self.lock_parts(lock)?;
        if !self.locks().lock().contains_key(&(lock as usize)) {
            // Not while another thread of this PE takes it.
            if self.locks().try_take(lock as usize)? {
                // SAFETY: as the caller promises.
                let idle = unsafe { u32::load(node) };
                if idle != 0 {
                    return Err(self.refuse_lock(lock, "lower", self.my_pe(), idle));
                }
                // SAFETY: as the caller promises.
                let last = unsafe { self.lock_amo(tail, AmoOp::Fetch, 0, home)? };
                if last == self.my_pe() as u32 + 1 {
                    return Err(self.refuse_lock(lock, "upper", home, last));
                }
                self.locks().free(lock as usize);
            }
            // SAFETY: as the caller promises.
            let who = match unsafe { self.lock_holder(lock as usize, node, tail, home)? } {
                Some(pe) => format!("PE {pe} does"),
                None => "and nobody does".into(),
            };
            let text = format!(
                "lock = {:#x}: this PE does not hold the lock, {who}; clear_lock follows a set_lock or a successful \
                 test_lock",
                lock as usize
            );
            return Err(Error::BadSet { text });
        }
        self.quiet(self.default_context())?;
        let me = self.my_pe() as u32 + 1;
        // SAFETY: halves of the caller's word.
        unsafe {
            let mut next = u32::load(node) & !QUEUED;
            if next == 0 {
                let last = self.amo(self.default_context(), tail, AmoOp::CompareSwap, 0, me, home)?;
                if last != me {
                    if last == 0 || last > self.n_pes() as u32 {
                        return Err(self.refuse_lock(lock, "upper", home, last));
                    }
                    // Somebody is between joining the queue and saying so.
                    let nothing = Wanted::default();
                    next = self.wait_for_own(Call::SetLock, lock as usize, u64::from(last), nothing, || {
                        Some(u32::load(node) & !QUEUED).filter(|&next| next != 0)
                    });
                } else {
                    set_alone(node, 0);
                }
            }
            if next != 0 {
                if !self.may_stand_before(next) {
                    return Err(self.refuse_lock(lock, "lower", self.my_pe(), next));
                }
                self.lock_amo(node, AmoOp::Swap, 0, self.my_pe())?;
                self.lock_amo(node, AmoOp::And, !WAITING, next as i32 - 1)?;
            }
        }
        self.locks().free(lock as usize);
        Ok(())
    }

    /// Whether that entry of the queue, not 0, can name a PE beside this one, which is not in the queue or at its head.
    fn may_stand_before(&self, entry: u32) -> bool {
        entry <= self.n_pes() as u32 && entry != self.my_pe() as u32 + 1
    }

    /// The error about a word that is no lock, which this thread then does not hold.
    #[cold]
    fn refuse_lock(&self, lock: *mut i64, half: &str, pe: i32, value: u32) -> Error {
        self.locks().free(lock as usize);
        never_a_lock(lock as usize, half, pe, value)
    }

    unsafe fn lock_amo(&self, half: *mut u32, op: AmoOp, value: u32, pe: i32) -> Result<u32> {
        // SAFETY: passed on.
        unsafe { self.amo(self.default_context(), half, op, value, 0, pe) }
    }

    /// The PE that holds the lock, as far as can be seen while others go on.
    ///
    /// # Safety
    /// As for [`World::set_lock`], of whose word these are the halves.
    unsafe fn lock_holder(
        &self,
        lock: usize,
        node: *mut u32,
        tail: *mut u32,
        home: i32,
    ) -> Result<Option<i32>> {
        // SAFETY: halves of the caller's word.
        let half = |half: *mut u32, pe: i32| unsafe { self.lock_amo(half, AmoOp::Fetch, 0, pe) };
        let last = half(tail, home)?;
        if last > self.n_pes() as u32 {
            return Err(never_a_lock(lock, "upper", home, last));
        }
        if last == 0 {
            return Ok(None);
        }
        for pe in 0..self.n_pes() {
            let state = half(node, pe)?;
            let next = state & !(QUEUED | WAITING);
            if next > self.n_pes() as u32 || next == pe as u32 + 1 {
                return Err(never_a_lock(lock, "lower", pe, state));
            }
            if state & (QUEUED | WAITING) == QUEUED && (next != 0 || pe + 1 == last as i32) {
                return Ok(Some(pe));
            }
        }
        Ok(None)
    }

    /// A number of the lock that is the same on all PEs.
    fn lock_number(&self, lock: *mut i64) -> u64 {
        self.symmetric_offset(lock as usize) as u64
    }

    /// The own word's halves and the PE whose upper half counts.
    fn lock_parts(&self, lock: *mut i64) -> Result<(*mut u32, *mut u32, i32)> {
        self.own_word("lock", lock as usize, 8)?;
        let halves = lock.cast::<u32>();
        // Offsets are the same on every PE where addresses need not be; they spread locks over PEs.
        let home = self.lock_number(lock) / 8 % self.n_pes() as u64;
        Ok((halves, halves.wrapping_add(1), home as i32))
    }
}

//! Waiting for, and testing, words of the own symmetric memory (OpenSHMEM section 9.11).
//!
//! Both see every way in which a word can be updated: puts, atomics, signals, stores through a mapped
//! pointer. A wait that returns, and a test that succeeds, acquires what the updater ordered before.
use crate::coll::checks;
use crate::device_heap::DeviceHeap;
use crate::error::{Call, Error, Result};
use crate::heap::alloc::Allocator;
use crate::job::{Kind, Place, WaitRecord, Wanted};
use crate::wait::{Naps, wait_for};
use crate::world::World;
use core::cell::RefCell;
use core::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::MutexGuard;

/// A comparison, by NVSHMEM's numbers, which all name families use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the standard")]
pub enum Cmp {
    Eq = 0,
    Ne = 1,
    Gt = 2,
    Le = 3,
    Lt = 4,
    Ge = 5,
}

impl Cmp {
    /// The constant that stands for it.
    pub fn name(self) -> &'static str {
        match self {
            Cmp::Eq => "CMP_EQ",
            Cmp::Ne => "CMP_NE",
            Cmp::Gt => "CMP_GT",
            Cmp::Le => "CMP_LE",
            Cmp::Lt => "CMP_LT",
            Cmp::Ge => "CMP_GE",
        }
    }

    /// The comparison of that number.
    pub fn from_number(number: i32) -> Result<Cmp> {
        [Cmp::Eq, Cmp::Ne, Cmp::Gt, Cmp::Le, Cmp::Lt, Cmp::Ge]
            .into_iter()
            .find(|&c| c as i32 == number)
            .ok_or(Error::BadValue {
                arg: "cmp",
                value: number.into(),
                why: "no comparison; use the constants CMP_EQ to CMP_GE",
            })
    }

    /// `left cmp right`.
    #[inline(always)]
    pub fn holds<T: PartialOrd>(self, left: T, right: T) -> bool {
        match self {
            Cmp::Eq => left == right,
            Cmp::Ne => left != right,
            Cmp::Gt => left > right,
            Cmp::Le => left <= right,
            Cmp::Lt => left < right,
            Cmp::Ge => left >= right,
        }
    }
}

/// Integers that can be waited for.
pub trait WaitInt: Copy + PartialOrd + 'static {
    /// One atomic load that acquires.
    ///
    /// # Safety
    /// `word` is valid and aligned.
    unsafe fn load(word: *const Self) -> Self;
    /// For wait records.
    const KIND: Kind;
    /// For wait records.
    fn shown(self) -> u64;
}

impl DeviceHeap {
    /// A word of the own heap, as it is now.
    pub(crate) fn seen<T: WaitInt>(&self, word: *const T) -> Result<T> {
        let mut copy = [0u64];
        let room: &mut [u8] = bytemuck::cast_slice_mut(&mut copy);
        // SAFETY: the caller has checked the address; the copy is of a word, aligned.
        unsafe {
            self.device().peek(word as usize, &mut room[..size_of::<T>()])?;
            Ok(T::load(copy.as_ptr().cast()))
        }
    }
}

macro_rules! wait_int {
    ($($int:ty, $atomic:ty, $unsigned:ty;)*) => {$(
        impl WaitInt for $int {
            #[inline(always)]
            unsafe fn load(word: *const Self) -> Self {
                // SAFETY: the caller's word.
                unsafe { <$atomic>::from_ptr(word.cast_mut().cast::<$unsigned>()) }.load(Ordering::Acquire) as Self
            }
            const KIND: Kind = Kind { bytes: size_of::<$int>() as u8, signed: <$int>::MIN != 0 };
            fn shown(self) -> u64 {
                self as u64
            }
        }
    )*};
}
wait_int! {
    i16, AtomicU16, u16;
    u16, AtomicU16, u16;
    i32, AtomicU32, u32;
    u32, AtomicU32, u32;
    i64, AtomicU64, u64;
    u64, AtomicU64, u64;
    isize, AtomicU64, u64;
    usize, AtomicU64, u64;
}

/// What the words of a set are compared with.
#[derive(Clone, Copy, Debug)]
pub enum CmpValues<T> {
    /// All with the same value.
    One(T),
    /// Each with its own: an array as long as the set.
    Each(*const T),
}

/// A set of words with its status array and values.
struct Set<'a, T> {
    ivars: *const T,
    /// Where they lie in memory of a device: then they are looked at in a copy, made anew for each look at the set.
    device: Option<&'a DeviceHeap>,
    copy: RefCell<Vec<u64>>,
    len: usize,
    /// Null, or non-zero where a word is excluded.
    status: *const i32,
    cmp: Cmp,
    values: CmpValues<T>,
}

impl<T: WaitInt> Set<'_, T> {
    fn wanted(&self) -> Wanted {
        let value = match self.values {
            CmpValues::One(value) => Some(value.shown()),
            CmpValues::Each(_) => None,
        };
        let (kind, count) = (Some(T::KIND), Some(self.len as u32));
        Wanted { kind, cmp: self.cmp as u8, value, count, ..Wanted::default() }
    }

    fn included(&self, i: usize) -> bool {
        // SAFETY: null, or an array as long as the set.
        self.status.is_null() || unsafe { self.status.add(i).read() } == 0
    }

    fn any_included(&self) -> bool {
        (0..self.len).any(|i| self.included(i))
    }

    fn holds(&self, i: usize) -> bool {
        let value = match self.values {
            CmpValues::One(value) => value,
            // SAFETY: an array as long as the set.
            CmpValues::Each(values) => unsafe { values.add(i).read() },
        };
        let first = if self.device.is_some() { self.copy.borrow().as_ptr().cast() } else { self.ivars };
        // SAFETY: checked to lie in own symmetric memory, aligned; or a copy of as many words.
        self.cmp.holds(unsafe { T::load(first.add(i)) }, value)
    }

    /// One look at the set.
    fn look<R>(&self, look: impl FnOnce() -> R) -> Result<R> {
        if let Some(heap) = self.device {
            let (mut copy, bytes) = (self.copy.borrow_mut(), self.len * size_of::<T>());
            copy.resize(bytes.div_ceil(8), 0);
            let room: &mut [u8] = bytemuck::cast_slice_mut(&mut copy);
            // SAFETY: checked to lie in the own heap.
            unsafe { heap.device().peek(self.ivars as usize, &mut room[..bytes])? };
        }
        Ok(look())
    }

    /// The same in a wait, which an error ends.
    fn wait<R>(&self, look: impl FnOnce() -> Option<R>) -> Option<Result<R>> {
        self.look(look).transpose()
    }

    fn all_hold(&self) -> bool {
        (0..self.len).all(|i| !self.included(i) || self.holds(i))
    }

    /// The first that holds, searching from `from` on and around.
    fn find(&self, from: usize) -> Option<usize> {
        (from..self.len).chain(0..from).find(|&i| self.included(i) && self.holds(i))
    }

    /// # Safety
    /// `indices` holds as many entries as the set.
    unsafe fn collect(&self, indices: *mut usize) -> usize {
        let mut found = 0;
        for i in (0..self.len).filter(|&i| self.included(i) && self.holds(i)) {
            // SAFETY: `found < len`.
            unsafe { indices.add(found).write(i) };
            found += 1;
        }
        found
    }
}

impl World {
    /// Waits until `*ivar cmp value` and returns what was seen.
    ///
    /// # Safety
    /// `ivar` is an own symmetric word that is only updated in the ways named above.
    #[inline]
    pub unsafe fn wait_until<T: WaitInt>(&self, call: Call, ivar: *const T, cmp: Cmp, value: T) -> Result<T> {
        let arg = if call as u32 == Call::SignalWaitUntil as u32 { "sig_addr" } else { "ivar" };
        let (kind, cmp_number, shown) = (Some(T::KIND), cmp as u8, Some(value.shown()));
        let wanted = Wanted { kind, cmp: cmp_number, value: shown, ..Wanted::default() };
        if let Some(heap) = self.word_place(arg, ivar as usize, size_of::<T>())? {
            let ready =
                || heap.seen(ivar).map(|seen| Some(seen).filter(|&seen| cmp.holds(seen, value))).transpose();
            return self.wait_for_own(call, ivar as usize, value.shown(), wanted, ready);
        }
        // SAFETY: an aligned own symmetric word.
        let ready = || Some(unsafe { T::load(ivar) }).filter(|&seen| cmp.holds(seen, value));
        Ok(self.wait_for_own(call, ivar as usize, value.shown(), wanted, ready))
    }

    /// True if `*ivar cmp value`.
    ///
    /// # Safety
    /// As for [`World::wait_until`].
    #[inline]
    pub unsafe fn test<T: WaitInt>(&self, ivar: *const T, cmp: Cmp, value: T) -> Result<bool> {
        if let Some(heap) = self.word_place("ivar", ivar as usize, size_of::<T>())? {
            return Ok(self.tested(cmp.holds(heap.seen(ivar)?, value)));
        }
        // SAFETY: an aligned own symmetric word.
        Ok(self.tested(cmp.holds(unsafe { T::load(ivar) }, value)))
    }

    /// Waits until all included words compare; returns at once where none is included.
    ///
    /// # Safety
    /// As for [`World::wait_until`], for `len` words; `status` is null or has `len` entries, as have `values`.
    pub unsafe fn wait_until_all<T: WaitInt>(
        &self,
        ivars: *const T,
        len: usize,
        status: *const i32,
        cmp: Cmp,
        values: CmpValues<T>,
    ) -> Result<()> {
        let set = self.set(ivars, len, status, cmp, values)?;
        let ready = || set.wait(|| set.all_hold().then_some(()));
        self.wait_for_own(Call::WaitUntilAll, ivars as usize, len as u64, set.wanted(), ready)
    }

    /// Waits until one included word compares and returns its index; `usize::MAX` at once where none is
    /// included. Repeated calls find every word that compares: the search begins at another place each time.
    ///
    /// # Safety
    /// As for [`World::wait_until_all`].
    pub unsafe fn wait_until_any<T: WaitInt>(
        &self,
        ivars: *const T,
        len: usize,
        status: *const i32,
        cmp: Cmp,
        values: CmpValues<T>,
    ) -> Result<usize> {
        let set = self.set(ivars, len, status, cmp, values)?;
        if !set.any_included() {
            return Ok(usize::MAX);
        }
        let from = self.next_turn() % len;
        let ready = || set.wait(|| set.find(from));
        self.wait_for_own(Call::WaitUntilAny, ivars as usize, len as u64, set.wanted(), ready)
    }

    /// Waits until at least one included word compares, stores the indices of all that do, and returns
    /// their number; 0 at once where none is included.
    ///
    /// # Safety
    /// As for [`World::wait_until_all`]; `indices` has `len` entries.
    pub unsafe fn wait_until_some<T: WaitInt>(
        &self,
        ivars: *const T,
        len: usize,
        indices: *mut usize,
        status: *const i32,
        cmp: Cmp,
        values: CmpValues<T>,
    ) -> Result<usize> {
        let set = self.set(ivars, len, status, cmp, values)?;
        if !set.any_included() {
            return Ok(0);
        }
        if indices.is_null() {
            return Err(Error::Null { arg: "indices" });
        }
        // SAFETY: the caller's array.
        let ready = || set.wait(|| Some(unsafe { set.collect(indices) }).filter(|&found| found > 0));
        self.wait_for_own(Call::WaitUntilSome, ivars as usize, len as u64, set.wanted(), ready)
    }

    /// True if all included words compare; true where none is included.
    ///
    /// # Safety
    /// As for [`World::wait_until_all`].
    pub unsafe fn test_all<T: WaitInt>(
        &self,
        ivars: *const T,
        len: usize,
        status: *const i32,
        cmp: Cmp,
        values: CmpValues<T>,
    ) -> Result<bool> {
        let set = self.set(ivars, len, status, cmp, values)?;
        Ok(self.tested(set.look(|| set.all_hold())?))
    }

    /// Index of one included word that compares, or `usize::MAX`.
    ///
    /// # Safety
    /// As for [`World::wait_until_all`].
    pub unsafe fn test_any<T: WaitInt>(
        &self,
        ivars: *const T,
        len: usize,
        status: *const i32,
        cmp: Cmp,
        values: CmpValues<T>,
    ) -> Result<usize> {
        let set = self.set(ivars, len, status, cmp, values)?;
        let from = if len == 0 { 0 } else { self.next_turn() % len };
        let found = set.look(|| set.find(from))?;
        self.tested(found.is_some());
        Ok(found.unwrap_or(usize::MAX))
    }

    /// Stores the indices of all included words that compare and returns their number.
    ///
    /// # Safety
    /// As for [`World::wait_until_some`].
    pub unsafe fn test_some<T: WaitInt>(
        &self,
        ivars: *const T,
        len: usize,
        indices: *mut usize,
        status: *const i32,
        cmp: Cmp,
        values: CmpValues<T>,
    ) -> Result<usize> {
        let set = self.set(ivars, len, status, cmp, values)?;
        if indices.is_null() && set.any_included() {
            return Err(Error::Null { arg: "indices" });
        }
        // SAFETY: the caller's array; nothing is stored where nothing is included.
        let found = set.look(|| unsafe { set.collect(indices) })?;
        self.tested(found > 0);
        Ok(found)
    }

    fn set<T: WaitInt>(
        &self,
        ivars: *const T,
        len: usize,
        status: *const i32,
        cmp: Cmp,
        values: CmpValues<T>,
    ) -> Result<Set<'_, T>> {
        self.check_alive()?;
        let mut device = None;
        if len > 0 {
            let bytes = checks::bytes("nelems", len, size_of::<T>())?;
            device = self.range_place("ivars", ivars as usize, bytes, size_of::<T>())?;
            if let CmpValues::Each(values) = values
                && values.is_null()
            {
                return Err(Error::Null { arg: "cmp_values" });
            }
        }
        Ok(Set { ivars, device, copy: RefCell::default(), len, status, cmp, values })
    }

    /// A program that polls with tests must not keep the CPU from the PE that it waits for.
    fn tested(&self, held: bool) -> bool {
        if !held {
            self.failed_test();
        }
        held
    }

    /// A record with where its word lies.
    #[cold]
    pub(crate) fn placed(&self, record: WaitRecord) -> WaitRecord {
        let (addr, window) = (record.address as usize, self.window());
        let host = window.heap().0;
        // Not worth a wait for who allocates.
        let object = |blocks: Option<MutexGuard<'_, Allocator>>, at: usize| {
            blocks
                .and_then(|blocks| blocks.containing(at))
                .map_or((0, 0), |(at, block)| (at as u64, block.asked as u64))
        };
        let place = if window.in_heap(addr, 1) {
            let (start, bytes) = object(self.heap_at_rest(), addr - host);
            Place::Heap((addr - host) as u64, start, bytes)
        } else if window.room_in_globals(addr).is_some() {
            Place::Global
        } else if let Some(heap) = self.device_heap().filter(|heap| heap.contains(addr, 1)) {
            Place::DeviceHeap((addr - heap.heap().0) as u64, 0, 0)
        } else {
            return record;
        };
        let in_file = window.offset_in_file(addr, self.layout()).unwrap_or(0);
        WaitRecord { wanted: Wanted { place, in_file, ..record.wanted }, ..record }
    }

    /// Waits on memory of this PE, woken by the library's own updates.
    pub(crate) fn wait_for_own<R>(
        &self,
        call: Call,
        address: usize,
        detail: u64,
        wanted: Wanted,
        ready: impl FnMut() -> Option<R>,
    ) -> R {
        let (call, address) = (call as u32, address as u64);
        let record = WaitRecord { call, team: -1, awaited: -1, address, detail, ..WaitRecord::default() };
        self.wait_as(WaitRecord { wanted, ..record }, ready)
    }

    /// The same, with what the launcher is told of it: where the word lies is found here.
    pub(crate) fn wait_as<R>(&self, record: WaitRecord, ready: impl FnMut() -> Option<R>) -> R {
        let ready = RefCell::new(ready);
        let record = || self.placed(record);
        let seen = RefCell::new(None);
        let mut naps = Naps::new(self.doorbell());
        wait_for(
            self.policy(),
            Some(self.wait_slot()),
            record,
            || seen.borrow_mut().take().or_else(|| (ready.borrow_mut())()),
            |nap| {
                naps.nap(nap, || {
                    let found = (ready.borrow_mut())();
                    let held = found.is_some();
                    *seen.borrow_mut() = found;
                    held
                });
            },
        )
    }
}

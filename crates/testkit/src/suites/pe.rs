//! A PE as the suites see it: the engine's calls with slices, so that the suites need no `unsafe`.
//!
//! Every wrapper passes memory that is valid by construction (slices, own symmetric objects) or an address
//! that the engine has to refuse; that is what makes the `unsafe` calls in here sound.
#![allow(
    clippy::not_unsafe_ptr_arg_deref,
    reason = "addresses are followed by the engine, which refuses those that are not symmetric"
)]
use crate::plain::reach;
use dushmem_core::amo::{Amo, AmoOp};
use dushmem_core::coll::reduce::Reducer;
use dushmem_core::context::Context;
use dushmem_core::env::HeapKind;
use dushmem_core::error::{Call, Result};
use dushmem_core::rma::Scalar;
use dushmem_core::signal::SignalOp;
use dushmem_core::strided::Blocks;
use dushmem_core::team::Team;
use dushmem_core::until::{Cmp, CmpValues, WaitInt};
use dushmem_core::world::World;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// One PE.
#[derive(Clone, Debug)]
pub struct Pe {
    /// Its view of the job.
    pub world: Arc<World>,
    /// Its number.
    pub me: usize,
    /// Number of PEs.
    pub n: usize,
    /// Where its arrays lie.
    pub kind: HeapKind,
}

impl Deref for Pe {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

/// A symmetric array: this PE's copy.
#[derive(Debug)]
pub struct Sym<T> {
    base: *mut T,
    len: usize,
}

impl<T> Clone for Sym<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Sym<T> {}

// SAFETY: an address; its accesses are volatile, as in every PE.
unsafe impl<T: Send> Send for Sym<T> {}

/// How bytes are copied between the host and memory that it does not reach: to, from, how many.
pub type Copier = fn(usize, usize, usize);

static COPIER: OnceLock<Copier> = OnceLock::new();

/// Has arrays be looked at and changed by copies: for devices whose memory the CPU does not reach.
///
/// # Panics
/// The second time.
pub fn look_by(copier: Copier) {
    assert!(COPIER.set(copier).is_ok(), "arrays are copied in one way");
}

impl<T: Scalar> Sym<T> {
    /// Address of element `i`; one past the end is allowed.
    #[track_caller]
    pub fn at(self, i: usize) -> *mut T {
        assert!(i <= self.len, "{i} of {}", self.len);
        self.base.wrapping_add(i)
    }

    /// Number of elements.
    pub fn len(self) -> usize {
        self.len
    }

    /// True for no elements.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The array of `len` elements that begins at element `from`.
    #[track_caller]
    pub fn slice(self, from: usize, len: usize) -> Sym<T> {
        assert!(from + len <= self.len);
        Sym { base: self.base.wrapping_add(from), len }
    }

    /// Memory that is not symmetric, to be refused.
    pub fn foreign(base: *mut T, len: usize) -> Sym<T> {
        Sym { base, len }
    }

    /// The same bytes.
    pub fn as_bytes(self) -> Sym<u8> {
        Sym { base: self.base.cast(), len: self.len * size_of::<T>() }
    }

    /// The own copy of element `i`.
    #[track_caller]
    pub fn read(self, i: usize) -> T {
        assert!(i < self.len);
        if COPIER.get().is_some() {
            return self.part(i, 1)[0];
        }
        // SAFETY: an own element; others write it as the suite allows, hence volatile.
        unsafe { reach(self.at(i)).read_volatile() }
    }

    /// Stores to the own copy of element `i`.
    #[track_caller]
    pub fn write(self, i: usize, value: T) {
        assert!(i < self.len);
        if COPIER.get().is_some() {
            return self.store(i, &[value]);
        }
        // SAFETY: as in `read`.
        unsafe { reach(self.at(i)).write_volatile(value) }
    }

    /// Stores `value` to all own elements.
    pub fn fill(self, value: T) {
        self.store(0, &vec![value; self.len]);
    }

    /// Stores `values` to the own elements from `from` on.
    #[track_caller]
    pub fn store(self, from: usize, values: &[T]) {
        assert!(from + values.len() <= self.len);
        if let Some(copy) = COPIER.get() {
            return copy(self.at(from) as usize, values.as_ptr() as usize, size_of_val(values));
        }
        // SAFETY: own elements, which nobody else accesses while the suite stores.
        unsafe { reach(self.at(from)).cast::<u8>().copy_from(values.as_ptr().cast(), size_of_val(values)) };
    }

    /// The own elements.
    pub fn to_vec(self) -> Vec<T> {
        self.part(0, self.len)
    }

    /// The own elements from `from` on, `len` of them.
    #[track_caller]
    pub fn part(self, from: usize, len: usize) -> Vec<T> {
        assert!(from + len <= self.len);
        let mut all = Vec::<T>::with_capacity(len);
        let bytes = len * size_of::<T>();
        // SAFETY: own elements, of which any bytes are values; the vector has room for them.
        unsafe {
            match COPIER.get() {
                Some(copy) => copy(all.as_mut_ptr() as usize, self.at(from) as usize, bytes),
                None => all.as_mut_ptr().cast::<u8>().copy_from(reach(self.at(from)).cast(), bytes),
            }
            all.set_len(len);
        }
        all
    }
}

impl Pe {
    /// The PE of `world`.
    pub fn new(world: &Arc<World>) -> Pe {
        let (me, n) = (world.my_pe() as usize, world.n_pes() as usize);
        Pe { me, n, world: Arc::clone(world), kind: HeapKind::Host }
    }

    /// The same, with its arrays in memory of a device.
    pub fn on_device(world: &Arc<World>) -> Pe {
        Pe { kind: HeapKind::Device, ..Pe::new(world) }
    }

    /// The PE after this one.
    pub fn right(&self) -> usize {
        (self.me + 1) % self.n
    }

    /// The PE before this one.
    pub fn left(&self) -> usize {
        (self.me + self.n - 1) % self.n
    }

    /// The default context.
    pub fn ctx(&self) -> &Context {
        self.default_context()
    }

    /// A symmetric array of zeros.
    #[track_caller]
    pub fn alloc<T: Scalar>(&self, len: usize) -> Sym<T> {
        let base = self.calloc_on(self.kind, len, size_of::<T>()).expect("room for the array");
        Sym { base: base.cast(), len }
    }

    /// Frees an array.
    #[track_caller]
    pub fn release<T: Scalar>(&self, array: Sym<T>) {
        self.free(array.base.cast()).expect("an array from alloc");
    }

    /// barrier_all.
    #[track_caller]
    pub fn meet(&self) {
        self.barrier_all().expect("all PEs call barrier_all");
    }

    /// put.
    pub fn put<T: Scalar>(&self, ctx: &Context, dest: *mut T, source: &[T], pe: usize) -> Result<()> {
        // SAFETY: the source is a slice.
        unsafe { self.world.put(ctx, dest.cast(), source.as_ptr().cast(), size_of_val(source), pe as i32) }
    }

    /// put_nbi; the caller keeps `source` until a quiet.
    pub fn put_nbi<T: Scalar>(&self, ctx: &Context, dest: *mut T, source: &[T], pe: usize) -> Result<()> {
        // SAFETY: the source is a slice, which the suites keep until a quiet.
        unsafe {
            self.world.put_nbi(ctx, dest.cast(), source.as_ptr().cast(), size_of_val(source), pe as i32)
        }
    }

    /// get.
    pub fn get<T: Scalar>(&self, ctx: &Context, dest: &mut [T], source: *const T, pe: usize) -> Result<()> {
        // SAFETY: the destination is a slice.
        unsafe { self.world.get(ctx, dest.as_mut_ptr().cast(), source.cast(), size_of_val(dest), pe as i32) }
    }

    /// get_nbi; the caller leaves `dest` alone until a quiet.
    pub fn get_nbi<T: Scalar>(
        &self,
        ctx: &Context,
        dest: &mut [T],
        source: *const T,
        pe: usize,
    ) -> Result<()> {
        // SAFETY: the destination is a slice, which the suites keep until a quiet.
        unsafe {
            self.world.get_nbi(ctx, dest.as_mut_ptr().cast(), source.cast(), size_of_val(dest), pe as i32)
        }
    }

    /// p.
    pub fn p<T: Scalar>(&self, ctx: &Context, dest: *mut T, value: T, pe: usize) -> Result<()> {
        // SAFETY: the suites follow the memory model, or pass what is refused.
        unsafe { self.world.p(ctx, dest, value, pe as i32) }
    }

    /// g.
    pub fn g<T: Scalar>(&self, ctx: &Context, source: *const T, pe: usize) -> Result<T> {
        // SAFETY: as for `p`.
        unsafe { self.world.g(ctx, source, pe as i32) }
    }

    /// iput. `source` holds every element of the stride.
    #[track_caller]
    pub fn iput<T: Scalar>(
        &self,
        dest: *mut T,
        source: &[T],
        (dst, sst): (isize, isize),
        nelems: usize,
        pe: usize,
    ) -> Result<()> {
        assert!(sst < 1 || nelems == 0 || (nelems - 1) * (sst as usize) < source.len());
        let (elem, pe) = (size_of::<T>(), pe as i32);
        // SAFETY: the source was checked.
        unsafe {
            let source = source.as_ptr().cast();
            self.world.iput(self.ctx(), dest.cast(), source, dst, sst, elem, nelems, pe)
        }
    }

    /// ibput. `source` holds every element of the blocks.
    #[track_caller]
    pub fn ibput<T: Scalar>(&self, dest: *mut T, source: &[T], at: [isize; 4], pe: usize) -> Result<()> {
        let blocks = blocks::<T>(at, at[1], source.len());
        // SAFETY: the source was checked.
        unsafe { self.world.ibput(self.ctx(), dest.cast(), source.as_ptr().cast(), &blocks, pe as i32) }
    }

    /// ibget. `dest` holds every element of the blocks.
    #[track_caller]
    pub fn ibget<T: Scalar>(
        &self,
        dest: &mut [T],
        source: *const T,
        at: [isize; 4],
        pe: usize,
    ) -> Result<()> {
        let blocks = blocks::<T>(at, at[0], dest.len());
        // SAFETY: the destination was checked.
        unsafe { self.world.ibget(self.ctx(), dest.as_mut_ptr().cast(), source.cast(), &blocks, pe as i32) }
    }

    /// iget. `dest` holds every element of the stride.
    #[track_caller]
    pub fn iget<T: Scalar>(
        &self,
        dest: &mut [T],
        source: *const T,
        (dst, sst): (isize, isize),
        nelems: usize,
        pe: usize,
    ) -> Result<()> {
        assert!(dst < 1 || nelems == 0 || (nelems - 1) * (dst as usize) < dest.len());
        let (elem, pe) = (size_of::<T>(), pe as i32);
        // SAFETY: the destination was checked.
        unsafe {
            let dest = dest.as_mut_ptr().cast();
            self.world.iget(self.ctx(), dest, source.cast(), dst, sst, elem, nelems, pe)
        }
    }

    /// A fetching atomic.
    pub fn amo<T: Amo>(&self, dest: *mut T, op: AmoOp, value: T, cond: T, pe: usize) -> Result<T> {
        // SAFETY: words of the suites are accessed atomically, or refused.
        unsafe { self.world.amo(self.ctx(), dest, op, value, cond, pe as i32) }
    }

    /// An atomic without a result.
    pub fn post<T: Amo>(&self, ctx: &Context, dest: *mut T, op: AmoOp, value: T, pe: usize) -> Result<()> {
        // SAFETY: as for `amo`.
        unsafe { self.world.amo_post(ctx, dest, op, value, pe as i32) }
    }

    /// A non-blocking atomic; the caller leaves `fetch` alone until a quiet.
    pub fn amo_nbi<T: Amo>(
        &self,
        fetch: &mut T,
        dest: *mut T,
        op: AmoOp,
        value: T,
        cond: T,
        pe: usize,
    ) -> Result<()> {
        // SAFETY: as for `amo`; the suites keep `fetch` until a quiet.
        unsafe { self.world.amo_nbi(self.ctx(), fetch, dest, op, value, cond, pe as i32) }
    }

    /// put_signal.
    pub fn put_signal<T: Scalar>(
        &self,
        (dest, source): (*mut T, &[T]),
        (sig, value, op): (*mut u64, u64, SignalOp),
        pe: usize,
    ) -> Result<()> {
        let (bytes, pe) = (size_of_val(source), pe as i32);
        // SAFETY: the source is a slice.
        unsafe {
            let source = source.as_ptr().cast();
            self.world.put_signal(self.ctx(), dest.cast(), source, bytes, sig, value, op, pe)
        }
    }

    /// put_signal_nbi; the caller keeps `source` until a quiet.
    pub fn put_signal_nbi<T: Scalar>(
        &self,
        (dest, source): (*mut T, &[T]),
        (sig, value, op): (*mut u64, u64, SignalOp),
        pe: usize,
    ) -> Result<()> {
        let (bytes, pe) = (size_of_val(source), pe as i32);
        // SAFETY: the source is a slice, which the suites keep until a quiet.
        unsafe {
            let source = source.as_ptr().cast();
            self.world.put_signal_nbi(self.ctx(), dest.cast(), source, bytes, sig, value, op, pe)
        }
    }

    /// signal_op.
    pub fn signal(&self, sig: *mut u64, value: u64, op: SignalOp, pe: usize) -> Result<()> {
        // SAFETY: a word of the suites, or refused.
        unsafe { self.world.signal_op(self.ctx(), sig, value, op, pe as i32) }
    }

    /// signal_fetch.
    pub fn signal_value(&self, sig: *const u64) -> Result<u64> {
        // SAFETY: as for `signal`.
        unsafe { self.world.signal_fetch(sig) }
    }

    /// wait_until.
    pub fn wait<T: WaitInt>(&self, ivar: *const T, cmp: Cmp, value: T) -> Result<T> {
        // SAFETY: an own word of the suites, or refused.
        unsafe { self.world.wait_until(Call::WaitUntil, ivar, cmp, value) }
    }

    /// test.
    pub fn is<T: WaitInt>(&self, ivar: *const T, cmp: Cmp, value: T) -> Result<bool> {
        // SAFETY: as for `wait`.
        unsafe { self.world.test(ivar, cmp, value) }
    }

    /// broadcast of `len` elements.
    pub fn bcast<T: Scalar>(
        &self,
        team: &Team,
        dest: Sym<T>,
        source: Sym<T>,
        len: usize,
        root: i32,
    ) -> Result<()> {
        assert!(len <= dest.len && len <= source.len);
        let bytes = len * size_of::<T>();
        // SAFETY: both arrays are that long.
        unsafe { self.world.broadcast(team, dest.base.cast(), source.base.cast(), bytes, root) }
    }

    /// fcollect of `len` elements of each member.
    pub fn gather<T: Scalar>(&self, team: &Team, dest: Sym<T>, source: Sym<T>, len: usize) -> Result<()> {
        assert!(len * team.n_pes() as usize <= dest.len && len <= source.len);
        // SAFETY: both arrays are that long.
        unsafe { self.world.fcollect(team, dest.base.cast(), source.base.cast(), len * size_of::<T>()) }
    }

    /// alltoall of `len` elements a pair.
    pub fn exchange<T: Scalar>(&self, team: &Team, dest: Sym<T>, source: Sym<T>, len: usize) -> Result<()> {
        let all = len * team.n_pes() as usize;
        assert!(all <= dest.len && all <= source.len);
        // SAFETY: both arrays are that long.
        unsafe { self.world.alltoall(team, dest.base.cast(), source.base.cast(), len * size_of::<T>()) }
    }

    /// reduce. `dest` and `source` are own symmetric arrays of `n` elements, whatever their type.
    #[track_caller]
    pub fn reduce(
        &self,
        team: &Team,
        dest: Sym<u8>,
        source: Sym<u8>,
        n: usize,
        reducer: &Reducer,
    ) -> Result<()> {
        assert!(n * reducer.elem <= dest.len && n * reducer.elem <= source.len);
        // SAFETY: both arrays are that long.
        unsafe { self.world.reduce(team, dest.base, source.base, n, reducer) }
    }

    /// set_lock.
    pub fn lock(&self, lock: *mut i64) -> Result<()> {
        // SAFETY: a word of the suites that is a lock, or refused.
        unsafe { self.world.set_lock(lock) }
    }

    /// test_lock: true if taken.
    pub fn try_lock(&self, lock: *mut i64) -> Result<bool> {
        // SAFETY: as for `lock`.
        unsafe { self.world.test_lock(lock) }
    }

    /// clear_lock.
    pub fn unlock(&self, lock: *mut i64) -> Result<()> {
        // SAFETY: as for `lock`.
        unsafe { self.world.clear_lock(lock) }
    }

    /// wait_until_all.
    pub fn wait_all<T: WaitInt>(&self, set: &Words<'_, T>) -> Result<()> {
        // SAFETY: status and values are as long as the set.
        unsafe { self.world.wait_until_all(set.ivars, set.len, set.status(), set.cmp, set.values()) }
    }

    /// wait_until_any.
    pub fn wait_any<T: WaitInt>(&self, set: &Words<'_, T>) -> Result<usize> {
        // SAFETY: as for `wait_all`.
        unsafe { self.world.wait_until_any(set.ivars, set.len, set.status(), set.cmp, set.values()) }
    }

    /// wait_until_some: the indices.
    pub fn wait_some<T: WaitInt>(&self, set: &Words<'_, T>) -> Result<Vec<usize>> {
        let mut found = vec![usize::MAX; set.len];
        let at = found.as_mut_ptr();
        // SAFETY: as for `wait_all`; `found` is as long as the set.
        let count = unsafe {
            self.world.wait_until_some(set.ivars, set.len, at, set.status(), set.cmp, set.values())
        }?;
        found.truncate(count);
        Ok(found)
    }

    /// test_all.
    pub fn test_all<T: WaitInt>(&self, set: &Words<'_, T>) -> Result<bool> {
        // SAFETY: as for `wait_all`.
        unsafe { self.world.test_all(set.ivars, set.len, set.status(), set.cmp, set.values()) }
    }

    /// test_any.
    pub fn test_any<T: WaitInt>(&self, set: &Words<'_, T>) -> Result<usize> {
        // SAFETY: as for `wait_all`.
        unsafe { self.world.test_any(set.ivars, set.len, set.status(), set.cmp, set.values()) }
    }

    /// test_some: the indices.
    pub fn test_some<T: WaitInt>(&self, set: &Words<'_, T>) -> Result<Vec<usize>> {
        let mut found = vec![usize::MAX; set.len];
        let at = found.as_mut_ptr();
        // SAFETY: as for `wait_some`.
        let count =
            unsafe { self.world.test_some(set.ivars, set.len, at, set.status(), set.cmp, set.values()) }?;
        found.truncate(count);
        Ok(found)
    }
}

/// A set of words to wait for.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a, T> {
    /// First word.
    pub ivars: *const T,
    /// Number of words.
    pub len: usize,
    /// Which are excluded.
    pub status: Option<&'a [i32]>,
    /// Comparison.
    pub cmp: Cmp,
    /// One value, or one for each.
    pub values: &'a [T],
}

impl<'a, T: WaitInt> Words<'a, T> {
    /// All words of an array against one value.
    pub fn of(array: Sym<T>, cmp: Cmp, value: &'a T) -> Self {
        let values = std::slice::from_ref(value);
        Words { ivars: array.base, len: array.len, status: None, cmp, values }
    }

    fn status(&self) -> *const i32 {
        assert!(self.status.is_none_or(|status| status.len() == self.len));
        self.status.map_or(std::ptr::null(), <[i32]>::as_ptr)
    }

    fn values(&self) -> CmpValues<T> {
        match self.values {
            [one] => CmpValues::One(*one),
            each => {
                assert_eq!(each.len(), self.len);
                CmpValues::Each(each.as_ptr())
            }
        }
    }
}

/// A sequence of bytes that depends on `seed`.
pub fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random(seed);
    let mut bytes = vec![0; len];
    for part in bytes.chunks_mut(8) {
        part.copy_from_slice(&random.next().to_ne_bytes()[..part.len()]);
    }
    bytes
}

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next number.
    #[allow(clippy::should_implement_trait, reason = "never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// Strides of destination and source, block size, number of blocks. The near side has room for `room`.
#[track_caller]
fn blocks<T>([dst, sst, bsize, nblocks]: [isize; 4], near: isize, room: usize) -> Blocks {
    let legal = dst >= bsize && sst >= bsize && bsize > 0 && nblocks > 0;
    let end = (nblocks - 1).checked_mul(near).and_then(|at| at.checked_add(bsize));
    assert!(!legal || end.is_none_or(|end| end as usize <= room || end > 1 << 40), "{end:?} {room}");
    Blocks { dst, sst, elem: size_of::<T>(), bsize: bsize as usize, nblocks: nblocks as usize }
}

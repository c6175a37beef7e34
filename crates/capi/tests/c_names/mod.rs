//! The C names as what a random program calls.
use dushmem_capi as _;
use dushmem_testkit::model::api::{Api, Buffers, Strides, TeamHandle};
use std::ptr;

macro_rules! names {
    ($($name:ident($($arg:ident: $ty:ty),*) $(-> $result:ty)?;)*) => {
        unsafe extern "C" {
            $(fn $name($($arg: $ty),*) $(-> $result)?;)*
        }
    };
}
names! {
    shmem_init_thread(requested: i32, provided: *mut i32) -> i32;
    shmem_finalize();
    shmem_my_pe() -> i32;
    shmem_n_pes() -> i32;
    shmem_barrier_all();
    shmem_fence();
    shmem_quiet();
    shmem_malloc(size: usize) -> *mut u8;
    shmem_malloc_with_hints(size: usize, hints: i64) -> *mut u8;
    shmem_calloc(count: usize, size: usize) -> *mut u8;
    shmem_align(alignment: usize, size: usize) -> *mut u8;
    shmem_realloc(ptr: *mut u8, size: usize) -> *mut u8;
    shmem_free(ptr: *mut u8);
    shmem_putmem(dest: *mut u8, source: *const u8, nelems: usize, pe: i32);
    shmem_getmem(dest: *mut u8, source: *const u8, nelems: usize, pe: i32);
    shmem_iput8(dest: *mut u8, source: *const u8, dst: isize, sst: isize, nelems: usize, pe: i32);
    shmem_iput16(dest: *mut u8, source: *const u8, dst: isize, sst: isize, nelems: usize, pe: i32);
    shmem_iput32(dest: *mut u8, source: *const u8, dst: isize, sst: isize, nelems: usize, pe: i32);
    shmem_iput64(dest: *mut u8, source: *const u8, dst: isize, sst: isize, nelems: usize, pe: i32);
    shmem_iput128(dest: *mut u8, source: *const u8, dst: isize, sst: isize, nelems: usize, pe: i32);
    shmem_iget8(dest: *mut u8, source: *const u8, dst: isize, sst: isize, nelems: usize, pe: i32);
    shmem_iget16(dest: *mut u8, source: *const u8, dst: isize, sst: isize, nelems: usize, pe: i32);
    shmem_iget32(dest: *mut u8, source: *const u8, dst: isize, sst: isize, nelems: usize, pe: i32);
    shmem_iget64(dest: *mut u8, source: *const u8, dst: isize, sst: isize, nelems: usize, pe: i32);
    shmem_iget128(dest: *mut u8, source: *const u8, dst: isize, sst: isize, nelems: usize, pe: i32);
    shmem_ibput8(
        dest: *mut u8, source: *const u8, dst: isize, sst: isize, bsize: usize, nblocks: usize, pe: i32
    );
    shmem_ibput16(
        dest: *mut u8, source: *const u8, dst: isize, sst: isize, bsize: usize, nblocks: usize, pe: i32
    );
    shmem_ibput32(
        dest: *mut u8, source: *const u8, dst: isize, sst: isize, bsize: usize, nblocks: usize, pe: i32
    );
    shmem_ibput64(
        dest: *mut u8, source: *const u8, dst: isize, sst: isize, bsize: usize, nblocks: usize, pe: i32
    );
    shmem_ibput128(
        dest: *mut u8, source: *const u8, dst: isize, sst: isize, bsize: usize, nblocks: usize, pe: i32
    );
    shmem_ibget8(
        dest: *mut u8, source: *const u8, dst: isize, sst: isize, bsize: usize, nblocks: usize, pe: i32
    );
    shmem_ibget16(
        dest: *mut u8, source: *const u8, dst: isize, sst: isize, bsize: usize, nblocks: usize, pe: i32
    );
    shmem_ibget32(
        dest: *mut u8, source: *const u8, dst: isize, sst: isize, bsize: usize, nblocks: usize, pe: i32
    );
    shmem_ibget64(
        dest: *mut u8, source: *const u8, dst: isize, sst: isize, bsize: usize, nblocks: usize, pe: i32
    );
    shmem_ibget128(
        dest: *mut u8, source: *const u8, dst: isize, sst: isize, bsize: usize, nblocks: usize, pe: i32
    );
    shmem_alltoallsmem(team: i32, dest: *mut u8, source: *const u8, dst: isize, sst: isize, nelems: usize) -> i32;
    shmem_collectmem(team: i32, dest: *mut u8, source: *const u8, nelems: usize) -> i32;
    shmem_team_split_2d(
        parent: i32, xrange: i32, xconfig: *const u8, xmask: i64, xteam: *mut i32,
        yconfig: *const u8, ymask: i64, yteam: *mut i32
    ) -> i32;
    shmem_team_split_strided(
        parent: i32, start: i32, stride: i32, size: i32, config: *const u8, mask: i64, new_team: *mut i32
    ) -> i32;
    shmem_team_my_pe(team: i32) -> i32;
    shmem_team_n_pes(team: i32) -> i32;
    shmem_team_translate_pe(source: i32, pe: i32, dest: i32) -> i32;
    shmem_team_destroy(team: i32);
    shmem_team_sync(team: i32) -> i32;
    shmem_broadcastmem(team: i32, dest: *mut u8, source: *const u8, nelems: usize, root: i32) -> i32;
    shmem_fcollectmem(team: i32, dest: *mut u8, source: *const u8, nelems: usize) -> i32;
    shmem_alltoallmem(team: i32, dest: *mut u8, source: *const u8, nelems: usize) -> i32;
    shmem_uint64_sum_reduce(team: i32, dest: *mut u64, source: *const u64, nreduce: usize) -> i32;
}

/// This process as a PE, by the C names.
#[derive(Debug)]
pub struct CNames(());

impl CNames {
    /// init. There is one at a time.
    pub fn init() -> CNames {
        let mut provided = 0;
        // SAFETY: `provided` is a local variable.
        assert_eq!(unsafe { shmem_init_thread(0, &raw mut provided) }, 0);
        CNames(())
    }

    /// finalize.
    pub fn finalize(self) {
        // SAFETY: initialised.
        unsafe { shmem_finalize() };
    }
}

// SAFETY: every call is the library's of that name; the value exists between init and finalize.
unsafe impl Api for CNames {
    fn me(&self) -> usize {
        // SAFETY: initialised, here and below.
        unsafe { shmem_my_pe() as usize }
    }

    fn n(&self) -> usize {
        // SAFETY: initialised.
        unsafe { shmem_n_pes() as usize }
    }

    fn barrier_all(&self) {
        // SAFETY: initialised.
        unsafe { shmem_barrier_all() };
    }

    fn malloc(&self, bytes: usize) -> *mut u8 {
        // SAFETY: initialised.
        unsafe { shmem_malloc(bytes) }
    }

    fn malloc_with_hints(&self, bytes: usize, hints: i64) -> *mut u8 {
        // SAFETY: initialised.
        unsafe { shmem_malloc_with_hints(bytes, hints) }
    }

    fn calloc(&self, count: usize, bytes: usize) -> *mut u8 {
        // SAFETY: initialised.
        unsafe { shmem_calloc(count, bytes) }
    }

    fn align(&self, alignment: usize, bytes: usize) -> *mut u8 {
        // SAFETY: initialised.
        unsafe { shmem_align(alignment, bytes) }
    }

    unsafe fn realloc(&self, block: *mut u8, bytes: usize) -> *mut u8 {
        // SAFETY: the caller's.
        unsafe { shmem_realloc(block, bytes) }
    }

    unsafe fn free(&self, block: *mut u8) {
        // SAFETY: the caller's.
        unsafe { shmem_free(block) };
    }

    unsafe fn put(&self, dest: *mut u8, source: *const u8, bytes: usize, pe: usize) {
        // SAFETY: the caller's.
        unsafe { shmem_putmem(dest, source, bytes, pe as i32) };
    }

    unsafe fn get(&self, dest: *mut u8, source: *const u8, bytes: usize, pe: usize) {
        // SAFETY: the caller's.
        unsafe { shmem_getmem(dest, source, bytes, pe as i32) };
    }

    unsafe fn iput(&self, elem: usize, dest: *mut u8, source: *const u8, how: Strides, pe: usize) {
        let put = match elem {
            1 => shmem_iput8,
            2 => shmem_iput16,
            4 => shmem_iput32,
            8 => shmem_iput64,
            _ => shmem_iput128,
        };
        // SAFETY: the caller's.
        unsafe { put(dest, source, how.dst as isize, how.sst as isize, how.nelems, pe as i32) };
    }

    unsafe fn iget(&self, elem: usize, dest: *mut u8, source: *const u8, how: Strides, pe: usize) {
        let get = match elem {
            1 => shmem_iget8,
            2 => shmem_iget16,
            4 => shmem_iget32,
            8 => shmem_iget64,
            _ => shmem_iget128,
        };
        // SAFETY: the caller's.
        unsafe { get(dest, source, how.dst as isize, how.sst as isize, how.nelems, pe as i32) };
    }

    unsafe fn ibput(
        &self,
        elem: usize,
        dest: *mut u8,
        source: *const u8,
        bsize: usize,
        how: Strides,
        pe: usize,
    ) {
        let put = match elem {
            1 => shmem_ibput8,
            2 => shmem_ibput16,
            4 => shmem_ibput32,
            8 => shmem_ibput64,
            _ => shmem_ibput128,
        };
        // SAFETY: the caller's.
        unsafe { put(dest, source, how.dst as isize, how.sst as isize, bsize, how.nelems, pe as i32) };
    }

    unsafe fn ibget(
        &self,
        elem: usize,
        dest: *mut u8,
        source: *const u8,
        bsize: usize,
        how: Strides,
        pe: usize,
    ) {
        let get = match elem {
            1 => shmem_ibget8,
            2 => shmem_ibget16,
            4 => shmem_ibget32,
            8 => shmem_ibget64,
            _ => shmem_ibget128,
        };
        // SAFETY: the caller's.
        unsafe { get(dest, source, how.dst as isize, how.sst as isize, bsize, how.nelems, pe as i32) };
    }

    fn fence(&self) {
        // SAFETY: initialised.
        unsafe { shmem_fence() };
    }

    fn quiet(&self) {
        // SAFETY: initialised.
        unsafe { shmem_quiet() };
    }

    fn split(&self, parent: TeamHandle, start: i32, stride: i32, size: i32) -> (bool, TeamHandle) {
        let mut team = -7;
        // SAFETY: no configuration; `team` is a local variable.
        let code =
            unsafe { shmem_team_split_strided(parent, start, stride, size, ptr::null(), 0, &raw mut team) };
        (code == 0, team)
    }

    fn split_2d(&self, parent: TeamHandle, xrange: i32) -> (bool, TeamHandle, TeamHandle) {
        let (mut x, mut y) = (-7, -7);
        // SAFETY: no configurations; the teams are local variables.
        let code = unsafe {
            shmem_team_split_2d(parent, xrange, ptr::null(), 0, &raw mut x, ptr::null(), 0, &raw mut y)
        };
        (code == 0, x, y)
    }

    fn team_me(&self, team: TeamHandle) -> i32 {
        // SAFETY: any handle is looked up.
        unsafe { shmem_team_my_pe(team) }
    }

    fn team_n(&self, team: TeamHandle) -> i32 {
        // SAFETY: any handle is looked up.
        unsafe { shmem_team_n_pes(team) }
    }

    fn translate(&self, source: TeamHandle, pe: i32, dest: TeamHandle) -> i32 {
        // SAFETY: any handle is looked up.
        unsafe { shmem_team_translate_pe(source, pe, dest) }
    }

    fn destroy(&self, team: TeamHandle) {
        // SAFETY: any handle is looked up.
        unsafe { shmem_team_destroy(team) };
    }

    fn sync(&self, team: TeamHandle) -> bool {
        // SAFETY: any handle is looked up.
        unsafe { shmem_team_sync(team) == 0 }
    }

    unsafe fn broadcast(&self, team: TeamHandle, at: Buffers, bytes: usize, root: i32) -> bool {
        // SAFETY: the caller's.
        unsafe { shmem_broadcastmem(team, at.dest, at.source, bytes, root) == 0 }
    }

    unsafe fn fcollect(&self, team: TeamHandle, at: Buffers, bytes: usize) -> bool {
        // SAFETY: the caller's.
        unsafe { shmem_fcollectmem(team, at.dest, at.source, bytes) == 0 }
    }

    unsafe fn alltoall(&self, team: TeamHandle, at: Buffers, bytes: usize) -> bool {
        // SAFETY: the caller's.
        unsafe { shmem_alltoallmem(team, at.dest, at.source, bytes) == 0 }
    }

    unsafe fn alltoalls(&self, team: TeamHandle, at: Buffers, how: Strides) -> bool {
        let (dst, sst) = (how.dst as isize, how.sst as isize);
        // SAFETY: the caller's.
        unsafe { shmem_alltoallsmem(team, at.dest, at.source, dst, sst, how.nelems) == 0 }
    }

    unsafe fn collect(&self, team: TeamHandle, at: Buffers, bytes: usize) -> bool {
        // SAFETY: the caller's.
        unsafe { shmem_collectmem(team, at.dest, at.source, bytes) == 0 }
    }

    unsafe fn sum(&self, team: TeamHandle, at: Buffers, numbers: usize) -> bool {
        // SAFETY: the caller's.
        unsafe { shmem_uint64_sum_reduce(team, at.dest.cast(), at.source.cast(), numbers) == 0 }
    }
}

//! The engine's calls, for PEs that are threads.
use super::api::{Api, Buffers, Strides, TeamHandle};
use crate::suites::Pe;
use dushmem_core::coll::reduce::{ReduceNum, ReduceOp};
use dushmem_core::strided::Blocks;
use dushmem_core::team::handles;

// SAFETY: every call is the engine's of that name.
unsafe impl Api for Pe {
    fn me(&self) -> usize {
        self.me
    }

    fn n(&self) -> usize {
        self.n
    }

    fn barrier_all(&self) {
        self.meet();
    }

    fn malloc(&self, bytes: usize) -> *mut u8 {
        self.world.malloc(bytes).or_null()
    }

    fn malloc_with_hints(&self, bytes: usize, _hints: i64) -> *mut u8 {
        self.world.malloc(bytes).or_null()
    }

    fn calloc(&self, count: usize, bytes: usize) -> *mut u8 {
        self.world.calloc(count, bytes).or_null()
    }

    fn align(&self, alignment: usize, bytes: usize) -> *mut u8 {
        self.world.align(alignment, bytes).or_null()
    }

    unsafe fn realloc(&self, block: *mut u8, bytes: usize) -> *mut u8 {
        self.world.realloc(block, bytes).or_null()
    }

    unsafe fn free(&self, block: *mut u8) {
        self.world.free(block).expect("a block in use");
    }

    unsafe fn put(&self, dest: *mut u8, source: *const u8, bytes: usize, pe: usize) {
        // SAFETY: the caller's.
        unsafe { self.world.put(self.ctx(), dest, source, bytes, pe as i32) }.expect("a legal put");
    }

    unsafe fn get(&self, dest: *mut u8, source: *const u8, bytes: usize, pe: usize) {
        // SAFETY: the caller's.
        unsafe { self.world.get(self.ctx(), dest, source, bytes, pe as i32) }.expect("a legal get");
    }

    unsafe fn iput(&self, elem: usize, dest: *mut u8, source: *const u8, how: Strides, pe: usize) {
        let (dst, sst) = (how.dst as isize, how.sst as isize);
        // SAFETY: the caller's.
        unsafe { self.world.iput(self.ctx(), dest, source, dst, sst, elem, how.nelems, pe as i32) }
            .expect("a legal iput");
    }

    unsafe fn iget(&self, elem: usize, dest: *mut u8, source: *const u8, how: Strides, pe: usize) {
        let (dst, sst) = (how.dst as isize, how.sst as isize);
        // SAFETY: the caller's.
        unsafe { self.world.iget(self.ctx(), dest, source, dst, sst, elem, how.nelems, pe as i32) }
            .expect("a legal iget");
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
        // SAFETY: the caller's.
        unsafe { self.world.ibput(self.ctx(), dest, source, &blocks(elem, bsize, how), pe as i32) }
            .expect("a legal ibput");
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
        // SAFETY: the caller's.
        unsafe { self.world.ibget(self.ctx(), dest, source, &blocks(elem, bsize, how), pe as i32) }
            .expect("a legal ibget");
    }

    fn fence(&self) {
        self.world.fence(self.ctx()).expect("fence");
    }

    fn quiet(&self) {
        self.world.quiet(self.ctx()).expect("quiet");
    }

    fn split(&self, parent: TeamHandle, start: i32, stride: i32, size: i32) -> (bool, TeamHandle) {
        let made = self.team(parent).and_then(|parent| self.split_strided(&parent, start, stride, size));
        match made {
            Ok(team) => (true, team.unwrap_or(handles::INVALID)),
            Err(_) => (false, handles::INVALID),
        }
    }

    fn split_2d(&self, parent: TeamHandle, xrange: i32) -> (bool, TeamHandle, TeamHandle) {
        match self.team(parent).and_then(|parent| self.world.split_2d(&parent, xrange)) {
            Ok((x, y)) => (true, x, y),
            Err(_) => (false, handles::INVALID, handles::INVALID),
        }
    }

    fn team_me(&self, team: TeamHandle) -> i32 {
        self.team(team).map_or(-1, |team| team.my_pe())
    }

    fn team_n(&self, team: TeamHandle) -> i32 {
        self.team(team).map_or(-1, |team| team.n_pes())
    }

    fn translate(&self, source: TeamHandle, pe: i32, dest: TeamHandle) -> i32 {
        match (self.team(source), self.team(dest)) {
            (Ok(source), Ok(dest)) => self.translate_pe(&source, pe, &dest),
            _ => -1,
        }
    }

    fn destroy(&self, team: TeamHandle) {
        self.team_destroy(team).expect("a team");
    }

    fn sync(&self, team: TeamHandle) -> bool {
        self.team(team).and_then(|team| self.team_sync(&team)).is_ok()
    }

    unsafe fn broadcast(&self, team: TeamHandle, at: Buffers, bytes: usize, root: i32) -> bool {
        let Ok(team) = self.team(team) else { return false };
        // SAFETY: the caller's.
        unsafe { self.world.broadcast(&team, at.dest, at.source, bytes, root) }.is_ok()
    }

    unsafe fn fcollect(&self, team: TeamHandle, at: Buffers, bytes: usize) -> bool {
        let Ok(team) = self.team(team) else { return false };
        // SAFETY: the caller's.
        unsafe { self.world.fcollect(&team, at.dest, at.source, bytes) }.is_ok()
    }

    unsafe fn alltoall(&self, team: TeamHandle, at: Buffers, bytes: usize) -> bool {
        let Ok(team) = self.team(team) else { return false };
        // SAFETY: the caller's.
        unsafe { self.world.alltoall(&team, at.dest, at.source, bytes) }.is_ok()
    }

    unsafe fn alltoalls(&self, team: TeamHandle, at: Buffers, how: Strides) -> bool {
        let Ok(team) = self.team(team) else { return false };
        let (dst, sst) = (how.dst as isize, how.sst as isize);
        // SAFETY: the caller's.
        unsafe { self.world.alltoalls(&team, at.dest, at.source, dst, sst, how.nelems, 1) }.is_ok()
    }

    unsafe fn collect(&self, team: TeamHandle, at: Buffers, bytes: usize) -> bool {
        let Ok(team) = self.team(team) else { return false };
        // SAFETY: the caller's.
        unsafe { self.world.collect(&team, at.dest, usize::MAX, at.source, bytes) }.is_ok()
    }

    unsafe fn sum(&self, team: TeamHandle, at: Buffers, numbers: usize) -> bool {
        let Ok(team) = self.team(team) else { return false };
        let sum = <u64 as ReduceNum>::reducer(ReduceOp::Sum).expect("numbers can be added");
        // SAFETY: the caller's.
        unsafe { self.world.reduce(&team, at.dest, at.source, numbers, &sum) }.is_ok()
    }
}

fn blocks(elem: usize, bsize: usize, how: Strides) -> Blocks {
    Blocks { dst: how.dst as isize, sst: how.sst as isize, elem, bsize, nblocks: how.nelems }
}

trait OrNull {
    fn or_null(self) -> *mut u8;
}

impl OrNull for dushmem_core::error::Result<*mut u8> {
    fn or_null(self) -> *mut u8 {
        self.unwrap_or(std::ptr::null_mut())
    }
}

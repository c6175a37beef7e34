//! What a random program calls.

/// How a team is named: by the number that C programs hold.
pub type TeamHandle = i32;

/// One PE's calls. A failure of a call that can fail is `None`, `false` or null, as in C.
///
/// # Safety
/// An implementation passes on to the library what it is given, and gives back what the library says.
pub unsafe trait Api {
    /// Number of this PE.
    fn me(&self) -> usize;
    /// Number of PEs.
    fn n(&self) -> usize;
    /// barrier_all.
    fn barrier_all(&self);

    /// malloc.
    fn malloc(&self, bytes: usize) -> *mut u8;
    /// malloc_with_hints; without hints where the interface has none.
    fn malloc_with_hints(&self, bytes: usize, hints: i64) -> *mut u8;
    /// calloc.
    fn calloc(&self, count: usize, bytes: usize) -> *mut u8;
    /// align.
    fn align(&self, alignment: usize, bytes: usize) -> *mut u8;
    /// realloc of a block in use, or of null.
    ///
    /// # Safety
    /// The block is in use on all PEs.
    unsafe fn realloc(&self, block: *mut u8, bytes: usize) -> *mut u8;
    /// free of a block in use, or of null.
    ///
    /// # Safety
    /// The block is in use on all PEs.
    unsafe fn free(&self, block: *mut u8);

    /// put of bytes.
    ///
    /// # Safety
    /// `dest` is symmetric, `source` readable.
    unsafe fn put(&self, dest: *mut u8, source: *const u8, bytes: usize, pe: usize);
    /// get of bytes.
    ///
    /// # Safety
    /// `dest` is writable, `source` symmetric.
    unsafe fn get(&self, dest: *mut u8, source: *const u8, bytes: usize, pe: usize);
    /// iput of elements of `elem` bytes: 1, 2, 4, 8 or 16.
    ///
    /// # Safety
    /// As for [`Api::put`], for all elements; both are aligned.
    unsafe fn iput(&self, elem: usize, dest: *mut u8, source: *const u8, strides: Strides, pe: usize);
    /// iget.
    ///
    /// # Safety
    /// As for [`Api::get`], for all elements; both are aligned.
    unsafe fn iget(&self, elem: usize, dest: *mut u8, source: *const u8, strides: Strides, pe: usize);
    /// ibput of `how.nelems` blocks of `bsize` elements.
    ///
    /// # Safety
    /// As for [`Api::iput`].
    unsafe fn ibput(
        &self,
        elem: usize,
        dest: *mut u8,
        source: *const u8,
        bsize: usize,
        how: Strides,
        pe: usize,
    );
    /// ibget.
    ///
    /// # Safety
    /// As for [`Api::iget`].
    unsafe fn ibget(
        &self,
        elem: usize,
        dest: *mut u8,
        source: *const u8,
        bsize: usize,
        how: Strides,
        pe: usize,
    );
    /// fence.
    fn fence(&self);
    /// quiet.
    fn quiet(&self);

    /// split_strided: whether it succeeded, and the handle.
    fn split(&self, parent: TeamHandle, start: i32, stride: i32, size: i32) -> (bool, TeamHandle);
    /// split_2d: whether it succeeded, and the handles of the row and the column.
    fn split_2d(&self, parent: TeamHandle, xrange: i32) -> (bool, TeamHandle, TeamHandle);
    /// team_my_pe.
    fn team_me(&self, team: TeamHandle) -> i32;
    /// team_n_pes.
    fn team_n(&self, team: TeamHandle) -> i32;
    /// team_translate_pe.
    fn translate(&self, source: TeamHandle, pe: i32, dest: TeamHandle) -> i32;
    /// team_destroy.
    fn destroy(&self, team: TeamHandle);
    /// team_sync.
    fn sync(&self, team: TeamHandle) -> bool;
    /// broadcast of bytes.
    ///
    /// # Safety
    /// As the call demands.
    unsafe fn broadcast(&self, team: TeamHandle, buffers: Buffers, bytes: usize, root: i32) -> bool;
    /// fcollect of bytes.
    ///
    /// # Safety
    /// As the call demands.
    unsafe fn fcollect(&self, team: TeamHandle, buffers: Buffers, bytes: usize) -> bool;
    /// alltoall of bytes.
    ///
    /// # Safety
    /// As the call demands.
    unsafe fn alltoall(&self, team: TeamHandle, buffers: Buffers, bytes: usize) -> bool;
    /// alltoalls of single bytes.
    ///
    /// # Safety
    /// As the call demands.
    unsafe fn alltoalls(&self, team: TeamHandle, buffers: Buffers, how: Strides) -> bool;
    /// collect of bytes.
    ///
    /// # Safety
    /// As the call demands.
    unsafe fn collect(&self, team: TeamHandle, buffers: Buffers, bytes: usize) -> bool;
    /// Sum of 64-bit numbers.
    ///
    /// # Safety
    /// As the call demands.
    unsafe fn sum(&self, team: TeamHandle, buffers: Buffers, numbers: usize) -> bool;
}

/// How the elements of a strided operation lie; strides in elements.
#[derive(Clone, Copy, Debug)]
pub struct Strides {
    /// Of the destination.
    pub dst: usize,
    /// Of the source.
    pub sst: usize,
    /// Number of elements.
    pub nelems: usize,
}

/// The symmetric buffers of a collective.
#[derive(Clone, Copy, Debug)]
pub struct Buffers {
    /// Destination.
    pub dest: *mut u8,
    /// Source.
    pub source: *const u8,
}

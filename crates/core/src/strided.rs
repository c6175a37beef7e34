//! Strided put and get (OpenSHMEM section 9.6): single elements, and blocks of them.
use crate::coll::checks;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::rma::near;
use crate::transport::{Get, Put, Reuse, mapped};
use crate::world::World;

/// How the blocks of a strided transfer lie. Strides and the block are in elements, from the first element of
/// one block to the first of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Stride of the destination, at least `bsize`.
    pub dst: isize,
    /// Stride of the source, at least `bsize`.
    pub sst: isize,
    /// Bytes of an element.
    pub elem: usize,
    /// Elements of a block.
    pub bsize: usize,
    /// Number of blocks.
    pub nblocks: usize,
}

impl World {
    /// Copies `nelems` elements of `elem` bytes, every `sst`-th of `source` to every `dst`-th of `dest` on
    /// PE `pe`. Strides are in elements and at least 1.
    ///
    /// # Safety
    /// As for [`World::put`], for the elements touched.
    #[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
    pub unsafe fn iput(
        &self,
        ctx: &Context,
        dest: *mut u8,
        source: *const u8,
        dst: isize,
        sst: isize,
        elem: usize,
        nelems: usize,
        pe: i32,
    ) -> Result<()> {
        let strided = Strided::check(&Blocks { dst, sst, elem, bsize: 1, nblocks: nelems }, false)?;
        // SAFETY: passed on.
        unsafe { self.put_strided(ctx, dest, source, &strided, pe) }
    }

    /// Copies blocks from `source` to `dest` on PE `pe`. Elements between the blocks are left alone.
    ///
    /// # Safety
    /// As for [`World::put`], for the elements touched.
    pub unsafe fn ibput(
        &self,
        ctx: &Context,
        dest: *mut u8,
        source: *const u8,
        blocks: &Blocks,
        pe: i32,
    ) -> Result<()> {
        // SAFETY: passed on.
        unsafe { self.put_strided(ctx, dest, source, &Strided::check(blocks, true)?, pe) }
    }

    unsafe fn put_strided(
        &self,
        ctx: &Context,
        dest: *mut u8,
        source: *const u8,
        strided: &Strided,
        pe: i32,
    ) -> Result<()> {
        self.check_own_end("source", source as usize, strided.source_span)
            .map_err(|e| strided.told(e, "sst"))?;
        if self.has_devices() {
            let (near, far) = ((source as usize, strided.sst), (dest as usize, strided.dst));
            let (spans, blocks) = ([strided.source_span, strided.dest_span], (strided.block, strided.blocks));
            // SAFETY: passed on.
            if unsafe { self.device_strided(ctx, true, near, far, spans, blocks, pe)? } {
                return Ok(());
            }
        }
        let target = self
            .target_or_empty(ctx, "dest", dest as usize, strided.dest_span, pe)
            .map_err(|e| strided.told(e, "dst"))?;
        if !near("source", source, strided.source_span)? {
            return Ok(());
        }
        if ctx.is_plain()
            && let Some(at) = self.window().translate(dest as usize, strided.dest_span, target)
        {
            // SAFETY: both spans were checked or are the caller's.
            unsafe { strided.copy(at as *mut u8, source) };
        } else {
            for i in 0..strided.blocks {
                let dest = dest as usize + i * strided.dst;
                // SAFETY: block i of both spans.
                unsafe {
                    let source = source.add(i * strided.sst);
                    let put = Put { pe: target, dest, source, bytes: strided.block, reuse: Reuse::AtReturn };
                    self.transport().put(ctx.pending(), put);
                }
            }
        }
        self.ring(target);
        Ok(())
    }

    /// Copies `nelems` elements of `elem` bytes, every `sst`-th of `source` on PE `pe` to every `dst`-th of
    /// `dest`. Strides are in elements and at least 1.
    ///
    /// # Safety
    /// As for [`World::get`], for the elements touched.
    #[allow(clippy::too_many_arguments, reason = "those of the standard's call")]
    pub unsafe fn iget(
        &self,
        ctx: &Context,
        dest: *mut u8,
        source: *const u8,
        dst: isize,
        sst: isize,
        elem: usize,
        nelems: usize,
        pe: i32,
    ) -> Result<()> {
        let strided = Strided::check(&Blocks { dst, sst, elem, bsize: 1, nblocks: nelems }, false)?;
        // SAFETY: passed on.
        unsafe { self.get_strided(ctx, dest, source, &strided, pe) }
    }

    /// Copies blocks from `source` on PE `pe` to `dest`. Elements between the blocks are left alone.
    ///
    /// # Safety
    /// As for [`World::get`], for the elements touched.
    pub unsafe fn ibget(
        &self,
        ctx: &Context,
        dest: *mut u8,
        source: *const u8,
        blocks: &Blocks,
        pe: i32,
    ) -> Result<()> {
        // SAFETY: passed on.
        unsafe { self.get_strided(ctx, dest, source, &Strided::check(blocks, true)?, pe) }
    }

    unsafe fn get_strided(
        &self,
        ctx: &Context,
        dest: *mut u8,
        source: *const u8,
        strided: &Strided,
        pe: i32,
    ) -> Result<()> {
        self.check_own_end("dest", dest as usize, strided.dest_span).map_err(|e| strided.told(e, "dst"))?;
        if self.has_devices() {
            let (near, far) = ((dest as usize, strided.dst), (source as usize, strided.sst));
            let (spans, blocks) = ([strided.dest_span, strided.source_span], (strided.block, strided.blocks));
            // SAFETY: passed on.
            if unsafe { self.device_strided(ctx, false, near, far, spans, blocks, pe)? } {
                return Ok(());
            }
        }
        let target = self
            .target_or_empty(ctx, "source", source as usize, strided.source_span, pe)
            .map_err(|e| strided.told(e, "sst"))?;
        if !near("dest", dest, strided.dest_span)? {
            return Ok(());
        }
        if ctx.is_plain()
            && let Some(at) = self.window().translate(source as usize, strided.source_span, target)
        {
            // SAFETY: both spans were checked or are the caller's.
            unsafe { strided.copy(dest, at as *const u8) };
        } else {
            for i in 0..strided.blocks {
                let source = source as usize + i * strided.sst;
                // SAFETY: block i of both spans.
                unsafe {
                    let dest = dest.add(i * strided.dst);
                    let get = Get { pe: target, dest, source, bytes: strided.block, reuse: Reuse::AtReturn };
                    self.transport().get(ctx.pending(), get);
                }
            }
        }
        Ok(())
    }
}

/// The same in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strided {
    /// From one block to the next at the destination; of a single block, its bytes.
    pub dst: usize,
    /// The same at the source.
    pub sst: usize,
    /// Of a block.
    pub block: usize,
    /// Blocks; none where they have no bytes.
    pub blocks: usize,
    /// From the first element at the destination to the end of the last.
    pub dest_span: usize,
    /// The same at the source.
    pub source_span: usize,
    /// What the caller passed.
    said: Blocks,
    /// Whether with a block size.
    blocked: bool,
}

impl Strided {
    /// Whether lengths and strides make sense. `blocked`: the program has given a block size.
    pub fn check(b: &Blocks, blocked: bool) -> Result<Strided> {
        let block = checks::bytes("bsize", b.bsize, b.elem)?;
        let many = if blocked { "nblocks" } else { "nelems" };
        // Nothing to transfer, so nothing is strided.
        let blocks = if block == 0 { 0 } else { b.nblocks };
        let one = |arg: &'static str, stride: isize| {
            if blocks > 0 && stride < b.bsize as isize {
                let why = if blocked {
                    "strides count elements from one block to the next and are at least bsize"
                } else {
                    "strides count elements and are at least 1"
                };
                return Err(Error::BadValue { arg, value: stride as i64, why });
            }
            // The stride of a single block plays no part, however long.
            let step = if blocks > 1 { (stride as usize).checked_mul(b.elem) } else { Some(block) };
            let span = step
                .and_then(|step| step.checked_mul(blocks.saturating_sub(1)))
                .and_then(|bytes| bytes.checked_add(if blocks > 0 { block } else { 0 }));
            step.zip(checks::fits(span)).ok_or_else(|| {
                if blocks > isize::MAX as usize {
                    return Error::BadValue { arg: many, value: blocks as i64, why: checks::NEGATIVE };
                }
                checks::beyond(&said(b, blocked, arg), checks::end(stride, blocks, b.bsize, b.elem))
            })
        };
        let (dst, dest_span) = one("dst", b.dst)?;
        let (sst, source_span) = one("sst", b.sst)?;
        Ok(Strided { dst, sst, block, blocks, dest_span, source_span, said: *b, blocked })
    }

    /// The error about one side, `arg` its stride, in the caller's words. The stride of a single block plays no part.
    #[cold]
    pub fn told(&self, error: Error, arg: &'static str) -> Error {
        if self.blocks > 1 { error.of_strides(said(&self.said, self.blocked, arg)) } else { error }
    }

    /// # Safety
    /// Both spans are valid.
    unsafe fn copy(&self, dest: *mut u8, source: *const u8) {
        for i in 0..self.blocks {
            // SAFETY: block i of both spans.
            unsafe { mapped::copy(dest.add(i * self.dst), source.add(i * self.sst), self.block) };
        }
    }
}

/// One side's stride and the count, as the caller passed them.
fn said(b: &Blocks, blocked: bool, arg: &str) -> String {
    let stride = if arg == "dst" { b.dst } else { b.sst };
    match blocked {
        true => format!("{arg} = {stride}, bsize = {}, nblocks = {}", b.bsize, b.nblocks),
        false => format!("{arg} = {stride}, nelems = {}", b.nblocks),
    }
}

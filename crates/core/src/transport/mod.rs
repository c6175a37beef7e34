//! How data reaches a PE.
//!
//! The engine handles what it can load and store itself, inline. Everything else goes through
//! [`Transport`], of which there are two: [`shm::Shm`], which is those same loads and stores behind the
//! trait, and [`loopback::Loopback`], which hides the mappings and delays and reorders.
pub mod loopback;
pub mod mapped;
pub mod shm;

use crate::amo::AmoRequest;
use crate::context::Pending;
use crate::signal::Signal;
use std::fmt::Debug;
use std::sync::Arc;

/// When the caller may touch the local buffer of an operation again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// When the call returns.
    AtReturn,
    /// After the next quiet on the context.
    AtQuiet,
}

/// A write to another PE.
#[derive(Clone, Copy, Debug)]
pub struct Put {
    /// Target, a world PE.
    pub pe: usize,
    /// Symmetric address there.
    pub dest: usize,
    /// Local data.
    pub source: *const u8,
    /// How much of it.
    pub bytes: usize,
    /// How long `source` is in use.
    pub reuse: Reuse,
}

/// A read from another PE.
#[derive(Clone, Copy, Debug)]
pub struct Get {
    /// Target, a world PE.
    pub pe: usize,
    /// Local room for the data.
    pub dest: *mut u8,
    /// Symmetric address there.
    pub source: usize,
    /// How much of it.
    pub bytes: usize,
    /// How long `dest` is in use.
    pub reuse: Reuse,
}

/// One way to other PEs. Addresses on the remote side are the caller's own symmetric addresses, already
/// checked to lie in symmetric memory; `pe` is a world PE.
///
/// Ordering: operations of one context may complete in any order, except that those before a `fence`
/// complete before those after it to the same PE, and that a signal follows its own data.
pub trait Transport: Debug + Send + Sync {
    /// Name as `DUSHMEM_TRANSPORT` takes it.
    fn name(&self) -> &'static str;

    /// True where the engine may load and store PE `pe`'s memory itself.
    fn maps(&self, pe: usize) -> bool;

    /// Writes to a PE.
    ///
    /// # Safety
    /// The source is readable for as many bytes, until a quiet if `reuse` says so.
    unsafe fn put(&self, ctx: &Arc<Pending>, put: Put);

    /// Reads from a PE.
    ///
    /// # Safety
    /// The destination is writable for as many bytes, until a quiet if `reuse` says so.
    unsafe fn get(&self, ctx: &Arc<Pending>, get: Get);

    /// Performs an atomic operation and returns the old value.
    fn amo(&self, ctx: &Arc<Pending>, pe: usize, addr: usize, request: AmoRequest) -> u64;

    /// Performs an atomic operation some time before the next quiet; the old value goes to `fetch` unless
    /// that is null.
    ///
    /// # Safety
    /// `fetch` is null or writable for the operand's width until a quiet.
    unsafe fn amo_later(
        &self,
        ctx: &Arc<Pending>,
        pe: usize,
        addr: usize,
        request: AmoRequest,
        fetch: *mut u8,
    );

    /// Writes data, then updates the signal word on the same PE.
    ///
    /// # Safety
    /// As for [`Transport::put`].
    unsafe fn put_signal(&self, ctx: &Arc<Pending>, put: Put, signal: Signal);

    /// Orders what the context has issued before what it issues later, by PE.
    fn fence(&self, ctx: &Arc<Pending>);

    /// Returns when what the context has issued (to `pes`, or to all) is complete at its targets.
    fn quiet(&self, ctx: &Arc<Pending>, pes: Option<&[usize]>);

    /// Returns when what any context has issued is complete.
    fn drain(&self);
}

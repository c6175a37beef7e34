//! How the PEs of a job find each other. Implementations stand in the crate `boot`.
use crate::job::JobPage;
use std::fmt::Debug;
use std::os::fd::BorrowedFd;

/// What the engine needs before it has a heap, and to end the job.
pub trait Bootstrap: Debug + Send + Sync {
    /// This PE's number and the number of PEs.
    fn place(&self) -> (usize, usize);

    /// The memory that the PEs of this node share, and its job page. The file holds the job page at its
    /// beginning and grows as the engine lays it out.
    fn node_memory(&self) -> (BorrowedFd<'_>, &JobPage);

    /// True for a job of one PE that nothing has launched.
    fn is_alone(&self) -> bool {
        false
    }

    /// Gathers `mine` (at most [`crate::job::BLOB`] bytes, the same length on every PE) from all PEs, in
    /// their order, without padding. Collective.
    fn allgather(&self, mine: &[u8]) -> Vec<Vec<u8>>;

    /// Waits for all PEs. Collective.
    fn barrier(&self);

    /// Tells the launcher, if there is one, that this PE has joined or has finalized.
    fn report(&self, state: crate::job::PeState);

    /// Ends the whole job with exit code `code`, as `message` explains (one line, already printed by the
    /// caller if `message` is empty). Does not return.
    fn abort(&self, code: i32, message: &str) -> !;

    /// Ends all other PEs, and lets this one exit by itself within a second, with its exit handlers, which
    /// the caller sees to; the job's exit code is `code`. False where that is not possible: then
    /// [`Bootstrap::abort`] is.
    fn end_others(&self, _code: i32) -> bool {
        false
    }
}

//! The threads of a block, each with an OS thread of its own.
use crate::block::Position;
use crate::grid::Grid;
use crate::warp::Meeting;

pub(crate) fn inside() -> bool {
    false
}
pub(crate) fn sync_threads() {}
pub(crate) fn sync_threads_vote(yes: bool) -> (u32, u32) {
    (u32::from(yes), 1)
}
pub(crate) fn elect() -> bool {
    true
}
pub(crate) fn grid() -> Option<*const Grid> {
    None
}
pub(crate) unsafe fn warp_meet(what: &Meeting) -> Result<(), String> {
    // SAFETY: the caller's.
    unsafe { what.alone() };
    Ok(())
}
pub(crate) fn position() -> Option<Position> {
    None
}
pub(crate) fn abandon() {}

//! Which devices reach each other's memory.
use crate::code::{self, Out};
use crate::context::{DEVICES, device};
use crate::knobs::KNOBS;
use std::collections::BTreeSet;
use std::sync::RwLock;

/// A device, and a context of another one: the device reaches what cuMemAlloc has made there.
static ENABLED: RwLock<BTreeSet<(i32, usize)>> = RwLock::new(BTreeSet::new());

/// Whether a device of this process has a way to memory of a device of the machine.
pub fn reaches(ordinal: i32, physical: usize) -> bool {
    device(ordinal).is_ok_and(|device| !KNOBS.no_peers.have(device.physical, physical))
}

/// The number that a device of the machine has in this process.
pub fn ordinal(physical: usize) -> Option<i32> {
    DEVICES.iter().position(|device| device.physical == physical).map(|ordinal| ordinal as i32)
}

/// Lets a device use what `peer`, a context of device `other`, has allocated.
pub fn enable(ordinal: i32, peer: usize, other: i32) -> Out {
    if ordinal == other {
        return Err(code::INVALID_DEVICE);
    }
    if !reaches(ordinal, device(other)?.physical) {
        return Err(code::PEER_ACCESS_UNSUPPORTED);
    }
    let new = ENABLED.write().expect("no panic").insert((ordinal, peer));
    if new { Ok(()) } else { Err(code::PEER_ACCESS_ALREADY_ENABLED) }
}

pub fn is_enabled(ordinal: i32, peer: usize) -> bool {
    ENABLED.read().expect("no panic").contains(&(ordinal, peer))
}

/// A context is gone.
pub fn forget(context: usize) {
    ENABLED.write().expect("no panic").retain(|(_, peer)| *peer != context);
}

//! Whether the devices of a job reach each other's memory.
use super::driver::{HeapDevice, Link};
use crate::error::{Error, Result, line};
use crate::world::World;

/// What a program does whose devices can't work together as it wants.
const INSTEAD: &str = "DUSHMEM_HEAP_KIND=host puts the heap where all of them reach it";

/// Looks at the links from this PE's device to those of the others, by their names. One that misses is an error; where
/// atomic operations are not possible, the program is told once a pair, or fails where it wants to be told so.
pub(super) fn check(world: &World, device: &dyn HeapDevice, uuids: &[[u8; 16]]) -> Result<()> {
    let me = world.my_pe() as usize;
    for (pe, uuid) in uuids.iter().enumerate().filter(|(_, uuid)| **uuid != uuids[me]) {
        match device.link(uuid) {
            Link::Whole | Link::Unseen => {}
            Link::Missing => {
                let name = device.name();
                return Err(Error::NotSupported(format!(
                    "{name} can't load or store the memory of PE {pe}'s device: there is no link between the two; {INSTEAD}"
                )));
            }
            Link::WithoutAtomics => without_atomics(world, device, uuids, pe)?,
        }
    }
    Ok(())
}

/// The first PEs on two devices speak for the others.
fn without_atomics(world: &World, device: &dyn HeapDevice, uuids: &[[u8; 16]], pe: usize) -> Result<()> {
    let me = world.my_pe() as usize;
    let text = format!(
        "atomic operations of {} on the memory of PE {pe}'s device are not atomic for others, since the link between the \
         two has none; {INSTEAD}",
        device.name()
    );
    if world.settings().strict {
        return Err(Error::NotSupported(text));
    }
    let first = |pe: usize| uuids.iter().position(|uuid| *uuid == uuids[pe]) == Some(pe);
    if me < pe && first(me) && first(pe) {
        dushmem_os::say::say(&line(Some(me), "warning", &text));
    }
    Ok(())
}

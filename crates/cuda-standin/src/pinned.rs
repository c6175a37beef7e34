//! Memory of the host that devices may use.
use crate::code::{self, Out};
use dushmem_os::memory::{self, Mapping};
use std::collections::BTreeMap;
use std::sync::RwLock;

/// A range, by its first address in the table.
pub struct Pinned {
    pub len: usize,
    /// Handle of the context.
    pub context: usize,
    /// Allocated by the driver, rather than registered.
    pub memory: Option<Mapping>,
}

static PINNED: RwLock<BTreeMap<usize, Pinned>> = RwLock::new(BTreeMap::new());

/// Adds a range that overlaps none.
fn insert(at: usize, range: Pinned) -> Out {
    let mut all = PINNED.write().expect("no panic");
    let below = all.range(..at.saturating_add(range.len)).next_back();
    if below.is_some_and(|(start, other)| start + other.len > at) {
        return Err(code::HOST_MEMORY_ALREADY_REGISTERED);
    }
    all.insert(at, range);
    Ok(())
}

pub fn allocate(len: usize, context: usize) -> Out<usize> {
    let len = len.next_multiple_of(memory::page());
    let made = memory::memfd("cuda-standin-host").and_then(|fd| memory::grow(&fd, len as u64).map(|()| fd));
    let made = made.and_then(|fd| Mapping::shared(&fd, 0, len)).map_err(|_| code::OUT_OF_MEMORY)?;
    let at = made.base() as usize;
    insert(at, Pinned { len, context, memory: Some(made) })?;
    Ok(at)
}

pub fn register(at: usize, len: usize, context: usize) -> Out {
    insert(at, Pinned { len, context, memory: None })
}

/// Takes a range away, `allocated` or registered.
pub fn remove(at: usize, allocated: bool) -> Option<Pinned> {
    let mut all = PINNED.write().expect("no panic");
    let same = all.get(&at).is_some_and(|range| range.memory.is_some() == allocated);
    if same { all.remove(&at) } else { None }
}

/// First address, length and context of the range that an address lies in.
pub fn find(address: usize) -> Option<(usize, usize, usize)> {
    let all = PINNED.read().expect("no panic");
    let (start, range) = all.range(..=address).next_back()?;
    (address - start < range.len).then_some((*start, range.len, range.context))
}

/// Whether all of a range lies in one registration.
pub fn holds(address: usize, len: usize) -> bool {
    find(address).is_some_and(|(start, pinned, _)| address - start + len <= pinned)
}

/// Whether all of a range is pinned, by one registration or several that follow on each other.
pub fn covers(address: usize, len: usize) -> bool {
    let end = address.saturating_add(len.max(1));
    let mut next = address;
    while next < end {
        let Some((start, len, _)) = find(next) else { return false };
        next = start + len;
    }
    true
}

pub fn count() -> usize {
    PINNED.read().expect("no panic").len()
}

pub fn forget(context: usize) {
    PINNED.write().expect("no panic").retain(|_, range| range.context != context);
}

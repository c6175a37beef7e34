//! Addresses of device memory: what the program sees, and where the device reaches the same bytes.
use dushmem_os::memory::Mapping;
use std::sync::{Arc, PoisonError, RwLock};

/// A reservation: addresses that nobody can use, and as many behind which memory is.
#[derive(Debug)]
pub(super) struct Space {
    seen: Mapping,
    real: Mapping,
}

static SPACES: RwLock<Vec<Arc<Space>>> = RwLock::new(Vec::new());

impl Space {
    /// Reserves addresses until [`Space::forget`].
    pub(super) fn reserve(at: Option<usize>, bytes: usize) -> std::io::Result<Arc<Space>> {
        let align = super::GRANULE;
        let seen = match at {
            Some(_) => Mapping::reserve(at, bytes)?,
            None => Mapping::reserve_aligned(bytes, align)?,
        };
        let real = Mapping::reserve_aligned(bytes, align)?;
        let space = Arc::new(Space { seen, real });
        SPACES.write().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&space));
        Ok(space)
    }

    /// The reservation that holds an address.
    pub(super) fn of(addr: usize) -> Option<Arc<Space>> {
        let spaces = SPACES.read().unwrap_or_else(PoisonError::into_inner);
        spaces.iter().find(|space| space.offset(addr).is_some()).cloned()
    }

    pub(super) fn forget(space: &Arc<Space>) {
        SPACES.write().unwrap_or_else(PoisonError::into_inner).retain(|known| !Arc::ptr_eq(known, space));
    }

    pub(super) fn base(&self) -> usize {
        self.seen.base() as usize
    }

    pub(super) fn offset(&self, addr: usize) -> Option<usize> {
        let offset = addr.wrapping_sub(self.base());
        (offset < self.seen.len()).then_some(offset)
    }

    /// What is really there.
    pub(super) fn real(&self) -> &Mapping {
        &self.real
    }
}

/// Where the CPU reaches what an address of device memory names; other addresses as they are.
pub fn reach<T>(addr: *mut T) -> *mut T {
    let at = addr as usize;
    match Space::of(at) {
        Some(space) => space.real.base().wrapping_add(space.offset(at).unwrap_or(0)).cast(),
        None => addr,
    }
}

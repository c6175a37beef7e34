//! What the handles of one world share.
use crate::error::{Error, Result};
use dushmem_core::context::Context;
use dushmem_core::error::{Call, Error as Cause};
use dushmem_core::process::Place;
use dushmem_core::world::World;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One PE's world and the blocks that its handles own.
#[derive(Debug)]
pub struct Engine {
    pub(crate) core: Arc<World>,
    blocks: Mutex<Blocks>,
    contexts: Mutex<Vec<Arc<Context>>>,
    /// Holds the process's one place for a world that is not made of threads.
    _place: Place,
}

#[derive(Debug, Default)]
struct Blocks {
    /// In the order of allocation, hence the same on all PEs.
    live: Vec<(u64, usize)>,
    /// Those whose handle was dropped on this PE.
    dropped: HashSet<u64>,
    made: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Engine {
    pub(crate) fn new(core: Arc<World>, place: Place) -> Engine {
        Engine { core, blocks: Mutex::default(), contexts: Mutex::default(), _place: place }
    }

    #[inline(always)]
    pub(crate) fn me(&self) -> usize {
        self.core.my_pe() as usize
    }

    /// Puts the PE and the call's name in front of the engine's error.
    #[inline(always)]
    pub(crate) fn name<T>(&self, call: &'static str, result: dushmem_core::error::Result<T>) -> Result<T> {
        match result {
            Ok(value) => Ok(value),
            Err(cause) => Err(self.fail(call, cause)),
        }
    }

    #[cold]
    pub(crate) fn fail(&self, call: &'static str, cause: Cause) -> Error {
        // What becomes of the error is the program's matter, so nobody waits for a line.
        self.core.boot().node_memory().1.settle(self.me());
        Error::Call { pe: self.me(), call, cause }
    }

    /// A handle of a block was dropped: remembered until the PEs agree to free it.
    pub(crate) fn note_dropped(&self, id: u64) {
        lock(&self.blocks).dropped.insert(id);
    }

    /// A block was allocated. All PEs call this alike.
    pub(crate) fn note_made(&self, addr: usize) -> u64 {
        let mut blocks = lock(&self.blocks);
        let id = blocks.made;
        blocks.made += 1;
        blocks.live.push((id, addr));
        id
    }

    /// A block was freed collectively.
    pub(crate) fn note_freed(&self, id: u64) {
        lock(&self.blocks).live.retain(|&(live, _)| live != id);
    }

    /// Completes what this PE has issued on any context.
    pub(crate) fn quiet_all(&self) -> dushmem_core::error::Result<()> {
        self.core.quiet(self.core.default_context())?;
        let mut contexts = lock(&self.contexts);
        for ctx in contexts.iter() {
            self.core.quiet(ctx)?;
        }
        // A context that was dropped before its operations were complete stayed here until now.
        contexts.retain(|ctx| Arc::strong_count(ctx) > 1);
        Ok(())
    }

    pub(crate) fn keep_context(&self, ctx: &Arc<Context>) {
        lock(&self.contexts).push(Arc::clone(ctx));
    }

    /// Frees what it can before an allocation, whose size it gives. One beyond the address space goes on to the
    /// allocation at once, which refuses it and tells the others why.
    pub(crate) fn reclaim_for(&self, bytes: Option<usize>) -> dushmem_core::error::Result<usize> {
        let Some(bytes) = bytes else { return Ok(usize::MAX) };
        self.reclaim(Call::Malloc, bytes as u64).map(|_| bytes)
    }

    /// Frees the blocks that every PE has dropped. Collective; returns how many there were.
    pub(crate) fn reclaim(&self, call: Call, detail: u64) -> dushmem_core::error::Result<usize> {
        self.quiet_all()?;
        let mut live = Vec::new();
        let count = lock(&self.blocks).dropped.len();
        let freed = self.core.reclaim(call, detail, count, || {
            let blocks = lock(&self.blocks);
            live.clone_from(&blocks.live);
            live.iter().map(|&(id, addr)| (addr as *mut u8, blocks.dropped.contains(&id))).collect()
        })?;
        let mut blocks = lock(&self.blocks);
        let gone: HashSet<u64> =
            live.iter().zip(&freed).filter(|(_, freed)| **freed).map(|(&(id, _), _)| id).collect();
        blocks.live.retain(|(id, _)| !gone.contains(id));
        blocks.dropped.retain(|id| !gone.contains(id));
        Ok(gone.len())
    }
}

/// A PE number as the engine takes it; what does not fit is no PE of any job.
#[inline(always)]
pub(crate) fn pe_number(pe: usize) -> i32 {
    i32::try_from(pe).unwrap_or(i32::MAX)
}

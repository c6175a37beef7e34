//! Handles: numbers that are never given twice, so that a stale one is always found.
use crate::code::{Code, Out};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

static NEXT: AtomicUsize = AtomicUsize::new(0x5d00_0000_0000);

/// A new handle. Looks like an address, and is none.
pub fn fresh() -> usize {
    NEXT.fetch_add(64, Ordering::Relaxed)
}

/// The objects of one kind.
pub struct Table<T>(RwLock<BTreeMap<usize, Arc<T>>>);

impl<T> Table<T> {
    pub const fn new() -> Table<T> {
        Table(RwLock::new(BTreeMap::new()))
    }

    pub fn insert(&self, handle: usize, object: Arc<T>) -> usize {
        self.0.write().expect("no panic").insert(handle, object);
        handle
    }

    pub fn add(&self, object: T) -> usize {
        self.insert(fresh(), Arc::new(object))
    }

    pub fn get(&self, handle: usize, otherwise: Code) -> Out<Arc<T>> {
        self.0.read().expect("no panic").get(&handle).cloned().ok_or(otherwise)
    }

    pub fn remove(&self, handle: usize, otherwise: Code) -> Out<Arc<T>> {
        self.0.write().expect("no panic").remove(&handle).ok_or(otherwise)
    }

    pub fn retain(&self, keep: impl Fn(&T) -> bool) {
        self.0.write().expect("no panic").retain(|_, object| keep(object));
    }

    pub fn all(&self) -> Vec<Arc<T>> {
        self.0.read().expect("no panic").values().cloned().collect()
    }

    pub fn len(&self) -> usize {
        self.0.read().expect("no panic").len()
    }
}

//! Connections of a context to its device: streams share them, and what is in one is begun in order. A stream that waits
//! for a value so holds up the others of its connection, which is how streams that wait for each other hang on a device.
use crate::context::Context;
use crate::knobs;
use crate::work::Work;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

#[derive(Default)]
pub struct Connection {
    /// How much was submitted, and how much of it was begun.
    counts: Mutex<(u64, u64)>,
    changed: Condvar,
}

/// Those of a context; none where streams have nothing to do with each other.
pub struct Connections {
    all: Vec<Arc<Connection>>,
    next: AtomicUsize,
}

impl Connections {
    pub fn new() -> Connections {
        let limited = knobs::text("CONNECTIONS").is_some();
        let said =
            std::env::var("CUDA_DEVICE_MAX_CONNECTIONS").ok().and_then(|text| text.trim().parse().ok());
        let count: usize = if limited { said.unwrap_or(8).clamp(1, 32) } else { 0 };
        Connections { all: (0..count).map(|_| Arc::default()).collect(), next: AtomicUsize::new(0) }
    }

    /// The one that a new stream gets.
    pub fn next(&self) -> Option<Arc<Connection>> {
        if self.all.is_empty() {
            return None;
        }
        Some(self.all[self.next.fetch_add(1, Ordering::Relaxed) % self.all.len()].clone())
    }
}

impl Connection {
    /// The place of new work.
    pub fn place(&self) -> u64 {
        let mut counts = self.counts.lock().expect("no panic");
        counts.0 += 1;
        counts.0 - 1
    }

    pub fn is_next(&self, place: u64) -> bool {
        self.counts.lock().expect("no panic").1 == place
    }

    /// Does work when all before it has begun. Others may begin when this has begun, or, if it waits, ended.
    pub fn run(&self, place: u64, work: &Work, context: &Context, run: impl FnOnce()) {
        let mut counts = self.counts.lock().expect("no panic");
        while counts.1 != place {
            counts = self.changed.wait_timeout(counts, Duration::from_millis(1)).expect("no panic").0;
            if context.check().is_err() {
                return;
            }
        }
        drop(counts);
        let begun = || {
            self.counts.lock().expect("no panic").1 += 1;
            self.changed.notify_all();
        };
        if work.waits() {
            run();
            begun();
        } else {
            begun();
            run();
        }
    }
}

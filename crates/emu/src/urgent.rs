//! Launches into streams of higher priority begin their blocks first, as devices do it: a block that has begun runs
//! on, but one of less priority begins only when no launch of more priority has blocks that haven't.
//!
//! Devices promise no more than a preference, and a launch may have to wait for one of less priority. So a block
//! gives way only while more urgent ones begin every now and then.
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// For each level above 0, from bit 10 times the level, how many launches have blocks that haven't begun.
static WAITING: AtomicU64 = AtomicU64::new(0);
const BITS: u32 = 10;

/// Urgent blocks that have begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// A block of less priority begins when no urgent one has begun for this long.
const LONGEST: Duration = Duration::from_millis(500);
const NAP: Duration = Duration::from_micros(50);

/// A launch's place among those of other priorities.
#[derive(Debug, Default)]
pub(crate) struct Urgency {
    /// 0 is the least.
    level: u32,
    counted: AtomicBool,
}

impl Urgency {
    /// That of a stream's priority, a number from 0 down to -5.
    pub fn of(priority: i32) -> Urgency {
        Urgency { level: priority.clamp(-5, 0).unsigned_abs(), counted: AtomicBool::new(false) }
    }

    /// The launch begins: others give way.
    pub fn begin(&self) {
        if self.level > 0 && !self.counted.swap(true, Ordering::Relaxed) {
            WAITING.fetch_add(1 << (BITS * self.level), Ordering::Relaxed);
        }
    }

    /// Its last block has begun, or none begins any more.
    pub fn end(&self) {
        if self.level > 0 && self.counted.swap(false, Ordering::Relaxed) {
            WAITING.fetch_sub(1 << (BITS * self.level), Ordering::Relaxed);
        }
    }

    fn must_wait(&self) -> bool {
        WAITING.load(Ordering::Relaxed) >> (BITS * (self.level + 1)) != 0
    }

    /// Called before a block begins.
    #[inline]
    pub fn give_way(&self) {
        if self.level > 0 {
            BEGUN.fetch_add(1, Ordering::Relaxed);
        }
        if self.must_wait() {
            self.wait();
        }
    }

    #[cold]
    fn wait(&self) {
        let (mut begun, mut since) = (BEGUN.load(Ordering::Relaxed), Instant::now());
        while self.must_wait() && since.elapsed() < LONGEST {
            std::thread::sleep(NAP);
            let now = BEGUN.load(Ordering::Relaxed);
            if now != begun {
                (begun, since) = (now, Instant::now());
            }
        }
    }
}

impl Drop for Urgency {
    fn drop(&mut self) {
        self.end();
    }
}

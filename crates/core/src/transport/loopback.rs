//! A transport for tests: it hides the mappings, and holds, delays, splits and reorders by seed whatever
//! the memory model leaves open. A program that lacks a fence, a quiet or a wait fails on it, even on a
//! machine whose processors never reorder stores.
//!
//! What may still overtake what is decided by `Held::may_go`; everything else is chance.
use super::{Get, Put, Reuse, Transport, mapped};
use crate::amo::AmoRequest;
use crate::context::Pending;
use crate::signal::Signal;
use crate::wait::Doorbell;
use crate::window::Window;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Operations held at a time: finding one that may go takes time for each of them. Further ones make room
/// for themselves, as they do on a network whose queues are full.
const MOST_HELD: usize = 512;

/// Local memory of a held operation.
#[derive(Debug)]
enum Local {
    /// A copy made when the operation was issued.
    Owned(Vec<u8>),
    /// The caller's, in use until a quiet.
    Lent(*mut u8),
}

#[derive(Debug)]
enum Action {
    Put { at: usize, local: Local, bytes: usize },
    Get { at: usize, local: *mut u8, bytes: usize },
    Amo { at: usize, request: AmoRequest, fetch: *mut u8 },
}

#[derive(Debug)]
struct Held {
    ctx: Arc<Pending>,
    pe: usize,
    epoch: u32,
    /// Number of pieces of data that must go first (those of a put with signal).
    after: Option<Arc<AtomicU32>>,
    /// Counter that this piece decrements.
    piece_of: Option<Arc<AtomicU32>>,
    not_before: Instant,
    action: Action,
}

// SAFETY: the raw pointers are the caller's buffers, which it keeps until a quiet.
unsafe impl Send for Held {}

impl Held {
    /// Nothing of an earlier epoch to the same PE is held any more, and neither is this signal's data.
    fn may_go(&self, all: &[Held]) -> bool {
        self.after.as_ref().is_none_or(|pieces| pieces.load(Ordering::Relaxed) == 0)
            && !all.iter().any(|other| {
                other.pe == self.pe
                    && Arc::ptr_eq(&other.ctx, &self.ctx)
                    && (other.epoch.wrapping_sub(self.epoch) as i32) < 0
            })
    }
}

#[derive(Debug, Default)]
struct Queue {
    held: Vec<Held>,
    random: u64,
    closed: bool,
}

impl Queue {
    fn next(&mut self) -> u64 {
        // SplitMix64: any seed gives a full-period sequence.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// One of the operations that are `wanted` and may go; which one is chance.
    fn pick(&mut self, wanted: impl Fn(&Held) -> bool) -> Option<usize> {
        let n = self.held.len();
        let from = if n == 0 { return None } else { self.below(n) };
        let may_go = |&i: &usize| wanted(&self.held[i]) && self.held[i].may_go(&self.held);
        (from..n).chain(0..from).find(may_go)
    }

    /// How long to hold: mostly not long, now and then long enough to be noticed.
    fn delay(&mut self) -> Duration {
        match self.next() % 8 {
            0 => Duration::from_millis(1 + self.next() % 4),
            1..4 => Duration::from_micros(self.next() % 300),
            _ => Duration::ZERO,
        }
    }
}

#[derive(Debug)]
struct Shared {
    window: Arc<Window>,
    /// Own address of the doorbell; a peer's is one translation away.
    doorbell: usize,
    queue: Mutex<Queue>,
    work: Condvar,
    /// The system gave no thread: nothing may be held, since nobody would deliver it.
    alone: AtomicBool,
}

/// The transport. One thread delivers what nobody waits for.
#[derive(Debug)]
pub struct Loopback {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Loopback {
    /// A transport over `window`. Equal seeds and equal calls give equal choices. `doorbell` is the own
    /// address of the word block that wakes a PE.
    pub fn new(window: Arc<Window>, doorbell: usize, seed: u64) -> Loopback {
        let queue = Mutex::new(Queue { random: seed, ..Queue::default() });
        let shared =
            Arc::new(Shared { window, doorbell, queue, work: Condvar::new(), alone: AtomicBool::new(false) });
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("dushmem-loopback".into())
            .stack_size(64 << 10)
            .spawn(move || for_thread.deliver_forever())
            .ok();
        shared.alone.store(thread.is_none(), Ordering::Relaxed);
        Loopback { shared, thread }
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.work.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn at(&self, pe: usize, addr: usize, bytes: usize) -> usize {
        let found = self.window.locate(addr, bytes, pe);
        debug_assert!(found.is_some(), "the engine checks addresses before it comes here");
        found.unwrap_or(0)
    }

    fn hold(&self, held: impl IntoIterator<Item = Held>) {
        let mut queue = self.lock();
        let was_empty = queue.held.is_empty();
        for one in held {
            one.ctx.begin(one.pe);
            queue.held.push(one);
        }
        let most = if self.alone.load(Ordering::Relaxed) { 0 } else { MOST_HELD };
        while queue.held.len() > most
            && let Some(pick) = queue.pick(|_| true)
        {
            self.perform(&mut queue, pick);
        }
        drop(queue);
        if was_empty {
            self.work.notify_all();
        }
    }

    /// Carries out the held operation at `index`, under the lock, so that counters and memory agree.
    fn perform(&self, queue: &mut Queue, index: usize) {
        let held = queue.held.swap_remove(index);
        // SAFETY: targets lie in the window; local memory is owned or lent until a quiet.
        unsafe {
            match held.action {
                Action::Put { at, local: Local::Owned(data), bytes } => {
                    mapped::copy(at as *mut u8, data.as_ptr(), bytes)
                }
                Action::Put { at, local: Local::Lent(source), bytes } => {
                    mapped::copy(at as *mut u8, source, bytes)
                }
                Action::Get { at, local, bytes } => mapped::copy(local, at as *const u8, bytes),
                Action::Amo { at, request, fetch } => {
                    let old = mapped::execute(at as *mut u8, request);
                    if !fetch.is_null() {
                        request.store(fetch, old);
                    }
                }
            }
            let bell = self.window.peer(self.doorbell, held.pe) as *const Doorbell;
            (*bell).ring();
        }
        if let Some(pieces) = held.piece_of {
            pieces.fetch_sub(1, Ordering::Relaxed);
        }
        held.ctx.complete(held.pe);
    }

    fn deliver_forever(&self) {
        let mut queue = self.lock();
        loop {
            let now = Instant::now();
            if let Some(pick) = queue.pick(|held| held.not_before <= now) {
                self.perform(&mut queue, pick);
                continue;
            }
            if queue.closed {
                return;
            }
            let nap =
                if queue.held.is_empty() { Duration::from_secs(3600) } else { Duration::from_micros(200) };
            queue = self.work.wait_timeout(queue, nap).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Carries out what `concerns` says and may go, until nothing of it is left.
    fn complete(&self, concerns: impl Fn(&Held) -> bool) {
        let mut queue = self.lock();
        while let Some(pick) = queue.pick(&concerns) {
            self.perform(&mut queue, pick);
        }
    }

    /// Cuts `bytes` bytes into at most four pieces at multiples of 8, which go separately.
    fn cut(queue: &mut Queue, bytes: usize) -> Vec<(usize, usize)> {
        let words = bytes.div_ceil(8);
        let mut cuts: Vec<usize> = (0..queue.below(4)).map(|_| queue.below(words.max(1)) * 8).collect();
        cuts.extend([0, bytes]);
        cuts.sort_unstable();
        cuts.dedup();
        cuts.windows(2).map(|w| (w[0], w[1] - w[0])).collect()
    }

    /// # Safety
    /// As for [`Transport::put`].
    unsafe fn hold_put(&self, ctx: &Arc<Pending>, put: Put, pieces: Option<&Arc<AtomicU32>>) {
        let Put { pe, dest, source, bytes, reuse } = put;
        let at = self.at(pe, dest, bytes);
        let mut queue = self.lock();
        let cuts = Shared::cut(&mut queue, bytes);
        let now = Instant::now();
        let delays: Vec<Instant> = cuts.iter().map(|_| now + queue.delay()).collect();
        drop(queue);
        if let Some(pieces) = pieces {
            pieces.store(cuts.len() as u32, Ordering::Relaxed);
        }
        let epoch = ctx.epoch(pe);
        self.hold(cuts.into_iter().zip(delays).map(|((from, bytes), not_before)| {
            // SAFETY: the piece lies in the caller's source.
            let piece = unsafe { source.add(from) };
            let local = match reuse {
                // SAFETY: as above.
                Reuse::AtReturn => Local::Owned(unsafe { std::slice::from_raw_parts(piece, bytes) }.to_vec()),
                Reuse::AtQuiet => Local::Lent(piece.cast_mut()),
            };
            let action = Action::Put { at: at + from, local, bytes };
            Held {
                ctx: Arc::clone(ctx),
                pe,
                epoch,
                after: None,
                piece_of: pieces.cloned(),
                not_before,
                action,
            }
        }));
    }

    fn hold_one(&self, ctx: &Arc<Pending>, pe: usize, after: Option<Arc<AtomicU32>>, action: Action) {
        let not_before = Instant::now() + self.lock().delay();
        let epoch = ctx.epoch(pe);
        self.hold([Held { ctx: Arc::clone(ctx), pe, epoch, after, piece_of: None, not_before, action }]);
    }
}

impl Transport for Loopback {
    fn name(&self) -> &'static str {
        "loopback"
    }

    fn maps(&self, _pe: usize) -> bool {
        false
    }

    unsafe fn put(&self, ctx: &Arc<Pending>, put: Put) {
        // SAFETY: passed on.
        unsafe { self.shared.hold_put(ctx, put, None) }
    }

    unsafe fn get(&self, ctx: &Arc<Pending>, get: Get) {
        let Get { pe, dest, source, bytes, reuse } = get;
        let at = self.shared.at(pe, source, bytes);
        match reuse {
            // Overtakes whatever is held: only a quiet in between would have prevented that.
            // SAFETY: the caller's destination; the source lies in the window.
            Reuse::AtReturn => unsafe { mapped::copy(dest, at as *const u8, bytes) },
            Reuse::AtQuiet => self.shared.hold_one(ctx, pe, None, Action::Get { at, local: dest, bytes }),
        }
    }

    fn amo(&self, ctx: &Arc<Pending>, pe: usize, addr: usize, request: AmoRequest) -> u64 {
        let at = self.shared.at(pe, addr, request.width());
        // Overtakes what is held, but not across a fence.
        let epoch = ctx.epoch(pe);
        self.shared.complete(|held| held.pe == pe && Arc::ptr_eq(&held.ctx, ctx) && held.epoch != epoch);
        // SAFETY: the word lies in the window, and the engine has checked its alignment.
        unsafe {
            let old = mapped::execute(at as *mut u8, request);
            (*(self.shared.window.peer(self.shared.doorbell, pe) as *const Doorbell)).ring();
            old
        }
    }

    unsafe fn amo_later(
        &self,
        ctx: &Arc<Pending>,
        pe: usize,
        addr: usize,
        request: AmoRequest,
        fetch: *mut u8,
    ) {
        let at = self.shared.at(pe, addr, request.width());
        self.shared.hold_one(ctx, pe, None, Action::Amo { at, request, fetch });
    }

    unsafe fn put_signal(&self, ctx: &Arc<Pending>, put: Put, signal: Signal) {
        let pieces = Arc::new(AtomicU32::new(0));
        if put.bytes > 0 {
            // SAFETY: passed on.
            unsafe { self.shared.hold_put(ctx, put, Some(&pieces)) };
        }
        let at = self.shared.at(put.pe, signal.addr, 8);
        let action = Action::Amo { at, request: signal.request(), fetch: core::ptr::null_mut() };
        self.shared.hold_one(ctx, put.pe, Some(pieces), action);
    }

    fn fence(&self, ctx: &Arc<Pending>) {
        ctx.fence();
    }

    fn quiet(&self, ctx: &Arc<Pending>, pes: Option<&[usize]>) {
        self.shared
            .complete(|held| Arc::ptr_eq(&held.ctx, ctx) && pes.is_none_or(|pes| pes.contains(&held.pe)));
    }

    fn drain(&self) {
        self.shared.complete(|_| true);
    }
}

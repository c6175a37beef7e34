//! What a root leaves for the others of its team, and goes on.
use crate::atomics::{AtomicU32, AtomicU64, Ordering, fence, park};
use crate::job::{WaitRecord, WaitSlot};
use crate::sync::{AHEAD, Agreement, SyncLine, sleep_on};
use crate::wait::{SpinPolicy, hold, wait_for};
use core::cell::UnsafeCell;

/// Bytes that a post carries. Measured on two CPUs with 2, 4 and 8 PEs: at 256 bytes this is the faster way by a quarter, at
/// 2 KiB by a third the slower one than reading the source, and at 1 KiB as fast.
pub const CARGO: usize = if cfg!(loom) { 8 } else { 1008 };

/// One post of a root. All-zero bytes are the initial state.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Post {
    /// Number of the synchronisation above its tag, once the root has arrived at it.
    what: AtomicU64,
    /// Members that have read what is not in the post.
    acks: AtomicU32,
    _rest: u32,
    cargo: UnsafeCell<[u8; CARGO]>,
}

/// The posts of one PE as a root. It writes the post of a synchronisation again [`AHEAD`] later, when all have arrived at the one
/// in between ([`SyncLine::has_room`](crate::sync::SyncLine::has_room)), hence have read what they wanted.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Posts {
    bell: AtomicU32,
    sleepers: AtomicU32,
    _line: [u64; 7],
    posts: [Post; AHEAD as usize],
}

/// What stands in a post for synchronisation `epoch` with `tag`.
fn word(epoch: u32, tag: u32) -> u64 {
    u64::from(epoch) << 32 | u64::from(tag)
}

impl Default for Posts {
    fn default() -> Self {
        Self::new()
    }
}

impl Posts {
    /// Nothing is posted.
    pub fn new() -> Posts {
        let post = |_| Post {
            what: AtomicU64::new(0),
            acks: AtomicU32::new(0),
            _rest: 0,
            cargo: UnsafeCell::new([0; CARGO]),
        };
        Posts {
            bell: AtomicU32::new(0),
            sleepers: AtomicU32::new(0),
            _line: [0; 7],
            posts: core::array::from_fn(post),
        }
    }

    fn of(&self, epoch: u32) -> &Post {
        &self.posts[(epoch % AHEAD) as usize]
    }

    /// Where the cargo of `epoch` lies: the root writes it before it posts, members read it after.
    pub fn cargo(&self, epoch: u32) -> *mut u8 {
        self.of(epoch).cargo.get().cast()
    }

    /// The root's side.
    #[inline]
    fn post(&self, epoch: u32, tag: u32) {
        let post = self.of(epoch);
        post.acks.store(0, Ordering::Relaxed);
        // As at a line: either the sleeper is seen here, or it sees the post before it sleeps.
        post.what.swap(word(epoch, tag), Ordering::SeqCst);
        self.wake();
    }

    /// Whether the root has posted for `epoch` with this tag.
    #[inline]
    fn is_posted(&self, epoch: u32, tag: u32) -> bool {
        self.of(epoch).what.load(Ordering::Acquire) == word(epoch, tag)
    }

    /// One of `others` has read what the post of `epoch` is about.
    fn acknowledge(&self, epoch: u32, others: u32) {
        if self.of(epoch).acks.fetch_add(1, Ordering::SeqCst) + 1 == others {
            self.wake();
        }
    }

    /// Whether all `others` have read.
    fn all_have_read(&self, epoch: u32, others: u32) -> bool {
        self.of(epoch).acks.load(Ordering::Acquire) == others
    }

    #[inline]
    fn wake(&self) {
        crate::atomics::fence_for_loom();
        if self.sleepers.load(Ordering::SeqCst) != 0 {
            self.ring();
        }
    }

    /// Wakes all that wait for this root, and it itself.
    #[cold]
    pub fn ring(&self) {
        self.bell.fetch_add(1, Ordering::SeqCst);
        park::wake_all(&self.bell);
    }

    /// Forgets all posts: another team, whose synchronisations have other numbers, uses the slot next.
    pub fn clear(&self) {
        self.posts.iter().for_each(|post| post.what.store(0, Ordering::Relaxed));
    }
}

/// One synchronisation of which the root is waited for only.
#[derive(Debug)]
pub struct Ahead<'a> {
    /// The team's.
    pub line: &'a SyncLine,
    /// The root's.
    pub posts: &'a Posts,
    /// Number of members.
    pub members: u32,
    /// Number of the synchronisation.
    pub epoch: u32,
    /// Which call, which size, which root.
    pub tag: u32,
    /// Whether this member is likely to be the next root.
    pub next: bool,
}

impl Ahead<'_> {
    /// The root's side: what it has written is for the others to read.
    #[inline]
    pub fn post(&self) {
        self.posts.post(self.epoch, self.tag);
    }

    /// Every member's side, the root's after its post: arrives. The last one learns whether all members came for the same;
    /// if so, they are released.
    #[inline]
    pub fn arrive(&self) -> Option<bool> {
        let same = self.line.count(self.members, self.epoch, self.tag);
        if same == Some(true) {
            self.line.release_ahead(self.epoch);
        }
        same
    }

    /// Waits until the root has posted for the same. False where it makes another call, once all have arrived.
    #[inline]
    pub fn wait_for_root(
        &self,
        policy: &SpinPolicy,
        slot: Option<&WaitSlot>,
        record: impl Fn() -> WaitRecord,
    ) -> bool {
        self.wait(policy, slot, record, || self.posts.is_posted(self.epoch, self.tag))
    }

    /// Says that this member has read what the post is about. False where members differ: then the root has not waited, and
    /// may have changed what was read.
    pub fn acknowledge(&self) -> bool {
        // Whoever has read what the root wrote after it was released sees that it was.
        fence(Ordering::Acquire);
        if self.is_in_vain() {
            return false;
        }
        self.posts.acknowledge(self.epoch, self.members - 1);
        true
    }

    /// Whether all have arrived, and not for the same.
    fn is_in_vain(&self) -> bool {
        self.line.is_released(self.epoch) && self.line.found(self.epoch) == Agreement::Differ
    }

    /// Waits until all others have read. False where some make another call.
    pub fn wait_for_readers(
        &self,
        policy: &SpinPolicy,
        slot: Option<&WaitSlot>,
        record: impl Fn() -> WaitRecord,
    ) -> bool {
        self.wait(policy, slot, record, || self.posts.all_have_read(self.epoch, self.members - 1))
    }

    #[inline]
    fn wait(
        &self,
        policy: &SpinPolicy,
        slot: Option<&WaitSlot>,
        record: impl Fn() -> WaitRecord,
        there: impl Fn() -> bool,
    ) -> bool {
        // Where members differ it may come to nothing. Who sees the release sees what was posted before it.
        let over = || there().then_some(true).or_else(|| self.is_in_vain().then(&there));
        if self.next
            && let Some(value) = hold(policy, over)
        {
            return value;
        }
        let waits = || over().is_none();
        wait_for(policy, slot, record, over, |_nap| {
            sleep_on(&self.posts.bell, &self.posts.sleepers, |_| waits());
        })
    }
}

//! Communication contexts (OpenSHMEM section 9.5): independent streams of order and completion.
use crate::team::Team;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Options of a context, as bits.
pub mod options {
    /// The program serialises its use.
    pub const SERIALIZED: i64 = 1;
    /// Only the creating thread uses it.
    pub const PRIVATE: i64 = 2;
    /// Fence and quiet need not cover ordinary stores.
    pub const NOSTORE: i64 = 4;

    /// An error about bits that are none of these.
    pub(crate) fn check(options: i64) -> crate::error::Result<()> {
        let unknown = options & !(SERIALIZED | PRIVATE | NOSTORE);
        if unknown == 0 {
            return Ok(());
        }
        let bits = if unknown.count_ones() == 1 { "this bit is" } else { "these bits are" };
        let which = if unknown == options { String::new() } else { format!("{unknown:#x}: ") };
        let text = format!(
            "options = {options:#x}: {which}{bits} no option of a context; there are CTX_SERIALIZED (0x1), \
             CTX_PRIVATE (0x2) and CTX_NOSTORE (0x4)"
        );
        Err(crate::error::Error::BadSet { text })
    }
}

/// What a program says about the operations that it is going to issue on a context (section 9.9): hints, which
/// change nothing but, perhaps, speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// Bits of [`session`].
    pub options: i64,
    /// Operations that are expected; 0: unknown.
    pub total_ops: usize,
}

/// Options of a session, as bits.
pub mod session {
    /// Operations may be collected.
    pub const BATCH: i64 = 2;
}

/// What a transport knows of a context: operations under way, by PE.
#[derive(Debug)]
pub struct Pending {
    /// Distinguishes contexts.
    pub id: u32,
    /// Operations to each world PE that have not completed.
    count: Box<[AtomicU32]>,
    /// Fences so far, by world PE: an operation may overtake only those of its own epoch.
    epoch: Box<[AtomicU32]>,
}

impl Pending {
    fn new(id: u32, pes: usize) -> Pending {
        let zeros = || (0..pes).map(|_| AtomicU32::new(0)).collect();
        Pending { id, count: zeros(), epoch: zeros() }
    }

    /// One more operation to `pe` is under way.
    pub fn begin(&self, pe: usize) {
        self.count[pe].fetch_add(1, Ordering::Relaxed);
    }

    /// One operation to `pe` has completed.
    pub fn complete(&self, pe: usize) {
        self.count[pe].fetch_sub(1, Ordering::Release);
    }

    /// Operations to `pe` that have not completed.
    pub fn to(&self, pe: usize) -> u32 {
        self.count[pe].load(Ordering::Acquire)
    }

    /// Number of fences so far, as far as operations to `pe` are concerned.
    pub fn epoch(&self, pe: usize) -> u32 {
        self.epoch[pe].load(Ordering::Relaxed)
    }

    /// Later operations may not overtake earlier ones to the same PE.
    pub fn fence(&self) {
        for (epoch, count) in self.epoch.iter().zip(&self.count) {
            if count.load(Ordering::Relaxed) != 0 {
                epoch.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// A context. PE numbers of operations on it are those of its team.
#[derive(Debug)]
pub struct Context {
    /// `None`: the world.
    team: Option<Arc<Team>>,
    options: i64,
    /// True where peers are reached by load and store and PE numbers are the world's.
    plain: bool,
    pending: Arc<Pending>,
    session: Mutex<Option<Session>>,
}

impl Context {
    pub(crate) fn new(id: u32, pes: usize, team: Option<Arc<Team>>, options: i64, mapped: bool) -> Context {
        let pending = Arc::new(Pending::new(id, pes));
        Context { plain: mapped && team.is_none(), team, options, pending, session: Mutex::default() }
    }

    /// The session that is open, where one is.
    pub fn session(&self) -> Option<Session> {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a session, or adds options to the one that is open, and changes the number of operations where one
    /// is given.
    pub fn start_session(&self, options: i64, total_ops: Option<usize>) {
        let mut open = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let session = open.get_or_insert_default();
        session.options |= options;
        session.total_ops = total_ops.unwrap_or(session.total_ops);
    }

    /// Ends the session, however often it was opened; nothing where there is none.
    pub fn stop_session(&self) {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The team whose PE numbers are used, `None` for the world.
    pub fn team(&self) -> Option<&Arc<Team>> {
        self.team.as_ref()
    }

    /// Number of the context, 0 for the default one.
    pub fn id(&self) -> u32 {
        self.pending.id
    }

    /// What the transport counts.
    pub fn pending(&self) -> &Arc<Pending> {
        &self.pending
    }

    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.plain
    }

    /// The bits it was made with.
    pub fn options(&self) -> i64 {
        self.options
    }
}

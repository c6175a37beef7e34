//! Context handles of C programs.
use crate::ops::prelude::CONTEXTS_MAX;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use dushmem_core::context::Context;
use dushmem_core::error::{Error, Result};
use dushmem_core::world::World;
use std::sync::{Mutex, PoisonError};

/// A context as C programs hold it: a pointer-sized number. The low half is a place in the table plus 2,
/// the high half counts the contexts that were there, so that a stale handle is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Ctx(pub(crate) usize);

struct Place {
    context: AtomicPtr<Context>,
    generation: AtomicU32,
}

static TABLE: [Place; CONTEXTS_MAX] =
    [const { Place { context: AtomicPtr::new(core::ptr::null_mut()), generation: AtomicU32::new(0) } };
        CONTEXTS_MAX];
/// Serialises changes of the table.
static CHANGE: Mutex<()> = Mutex::new(());

impl Ctx {
    /// No context.
    pub const INVALID: Ctx = Ctx(0);
    /// The context of calls that name none.
    pub const DEFAULT: Ctx = Ctx(1);

    /// The context itself.
    #[inline(always)]
    pub fn of(self, world: &World) -> Result<&Context> {
        if self == Ctx::DEFAULT { Ok(world.default_context()) } else { self.own() }
    }

    fn place(self) -> Option<&'static Place> {
        let place = TABLE.get((self.0 as u32 as usize).checked_sub(2)?)?;
        (place.generation.load(Ordering::Acquire) as usize == self.0 >> 32).then_some(place)
    }

    fn own(self) -> Result<&'static Context> {
        let context =
            self.place().map_or(core::ptr::null_mut(), |place| place.context.load(Ordering::Acquire));
        // SAFETY: a context lives until its handle is destroyed, and using the handle after that is
        // noticed above unless it happens at the same time, which the standard leaves undefined.
        unsafe { context.as_ref() }.ok_or_else(|| Context::invalid(self.0))
    }

    /// A handle for a new context.
    pub fn enter(context: Context) -> Result<Ctx> {
        let _one_at_a_time = CHANGE.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(at) = TABLE.iter().position(|place| place.context.load(Ordering::Relaxed).is_null()) else {
            let why = format!("all {CONTEXTS_MAX} contexts of a PE are in use; destroy some first");
            return Err(Error::NotSupported(why));
        };
        let generation = TABLE[at].generation.load(Ordering::Relaxed) as usize;
        TABLE[at].context.store(Box::into_raw(Box::new(context)), Ordering::Release);
        Ok(Ctx(generation << 32 | (at + 2)))
    }

    /// Takes the context out of the table.
    pub fn leave(self) -> Result<Box<Context>> {
        let _one_at_a_time = CHANGE.lock().unwrap_or_else(PoisonError::into_inner);
        let place = self.place().ok_or_else(|| Context::invalid(self.0))?;
        take(place).ok_or_else(|| Context::invalid(self.0))
    }

    /// Takes all contexts for which `which` holds out of the table.
    pub fn leave_all(which: impl Fn(&Context) -> bool) -> Vec<Context> {
        let _one_at_a_time = CHANGE.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = |place: &&Place| {
            // SAFETY: changes of the table are locked out, so a context that is there stays.
            unsafe { place.context.load(Ordering::Acquire).as_ref() }.is_some_and(&which)
        };
        TABLE.iter().filter(wanted).filter_map(take).map(|context| *context).collect()
    }
}

fn take(place: &Place) -> Option<Box<Context>> {
    let context = place.context.swap(core::ptr::null_mut(), Ordering::AcqRel);
    place.generation.fetch_add(1, Ordering::Release);
    // SAFETY: came from `Box::into_raw` in `enter`, and only one caller can take it.
    (!context.is_null()).then(|| unsafe { Box::from_raw(context) })
}

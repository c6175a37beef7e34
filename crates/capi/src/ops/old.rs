//! Names of earlier versions of OpenSHMEM, where they are not simply other names of what there is.
use super::amo::Unit;
use super::prelude::*;
use crate::job;
use crate::report::fail;
use dushmem_core::amo::{Amo, AmoInt};
use dushmem_core::error::Error;
use dushmem_core::until::{Cmp, WaitInt};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Atomics before 1.4: those of today without contexts.
macro_rules! atomics {
    ($($function:ident<$bound:ident $(+ $more:ident)?>($($arg:ident: $ty:ty),*) $(-> $result:ty)? = $today:ident;)*) => {$(
        pub unsafe fn $function<T: $bound $(+ $more)?>($($arg: $ty,)* pe: i32, name: Name) $(-> $result)? {
            // SAFETY: the caller's.
            unsafe { super::amo::$today($($arg,)* pe, Ctx::DEFAULT, name) }
        }
    )*};
}
atomics! {
    fetch<Amo + Default>(source: *const T) -> T = fetch;
    set<Amo>(dest: *mut T, value: T) = set;
    swap<Amo>(dest: *mut T, value: T) -> T = swap;
    cswap<AmoInt>(dest: *mut T, cond: T, value: T) -> T = compare_swap;
    finc<AmoInt + Unit>(dest: *mut T) -> T = fetch_inc;
    inc<AmoInt + Unit>(dest: *mut T) = inc;
    fadd<AmoInt>(dest: *mut T, value: T) -> T = fetch_add;
    add<AmoInt>(dest: *mut T, value: T) = add;
}

pub unsafe fn wait<T: WaitInt>(ivar: *mut T, cmp_value: T, name: Name) {
    // SAFETY: the caller's.
    unsafe { super::wait::until(ivar, Cmp::Ne as i32, cmp_value, name) }
}

pub unsafe fn signal_add(sig_addr: *mut u64, signal: u64, pe: i32, name: Name) {
    // SAFETY: the caller's.
    unsafe { super::signal::add(sig_addr, signal, pe, Ctx::DEFAULT, name) }
}

pub unsafe fn signal_set(sig_addr: *mut u64, signal: u64, pe: i32, name: Name) {
    // SAFETY: the caller's.
    unsafe { super::signal::set(sig_addr, signal, pe, Ctx::DEFAULT, name) }
}

/// Whether the job was joined by `start_pes`, which has no counterpart: the program's exit is its finalize.
static STARTED: AtomicBool = AtomicBool::new(false);
static LEAVES_AT_EXIT: Once = Once::new();

pub unsafe fn start_pes(_npes: i32, name: Name) {
    if job::is_initialised() {
        return;
    }
    if let Err(error) = job::enter(name, 0, job::By::Start) {
        fail(name, &error);
    }
    STARTED.store(true, Ordering::Relaxed);
    LEAVES_AT_EXIT.call_once(|| {
        if !dushmem_os::process::at_exit(leave_at_exit) {
            fail(name, &Error::NotSupported("the C library takes no more exit handlers".into()));
        }
    });
}

extern "C" fn leave_at_exit() {
    // A program that has called finalize nevertheless has left already.
    if STARTED.swap(false, Ordering::Relaxed) && job::is_initialised() {
        // SAFETY: a literal with its NUL.
        let name = unsafe { Name::new(c"start_pes".as_ptr()) };
        if let Err(error) = job::leave() {
            fail(name, &error);
        }
    }
}

/// Caches were the program's affair on machines of the nineties.
pub unsafe fn cache(_name: Name) {}

pub unsafe fn cache_line(_dest: *mut u8, _name: Name) {}

//! Set-up, exit and query.
use super::prelude::*;
use crate::job::{self, By};
use crate::report::{fail, host_only, must, or_else, print};
use core::ptr::null_mut;
use dushmem_core::error::Error;
use dushmem_core::world::World;

/// Thread levels, as all families number them.
const SINGLE: i32 = 0;
const SERIALIZED: i32 = 2;

/// The level of a program that does not ask: NVSHMEM promises more than the others.
pub fn unasked(name: Name) -> i32 {
    if name.family() == Family::Nvshmem { SERIALIZED } else { SINGLE }
}

pub unsafe fn init(name: Name) {
    host_only(name);
    if let Err(error) = job::enter(name, unasked(name), By::Start) {
        fail(name, &error);
    }
}

/// # Safety
/// `place` is null or writable.
unsafe fn store(name: Name, arg: &'static str, place: *mut i32, value: i32) {
    if place.is_null() {
        fail(name, &Error::NoObject { arg });
    }
    // SAFETY: the caller's variable.
    unsafe { place.write(value) };
}

pub unsafe fn init_thread(requested: i32, provided: *mut i32, name: Name) -> i32 {
    host_only(name);
    match job::enter(name, requested, By::Start) {
        Ok(level) => {
            // SAFETY: the caller's.
            unsafe { store(name, "provided", provided, level) };
            0
        }
        Err(error) => {
            print(name, &error);
            error.code()
        }
    }
}

pub unsafe fn finalize(name: Name) {
    host_only(name);
    if let Err(error) = job::leave() {
        fail(name, &error);
    }
}

pub unsafe fn query_initialized(initialized: *mut i32, name: Name) {
    // SAFETY: the caller's.
    unsafe { store(name, "initialized", initialized, job::is_initialised().into()) };
}

pub unsafe fn query_thread(provided: *mut i32, name: Name) {
    must(name, |_| Ok(()));
    // SAFETY: the caller's.
    unsafe { store(name, "provided", provided, job::thread_level()) };
}

pub unsafe fn global_exit(status: i32, _name: Name) {
    end(status)
}

/// Ends the job, from whatever thread.
pub fn end(status: i32) -> ! {
    // Of an exit status the system keeps 8 bits; what says failure must not become 0.
    let status = if status != 0 && status & 0xff == 0 { 1 } else { status };
    // The text wants the end that a return from `main` is: output written, exit handlers run.
    if let Some(world) = job::world() {
        if !job::begin_exit() {
            // Another thread of this PE was first; its status counts.
            dushmem_os::process::wait_for_exit();
        }
        if !world.boot().end_others(status) {
            world.boot().abort(status, "");
        }
    }
    // A kernel's thread has too small a stack for the exit handlers of a program.
    if dushmem_core::wait::in_fiber()
        && std::thread::Builder::new().spawn(move || std::process::exit(status)).is_ok()
    {
        dushmem_os::process::wait_for_exit();
    }
    std::process::exit(status)
}

pub unsafe fn init_status(_name: Name) -> i32 {
    // NVSHMEM's numbers: not initialised, initialised.
    if job::is_initialised() { 2 } else { 0 }
}

pub unsafe fn my_pe(name: Name) -> i32 {
    must(name, |w| Ok(w.my_pe()))
}

pub unsafe fn n_pes(name: Name) -> i32 {
    must(name, |w| Ok(w.n_pes()))
}

pub unsafe fn pe_accessible(pe: i32, name: Name) -> i32 {
    must(name, |w| Ok(w.pe_accessible(pe))).into()
}

pub unsafe fn addr_accessible(addr: *const u8, pe: i32, name: Name) -> i32 {
    must(name, |w| Ok(w.addr_accessible(addr, pe))).into()
}

pub unsafe fn ptr(dest: *const u8, pe: i32, name: Name) -> *mut u8 {
    or_else(name, |w| w.ptr(dest, pe), |_| null_mut())
}

pub unsafe fn team_ptr(team: i32, dest: *const u8, pe: i32, name: Name) -> *mut u8 {
    if team == dushmem_core::team::handles::INVALID {
        return null_mut();
    }
    let world_ptr = |w: &World| {
        let team = w.team(team)?;
        let n = team.n_pes() as usize;
        let pe = team.world_pe(pe).ok_or_else(|| w.no_such_pe("pe", pe, n, "the team"))?;
        w.ptr(dest, pe as i32)
    };
    or_else(name, world_ptr, |_| null_mut())
}

pub unsafe fn info_get_version(major: *mut i32, minor: *mut i32, name: Name) {
    let version = if name.family() == Family::Nvshmem { (1, 3) } else { (1, 6) };
    // SAFETY: the caller's.
    unsafe {
        store(name, "major", major, version.0);
        store(name, "minor", minor, version.1);
    }
}

pub unsafe fn info_get_name(text: *mut c_char, name: Name) {
    if text.is_null() {
        fail(name, &Error::NoObject { arg: "name" });
    }
    let vendor = concat!("dushmem v", env!("CARGO_PKG_VERSION"), "\0");
    // SAFETY: the caller's array of at least 256 characters.
    unsafe { core::ptr::copy_nonoverlapping(vendor.as_ptr().cast(), text, vendor.len()) };
}

pub unsafe fn vendor_get_version_info(major: *mut i32, minor: *mut i32, patch: *mut i32, name: Name) {
    // For NVSHMEM the release whose interface this is; programs compare it.
    let version = if name.family() == Family::Nvshmem { [3, 2, 0] } else { crate::job::VERSION };
    // SAFETY: the caller's.
    unsafe {
        store(name, "major", major, version[0]);
        store(name, "minor", minor, version[1]);
        store(name, "patch", patch, version[2]);
    }
}

pub unsafe fn pcontrol(_level: i32, _name: Name) {
    // The library keeps no records that could be switched on, off or written out; a tool takes the call.
}

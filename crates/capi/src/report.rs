//! What happens when a call fails.
use crate::job;
use crate::name::{Family, Name};
use dushmem_core::error::{self, Error, Result};
use dushmem_core::world::World;
use dushmem_os::say::say;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

/// Exit code of a process that failed before there was a job that could be told.
const NO_JOB: i32 = 1;

/// The one line about an error.
#[cold]
fn line(name: Name, error: &Error, pe: Option<usize>) -> String {
    let prefix = name.family().prefix();
    match (error, job::forked_from()) {
        (Error::NotInitialised, Some(parent)) => {
            let text = format!(
                "this process is a fork of PE {parent} and no PE; only PE {parent} itself can make calls"
            );
            error::line(pe, name.as_str(), &text)
        }
        (Error::NotInitialised, None) if job::was_initialised() => {
            let text = format!(
                "called after the last {prefix}_finalize; calls belong between {prefix}_init and {prefix}_finalize"
            );
            error::line(pe, name.as_str(), &text)
        }
        (Error::NotInitialised, None) => {
            error::line(pe, name.as_str(), &format!("not initialised: call {prefix}_init first"))
        }
        (other, _) => error::line(pe, name.as_str(), &error::for_family(&other.to_string(), prefix)),
    }
}

/// Errors so far that all PEs get alike, where it is not known at which call.
static SHARED_ERRORS: AtomicU64 = AtomicU64::new(0);

/// Ends the job where a kernel on the CPU makes a call of the host's.
pub fn host_only(name: Name) {
    dushmem_backends::emu::kernel::host_only(name.as_str());
}

/// Ends the job where a kernel on the CPU makes a collective or wait of the host's, which could wait for ever.
#[inline(always)]
pub fn outside_kernels(name: Name) {
    if dushmem_backends::emu::block::inside() {
        dushmem_backends::emu::kernel::host_function(name.as_str(), name.family() != Family::Shmem);
    }
}

/// Prints the line about an error; where all PEs of a collective get the same one, the first of them prints it.
#[cold]
pub fn print(name: Name, error: &Error) {
    if !print_once(name, error) {
        say(&line(name, error, job::place()));
    }
    if let Some(boot) = job::boot() {
        boot.node_memory().1.settle(boot.place().0);
    }
}

/// Has one of the PEs that get an error together print it. False where the error is this PE's alone.
#[cold]
fn print_once(name: Name, error: &Error) -> bool {
    let Some(boot) = job::boot().filter(|_| error.is_everybodys()) else { return false };
    boot.node_memory().1.hear_out(error);
    let mut hash = DefaultHasher::new();
    let place = Error::take_place();
    let count = place.is_none().then(|| SHARED_ERRORS.fetch_add(1, Ordering::Relaxed));
    (job::times_joined(), place, count, error.to_string()).hash(&mut hash);
    let team = place.map_or(0, |place| place >> 32);
    boot.node_memory().1.tell_once(team, hash.finish(), || say(&line(name, error, job::place())));
    true
}

/// Ends the job with the line, which is printed once even if several PEs fail at the same time.
#[cold]
#[inline(never)]
pub fn fail(name: Name, error: &Error) -> ! {
    if job::forked_from().is_some() {
        // The job is not this process's to end.
        say(&line(name, error, None));
        dushmem_os::process::exit_now(error.code());
    }
    if let Some(boot) = job::boot() {
        // A line that this PE owes stays owed: others that are told of its mistake wait while the launcher, or the host
        // of the job, prints it. Of members that disagree, some may be in calls that return an error, and print it themselves.
        let text = if print_once(name, error) { String::new() } else { line(name, error, job::place()) };
        boot.abort(error.code(), &text);
    }
    // Called before init: the launcher, where there is one, ends the job and prints the line once.
    if let Ok(boot) = dushmem_backends::connect() {
        let pe = boot.place().0;
        boot.abort(error.code(), &line(name, error, Some(pe)));
    }
    say(&line(name, error, None));
    dushmem_os::process::exit_now(NO_JOB)
}

/// Calls the engine for a function without a status.
#[inline(always)]
pub fn must<R>(name: Name, call: impl FnOnce(&World) -> Result<R>) -> R {
    match job::world() {
        Some(world) => match call(world) {
            Ok(value) => value,
            Err(error) => fail(name, &error),
        },
        None => fail(name, &Error::NotInitialised),
    }
}

/// Calls the engine for a function that returns something special on failure, after printing why.
#[inline(always)]
pub fn or_else<R>(name: Name, call: impl FnOnce(&World) -> Result<R>, failed: impl FnOnce(&Error) -> R) -> R {
    let done = match job::world() {
        Some(world) => call(world),
        None => Err(Error::NotInitialised),
    };
    done.unwrap_or_else(|error| {
        print(name, &error);
        failed(&error)
    })
}

/// Calls the engine for a function that returns a status: 0, or the error's number.
#[inline(always)]
pub fn status(name: Name, call: impl FnOnce(&World) -> Result<()>) -> i32 {
    or_else(name, |world| call(world).map(|()| 0), Error::code)
}

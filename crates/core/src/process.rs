//! Whether a process is one PE or its threads are PEs: it can't be both at a time.
use crate::error::{Error, Result, for_call, line};
use crate::world::World;
use core::sync::atomic::{AtomicI32, Ordering};
use std::sync::OnceLock;

/// -1: the process is a PE. Otherwise how many of its threads are.
static PES: AtomicI32 = AtomicI32::new(0);

/// The right to be a PE, given back when dropped.
#[derive(Debug)]
pub struct Place {
    thread: bool,
}

impl Place {
    /// The process becomes a PE.
    pub fn process() -> Result<Place> {
        let why = match PES.compare_exchange(0, -1, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return Ok(Place { thread: false }),
            Err(-1) => "this process is a PE already; finalize or drop its World first",
            Err(_) => {
                "threads of this process are PEs, each with a World of its own; use that World: the C names, and \
                 init, are for one PE a process"
            }
        };
        Err(Error::Bootstrap(why.into()))
    }

    /// A thread becomes a PE.
    pub fn thread() -> Result<Place> {
        let more = |pes: i32| (pes >= 0).then_some(pes + 1);
        match PES.fetch_update(Ordering::AcqRel, Ordering::Acquire, more) {
            Ok(_) => Ok(Place { thread: true }),
            Err(_) => {
                let why = "this process is a PE already, so its threads can't be PEs; finalize first";
                Err(Error::Bootstrap(why.into()))
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.thread {
            PES.fetch_sub(1, Ordering::AcqRel);
        } else {
            PES.store(0, Ordering::Release);
        }
    }
}

/// What `global_exit` of the C names does, where they are used.
static GLOBAL_EXIT: OnceLock<fn(i32) -> !> = OnceLock::new();

/// Sets how a PE ends the job on behalf of a kernel.
pub fn set_global_exit(exit: fn(i32) -> !) {
    let _ = GLOBAL_EXIT.set(exit);
}

/// Ends the job with this status, as a kernel asked for.
pub fn global_exit(world: &World, status: i32) -> ! {
    if let Some(exit) = GLOBAL_EXIT.get() {
        exit(status);
    }
    // Of an exit status the system keeps 8 bits; what says failure must not become 0.
    let status = if status != 0 && status & 0xff == 0 { 1 } else { status };
    world.boot().abort(status, "")
}

/// Ends the job because of the error of a call that has nobody to return it to.
#[cold]
pub fn fail(world: &World, call: &str, error: &Error) -> ! {
    world.boot().node_memory().1.hear_out(error);
    let text = for_call(&error.to_string(), call);
    world.boot().abort(error.code(), &line(Some(world.my_pe() as usize), call, &text))
}

/// In a forked child: neither it nor its only thread is a PE, whatever the parent was.
pub fn forked() {
    PES.store(0, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_one_pe_or_its_threads_are() {
        let (a, b) = (Place::thread().unwrap(), Place::thread().unwrap());
        drop(a);
        let refused = Place::process().unwrap_err().to_string();
        assert!(refused.contains("threads of this process are PEs"), "{refused}");
        drop(b);
        let process = Place::process().unwrap();
        assert!(Place::thread().unwrap_err().to_string().contains("a PE already"));
        assert!(Place::process().unwrap_err().to_string().contains("a PE already"));
        drop(process);
        assert!(Place::thread().is_ok());
    }
}

//! Being told to end by a signal, with time to clean up before it.
use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;

const NUMBERS: [c_int; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

/// The signals that ask a program to end, blocked so that one thread can wait for them.
#[derive(Clone, Copy)]
pub struct Interrupts {
    caught: libc::sigset_t,
    before: libc::sigset_t,
}

impl std::fmt::Debug for Interrupts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Interrupts")
    }
}

impl Interrupts {
    /// Blocks the signals in the calling thread and in those that it starts. A signal that is ignored, as
    /// `nohup` makes it, stays ignored.
    pub fn block() -> io::Result<Interrupts> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        let mut mask = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: sigemptyset initialises the set; sigaction with no new action only fills in `before`; any
        // bytes are a signal set.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for number in NUMBERS {
                let mut before = MaybeUninit::<libc::sigaction>::zeroed();
                let known = libc::sigaction(number, ptr::null(), before.as_mut_ptr()) == 0;
                if !(known && before.assume_init().sa_sigaction == libc::SIG_IGN) {
                    libc::sigaddset(set.as_mut_ptr(), number);
                }
            }
            let caught = set.assume_init();
            match libc::pthread_sigmask(libc::SIG_BLOCK, &caught, mask.as_mut_ptr()) {
                0 => Ok(Interrupts { caught, before: mask.assume_init() }),
                error => Err(io::Error::from_raw_os_error(error)),
            }
        }
    }

    /// Waits for the next of the signals.
    pub fn wait(&self) -> c_int {
        let mut number = 0;
        // SAFETY: the set is initialised, and the number is written to a local.
        while unsafe { libc::sigwait(&self.caught, &mut number) } != 0 {}
        number
    }

    /// Lets the program that the command starts have the signals as they were before.
    pub fn unblock_in(&self, command: &mut Command) {
        let before = self.before;
        let unblock = move || {
            // SAFETY: the set is initialised; the call is safe between fork and exec.
            match unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut()) } {
                0 => Ok(()),
                error => Err(io::Error::from_raw_os_error(error)),
            }
        };
        // SAFETY: the closure allocates nothing and takes no lock.
        unsafe { command.pre_exec(unblock) };
    }
}

/// Passes a signal on to a process that this one has started and not yet waited for.
pub fn pass_on(pid: u32, number: c_int) {
    if pid != 0 && pid <= i32::MAX as u32 {
        // SAFETY: no pointers; the number is positive, so it names one process.
        unsafe { libc::kill(pid as libc::pid_t, number) };
    }
}

/// Ends this process by the signal, so that its parent sees what happened.
pub fn end_by(number: c_int) -> ! {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set; the default action takes no pointers.
    unsafe {
        libc::signal(number, libc::SIG_DFL);
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), number);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), ptr::null_mut());
        libc::raise(number);
    }
    std::process::exit(128 + number)
}

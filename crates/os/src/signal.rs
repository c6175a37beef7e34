//! Signals: names, sending, and receiving them through a file descriptor.
use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A set of blocked signals.
#[derive(Clone, Copy)]
pub struct Mask(libc::sigset_t);

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mask")
    }
}

impl Mask {
    /// Makes this the calling thread's mask.
    pub(crate) fn set(&self) {
        // SAFETY: the set is initialised and nothing is stored.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }
}

/// True where this process was started with the signal ignored, as `nohup` and a shell's `&` do.
pub fn is_ignored(number: c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: asks only; the answer is filled in where the call succeeds, and zeros are valid otherwise.
    unsafe {
        libc::sigaction(number, std::ptr::null(), action.as_mut_ptr());
        action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Signals that arrive as readable bytes instead of interrupting.
#[derive(Debug)]
pub struct Signals {
    fd: OwnedFd,
    before: Mask,
}

impl Signals {
    /// Blocks these signals and receives them here. The mask as it was is for processes that are started.
    pub fn catch(numbers: &[c_int]) -> io::Result<Signals> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigemptyset initialises the set before it is used; sigprocmask fills in `before`.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for &number in numbers {
                libc::sigaddset(set.as_mut_ptr(), number);
            }
            if libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            let fd = libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Signals { fd: OwnedFd::from_raw_fd(fd), before: Mask(before.assume_init()) })
        }
    }

    /// The mask before [`Signals::catch`].
    pub fn mask_before(&self) -> &Mask {
        &self.before
    }

    /// Readable when a signal has come.
    pub fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// The next signal that has come: its number, and whether the kernel sent it (a terminal does so to
    /// the whole foreground process group).
    pub fn next(&self) -> Option<(c_int, bool)> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::zeroed();
        let len = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the buffer has the size that is passed; any bytes are a valid structure.
        unsafe {
            let got = libc::read(self.fd.as_raw_fd(), info.as_mut_ptr().cast(), len);
            let info = info.assume_init();
            (got == len as isize).then_some((info.ssi_signo as c_int, info.ssi_code == libc::SI_KERNEL))
        }
    }
}

/// Sends a signal to a process. False where there is no such process or it may not be signalled.
pub fn send(pid: u32, number: c_int) -> bool {
    // SAFETY: no pointers. A process id of 0 or below would mean a group.
    pid > 0 && pid <= i32::MAX as u32 && unsafe { libc::kill(pid as libc::pid_t, number) == 0 }
}

/// The calling process, and what it starts, ignores a signal.
pub fn ignore(number: c_int) {
    // SAFETY: no handler is installed.
    unsafe { libc::signal(number, libc::SIG_IGN) };
}

/// Stops the calling process until somebody continues it.
pub fn stop_self() {
    // SAFETY: no pointers.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// Name of a signal, as `SIGSEGV`.
pub fn name(number: c_int) -> String {
    const NAMES: [&str; 31] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
        "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
        "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    match NAMES.get((number - 1) as usize) {
        Some(name) => format!("SIG{name}"),
        None => format!("signal {number}"),
    }
}

/// Numbers of the signals that a launcher deals with.
pub mod number {
    pub use libc::{
        SIGABRT, SIGBUS, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGPIPE, SIGQUIT, SIGSEGV, SIGSTOP,
        SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2,
    };
}

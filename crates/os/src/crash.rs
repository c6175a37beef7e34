//! A last word of a thread that a signal is about to end.
//!
//! Handlers of the program are left alone: only signals that would end the process get one, and it ends as it
//! would have, with the same signal at the same place.
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is called: the signal, and the address that was used where the signal is about one. It runs in a signal
/// handler, on a stack of its own.
pub type Report = fn(signal: c_int, address: Option<usize>);

static REPORT: OnceLock<Report> = OnceLock::new();
static SILENT: AtomicBool = AtomicBool::new(false);
static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();

const SIGNALS: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT];
/// Bytes of a handler's stack.
const STACK: usize = 64 << 10;

/// Has `report` called for threads that [`watch_thread`] knows. The first call counts.
pub fn install(report: Report) {
    if REPORT.set(report).is_err() {
        return;
    }
    let mut key = 0;
    // SAFETY: the destructor takes what `watch_thread` stores.
    if unsafe { libc::pthread_key_create(&mut key, Some(forget_stack)) } != 0 {
        return;
    }
    let _ = KEY.set(key);
    for signal in SIGNALS {
        let mut old = MaybeUninit::<libc::sigaction>::zeroed();
        let mut new: libc::sigaction =
            // SAFETY: all zeros are a valid sigaction.
            unsafe { MaybeUninit::zeroed().assume_init() };
        new.sa_sigaction = handle as *const () as usize;
        new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: the structures are valid; zeros are valid where the call fails.
        unsafe {
            libc::sigaction(signal, std::ptr::null(), old.as_mut_ptr());
            if old.assume_init().sa_sigaction == libc::SIG_DFL {
                libc::sigaction(signal, &new, std::ptr::null_mut());
            }
        }
    }
}

/// Reports signals of the calling thread from now on, and gives it a stack for handlers, unless it has one.
pub fn watch_thread() {
    let Some(&key) = KEY.get() else { return };
    // SAFETY: the key exists. The stack is given back by `forget_stack` only, when the thread has taken it out
    // of use.
    unsafe {
        if !libc::pthread_getspecific(key).is_null() {
            return;
        }
        let mut own = MaybeUninit::<libc::stack_t>::zeroed();
        libc::sigaltstack(std::ptr::null(), own.as_mut_ptr());
        let mut stack = std::ptr::null_mut();
        if own.assume_init().ss_flags & libc::SS_DISABLE != 0 {
            stack = libc::malloc(STACK);
            if !stack.is_null() {
                let new = libc::stack_t { ss_sp: stack, ss_flags: 0, ss_size: STACK };
                libc::sigaltstack(&new, std::ptr::null_mut());
            }
        }
        // A thread that has a stack of its own is known by an address that is no stack of ours.
        let known = if stack.is_null() { (&raw const SILENT).cast_mut().cast() } else { stack };
        libc::pthread_setspecific(key, known);
    }
}

/// # Safety
/// `stack` is what `watch_thread` stored for the calling thread, which ends.
unsafe extern "C" fn forget_stack(stack: *mut c_void) {
    if stack.cast_const() == (&raw const SILENT).cast() {
        return;
    }
    // SAFETY: as the caller promises: no handler runs on it any more.
    unsafe {
        let none = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        libc::sigaltstack(&none, std::ptr::null_mut());
        libc::free(stack);
    }
}

/// What follows has been explained already.
pub fn silence() {
    SILENT.store(true, Ordering::Relaxed);
}

/// # Safety
/// Called by the system for a signal.
unsafe extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the system passes a valid structure; `si_addr` is read for signals that have one.
    unsafe {
        let sent = (*info).si_code <= 0;
        let address = (!sent && signal != libc::SIGABRT).then(|| (*info).si_addr() as usize);
        let known = KEY.get().is_some_and(|&key| !libc::pthread_getspecific(key).is_null());
        if known
            && !SILENT.load(Ordering::Relaxed)
            && let Some(report) = REPORT.get()
        {
            report(signal, address);
        }
        // What has happened happens again, and then ends the process. A signal that was sent doesn't.
        libc::signal(signal, libc::SIG_DFL);
        if sent {
            libc::raise(signal);
        }
    }
}

/// Writes a line to standard error from a signal handler.
pub fn write_line(line: &[u8]) {
    let mut left = line;
    while !left.is_empty() {
        // SAFETY: the bytes are valid.
        let written = unsafe { libc::write(2, left.as_ptr().cast(), left.len()) };
        match usize::try_from(written) {
            Ok(n) if n > 0 => left = &left[n.min(left.len())..],
            _ => return,
        }
    }
}

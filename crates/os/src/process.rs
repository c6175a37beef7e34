//! Starting processes, watching them end, and what a process does about itself.
use crate::signal::Mask;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::ptr;

/// Error number of `execve` for a script without a line that names its interpreter.
pub const NO_INTERPRETER: i32 = libc::ENOEXEC;

/// Error number of calls that name a process that does not exist.
pub const NO_PROCESS: i32 = libc::ESRCH;

/// A set of CPUs.
#[derive(Clone, Copy)]
pub struct CpuSet(libc::cpu_set_t);

impl std::fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl CpuSet {
    /// CPUs of the calling thread's affinity mask, without regard to cgroup quotas.
    pub fn usable() -> io::Result<CpuSet> {
        // SAFETY: an all-zero set is an empty set.
        let mut set = CpuSet(unsafe { std::mem::zeroed() });
        // SAFETY: the pointer and the size are those of the set.
        let rc = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set.0) };
        if rc == 0 { Ok(set) } else { Err(io::Error::last_os_error()) }
    }

    /// A set of these CPUs; numbers beyond what the kernel's interface holds are left out.
    pub fn of(cpus: impl IntoIterator<Item = usize>) -> CpuSet {
        // SAFETY: an all-zero set is an empty set.
        let mut set = CpuSet(unsafe { std::mem::zeroed() });
        for cpu in cpus.into_iter().filter(|&cpu| cpu < libc::CPU_SETSIZE as usize) {
            // SAFETY: `cpu` is below CPU_SETSIZE.
            unsafe { libc::CPU_SET(cpu, &mut set.0) };
        }
        set
    }

    /// The CPUs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        // SAFETY: the number is below CPU_SETSIZE.
        (0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &self.0) })
    }
}

/// What to start and how. File descriptors that are not closed on exec are inherited.
#[derive(Debug)]
pub struct Spawn<'a> {
    /// Path of the program; it is not searched for.
    pub program: &'a CStr,
    /// Arguments, the program's name among them.
    pub args: &'a [CString],
    /// The whole environment.
    pub env: &'a [&'a CStr],
    /// What becomes file descriptors 0, 1 and 2.
    pub stdio: [BorrowedFd<'a>; 3],
    /// CPUs to run on.
    pub cpus: Option<CpuSet>,
    /// Signals that are blocked in the new process.
    pub mask: &'a Mask,
    /// Limit on open files to give back to the new process.
    pub file_limit: Option<FileLimit>,
}

/// Soft and hard limit on the number of open files.
#[derive(Clone, Copy, Debug)]
pub struct FileLimit(u64, u64);

/// What the new process reads on its way to `execve`, in the memory that it still shares with its parent.
struct Plan<'a> {
    spawn: &'a Spawn<'a>,
    argv: &'a [*const c_char],
    envp: &'a [*const c_char],
    parent: libc::pid_t,
    error: c_int,
}

/// Starts processes one after the other, with one stack for the short time that each shares its parent's
/// memory.
#[derive(Debug)]
pub struct Spawner {
    stack: Vec<u128>,
}

impl Default for Spawner {
    fn default() -> Self {
        Self::new()
    }
}

impl Spawner {
    /// Nothing is started yet.
    pub fn new() -> Spawner {
        Spawner { stack: vec![0; 4096] }
    }

    /// Starts a process in the caller's process group that is killed when the calling thread ends. Gives
    /// its process id, or the error of `execve`.
    pub fn start(&mut self, spawn: &Spawn<'_>) -> io::Result<u32> {
        let args = spawn.args.iter().map(|arg| arg.as_ptr());
        let argv: Vec<_> = args.chain([ptr::null()]).collect();
        let envp: Vec<_> = spawn.env.iter().map(|var| var.as_ptr()).chain([ptr::null()]).collect();
        // SAFETY: getpid takes nothing.
        let parent = unsafe { libc::getpid() };
        let mut plan = Plan { spawn, argv: &argv, envp: &envp, parent, error: 0 };
        // CLONE_VM with CLONE_VFORK: no page table is copied, and the caller sleeps until the exec.
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        // SAFETY: the child runs `become_program` on a stack of its own and ends in exec or _exit before
        // this thread goes on, so everything that it borrows is alive.
        let pid = unsafe {
            let top = self.stack.as_mut_ptr_range().end;
            libc::clone(become_program, top.cast(), flags, ptr::from_mut(&mut plan).cast())
        };
        if pid < 0 {
            return Err(io::Error::last_os_error());
        }
        // The child wrote this through the pointer that clone was given.
        // SAFETY: the field is a plain integer of this frame.
        let error = unsafe { ptr::read_volatile(&raw const plan.error) };
        if error != 0 {
            // SAFETY: the child is ours and has exited; nothing is stored.
            unsafe { libc::waitpid(pid, ptr::null_mut(), 0) };
            return Err(io::Error::from_raw_os_error(error));
        }
        Ok(pid as u32)
    }
}

extern "C" fn become_program(plan: *mut c_void) -> c_int {
    // SAFETY: `start` passes its plan, which outlives this call.
    let plan = unsafe { &mut *plan.cast::<Plan<'_>>() };
    let spawn = plan.spawn;
    // SAFETY: only system calls whose arguments live in the parent's sleeping frame; no allocation, no
    // lock. Signal dispositions and file descriptors are the child's own (no CLONE_SIGHAND, no CLONE_FILES).
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != plan.parent {
            libc::_exit(127);
        }
        // The Rust runtime ignores SIGPIPE, and ignored signals stay ignored over exec.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        if let Some(set) = spawn.cpus
            && libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set.0) != 0
        {
            return fail(plan);
        }
        if let Some(FileLimit(soft, hard)) = spawn.file_limit {
            libc::setrlimit(libc::RLIMIT_NOFILE, &libc::rlimit { rlim_cur: soft, rlim_max: hard });
        }
        for (target, fd) in spawn.stdio.iter().enumerate() {
            let target = target as RawFd;
            let rc = match fd.as_raw_fd() {
                // Already in place, but perhaps to be closed on exec.
                same if same == target => libc::fcntl(target, libc::F_SETFD, 0),
                other => libc::dup2(other, target),
            };
            if rc < 0 {
                return fail(plan);
            }
        }
        spawn.mask.set();
        libc::execve(spawn.program.as_ptr(), plan.argv.as_ptr(), plan.envp.as_ptr());
        fail(plan)
    }
}

/// Leaves the reason for the parent and ends.
fn fail(plan: &mut Plan<'_>) -> c_int {
    plan.error = io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
    // SAFETY: _exit runs no handler of the parent whose memory this is.
    unsafe { libc::_exit(127) }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It exited with this code.
    Exit(i32),
    /// A signal ended it.
    Signal {
        /// Number of the signal.
        number: i32,
        /// True where the kernel says that it wrote a core file.
        core: bool,
    },
}

/// Takes one child that has ended, orphans that this process adopted among them, if there is one.
pub fn reap() -> Option<(u32, Ended)> {
    let mut status = 0;
    // SAFETY: the status is this frame's.
    let pid = unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) };
    (pid > 0).then(|| {
        let ended = match libc::WIFSIGNALED(status) {
            true => Ended::Signal { number: libc::WTERMSIG(status), core: libc::WCOREDUMP(status) },
            false => Ended::Exit(libc::WEXITSTATUS(status)),
        };
        (pid as u32, ended)
    })
}

/// Orphaned descendants of this process become its children from now on, so that it can end them.
pub fn adopt_orphans() -> bool {
    // SAFETY: no pointers.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) == 0 }
}

/// Process ids of the children of this process, as far as the kernel lists them.
pub fn children() -> Vec<u32> {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
    let text = tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    text.flat_map(|t| t.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

/// A file descriptor that becomes readable when process `pid` ends.
pub fn watch(pid: u32) -> io::Result<OwnedFd> {
    let pid = rustix::process::Pid::from_raw(pid as i32).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())?)
}

/// What keeps a process from running until somebody lets it go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// A signal such as SIGSTOP has stopped it, and SIGCONT continues it.
    Stopped,
    /// This tracer, a debugger say, holds it; 0 where it is not known.
    Traced(u32),
}

/// Whether process `pid` is kept from running, and by what.
pub fn halt(pid: u32) -> Option<Halt> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may contain anything.
    match stat.rsplit_once(") ")?.1.chars().next()? {
        'T' => Some(Halt::Stopped),
        't' => {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
            Some(Halt::Traced(tracer.and_then(|pid| pid.trim().parse().ok()).unwrap_or(0)))
        }
        _ => None,
    }
}

/// A thread of a process.
#[derive(Debug)]
pub struct Task {
    /// Its name, of which the kernel keeps 15 bytes.
    pub name: String,
    /// It waits for something, and neither runs nor could.
    pub sleeps: bool,
    /// Processes that it has started run, or it isn't known.
    pub has_children: bool,
}

/// The threads of process `pid`.
pub fn tasks(pid: u32) -> Option<Vec<Task>> {
    let task = |folder: std::path::PathBuf| {
        let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
        let (name, rest) = stat.split_once(" (")?.1.rsplit_once(") ")?;
        let children = std::fs::read_to_string(folder.join("children"));
        Some(Task {
            name: name.to_owned(),
            sleeps: rest.starts_with('S'),
            has_children: children.map_or(true, |pids| !pids.trim().is_empty()),
        })
    };
    std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.map(|entry| task(entry.ok()?.path())).collect()
}

/// The signals for which process `pid` has handlers: bit n - 1 for signal n.
pub fn caught_signals(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// Raises the soft limit on open files to the hard one where it is below `need`; gives the old limit if
/// that changed it.
pub fn raise_file_limit(need: u64) -> Option<FileLimit> {
    let mut old = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structures are this frame's.
    unsafe {
        let read = libc::getrlimit(libc::RLIMIT_NOFILE, &mut old) == 0;
        if !read || old.rlim_cur >= need || old.rlim_cur >= old.rlim_max {
            return None;
        }
        let new = libc::rlimit { rlim_cur: old.rlim_max, ..old };
        (libc::setrlimit(libc::RLIMIT_NOFILE, &new) == 0).then_some(FileLimit(old.rlim_cur, old.rlim_max))
    }
}

/// The kernel kills this process when the last writer of the pipe `fd` is gone, from now on. Needs no
/// thread. Fails where `/proc` is missing.
///
/// The pipe is opened anew, because the processes of a job inherit one open file description, and
/// ownership of its signals would be shared as well.
pub fn die_with_writers(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    const F_SETSIG: c_int = 10;
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC | rustix::fs::OFlags::NONBLOCK;
    let own = rustix::fs::open(path, flags, rustix::fs::Mode::empty())?;
    let raw = own.as_raw_fd();
    let pid = crate::fault::pid() as c_int;
    // SAFETY: integer arguments only, on a descriptor that is owned here.
    let rc = unsafe {
        let flags = libc::fcntl(raw, libc::F_GETFL);
        libc::fcntl(raw, libc::F_SETOWN, pid)
            | libc::fcntl(raw, F_SETSIG, libc::SIGKILL)
            | libc::fcntl(raw, libc::F_SETFL, flags | libc::O_ASYNC)
    };
    if rc < 0 {
        return Err(io::Error::last_os_error());
    }
    if crate::socket::hung_up(&own) {
        // The writers were gone before the kernel was asked.
        exit_now(128 + libc::SIGKILL);
    }
    Ok(own)
}

/// Ends the process at once, without exit handlers.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: no memory is touched any more.
    unsafe { libc::_exit(code) }
}

/// Registers what `exit`, and the end of `main`, call; the last one registered is the first one called.
pub fn at_exit(handler: extern "C" fn()) -> bool {
    // SAFETY: a function of this library, which is never unloaded.
    unsafe { libc::atexit(handler) == 0 }
}

/// Waits until another thread has ended the process.
pub fn wait_for_exit() -> ! {
    loop {
        std::thread::park();
    }
}

/// Writes out what Rust and the C library still buffer for any stream, for half a second at most: a thread
/// that waits for input holds the lock of its stream, for which flushing all of them would wait.
pub fn flush_stdio() {
    let (done, wait) = std::sync::mpsc::channel();
    let flush = move || {
        let _ = io::Write::flush(&mut io::stdout());
        // SAFETY: a null stream means all of them.
        unsafe { libc::fflush(ptr::null_mut()) };
        let _ = done.send(());
    };
    if std::thread::Builder::new().spawn(flush).is_ok() {
        let _ = wait.recv_timeout(std::time::Duration::from_millis(500));
    }
}

/// Makes the C library's standard output hand over each line when it is complete, as on a terminal:
/// output would otherwise be lost when a process is killed.
pub fn line_buffer_stdout() {
    unsafe extern "C" {
        static mut stdout: *mut libc::FILE;
    }
    // SAFETY: glibc lets the mode of an open stream change at any time while the buffer stays its own.
    unsafe { libc::setvbuf(stdout, ptr::null_mut(), libc::_IOLBF, 0) };
}

/// Removes a variable from the environment.
///
/// # Safety
/// No other thread may read or write the environment meanwhile.
pub unsafe fn remove_env(name: &str) {
    // SAFETY: the caller's promise.
    unsafe { std::env::remove_var(name) }
}

/// Process id of the parent, 0 where it stands outside this process's namespace.
pub fn parent() -> u32 {
    rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get() as u32)
}

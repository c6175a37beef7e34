//! Sockets and pipes between a launcher and its processes, and waiting for them.
use rustix::event::Timespec;
pub use rustix::event::{PollFd, PollFlags};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Longest message of a control socket, in bytes.
pub const MESSAGE: usize = 4096;

/// A pair of connected sockets that keep messages apart. The first is closed on exec and learns the
/// sender's process id, as the kernel knows it, with each message; the second is inherited by processes.
pub fn control_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair, sockopt};
    let flags = SocketFlags::CLOEXEC;
    let (near, far) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    sockopt::set_socket_passcred(&near, true)?;
    inherit(&far)?;
    Ok((near, far))
}

/// A pipe, closed on exec: reading end, writing end.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?)
}

/// Lets processes that are started inherit the descriptor.
pub fn inherit(fd: impl AsFd) -> io::Result<()> {
    Ok(rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::empty())?)
}

/// Keeps processes that are started from inheriting the descriptor.
pub fn close_on_exec(fd: impl AsFd) -> io::Result<()> {
    Ok(rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::CLOEXEC)?)
}

/// Reading from the descriptor no longer waits. Only for descriptors that no other process shares.
pub fn nonblocking(fd: impl AsFd) -> io::Result<()> {
    let fd = fd.as_fd();
    let flags = rustix::fs::fcntl_getfl(fd)?;
    Ok(rustix::fs::fcntl_setfl(fd, flags | rustix::fs::OFlags::NONBLOCK)?)
}

/// Sends one message. Waits while the other side's queue is full.
pub fn send(fd: impl AsFd, message: &[u8]) -> io::Result<()> {
    use rustix::net::SendFlags;
    rustix::io::retry_on_intr(|| rustix::net::send(&fd, message, SendFlags::NOSIGNAL))?;
    Ok(())
}

/// Takes the next message, without waiting, and its sender's process id (0: unknown). `None` where there
/// is none, or where the other side is closed.
pub fn receive(fd: impl AsFd, buffer: &mut [u8; MESSAGE]) -> Option<(usize, u32)> {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
    let mut space = [MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [io::IoSliceMut::new(buffer)];
    let got = recvmsg(fd, &mut parts, &mut control, RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC).ok()?;
    let pid = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmCredentials(creds) => Some(creds.pid.as_raw_nonzero().get() as u32),
        _ => None,
    });
    (got.bytes > 0).then_some((got.bytes, pid.unwrap_or(0)))
}

/// Waits until one of the descriptors is ready, a signal arrives, or the time is over.
pub fn poll(fds: &mut [PollFd<'_>], timeout: Option<Duration>) -> usize {
    let limit = timeout.map(|t| Timespec { tv_sec: t.as_secs() as i64, tv_nsec: t.subsec_nanos() as i64 });
    rustix::event::poll(fds, limit.as_ref()).unwrap_or(0)
}

/// Whether the descriptor can be written now.
pub fn writable(fd: impl AsFd) -> bool {
    let mut fds = [PollFd::new(&fd, PollFlags::OUT)];
    poll(&mut fds, Some(Duration::ZERO)) > 0
}

/// Whether something can be read, or an event has come, now.
pub fn readable(fd: impl AsFd) -> bool {
    let mut fds = [PollFd::new(&fd, PollFlags::IN)];
    poll(&mut fds, Some(Duration::ZERO)) > 0
}

/// Whether the other side of a socket or pipe is gone.
pub fn hung_up(fd: impl AsFd) -> bool {
    let mut fds = [PollFd::new(&fd, PollFlags::empty())];
    poll(&mut fds, Some(Duration::ZERO)) > 0 && fds[0].revents().contains(PollFlags::HUP)
}

/// Waits until the other side of a socket or pipe is gone.
pub fn wait_for_hang_up(fd: impl AsFd) {
    let mut fds = [PollFd::new(&fd, PollFlags::empty())];
    while !fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
        poll(&mut fds, None);
    }
}

/// What a descriptor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Not open.
    Closed,
    /// A socket of the Unix domain that keeps messages apart.
    Control,
    /// A pipe.
    Pipe,
    /// A file of the memory, of this many bytes.
    Memory(u64),
    /// Something else.
    Other,
}

/// What descriptor `raw` is, if it is open.
pub fn kind(raw: i32) -> Kind {
    use rustix::fs::FileType;
    if raw < 0 {
        return Kind::Closed;
    }
    // SAFETY: the descriptor is only used for queries, which fail harmlessly where it is not open.
    let fd = unsafe { BorrowedFd::borrow_raw(raw) };
    let Ok(stat) = rustix::fs::fstat(fd) else { return Kind::Closed };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Fifo => Kind::Pipe,
        FileType::Socket => match rustix::net::sockopt::socket_type(fd) {
            Ok(rustix::net::SocketType::SEQPACKET) => Kind::Control,
            _ => Kind::Other,
        },
        FileType::RegularFile if rustix::fs::fcntl_get_seals(fd).is_ok() => Kind::Memory(stat.st_size as u64),
        _ => Kind::Other,
    }
}

/// Takes over a descriptor that this process inherited, and keeps its own children from inheriting it.
///
/// # Safety
/// Nobody else in this process may own the descriptor.
pub unsafe fn take_inherited(raw: i32) -> io::Result<OwnedFd> {
    use std::os::fd::FromRawFd;
    // SAFETY: the caller's promise.
    let fd = unsafe { OwnedFd::from_raw_fd(raw) };
    close_on_exec(&fd)?;
    Ok(fd)
}

/// Whether two descriptors are the same file, pipe or terminal.
pub fn same_file(a: impl AsFd, b: impl AsFd) -> bool {
    match (rustix::fs::fstat(a), rustix::fs::fstat(b)) {
        (Ok(a), Ok(b)) => (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino),
        _ => false,
    }
}

/// Whether writing to the descriptor can wait for a reader: true for everything but regular files.
pub fn may_block(fd: impl AsFd) -> bool {
    let kind = rustix::fs::fstat(fd).map(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode));
    !matches!(kind, Ok(rustix::fs::FileType::RegularFile))
}

/// Whether the descriptor is a terminal.
pub fn is_terminal(fd: impl AsFd) -> bool {
    rustix::termios::isatty(fd)
}

/// Reads what is there. `Ok(0)` is the end, `WouldBlock` nothing yet.
pub fn read(fd: impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::retry_on_intr(|| rustix::io::read(fd.as_fd(), &mut *buffer))?)
}

/// Writes a part of `bytes`.
pub fn write(fd: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::io::retry_on_intr(|| rustix::io::write(fd.as_fd(), bytes))?)
}

/// Standard input, output and error of this process.
pub fn standard() -> [BorrowedFd<'static>; 3] {
    // SAFETY: a Rust process opens /dev/null for any of the three that is closed at its start, and nothing
    // here closes them.
    unsafe { [0, 1, 2].map(|raw| BorrowedFd::borrow_raw(raw.as_raw_fd())) }
}

/// The file that swallows everything and is always at its end.
pub fn dev_null() -> io::Result<OwnedFd> {
    use rustix::fs::{Mode, OFlags};
    Ok(rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?)
}

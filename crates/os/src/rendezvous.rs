//! Meeting of processes that nobody started together: sockets of the abstract namespace, which leave no file
//! behind, and what the kernel knows of who is at the other end.
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Most descriptors that go with one message.
pub const DESCRIPTORS: usize = 2;

/// Who is at the other end of a socket, as the kernel says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Process id, 0 where it stands in another namespace.
    pub pid: u32,
    /// User id.
    pub uid: u32,
}

fn socket() -> io::Result<OwnedFd> {
    Ok(rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// A socket that listens under an abstract name.
pub fn listen(name: &[u8]) -> io::Result<OwnedFd> {
    let fd = socket()?;
    rustix::net::bind(&fd, &SocketAddrUnix::new_abstract_name(name)?)?;
    rustix::net::listen(&fd, 4096)?;
    Ok(fd)
}

/// Connects to who listens under an abstract name.
pub fn connect(name: &[u8]) -> io::Result<OwnedFd> {
    let fd = socket()?;
    let address = SocketAddrUnix::new_abstract_name(name)?;
    rustix::io::retry_on_intr(|| rustix::net::connect(&fd, &address))?;
    Ok(fd)
}

/// Takes the next connection, which has to be there.
pub fn accept(fd: impl AsFd) -> io::Result<OwnedFd> {
    Ok(rustix::io::retry_on_intr(|| rustix::net::accept_with(&fd, SocketFlags::CLOEXEC))?)
}

/// Who is at the other end.
pub fn peer(fd: impl AsFd) -> io::Result<Peer> {
    use std::os::fd::AsRawFd;
    let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // A process of another namespace has the id 0, so the kernel is asked directly.
    // SAFETY: `found` has room for `len` bytes.
    let rc = unsafe {
        libc::getsockopt(
            fd.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut found).cast(),
            &raw mut len,
        )
    };
    if rc != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Peer { pid: u32::try_from(found.pid).unwrap_or(0), uid: found.uid })
}

/// The user that this process runs as.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Sends a message with descriptors, of which the other side gets duplicates.
pub fn send_with(fd: impl AsFd, message: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let parts = [io::IoSlice::new(message)];
    rustix::io::retry_on_intr(|| rustix::net::sendmsg(&fd, &parts, &mut control, SendFlags::NOSIGNAL))?;
    Ok(())
}

/// Takes the next message, waiting for it, and the descriptors that came with it. Length 0: the other side has
/// closed.
pub fn receive_with(fd: impl AsFd, buffer: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = loop {
        let mut parts = [io::IoSliceMut::new(buffer)];
        match rustix::net::recvmsg(&fd, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other?,
        }
    };
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    Ok((got.bytes, descriptors))
}

/// Fills the buffer with random bytes.
pub fn random(buffer: &mut [u8]) -> io::Result<()> {
    // SAFETY: the buffer's own length. Up to 256 bytes come at once.
    let got = unsafe { libc::getrandom(buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    if got == buffer.len() as isize { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What tells this machine, as long as it runs, from all others.
pub fn boot_id() -> [u8; 16] {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let mut id = [0; 16];
    for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = std::str::from_utf8(pair).ok().and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0);
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_travel() {
        let mut token = [0; 16];
        random(&mut token).unwrap();
        let name: Vec<u8> = token.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect();
        assert!(connect(&name).is_err());
        let listener = listen(&name).unwrap();
        assert!(listen(&name).is_err(), "the name is taken");
        let far = connect(&name).unwrap();
        let near = accept(&listener).unwrap();
        let us = Peer { pid: crate::fault::pid(), uid: user() };
        assert_eq!((peer(&near).unwrap(), peer(&far).unwrap()), (us, us));
        let (reading, writing) = crate::socket::pipe().unwrap();
        send_with(&near, b"hello", &[reading.as_fd()]).unwrap();
        let mut buffer = [0; 64];
        let (len, got) = receive_with(&far, &mut buffer).unwrap();
        assert_eq!((&buffer[..len], got.len()), (&b"hello"[..], 1));
        assert_eq!(crate::socket::write(&writing, b"x").unwrap(), 1);
        assert_eq!(crate::socket::read(&got[0], &mut buffer).unwrap(), 1);
        drop(near);
        assert_eq!(receive_with(&far, &mut buffer).unwrap().0, 0);
    }
}

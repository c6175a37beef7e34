//! Lines on standard error.
use std::io::Write;

/// Writes a line, or several, to standard error in one piece: what several processes say at the same time doesn't
/// run into each other. What can't be written is lost, as there is nowhere else to say so.
pub fn say(line: &str) {
    let mut whole = String::with_capacity(line.len() + 1);
    whole.push_str(line);
    if !line.ends_with('\n') {
        whole.push('\n');
    }
    // Standard error has no buffer: one call is one write.
    let _ = std::io::stderr().lock().write_all(whole.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixDatagram;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    /// A datagram for each write shows how many there were.
    #[test]
    fn a_line_is_one_write() {
        const CHILD: &str = "DUSHMEM_TESTKIT_SAY";
        if std::env::var_os(CHILD).is_some() {
            say("one line");
            say("two\nlines\n");
            return;
        }
        let (here, there) = UnixDatagram::pair().expect("sockets");
        here.set_read_timeout(Some(Duration::from_secs(20))).expect("a time limit");
        let program = std::env::current_exe().expect("this program");
        let child = Command::new(program)
            .args(["say::tests::a_line_is_one_write", "--exact"])
            .env(CHILD, "1")
            .stdout(Stdio::null())
            .stderr(OwnedFd::from(there))
            .status()
            .expect("this program runs");
        assert!(child.success());
        for written in ["one line\n", "two\nlines\n"] {
            let mut buffer = [0; 100];
            let len = here.recv(&mut buffer).expect("a write");
            assert_eq!(String::from_utf8_lossy(&buffer[..len]), written);
        }
    }
}

//! Who watches over PEs that have no launcher: each other. The host of a unique id watches all, and all watch the
//! host. A PE that ends before it has finalized ends the job.
use crate::error::BootError;
use crate::launch::Message;
use crate::node::Node;
use dushmem_core::job::PeState;
use dushmem_os::socket::{self, PollFd, PollFlags};
use dushmem_os::{image, process};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Exit code of the PEs that are left when one has ended.
const LEFT_ALONE: i32 = 1;

/// A PE at the other end of a socket.
#[derive(Debug)]
pub(crate) struct Other {
    pub pe: usize,
    /// 0 where it stands in another namespace.
    pub pid: u32,
    pub socket: OwnedFd,
}

/// Those that a PE is connected with: the host with all, the others with the host.
#[derive(Debug)]
pub(crate) struct Circle {
    pub others: Vec<Other>,
    pub is_host: bool,
}

#[derive(Debug)]
struct Shared {
    node: Arc<Node>,
    circle: Circle,
    /// Somebody of this process is about to end it.
    ending: AtomicBool,
    /// One more than a PE that has ended; 0 for none.
    gone: AtomicUsize,
}

/// The thread that watches.
#[derive(Debug)]
pub(crate) struct Watch(Arc<Shared>);

impl Watch {
    pub(crate) fn start(node: Arc<Node>, circle: Circle) -> Result<Watch, BootError> {
        let (ending, gone) = (AtomicBool::new(false), AtomicUsize::new(0));
        let shared = Arc::new(Shared { node, circle, ending, gone });
        if !shared.circle.others.is_empty() {
            let own = Arc::clone(&shared);
            let thread = std::thread::Builder::new().name("dushmem-watch".into()).stack_size(128 << 10);
            let watcher = image::Watcher::new();
            thread
                .spawn(move || {
                    own.watch();
                    drop(watcher);
                })
                .map_err(|why| BootError::System { what: "watch over the other PEs", why })?;
        }
        Ok(Watch(shared))
    }

    /// A PE that has ended since, if one has.
    pub(crate) fn gone(&self) -> Option<usize> {
        self.0.gone.load(Ordering::Acquire).checked_sub(1)
    }

    /// Ends all PEs, and this one last.
    pub(crate) fn abort(&self, code: i32, message: &str) -> ! {
        self.0.end(code, message, None)
    }

    /// Ends all other PEs. This one is left to its caller.
    pub(crate) fn end_others(&self, code: i32) {
        if !self.0.ending.swap(true, Ordering::AcqRel) {
            self.0.tell(code, "", None);
        }
    }
}

impl Shared {
    fn watch(&self) {
        let mut watched: Vec<(&Other, Option<OwnedFd>)> = self
            .circle
            .others
            .iter()
            .map(|other| {
                // A child that the PE has forked may hold the socket open: the process itself can't be mistaken.
                let process = if other.pid > 0 { process::watch(other.pid).ok() } else { None };
                (other, process)
            })
            .collect();
        while !watched.is_empty() {
            let ready: Vec<(bool, bool)> = {
                let mut fds = Vec::new();
                for (other, process) in &watched {
                    fds.push(PollFd::new(&other.socket, PollFlags::IN));
                    fds.extend(process.iter().map(|process| PollFd::new(process, PollFlags::IN)));
                }
                socket::poll(&mut fds, None);
                let mut events = fds.iter().map(|fd| fd.revents());
                let mut next = || events.next().unwrap_or(PollFlags::empty());
                watched
                    .iter()
                    .map(|(_, process)| (!next().is_empty(), process.is_some() && !next().is_empty()))
                    .collect()
            };
            let mut at = 0;
            watched.retain(|(other, _)| {
                let (spoke, ended) = ready[at];
                at += 1;
                !(spoke || ended) || self.hear(other, ended)
            });
        }
    }

    /// Reads what another PE has said, or sees that it has ended. False where there is nothing more to watch.
    fn hear(&self, other: &Other, ended: bool) -> bool {
        let mut buffer = [0; socket::MESSAGE];
        while let Some((len, _)) = socket::receive(&other.socket, &mut buffer) {
            if let Some(Message::Abort { code, text, .. }) = Message::decode(&buffer[..len]) {
                self.end(code, &text, Some(other.pe));
            }
        }
        if !ended && !socket::hung_up(&other.socket) {
            return true;
        }
        self.gone.store(other.pe + 1, Ordering::Release);
        let page = self.node.memory().1;
        if page.card(other.pe).state() == PeState::Finalized {
            return false;
        }
        let host = dushmem_os::symbols::host_name();
        let (pe, pid) = (other.pe, other.pid);
        let line =
            format!("dushmem: PE {pe} (process {pid}, host {host}) ended without finalize, so the job ends");
        let mut first = false;
        page.tell_once(u64::MAX, 0x656e_6465_6400_0000 + pe as u64, || first = true);
        self.end(LEFT_ALONE, if first { &line } else { "" }, Some(pe))
    }

    /// Tells the others, and ends this process.
    fn end(&self, code: i32, message: &str, from: Option<usize>) -> ! {
        if self.ending.swap(true, Ordering::AcqRel) {
            // Another thread is at it, and will end this one too.
            loop {
                std::thread::park();
            }
        }
        let told = self.tell(code, message, from);
        if !told && !message.is_empty() {
            dushmem_os::say::say(message);
        }
        process::flush_stdio();
        process::exit_now(code)
    }

    /// Tells those whom this PE is connected with that the job ends, all but `from`. False where nobody was told.
    fn tell(&self, code: i32, message: &str, from: Option<usize>) -> bool {
        let pe = self.node.place().0;
        if self.circle.is_host {
            if !message.is_empty() {
                dushmem_os::say::say(message);
            }
            let silent = Message::Abort { pe, code, text: String::new() }.encode();
            for other in self.circle.others.iter().filter(|other| Some(other.pe) != from) {
                let _ = socket::send(&other.socket, &silent);
            }
            true
        } else if let (Some(host), None) = (self.circle.others.first(), from) {
            let message = Message::Abort { pe, code, text: message.to_owned() };
            socket::send(&host.socket, &message.encode()).is_ok()
        } else {
            false
        }
    }
}

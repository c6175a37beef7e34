//! The meeting of the PEs of a unique id: the maker of the id, their host, waits for all of them, finds out whether
//! the numbers fit together, and gives each the node's memory, or all the same reason.
use crate::error::BootError;
use crate::launch::MAX_PES;
use crate::node::new_memory;
use crate::unique_id::UniqueId;
use crate::watch::{Circle, Other};
use dushmem_os::rendezvous::{self, Peer};
use dushmem_os::socket::{self, PollFd, PollFlags};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// Version of these messages.
const PROTOCOL: u32 = 1;

/// First byte of what the host says.
mod kind {
    pub const SEEN: u8 = 1;
    pub const REFUSED: u8 = 2;
    pub const WELCOME: u8 = 3;
}

/// After this time a PE says whom it waits for, and then from time to time.
const FIRST_WORD: Duration = Duration::from_secs(5);
const NEXT_WORD: Duration = Duration::from_secs(60);

/// How often waiting PEs look at the clock.
const LOOK: Duration = Duration::from_millis(500);

/// What a PE says first.
#[derive(Clone, Copy)]
struct Hello {
    rank: i32,
    nranks: i32,
}

impl Hello {
    fn encode(self) -> [u8; 12] {
        let mut bytes = [0; 12];
        for (part, word) in bytes.chunks_exact_mut(4).zip([PROTOCOL, self.rank as u32, self.nranks as u32]) {
            part.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Hello, String> {
        let word = |at: usize| {
            let part = bytes.get(at..at + 4)?.try_into().ok()?;
            Some(i32::from_ne_bytes(part))
        };
        match (word(0), word(4), word(8)) {
            (Some(version), Some(rank), Some(nranks)) if version == PROTOCOL as i32 => {
                Ok(Hello { rank, nranks })
            }
            _ => Err("a PE uses a build of the library with another protocol of unique ids".into()),
        }
    }
}

/// A PE that has come.
struct Guest {
    socket: OwnedFd,
    peer: Peer,
    rank: Option<usize>,
}

/// Says from time to time that something is waited for, on standard error.
struct Patience {
    began: Instant,
    limit: Duration,
    next: Duration,
}

impl Patience {
    fn new(limit: Duration) -> Patience {
        Patience { began: Instant::now(), limit, next: FIRST_WORD }
    }

    fn is_over(&self) -> bool {
        self.began.elapsed() >= self.limit
    }

    fn word(&mut self, rank: i32, what: &dyn Fn() -> String) {
        if self.began.elapsed() >= self.next {
            let host = dushmem_os::symbols::host_name();
            let seconds = self.began.elapsed().as_secs();
            dushmem_os::say::say(&format!(
                "dushmem: PE {rank} (host {host}): has waited {seconds} s for {}",
                what()
            ));
            self.next += NEXT_WORD;
        }
    }

    fn time(&self) -> Duration {
        self.limit.saturating_sub(self.began.elapsed()).min(LOOK)
    }
}

/// Ranks for people: the first few.
fn list(ranks: &[usize]) -> String {
    let shown: Vec<String> = ranks.iter().take(8).map(usize::to_string).collect();
    let more = if ranks.len() > 8 { format!(" and {} more", ranks.len() - 8) } else { String::new() };
    let pes = if ranks.len() == 1 { "PE" } else { "PEs" };
    format!("{pes} {}{more}", shown.join(", "))
}

/// Waits for all others as the host, PE `rank` of `nranks`.
pub(crate) fn host(
    listener: &OwnedFd,
    rank: i32,
    nranks: i32,
    limit: Duration,
) -> Result<(OwnedFd, Circle), BootError> {
    let mut guests: Vec<Guest> = Vec::new();
    let gathered = wait_for_all(listener, &mut guests, Hello { rank, nranks }, limit);
    let made = gathered.and_then(|()| new_memory(nranks as usize).map_err(|error| error.to_string()));
    let memory = match made {
        Ok(memory) => memory,
        Err(why) => {
            // Those that stand at the door are told as well; who comes later finds nobody.
            while socket::readable(listener) {
                let Ok(socket) = rendezvous::accept(listener) else { break };
                let peer = Peer { pid: 0, uid: 0 };
                guests.push(Guest { socket, peer, rank: None });
            }
            for guest in &guests {
                let _ = say(&guest.socket, kind::REFUSED, &why);
            }
            return Err(BootError::UniqueId(why));
        }
    };
    let mut others = Vec::new();
    for guest in guests {
        let Some(other) = guest.rank else { continue };
        // Who can't be told any more is found by those that watch.
        let from = (rank as u32).to_ne_bytes();
        let message = [&[kind::WELCOME][..], &from].concat();
        let _ = rendezvous::send_with(&guest.socket, &message, &[memory.as_fd()]);
        others.push(Other { pe: other, pid: guest.peer.pid, socket: guest.socket });
    }
    Ok((memory, Circle { others, is_host: true }))
}

fn wait_for_all(
    listener: &OwnedFd,
    guests: &mut Vec<Guest>,
    own: Hello,
    limit: Duration,
) -> Result<(), String> {
    let Hello { rank, nranks } = own;
    if nranks < 1 || nranks as usize > MAX_PES || !(0..nranks).contains(&rank) {
        return Err(format!(
            "myrank = {rank}, nranks = {nranks}: ranks count from 0 to nranks - 1, and a job has 1 to {MAX_PES} PEs"
        ));
    }
    dushmem_os::process::raise_file_limit(2 * nranks as u64 + 64);
    let mut here = vec![None; nranks as usize];
    here[rank as usize] = Some(dushmem_os::fault::pid());
    let mut patience = Patience::new(limit);
    while here.contains(&None) {
        let missing = |here: &[Option<u32>]| -> Vec<usize> {
            (0..here.len()).filter(|&pe| here[pe].is_none()).collect()
        };
        patience.word(rank, &|| {
            format!("{} of {nranks} to call init_attr with this unique id", list(&missing(&here)))
        });
        if patience.is_over() {
            return Err(format!(
                "{} of {nranks} did not come within {} s (DUSHMEM_BOOTSTRAP_TIMEOUT)",
                list(&missing(&here)),
                limit.as_secs()
            ));
        }
        let ready: Vec<bool> = {
            let mut fds = vec![PollFd::new(listener, PollFlags::IN)];
            fds.extend(guests.iter().map(|guest| PollFd::new(&guest.socket, PollFlags::IN)));
            socket::poll(&mut fds, Some(patience.time()));
            fds.iter().map(|fd| !fd.revents().is_empty()).collect()
        };
        for at in (0..guests.len()).rev().filter(|at| ready[at + 1]) {
            let mut buffer = [0; 64];
            let len = rendezvous::receive_with(&guests[at].socket, &mut buffer).map_or(0, |(len, _)| len);
            let guest = &mut guests[at];
            match (len, guest.rank) {
                (0, Some(gone)) => {
                    let pid = guest.peer.pid;
                    return Err(format!("PE {gone} (process {pid}) ended before all PEs had joined"));
                }
                (0, None) => drop(guests.swap_remove(at)),
                (_, Some(_)) => {}
                (len, None) => {
                    let hello = Hello::decode(&buffer[..len])?;
                    let new = admit(hello, nranks, &here, guest.peer.pid)?;
                    here[new] = Some(guest.peer.pid);
                    guest.rank = Some(new);
                    let _ = say(&guest.socket, kind::SEEN, "");
                }
            }
        }
        if ready[0]
            && let Ok(socket) = rendezvous::accept(listener)
        {
            match rendezvous::peer(&socket) {
                Ok(peer) if peer.uid == rendezvous::user() => guests.push(Guest { socket, peer, rank: None }),
                _ => drop(say(&socket, kind::REFUSED, "the maker of the unique id runs as another user")),
            }
        }
    }
    Ok(())
}

/// The rank of a PE that has come, where it fits.
fn admit(hello: Hello, nranks: i32, here: &[Option<u32>], pid: u32) -> Result<usize, String> {
    let Hello { rank, nranks: theirs } = hello;
    if theirs != nranks {
        return Err(format!(
            "myrank = {rank}, nranks = {theirs} (process {pid}): the maker of the unique id says nranks = {nranks}"
        ));
    }
    let Some(place) = usize::try_from(rank).ok().and_then(|rank| here.get(rank)) else {
        return Err(format!(
            "myrank = {rank}, nranks = {nranks} (process {pid}): ranks count from 0 to nranks - 1"
        ));
    };
    match place {
        Some(other) => Err(format!("myrank = {rank}: both process {other} and process {pid} say so")),
        None => Ok(rank as usize),
    }
}

fn say(socket: &OwnedFd, kind: u8, text: &str) -> std::io::Result<()> {
    let mut message = vec![kind];
    message.extend_from_slice(text.as_bytes());
    message.truncate(socket::MESSAGE);
    socket::send(socket, &message)
}

/// Goes to the host of an id, as PE `rank` of `nranks`, and waits to be let in.
pub(crate) fn attend(
    id: &UniqueId,
    rank: i32,
    nranks: i32,
    limit: Duration,
) -> Result<(OwnedFd, Circle), BootError> {
    let refuse = |why: String| BootError::UniqueId(why);
    let maker = id.pid();
    let nobody = || {
        refuse(format!(
            "nobody waits for the PEs of this unique id: process {maker}, which made it, has ended, has failed, \
             or has joined with all its PEs before; make a new id"
        ))
    };
    let socket = rendezvous::connect(id.name().as_bytes()).map_err(|_| nobody())?;
    let peer = rendezvous::peer(&socket)
        .map_err(|why| BootError::System { what: "ask who made the unique id", why })?;
    if peer.uid != rendezvous::user() && peer.uid != 0 {
        return Err(refuse(format!("process {maker}, which made this unique id, runs as another user")));
    }
    socket::send(&socket, &Hello { rank, nranks }.encode()).map_err(|_| nobody())?;
    let mut patience = Patience::new(limit);
    let mut seen = false;
    loop {
        // The host speaks of those that are missing, once it is there itself.
        if !seen {
            patience.word(rank, &|| {
                format!("process {maker}, which made the unique id, to call init_attr with it")
            });
            if patience.is_over() {
                return Err(refuse(format!(
                    "process {maker}, which made the unique id, did not join within {} s \
                     (DUSHMEM_BOOTSTRAP_TIMEOUT)",
                    limit.as_secs()
                )));
            }
        }
        let mut fds = [PollFd::new(&socket, PollFlags::IN)];
        if socket::poll(&mut fds, Some(patience.time().max(Duration::from_millis(10)))) == 0 {
            continue;
        }
        let mut buffer = [0; socket::MESSAGE];
        let (len, mut descriptors) =
            rendezvous::receive_with(&socket, &mut buffer).unwrap_or((0, Vec::new()));
        match (buffer[..len].split_first(), descriptors.pop()) {
            (Some((&kind::SEEN, _)), _) => seen = true,
            (Some((&kind::WELCOME, from)), Some(memory)) => {
                let pe = from.try_into().map_or(0, u32::from_ne_bytes) as usize;
                let others = vec![Other { pe, pid: peer.pid, socket }];
                return Ok((memory, Circle { others, is_host: false }));
            }
            (Some((&kind::REFUSED, text)), _) => {
                return Err(refuse(String::from_utf8_lossy(text).into_owned()));
            }
            (None, _) => {
                return Err(refuse(format!(
                    "process {maker}, which made the unique id, ended before all PEs had joined"
                )));
            }
            _ => return Err(refuse("the maker of the unique id uses another build of the library".into())),
        }
    }
}

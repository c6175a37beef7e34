//! Start-up by a unique id: processes that anything, or nobody, has started together, on one node.
//!
//! One of the PEs makes the id and gets it to the others by any means. The id names a socket, at which its maker
//! (the *host* of the meeting) gathers the others ([`crate::gather`]); then it makes the node's memory and passes
//! it to them. The sockets stay open, to see who ends too early ([`crate::watch`]). Nothing of it has a name in
//! a file system.
use crate::error::BootError;
use crate::gather;
use crate::launch::MAX_PES;
use crate::node::Node;
use crate::watch::Watch;
use dushmem_core::bootstrap::Bootstrap;
use dushmem_core::env;
use dushmem_core::job::{JobPage, PeState};
use dushmem_os::fault::{self, Owner};
use dushmem_os::rendezvous;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Bytes of an id.
pub const BYTES: usize = 128;

/// What an id begins with: version and size, as NVSHMEM's structures do.
const VERSION: i32 = (1 << 16) + BYTES as i32;
const MAGIC: &[u8; 8] = b"dushmem1";

/// `[version 4 | magic 8 | token 16 | boot id 16 | process id 4 | host name 64 | zeros]`
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UniqueId([u8; BYTES]);

impl std::fmt::Debug for UniqueId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "UniqueId({} of process {})", self.name(), self.pid())
    }
}

impl UniqueId {
    fn new(token: [u8; 16]) -> UniqueId {
        let mut bytes = [0; BYTES];
        bytes[..4].copy_from_slice(&VERSION.to_ne_bytes());
        bytes[4..12].copy_from_slice(MAGIC);
        bytes[12..28].copy_from_slice(&token);
        bytes[28..44].copy_from_slice(&rendezvous::boot_id());
        bytes[44..48].copy_from_slice(&fault::pid().to_ne_bytes());
        let host = dushmem_os::symbols::host_name();
        let len = host.len().min(64);
        bytes[48..48 + len].copy_from_slice(&host.as_bytes()[..len]);
        UniqueId(bytes)
    }

    /// An id as it came from its maker.
    pub fn from_bytes(bytes: [u8; BYTES]) -> Result<UniqueId, BootError> {
        let bad = |why: &str| Err(BootError::UniqueId(format!("uniqueid: {why}")));
        match () {
            _ if bytes[4..] == [0; BYTES - 4] => bad(
                "nothing but zeros; get it from get_uniqueid on one PE and copy all 128 bytes to the others",
            ),
            _ if bytes[4..12] != *MAGIC => bad("these bytes were not made by get_uniqueid of this library"),
            _ if bytes[..4] != VERSION.to_ne_bytes() => {
                let found = i32::from_ne_bytes(bytes[..4].try_into().unwrap_or_default());
                bad(&format!("version {found:#x}, where this library knows {VERSION:#x}"))
            }
            _ => Ok(UniqueId(bytes)),
        }
    }

    /// The bytes, to be copied to the other PEs.
    pub fn bytes(&self) -> &[u8; BYTES] {
        &self.0
    }

    /// Name of the socket.
    pub(crate) fn name(&self) -> String {
        let token: String = self.0[12..28].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("dushmem-{token}")
    }

    /// Process id of the maker.
    pub(crate) fn pid(&self) -> u32 {
        u32::from_ne_bytes(self.0[44..48].try_into().unwrap_or_default())
    }

    fn host(&self) -> String {
        String::from_utf8_lossy(&self.0[48..112]).trim_end_matches('\0').to_owned()
    }

    fn is_of_this_machine(&self) -> bool {
        self.0[28..44] == rendezvous::boot_id()
    }
}

/// Sockets of the ids that this process has made and not used, with its process id: a forked child has none.
static MADE: Mutex<Vec<(UniqueId, OwnedFd, u32)>> = Mutex::new(Vec::new());

/// The jobs that this process has joined by an id, so that init after finalize finds them again.
static JOINED: Mutex<Vec<(UniqueId, Arc<Joined>)>> = Mutex::new(Vec::new());

/// Makes an id. From now on other PEs can come; they wait until this process, which has to be one of the PEs,
/// joins as well.
pub fn make() -> Result<UniqueId, BootError> {
    let system = |what| move |why| BootError::System { what, why };
    let mut token = [0; 16];
    rendezvous::random(&mut token).map_err(system("get random bytes for a unique id"))?;
    let id = UniqueId::new(token);
    let socket = rendezvous::listen(id.name().as_bytes()).map_err(system("listen for other PEs"))?;
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.retain(|(_, _, pid)| *pid == fault::pid());
    made.push((id, socket, fault::pid()));
    Ok(id)
}

/// Joins the job of that id as PE `rank` of `nranks`. Collective over all of these; may be called again after
/// finalize. What is wrong with the numbers is an error on all PEs.
pub fn join(id: &UniqueId, rank: i32, nranks: i32) -> Result<Arc<dyn Bootstrap>, BootError> {
    let refuse = |why: String| Err(BootError::UniqueId(why));
    let mut joined = JOINED.lock().unwrap_or_else(PoisonError::into_inner);
    joined.retain(|(_, job)| !job.owner.is_forked_child());
    if let Some((_, job)) = joined.iter().find(|(other, _)| other == id) {
        let (me, n) = job.place();
        if (rank, nranks) != (me as i32, n as i32) {
            let pes = dushmem_core::error::count_pes(n);
            return refuse(format!(
                "myrank = {rank}, nranks = {nranks}: this process is PE {me} of the {pes} of this unique id"
            ));
        }
        if let Some(gone) = job.watch.gone() {
            return refuse(format!("PE {gone} has ended; make a new unique id for those that are left"));
        }
        return Ok(Arc::clone(job) as Arc<dyn Bootstrap>);
    }
    if !id.is_of_this_machine() {
        let here = dushmem_os::symbols::host_name();
        return refuse(format!(
            "this unique id was made on host {}, and this is host {here}: such an id connects the PEs of one \
             machine, and networks are not supported yet",
            id.host()
        ));
    }
    let own = {
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let at = made.iter().position(|(other, _, pid)| other == id && *pid == fault::pid());
        at.map(|at| made.swap_remove(at).1)
    };
    let limit = Duration::from_secs(env::bootstrap_timeout(&env::variable)?);
    let (memory, circle) = match own {
        Some(socket) => gather::host(&socket, rank, nranks, limit)?,
        None => gather::attend(id, rank, nranks, limit)?,
    };
    // The numbers were checked by the host.
    let node = Arc::new(Node::new(memory, rank as usize, (nranks as usize).min(MAX_PES))?);
    let watch = Watch::start(Arc::clone(&node), circle)?;
    let job = Arc::new(Joined { node, watch, owner: Owner::this_process() });
    joined.push((*id, Arc::clone(&job)));
    Ok(job)
}

/// One PE of such a job.
#[derive(Debug)]
struct Joined {
    node: Arc<Node>,
    watch: Watch,
    owner: Owner,
}

impl Bootstrap for Joined {
    fn place(&self) -> (usize, usize) {
        self.node.place()
    }

    fn node_memory(&self) -> (BorrowedFd<'_>, &JobPage) {
        self.node.memory()
    }

    fn allgather(&self, mine: &[u8]) -> Vec<Vec<u8>> {
        self.node.allgather(mine)
    }

    fn barrier(&self) {
        self.node.barrier();
    }

    fn report(&self, state: PeState) {
        self.node.set_state(state);
    }

    fn abort(&self, code: i32, message: &str) -> ! {
        self.watch.abort(code, message)
    }

    fn end_others(&self, code: i32) -> bool {
        self.watch.end_others(code);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_what_is_wrong_with_it() {
        let good = make().unwrap();
        assert_eq!(UniqueId::from_bytes(*good.bytes()).unwrap(), good);
        assert!(good.is_of_this_machine() && good.pid() == fault::pid());
        let text = |change: &dyn Fn(&mut [u8; BYTES])| {
            let mut bytes = *good.bytes();
            change(&mut bytes);
            UniqueId::from_bytes(bytes).unwrap_err().to_string()
        };
        assert!(text(&|bytes| *bytes = [0; BYTES]).contains("nothing but zeros"));
        assert!(text(&|bytes| bytes[4..].fill(0)).contains("nothing but zeros"));
        assert!(text(&|bytes| bytes[4] = b'x').contains("not made by get_uniqueid"));
        assert!(text(&|bytes| bytes[2] = 7).contains("version 0x70080"));
        let mut elsewhere = *good.bytes();
        elsewhere[28] ^= 1;
        elsewhere[48..56].copy_from_slice(b"far-away");
        let error = join(&UniqueId::from_bytes(elsewhere).unwrap(), 0, 1).unwrap_err().to_string();
        assert!(error.contains("made on host far-away") && error.contains("networks"), "{error}");
    }

    #[test]
    fn one_pe_alone_joins_at_once_and_again() {
        let id = make().unwrap();
        let job = join(&id, 0, 1).unwrap();
        assert_eq!(job.place(), (0, 1));
        assert_eq!(join(&id, 0, 1).unwrap().place(), (0, 1));
        let error = join(&id, 0, 2).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("this process is PE 0 of the 1 PE of"), "{error}");
    }

    #[test]
    fn wrong_numbers_of_the_maker() {
        for (rank, nranks) in [(-1, 1), (1, 1), (0, 0), (0, -3), (0, 70_000), (5, 2)] {
            let error = join(&make().unwrap(), rank, nranks).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(error.contains(&format!("myrank = {rank}, nranks = {nranks}")), "{error}");
        }
    }
}

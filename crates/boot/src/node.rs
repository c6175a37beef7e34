//! What all bootstraps of one node do alike.
use crate::error::BootError;
use dushmem_core::bootstrap::Bootstrap;
use dushmem_core::job::{JobPage, PeState};
use dushmem_core::wait::SpinPolicy;
use dushmem_os::{machine, memory, process};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// One PE's hold on the node's memory and its job page.
#[derive(Debug)]
pub(crate) struct Node {
    memory: OwnedFd,
    page: JobPage,
    me: usize,
    policy: SpinPolicy,
}

/// What the kernel lists a node's memory as.
const MEMORY: &str = "dushmem";

/// Whether this copy of the library has looked for others, or maps memory itself.
static ALONE: AtomicBool = AtomicBool::new(false);

/// An error where another copy of the library, loaded beside this one, has mapped a job's memory: to that copy
/// belong the launcher's descriptors and the program's globals, and this one would be PE 0 of 1.
pub(crate) fn only_copy() -> Result<(), BootError> {
    if ALONE.load(Ordering::Acquire) {
        return Ok(());
    }
    if let Some(files) = machine::who_maps(MEMORY, "dushmem") {
        let files = if files.is_empty() { "linked into the program".to_owned() } else { files.join(", ") };
        return Err(BootError::SecondCopy { files });
    }
    ALONE.store(true, Ordering::Release);
    Ok(())
}

/// A memory file with an all-zero job page for `pes` PEs.
pub(crate) fn new_memory(pes: usize) -> Result<OwnedFd, BootError> {
    let system = |what| move |why| BootError::System { what, why };
    let fd = memory::memfd(MEMORY).map_err(system("create a memory file"))?;
    memory::grow(&fd, JobPage::reserved(pes) as u64).map_err(system("size the memory file"))?;
    Ok(fd)
}

impl Node {
    pub(crate) fn new(memory: OwnedFd, me: usize, pes: usize) -> Result<Node, BootError> {
        only_copy()?;
        let page = JobPage::map(memory.as_fd(), pes)
            .map_err(|why| BootError::System { what: "map the job page", why })?;
        let policy = SpinPolicy::new(pes, dushmem_os::cpu::usable_cpus());
        Ok(Node { memory, page, me, policy })
    }

    pub(crate) fn place(&self) -> (usize, usize) {
        (self.me, self.page.pes())
    }

    pub(crate) fn memory(&self) -> (BorrowedFd<'_>, &JobPage) {
        (self.memory.as_fd(), &self.page)
    }

    pub(crate) fn allgather(&self, mine: &[u8]) -> Vec<Vec<u8>> {
        let all = self.page.exchange(self.me, &self.policy, mine);
        // An exchange of nothing is a barrier, for which the page returns no blobs.
        if all.is_empty() {
            return vec![Vec::new(); self.page.pes()];
        }
        all.into_iter().map(|blob| blob[..mine.len()].to_vec()).collect()
    }

    pub(crate) fn barrier(&self) {
        self.page.barrier(self.me, &self.policy);
    }

    pub(crate) fn set_state(&self, state: PeState) {
        self.page.set_state(self.me, state);
    }
}

/// A PE of a job that is one process: its only PE, or a thread.
#[derive(Debug)]
pub(crate) struct Local {
    node: Node,
    alone: bool,
}

impl Local {
    pub(crate) fn new(memory: OwnedFd, me: usize, pes: usize) -> Result<Local, BootError> {
        Ok(Local { node: Node::new(memory, me, pes)?, alone: false })
    }

    /// The only PE, of a program that nothing has launched.
    pub(crate) fn alone(memory: OwnedFd) -> Result<Local, BootError> {
        Ok(Local { alone: true, ..Local::new(memory, 0, 1)? })
    }
}

impl Bootstrap for Local {
    fn place(&self) -> (usize, usize) {
        self.node.place()
    }

    fn is_alone(&self) -> bool {
        self.alone
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

    /// Ends the process, and with it all PEs.
    fn abort(&self, code: i32, message: &str) -> ! {
        end_process(code, message)
    }

    /// There are none outside of this process.
    fn end_others(&self, _code: i32) -> bool {
        true
    }
}

/// Prints the message, writes out what is buffered, and ends the process without exit handlers, which
/// might communicate.
pub(crate) fn end_process(code: i32, message: &str) -> ! {
    if !message.is_empty() {
        dushmem_os::say::say(message);
    }
    process::flush_stdio();
    process::exit_now(code)
}

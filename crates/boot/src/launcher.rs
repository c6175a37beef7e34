//! A PE that dushrun started.
use crate::error::BootError;
use crate::launch::{LaunchLine, Message};
use crate::node::{Node, end_process};
use dushmem_core::bootstrap::Bootstrap;
use dushmem_core::job::{JobPage, PeState};
use dushmem_os::fault::Owner;
use dushmem_os::socket::{self, Kind};
use dushmem_os::{memory, process};
use std::os::fd::{BorrowedFd, OwnedFd};

/// One PE, a process, with its control socket.
#[derive(Debug)]
pub struct Launched {
    node: Node,
    socket: OwnedFd,
    /// Held open: the kernel ends the process when the launcher's end of this pipe closes.
    _life: OwnedFd,
    owner: Owner,
    /// The launcher started this process itself, and so knows its process id.
    direct: bool,
}

impl Launched {
    /// Joins the job that the launcher described. Takes over the descriptors that it passed.
    pub fn join(line: &LaunchLine) -> Result<Launched, BootError> {
        check(line)?;
        let system = |what| move |why| BootError::System { what, why };
        // SAFETY: the launcher made the three descriptors for this purpose, `check` found them to be what
        // they should be, and `connect` comes here once in a process.
        let [socket, memory, life] =
            unsafe { [line.sock, line.mem, line.life].map(|raw| socket::take_inherited(raw)) };
        let life = life.map_err(system("take over the launcher's pipe"))?;
        let life = match process::die_with_writers(borrow(&life)) {
            Ok(own) => own,
            Err(_) => watch_in_thread(life)?,
        };
        let socket = socket.map_err(system("take over the control socket"))?;
        let memory = memory.map_err(system("take over the job's memory"))?;
        let node = Node::new(memory, line.pe, line.npes)?;
        let card = node.memory().1.card(line.pe);
        if card.state() == PeState::Joined && card.pid() != dushmem_os::fault::pid() {
            return Err(BootError::Taken { pe: line.pe, pid: card.pid() });
        }
        process::line_buffer_stdout();
        let direct = process::parent() == line.by;
        Ok(Launched { node, socket, _life: life, owner: Owner::this_process(), direct })
    }

    /// True in a child that was forked from the PE and is not that PE.
    pub fn is_forked_child(&self) -> bool {
        self.owner.is_forked_child()
    }

    fn tell(&self, message: &Message) -> bool {
        socket::send(&self.socket, &message.encode()).is_ok()
    }
}

fn borrow(fd: &OwnedFd) -> BorrowedFd<'_> {
    std::os::fd::AsFd::as_fd(fd)
}

/// Without `/proc` a thread has to notice that the launcher is gone.
fn watch_in_thread(life: OwnedFd) -> Result<OwnedFd, BootError> {
    let system = |why| BootError::System { what: "watch for the end of the launcher", why };
    let own = life.try_clone().map_err(system)?;
    let watch = move || {
        socket::wait_for_hang_up(&own);
        process::exit_now(128 + dushmem_os::signal::number::SIGKILL);
    };
    let thread = std::thread::Builder::new().name("dushmem-watch".into()).stack_size(64 << 10);
    thread.spawn(watch).map_err(system)?;
    Ok(life)
}

/// The descriptors are what the launcher passed: a wrapper may have closed or reused them.
fn check(line: &LaunchLine) -> Result<(), BootError> {
    let bad = |why: String| Err(BootError::BadLaunch { value: line.to_string(), why });
    let wanted =
        [("sock", line.sock, "a control socket"), ("life", line.life, "a pipe"), ("mem", line.mem, "memory")];
    for (key, raw, what) in wanted {
        let need = JobPage::reserved(line.npes) as u64;
        match (key, socket::kind(raw)) {
            ("sock", Kind::Control) | ("life", Kind::Pipe) => {}
            ("mem", Kind::Memory(len)) if len >= need => {}
            ("mem", Kind::Memory(len)) => {
                return bad(format!(
                    "file descriptor {raw} has {len} bytes, where a job of {} PEs needs {need}",
                    line.npes
                ));
            }
            (_, Kind::Closed) => {
                return bad(format!(
                    "file descriptor {raw} ({key}) is closed; whatever stands between dushrun and the program \
                     must let it inherit {}, {} and {}",
                    line.sock, line.mem, line.life
                ));
            }
            _ => return bad(format!("file descriptor {raw} ({key}) is not {what} of dushrun")),
        }
    }
    if line.sock == line.life || line.sock == line.mem || line.life == line.mem {
        return bad("sock, mem and life are not three descriptors".into());
    }
    Ok(())
}

impl Bootstrap for Launched {
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
        if state == PeState::Joined && !self.direct {
            // Behind a shell the launcher does not know which process to watch.
            self.tell(&Message::Joined { pe: self.place().0 });
        }
    }

    /// The launcher ends the others and prints the message, once, whoever aborts as well.
    fn abort(&self, code: i32, message: &str) -> ! {
        // Told first: writing out what is buffered can block, where another thread waits for input. The launcher
        // gives this PE time for it.
        let told = self.tell(&Message::Abort { pe: self.place().0, code, text: message.to_owned() });
        end_process(code, if told { "" } else { message })
    }

    fn end_others(&self, code: i32) -> bool {
        self.tell(&Message::Abort { pe: self.place().0, code, text: String::new() })
    }
}

/// Sizes the memory that PEs will map, for a launcher, and gives it with its job page.
pub fn job_memory(pes: usize) -> Result<(OwnedFd, JobPage), BootError> {
    crate::node::only_copy()?;
    if !(1..=crate::launch::MAX_PES).contains(&pes) {
        return Err(BootError::BadCount(pes));
    }
    let fd = crate::node::new_memory(pes)?;
    let page =
        JobPage::map(borrow(&fd), pes).map_err(|why| BootError::System { what: "map the job page", why })?;
    debug_assert!(JobPage::reserved(pes).is_multiple_of(memory::page()));
    Ok((fd, page))
}

//! The measuring program, built for dushmem and for what stands beside it, and how each is started.
use crate::run::{Done, Failure, run};
use clap::ValueEnum;
use dushmem_os::reason::reason;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// What stands beside dushmem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Peer {
    /// Open MPI's OpenSHMEM: oshcc and oshrun.
    Openmpi,
    /// No library: forked processes over one mapping.
    Raw,
}

impl Peer {
    /// For readers.
    pub fn title(self) -> &'static str {
        match self {
            Peer::Openmpi => "Open MPI",
            Peer::Raw => "raw",
        }
    }
}

/// Why nothing can be measured.
#[derive(Debug, thiserror::Error)]
pub enum SetUpError {
    /// A peer is not installed.
    #[error("{0}")]
    Absent(String),
    /// A compiler failed.
    #[error("{tool} cannot compile the measuring program: {why}")]
    Compile {
        /// The compiler.
        tool: String,
        /// What it said.
        why: String,
    },
    /// A file could not be written or read.
    #[error("{}: {}", path.display(), reason(why))]
    File {
        /// Its path.
        path: PathBuf,
        /// The system's reason.
        why: std::io::Error,
    },
    /// A program does not run at all.
    #[error("{title} does not run an empty program on 2 PEs: {why}")]
    Unusable {
        /// Which.
        title: &'static str,
        /// What happened.
        why: Failure,
    },
}

/// The program's text.
const SOURCES: [(&str, &str); 6] = [
    ("beside.c", include_str!("../../c/beside/beside.c")),
    ("timing.h", include_str!("../../c/beside/timing.h")),
    ("onesided.h", include_str!("../../c/beside/onesided.h")),
    ("collectives.h", include_str!("../../c/beside/collectives.h")),
    ("resources.h", include_str!("../../c/beside/resources.h")),
    ("raw.h", include_str!("../../c/beside/raw.h")),
];

/// The program as one library's users have it.
#[derive(Debug)]
pub struct Program {
    /// For readers.
    pub title: &'static str,
    /// Name and version of the library.
    pub version: String,
    /// `None`: dushmem.
    pub peer: Option<Peer>,
    binary: PathBuf,
    launcher: PathBuf,
    folder: PathBuf,
}

/// A folder for the programs, which goes with this value.
#[derive(Debug)]
pub struct Workshop {
    folder: PathBuf,
}

impl Workshop {
    /// Writes the sources into a new folder.
    pub fn new() -> Result<Workshop, SetUpError> {
        let folder = std::env::temp_dir().join(format!("dushbench-peer-{}", std::process::id()));
        fs::create_dir(&folder).map_err(|why| SetUpError::File { path: folder.clone(), why })?;
        let workshop = Workshop { folder };
        for (name, text) in SOURCES {
            let path = workshop.folder.join(name);
            fs::write(&path, text).map_err(|why| SetUpError::File { path, why })?;
        }
        Ok(workshop)
    }

    /// Builds the program for dushmem as installed in `prefix`.
    pub fn dushmem(&self, prefix: &Path, active_sets: bool) -> Result<Program, SetUpError> {
        let [compiler, launcher] = ["dushcc", "dushrun"].map(|name| prefix.join("bin").join(name));
        for tool in [&compiler, &launcher] {
            if !tool.is_file() {
                return Err(SetUpError::Absent(format!(
                    "{} is missing; install dushmem there with `cargo xtask install --prefix DIR`",
                    tool.display()
                )));
            }
        }
        let options: &[&str] = if active_sets { &["-DACTIVE_SETS"] } else { &[] };
        let version = first_line(Command::new(&launcher).arg("--version")).replace("dushrun", "dushmem");
        self.program("dushmem", version, None, &compiler, options, launcher)
    }

    /// Builds the program for a peer.
    pub fn peer(&self, peer: Peer) -> Result<Program, SetUpError> {
        match peer {
            Peer::Openmpi => {
                let [compiler, launcher] = ["oshcc", "oshrun"].map(in_path);
                let (Some(compiler), Some(launcher)) = (compiler, launcher) else {
                    return Err(SetUpError::Absent(
                        "Open MPI's oshcc and oshrun are not installed; on Debian and Ubuntu: \
                         apt-get install openmpi-bin libopenmpi-dev"
                            .into(),
                    ));
                };
                let line = first_line(Command::new(&launcher).arg("--version"));
                let number = line.split_whitespace().last().unwrap_or("of unknown version").to_string();
                let ucx = first_line(Command::new("ucx_info").arg("-v"));
                let ucx = ucx.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
                let version = match ucx {
                    Some(ucx) => format!("Open MPI {number} (UCX {ucx})"),
                    None => format!("Open MPI {number}"),
                };
                self.program(peer.title(), version, Some(peer), &compiler, &[], launcher)
            }
            Peer::Raw => {
                let compiler = in_path("cc").or_else(|| in_path("gcc"));
                let compiler = compiler.ok_or_else(|| SetUpError::Absent("cc is not installed".into()))?;
                let version =
                    format!("fork and mmap, {}", first_line(Command::new(&compiler).arg("--version")));
                self.program(peer.title(), version, Some(peer), &compiler, &["-DRAW"], PathBuf::new())
            }
        }
    }

    fn program(
        &self,
        title: &'static str,
        version: String,
        peer: Option<Peer>,
        compiler: &Path,
        options: &[&str],
        launcher: PathBuf,
    ) -> Result<Program, SetUpError> {
        let folder = self.folder.join(title.replace(' ', "-"));
        fs::create_dir(&folder).map_err(|why| SetUpError::File { path: folder.clone(), why })?;
        let binary = folder.join("beside");
        let mut compile = Command::new(compiler);
        compile.arg("-O2").args(options).arg("-o").arg(&binary).arg(self.folder.join("beside.c"));
        let failed = |why| SetUpError::Compile { tool: compiler.display().to_string(), why };
        let out = compile.stdin(Stdio::null()).output().map_err(|why| failed(reason(&why)))?;
        if !out.status.success() {
            let said = String::from_utf8_lossy(&out.stderr);
            let line = said.lines().find(|line| line.contains("error")).or(said.lines().next());
            return Err(failed(line.unwrap_or("without a word").trim().to_string()));
        }
        Ok(Program { title, version, peer, binary, launcher, folder })
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Program {
    /// Runs it as `pes` PEs with a symmetric heap of 64 MiB, for at most `limit`.
    pub fn run(&self, pes: usize, words: &[String], limit: Duration) -> Result<Done, Failure> {
        let mut command = self.command(pes);
        command.args(words).env("TMPDIR", &self.folder);
        run(command, &self.folder, limit)
    }

    /// Says whether the program runs at all, and brings it into memory.
    pub fn try_out(&self, limit: Duration) -> Result<(), SetUpError> {
        let tried = self.run(2, &["empty".into()], limit);
        tried.map(drop).map_err(|why| SetUpError::Unusable { title: self.title, why })
    }

    fn command(&self, pes: usize) -> Command {
        let count = pes.to_string();
        let mut command = match self.peer {
            Some(Peer::Raw) => Command::new(&self.binary),
            Some(Peer::Openmpi) => {
                let mut command = Command::new(&self.launcher);
                command.args(["--oversubscribe", "-np", &count]).arg(&self.binary);
                command
            }
            None => {
                let mut command = Command::new(&self.launcher);
                command.args(["-n", &count]).arg(&self.binary);
                command
            }
        };
        // The caller's settings of any of the libraries would make another measurement.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ["DUSHMEM_", "NVSHMEM_", "SHMEM_", "SMA_"].iter().any(|start| text.starts_with(start)) {
                command.env_remove(&name);
            }
        }
        command.env("SHMEM_SYMMETRIC_SIZE", "64M");
        match self.peer {
            Some(Peer::Raw) => drop(command.env("RAW_PES", count)),
            Some(Peer::Openmpi) => {
                command
                    // Without it Open MPI 4.1 ends in SIGSEGV in finalize: a hook of a component that is unloaded.
                    .env("OMPI_MCA_opal_common_ucx_opal_mem_hooks", "0")
                    .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
                    .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            }
            None => {}
        }
        command
    }
}

fn in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// First line that a command prints; empty where it prints none.
fn first_line(command: &mut Command) -> String {
    let out = command.stdin(Stdio::null()).output();
    let text = out.map(|out| String::from_utf8_lossy(&out.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or_default().trim().to_string()
}

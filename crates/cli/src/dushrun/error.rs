//! What ends a job before or besides its PEs.
use crate::plan::{PePlan, as_path, no_program_hint};
use dushmem_cli::usage::{self, Stop};
use dushmem_os::process;
use dushmem_os::reason::reason;
use std::io::{self, ErrorKind};

/// dushrun could not do its part: wrong usage, or something that the system refused.
pub const OWN_FAILURE: i32 = 125;
/// The program was found but could not be started.
pub const NOT_EXECUTABLE: i32 = 126;
/// The program was not found.
pub const NOT_FOUND: i32 = 127;
/// The time limit was reached.
pub const TIMED_OUT: i32 = 124;

/// An error of dushrun itself: one line each; or help, which ends it as well.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum RunError {
    #[error(transparent)]
    Asked(clap::Error),
    #[error("{0}")]
    Arguments(String),
    #[error("{program}: no such program{hint}")]
    NotFound { program: String, hint: String },
    #[error("{program} is not an executable program{hint}")]
    NoProgram { program: String, hint: &'static str },
    #[error("{program}: cannot be started: {}", reason(why))]
    NotExecutable { program: String, why: io::Error },
    #[error("cannot start PE {pe}: {}{hint}", reason(why))]
    Start { pe: usize, why: io::Error, hint: &'static str },
    #[error("{0}")]
    Gpus(String),
    #[error("{0}")]
    Boot(#[from] dushmem_boot::BootError),
    #[error("cannot {what}: {}", reason(why))]
    System { what: &'static str, why: io::Error },
}

impl From<Stop> for RunError {
    fn from(stop: Stop) -> RunError {
        match stop {
            Stop::Asked(text) => RunError::Asked(text),
            Stop::Wrong(line) => RunError::Arguments(line),
        }
    }
}

/// Turns a system error into one of dushrun.
pub fn system(what: &'static str) -> impl Fn(io::Error) -> RunError {
    move |why| RunError::System { what, why }
}

impl RunError {
    /// dushrun's exit code.
    pub fn code(&self) -> i32 {
        match self {
            RunError::Asked(_) => 0,
            RunError::NotFound { .. } => NOT_FOUND,
            RunError::NoProgram { .. } | RunError::NotExecutable { .. } => NOT_EXECUTABLE,
            _ => OWN_FAILURE,
        }
    }

    /// Prints the error and gives the exit code.
    pub fn show(&self) -> i32 {
        match self {
            RunError::Asked(text) => {
                if let Err(reason) = usage::outcome(text.print()) {
                    dushmem_os::say::say(&format!("dushrun: standard output: {reason}"));
                    return OWN_FAILURE;
                }
            }
            other => dushmem_os::say::say(&format!("dushrun: {other}")),
        }
        self.code()
    }
}

/// Why PE `pe` could not be started.
pub fn start_error(pe: usize, plan: &PePlan, why: io::Error) -> RunError {
    let program = plan.program.path.to_string_lossy().into_owned();
    if why.raw_os_error() == Some(process::NO_INTERPRETER) {
        return RunError::NoProgram { program, hint: no_program_hint(as_path(&plan.program.path)) };
    }
    match why.kind() {
        ErrorKind::PermissionDenied => RunError::NotExecutable { program, why },
        // The file itself was found.
        ErrorKind::NotFound => {
            let why = io::Error::new(why.kind(), "its interpreter or dynamic loader is missing");
            RunError::NotExecutable { program, why }
        }
        ErrorKind::WouldBlock => {
            RunError::Start { pe, why, hint: "; raise the limit on processes (ulimit -u)" }
        }
        _ => RunError::Start { pe, why, hint: "" },
    }
}

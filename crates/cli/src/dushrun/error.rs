//! What ends a job before or besides its PEs.
use std::io;

/// dushrun could not do its part: wrong usage, or something that the system refused.
pub const OWN_FAILURE: i32 = 125;
/// The program was found but could not be started.
pub const NOT_EXECUTABLE: i32 = 126;
/// The program was not found.
pub const NOT_FOUND: i32 = 127;
/// The time limit was reached.
pub const TIMED_OUT: i32 = 124;

/// An error of dushrun itself: one line each.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum RunError {
    #[error(transparent)]
    Usage(#[from] clap::Error),
    #[error("{0}")]
    Arguments(String),
    #[error("{program}: no such program{hint}")]
    NotFound { program: String, hint: String },
    #[error("{program}: cannot be started: {why}")]
    NotExecutable { program: String, why: io::Error },
    #[error("cannot start PE {pe}: {why}{hint}")]
    Start { pe: usize, why: io::Error, hint: &'static str },
    #[error("{0}")]
    Boot(#[from] dushmem_boot::BootError),
    #[error("cannot {what}: {why}")]
    System { what: &'static str, why: io::Error },
}

/// Turns a system error into one of dushrun.
pub fn system(what: &'static str) -> impl Fn(io::Error) -> RunError {
    move |why| RunError::System { what, why }
}

impl RunError {
    /// dushrun's exit code.
    pub fn code(&self) -> i32 {
        match self {
            RunError::Usage(error) if !error.use_stderr() => 0,
            RunError::NotFound { .. } => NOT_FOUND,
            RunError::NotExecutable { .. } => NOT_EXECUTABLE,
            _ => OWN_FAILURE,
        }
    }

    /// Prints the error and gives the exit code.
    pub fn show(&self) -> i32 {
        match self {
            // Help and version come this way as well.
            RunError::Usage(error) => {
                let _ = error.print();
            }
            other => eprintln!("dushrun: {other}"),
        }
        self.code()
    }
}

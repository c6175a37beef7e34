//! What can go wrong before there is a job.
use dushmem_core::error::Error;
use dushmem_os::reason::reason;

/// An error of start-up. Each names the variable, its value, and what to do.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum BootError {
    #[error("{0}")]
    Setting(#[from] Error),
    #[error(
        "DUSHMEM_BOOTSTRAP=launcher, but DUSHMEM_LAUNCH is not set: start the program with dushrun, or set \
         DUSHMEM_BOOTSTRAP=singleton to run it as one PE"
    )]
    NotLaunched,
    #[error(
        "DUSHMEM_LAUNCH={value}: {why}; start the program with dushrun, which sets this variable, or unset it \
         to run as one PE"
    )]
    BadLaunch { value: String, why: String },
    #[error(
        "this process is one of {count} that {launcher} started ({variable}={value}), which dushmem cannot \
         join: start the program with dushrun, or let it (in C or C++) pass a unique id or its MPI communicator to \
         init_attr, or set DUSHMEM_BOOTSTRAP=singleton if each process is to be a job of one PE"
    )]
    ForeignLauncher { launcher: &'static str, variable: &'static str, value: String, count: String },
    #[error(
        "PE {pe} of this job is already process {pid}: only one process of those that inherit one \
         DUSHMEM_LAUNCH can call init"
    )]
    Taken { pe: usize, pid: u32 },
    #[error(
        "another copy of dushmem in this process ({files}) has joined a job: a process can have one only; link the \
         program, and every library that it loads, with the same shared library, or with the static one once"
    )]
    SecondCopy { files: String },
    #[error("{0}")]
    UniqueId(String),
    #[error("{0}")]
    Mpi(String),
    #[error("npes = {0}: a job has 1 to {max} PEs", max = crate::launch::MAX_PES)]
    BadCount(usize),
    #[error("cannot {what}: {}", reason(why))]
    System { what: &'static str, why: std::io::Error },
}

impl From<BootError> for Error {
    fn from(error: BootError) -> Error {
        match error {
            BootError::Setting(error) => error,
            other => Error::Bootstrap(other.to_string()),
        }
    }
}

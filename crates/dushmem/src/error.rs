//! Errors, with the call that failed and the PE that made it.
use dushmem_core::error::Error as Cause;
use std::fmt;

/// What a call of this crate can fail with. Shown as one line: `PE k: call: argument, value, remedy`.
///
/// `Debug` shows the same line, so that a `main` that returns it ends with something readable.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The engine refused a call.
    #[error("PE {pe}: {call}: {cause}")]
    Call {
        /// World number of the PE that made the call.
        pe: usize,
        /// Name of the call.
        call: &'static str,
        /// What was wrong.
        cause: Cause,
    },
    /// There is no world yet.
    #[error("{call}: {cause}")]
    Start {
        /// Name of the call.
        call: &'static str,
        /// What was wrong.
        cause: Cause,
    },
    /// Two buffers of one call don't fit together.
    #[error("PE {pe}: {call}: {arg} has {len} elements, but {wanted} are needed{why}")]
    Length {
        /// World number of the PE that made the call.
        pe: usize,
        /// Name of the call.
        call: &'static str,
        /// Name of the argument.
        arg: &'static str,
        /// Its elements.
        len: usize,
        /// The elements it must have.
        wanted: usize,
        /// Reason for the number, or nothing.
        why: &'static str,
    },
    /// An error of the program itself, see [`Error::other`].
    #[error(transparent)]
    Other(#[from] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// An error that the program made: for closures of [`crate::run`] and [`crate::with_world`].
    ///
    /// ```
    /// let error = dushmem::run(1, |_| {
    ///     let text = "12x";
    ///     text.parse::<u32>().map_err(dushmem::Error::other)
    /// });
    /// assert_eq!(error.unwrap_err().to_string(), "invalid digit found in string");
    /// ```
    pub fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error::Other(error.into())
    }

    /// What the engine found wrong, if the error comes from there.
    pub fn cause(&self) -> Option<&Cause> {
        match self {
            Error::Call { cause, .. } | Error::Start { cause, .. } => Some(cause),
            _ => None,
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Result of the calls of this crate.
pub type Result<T> = std::result::Result<T, Error>;

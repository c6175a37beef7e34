//! What the user asks for by signals: to end the job, and once more if the PEs go on.
use dushmem_os::signal;
use std::time::{Duration, Instant};

/// A signal again within this time is the same request: `timeout` signals dushrun and then its whole group.
const SAME_REQUEST: Duration = Duration::from_millis(150);
/// So long after a request to end the user is told that PEs go on.
const STUBBORN: Duration = Duration::from_secs(2);

/// The request to end, if there was one.
#[derive(Debug, Default)]
pub struct Asked {
    number: Option<i32>,
    at: Option<Instant>,
    told: bool,
}

/// What a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// The first one.
    First,
    /// Meant to kill.
    Again,
    /// The one before, by another way.
    Same,
}

impl Asked {
    /// The signal that came last.
    pub fn number(&self) -> Option<i32> {
        self.number
    }

    /// Takes a signal that asks the job to end.
    pub fn take(&mut self, number: i32) -> Request {
        if self.at.is_some_and(|at| at.elapsed() < SAME_REQUEST) {
            return Request::Same;
        }
        (self.at, self.told) = (Some(Instant::now()), false);
        match self.number.replace(number) {
            None => Request::First,
            Some(_) => Request::Again,
        }
    }

    /// When the user is to be told that PEs go on.
    pub fn tell_at(&self) -> Option<Instant> {
        self.at.filter(|_| !self.told).map(|at| at + STUBBORN)
    }

    /// What the user is to be told now, if anything.
    pub fn tell(&mut self, now: Instant, running: usize, pes: usize) -> Option<String> {
        self.tell_at().filter(|at| now >= *at)?;
        self.told = true;
        let name = signal::name(self.number?);
        Some(format!(
            "dushrun: {running} of {pes} PEs go on after {name}, which a program may handle or ignore; {name} once \
             more kills the job"
        ))
    }
}

//! What dushrun says of PEs when the user, or the time limit, ends the job.
use super::{Job, Pe};
use crate::error::TIMED_OUT;
use crate::hang;
use crate::keeper::Keeper;
use dushmem_boot::job::PeState;
use dushmem_os::process::{Ended, Halt, children, halt};
use dushmem_os::signal::{self, number as sig};

/// The code with which an error of finalize ends a job whose members differ.
const LOST_CALL: i32 = 4;

/// So many PEs are told of when the user ends the job.
const SHOWN: usize = 16;

impl Job<'_> {
    /// Process id of the PE itself, which may stand behind a shell.
    pub(super) fn shown_pid(&self, pe: usize) -> u32 {
        self.pes[pe].inner.as_ref().map_or(self.pes[pe].pid, |(inner, _)| *inner)
    }

    /// What keeps a PE that runs, or the shell before it, from going on.
    fn halted(&self, pe: usize) -> Option<(u32, Halt)> {
        let Pe { pid, ended, inner, lost, .. } = &self.pes[pe];
        let inner = inner.as_ref().filter(|_| lost.is_none()).map(|(inner, _)| *inner);
        let pids = inner.into_iter().chain([*pid]).filter(|_| ended.is_none());
        pids.into_iter().find_map(|pid| Some((pid, halt(pid)?)))
    }

    /// Continues the PEs that are stopped, so that they notice what was sent to them.
    pub(super) fn let_go_on(&self) {
        for pe in 0..self.pes.len() {
            if let Some((_, Halt::Stopped)) = self.halted(pe) {
                let Pe { pid, inner, .. } = &self.pes[pe];
                signal::send(*pid, sig::SIGCONT);
                if let (Some((inner, _)), None) = (inner, self.pes[pe].lost) {
                    signal::send(*inner, sig::SIGCONT);
                }
            }
        }
    }

    /// Whether a PE has ended, without a failure, where others of the job may still count on it.
    fn left_early(&self, pe: usize) -> bool {
        let state = |pe: usize| self.page.card(pe).state();
        self.pes[pe].left
            && match state(pe) {
                PeState::Joined => true,
                // A job whose programs don't use the library has no other.
                PeState::Started => (0..self.pes.len()).any(|pe| state(pe) != PeState::Started),
                PeState::Finalized => false,
            }
    }

    /// The beginning of a line about a PE that has left, and its exit code.
    pub(super) fn how_it_left(&self, pe: usize) -> (String, i32) {
        let how = match self.page.card(pe).state() {
            PeState::Started => "left without joining the job",
            PeState::Joined => "left without finalize",
            PeState::Finalized => "ended after finalize",
        };
        let code = match self.pes[pe].ended {
            Some(Ended::Exit(code)) => code,
            _ => 0,
        };
        (format!("dushrun: PE {pe} (pid {}) {how} (exit code {code})", self.shown_pid(pe)), code)
    }

    /// A line about where PE `pe` is.
    fn whereabouts(&self, pe: usize) -> String {
        if self.pes[pe].ended.is_some() {
            return self.how_it_left(pe).0 + ": whatever others still expect of it never comes";
        }
        let begin = format!("dushrun: PE {pe} (pid {})", self.shown_pid(pe));
        match self.halted(pe) {
            Some((pid, halt)) => format!("{begin} {}", hang::halted(&self.page, pe, pid, halt)),
            None => format!("{begin} {}", hang::whereabouts(&self.page, pe)),
        }
    }

    /// Says which PEs wait for each other for ever, if there are any.
    pub(super) fn look_for_circles(&mut self) {
        let mut circles = std::mem::take(&mut self.circles);
        let over: Vec<bool> = self.pes.iter().map(|pe| pe.ended.is_some()).collect();
        let runs = |pe: usize| {
            (self.pes[pe].lost.is_none() && self.halted(pe).is_none()).then(|| self.shown_pid(pe))
        };
        let keeper = self.gpus.keeper.as_ref().map(Keeper::pid);
        // Orphans of PEs are children of dushrun's.
        let alone =
            || children().into_iter().all(|pid| self.by_pid.contains_key(&pid) || keeper == Some(pid));
        let found = circles.look(&self.page, &over, runs, alone);
        self.circles = circles;
        let Some(stuck) = found else { return };
        self.output.pump();
        self.output.say(
            "dushrun: these PEs wait for each other, and no other PE can end that; only a handler of a signal still might:",
        );
        for pe in stuck.iter().take(SHOWN) {
            self.output.say(&self.whereabouts(*pe));
        }
        if stuck.len() > SHOWN {
            self.output.say(&format!("dushrun: {} more PEs wait so", stuck.len() - SHOWN));
        }
    }

    /// Fails the job, as finalize does, where some have made a call that others of its team never have.
    pub(super) fn notice_lost_calls(&mut self) {
        if let Some(text) = dushmem_boot::lost::call(&self.page) {
            self.end(LOST_CALL, Some(&format!("dushrun: {text}")));
        }
    }

    /// Notes which PEs wait now, are stopped, or have left, for [`Self::end_asked`]. What a PE that was ended
    /// since has noted stays.
    pub(super) fn note_waits(&mut self) {
        // Those for which the others wait come first.
        let cause = |pe: &usize| self.left_early(*pe) || self.halted(*pe).is_some();
        let (mut told, others): (Vec<usize>, Vec<usize>) = (0..self.pes.len()).partition(cause);
        let causes = told.len();
        told.extend(
            others
                .into_iter()
                .filter(|pe| self.pes[*pe].ended.is_none() && hang::takes_long(&self.page, *pe)),
        );
        let mut lines: Vec<String> = told.iter().take(SHOWN).map(|pe| self.whereabouts(*pe)).collect();
        if told.len() > SHOWN {
            let what = if causes > SHOWN { "are stopped, have left or wait" } else { "wait" };
            lines.push(format!("dushrun: {} more PEs {what}", told.len() - SHOWN));
        }
        self.waited = lines;
    }

    /// Ends the job; where the user has asked for it, says what PEs waited for at that time.
    pub(super) fn end_asked(&mut self, code: i32, line: &str) {
        if self.ending.is_none() {
            self.end(code, Some(line));
            self.waited.iter().for_each(|line| self.output.say(line));
        }
    }

    /// Ends the job whose time is over, and says where each PE is.
    pub(super) fn time_out(&mut self) {
        let limit = self.plan.limit.unwrap_or_default().as_secs_f64();
        self.output.pump();
        self.output.say(&format!("dushrun: the time limit of {limit} s is reached"));
        for pe in 0..self.pes.len() {
            if self.pes[pe].ended.is_none() || self.left_early(pe) {
                self.output.say(&self.whereabouts(pe));
            }
        }
        self.end(TIMED_OUT, None);
    }
}

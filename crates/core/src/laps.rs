//! How long the steps of a start take. Read all the time, since a look at the clock costs nothing beside them, and told where
//! diagnostic lines are wanted (`DUSHMEM_DEBUG=INFO`): a start that is slow on some machine so says why.
use std::time::{Duration, Instant};

/// A step, and how long it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// One or two words, without a comma.
    pub name: &'static str,
    /// From the end of the step before.
    pub took: Duration,
    /// It went on beside others, whose time this one's is a part of.
    pub beside: bool,
}

/// The steps so far.
#[derive(Clone, Debug)]
pub struct Laps {
    first: Instant,
    last: Instant,
    steps: Vec<Step>,
}

impl Laps {
    /// The first step begins.
    pub fn begin() -> Laps {
        let now = Instant::now();
        Laps { first: now, last: now, steps: Vec::new() }
    }

    /// There was a step before the first one, which began then.
    pub fn precede(&mut self, name: &'static str, begun: Instant) {
        let took = self.first.saturating_duration_since(begun);
        self.steps.insert(0, Step { name, took, beside: false });
        self.first = begun.min(self.first);
    }

    /// A step ends, and the next begins.
    pub fn lap(&mut self, name: &'static str) {
        let now = Instant::now();
        self.steps.push(Step { name, took: now - self.last, beside: false });
        self.last = now;
    }

    /// The next step begins now: what was done since the last one is somebody else's.
    pub fn resume(&mut self) {
        self.last = Instant::now();
    }

    /// A step that went on beside others has ended.
    pub fn beside(&mut self, name: &'static str, took: Duration) {
        self.steps.push(Step { name, took, beside: true });
    }

    /// A step ends that somebody else has told about in part: `steps`, and the `rest`.
    pub fn inner(&mut self, rest: &'static str, steps: Vec<Step>) {
        let now = Instant::now();
        let told: Duration = steps.iter().filter(|step| !step.beside).map(|step| step.took).sum();
        self.steps.extend(steps);
        self.steps.push(Step { name: rest, took: (now - self.last).saturating_sub(told), beside: false });
        self.last = now;
    }

    /// All of them, for somebody else's.
    pub fn into_steps(self) -> Vec<Step> {
        self.steps
    }

    /// All of them.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// For a line: the sum, and each step in microseconds.
    pub fn shown(&self) -> String {
        let micros = |took: Duration| took.as_nanos().div_ceil(1000);
        let total = self.steps.iter().filter(|step| !step.beside).map(|step| step.took).sum();
        let each = self.steps.iter().map(|Step { name, took, beside }| {
            let beside = if *beside { " beside" } else { "" };
            format!("{name} {}{beside}", micros(*took))
        });
        format!("{} us: {}", micros(total), each.collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_sum_and_each_step() {
        let mut laps = Laps::begin();
        std::thread::sleep(Duration::from_millis(2));
        let middle = Instant::now();
        laps.lap("asleep");
        assert!(laps.steps()[0].took >= Duration::from_millis(2));
        laps.precede("late", middle);
        assert_eq!(laps.steps()[0], Step { name: "late", took: Duration::ZERO, beside: false });
        let step = |name, micros, beside| Step { name, took: Duration::from_micros(micros), beside };
        laps.steps = vec![step("cards", 12, false), step("kernels", 900, true), step("two words", 30, false)];
        assert_eq!(laps.shown(), "42 us: cards 12, kernels 900 beside, two words 30");
    }
}

//! What was measured, and what it says.
use crate::machine::Machine;
use crate::plan::{Row, Target};
use crate::programs::Peer;
use crate::stats::{Interval, interval, median};

/// Everything that is written out.
#[derive(Clone, Debug)]
pub struct Results {
    /// Where.
    pub machine: Machine,
    /// When.
    pub date: String,
    /// dushmem first, then the peers.
    pub programs: Vec<Described>,
    /// How many pairs were asked for.
    pub pairs: usize,
    /// Load averages at the start and at the end.
    pub load: [[f64; 3]; 2],
    /// The rows in the order of the table.
    pub rows: Vec<Measured>,
    /// Runs that gave nothing.
    pub failures: Vec<FailedRun>,
}

/// A program.
#[derive(Clone, Debug)]
pub struct Described {
    /// For readers.
    pub title: &'static str,
    /// Library and version.
    pub version: String,
    /// `None`: dushmem.
    pub peer: Option<Peer>,
}

/// One row with the figures of all programs.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What it is about.
    pub row: Row,
    /// Of the figures.
    pub unit: String,
    /// For each program, its figure in each pair, `None` where the run gave none.
    pub samples: Vec<Vec<Option<f64>>>,
}

/// A run that gave nothing.
#[derive(Clone, Debug)]
pub struct FailedRun {
    /// Which program.
    pub title: &'static str,
    /// Number of the pair, from 1.
    pub pair: usize,
    /// What was run.
    pub job: String,
    /// Why.
    pub why: String,
}

/// A median with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Median of the samples.
    pub median: f64,
    /// Where the true median is.
    pub interval: Interval,
    /// Number of samples.
    pub count: usize,
}

/// Whether a row reaches its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The median does.
    Met,
    /// The median does not, but the interval reaches to the target.
    Noise,
    /// The whole interval lies beyond it.
    Missed,
    /// dushmem gave no figure.
    Failed,
    /// There is no target, or no figure of the peer.
    Open,
}

impl Verdict {
    /// For tables.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::Noise => "within noise",
            Verdict::Missed => "MISSED",
            Verdict::Failed => "FAILED",
            Verdict::Open => "",
        }
    }
}

impl Estimate {
    fn of(samples: &[f64]) -> Option<Estimate> {
        Some(Estimate { median: median(samples)?, interval: interval(samples)?, count: samples.len() })
    }
}

impl Measured {
    /// The figures of a program that there are.
    fn figures(&self, program: usize) -> Vec<f64> {
        self.samples.get(program).into_iter().flatten().flatten().copied().collect()
    }

    /// A program's figure.
    pub fn figure(&self, program: usize) -> Option<Estimate> {
        Estimate::of(&self.figures(program))
    }

    /// dushmem's figure over that of a program, pair by pair.
    pub fn ratio(&self, program: usize) -> Option<Estimate> {
        let pairs = self.samples.first()?.iter().zip(self.samples.get(program)?);
        let ratios: Vec<f64> = pairs
            .filter_map(|(ours, theirs)| Some((*ours)? / (*theirs)?))
            .filter(|ratio| ratio.is_finite())
            .collect();
        Estimate::of(&ratios)
    }
}

impl Results {
    /// The place of Open MPI among the programs.
    pub fn rival(&self) -> Option<usize> {
        self.programs.iter().position(|program| program.peer == Some(Peer::Openmpi))
    }

    /// What the row should reach; without Open MPI there is nothing to be faster than.
    pub fn target(&self, measured: &Measured) -> Option<Target> {
        measured.row.target.filter(|target| matches!(target, Target::Most(_)) || self.rival().is_some())
    }

    /// What the target of the row is about.
    pub fn judged(&self, measured: &Measured) -> Option<Estimate> {
        match self.target(measured)? {
            Target::Ratio(_) => measured.ratio(self.rival()?),
            Target::Most(_) => measured.figure(0),
        }
    }

    /// Whether the row reaches its target.
    pub fn verdict(&self, measured: &Measured) -> Verdict {
        if measured.figure(0).is_none() {
            return Verdict::Failed;
        }
        let (Some(target), Some(found)) = (self.target(measured), self.judged(measured)) else {
            return Verdict::Open;
        };
        let (Target::Ratio(most) | Target::Most(most)) = target;
        match found {
            _ if found.median <= most => Verdict::Met,
            _ if found.interval.low <= most => Verdict::Noise,
            _ => Verdict::Missed,
        }
    }

    /// Whether nothing is missed.
    pub fn all_met(&self) -> bool {
        let bad = |row| matches!(self.verdict(row), Verdict::Missed | Verdict::Failed);
        !self.rows.iter().any(bad)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn row(
        label: &str,
        target: Option<Target>,
        ours: &[Option<f64>],
        theirs: &[Option<f64>],
    ) -> Measured {
        let row = Row { key: label.into(), bytes: 8, pes: 2, label: label.into(), section: "words", target };
        Measured { row, unit: "ns".into(), samples: vec![ours.into(), theirs.into()] }
    }

    pub fn results(rows: Vec<Measured>) -> Results {
        let program = |title, peer| Described { title, version: format!("{title} 1"), peer };
        Results {
            machine: Machine::this(),
            date: "2026-01-31".into(),
            programs: vec![program("dushmem", None), program("Open MPI", Some(Peer::Openmpi))],
            pairs: 9,
            load: [[0.5; 3], [0.75; 3]],
            rows,
            failures: Vec::new(),
        }
    }

    pub fn some(samples: &[f64]) -> Vec<Option<f64>> {
        samples.iter().copied().map(Some).collect()
    }

    fn verdict(target: Target, ours: &[f64]) -> Verdict {
        let theirs = vec![Some(10.0); ours.len()];
        let results = results(vec![row("x", Some(target), &some(ours), &theirs)]);
        results.verdict(&results.rows[0])
    }

    #[test]
    fn a_row_is_missed_only_with_its_whole_interval() {
        let ours = [4.0, 4.1, 4.2, 4.9, 5.2, 5.3, 5.4, 5.5, 9.0];
        assert_eq!(verdict(Target::Ratio(0.52), &ours), Verdict::Met);
        assert_eq!(verdict(Target::Ratio(0.5), &ours), Verdict::Noise, "0.52 within 0.41 to 0.55");
        assert_eq!(verdict(Target::Ratio(0.405), &ours), Verdict::Missed);
        assert_eq!(verdict(Target::Most(5.2), &ours), Verdict::Met);
        assert_eq!(verdict(Target::Most(4.05), &ours), Verdict::Missed);
    }

    #[test]
    fn ratios_are_of_pairs() {
        // The machine slows down threefold; each pair says one half.
        let ours = some(&[1.0, 2.0, 3.0]);
        let theirs = some(&[2.0, 4.0, 6.0]);
        let found = row("x", None, &ours, &theirs).ratio(1).unwrap();
        assert_eq!((found.median, found.interval.low, found.interval.high), (0.5, 0.5, 0.5));
        let missing = row("x", None, &ours, &[None, Some(4.0), Some(0.0)]).ratio(1).unwrap();
        assert_eq!((missing.count, missing.median), (1, 0.5));
    }

    #[test]
    fn failures_of_ours_are_failures_and_those_of_a_peer_leave_the_row_open() {
        let target = Some(Target::Ratio(0.5));
        let results = results(vec![
            row("ours", target, &[None, None], &some(&[1.0, 1.0])),
            row("theirs", target, &some(&[1.0, 1.0]), &[None, None]),
        ]);
        assert_eq!(results.verdict(&results.rows[0]), Verdict::Failed);
        assert_eq!(results.verdict(&results.rows[1]), Verdict::Open);
        assert!(!results.all_met());
    }
}

//! The runs, in turn: each pair is one run of each program, one right after the other.
use crate::machine::{self, Machine};
use crate::plan::Job;
use crate::programs::Program;
use crate::results::{Described, FailedRun, Measured, Results};
use std::collections::HashMap;
use std::time::Duration;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Runs of each program.
    pub pairs: usize,
    /// Batches of a run, and about how long each is.
    pub batches: usize,
    /// Microseconds.
    pub batch_us: usize,
    /// A run that takes longer is ended.
    pub limit: Duration,
}

/// After so many failures in a row a program is not asked for the same again.
const PATIENCE: usize = 2;

/// What has been measured so far.
#[derive(Debug)]
pub struct Measurement<'a> {
    programs: &'a [Program],
    jobs: &'a [Job],
    effort: Effort,
    results: Results,
    /// Failures in a row, by job and program.
    failed: HashMap<(usize, usize), usize>,
}

impl<'a> Measurement<'a> {
    /// Nothing is measured yet.
    pub fn new(programs: &'a [Program], jobs: &'a [Job], effort: Effort) -> Measurement<'a> {
        let described = |program: &Program| Described {
            title: program.title,
            version: program.version.clone(),
            peer: program.peer,
        };
        let empty = vec![vec![None; effort.pairs]; programs.len()];
        let rows = jobs.iter().flat_map(|job| &job.rows);
        let rows = rows.map(|row| Measured { row: row.clone(), unit: String::new(), samples: empty.clone() });
        let results = Results {
            machine: Machine::this(),
            date: machine::today(),
            programs: programs.iter().map(described).collect(),
            pairs: effort.pairs,
            load: [machine::load(); 2],
            rows: rows.collect(),
            failures: Vec::new(),
        };
        Measurement { programs, jobs, effort, results, failed: HashMap::new() }
    }

    /// One run of every job by every program. `tell` is told what is run next.
    pub fn pair(&mut self, pair: usize, tell: &mut dyn FnMut(String)) {
        let mut first_row = 0;
        for (at, job) in self.jobs.iter().enumerate() {
            let rows = first_row..first_row + job.rows.len();
            first_row = rows.end;
            for (number, program) in self.programs.iter().enumerate() {
                if self.failed.get(&(at, number)).is_some_and(|&count| count >= PATIENCE) {
                    continue;
                }
                tell(format!(
                    "pair {} of {}: {}: {}",
                    pair + 1,
                    self.effort.pairs,
                    program.title,
                    job.shown()
                ));
                let figures = self.figures(program, job);
                let count = self.failed.entry((at, number)).or_default();
                let figures = match figures {
                    Ok(figures) => {
                        *count = 0;
                        figures
                    }
                    Err(why) => {
                        *count += 1;
                        let job = job.shown();
                        self.results.failures.push(FailedRun {
                            title: program.title,
                            pair: pair + 1,
                            job,
                            why,
                        });
                        continue;
                    }
                };
                for measured in &mut self.results.rows[rows.clone()] {
                    let key = (measured.row.key.clone(), measured.row.bytes);
                    if let Some((figure, unit)) = figures.get(&key) {
                        measured.samples[number][pair] = Some(*figure);
                        measured.unit.clone_from(unit);
                    }
                }
            }
        }
        self.results.load[1] = machine::load();
    }

    /// What there is by now.
    pub fn results(&self) -> &Results {
        &self.results
    }

    /// Runs a job and reads its figures, by key and bytes.
    fn figures(&self, program: &Program, job: &Job) -> Result<Figures, String> {
        let Effort { batches, batch_us, limit, .. } = self.effort;
        let mut words = Vec::new();
        if !job.whole {
            words.extend(["-b".into(), batch_us.to_string(), "-r".into(), batches.to_string()]);
        }
        words.extend(job.operations.iter().cloned());
        let done = program.run(job.pes, &words, limit).map_err(|why| why.to_string())?;
        if job.whole {
            let key = (job.rows[0].key.clone(), job.rows[0].bytes);
            return Ok(Figures::from([(key, (done.time.as_secs_f64() * 1e3, "ms".into()))]));
        }
        parse(&done.output)
    }
}

type Figures = HashMap<(String, usize), (f64, String)>;

/// Reads the lines `row <key> <bytes> <median> <minimum> <unit>`.
fn parse(output: &str) -> Result<Figures, String> {
    let rows: Option<Figures> = output
        .lines()
        .filter_map(|line| line.strip_prefix("row\t"))
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let [key, bytes, median, _minimum, unit] = fields[..] else { return None };
            Some(((key.to_string(), bytes.parse().ok()?), (median.parse().ok()?, unit.to_string())))
        })
        .collect();
    match rows {
        Some(rows) if !rows.is_empty() || output.contains("none\t") => Ok(rows),
        _ => Err(format!("no figures in {:?}", output.chars().take(200).collect::<String>())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_program_are_read() {
        let rows = parse("noise\nrow\tput\t8\t1.5\t1.25\tns\nrow\twaiters/cpu\t0\t0.25\t0.25\ts\n").unwrap();
        assert_eq!(rows[&("put".to_string(), 8)], (1.5, "ns".to_string()));
        assert_eq!(rows[&("waiters/cpu".to_string(), 0)], (0.25, "s".to_string()));
        assert_eq!(parse("none\tsync_all\n").unwrap().len(), 0);
        assert!(parse("").is_err() && parse("row\tput\t8\n").is_err());
    }
}

//! Medians, and an interval for a median that assumes no distribution.

/// An interval that holds the true median with at least the probability `coverage`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end: one of the samples.
    pub low: f64,
    /// Upper end: one of the samples.
    pub high: f64,
    /// Probability that the median of what was sampled lies between the two.
    pub coverage: f64,
}

/// What an interval should cover, where there are enough samples.
pub const LEVEL: f64 = 0.95;

/// The middle of the samples, or the mean of the two in the middle; `None` of none.
pub fn median(samples: &[f64]) -> Option<f64> {
    let sorted = sorted(samples);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// The narrowest interval between the k-th smallest and the k-th largest sample that covers [`LEVEL`], or
/// from the smallest to the largest where even that covers less. The number of samples below the median has
/// the binomial distribution with one half, whatever the samples' own distribution is; so between the two
/// lies the median with probability `1 - 2 P(B < k)`.
pub fn interval(samples: &[f64]) -> Option<Interval> {
    let sorted = sorted(samples);
    let n = sorted.len();
    let coverage = |k: usize| 1.0 - 2.0 * below(n, k);
    let k = (1..=n / 2).rev().find(|&k| coverage(k) >= LEVEL).unwrap_or(1);
    Some(Interval { low: *sorted.get(k - 1)?, high: *sorted.get(n - k)?, coverage: coverage(k).max(0.0) })
}

/// Probability that fewer than `k` of `n` coins show heads.
fn below(n: usize, k: usize) -> f64 {
    let mut choose = 1.0;
    let mut sum = 0.0;
    for heads in 0..k.min(n + 1) {
        sum += choose;
        choose *= (n - heads) as f64 / (heads + 1) as f64;
    }
    sum / 2f64.powi(n as i32)
}

fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn up_to(n: usize) -> Vec<f64> {
        // Not in order.
        (1..=n).map(|i| ((i * 11) % (n + 1)) as f64).collect()
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0]), Some(5.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
    }

    #[test]
    fn intervals_are_those_of_the_tables() {
        // From tables of the sign test: n, rank of the lower end, coverage.
        for (n, k, coverage) in
            [(6, 1, 0.96875), (9, 2, 0.9609375), (12, 3, 0.9614257812), (15, 4, 0.9648437)]
        {
            let found = interval(&up_to(n)).unwrap();
            assert_eq!((found.low, found.high), (k as f64, (n + 1 - k) as f64), "{n}");
            assert!((found.coverage - coverage).abs() < 1e-6, "{n}: {found:?}");
        }
    }

    #[test]
    fn few_samples_cover_less_and_say_so() {
        let one = interval(&[4.0]).unwrap();
        assert_eq!((one.low, one.high, one.coverage), (4.0, 4.0, 0.0));
        let three = interval(&[4.0, 9.0, 5.0]).unwrap();
        assert_eq!((three.low, three.high, three.coverage), (4.0, 9.0, 0.75));
        assert_eq!(interval(&[]), None);
    }

    #[test]
    fn the_stated_coverage_is_what_samples_show() {
        // A skewed distribution with the median 1: squares of a uniform one's ratio to its median.
        let mut state = 1u64;
        let mut uniform = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let (mut held, tries) = (0, 4000);
        for _ in 0..tries {
            let samples: Vec<f64> = (0..9).map(|_| (uniform() * 2.0).powi(2)).collect();
            let found = interval(&samples).unwrap();
            held += usize::from(found.low <= 1.0 && 1.0 <= found.high);
        }
        let share = f64::from(held as u32) / f64::from(tries);
        assert!((share - 0.961).abs() < 0.012, "{share}");
    }
}

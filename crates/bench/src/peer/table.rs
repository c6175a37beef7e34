//! The results as Markdown.
use crate::plan::Target;
use crate::results::{Estimate, Measured, Results, Verdict};
use std::fmt::Write;

/// The whole text: what was measured and how, the table, what is missed, and runs that failed.
pub fn markdown(results: &Results, picture: Option<&str>) -> String {
    let mut out = String::new();
    let names: Vec<&str> = results.programs.iter().map(|program| program.version.as_str()).collect();
    let [start, end] = results.load.map(|load| load[0]);
    let _ = writeln!(
        out,
        "Measured on {} on {}: {}. {} runs of each, in turn; load average {start:.1} at the start, {end:.1} at the end.\n",
        results.date,
        results.machine.sentence(),
        names.join("; "),
        results.pairs,
    );
    if let Some(picture) = picture {
        let _ = writeln!(out, "![dushmem's time over that of Open MPI, by row]({picture})\n");
    }
    table(&mut out, results);
    summary(&mut out, results);
    out
}

/// Every row.
fn table(out: &mut String, results: &Results) {
    let mut head = vec!["operation".to_string(), "PEs".into(), "dushmem".into()];
    for peer in &results.programs[1..] {
        head.extend([peer.title.to_string(), "ratio".into(), "interval".into()]);
    }
    head.extend(["target".into(), String::new()]);
    let _ = writeln!(out, "| {} |", head.join(" | "));
    let align = |at: usize| if at == 0 || at + 2 >= head.len() { "---" } else { "--:" };
    let _ = writeln!(out, "|{}|", (0..head.len()).map(align).collect::<Vec<_>>().join("|"));
    let mut section = "";
    for measured in &results.rows {
        if measured.row.section != section {
            section = measured.row.section;
            let _ = writeln!(out, "| **{section}** |{}", " |".repeat(head.len() - 1));
        }
        let _ = writeln!(out, "| {} |", cells(results, measured).join(" | "));
    }
}

fn cells(results: &Results, measured: &Measured) -> Vec<String> {
    let shown = |program| match measured.figure(program) {
        Some(found) => figure(found.median, &measured.unit),
        None => "-".into(),
    };
    let mut cells = vec![measured.row.label.clone(), measured.row.pes.to_string(), shown(0)];
    for program in 1..results.programs.len() {
        let found = measured.ratio(program);
        let text = |show: fn(Estimate) -> String| found.map_or("-".into(), show);
        cells.extend([
            shown(program),
            text(|found| ratio(found.median)),
            text(|found| format!("{} to {}", ratio(found.interval.low), ratio(found.interval.high))),
        ]);
    }
    let target = match results.target(measured) {
        Some(Target::Ratio(most)) => format!("ratio ≤ {most}"),
        Some(Target::Most(most)) => format!("≤ {}", limit(most, &measured.unit)),
        None => "-".into(),
    };
    let verdict = results.verdict(measured);
    let word = verdict.word();
    let strong = matches!(verdict, Verdict::Missed | Verdict::Failed);
    cells.extend([target, if strong { format!("**{word}**") } else { word.into() }]);
    cells
}

/// How many rows are met, and what is said about the rest.
fn summary(out: &mut String, results: &Results) {
    let count = |wanted| results.rows.iter().filter(|row| results.verdict(row) == wanted).count();
    let with_target = results.rows.iter().filter(|row| results.target(row).is_some()).count();
    let coverage =
        results.rows.iter().filter_map(|row| results.judged(row)).map(|found| found.interval.coverage);
    let coverage = coverage.fold(f64::INFINITY, f64::min);
    let _ = writeln!(
        out,
        "\nFigures are medians over the runs; a run's own figure is the median of its batches. A ratio is dushmem's \
         figure over the other one of the same pair; given are the median of the ratios and an interval between two \
         of them that holds the true median with {:.0} % or more, whatever the distribution. Of {with_target} rows with a target {} meet it, {} are within noise (the median misses, the \
         interval does not), {} miss it with the whole interval{}.",
        if coverage.is_finite() { (coverage * 100.0).floor() } else { 0.0 },
        count(Verdict::Met),
        count(Verdict::Noise),
        count(Verdict::Missed),
        match count(Verdict::Failed) {
            0 => String::new(),
            failed => format!(", {failed} gave no figure"),
        }
    );
    let short: Vec<_> = results.rows.iter().filter(|row| is_short(results, row)).collect();
    if !short.is_empty() {
        let _ = writeln!(out, "\nRows that fall short:\n");
        for row in short {
            let found = results.judged(row).map_or("no figure".into(), |found| {
                let unit = if matches!(results.target(row), Some(Target::Most(_))) {
                    row.unit.as_str()
                } else {
                    "x"
                };
                let [median, low, high] = [found.median, found.interval.low, found.interval.high]
                    .map(|value| limit_or_ratio(value, unit));
                format!("{median} ({low} to {high})")
            });
            let target = match results.target(row) {
                Some(Target::Ratio(most) | Target::Most(most)) => format!(", target {most}"),
                None => String::new(),
            };
            let _ = writeln!(out, "- {}, {} PEs: {found}{target}", row.row.label, row.row.pes);
        }
    }
    if !results.failures.is_empty() {
        let _ = writeln!(out, "\nRuns that gave no figures:\n");
        for failure in &results.failures {
            let _ =
                writeln!(out, "- pair {}, {}: {}: {}", failure.pair, failure.title, failure.job, failure.why);
        }
    }
}

fn is_short(results: &Results, row: &Measured) -> bool {
    matches!(results.verdict(row), Verdict::Missed | Verdict::Failed)
}

fn limit_or_ratio(value: f64, unit: &str) -> String {
    if unit == "x" { ratio(value) } else { figure(value, unit) }
}

fn limit(value: f64, unit: &str) -> String {
    if unit == "x" || unit.is_empty() { value.to_string() } else { format!("{value} {unit}") }
}

/// A ratio with enough digits to tell neighbours apart.
pub fn ratio(value: f64) -> String {
    let digits = match value {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 0.1 => 2,
        v if v >= 0.01 => 3,
        _ => 4,
    };
    format!("{value:.digits$}")
}

/// A figure in a unit that keeps the number short.
pub fn figure(value: f64, unit: &str) -> String {
    let (value, unit) = match unit {
        "x" => return ratio(value),
        "ns" if value >= 1e6 => (value / 1e6, "ms"),
        "ns" if value >= 1e3 => (value / 1e3, "us"),
        "ms" if value >= 1e3 => (value / 1e3, "s"),
        "KiB" if value >= 1024.0 => (value / 1024.0, "MiB"),
        unit => (value, unit),
    };
    let digits = match value {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::FailedRun;
    use crate::results::tests::{results, row, some};

    #[test]
    fn figures_are_short() {
        for (value, unit, text) in [
            (0.37, "ns", "0.37 ns"),
            (12.34, "ns", "12.3 ns"),
            (51_368.0, "ns", "51.4 us"),
            (2e6, "ns", "2.00 ms"),
            (1500.0, "ms", "1.50 s"),
            (530.0, "KiB", "530 KiB"),
            (10_045.6, "KiB", "9.81 MiB"),
            (0.043, "x", "0.043"),
        ] {
            assert_eq!(figure(value, unit), text);
        }
    }

    #[test]
    fn the_table_says_what_was_found() {
        let ratio = |most| Some(Target::Ratio(most));
        let mut found = results(vec![
            row("good", ratio(0.5), &some(&[1.0; 9]), &some(&[10.0; 9])),
            row("bad", ratio(0.5), &some(&[9.0; 9]), &some(&[10.0; 9])),
            row("alone", None, &some(&[9.0; 9]), &[None; 9]),
        ]);
        found.failures.push(FailedRun {
            title: "Open MPI",
            pair: 3,
            job: "alone, 2 PEs".into(),
            why: "ended by SIGSEGV".into(),
        });
        let text = markdown(&found, Some("x.svg"));
        for line in [
            "| good | 2 | 1.00 ns | 10.0 ns | 0.10 | 0.10 to 0.10 | ratio ≤ 0.5 | met |",
            "| bad | 2 | 9.00 ns | 10.0 ns | 0.90 | 0.90 to 0.90 | ratio ≤ 0.5 | **MISSED** |",
            "| alone | 2 | 9.00 ns | - | - | - | - |  |",
            "- bad, 2 PEs: 0.90 (0.90 to 0.90), target 0.5",
            "- pair 3, Open MPI: alone, 2 PEs: ended by SIGSEGV",
        ] {
            assert!(text.lines().any(|found| found == line), "no line {line:?} in\n{text}");
        }
        assert!(text.contains("Of 2 rows with a target 1 meet it") && text.contains("(x.svg)"), "{text}");
        assert!(text.contains("holds the true median with 96 %"), "{text}");
        let columns = |line: &str| line.matches('|').count();
        let table: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert!(table.iter().all(|line| columns(line) == columns(table[0])), "{text}");
    }
}

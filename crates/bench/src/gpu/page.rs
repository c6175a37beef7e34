//! The results as Markdown and as JSON.
use super::build::Library;
use super::measure::{Estimate, Measured, Results};
use super::rows::{self, REASONS, Verdict};
use serde_json::{Value, json};
use std::fmt::Write;

/// What was measured and how, the table, what is missed, runs that failed, and why.
pub fn markdown(results: &Results, picture: Option<&str>) -> String {
    let mut out = format!(
        "Measured on {}: {}. {} runs of each program in turn; times are medians, in microseconds an operation, with the \
         least and the most of the runs' medians; all PEs are processes on the one GPU, and moved data was compared.\n\n",
        results.gpu,
        results.versions.join("; "),
        results.runs,
    );
    if let Some(picture) = picture {
        let _ = writeln!(out, "![NVSHMEM's time over dushmem's, by row]({picture})\n");
    }
    out += "| operation | PEs | mode | dushmem | NVSHMEM | times faster | target | |\n|---|--:|---|--:|--:|--:|--:|---|\n";
    for row in &results.rows {
        let ratio = row.ratio().map_or(String::new(), |ratio| spread(ratio, &times));
        let target = rows::target(row);
        let target = if row.ratio().is_some() && target > 0.0 { times(target) } else { String::new() };
        let [ours, theirs] = [Library::Dushmem, Library::Nvshmem]
            .map(|library| row.time(library).map_or("\u{2013}".into(), |time| spread(time, &figure)));
        let _ = writeln!(
            out,
            "| {} | {} | {} | {ours} | {theirs} | {ratio} | {target} | {} |",
            row.key.name,
            row.key.pes,
            row.key.mode.title(),
            rows::verdict(row).word()
        );
    }
    if let Some(line) = full_grid(results) {
        let _ = writeln!(out, "\n{line}");
    }
    let judged: Vec<Verdict> = results.rows.iter().map(rows::verdict).collect();
    let count = |wanted| judged.iter().filter(|&&verdict| verdict == wanted).count();
    let _ = writeln!(
        out,
        "\n{} rows meet their target, {} within noise, {} miss it, {} have no figure beside them.",
        count(Verdict::Met),
        count(Verdict::Noise),
        count(Verdict::Missed),
        count(Verdict::Alone)
    );
    if !results.failures.is_empty() {
        out += "\nRuns that ended badly; what they had measured before is in the table:\n\n";
        for failure in &results.failures {
            let _ = writeln!(out, "- {failure}");
        }
    }
    out += "\nWhy:\n\n";
    for (begin, why) in REASONS {
        if results.rows.iter().any(|row| row.key.name.starts_with(begin)) {
            let _ = writeln!(out, "- {}: {why}", begin.trim_end_matches(':'));
        }
    }
    out
}

/// How near the whole grid comes to the copy engine's speed.
fn full_grid(results: &Results) -> Option<String> {
    let time = |name: &str| {
        let row = results.rows.iter().find(|row| row.key.name == name)?;
        Some(row.time(Library::Dushmem)?.median)
    };
    let (put, copy) = (time("device put, 132 blocks of 1024, 256 MiB")?, time("raw cudaMemcpyAsync 256 MiB")?);
    Some(format!(
        "A put of 256 MiB by 132 blocks reaches {:.0} % of cudaMemcpyAsync's speed (target 90 %).",
        100.0 * copy / put
    ))
}

fn spread(found: Estimate, show: &dyn Fn(f64) -> String) -> String {
    let [middle, low, high] = [found.median, found.interval.low, found.interval.high].map(show);
    if low == high { middle } else { format!("{middle} ({low}\u{2013}{high})") }
}

/// Three digits that count.
fn figure(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value if value >= 1.0 => format!("{value:.2}"),
        value => format!("{value:.3}"),
    }
}

/// A ratio.
pub fn times(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

/// All medians, and what the table says.
pub fn json(results: &Results) -> String {
    let failures: Vec<String> = results.failures.iter().map(|failure| failure.to_string()).collect();
    let document = json!({
        "gpu": results.gpu,
        "versions": results.versions,
        "runs": results.runs,
        "unit": "microseconds an operation",
        "rows": results.rows.iter().map(row).collect::<Vec<_>>(),
        "failures": failures,
    });
    format!("{document:#}\n")
}

fn row(row: &Measured) -> Value {
    let estimate = |found: Option<Estimate>| {
        found.map_or(Value::Null, |found| json!({"median": found.median, "low": found.interval.low, "high": found.interval.high}))
    };
    json!({
        "operation": row.key.name,
        "pes": row.key.pes,
        "mode": row.key.mode.title(),
        "samples": {"dushmem": row.samples[0], "nvshmem": row.samples[1]},
        "dushmem": estimate(row.time(Library::Dushmem)),
        "nvshmem": estimate(row.time(Library::Nvshmem)),
        "times_faster": estimate(row.ratio()),
        "target": rows::target(row),
        "verdict": rows::verdict(row).word(),
    })
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::gpu::measure::{Failed, Key, Mode};

    /// Three rows: faster, slower, alone.
    pub fn results() -> Results {
        let row = |name: &str, ours: &[f64], theirs: &[f64]| Measured {
            key: Key { name: name.into(), pes: 2, mode: Mode::Mps },
            samples: [ours.to_vec(), theirs.to_vec()],
        };
        Results {
            gpu: "one GPU".into(),
            versions: vec!["dushmem 1".into(), "NVSHMEM 3".into()],
            runs: 3,
            rows: vec![
                row("on stream barrier_all", &[2.0, 2.0, 2.1], &[4.0, 4.2, 8.4]),
                row("host int_g <&>", &[10.0, 10.0, 11.0], &[1.0, 1.0, 1.0]),
                row("device put, 132 blocks of 1024, 256 MiB", &[200.0], &[]),
                row("raw cudaMemcpyAsync 256 MiB", &[190.0], &[]),
            ],
            failures: vec![Failed { library: Library::Nvshmem, pes: 8, mode: Mode::Plain, why: "gone".into() }],
        }
    }

    #[test]
    fn rows_their_ratio_and_their_verdict() {
        let text = markdown(&results(), Some("gpu.svg"));
        for line in [
            "| on stream barrier_all | 2 | MPS | 2.00 (2.00\u{2013}2.10) | 4.20 (4.00\u{2013}8.40) | 2.10 (2.00\u{2013}4.00) | 1.08 | met |",
            "| host int_g <&> | 2 | MPS | 10.0 (10.0\u{2013}11.0) | 1.00 | 0.10 (0.09\u{2013}0.10) | 0.95 | MISSED |",
            "| raw cudaMemcpyAsync 256 MiB | 2 | MPS | 190 | \u{2013} |  |  |  |",
            "1 rows meet their target, 0 within noise, 1 miss it, 2 have no figure beside them.",
            "- NVSHMEM, 8 PEs, plain: gone",
            "reaches 95 % of cudaMemcpyAsync",
            "- on stream barrier_all: without MPS",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert!(!text.contains("- host malloc"), "only rows that are there");
    }

    #[test]
    fn json_has_every_sample() {
        let value: Value = serde_json::from_str(&json(&results())).unwrap();
        assert_eq!(value["rows"][0]["samples"]["nvshmem"], json!([4.0, 4.2, 8.4]));
        assert_eq!(value["rows"][1]["verdict"], "MISSED");
        assert_eq!(value["rows"][2]["nvshmem"], Value::Null);
        assert_eq!(value["failures"][0], "NVSHMEM, 8 PEs, plain: gone");
    }
}

//! The results as Markdown and as JSON.
use super::build::Library;
use super::measure::{Estimate, Measured, Mode, Results, STARTS};
use super::rows::{self, REASONS, Verdict};
use serde_json::{Value, json};
use std::fmt::Write;

/// Who stands beside dushmem, as a phrase.
pub fn beside(results: &Results) -> String {
    let mut names: Vec<&str> = results.peers().into_iter().map(Library::title).collect();
    // Not a library of its own.
    names.retain(|name| *name != Library::NcclWindows.title());
    if names.is_empty() { "nothing".to_owned() } else { names.join(" and ") }
}

/// Where the PEs are, as a phrase.
fn places(results: &Results) -> &'static str {
    let each = |row: &&Measured| row.key.mode == Mode::Each;
    match results.rows.iter().filter(each).count() {
        0 => "on the one GPU",
        count if count == results.rows.len() => "with a GPU each",
        _ => "on one GPU, or with a GPU each",
    }
}

/// The page's name.
pub fn title(results: &Results) -> String {
    let places = places(results).replace("on the one", "on one");
    format!("dushmem beside {}, {places}", beside(results))
}

/// What was measured and how, the table, what is missed, runs that failed, and why.
pub fn markdown(results: &Results, picture: Option<&str>) -> String {
    let mut out = format!(
        "Measured on {}: {}. {} runs of each program in turn; times are medians, in microseconds an operation, with the \
         least and the most of the runs' medians; all PEs are processes {}, and moved data was compared. Each program was \
         started once before, for nothing, so that none pays for a machine on which nothing has run; a run measures {STARTS} \
         starts and ends. These wait for locks of the driver that all processes of the machine share, whichever GPU they use.\n\n",
        results.gpu,
        results.versions.join("; "),
        results.runs,
        places(results),
    );
    let mut shown = results.peers();
    if shown.is_empty() {
        shown.push(Library::Nvshmem);
    }
    if let Some(picture) = picture {
        let whose = if shown.len() > 1 { "The faster one of NVSHMEM and NCCL" } else { shown[0].title() };
        let _ = writeln!(out, "![{whose}'s time over dushmem's, by row]({picture})\n");
    }
    if shown.len() > 1 {
        out += "How many times faster dushmem is, is told of the faster of NVSHMEM and NCCL in each row. NCCL's symmetric windows, which a \
                program has to register for NCCL's calls, are shown beside them.\n\n";
    }
    let titles: String = shown.iter().map(|library| format!(" {} |", library.title())).collect();
    let _ = writeln!(out, "| operation | PEs | mode | dushmem |{titles} times faster | target | |");
    let _ = writeln!(out, "|---|--:|---|--:|{}--:|--:|---|", "--:|".repeat(shown.len()));
    shown.insert(0, Library::Dushmem);
    for row in &results.rows {
        let ratio = row.ratio().map_or(String::new(), |ratio| spread(ratio, &times));
        let target = rows::target(row);
        let target = if row.ratio().is_some() && target > 0.0 { times(target) } else { String::new() };
        let time =
            |library: &Library| row.time(*library).map_or("\u{2013}".into(), |time| spread(time, &figure));
        let times: Vec<String> = shown.iter().map(time).collect();
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {ratio} | {target} | {} |",
            row.key.name,
            row.key.pes,
            row.key.mode.title(),
            times.join(" | "),
            rows::verdict(row).word()
        );
    }
    for (mode, target) in [(Mode::Mps, 90), (Mode::Each, 93)] {
        if let Some(line) = full_grid(results, mode, target) {
            let _ = writeln!(out, "\n{line}");
        }
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
    for (begin, modes, why) in REASONS {
        let fits = |row: &&Measured| row.key.name.starts_with(begin) && modes.contains(&row.key.mode);
        if results.rows.iter().any(|row| fits(&row)) {
            let _ = writeln!(out, "- {}: {why}", begin.trim_end_matches(':'));
        }
    }
    out
}

/// How near the whole grid comes to the copy engine's speed.
fn full_grid(results: &Results, mode: Mode, target: u32) -> Option<String> {
    let time = |name: &str| {
        let row = results.rows.iter().find(|row| row.key.name == name && row.key.mode == mode)?;
        Some(row.time(Library::Dushmem)?.median)
    };
    let (put, copy) =
        (time("device put, 132 blocks of 1024, 256 MiB")?, time("raw cudaMemcpyAsync 256 MiB")?);
    Some(format!(
        "A put of 256 MiB by 132 blocks ({}) reaches {:.0} % of cudaMemcpyAsync's speed (target {target} %).",
        mode.title(),
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
        found.map_or(
            Value::Null,
            |found| json!({"median": found.median, "low": found.interval.low, "high": found.interval.high}),
        )
    };
    let mut found = json!({
        "operation": row.key.name,
        "pes": row.key.pes,
        "mode": row.key.mode.title(),
        "times_faster": estimate(row.ratio()),
        "target": rows::target(row),
        "verdict": rows::verdict(row).word(),
    });
    for library in Library::ALL {
        found["samples"][library.key()] = json!(row.samples[library as usize]);
        found[library.key()] = estimate(row.time(library));
    }
    found
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::gpu::measure::{Failed, Key};

    /// Three rows: faster, slower, alone.
    pub fn results() -> Results {
        let row = |name: &str, ours: &[f64], theirs: &[f64]| Measured {
            key: Key { name: name.into(), pes: 2, mode: Mode::Mps },
            samples: [ours.to_vec(), theirs.to_vec(), vec![], vec![]],
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
            failures: vec![Failed {
                library: Library::Nvshmem,
                pes: 8,
                mode: Mode::Plain,
                why: "gone".into(),
            }],
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
            "(MPS) reaches 95 % of cudaMemcpyAsync",
            "- on stream barrier_all: without MPS",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert!(!text.contains("- host malloc"), "only rows that are there");
    }

    #[test]
    fn a_gpu_each_beside_several() {
        let mut found = results();
        found.gpu = "2 GPUs".into();
        found.rows.iter_mut().for_each(|row| row.key.mode = Mode::Each);
        found.rows[0].key.name = "on stream float_sum_reduce 4 MiB".into();
        found.rows[0].samples = [vec![22.0], vec![33.0], vec![35.2], vec![30.8]];
        let text = markdown(&found, Some("gpu.svg"));
        for line in [
            "processes with a GPU each",
            "| operation | PEs | mode | dushmem | NVSHMEM | NCCL | NCCL, windows | times faster | target | |",
            "|---|--:|---|--:|--:|--:|--:|--:|--:|---|",
            "| on stream float_sum_reduce 4 MiB | 2 | a GPU each | 22.0 | 33.0 | 35.2 | 30.8 | 1.50 | 1.30 | met |",
            "| host int_g <&> | 2 | a GPU each | 10.0 (10.0\u{2013}11.0) | 1.00 | \u{2013} | \u{2013} |",
            "(a GPU each) reaches 95 % of cudaMemcpyAsync's speed (target 93 %)",
            "faster of NVSHMEM and NCCL",
            "- on stream float_sum_reduce: with a GPU for each PE",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert_eq!(title(&found), "dushmem beside NVSHMEM and NCCL, with a GPU each");
        assert_eq!(title(&results()), "dushmem beside NVSHMEM, on one GPU");
        let value: Value = serde_json::from_str(&json(&found)).unwrap();
        assert_eq!(value["rows"][0]["nccl"]["median"], 35.2);
        assert_eq!(value["rows"][0]["samples"]["nccl_windows"], json!([30.8]));
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

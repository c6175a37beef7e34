//! Printing rows.
use crate::rows::{Limit, Row};
use clap::ValueEnum;
use std::fmt::Write;

/// How rows are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns.
    Text,
    /// A Markdown table.
    Markdown,
    /// One JSON object a line.
    Json,
}

/// The rows as text in the given format.
pub fn render(rows: &[Row], format: Format) -> String {
    let mut out = String::new();
    match format {
        Format::Text => {
            let head = ["operation", "PEs", "size", "dushmem", "raw", "ratio", "limit", ""];
            line(&mut out, head.map(String::from));
            for row in rows {
                line(&mut out, cells(row));
            }
        }
        Format::Markdown => {
            out.push_str("| operation | PEs | size | dushmem | raw | ratio | limit | |\n|---|--:|--:|--:|--:|--:|---|---|\n");
            for row in rows {
                let _ = writeln!(out, "| {} |", cells(row).join(" | "));
            }
        }
        Format::Json => {
            for row in rows {
                let _ = writeln!(
                    out,
                    "{{\"operation\":\"{}\",\"pes\":{},\"bytes\":{},\"unit\":\"{}\",\"ours\":{},\"raw\":{},\
                     \"ours_min\":{},\"raw_min\":{},\"ok\":{}}}",
                    row.name,
                    row.pes,
                    row.bytes,
                    row.unit,
                    row.ours,
                    row.raw,
                    row.ours_min,
                    row.raw_min,
                    row.verdict().map_or("null".to_string(), |ok| ok.to_string())
                );
            }
        }
    }
    out
}

fn line(out: &mut String, cells: [String; 8]) {
    let [name, pes, size, ours, raw, ratio, limit, verdict] = cells;
    let text = format!("{name:<22}{pes:>5}{size:>9}{ours:>13}{raw:>13}{ratio:>8}  {limit:<9}{verdict}");
    let _ = writeln!(out, "{}", text.trim_end());
}

fn cells(row: &Row) -> [String; 8] {
    let size = match row.bytes {
        0 => "-".to_string(),
        b if b >= 1 << 20 => format!("{} MiB", b >> 20),
        b if b >= 1 << 10 => format!("{} KiB", b >> 10),
        b => format!("{b} B"),
    };
    let figure = |value: f64| {
        let digits = if value >= 100.0 {
            0
        } else if value >= 10.0 {
            1
        } else {
            2
        };
        format!("{value:.digits$} {}", row.unit)
    };
    // A ratio to nothing comparable is no figure.
    let comparable = row.raw > 0.0 && (matches!(row.limit, Some(Limit::Ratio(_))) || row.unit == "ns");
    let ratio = if comparable { format!("{:.2}", row.ratio()) } else { "-".into() };
    let limit = match row.limit {
        Some(Limit::Most(most)) => format!("{} {}", most, row.unit),
        Some(Limit::Ratio(ratio)) => format!("{ratio}x"),
        None => "-".into(),
    };
    let verdict = match row.verdict() {
        Some(true) => "ok",
        Some(false) => "MISSED",
        None => "",
    };
    [
        row.name.clone(),
        if row.pes == 0 { "-".into() } else { row.pes.to_string() },
        size,
        figure(row.ours),
        if row.raw > 0.0 { figure(row.raw) } else { "-".into() },
        ratio,
        limit,
        verdict.into(),
    ]
}

//! The results as a picture: a bar a row, how many times faster dushmem is, on a logarithmic scale.
use super::measure::{Estimate, Measured, Results};
use super::page::{beside, times};
use super::rows::{self, Verdict};
use std::fmt::Write;

const WIDTH: f64 = 1100.0;
/// Left and right end of the scale.
const SCALE: (f64, f64) = (460.0, 980.0);
const ROW: f64 = 18.0;
const TOP: f64 = 96.0;

const STYLE: &str = "\
svg{font:12px system-ui,-apple-system,'Segoe UI',sans-serif}.title{font-size:16px;font-weight:600}\
.end{text-anchor:end}.mid{text-anchor:middle}.whisker{fill:none}.target{stroke-width:2}\
.ground{fill:#fff}text{fill:#1d2330}.soft{fill:#5c6575}.grid{stroke:#d9dee7}.one{stroke:#5c6575}\
.whisker,.target{stroke:#1d2330}.met{fill:#7fb0e0}.noise{fill:#e0a83c}.missed{fill:#dd6b5d}\
@media (prefers-color-scheme:dark){.ground{fill:#14181f}text{fill:#e7ebf2}.soft{fill:#a3adbd}.grid{stroke:#333b48}\
.one{stroke:#a3adbd}.whisker,.target{stroke:#e7ebf2}.met{fill:#3a75b5}.noise{fill:#a87a1d}.missed{fill:#b8473a}}";

/// From a tenth to some thousands.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn at(&self, value: f64) -> f64 {
        let part = (value / self.low).ln() / (self.high / self.low).ln();
        SCALE.0 + part.clamp(0.0, 1.0) * (SCALE.1 - SCALE.0)
    }
}

/// As SVG, or `None` where nothing stands beside anything.
pub fn svg(results: &Results) -> Option<String> {
    let bars: Vec<(&Measured, Estimate)> =
        results.rows.iter().filter_map(|row| Some((row, row.ratio()?))).collect();
    let ends =
        bars.iter().flat_map(|(row, ratio)| [ratio.interval.low, ratio.interval.high, rows::target(row)]);
    let ends = ends.filter(|&end| end > 0.0 && end.is_finite());
    let (low, high) = ends.fold((0.5f64, 2.0f64), |(low, high), end| (low.min(end), high.max(end)));
    let power = |value: f64, up: bool| {
        let exponent = if up { value.log10().ceil() } else { value.log10().floor() };
        10f64.powf(exponent)
    };
    let scale = Scale { low: power(low, false), high: power(high, true) };
    if bars.is_empty() {
        return None;
    }
    let bottom = TOP + ROW * bars.len() as f64;
    let height = bottom + 44.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" \
         height=\"{height:.0}\" role=\"img\">\n<title>How many times faster dushmem is than {}, row by row</title>\n\
         <style>{STYLE}</style>\n<rect class=\"ground\" width=\"{WIDTH}\" height=\"{height:.0}\" rx=\"8\"/>\n",
        beside(results)
    );
    text(&mut out, 16.0, 28.0, "title", &format!("How many times faster than {}", beside(results)));
    text(&mut out, 16.0, 46.0, "soft", &format!("{}; {}", results.gpu, results.versions.join("; ")));
    text(
        &mut out,
        16.0,
        62.0,
        "soft",
        "bar: median; line: the runs; mark: target. The page says why it is so.",
    );
    let mut tick = scale.low;
    while tick <= scale.high * 1.001 {
        let x = scale.at(tick);
        let class = if (tick - 1.0).abs() < 1e-9 { "one" } else { "grid" };
        let _ = writeln!(
            out,
            "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom:.1}\"/>"
        );
        text(&mut out, x, TOP - 6.0, "soft mid", &format!("{tick}"));
        text(&mut out, x, bottom + 16.0, "soft mid", &format!("{tick}"));
        tick *= 10.0;
    }
    for (at, (row, ratio)) in bars.iter().enumerate() {
        draw(&mut out, row, *ratio, &scale, TOP + ROW * at as f64);
    }
    out += "</svg>\n";
    Some(out)
}

fn draw(out: &mut String, row: &Measured, ratio: Estimate, scale: &Scale, y: f64) {
    let class = match rows::verdict(row) {
        Verdict::Met | Verdict::Alone => "met",
        Verdict::Noise => "noise",
        Verdict::Missed => "missed",
    };
    let name = format!("{}, {} PEs, {}", row.key.name, row.key.pes, row.key.mode.title());
    text(out, SCALE.0 - 10.0, y + 13.0, "end", &name);
    let (one, end) = (scale.at(1.0), scale.at(ratio.median));
    let (left, width) = (one.min(end), (one - end).abs().max(1.5));
    let _ = writeln!(
        out,
        "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"11\" rx=\"2\"/>",
        y + 3.5
    );
    let [low, high] = [ratio.interval.low, ratio.interval.high].map(|end| scale.at(end));
    let _ = writeln!(out, "<path class=\"whisker\" d=\"M{low:.1} {:.1}v6m0 -3H{high:.1}m0 -3v6\"/>", y + 6.0);
    let target = rows::target(row);
    if target > 0.0 {
        let _ = writeln!(out, "<path class=\"target\" d=\"M{:.1} {:.1}v14\"/>", scale.at(target), y + 2.0);
    }
    text(out, SCALE.1 + 12.0, y + 13.0, "", &times(ratio.median));
}

fn text(out: &mut String, x: f64, y: f64, class: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = writeln!(out, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{words}</text>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::page::tests::results;

    #[test]
    fn bars_end_at_their_ratio() {
        let picture = svg(&results()).unwrap();
        let bars: Vec<&str> = picture.lines().filter(|line| line.contains("height=\"11\"")).collect();
        assert_eq!(bars.len(), 2, "{picture}");
        assert!(bars[0].contains("class=\"met\"") && bars[1].contains("class=\"missed\""));
        let number = |line: &str, name: &str| -> f64 {
            let from = line.split_once(&format!(" {name}=\"")).unwrap().1;
            from.split('"').next().unwrap().parse().unwrap()
        };
        let scale = Scale { low: 0.01, high: 10.0 };
        let end = number(bars[0], "x") + number(bars[0], "width");
        assert!((end - scale.at(2.1)).abs() < 0.11, "{end}");
        assert!((number(bars[1], "x") - scale.at(0.1)).abs() < 0.11, "{}", bars[1]);
        assert!(picture.contains("host int_g &lt;&amp;&gt;, 2 PEs, MPS"));
        assert_eq!(picture.matches("class=\"target\"").count(), 2);
    }

    #[test]
    fn nothing_beside_anything_is_no_picture() {
        let mut alone = results();
        alone.rows.truncate(0);
        assert_eq!(svg(&alone), None);
    }
}

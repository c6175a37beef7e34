//! The results as a picture: one bar a row, on a logarithmic scale of ratios.
use crate::plan::Target;
use crate::results::{Estimate, Measured, Results, Verdict};
use crate::table::ratio;
use std::fmt::Write;

const WIDTH: f64 = 980.0;
/// Left and right end of the scale.
const SCALE: (f64, f64) = (300.0, 810.0);
const ROW: f64 = 20.0;
const TOP: f64 = 112.0;

/// Colours that stand apart for most eyes, on a ground of their own: light, or dark where that is preferred.
/// No CSS variables: not every program that shows SVG knows them.
const STYLE: &str = "\
svg{font:12px system-ui,-apple-system,'Segoe UI',sans-serif}.title{font-size:16px;font-weight:600}\
.section{font-weight:600}.end{text-anchor:end}.mid{text-anchor:middle}.whisker{fill:none}.target{stroke-width:2}\
.ground{fill:#fff}text{fill:#1d2330}.soft{fill:#5c6575}.grid{stroke:#d9dee7}.one{stroke:#5c6575}\
.whisker,.target{stroke:#1d2330}.met{fill:#7fb0e0}.noise{fill:#e0a83c}.missed{fill:#dd6b5d}.open{fill:#b4bcc8}\
@media (prefers-color-scheme:dark){.ground{fill:#14181f}text{fill:#e7ebf2}.soft{fill:#a3adbd}.grid{stroke:#333b48}\
.one{stroke:#a3adbd}.whisker,.target{stroke:#e7ebf2}.met{fill:#3a75b5}.noise{fill:#a87a1d}.missed{fill:#b8473a}\
.open{fill:#5f6978}}";

/// A bar.
struct Bar<'a> {
    measured: &'a Measured,
    /// Ratio to the rival; a row that is a ratio by itself shows that.
    found: Estimate,
    target: Option<f64>,
    verdict: Verdict,
}

/// The picture as SVG, or `None` where nothing can be compared.
pub fn svg(results: &Results) -> Option<String> {
    let rival = results.rival().or((results.programs.len() > 1).then_some(1))?;
    let bars: Vec<Bar<'_>> = results.rows.iter().filter_map(|row| bar(results, row, rival)).collect();
    let scale = Scale::of(&bars)?;
    let mut body = String::new();
    let mut y = TOP;
    let mut section = "";
    for bar in &bars {
        if bar.measured.row.section != section {
            section = bar.measured.row.section;
            y += ROW * 0.4;
            text(&mut body, 16.0, y + 14.0, "section", section);
            y += ROW;
        }
        draw(&mut body, bar, &scale, y);
        y += ROW;
    }
    let height = y + 44.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" \
         height=\"{height:.0}\" role=\"img\">\n<title>dushmem's time over that of {}, row by row</title>\n\
         <style>{STYLE}</style>\n<rect class=\"ground\" width=\"{WIDTH}\" height=\"{height:.0}\" rx=\"8\"/>\n",
        escape(results.programs[rival].title)
    );
    head(&mut out, results, rival);
    scale.draw(&mut out, y);
    out += &body;
    out += "</svg>\n";
    Some(out)
}

fn bar<'a>(results: &Results, measured: &'a Measured, rival: usize) -> Option<Bar<'a>> {
    let verdict = results.verdict(measured);
    let by_itself = measured.unit == "x";
    let found = if by_itself { measured.figure(0)? } else { measured.ratio(rival)? };
    let target = match results.target(measured) {
        Some(Target::Ratio(most)) if !by_itself => Some(most),
        Some(Target::Most(most)) if by_itself => Some(most),
        _ => None,
    };
    (found.interval.low > 0.0).then_some(Bar { measured, found, target, verdict })
}

/// The logarithmic scale.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn of(bars: &[Bar<'_>]) -> Option<Scale> {
        let ends = bars.iter().flat_map(|bar| {
            [Some(bar.found.interval.low), Some(bar.found.interval.high), bar.target].into_iter().flatten()
        });
        let (low, high) = ends.fold((1.0f64, 1.0f64), |(low, high), end| (low.min(end), high.max(end)));
        let ticks = ticks();
        let low = ticks.iter().copied().rfind(|&tick| tick <= low).unwrap_or(low).min(0.5);
        let high = ticks.iter().copied().find(|&tick| tick >= high).unwrap_or(high).max(2.0);
        (!bars.is_empty()).then_some(Scale { low, high })
    }

    fn at(&self, value: f64) -> f64 {
        let part = (value / self.low).ln() / (self.high / self.low).ln();
        SCALE.0 + part.clamp(0.0, 1.0) * (SCALE.1 - SCALE.0)
    }

    fn draw(&self, out: &mut String, bottom: f64) {
        let on_scale = |tick: &f64| *tick >= self.low && *tick <= self.high;
        for tick in ticks().into_iter().filter(on_scale) {
            let x = self.at(tick);
            let class = if tick == 1.0 { "one" } else { "grid" };
            let _ = writeln!(
                out,
                "<line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP:.1}\" y2=\"{bottom:.1}\"/>"
            );
            text(out, x, TOP - 6.0, "soft mid", &tick.to_string());
            text(out, x, bottom + 16.0, "soft mid", &tick.to_string());
        }
        text(out, self.at(1.0) - 8.0, bottom + 34.0, "soft end", "\u{2190} dushmem is faster");
        text(out, self.at(1.0) + 8.0, bottom + 34.0, "soft", "slower \u{2192}");
    }
}

/// 1, 2 and 5 times the powers of ten.
fn ticks() -> Vec<f64> {
    let powers = -5..=5;
    powers
        .flat_map(|power| [1, 2, 5].map(|digit| format!("{digit}e{power}").parse().unwrap_or(1.0)))
        .collect()
}

fn head(out: &mut String, results: &Results, rival: usize) {
    let programs = &results.programs;
    text(out, 16.0, 28.0, "title", &format!("dushmem beside {}: ratio of times", programs[rival].title));
    text(out, 16.0, 46.0, "soft", &format!("{}, {}", programs[0].version, programs[rival].version));
    text(out, 16.0, 62.0, "soft", &results.machine.sentence());
    const Y: f64 = 72.0;
    let mut x = 16.0;
    let legend =
        [("met", "target met"), ("noise", "within noise"), ("missed", "missed"), ("open", "no target")];
    for (class, words) in legend {
        let _ = writeln!(
            out,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{Y}\" width=\"12\" height=\"12\" rx=\"2\"/>"
        );
        text(out, x + 18.0, Y + 10.0, "soft", words);
        x += 34.0 + 6.6 * words.len() as f64;
    }
    let _ = writeln!(out, "<path class=\"whisker\" d=\"M{x:.1} {:.1}v6m0 -3h22m0 -3v6\"/>", Y + 3.0);
    text(out, x + 28.0, Y + 10.0, "soft", "interval of the median");
    let _ = writeln!(out, "<path class=\"target\" d=\"M{:.1} {:.1}v14\"/>", x + 180.0, Y - 1.0);
    text(out, x + 188.0, Y + 10.0, "soft", "target");
}

fn draw(out: &mut String, bar: &Bar<'_>, scale: &Scale, y: f64) {
    let row = &bar.measured.row;
    let class = match bar.verdict {
        Verdict::Met => "met",
        Verdict::Noise => "noise",
        Verdict::Missed | Verdict::Failed => "missed",
        Verdict::Open => "open",
    };
    text(out, SCALE.0 - 10.0, y + 14.0, "end", &format!("{}, {} PEs", row.label, row.pes));
    let (one, end) = (scale.at(1.0), scale.at(bar.found.median));
    let (left, width) = (one.min(end), (one - end).abs().max(1.5));
    let _ = writeln!(
        out,
        "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"12\" rx=\"2\"/>",
        y + 4.0
    );
    let [low, high] = [bar.found.interval.low, bar.found.interval.high].map(|end| scale.at(end));
    let _ = writeln!(out, "<path class=\"whisker\" d=\"M{low:.1} {:.1}v6m0 -3H{high:.1}m0 -3v6\"/>", y + 7.0);
    if let Some(target) = bar.target {
        let _ = writeln!(out, "<path class=\"target\" d=\"M{:.1} {:.1}v16\"/>", scale.at(target), y + 2.0);
    }
    let word = match bar.verdict {
        Verdict::Noise | Verdict::Missed | Verdict::Failed => bar.verdict.word(),
        Verdict::Met | Verdict::Open => "",
    };
    text(out, SCALE.1 + 12.0, y + 14.0, "", &ratio(bar.found.median));
    text(out, SCALE.1 + 60.0, y + 14.0, "soft", word);
}

fn text(out: &mut String, x: f64, y: f64, class: &str, words: &str) {
    let _ = writeln!(out, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escape(words));
}

fn escape(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::{results, row, some};

    fn number(line: &str, name: &str) -> f64 {
        let from = line.split_once(&format!("{name}=\"")).unwrap().1;
        from.split('"').next().unwrap().parse().unwrap()
    }

    #[test]
    fn bars_end_at_their_ratio_and_keep_to_the_scale() {
        let target = Some(Target::Ratio(0.5));
        let found = results(vec![
            row("fast <&>", target, &some(&[1.0; 9]), &some(&[10.0; 9])),
            row("slow", target, &some(&[30.0; 9]), &some(&[10.0; 9])),
            row("alone", target, &some(&[30.0; 9]), &[None; 9]),
        ]);
        let picture = svg(&found).unwrap();
        let bars: Vec<&str> = picture
            .lines()
            .filter(|line| line.contains("height=\"12\" rx") && !line.contains("y=\"72\""))
            .collect();
        assert_eq!(bars.len(), 2, "{picture}");
        let scale = Scale { low: 0.1, high: 5.0 };
        let (x, width) = (number(bars[0], " x"), number(bars[0], "width"));
        assert!((x - scale.at(0.1)).abs() < 0.11 && (x + width - scale.at(1.0)).abs() < 0.11, "{}", bars[0]);
        assert!(bars[0].contains("\"met\"") && bars[1].contains("\"missed\""));
        assert!((number(bars[1], " x") - scale.at(1.0)).abs() < 0.11);
        assert!(picture.contains("fast &lt;&amp;&gt;, 2 PEs"), "{picture}");
        let marks = picture.lines().filter(|line| line.starts_with("<path class=\"target\"")).count();
        assert_eq!(marks, 3, "two rows and the legend");
    }

    #[test]
    fn every_element_is_closed() {
        let picture = svg(&results(vec![row("x", None, &some(&[1.0; 9]), &some(&[2.0; 9]))])).unwrap();
        for line in picture.lines().skip(1) {
            let opened = line.matches('<').count() - line.matches("</").count();
            let closed = line.matches("</").count() + line.matches("/>").count();
            assert!(opened == closed || line == "</svg>", "{line}");
        }
        assert!(svg(&results(Vec::new())).is_none());
    }
}

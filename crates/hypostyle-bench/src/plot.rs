//! Bar charts as SVG.

use std::fmt::Write;

/// A chart of horizontal bars in groups.
#[derive(Debug)]
pub(crate) struct Bars {
    /// The suffix of the file name; empty if the page has only one chart.
    pub(crate) name: &'static str,
    pub(crate) title: String,
    /// The label of each colour.
    pub(crate) series: Vec<String>,
    /// A label and a figure for each series; `None` is a missing figure.
    pub(crate) groups: Vec<(String, Vec<Option<f64>>)>,
    /// The position of a dashed line: the target or the baseline.
    pub(crate) mark: Option<f64>,
    /// Whether the scale is logarithmic.
    pub(crate) is_log: bool,
}

const WIDTH: f64 = 860.0;
/// The left end of the bars and their maximum length.
const LEFT: f64 = 190.0;
const MAX_BAR_LENGTH: f64 = 590.0;
const BAR: f64 = 13.0;
const GAP: f64 = 9.0;
const TOP: f64 = 34.0;
const LEGEND: f64 = 20.0;

/// A palette for colour-blind readers.
const COLOURS: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999", "#b8a800"];

impl Bars {
    pub(crate) fn to_svg(&self) -> String {
        let figures = || self.groups.iter().flat_map(|(_, bars)| bars.iter().flatten().copied());
        let max = figures().chain(self.mark).fold(f64::MIN_POSITIVE, f64::max);
        let min = figures().chain(self.mark).filter(|x| *x > 0.0).fold(max, f64::min);
        let scale = |figure: f64| {
            let share = if self.is_log {
                let (low, high) = (min.log10().floor(), max.log10().max(min.log10() + 0.1));
                (figure.max(min).log10() - low) / (high - low)
            } else {
                figure / max
            };
            share.clamp(0.0, 1.0) * MAX_BAR_LENGTH
        };
        let group = |bars: &Vec<Option<f64>>| float(bars.len()) * BAR + GAP;
        let legend_lines = float(self.series.len().div_ceil(LEGEND_COLUMNS));
        let start = TOP + legend_lines * LEGEND;
        let end = start + self.groups.iter().map(|(_, bars)| group(bars)).sum::<f64>();
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" \
             font-family=\"sans-serif\" font-size=\"11\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"10\" y=\"20\" font-size=\"14\">{}</text>\n",
            escaped(&self.title),
            height = end + GAP,
        );
        for (index, series) in self.series.iter().enumerate() {
            let x = 10.0 + float(index % LEGEND_COLUMNS) * (WIDTH - 20.0) / float(LEGEND_COLUMNS);
            let y = TOP + float(index / LEGEND_COLUMNS) * LEGEND;
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"11\" height=\"11\" fill=\"{}\"/>\
                 <text x=\"{:.0}\" y=\"{:.0}\">{}</text>",
                colour(index),
                x + 16.0,
                y + 10.0,
                escaped(series)
            );
        }
        let mut y = start;
        for (label, bars) in &self.groups {
            let middle = y + float(bars.len()) * BAR / 2.0 + 4.0;
            let _ = writeln!(
                svg,
                "<text x=\"{:.0}\" y=\"{middle:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                escaped(label)
            );
            for (index, figure) in bars.iter().enumerate() {
                let top = y + float(index) * BAR;
                let (length, text) = match figure {
                    Some(figure) => (scale(*figure), short(*figure)),
                    None => (0.0, "–".to_owned()),
                };
                let _ = writeln!(
                    svg,
                    "<rect x=\"{LEFT}\" y=\"{top:.1}\" width=\"{length:.1}\" height=\"{:.1}\" \
                     fill=\"{}\"/><text x=\"{:.1}\" y=\"{:.1}\">{text}</text>",
                    BAR - 2.0,
                    colour(index),
                    LEFT + length + 4.0,
                    top + BAR - 3.5,
                );
            }
            y += group(bars);
        }
        if let Some(mark) = self.mark {
            let x = LEFT + scale(mark);
            let _ = writeln!(
                svg,
                "<line x1=\"{x:.1}\" y1=\"{:.0}\" x2=\"{x:.1}\" y2=\"{end:.0}\" stroke=\"#444\" \
                 stroke-dasharray=\"4 3\"/>",
                start - 4.0
            );
        }
        svg.push_str("</svg>\n");
        svg
    }
}

const LEGEND_COLUMNS: usize = 4;

fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

/// Formats a figure with about three digits.
pub(crate) fn short(figure: f64) -> String {
    let digits = match figure.abs() {
        whole if whole.fract() == 0.0 || whole >= 100.0 => 0,
        large if large >= 10.0 => 1,
        small if small >= 0.1 => 3,
        _ => 5,
    };
    format!("{figure:.digits$}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[expect(clippy::cast_precision_loss, reason = "counts of bars are small")]
fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_figures() {
        let bars = Bars {
            name: "",
            title: "a < b".to_owned(),
            series: vec!["one".to_owned(), "two".to_owned()],
            groups: vec![
                ("g".to_owned(), vec![Some(2.0), Some(0.5)]),
                ("h".to_owned(), vec![None]),
            ],
            mark: Some(1.0),
            is_log: false,
        };
        let svg = bars.to_svg();
        assert!(svg.contains("a &lt; b"));
        assert!(svg.contains("width=\"590.0\"") && svg.contains("width=\"147.5\""), "{svg}");
        assert!(svg.contains("x1=\"485.0\""), "{svg}");
        let logarithmic = Bars { is_log: true, ..bars }.to_svg();
        assert!(logarithmic.contains("width=\"590.0\""), "{logarithmic}");
    }

    #[test]
    fn figures_are_short() {
        let texts = [-2120.0, 0.6134, -1.5, 17.53, 0.00312].map(short);
        assert_eq!(texts, ["-2120", "0.613", "-1.500", "17.5", "0.00312"]);
    }
}

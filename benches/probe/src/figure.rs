//! Draws `docs/probe-accuracy.svg`: calibration of the stated probabilities, and accuracy by
//! parameter.

use std::fmt::Write;

use flashscope_document::probe::Parameter;

use crate::score::{Tally, calibration, tallies};
use crate::sweep::Sweep;
use crate::targets;

/// The file name.
pub const NAME: &str = "probe-accuracy.svg";

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 640.0;

/// The colour of each series, distinguishable in light and dark mode and with colour blindness
/// (Okabe and Ito), and the offset of its dots against overlap.
const SERIES: [(&str, f64); 3] = [("#0072b2", -4.0), ("#d55e00", 0.0), ("#009e73", 4.0)];

const STYLE: &str = "<style>
text { font: 12px system-ui, sans-serif; fill: #333 }
.title { font-size: 14px; font-weight: 600 }
.end { text-anchor: end }
.middle { text-anchor: middle }
.grid { stroke: #ddd }
.target { stroke: #666; stroke-dasharray: 4 3; fill: none }
@media (prefers-color-scheme: dark) {
  text { fill: #ccc }
  .grid { stroke: #444 }
  .target { stroke: #aaa }
}
</style>
";

/// A pair of axes: their position on the page, and their values.
struct Axes {
    /// The left and the right end.
    x: [f64; 2],
    /// The bottom and the top.
    y: [f64; 2],
    /// The values at the left and the right end.
    across: [f64; 2],
    /// The values at the bottom and the top.
    up: [f64; 2],
}

impl Axes {
    fn x(&self, value: f64) -> f64 {
        along(self.x, self.across, value)
    }

    fn y(&self, value: f64) -> f64 {
        along(self.y, self.up, value)
    }
}

fn along(place: [f64; 2], values: [f64; 2], value: f64) -> f64 {
    let share = (value - values[0]) / (values[1] - values[0]);
    place[0] + (place[1] - place[0]) * share.clamp(0.0, 1.0)
}

/// The text of an SVG drawing.
struct Drawing(String);

impl Drawing {
    fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.put(format_args!(
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        ));
    }

    fn text(&mut self, class: &str, (x, y): (f64, f64), text: impl std::fmt::Display) {
        self.put(format_args!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"));
    }

    /// Adds a dot with a tooltip.
    fn dot(&mut self, series: usize, (x, y): (f64, f64), radius: f64, tooltip: &str) {
        let (colour, _) = SERIES[series % SERIES.len()];
        self.put(format_args!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"{colour}\" fill-opacity=\"0.75\">\
             <title>{tooltip}</title></circle>"
        ));
    }

    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        writeln!(self.0, "{element}").expect("a String can always be written to");
    }
}

/// Returns the figure for the sweeps as SVG.
pub fn figure(sweeps: &[Sweep]) -> String {
    let mut drawing = Drawing(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"Calibration of stated probabilities, and accuracy by parameter\">\n{STYLE}"
    ));
    for (series, sweep) in sweeps.iter().enumerate() {
        let x = 60.0 + 130.0 * f64::from(u8::try_from(series).unwrap_or(u8::MAX));
        drawing.dot(series, (x, 620.0), 5.0, "");
        drawing.text("", (x + 10.0, 624.0), format_args!("noise of {:.0} %", 100.0 * sweep.noise));
    }
    calibration_curve(&mut drawing, sweeps);
    by_parameter(&mut drawing, sweeps);
    drawing.put(format_args!("</svg>"));
    drawing.0
}

/// Draws the share of right answers by stated probability.
fn calibration_curve(drawing: &mut Drawing, sweeps: &[Sweep]) {
    let axes = Axes { x: [60.0, 460.0], y: [560.0, 60.0], across: [0.0, 1.0], up: [0.0, 1.0] };
    drawing.text("title", (60.0, 24.0), "Calibration: right answers by stated probability");
    drawing.text(
        "",
        (60.0, 42.0),
        "next to each dot: the number of answers; dashed: perfect calibration",
    );
    for tenths in 0..=10 {
        let value = f64::from(tenths) / 10.0;
        let (x, y) = (axes.x(value), axes.y(value));
        drawing.line("grid", (axes.x[0], y), (axes.x[1], y));
        drawing.line("grid", (x, axes.y[0]), (x, axes.y[1]));
        drawing.text("end", (axes.x[0] - 6.0, y + 4.0), value);
        drawing.text("middle", (x, axes.y[0] + 18.0), value);
    }
    drawing.text("middle", (260.0, 598.0), "stated probability (mean of a bin)");
    let ends = [0.0, 1.0].map(|value| (axes.x(value), axes.y(value)));
    drawing.line("target", ends[0], ends[1]);
    for (series, sweep) in sweeps.iter().enumerate() {
        for bin in calibration(&sweep.judged()).iter().filter(|bin| bin.count > 0) {
            let (x, y) = (axes.x(bin.stated), axes.y(bin.right));
            let radius = 2.0 + f64::from(bin.count).log10() * 1.5;
            let tooltip =
                format!("stated {:.3}, right {:.3} of {}", bin.stated, bin.right, bin.count);
            drawing.dot(series, (x, y), radius, &tooltip);
            // Labels are to the left of the dots because the axis ends at the last bin. Labels of
            // different series are stacked.
            let aside = 10.0 + f64::from(u8::try_from(series).unwrap_or(0)) * 11.0;
            drawing.text("end", (x - 10.0, y - 14.0 + aside), bin.count);
        }
    }
}

/// Draws the accuracy of each parameter, on an axis that begins at 50 %.
fn by_parameter(drawing: &mut Drawing, sweeps: &[Sweep]) {
    const MIN_PROBABILITY: f64 = 0.5;
    let rows: Vec<(Parameter, Vec<Option<Tally>>)> = rows(sweeps);
    let height = 500.0 / f64::from(u32::try_from(rows.len().max(1)).unwrap_or(u32::MAX));
    let axes = Axes {
        x: [650.0, 980.0],
        y: [560.0, 60.0],
        across: [MIN_PROBABILITY, 1.0],
        up: [0.0, 1.0],
    };
    drawing.text("title", (520.0, 24.0), "Accuracy by parameter");
    drawing.text("", (520.0, 42.0), "the share of right answers; dashed: targets");
    for value in [0.5, 0.6, 0.7, 0.8, 0.9, 1.0] {
        let x = axes.x(value);
        drawing.line("grid", (x, axes.y[0]), (x, axes.y[1]));
        drawing.text("middle", (x, axes.y[0] + 18.0), format_args!("{:.0} %", 100.0 * value));
    }
    for noise in [0.02, 0.1] {
        let x = axes.x(targets::accuracy(noise));
        drawing.line("target", (x, axes.y[0]), (x, axes.y[1]));
    }
    let mut y = axes.y[1] + height / 2.0;
    for (parameter, tallies) in rows {
        drawing.line("grid", (axes.x[0], y), (axes.x[1], y));
        drawing.text("end", (axes.x[0] - 8.0, y + 4.0), parameter.name());
        for (series, tally) in tallies.iter().enumerate() {
            let Some(tally) = tally.filter(|tally| tally.right + tally.wrong > 0) else { continue };
            let (_, aside) = SERIES[series % SERIES.len()];
            let tooltip =
                format!("{}: {} right, {} wrong", parameter.name(), tally.right, tally.wrong);
            drawing.dot(series, (axes.x(tally.accuracy()), y + aside), 3.5, &tooltip);
        }
        y += height;
    }
}

/// Returns the tally of each parameter in each sweep.
fn rows(sweeps: &[Sweep]) -> Vec<(Parameter, Vec<Option<Tally>>)> {
    let all: Vec<_> = sweeps.iter().map(|sweep| tallies(&sweep.judged())).collect();
    let mut parameters: Vec<Parameter> = all.iter().flat_map(|of| of.keys().copied()).collect();
    parameters.sort_unstable();
    parameters.dedup();
    let row = |parameter| all.iter().map(|of| of.get(&parameter).copied()).collect();
    parameters.into_iter().map(|parameter| (parameter, row(parameter))).collect()
}

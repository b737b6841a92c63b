//! Findings: a probe's statement about a parameter, and the evidence for it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use flashscope_block::{Bytes, Nanos};

use super::{Parameter, Unit};

/// The answer to the question about a parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Answer {
    /// A number in the unit of the parameter.
    Value {
        /// The most likely value.
        value: f64,
        /// The lowest value that the evidence allows (95 %).
        low: f64,
        /// The highest value that the evidence allows (95 %).
        high: f64,
    },
    /// One of the classes of the parameter.
    Class {
        /// The name of the class.
        class: String,
    },
    /// The drive does not have this feature, such as a write buffer.
    Absent,
    /// The answer is not known.
    Unknown {
        /// The reason, as a sentence without a full stop.
        why: String,
    },
}

impl Answer {
    /// Returns the value rounded to an integer, for bytes and counts; `None` for any other answer.
    pub fn whole(&self) -> Option<u64> {
        match self {
            // Bytes and counts are far below 2^53, and not negative.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            Answer::Value { value, .. } => Some(value.round() as u64),
            _ => None,
        }
    }
}

/// The statement of a probe about one parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The parameter.
    pub parameter: Parameter,
    /// The answer.
    pub answer: Answer,
    /// The probability (0 to 1) that the answer is right: the class itself, or a value within the
    /// tolerance of its parameter. 0 if the answer is not known.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub probability: f64,
    /// The evidence for the answer, in a sentence or two.
    pub because: String,
    /// The numbers of the runs that contain the evidence.
    pub runs: Vec<u32>,
    /// The charts that show the evidence. Findings of one probe share charts, which `probe.json`
    /// therefore stores separately.
    #[serde(skip)]
    pub signals: Vec<Signal>,
}

impl Finding {
    /// Creates the finding of a value, with its 95 % interval.
    pub fn value(
        parameter: Parameter,
        value: f64,
        low: f64,
        high: f64,
        probability: f64,
    ) -> Finding {
        Finding::new(parameter, Answer::Value { value, low, high }, probability)
    }

    /// Creates the finding of a value without an interval, such as a count or a size.
    pub fn exact(parameter: Parameter, value: f64, probability: f64) -> Finding {
        Finding::value(parameter, value, value, value, probability)
    }

    /// Creates the finding of a class.
    pub fn class(parameter: Parameter, class: &str, probability: f64) -> Finding {
        Finding::new(parameter, Answer::Class { class: class.into() }, probability)
    }

    /// Creates the finding that the drive does not have this feature.
    pub fn absent(parameter: Parameter, probability: f64) -> Finding {
        Finding::new(parameter, Answer::Absent, probability)
    }

    /// Creates the finding that the parameter is not known, with the reason.
    pub fn unknown(parameter: Parameter, why: impl Into<String>) -> Finding {
        Finding::new(parameter, Answer::Unknown { why: why.into() }, 0.0)
    }

    fn new(parameter: Parameter, answer: Answer, probability: f64) -> Finding {
        let probability = probability.clamp(0.0, 1.0);
        let (because, runs, signals) = (String::new(), Vec::new(), Vec::new());
        Finding { parameter, answer, probability, because, runs, signals }
    }

    /// Adds the evidence, as text.
    #[must_use]
    pub fn because(self, because: impl Into<String>) -> Finding {
        Finding { because: because.into(), ..self }
    }

    /// Adds the runs that contain the evidence.
    #[must_use]
    pub fn runs(mut self, runs: impl IntoIterator<Item = u32>) -> Finding {
        self.runs.extend(runs);
        self
    }

    /// Adds the runs and the charts of another finding, from which this one follows.
    #[must_use]
    pub fn shown_by(mut self, other: &Finding) -> Finding {
        self.runs.extend(&other.runs);
        self.signals.extend(other.signals.iter().cloned());
        self
    }

    /// Adds a chart.
    #[must_use]
    pub fn signal(mut self, signal: Signal) -> Finding {
        self.signals.push(signal);
        self
    }

    /// Returns true unless the answer is [`Answer::Unknown`].
    pub fn is_known(&self) -> bool {
        !matches!(self.answer, Answer::Unknown { .. })
    }

    /// Returns the answer as text, with its interval unless both ends are equal.
    pub fn text(&self) -> String {
        let unit = self.parameter.spec().unit;
        let text = |value| in_unit(value, unit);
        match &self.answer {
            Answer::Value { value, low, high } if low < high => {
                format!("{} ({} to {})", text(*value), text(*low), text(*high))
            }
            Answer::Value { value, .. } => text(*value),
            Answer::Class { class } => class.clone(),
            Answer::Absent => "none".into(),
            Answer::Unknown { .. } => "not known".into(),
        }
    }

    /// Returns true if another finding about the same parameter has the same answer; values may
    /// differ by the tolerance.
    pub fn agrees_with(&self, other: &Finding) -> bool {
        match (&self.answer, &other.answer) {
            (Answer::Value { value: a, .. }, Answer::Value { value: b, .. }) => {
                let tolerance = self.parameter.spec().tolerance.max(1e-9);
                (a - b).abs() <= tolerance * a.abs().max(b.abs())
            }
            (a, b) => a == b,
        }
    }
}

/// Returns a value in its unit, as text.
fn in_unit(value: f64, unit: Unit) -> String {
    // Values are far below 2^53.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let whole = value.max(0.0).round() as u64;
    match unit {
        Unit::Bytes => Bytes(whole).to_string(),
        Unit::Nanoseconds => Nanos(whole).to_string(),
        Unit::Count => whole.to_string(),
        Unit::Share => format!("{:.1} %", 100.0 * value),
        Unit::Class => value.to_string(),
    }
}

/// The maximum number of points of a series in a chart: more than a screen can show.
const MAX_POINTS: usize = 4096;

/// A chart of a probe's measurements: series over one pair of axes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Signal {
    /// The title, with the figure of the paper that the chart resembles.
    pub title: String,
    /// The label of the horizontal axis, with its unit.
    pub x: String,
    /// The label of the vertical axis, with its unit.
    pub y: String,
    /// The shape of the points.
    pub shape: Shape,
    /// True if the horizontal axis is logarithmic.
    pub log_x: bool,
    /// The series.
    pub series: Vec<Series>,
    /// Marked positions on the horizontal axis, such as the value found.
    pub marks: Vec<Mark>,
}

/// The shape of a chart's points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Separate points.
    Points,
    /// A line through the points.
    Line,
}

/// A series of a chart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// The name of the series.
    pub name: String,
    /// The points, as x and y.
    pub points: Vec<(f64, f64)>,
}

/// A marked position on the horizontal axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// The position.
    pub x: f64,
    /// The label of the mark.
    pub label: String,
}

impl Signal {
    /// Creates a chart without series.
    pub fn new(title: &str, x: &str, y: &str, shape: Shape) -> Signal {
        let (title, x, y) = (title.into(), x.into(), y.into());
        Signal { title, x, y, shape, log_x: false, series: Vec::new(), marks: Vec::new() }
    }

    /// Adds a series. If it has more points than a screen can show, the chart keeps the lowest and
    /// the highest point of each group of successive points.
    #[must_use]
    pub fn series(mut self, name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Signal {
        let points = thinned(points.into_iter().collect());
        self.series.push(Series { name: name.into(), points });
        self
    }

    /// Adds a mark.
    #[must_use]
    pub fn mark(mut self, x: f64, label: impl Into<String>) -> Signal {
        self.marks.push(Mark { x, label: label.into() });
        self
    }

    /// Makes the horizontal axis logarithmic.
    #[must_use]
    pub fn log_x(self) -> Signal {
        Signal { log_x: true, ..self }
    }
}

/// Returns all points, or above [`MAX_POINTS`] the lowest and the highest of each group of
/// successive points.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if points.len() <= MAX_POINTS {
        return points;
    }
    let stretch = points.len().div_ceil(MAX_POINTS / 2);
    let extremes = |points: &[(f64, f64)]| {
        let by_height = |a: &usize, b: &usize| points[*a].1.total_cmp(&points[*b].1);
        let low = (0..points.len()).min_by(by_height).expect("a chunk is not empty");
        let high = (0..points.len()).max_by(by_height).expect("a chunk is not empty");
        let (first, last) = (low.min(high), low.max(high));
        [points[first], points[last]]
    };
    points.chunks(stretch).flat_map(extremes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_extremes() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|i| (f64::from(i), 1.0)).collect();
        points[70_000].1 = 9.0;
        points[70_001].1 = -9.0;
        let signal = Signal::new("", "", "", Shape::Points).series("a", points);
        let kept = &signal.series[0].points;
        assert!(kept.len() <= MAX_POINTS);
        assert!(kept.contains(&(70_000.0, 9.0)) && kept.contains(&(70_001.0, -9.0)));
        assert!(kept.is_sorted_by(|a, b| a.0 <= b.0));
    }

    #[test]
    fn values_agree_within_their_tolerance_and_classes_if_equal() {
        let pages = |value| Finding::exact(Parameter::PageSize, value, 0.9);
        assert!(pages(4096.0).agrees_with(&pages(4096.0)));
        assert!(!pages(4096.0).agrees_with(&pages(8192.0)));
        let costs = |value| Finding::exact(Parameter::MergeCost, value, 0.9);
        assert!(costs(1.00e6).agrees_with(&costs(1.02e6)));
        assert!(!costs(1.0e6).agrees_with(&costs(1.5e6)));
        let class = |name| Finding::class(Parameter::FtlClass, name, 0.9);
        assert!(class("bast").agrees_with(&class("bast")));
        assert!(!class("bast").agrees_with(&class("fast")));
    }
}

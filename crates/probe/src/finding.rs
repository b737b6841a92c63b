//! What a probe states about a parameter, and what shows it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Parameter;
use crate::profile::in_unit;

/// What is known of a parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Answer {
    /// A number in the unit of the parameter.
    Value {
        /// The most likely one.
        value: f64,
        /// The lowest that the evidence allows (95 %).
        low: f64,
        /// The highest.
        high: f64,
    },
    /// One of the classes that the parameter may have.
    Class {
        /// Its name.
        class: String,
    },
    /// The drive has no such thing, such as a write buffer.
    Absent,
    /// Not known.
    Unknown {
        /// Why, as a sentence without a full stop.
        why: String,
    },
}

impl Answer {
    /// The value, of whole bytes or things.
    pub fn whole(&self) -> Option<u64> {
        match self {
            // Such values are far below 2^53, and not negative.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            Answer::Value { value, .. } => Some(value.round() as u64),
            _ => None,
        }
    }
}

/// What a probe states about one parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The parameter.
    pub parameter: Parameter,
    /// What was found.
    pub answer: Answer,
    /// The probability (0 to 1) that the answer is right: the class itself, or a value within the
    /// tolerance of its parameter. 0 where nothing is known.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub probability: f64,
    /// What was seen that leads there, in a sentence or two.
    pub because: String,
    /// The numbers of the runs that show it.
    pub runs: Vec<u32>,
    /// The pictures that show it. As findings of one probe have the same, `probe.json` has them apart.
    #[serde(skip)]
    pub signals: Vec<Signal>,
}

impl Finding {
    /// A value with an interval of 95 %.
    pub fn value(
        parameter: Parameter,
        value: f64,
        low: f64,
        high: f64,
        probability: f64,
    ) -> Finding {
        Finding::new(parameter, Answer::Value { value, low, high }, probability)
    }

    /// A whole number, a size or what else is exact if it is right.
    pub fn exact(parameter: Parameter, value: f64, probability: f64) -> Finding {
        Finding::value(parameter, value, value, value, probability)
    }

    /// A class.
    pub fn class(parameter: Parameter, class: &str, probability: f64) -> Finding {
        Finding::new(parameter, Answer::Class { class: class.into() }, probability)
    }

    /// That the drive has no such thing.
    pub fn absent(parameter: Parameter, probability: f64) -> Finding {
        Finding::new(parameter, Answer::Absent, probability)
    }

    /// That it is not known, and why.
    pub fn unknown(parameter: Parameter, why: impl Into<String>) -> Finding {
        Finding::new(parameter, Answer::Unknown { why: why.into() }, 0.0)
    }

    fn new(parameter: Parameter, answer: Answer, probability: f64) -> Finding {
        let probability = probability.clamp(0.0, 1.0);
        let (because, runs, signals) = (String::new(), Vec::new(), Vec::new());
        Finding { parameter, answer, probability, because, runs, signals }
    }

    /// With what was seen.
    #[must_use]
    pub fn because(self, because: impl Into<String>) -> Finding {
        Finding { because: because.into(), ..self }
    }

    /// With the runs that show it.
    #[must_use]
    pub fn runs(mut self, runs: impl IntoIterator<Item = u32>) -> Finding {
        self.runs.extend(runs);
        self
    }

    /// With the runs and the pictures of another finding, from which it follows.
    #[must_use]
    pub fn shown_by(mut self, other: &Finding) -> Finding {
        self.runs.extend(&other.runs);
        self.signals.extend(other.signals.iter().cloned());
        self
    }

    /// With a picture that shows it.
    #[must_use]
    pub fn signal(mut self, signal: Signal) -> Finding {
        self.signals.push(signal);
        self
    }

    /// Whether anything is known.
    pub fn is_known(&self) -> bool {
        !matches!(self.answer, Answer::Unknown { .. })
    }

    /// The answer as people read it, with its interval where that has a width.
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

    /// Whether another finding about the same parameter states the same, a value within its
    /// tolerance.
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

/// The most points that a picture keeps of a series: more than a screen can show apart.
const MOST_POINTS: usize = 4096;

/// A picture of what a probe saw: series over one pair of axes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Signal {
    /// What it shows, with the figure of the paper that it is like.
    pub title: String,
    /// What is along the horizontal axis, with its unit.
    pub x: String,
    /// What is along the vertical axis, with its unit.
    pub y: String,
    /// How the points are drawn.
    pub shape: Shape,
    /// Whether the horizontal axis is logarithmic.
    pub log_x: bool,
    /// The series.
    pub series: Vec<Series>,
    /// Places on the horizontal axis worth marking, such as the value that was found.
    pub marks: Vec<Mark>,
}

/// How the points of a picture are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Each by itself.
    Points,
    /// Joined.
    Line,
}

/// A series of a picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// What it is.
    pub name: String,
    /// Its points, as x and y.
    pub points: Vec<(f64, f64)>,
}

/// A place on the horizontal axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// Where.
    pub x: f64,
    /// What is there.
    pub label: String,
}

impl Signal {
    /// A picture without series.
    pub fn new(title: &str, x: &str, y: &str, shape: Shape) -> Signal {
        let (title, x, y) = (title.into(), x.into(), y.into());
        Signal { title, x, y, shape, log_x: false, series: Vec::new(), marks: Vec::new() }
    }

    /// With a series. Of more points than can be told apart, neighbours are left out, but never the
    /// highest or the lowest of a stretch.
    #[must_use]
    pub fn series(mut self, name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Signal {
        let points = thinned(points.into_iter().collect());
        self.series.push(Series { name: name.into(), points });
        self
    }

    /// With a place marked.
    #[must_use]
    pub fn mark(mut self, x: f64, label: impl Into<String>) -> Signal {
        self.marks.push(Mark { x, label: label.into() });
        self
    }

    /// With a logarithmic horizontal axis.
    #[must_use]
    pub fn log_x(self) -> Signal {
        Signal { log_x: true, ..self }
    }
}

/// The lowest and the highest of each of so many stretches that few enough points are left.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if points.len() <= MOST_POINTS {
        return points;
    }
    let stretch = points.len().div_ceil(MOST_POINTS / 2);
    let extremes = |points: &[(f64, f64)]| {
        let by_height = |a: &usize, b: &usize| points[*a].1.total_cmp(&points[*b].1);
        let low = (0..points.len()).min_by(by_height).expect("a stretch is not empty");
        let high = (0..points.len()).max_by(by_height).expect("a stretch is not empty");
        let (first, last) = (low.min(high), low.max(high));
        [points[first], points[last]]
    };
    points.chunks(stretch).flat_map(extremes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Does a long series keep its extremes and its order, in few points?
    #[test]
    fn thinning_keeps_extremes() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|i| (f64::from(i), 1.0)).collect();
        points[70_000].1 = 9.0;
        points[70_001].1 = -9.0;
        let signal = Signal::new("", "", "", Shape::Points).series("a", points);
        let kept = &signal.series[0].points;
        assert!(kept.len() <= MOST_POINTS);
        assert!(kept.contains(&(70_000.0, 9.0)) && kept.contains(&(70_001.0, -9.0)));
        assert!(kept.is_sorted_by(|a, b| a.0 <= b.0));
    }

    // Do values agree within the tolerance of their parameter, and classes if they are the same?
    #[test]
    fn agreement() {
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

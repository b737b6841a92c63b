use schemars::JsonSchema;
use serde::Serialize;

/// A figure of a paper, redrawn from measured results.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    /// The title.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The plotted series.
    pub series: Vec<Series>,
}

/// An axis of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Axis {
    /// The label, with the unit in brackets.
    pub label: &'static str,
    /// True for a logarithmic scale.
    pub log: bool,
    /// The labels at 0, 1, 2 and so on of a categorical axis; empty for other axes.
    pub names: Vec<&'static str>,
}

/// A named series of points.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Series {
    /// The name; a printed series and its measured counterpart have the same name.
    pub name: String,
    /// The drawing style.
    pub mark: Mark,
    /// True for values printed in the paper, false for measured ones.
    pub printed: bool,
    /// The points as x and y, in the order of x.
    pub points: Vec<[f64; 2]>,
}

/// The drawing style of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// Separate points.
    Dots,
    /// Points joined by a line.
    Line,
    /// Bars, next to those of other series at the same x.
    Bars,
}

impl Axis {
    /// Creates an axis with a linear scale.
    #[must_use]
    pub const fn linear(label: &'static str) -> Axis {
        Axis { label, log: false, names: Vec::new() }
    }

    /// Creates an axis with a logarithmic scale.
    #[must_use]
    pub const fn log(label: &'static str) -> Axis {
        Axis { label, log: true, names: Vec::new() }
    }

    /// Creates a categorical axis with labels at 0, 1, 2 and so on.
    #[must_use]
    pub fn named(label: &'static str, names: &[&'static str]) -> Axis {
        Axis { names: names.into(), ..Axis::linear(label) }
    }
}

impl Series {
    /// Creates a measured series of separate points.
    #[must_use]
    pub fn dots(name: impl Into<String>, points: Vec<[f64; 2]>) -> Series {
        Series { name: name.into(), mark: Mark::Dots, printed: false, points }
    }

    /// Creates a measured series as a line.
    #[must_use]
    pub fn line(name: impl Into<String>, points: Vec<[f64; 2]>) -> Series {
        Series { name: name.into(), mark: Mark::Line, printed: false, points }
    }

    /// Creates a measured series of bars at 0, 1, 2 and so on.
    #[must_use]
    pub fn bars(name: impl Into<String>, heights: &[f64]) -> Series {
        let points = heights.iter().zip(0u32..).map(|(height, nth)| [f64::from(nth), *height]);
        Series { name: name.into(), mark: Mark::Bars, printed: false, points: points.collect() }
    }

    /// Creates a series of bars for each kind, side by side; `rows` has the heights of each group.
    #[must_use]
    pub(crate) fn bars_by_kind<const N: usize>(kinds: [&str; N], rows: &[[f64; N]]) -> Vec<Series> {
        let bars = |(nth, kind): (usize, &str)| {
            Series::bars(kind, &rows.iter().map(|kinds| kinds[nth]).collect::<Vec<_>>())
        };
        kinds.into_iter().enumerate().map(bars).collect()
    }

    /// Creates a printed series as a line.
    #[must_use]
    pub(crate) fn printed_line(name: impl Into<String>, points: Vec<[f64; 2]>) -> Series {
        Series { printed: true, ..Series::line(name, points) }
    }

    /// Creates a printed horizontal line, such as an average, between two values of x.
    #[must_use]
    pub(crate) fn printed_level(
        name: impl Into<String>,
        height: f64,
        [from, to]: [f64; 2],
    ) -> Series {
        Series::printed_line(name, vec![[from, height], [to, height]])
    }

    /// Creates a printed series of separate points.
    #[must_use]
    pub fn printed(name: impl Into<String>, points: Vec<[f64; 2]>) -> Series {
        Series { printed: true, ..Series::dots(name, points) }
    }
}

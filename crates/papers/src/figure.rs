use schemars::JsonSchema;
use serde::Serialize;

/// A figure of a paper, drawn anew from what is found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// Across.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// What is drawn.
    pub series: Vec<Series>,
}

/// An axis of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Axis {
    /// What it shows, with its unit in brackets.
    pub label: &'static str,
    /// Whether equal ratios are as far apart.
    pub log: bool,
    /// What stands at 0, 1, 2 and so on, where these are no numbers.
    pub names: Vec<&'static str>,
}

/// Points that belong together.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Series {
    /// What they are; what is printed has the name of what is found, where it is of the same.
    pub name: String,
    /// How they are drawn.
    pub mark: Mark,
    /// Whether they are printed in the paper; else they are found.
    pub printed: bool,
    /// Where they are, by x.
    pub points: Vec<[f64; 2]>,
}

/// How points are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// Each for itself.
    Dots,
    /// Joined.
    Line,
    /// Bars, beside those of other series at the same place.
    Bars,
}

impl Axis {
    /// An axis on which equal differences are as far apart.
    #[must_use]
    pub const fn linear(label: &'static str) -> Axis {
        Axis { label, log: false, names: Vec::new() }
    }

    /// An axis on which equal ratios are.
    #[must_use]
    pub const fn log(label: &'static str) -> Axis {
        Axis { label, log: true, names: Vec::new() }
    }

    /// An axis of things that are no numbers, at 0, 1, 2 and so on.
    #[must_use]
    pub fn named(label: &'static str, names: &[&'static str]) -> Axis {
        Axis { names: names.into(), ..Axis::linear(label) }
    }
}

impl Series {
    /// What is found, each point for itself.
    #[must_use]
    pub fn dots(name: impl Into<String>, points: Vec<[f64; 2]>) -> Series {
        Series { name: name.into(), mark: Mark::Dots, printed: false, points }
    }

    /// What is found, as a line.
    #[must_use]
    pub fn line(name: impl Into<String>, points: Vec<[f64; 2]>) -> Series {
        Series { name: name.into(), mark: Mark::Line, printed: false, points }
    }

    /// What is found, as bars at 0, 1, 2 and so on.
    #[must_use]
    pub fn bars(name: impl Into<String>, heights: &[f64]) -> Series {
        let points = heights.iter().zip(0u32..).map(|(height, nth)| [f64::from(nth), *height]);
        Series { name: name.into(), mark: Mark::Bars, printed: false, points: points.collect() }
    }

    /// A bar for each of some kinds beside those of the others, at 0, 1, 2 and so on.
    #[must_use]
    pub fn bars_by_kind<const N: usize>(kinds: [&str; N], found: &[[f64; N]]) -> Vec<Series> {
        let bars = |(nth, kind): (usize, &str)| {
            Series::bars(kind, &found.iter().map(|kinds| kinds[nth]).collect::<Vec<_>>())
        };
        kinds.into_iter().enumerate().map(bars).collect()
    }

    /// What is printed, as a line.
    #[must_use]
    pub fn printed_line(name: impl Into<String>, points: Vec<[f64; 2]>) -> Series {
        Series { printed: true, ..Series::line(name, points) }
    }

    /// What is printed as one height, such as an average, from one place to another.
    #[must_use]
    pub fn printed_level(name: impl Into<String>, height: f64, [from, to]: [f64; 2]) -> Series {
        Series::printed_line(name, vec![[from, height], [to, height]])
    }

    /// What is printed, each point for itself.
    #[must_use]
    pub fn printed(name: impl Into<String>, points: Vec<[f64; 2]>) -> Series {
        Series { printed: true, ..Series::dots(name, points) }
    }
}

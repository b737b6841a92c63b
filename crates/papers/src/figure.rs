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
}

/// Points that belong together.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Series {
    /// What they are.
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
}

impl Axis {
    /// An axis on which equal differences are as far apart.
    #[must_use]
    pub const fn linear(label: &'static str) -> Axis {
        Axis { label, log: false }
    }

    /// An axis on which equal ratios are.
    #[must_use]
    pub const fn log(label: &'static str) -> Axis {
        Axis { label, log: true }
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

    /// What is printed, each point for itself.
    #[must_use]
    pub fn printed(name: impl Into<String>, points: Vec<[f64; 2]>) -> Series {
        Series { printed: true, ..Series::dots(name, points) }
    }
}

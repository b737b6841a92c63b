use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The colour analysis of an experiment (uFLIP's "experiment color analysis"): a row a run, a column
/// an IO, or as many successive IOs as are shown in one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Colours {
    /// The micro-benchmark.
    pub micro_benchmark: String,
    /// The experiment.
    pub experiment: String,
    /// The position of the first IO that is shown.
    pub from: u64,
    /// The position after the last.
    pub to: u64,
    /// How many successive IOs a column stands for; the slowest of them is shown.
    pub ios_per_column: u64,
    /// The response time of code 1.
    pub low_ns: f64,
    /// The response time of code 255.
    pub high_ns: f64,
    /// The runs, in the order of the plan.
    pub rows: Vec<ColourRow>,
}

/// A run as a row of colours.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ColourRow {
    /// The number of the run.
    pub run: u32,
    /// How many IOs the run has.
    pub ios: u64,
    /// A byte a column, in base64. Codes 1 to 255 divide the logarithm of the response time evenly
    /// between `low_ns` and `high_ns`; 0 is a column of which every IO failed.
    pub codes: String,
}

//! `marks.json`: a user's corrections of the summary grid.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The corrections of a result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Marks {
    /// A correction for each experiment that the user judged differently from the rule.
    pub experiments: Vec<Mark>,
}

/// A user's judgement of an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// The micro-benchmark.
    pub micro_benchmark: String,
    /// The experiment.
    pub experiment: String,
    /// True if the user judges the experiment interesting.
    pub interesting: bool,
    /// The user's reason; may be empty.
    #[serde(default)]
    pub note: String,
}

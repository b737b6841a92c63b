//! `marks.json`: where a person thinks otherwise than the rule of the summary grid.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The corrections of a result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Marks {
    /// One for each experiment that was corrected.
    pub experiments: Vec<Mark>,
}

/// What a person says of an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// The micro-benchmark.
    pub micro_benchmark: String,
    /// The experiment.
    pub experiment: String,
    /// Whether it is interesting.
    pub interesting: bool,
    /// Why, in the person's words; may be empty.
    #[serde(default)]
    pub note: String,
}

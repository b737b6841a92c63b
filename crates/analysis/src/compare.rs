//! Results side by side.

use flashscope_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Several results beside the first of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The numeric columns of uFLIP's Table 3, by the names of their fields.
    pub characteristics: Vec<ComparedCharacteristic>,
    /// Experiments that any of the results has, in the order of the micro-benchmarks.
    pub experiments: Vec<ComparedExperiment>,
}

/// A column of Table 3 in each result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedCharacteristic {
    /// The field of the characteristics, such as `random_write_ns`.
    pub name: String,
    /// The same in each result, in their order.
    pub results: Vec<Compared>,
}

/// An experiment in each result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedExperiment {
    /// The micro-benchmark.
    pub micro_benchmark: String,
    /// The experiment.
    pub experiment: String,
    /// The values of the parameter that any of the results has, rising.
    pub values: Vec<ComparedValue>,
}

/// One value of the parameter in each result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedValue {
    /// The value.
    pub value: i64,
    /// The mean response time in each result, in ns, in their order.
    pub results: Vec<Compared>,
}

/// A number of one result beside that of the first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    /// The number; absent where the result does not have it.
    pub value: Option<Estimate>,
    /// It over that of the first result; absent for the first, and where either is.
    pub ratio: Option<Estimate>,
    /// Whether they differ by more than their uncertainty; absent where there is no interval.
    pub differs: Option<bool>,
}

//! The document of a comparison: the output of `flashscope compare --json`, and the data of the
//! page that compares results.

use flashscope_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::what_if::Quantity;

/// The version of the format of comparisons.
pub const COMPARISON_VERSION: u32 = 1;

/// The largest number of results in a comparison.
pub const MAX_RESULTS: usize = 6;

/// A comparison of several results with the first, the baseline.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The version of the format, [`COMPARISON_VERSION`].
    pub schema_version: u32,
    /// The results; the first is the baseline.
    pub results: Vec<ComparedResult>,
    /// The conclusions, as sentences with their evidence: one for each result but the baseline.
    pub conclusions: Vec<ComparisonConclusion>,
    /// The results by speed, the fastest first. Empty unless all results share a workload with a
    /// known latency.
    pub ranking: Vec<Rank>,
    /// The workloads that at least two results ran.
    pub workloads: Vec<ComparedWorkload>,
    /// Conditions that differ between the results and may explain differences, as text.
    pub differing_conditions: Vec<String>,
    /// The regressions; absent if the caller did not set a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regressions: Option<RegressionCheck>,
    /// The numeric columns of uFLIP's Table 3, by field name; empty unless all results are
    /// measurements.
    pub characteristics: Vec<ComparedCharacteristic>,
    /// The experiments of all results, in the order of the micro-benchmarks; empty unless all
    /// results are measurements.
    pub experiments: Vec<ComparedExperiment>,
}

/// A result in a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedResult {
    /// The name, unique in the comparison.
    pub name: String,
    /// The kind of result.
    pub kind: ComparedKind,
    /// The drive.
    pub drive: String,
}

/// The kind of a result in a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparedKind {
    /// A benchmark of a drive.
    Measurement,
    /// A simulated workload.
    Simulation,
    /// The baseline or a variant of a what-if.
    WhatIf,
    /// A prediction of a closed-form model.
    Prediction,
    /// A prediction of a twin.
    TwinPrediction,
}

/// A sentence about a result, compared with the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonConclusion {
    /// The position of the result in [`Comparison::results`].
    pub result: u32,
    /// The sentence, with its numbers.
    pub text: String,
    /// The numbers that support the sentence.
    pub evidence: Vec<ComparisonEvidence>,
}

/// A number that supports a conclusion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparisonEvidence {
    /// The workload.
    pub workload: String,
    /// The quantity.
    pub quantity: Quantity,
    /// The ratio to the baseline.
    pub ratio: Estimate,
    /// The verdict.
    pub verdict: ComparisonVerdict,
}

/// The verdict about a number relative to the baseline, based on the simultaneous interval of their
/// ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonVerdict {
    /// Better than the baseline by more than 2 %, beyond uncertainty.
    Better,
    /// Worse than the baseline by more than 2 %, beyond uncertainty.
    Worse,
    /// Within 5 % of the baseline, beyond uncertainty.
    Equivalent,
    /// Too uncertain for any other verdict.
    Inconclusive,
}

/// The place of a result in the ranking by speed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rank {
    /// The position of the result in [`Comparison::results`].
    pub result: u32,
    /// One more than the number of results that are faster by more than 2 %, beyond uncertainty.
    pub place: u32,
    /// The speed relative to the baseline: the geometric mean of the ratios of mean latencies over
    /// the workloads that all results share.
    pub speed: Estimate,
}

/// The compared quantities of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedWorkload {
    /// The workload, such as `random writes of 4 KiB at queue depth 8`.
    pub name: String,
    /// The compared quantities.
    pub quantities: Vec<ComparedQuantity>,
}

/// A quantity of a workload in each result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedQuantity {
    /// The quantity.
    pub quantity: Quantity,
    /// The value in each result, in the order of the results. The intervals of all ratios of the
    /// comparison hold simultaneously with 95 % probability.
    pub results: Vec<ComparedNumber>,
}

/// The search for regressions: numbers that are worse than those of the baseline by more than a
/// limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RegressionCheck {
    /// The largest tolerated loss, relative to the baseline: 0.05 for 5 %.
    #[schemars(range(min = 0.0))]
    pub limit: f64,
    /// The numbers that are worse by more than the limit, beyond uncertainty.
    pub found: Vec<Regression>,
    /// The numbers that may be worse by more than the limit: their interval contains the limit.
    pub undecided: Vec<Regression>,
    /// The number of quantities without an interval, which are not judged.
    pub not_judged: u32,
}

/// A loss relative to the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Regression {
    /// The position of the result in [`Comparison::results`].
    pub result: u32,
    /// The workload.
    pub workload: String,
    /// The quantity.
    pub quantity: Quantity,
    /// The loss: 0.1 if a latency is 10 % longer, or if the baseline completes 10 % more IOs a
    /// second.
    pub loss: Estimate,
}

/// A column of Table 3 in each result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedCharacteristic {
    /// The field of the characteristics, such as `random_write_ns`.
    pub name: String,
    /// The value in each result, in the order of the results.
    pub results: Vec<ComparedNumber>,
}

/// An experiment in each result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedExperiment {
    /// The micro-benchmark.
    pub micro_benchmark: String,
    /// The experiment.
    pub experiment: String,
    /// The values of the parameter in any of the results, in rising order.
    pub values: Vec<ComparedValue>,
}

/// A value of the parameter in each result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedValue {
    /// The value.
    pub value: i64,
    /// The mean response time in each result, in ns, in the order of the results.
    pub results: Vec<ComparedNumber>,
}

/// A number of one result, compared with the same number of the first result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedNumber {
    /// The number; absent if the result does not have it.
    pub value: Option<Estimate>,
    /// The ratio to the number of the first result; absent for the first, and if either number is
    /// absent.
    pub ratio: Option<Estimate>,
    /// True if the numbers differ by more than their uncertainty: the interval of the ratio
    /// excludes 1. Absent if there is no interval. Each interval of a characteristic or an
    /// experiment holds for that number alone: one in twenty equal numbers is then marked as
    /// different.
    pub differs: Option<bool>,
    /// The verdict; for quantities of workloads only, and absent if there is no interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<ComparisonVerdict>,
}

impl Quantity {
    /// Returns true if higher values are better, as for rates.
    #[must_use]
    pub const fn is_better_higher(self) -> bool {
        match self {
            Quantity::IosPerSecond
            | Quantity::Throughput
            | Quantity::BytesPerSecond
            | Quantity::Endurance => true,
            Quantity::MeanLatency
            | Quantity::MedianLatency
            | Quantity::P99Latency
            | Quantity::P999Latency
            | Quantity::WriteAmplification
            | Quantity::ErasesPerGib => false,
        }
    }
}

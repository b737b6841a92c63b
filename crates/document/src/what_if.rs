//! The comparison of a workload on variants of a drive: the output of `flashscope what-if --json`,
//! and the file `NAME.flashscope/what-if.json`.

use flashscope_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sweep::RowStatus;

/// The version of `what-if.json` that flashscope writes, and the latest version that it reads.
pub const WHAT_IF_VERSION: u32 = 1;

/// The output of `flashscope what-if --json`, and the content of `what-if.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WhatIf {
    /// The version of this format.
    pub schema_version: u32,
    /// The status: complete or unfinished.
    pub status: WhatIfStatus,
    /// The seed of the first simulation of each variant.
    pub seed: u64,
    /// The number of simulations of each variant, with consecutive seeds; all variants have the
    /// same seeds.
    pub repeats: u32,
    /// The baseline.
    pub base: Variant,
    /// The variants, in the order of the request.
    pub variants: Vec<Variant>,
}

/// The completeness of a what-if.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WhatIfStatus {
    /// All variants were simulated or are impossible.
    Complete,
    /// Interrupted or still running: variants without a status were not simulated.
    Unfinished,
}

/// A drive and a workload, with the results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Variant {
    /// The display name.
    pub name: String,
    /// The changes from the baseline.
    pub changes: Vec<Change>,
    /// The drive, in the syntax of `flashscope simulate --drive`.
    pub drive: String,
    /// The workload, in the syntax of `flashscope simulate --workload`.
    pub workload: String,
    /// The prediction of a model; absent before it is computed, or if no model applies.
    pub closed_form: Option<ClosedForm>,
    /// The reason that no model applies.
    pub not_predicted: Option<String>,
    /// The status of the simulations; absent until they end.
    pub status: Option<RowStatus>,
    /// The reason that the variant is impossible or failed.
    pub reason: Option<String>,
    /// The quantities that the simulations determined.
    pub simulated: Vec<SimulatedQuantity>,
}

/// A changed field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The field: a dotted name in the drive's profile, `workload.FIELD`, or `drive` or `workload`
    /// as a whole.
    pub field: String,
    /// The value, as on the command line.
    pub value: String,
}

/// A quantity by which variants are compared.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Quantity {
    /// Mean response time, in nanoseconds.
    #[serde(rename = "latency_ns.mean")]
    MeanLatency,
    /// The median of the response time, in nanoseconds; in comparisons of results only.
    #[serde(rename = "latency_ns.p50")]
    MedianLatency,
    /// The 99th percentile of the response time, in nanoseconds.
    #[serde(rename = "latency_ns.p99")]
    P99Latency,
    /// The 99.9th percentile of the response time, in nanoseconds; in comparisons of results only.
    #[serde(rename = "latency_ns.p999")]
    P999Latency,
    /// IOs completed per second of simulated time.
    #[serde(rename = "ios_per_second")]
    IosPerSecond,
    /// Bytes read and written per second; in comparisons of results only.
    #[serde(rename = "throughput_bytes_per_s")]
    Throughput,
    /// The maximum write throughput: bytes written per second if writes alone keep all packages
    /// busy.
    #[serde(rename = "bytes_per_second")]
    BytesPerSecond,
    /// Flash pages programmed per flash page's worth of logical pages that the host wrote.
    #[serde(rename = "write_amplification")]
    WriteAmplification,
    /// Blocks erased per GiB that the host writes.
    #[serde(rename = "erases_per_gib")]
    ErasesPerGib,
    /// Bytes that the host can write until the blocks wear out, assuming even wear.
    #[serde(rename = "endurance_bytes")]
    Endurance,
}

impl Quantity {
    /// The quantities from simulations, in display order.
    pub const SIMULATED: [Quantity; 6] = [
        Quantity::MeanLatency,
        Quantity::P99Latency,
        Quantity::IosPerSecond,
        Quantity::WriteAmplification,
        Quantity::ErasesPerGib,
        Quantity::Endurance,
    ];
}

/// The prediction of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClosedForm {
    /// The model: see `flashscope predict --list`.
    pub model: String,
    /// The confidence level of the intervals, from 0 to 1.
    pub level: f64,
    /// The predicted quantities.
    pub expected: Vec<ModelEstimate>,
    /// The properties of the drive or workload that the model ignores, as text.
    pub not_modelled: Vec<String>,
}

/// A predicted quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelEstimate {
    /// The quantity.
    pub quantity: Quantity,
    /// The value.
    pub value: f64,
    /// The lower end of the interval; absent if the model's error is unknown.
    pub low: Option<f64>,
    /// The upper end of the interval; absent if the model's error is unknown.
    pub high: Option<f64>,
    /// The relative difference to the baseline; absent for the baseline, and if the baseline has no
    /// prediction.
    pub relative: Option<f64>,
}

/// A simulated quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedQuantity {
    /// The quantity.
    pub quantity: Quantity,
    /// The mean over the repeats.
    pub value: Estimate,
    /// The difference to the baseline; absent for the baseline.
    pub difference: Option<Difference>,
}

/// The difference between a variant and the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The mean difference over pairs of simulations with the same seed, with its interval over the
    /// repeats.
    pub absolute: Estimate,
    /// The mean difference relative to the mean of the baseline; absent if the latter mean is 0.
    pub relative: Option<f64>,
    /// 1 for a significant rise, -1 for a significant fall, 0 if not significant: the interval
    /// contains 0.
    pub sign: i8,
}

impl WhatIf {
    /// Returns the baseline, then the variants.
    pub fn all(&self) -> impl Iterator<Item = &Variant> {
        std::iter::once(&self.base).chain(&self.variants)
    }

    /// Returns the number of variants, without the baseline, that have this status.
    pub fn count(&self, status: RowStatus) -> usize {
        self.variants.iter().filter(|variant| variant.status == Some(status)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what_if() -> WhatIf {
        let base = Variant {
            name: "baseline".into(),
            changes: Vec::new(),
            drive: "sim:demo".into(),
            workload: "uniform".into(),
            closed_form: None,
            not_predicted: Some("no model".into()),
            status: Some(RowStatus::Done),
            reason: None,
            simulated: vec![SimulatedQuantity {
                quantity: Quantity::MeanLatency,
                value: Estimate { value: 1.0, low: None, high: None },
                difference: None,
            }],
        };
        let change = Change { field: "ftl".into(), value: "fast".into() };
        let variants = vec![Variant { changes: vec![change], status: None, ..base.clone() }];
        let (status, schema_version) = (WhatIfStatus::Unfinished, WHAT_IF_VERSION);
        WhatIf { schema_version, status, seed: 1, repeats: 1, base, variants }
    }

    // The counts by status omit the baseline.
    #[test]
    fn variants_are_counted() {
        let mut counted = what_if();
        assert_eq!((counted.count(RowStatus::Done), counted.all().count()), (0, 2));
        counted.variants[0].status = Some(RowStatus::Impossible);
        assert_eq!(counted.count(RowStatus::Impossible), 1);
    }
}

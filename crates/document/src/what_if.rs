//! The comparison of a workload on variants of a drive: the output of `flashscope what-if --json`,
//! and the file `NAME.flashscope/what-if.json`.

use flashscope_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conclusion::Conclusion;
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
    /// The conclusions, as sentences with their evidence, the most important first. Absent from
    /// documents of earlier versions of flashscope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conclusions: Vec<Conclusion>,
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
    /// A significant difference between the model and the simulations, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disagreement: Option<Disagreement>,
}

/// A significant difference between a model and the simulations: more than 10 %, and outside both
/// intervals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Disagreement {
    /// The quantity.
    pub quantity: Quantity,
    /// The prediction relative to the simulated value, minus 1.
    pub relative: f64,
}

impl Disagreement {
    /// A relative difference counts if it exceeds this value.
    const MIN_DIFFERENCE: f64 = 0.1;

    /// Returns the first significant difference between predictions and simulated values. Erases
    /// and endurance follow from write amplification, which comes before them.
    #[must_use]
    pub fn between(
        expected: &[ModelEstimate],
        simulated: &[SimulatedQuantity],
    ) -> Option<Disagreement> {
        let of = |predicted: &ModelEstimate| {
            let quantity = predicted.quantity;
            let value = simulated.iter().find(|one| one.quantity == quantity)?.value;
            let relative = predicted.value / value.value - 1.0;
            let is_within = |low: Option<f64>, high: Option<f64>, x: f64| {
                low.is_some_and(|low| low <= x) && high.is_some_and(|high| x <= high)
            };
            let agrees = relative.abs() <= Self::MIN_DIFFERENCE
                || value.covers(predicted.value)
                || is_within(predicted.low, predicted.high, value.value);
            (relative.is_finite() && !agrees).then_some(Disagreement { quantity, relative })
        };
        expected.iter().find_map(of)
    }
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
    /// IOs completed per second on the clock of the drive.
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
    /// The reason why differences to the baseline are not predicted; absent if they are predicted,
    /// and for the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<String>,
}

impl ClosedForm {
    /// Sets the differences to the prediction for the baseline. The effect of a property that both
    /// models ignore cancels out in part. If only one of them ignored it, its effect would count as
    /// an effect of the change. Unless both predictions have an interval, they are therefore
    /// compared only if their models are the same and ignore the same properties.
    pub fn compare_with(&mut self, base: &ClosedForm) {
        let ignores_the_same = self.model == base.model && self.not_modelled == base.not_modelled;
        for expected in &mut self.expected {
            let before = base.expected.iter().find(|before| before.quantity == expected.quantity);
            expected.relative = before
                .filter(|before| ignores_the_same || before.low.is_some() && expected.low.is_some())
                .map(|before| expected.value / before.value - 1.0)
                .filter(|share| share.is_finite());
        }
        let is_compared = self.expected.iter().any(|expected| expected.relative.is_some());
        self.not_compared = (!is_compared).then(|| {
            "the predictions of this variant and of the baseline ignore different properties".into()
        });
    }
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
    /// The relative difference to the baseline; absent for the baseline, if the baseline has no
    /// prediction, and if the two predictions cannot be compared (`not_compared`).
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
            disagreement: None,
        };
        let change = Change { field: "ftl".into(), value: "fast".into() };
        let variants = vec![Variant { changes: vec![change], status: None, ..base.clone() }];
        let (status, schema_version) = (WhatIfStatus::Unfinished, WHAT_IF_VERSION);
        let conclusions = vec![];
        WhatIf { schema_version, status, conclusions, seed: 1, repeats: 1, base, variants }
    }

    fn prediction(model: &str, value: f64, has_interval: bool, ignored: &[&str]) -> ClosedForm {
        let (low, high) = has_interval.then_some((value * 0.9, value * 1.1)).unzip();
        let quantity = Quantity::WriteAmplification;
        ClosedForm {
            model: model.into(),
            level: 0.9,
            expected: vec![ModelEstimate { quantity, value, low, high, relative: None }],
            not_modelled: ignored.iter().map(|&property| property.into()).collect(),
            not_compared: None,
        }
    }

    #[test]
    fn predictions_that_ignore_different_properties_are_not_compared() {
        let change = |base: &ClosedForm, mut form: ClosedForm| {
            form.compare_with(base);
            assert_eq!(form.not_compared.is_none(), form.expected[0].relative.is_some());
            form.expected[0].relative
        };
        let known = prediction("greedy", 4.0, true, &[]);
        assert_eq!(change(&known, prediction("greedy", 2.0, true, &[])), Some(-0.5));
        assert_eq!(change(&known, prediction("fragment-fast", 8.0, true, &[])), Some(1.0));
        // The model predicts no effect of trims, because it ignores them.
        assert_eq!(change(&known, prediction("greedy", 4.0, false, &["trims"])), None);
        let ignores = prediction("greedy", 4.0, false, &["cleaning"]);
        assert_eq!(change(&ignores, prediction("greedy", 3.0, false, &["cleaning"])), Some(-0.25));
        assert_eq!(change(&ignores, prediction("fifo", 3.0, false, &["cleaning"])), None);
        assert_eq!(change(&ignores, prediction("greedy", 3.0, false, &[])), None);
    }

    #[test]
    fn a_disagreement_is_large_and_outside_both_intervals() {
        let between = |predicted: f64, ends: Option<[f64; 2]>, half: f64| {
            let quantity = Quantity::WriteAmplification;
            let [low, high] = ends.map_or([None, None], |ends| ends.map(Some));
            let expected =
                [ModelEstimate { quantity, value: predicted, low, high, relative: None }];
            let value = Estimate::symmetric(2.0, Some(half));
            let simulated = [SimulatedQuantity { quantity, value, difference: None }];
            Disagreement::between(&expected, &simulated).map(|found| found.relative)
        };
        assert!((between(3.6, None, 0.1).unwrap() - 0.8).abs() < 1e-9);
        assert!((between(1.0, Some([0.9, 1.1]), 0.1).unwrap() + 0.5).abs() < 1e-9);
        assert_eq!(between(2.1, None, 0.01), None, "5 % is a small difference");
        assert_eq!(between(3.6, None, 1.7), None, "the simulations are uncertain");
        assert_eq!(between(3.6, Some([1.9, 5.0]), 0.1), None, "the model is uncertain");
        assert_eq!(Disagreement::between(&[], &[]), None);
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

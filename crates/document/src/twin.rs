//! The documents of twins: simulated drives that were fitted to measured ones.

use std::collections::BTreeMap;

use flashscope_block::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conclusion::Conclusion;

/// The version of the format of [`Twin`]. Version 2 added the queue depth of the measurements.
pub const TWIN_VERSION: u32 = 3;

/// A twin: the fitted drive, its sources and its uncertainty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Twin {
    /// The version of the format.
    pub schema_version: u32,
    /// The conclusions, as sentences with their evidence, the most important first. Absent from
    /// documents of earlier versions of flashscope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conclusions: Vec<Conclusion>,
    /// The version of flashscope that made the fit.
    pub flashscope: String,
    /// The seed of all random choices.
    pub seed: u64,
    /// The share of intervals that are meant to contain the true value (0 to 1).
    pub confidence: f64,
    /// The name of the measured drive.
    pub drive: String,
    /// The sources of the fit, as the user named them.
    pub sources: Vec<String>,
    /// The profile of the twin, in TOML.
    pub profile: String,
    /// The misfit: the mean over runs of the deviation of the twin from the measurement, in
    /// standard errors. 0 is exact; chance alone explains 1. Absent if nothing was simulated.
    pub misfit: Option<f64>,
    /// The fitted times.
    pub times: Vec<Time>,
    /// The fitted structure: a choice for each profile field for which the fit tried alternatives.
    pub choices: Vec<StructureChoice>,
    /// The measured and simulated times of each run that the twin was fitted to.
    pub runs: Vec<RunFit>,
    /// The model that was fitted to a fill sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<FillFit>,
    /// The queue depth of the measurements; absent in documents of version 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<MeasuredDepth>,
    /// Advice on what to measure next, for the fields that the sources do not determine.
    pub measure_next: Vec<String>,
    /// The factors by which intervals are widened beyond the range of the alternative drives in
    /// `draws`: for mean response times, then for 99th percentiles. The share `confidence` of the
    /// simulated values of `runs` differs from the measured ones by at most this factor.
    pub spread: [f64; 2],
    /// Alternative drives that fit the measurements as well: the fields in which each differs from
    /// the profile.
    pub draws: Vec<BTreeMap<String, String>>,
}

/// The number of IOs that were in flight at once while a drive was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredDepth {
    /// The queue depth of most measurements, at which predictions run by default.
    pub usual: u32,
    /// The smallest queue depth of a measurement.
    // The name up to version 2.
    #[serde(alias = "least")]
    pub min: u32,
    /// The largest queue depth of a measurement.
    // The name up to version 2.
    #[serde(alias = "most")]
    pub max: u32,
    /// True if the sources state the queue depth. If not, it is an assumption.
    pub stated: bool,
}

/// A fitted time of a twin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Time {
    /// The dotted name of the profile field.
    pub field: String,
    /// The time, in ns.
    pub nanos: Range,
    /// True if the measurements depend on this time. If not, it keeps its value from before the
    /// fit.
    // The name up to version 2.
    #[serde(alias = "told")]
    pub is_determined: bool,
}

/// A structural choice of a twin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StructureChoice {
    /// The dotted name of the profile field.
    pub field: String,
    /// The chosen value.
    pub value: String,
    /// The values that fit as well; empty if the measurements determine the choice.
    pub as_well: Vec<String>,
}

/// The times of a run on the drive and on its twin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunFit {
    /// The name of the result that holds the run.
    pub result: String,
    /// The number of the run in that result.
    pub run: u32,
    /// The micro-benchmark, the experiment and the value of the parameter.
    pub title: String,
    /// The measured mean response time and 99th percentile, in ns.
    pub measured_ns: [f64; 2],
    /// The mean response time and 99th percentile on the twin, in ns.
    pub twin_ns: [f64; 2],
}

/// The measured cost of uniform writes at a fill level, once the drive was steady.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// The bytes that held data. The uniform writes went to the same bytes.
    pub fill: Bytes,
    /// Bytes programmed per byte that the host wrote, at least 1; absent if the drive does not
    /// report programmed bytes.
    pub write_amplification: Option<f64>,
    /// Bytes that the host wrote per second; absent if not measured.
    pub bytes_per_second: Option<f64>,
    /// IOs in flight at once; absent if not stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u32>,
}

/// The closed-form model of a drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FillModel {
    /// The cleaning policy: its name in a profile.
    pub policy: String,
    /// T: bytes of flash that can hold data.
    pub flash_bytes: f64,
    /// kappa: bytes programmed per byte of data programmed. It accounts for the drive's own writes,
    /// such as parity and its map. 1 if the drive does not report programmed bytes.
    pub kappa: f64,
    /// The throughput in bytes per second if garbage collection moved nothing; absent if throughput
    /// was not measured.
    pub bare_bytes_per_second: Option<f64>,
    /// The cost of moving a page, relative to that of writing a page for the host; absent if
    /// throughput was not measured.
    pub moved: Option<f64>,
}

/// The fit of the closed-form model with one cleaning policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyFit {
    /// The model with this policy that fits best.
    pub model: FillModel,
    /// The root mean square of the relative errors.
    pub error: f64,
    /// True if the policy fits about as well as the best one.
    pub fits_as_well: bool,
}

/// The fit of the closed-form model to a fill sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FillFit {
    /// The fill levels that the model was fitted to.
    pub levels: Vec<Level>,
    /// The fit of each policy, the best first.
    pub policies: Vec<PolicyFit>,
    /// Bytes of flash that can hold data, with the interval over the policies that fit as well.
    pub flash_bytes: Range,
    /// kappa, as in [`FillModel`], with its interval. If write amplification was not measured, the
    /// value 1 is an assumption, and the range holds every kappa with which the model explains the
    /// throughput.
    pub kappa: Range,
    /// The throughput in bytes per second if garbage collection moved nothing, with its interval;
    /// absent if throughput was not measured.
    pub bare_bytes_per_second: Option<Range>,
    /// The cost of moving a page, relative to that of writing a page for the host, with its
    /// interval; absent if throughput was not measured.
    pub moved: Option<Range>,
    /// The range of write amplification at each level, if it was not measured. Throughput alone
    /// does not identify it: each value in the range belongs to a cleaning policy and a kappa that
    /// fit the throughput as well. Absent if it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unidentified: Option<Vec<AmplificationRange>>,
    /// Alternative models that fit the measurements as well. The intervals are computed from them.
    pub draws: Vec<FillModel>,
}

/// The range of write amplification that throughput leaves open at a fill level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AmplificationRange {
    /// Bytes that held data.
    pub fill: Bytes,
    /// The range. Its value assumes that the drive writes nothing besides its data.
    pub write_amplification: Range,
}

/// The comparison of a twin with results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// The share of intervals that are meant to contain the true value (0 to 1).
    pub confidence: f64,
    /// The comparison of each run.
    pub runs: Vec<RunCheck>,
    /// The comparison of each level of a fill sweep.
    pub levels: Vec<LevelCheck>,
    /// The summary over all runs; absent if there are no runs.
    pub summary: Option<Summary>,
}

/// The comparison of a run on the drive with the same run on the twin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunCheck {
    /// The name of the result that holds the run.
    pub result: String,
    /// The number of the run in that result.
    pub run: u32,
    /// The micro-benchmark, the experiment and the value of the parameter.
    pub title: String,
    /// The mean response time, in ns.
    pub mean: Comparison,
    /// The 99th percentile of response times, in ns.
    pub p99: Comparison,
}

/// A measured number next to its prediction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The measured value.
    pub measured: f64,
    /// The value that the twin predicts, with its interval.
    pub predicted: Range,
    /// The relative error of the prediction.
    pub error: f64,
    /// True if the interval contains the measured value.
    pub covered: bool,
}

/// The errors of the closed-form model at a fill level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelCheck {
    /// Bytes that held data.
    pub fill: Bytes,
    /// The relative error of the write amplification; absent if it was not measured.
    pub write_amplification_error: Option<f64>,
    /// The relative error of the throughput; absent if it was not measured or not fitted.
    pub throughput_error: Option<f64>,
}

/// The errors over all runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The median absolute relative error of the mean response times.
    pub mean_error: f64,
    /// The median absolute relative error of the 99th percentiles.
    pub p99_error: f64,
    /// The share of measured means that lie in the predicted interval.
    pub mean_coverage: f64,
    /// The share of measured 99th percentiles that lie in the predicted interval.
    pub p99_coverage: f64,
    /// The number of alternative drives that were simulated beside the twin.
    pub draws: u32,
    /// The median standard error of an end of an interval, as a share of the width of the interval;
    /// absent with fewer than two draws. It is at most 0.1, unless the twin has no more draws.
    pub end_error: Option<f64>,
}

/// The performance of a workload on a drive, as its twin predicts it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TwinPrediction {
    /// The conclusions, as sentences with their evidence, the most important first. Absent from
    /// documents of earlier versions of flashscope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conclusions: Vec<Conclusion>,
    /// The name of the drive.
    pub drive: String,
    /// The workload, as the user wrote it.
    pub workload: String,
    /// The share of intervals that are meant to contain the true value (0 to 1).
    pub confidence: f64,
    /// The number of alternative drives that were simulated beside the twin.
    pub draws: u32,
    /// The largest standard error of an end of an interval, as a share of the width of the
    /// interval; absent with fewer than two draws. Without a requested number of draws, it is at
    /// most 0.1, unless the twin has no more draws.
    pub end_error: Option<f64>,
    /// The number of IOs measured.
    pub ios: u64,
    /// The bytes of the drive that hold data.
    pub filled: Bytes,
    /// The factor by which the drive was scaled down for the simulation, at least 1. The simulated
    /// drive has the same shares of data and spare flash, the same pages and blocks, and as many
    /// parallel parts.
    pub scale: f64,
    /// The maximum number of IOs in flight per stream.
    pub queue_depth: u32,
    /// The origin of the queue depth.
    pub queue_depth_from: DepthSource,
    /// The quantities that are outside the measured range. Each of them widens the intervals.
    pub extrapolated: Vec<Extrapolation>,
    /// Bytes read and written per second.
    pub bytes_per_second: Range,
    /// Response times, in ns.
    pub latency_ns: PredictedLatency,
    /// Bytes programmed per byte that the host wrote; absent if the host wrote nothing.
    pub write_amplification: Option<Range>,
    /// False if the measurements do not identify write amplification, because they are times alone.
    /// It and the lifetime then have the range of all models that fit, instead of an interval.
    pub is_amplification_identified: bool,
    /// Bytes that the host can write to a new drive before its blocks wear out; absent if nothing
    /// was erased.
    pub lifetime_bytes: Option<Range>,
}

/// A quantity of a prediction that is outside the measured range.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Extrapolation {
    /// The quantity.
    pub quantity: Quantity,
    /// Its value in the prediction.
    pub value: f64,
    /// The smallest measured value.
    // The name up to version 2.
    #[serde(alias = "least")]
    pub min: f64,
    /// The largest measured value.
    // The name up to version 2.
    #[serde(alias = "most")]
    pub max: f64,
    /// The distance from the measured range: doublings of the IOs in flight, or halvings and
    /// doublings of the spare flash.
    pub steps: f64,
    /// The factor by which the ends of the intervals move away from the value.
    pub widened: f64,
}

/// A quantity that a prediction may extrapolate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Bytes of the drive that hold data. It widens all intervals.
    Fill,
    /// IOs in flight; the mean of an open loop. It widens the intervals of throughput and of
    /// response times.
    QueueDepth,
}

/// The origin of the queue depth of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DepthSource {
    /// The request.
    Request,
    /// The workload: it sets its own queue depth, or is an open loop.
    Workload,
    /// The measurements that the twin was fitted to.
    Measurement,
    /// An assumption, because the measurements do not state their queue depth.
    Assumption,
}

/// Predicted response times, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictedLatency {
    /// Mean.
    pub mean: Range,
    /// Median.
    pub p50: Range,
    /// 99th percentile.
    pub p99: Range,
    /// 99.9th percentile.
    pub p999: Range,
}

/// A best value with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    /// The value that fits best.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl Range {
    /// Returns the interval around `value` that holds the middle `confidence` (0 to 1) of `draws`,
    /// and `value` itself.
    #[must_use]
    pub fn around(value: f64, mut draws: Vec<f64>, confidence: f64) -> Range {
        draws.sort_unstable_by(f64::total_cmp);
        let tail = (1.0 - confidence) / 2.0;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rank is at least 0 and below the number of draws"
        )]
        #[allow(clippy::cast_precision_loss, reason = "there are far fewer than 2^53 draws")]
        let at = |share: f64| {
            let rank = (share * (draws.len().max(1) - 1) as f64).round() as usize;
            draws.get(rank).copied().unwrap_or(value)
        };
        Range { value, low: at(tail).min(value), high: at(1.0 - tail).max(value) }
    }

    /// Divides the lower end by `factor` and multiplies the upper end by it. `factor` is at least
    /// 1.
    #[must_use]
    pub fn wider(self, factor: f64) -> Range {
        Range { low: self.low / factor, high: self.high * factor, ..self }
    }
}

impl FillModel {
    /// Returns the write amplification of uniform writes over `fill` bytes; NaN if the data do not
    /// fit on the drive. `policy` returns the write amplification of the cleaning policy from the
    /// ratio of physical to logical pages.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "bytes of drives are below 2^53")]
    pub fn amplified(&self, fill: Bytes, policy: impl Fn(f64) -> f64) -> f64 {
        let alpha = self.flash_bytes / fill.0 as f64;
        if alpha > 1.0 { self.kappa * policy(alpha) } else { f64::NAN }
    }

    /// Returns the throughput of the host, in bytes per second, at this write amplification; `None`
    /// if throughput was not measured.
    #[must_use]
    pub fn rate(&self, write_amplification: f64) -> Option<f64> {
        Some(self.bare_bytes_per_second? / (1.0 + self.moved? * (write_amplification - 1.0)))
    }
}

impl FillFit {
    /// Returns true if a level has a measured write amplification. Throughput alone does not
    /// determine write amplification: more writes besides data and a lower cost per moved page give
    /// the same throughput.
    #[must_use]
    pub fn knows_write_amplification(&self) -> bool {
        self.levels.iter().any(|level| level.write_amplification.is_some())
    }

    /// Returns the model that fits best.
    #[must_use]
    pub fn best(&self) -> &FillModel {
        &self.policies[0].model
    }
}

impl Comparison {
    /// Compares a measured number with its prediction.
    #[must_use]
    pub fn new(measured: f64, predicted: Range) -> Comparison {
        let error = predicted.value / measured - 1.0;
        let covered = (predicted.low..=predicted.high).contains(&measured);
        Comparison { measured, predicted, error, covered }
    }
}

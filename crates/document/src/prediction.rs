//! The document of a prediction.

use flashscope_block::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conclusion::Conclusion;

/// The version of the format of predictions.
pub const PREDICTION_VERSION: u32 = 1;

/// The document that `flashscope predict --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictionReport {
    /// The version of the format, [`PREDICTION_VERSION`].
    pub schema_version: u32,
    /// The conclusions, as sentences with their evidence, the most important first. Absent from
    /// documents of earlier versions of flashscope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conclusions: Vec<Conclusion>,
    /// The drive, as the user wrote it.
    pub drive: String,
    /// The FTL of the drive. For a measured drive, the FTL that the model assumes when it divides
    /// the free space among the parts of the workload.
    pub ftl: String,
    /// The workload, as the user wrote it.
    pub workload: String,
    /// The seed of all random choices.
    pub seed: u64,
    /// The name of the model.
    pub model: String,
    /// The number of repetitions of the workload.
    pub passes: Passes,
    /// Logical pages that the host wrote in the counted passes.
    pub host_pages_written: u64,
    /// Bytes that the host wrote in the counted passes.
    pub bytes_written: Bytes,
    /// Blocks erased in the counted passes; absent for a measured drive that does not report them.
    pub erases: Option<PredictedValue>,
    /// Pages programmed per page that the host wrote; absent for a measured drive that does not
    /// report them.
    pub write_amplification: Option<PredictedValue>,
    /// The smallest possible number of erases for these writes, relative to the predicted number;
    /// absent if nothing is erased.
    pub equivalent_throughput: Option<PredictedValue>,
    /// Nanoseconds of flash time per page that the host wrote; for a measured drive, response time
    /// per page.
    pub ns_per_page: PredictedValue,
    /// Bytes written per second while writes keep all packages busy; for a measured drive, with one
    /// write at a time.
    pub bytes_per_second: PredictedValue,
    /// The comparisons of model and simulator that the intervals are based on.
    pub validation: Validation,
    /// The features of the drive that the model ignores, in words.
    pub not_modelled: Vec<String>,
    /// The lifetime of the drive, if requested.
    pub lifetime: Option<LifetimeReport>,
    /// The result of the simulator, if requested.
    pub simulated: Option<SimulatedReport>,
    /// Nanoseconds that the prediction took, by the machine's clock.
    pub wall_ns: u64,
}

/// The repetitions of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Passes {
    /// The number of passes before counting starts.
    pub warm_up: u32,
    /// The number of passes that count.
    pub counted: u32,
    /// True if the warm-up was long enough for the prediction to converge.
    pub converged: bool,
}

/// A predicted number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictedValue {
    /// The value.
    pub value: f64,
    /// The interval of the value; absent if too few cases are known, if the prediction has not
    /// converged, or if the drive has features that the model ignores.
    pub interval: Option<Interval>,
}

/// The validation that intervals are based on: cases in which the model was compared with the
/// simulator.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Validation {
    /// The share of cases that an interval is meant to contain (0 to 1).
    pub level: f64,
    /// The number of cases of the same kind in which the model was compared with the simulator.
    pub cases: u64,
}

/// The lifetime of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LifetimeReport {
    /// The number of erases that a block endures.
    pub block_lifetime: u32,
    /// The number of erases per block so far; the model assumes even wear.
    pub erases_per_block: f64,
    /// Bytes of this workload that the host can still write.
    pub endurance_left_bytes: PredictedValue,
    /// Bytes that the host writes per day.
    pub bytes_per_day: f64,
    /// Days until the blocks wear out.
    pub days: PredictedValue,
}

/// The result of simulating the same passes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedReport {
    /// Blocks erased.
    pub erases: f64,
    /// Pages programmed per page that the host wrote.
    pub write_amplification: f64,
    /// Simulated nanoseconds per page that the host wrote, with one request at a time, reads
    /// included.
    pub simulated_ns_per_page: f64,
    /// Predicted over simulated erases, minus one; absent if nothing was erased in the simulation.
    pub erases_error: Option<f64>,
    /// Predicted over simulated write amplification, minus one.
    pub write_amplification_error: Option<f64>,
    /// Nanoseconds that the simulation took by the machine's clock, including the fill of the
    /// drive.
    pub wall_ns: u64,
}

/// The interval of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl PredictedValue {
    /// Returns a number without an interval.
    #[must_use]
    pub const fn alone(value: f64) -> PredictedValue {
        PredictedValue { value, interval: None }
    }
}

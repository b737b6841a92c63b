//! The adaptive part of the methodology (uFLIP section 4): its configuration and its findings.

use flashscope_block::{Bytes, Nanos};
use flashscope_workload::uflip::Baseline;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rounds::Totals;

/// The quantities that flashscope determines during the measurement unless the user sets them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Methodology {
    /// The number of executions of each run, each with other random addresses.
    pub repeats: u32,
    /// The precision that ends a run; absent if the user set IOCount.
    pub precision: Option<Precision>,
    /// True if IOIgnore is derived from the start-up phases that the preparation finds.
    pub finds_io_ignore: bool,
    /// True if the pause between runs is derived from the lingering effect of writes that the
    /// preparation finds.
    pub finds_run_pause: bool,
    /// The maximum duration of a run on the clock of the drive.
    pub most_run_time_ns: Option<Nanos>,
    /// The maximum number of bytes that a run writes.
    pub most_run_bytes: Option<Bytes>,
    /// The budget of all runs together; runs beyond it are skipped.
    #[serde(default)]
    pub budget: Budget,
}

impl Default for Methodology {
    /// Returns a methodology that determines nothing itself and executes each run once.
    fn default() -> Self {
        Methodology {
            repeats: 1,
            precision: None,
            finds_io_ignore: false,
            finds_run_pause: false,
            most_run_time_ns: None,
            most_run_bytes: None,
            budget: Budget::default(),
        }
    }
}

impl Methodology {
    /// Returns true if the preparation has to determine anything.
    pub fn finds(&self) -> bool {
        self.finds_io_ignore || self.finds_run_pause
    }
}

/// A budget for a plan, including drive states and pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Budget {
    /// Time on the clock of the drive.
    pub time_ns: Option<Nanos>,
    /// Bytes written.
    pub bytes: Option<Bytes>,
}

/// The required precision of a run's statistic.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Precision {
    /// The quantile to estimate, such as 0.99; absent for the mean.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub quantile: Option<f64>,
    /// The maximum half width of the interval, relative to the estimate.
    #[schemars(range(min = 0.0))]
    pub relative: f64,
    /// The confidence level, from 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: f64,
    /// The minimum number of oscillation periods that a run covers.
    pub least_periods: u32,
}

impl Default for Precision {
    /// Returns the default precision: the mean to within 2 % at 95 % confidence, over at least 20
    /// periods.
    fn default() -> Self {
        Precision { quantile: None, relative: 0.02, confidence: 0.95, least_periods: 20 }
    }
}

/// The outcome of an adaptive run length.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Length {
    /// The condition that ended the run.
    pub ended_by: EndedBy,
    /// Half the width of the interval relative to the estimate; absent for too few IOs.
    #[schemars(range(min = 0.0))]
    pub relative_precision: Option<f64>,
    /// The assumed oscillation period in IOs; 1 for none.
    pub period_ios: u64,
}

/// The condition that ended a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// The statistic reached the required precision.
    Precision,
    /// The maximum number of IOs.
    Ios,
    /// The maximum duration.
    Time,
    /// The maximum number of bytes written.
    Bytes,
    /// The end of the target space: further IOs would overwrite data of the same run.
    Space,
}

/// The findings of the preparation and of earlier runs, which determine later runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    /// The phases of each baseline with a sufficiently long run.
    pub phases: Vec<BaselinePhases>,
    /// The lingering effects of writes, one for each run that measured the effect.
    pub interference: Vec<Interference>,
    /// For a test in rounds: the totals of the runs from which steadiness is determined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Totals>,
    /// The quantities that the preparation could not determine, with the assumptions made instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<Unknown>,
}

/// A quantity that the preparation could not determine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unknown {
    /// The quantity.
    pub quantity: PreparationQuantity,
    /// The experiment of the preparation that should have shown the quantity, such as `RW`.
    pub experiment: String,
    /// The run.
    pub run: u32,
    /// The reason why the run did not show the quantity.
    pub because: Obstacle,
    /// The assumption made instead, as text.
    pub assumed: String,
}

/// A quantity that the preparation finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PreparationQuantity {
    /// The start-up phase and the period of a baseline.
    Phases,
    /// The time during which writes slow the reads after them.
    Interference,
}

/// A reason why the preparation did not find a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// The run ended at its limit of time.
    Time,
    /// The run ended at its limit of bytes written.
    Bytes,
    /// The run reached the end of its target space.
    Space,
    /// The budget was used up.
    Budget,
    /// When the run ended, the response times of reads had not returned to their level before the
    /// writes.
    Noise,
    /// The run failed.
    Failure,
}

/// The phases of one baseline (uFLIP section 4.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BaselinePhases {
    /// The baseline.
    pub baseline: Baseline,
    /// The run that showed the phases.
    pub run: u32,
    /// IOs of the start-up phase; absent if there is none.
    pub start_up: Option<PhaseLength>,
    /// The oscillation period in the running phase: IOs from one slow IO, or one peak, to the next.
    /// Absent if the response times do not oscillate.
    pub period: Option<PhaseLength>,
    /// The minimum number of counted IOs for which the mean of a run is close to the mean of a long
    /// run. It is large if response times vary slowly. Absent if the run was too short to determine
    /// the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_ios: Option<u64>,
}

/// An estimated number of IOs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseLength {
    /// The number.
    pub ios: u64,
    /// The significance: 1 minus the probability that chance alone makes the phenomenon appear this
    /// clearly.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: f64,
}

/// The lingering effect of writes on subsequent reads (uFLIP section 4.3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interference {
    /// The run that showed the effect.
    pub run: u32,
    /// Affected reads; absent if there were none.
    pub reads: Option<PhaseLength>,
    /// The total duration of the affected reads.
    pub lasted_ns: Nanos,
    /// True if the response times returned to normal within the run. If not, the effect may have
    /// lasted longer.
    pub settled: bool,
    /// The pause between later runs.
    pub run_pause_ns: Nanos,
}

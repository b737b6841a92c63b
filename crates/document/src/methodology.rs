//! What the methodology (uFLIP section 4) is asked to find while it measures, and what it found.

use flashscope_block::{Bytes, Nanos};
use flashscope_workload::uflip::Baseline;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rounds::Totals;

/// What is found while measuring instead of being given.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Methodology {
    /// How often each run is done, each time with other random addresses.
    pub repeats: u32,
    /// When a run is long enough; absent where IOCount was given.
    pub precision: Option<Precision>,
    /// Whether IOIgnore follows from the start-up phases of the preparation.
    pub finds_io_ignore: bool,
    /// Whether the pause between runs follows from how long writes linger in the preparation.
    pub finds_run_pause: bool,
    /// A run ends after so long on the clock of the drive, however far it came.
    pub most_run_time_ns: Option<Nanos>,
    /// A run ends after so many bytes written, however far it came.
    pub most_run_bytes: Option<Bytes>,
    /// What all runs together may take; runs that are left then are skipped.
    #[serde(default)]
    pub budget: Budget,
}

impl Default for Methodology {
    /// Everything is given, and each run done once.
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
    /// Whether anything is to be found by the preparation.
    pub fn finds(&self) -> bool {
        self.finds_io_ignore || self.finds_run_pause
    }
}

/// What a plan may take, the state of the drive and the pauses among it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Budget {
    /// Time on the clock of the drive.
    pub time_ns: Option<Nanos>,
    /// Bytes written.
    pub bytes: Option<Bytes>,
}

/// How well a run is to know its statistic.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Precision {
    /// The share of response times that the percentile wanted does not exceed, as 0.99; absent for
    /// the mean.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub quantile: Option<f64>,
    /// Half the width of the interval relative to the estimate, at most.
    #[schemars(range(min = 0.0))]
    pub relative: f64,
    /// How often such intervals hold the truth, from 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: f64,
    /// So many periods of the oscillation are covered at least.
    pub least_periods: u32,
}

impl Default for Precision {
    /// The mean within 2 % at 95 %, over 20 periods.
    fn default() -> Self {
        Precision { quantile: None, relative: 0.02, confidence: 0.95, least_periods: 20 }
    }
}

/// How a run came to its length, where that was found while measuring.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Length {
    /// What ended the run.
    pub ended_by: EndedBy,
    /// Half the width of the interval relative to the estimate; absent of too few IOs.
    #[schemars(range(min = 0.0))]
    pub relative_precision: Option<f64>,
    /// The period that its IOs were taken to oscillate with, in IOs; 1 for none.
    pub period_ios: u64,
}

/// What ends a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// Its statistic is known as well as it was asked for.
    Precision,
    /// The most IOs.
    Ios,
    /// The longest time.
    Time,
    /// The most bytes written.
    Bytes,
}

/// What the preparation found, and what runs before tell those after them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    /// The phases of each baseline that was run long enough to show them.
    pub phases: Vec<BaselinePhases>,
    /// How long writes lingered, each time that was looked at.
    pub interference: Vec<Interference>,
    /// Of a test in rounds: what the runs came to by which it is judged whether the drive is steady.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Totals>,
}

/// The phases of one baseline (uFLIP section 4.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BaselinePhases {
    /// The baseline.
    pub baseline: Baseline,
    /// The run that showed them.
    pub run: u32,
    /// IOs of the start-up phase; absent where there is none.
    pub start_up: Option<PhaseLength>,
    /// IOs from one dear IO, or one height of a wave, to the next in the running phase; absent where it
    /// does not oscillate.
    pub period: Option<PhaseLength>,
}

/// A number of IOs that was found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseLength {
    /// How many.
    pub ios: u64,
    /// 1 less the probability that a series without it seems to have it as clearly.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: f64,
}

/// How long writes lingered in reads after them (uFLIP section 4.3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interference {
    /// The run that showed it.
    pub run: u32,
    /// Reads that were affected; absent where none was.
    pub reads: Option<PhaseLength>,
    /// How long they took.
    pub lasted_ns: Nanos,
    /// Whether the drive came back to its former times within the reads that were made; else it
    /// may have lasted longer.
    pub settled: bool,
    /// The pause between runs from then on.
    pub run_pause_ns: Nanos,
}

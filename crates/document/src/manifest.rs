//! `manifest.json`: what was measured, with what, how, and how far it came.

use std::collections::HashSet;

use flashscope_block::{Bytes, DeviceInfo, Errno, Nanos};
use flashscope_workload::pattern::Reference;
use flashscope_workload::uflip::{PREPARATION, Setup, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::{Conditions, Environment, Health, HealthChange};
use crate::grid::{GridRule, Level};
use crate::methodology::{Findings, Length, Methodology};
use crate::rounds::Rounds;

/// Version of the result format: since 2, records say how late an IO was, and a run may be that of a
/// trace; since 3, runs may be repeated and their length found, and a test may run in rounds; since 4,
/// runs may be those of a grid of uniform writes. A higher version may add fields; a reader refuses one
/// it does not know.
pub const SCHEMA_VERSION: u32 = 4;

/// The most patterns that one run goes through, one after the other; three are measured.
const MOST_PATTERNS: usize = 64;

/// Everything about a result but the IOs themselves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// Version of the format, [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The program that measured.
    pub tool: Tool,
    /// The machine it ran on.
    pub machine: Machine,
    /// The settings under which it was measured; of real drives alone, and absent from results of
    /// versions that did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
    /// What an NVMe drive told of its health; absent where there was nothing to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthAround>,
    /// The drive.
    pub device: DeviceInfo,
    /// What the harness itself costs, measured before the first run.
    pub calibration: Calibration,
    /// What was asked for.
    pub options: Options,
    /// What the preparation found.
    #[serde(default)]
    pub findings: Findings,
    /// What measuring has taken so far.
    #[serde(default)]
    pub spent: ResourceUse,
    /// How far a state that is being enforced is; absent while none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforcing: Option<Enforcing>,
    /// When it began, as RFC 3339 in UTC.
    pub started: String,
    /// When it was gone on with after it had been stopped or cut off, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<String>,
    /// When it ended; absent while it runs, or when it was cut off.
    pub finished: Option<String>,
    /// How far it came.
    pub status: Status,
    /// The plan, with the progress of each run.
    pub micro_benchmarks: Vec<MicroBenchmark>,
}

/// What a drive told of its health around a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HealthAround {
    /// Before anything was done to it.
    pub before: Health,
    /// After the last run; absent while there was none.
    pub after: Option<Health>,
    /// What happened in between.
    pub change: Option<HealthChange>,
}

/// The program that measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Its version.
    pub version: String,
    /// The commit it was built from, where known.
    pub commit: Option<String>,
}

/// The machine that measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Model of the processor.
    pub processor: String,
    /// Logical processors.
    pub processors: u32,
    /// Main memory.
    pub memory_bytes: Bytes,
    /// Kernel name and release.
    pub kernel: String,
}

/// What the harness costs on its own. Nothing is subtracted from what is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// The smallest step of the clock that was seen.
    pub clock_resolution_ns: Nanos,
    /// The cost of one reading of the clock.
    pub clock_cost_ns: Nanos,
    /// What an IO takes on a drive that answers at once, two readings of the clock among it.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub harness_cost_ns: Option<f64>,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Options {
    /// The parameters of the micro-benchmarks.
    pub setup: Setup,
    /// The state that was enforced before the first run.
    pub state: State,
    /// The pause between runs; where it is found, the one before that.
    pub run_pause_ns: Nanos,
    /// What an IO error does.
    pub on_error: OnError,
    /// What is found while measuring.
    #[serde(default)]
    pub methodology: Methodology,
    /// The rule of a test that is run in rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Rounds>,
    /// The rule of the runs of a grid of uniform writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<GridRule>,
}

/// A state that is being enforced, so that it can be gone on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Enforcing {
    /// IOs of the fill, from its start, that are done.
    pub ios: u64,
    /// Their bytes.
    pub bytes: Bytes,
}

/// What measuring has taken, states of the drive and pauses among it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ResourceUse {
    /// Time on the clock of the drive.
    pub time_ns: Nanos,
    /// Bytes written.
    pub bytes: Bytes,
}

/// The state of the drive before the first run (uFLIP section 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it was found.
    Keep,
    /// Trimmed as a whole, so that nothing is written.
    Purged,
    /// Formatted as a whole by the drive itself (NVMe's Format NVM with an erase of user data).
    Formatted,
    /// Sanitized as a whole by the drive itself (NVMe's Sanitize by block erase).
    Sanitized,
    /// Written once from start to end.
    Sequential,
    /// Every part written once, in random order, in IOs of random size.
    Random,
}

/// What an IO error does to the rest of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// The run is marked failed, and the next one begins.
    Continue,
    /// The run is marked failed, and nothing else is run.
    Stop,
}

/// How far a result came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Being measured, or cut off without a word (a crash, a power cut).
    Running,
    /// Everything that was planned and possible was run.
    Complete,
    /// Stopped by the user.
    Interrupted,
    /// Stopped by an error.
    Failed,
}

/// One micro-benchmark of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MicroBenchmark {
    /// Its name, such as `granularity`.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// The question it answers.
    pub question: String,
    /// uFLIP's name of the parameter that varies, such as `IOSize`.
    pub parameter: String,
    /// What the values of the parameter count.
    pub unit: Unit,
    /// One for each baseline or mix.
    pub experiments: Vec<Experiment>,
}

/// A collection of runs of the same reference pattern.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Experiment {
    /// The baseline or mix, such as `RW` or `SR/RW`.
    pub name: String,
    /// One for each value of the parameter and each repeat of it, rising.
    pub runs: Vec<Run>,
}

/// One execution of a reference pattern.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Its number in the result, from 1, in the order of the plan; `run` in the records.
    pub id: u32,
    /// The value of the parameter.
    pub value: i64,
    /// Which time it is that this value is run, from 1.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub repeat: u32,
    /// Whether the state of the drive is enforced again before it: sequential writes have passed over
    /// the whole target space since (uFLIP section 4.1).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reset: bool,
    /// What is executed; of a run whose length is found, at most so many IOs.
    pub reference: Reference,
    /// How it came to its length, where that is found, once it was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<Length>,
    /// Of a grid, once it was run: how level the drive was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// How far it came.
    pub progress: Progress,
    /// What happened around it; of real drives alone, once it was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Conditions>,
}

fn first() -> u32 {
    1
}

// Serde passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_first(repeat: &u32) -> bool {
    *repeat == 1
}

impl Run {
    /// A run that is not run yet.
    pub fn new(id: u32, value: i64, reference: Reference) -> Run {
        Run {
            id,
            value,
            repeat: first(),
            reset: false,
            reference,
            length: None,
            level: None,
            progress: Progress::Pending,
            conditions: None,
        }
    }
}

/// How far a run came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", tag = "status")]
pub enum Progress {
    /// Not run yet.
    Pending,
    /// Cannot be run on this drive.
    Skipped {
        /// Why.
        reason: String,
    },
    /// Run to its end without an error.
    Done {
        /// IOs recorded.
        ios: u64,
    },
    /// Ended early by the user; what was recorded is kept.
    Interrupted {
        /// IOs recorded.
        ios: u64,
    },
    /// An IO failed; what was recorded is kept.
    Failed {
        /// IOs recorded, the failed ones among them.
        ios: u64,
        /// How many of them failed.
        errors: u64,
        /// The error of the first one.
        errno: Errno,
        /// The error in words.
        error: String,
        /// Where the first one was to read or write.
        offset_bytes: Bytes,
    },
}

impl Progress {
    /// IOs recorded.
    pub fn ios(&self) -> u64 {
        match self {
            Progress::Pending | Progress::Skipped { .. } => 0,
            Progress::Done { ios }
            | Progress::Interrupted { ios }
            | Progress::Failed { ios, .. } => *ios,
        }
    }
}

/// Every run of a plan.
pub fn runs_of(plan: &[MicroBenchmark]) -> impl Iterator<Item = &Run> {
    plan.iter().flat_map(|m| &m.experiments).flat_map(|e| &e.runs)
}

/// One run of a plan by its number, with what it belongs to.
pub fn find_run(plan: &[MicroBenchmark], id: u32) -> Option<(&MicroBenchmark, &Experiment, &Run)> {
    plan.iter().find_map(|benchmark| {
        benchmark.experiments.iter().find_map(|experiment| {
            let run = experiment.runs.iter().find(|run| run.id == id)?;
            Some((benchmark, experiment, run))
        })
    })
}

/// One experiment of a plan by its names.
pub fn find_experiment<'a>(
    plan: &'a [MicroBenchmark],
    micro_benchmark: &str,
    experiment: &str,
) -> Option<&'a Experiment> {
    let benchmark = plan.iter().find(|found| found.name == micro_benchmark)?;
    benchmark.experiments.iter().find(|found| found.name == experiment)
}

impl MicroBenchmark {
    /// Whether its runs characterize the drive rather than measure it.
    pub fn prepares(&self) -> bool {
        self.name == PREPARATION.name
    }
}

impl Manifest {
    /// That of a plan of which nothing was run yet.
    pub fn new(
        tool: Tool,
        machine: Machine,
        calibration: Calibration,
        device: DeviceInfo,
        options: Options,
        micro_benchmarks: Vec<MicroBenchmark>,
        started: String,
    ) -> Manifest {
        Manifest {
            schema_version: SCHEMA_VERSION,
            tool,
            machine,
            environment: None,
            health: None,
            device,
            calibration,
            options,
            findings: Findings::default(),
            spent: ResourceUse::default(),
            enforcing: None,
            started,
            resumed: Vec::new(),
            finished: None,
            status: Status::Running,
            micro_benchmarks,
        }
    }

    /// Whether it may be of a plan: each run has a number of its own, by which its records and what follows from them are
    /// found, and no run is a sequence of more patterns than any.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        let mut known = HashSet::new();
        for run in self.runs() {
            if !known.insert(run.id) {
                return Err(format!("there are two runs {}", run.id));
            }
            if run.reference.patterns().len() > MOST_PATTERNS {
                return Err(format!("run {} has more than {MOST_PATTERNS} patterns", run.id));
            }
        }
        Ok(())
    }

    /// Every run of the plan.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        runs_of(&self.micro_benchmarks)
    }

    /// Every run of the plan, to record its progress.
    pub fn runs_mut(&mut self) -> impl Iterator<Item = &mut Run> {
        self.micro_benchmarks.iter_mut().flat_map(|m| &mut m.experiments).flat_map(|e| &mut e.runs)
    }

    /// One run by its number.
    pub fn run_mut(&mut self, id: u32) -> Option<&mut Run> {
        self.runs_mut().find(|run| run.id == id)
    }
}

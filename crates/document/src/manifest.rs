//! `manifest.json`: the plan, the conditions and the progress of a measurement.

use std::collections::HashSet;

use flashscope_block::{Bytes, DeviceInfo, Errno, Nanos};
use flashscope_workload::pattern::Reference;
use flashscope_workload::steady_fill::SpareSpace;
use flashscope_workload::uflip::{PREPARATION, Setup, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::{Conditions, Environment, Health, HealthChange};
use crate::grid::{GridRule, Level};
use crate::methodology::{Findings, Length, Methodology};
use crate::rounds::Rounds;
pub use crate::tool::Tool;

/// The version of the result format. Version 2 added the lateness of IOs and runs of traces.
/// Version 3 added repeated runs, adaptive run lengths and tests in rounds. Version 4 added grids
/// of uniform writes. Version 5 added `shares_space_with` and `cut_from_ios` of a run. Version 6
/// added jobs and the origin of imported records. A higher version may add fields; readers refuse
/// versions that they do not know.
pub const SCHEMA_VERSION: u32 = 6;

/// The maximum number of patterns in the sequence of a run; flashscope uses up to three.
const MAX_PATTERNS: usize = 64;

/// The manifest of a result: everything except the IOs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// The version of the format, [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The program that measured.
    pub tool: Tool,
    /// The origin of the records, if another program measured them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportNotes>,
    /// The machine.
    pub machine: Machine,
    /// The machine settings during the measurement; for real drives only. Absent from results of
    /// earlier versions, which did not record them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
    /// The health of an NVMe drive; absent if it was unavailable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthAround>,
    /// The drive.
    pub device: DeviceInfo,
    /// The overhead of the harness, measured before the first run.
    pub calibration: Calibration,
    /// The configuration of the benchmark.
    pub options: Options,
    /// The findings of the preparation.
    #[serde(default)]
    pub findings: Findings,
    /// The cost of the measurement so far.
    #[serde(default)]
    pub spent: ResourceUse,
    /// The progress of enforcing a drive state; absent if none is in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enforcing: Option<Enforcing>,
    /// The start, as RFC 3339 in UTC.
    pub started: String,
    /// The times at which an interrupted measurement was resumed, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<String>,
    /// The end of the measurement; absent while it runs, or if it was interrupted.
    pub finished: Option<String>,
    /// The progress.
    pub status: Status,
    /// The plan, with the progress of each run.
    pub micro_benchmarks: Vec<MicroBenchmark>,
}

/// The health of a drive before and after a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HealthAround {
    /// The health before any access to the drive.
    pub before: Health,
    /// The health after the last run; absent until then.
    pub after: Option<Health>,
    /// The change between the two readings.
    pub change: Option<HealthChange>,
}

/// The origin of records that another program measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportNotes {
    /// The length of the windows over which latencies are averaged; absent if each IO has its own
    /// latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_ns: Option<Nanos>,
    /// The limitations of the records, as text.
    pub notes: Vec<String>,
}

/// The machine that measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// The CPU model.
    pub processor: String,
    /// Logical CPUs.
    pub processors: u32,
    /// Main memory.
    pub memory_bytes: Bytes,
    /// Kernel name and release.
    pub kernel: String,
}

/// The overhead of the harness. It is not subtracted from the measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// The smallest observed step of the clock.
    pub clock_resolution_ns: Nanos,
    /// The cost of reading the clock once.
    pub clock_cost_ns: Nanos,
    /// The cost of an IO on a drive with zero latency, including two clock readings.
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub harness_cost_ns: Option<f64>,
}

/// The configuration of a benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Options {
    /// The parameters of the micro-benchmarks.
    pub setup: Setup,
    /// The drive state enforced before the first run.
    pub state: State,
    /// The pause between runs; if it is adaptive, the initial pause.
    pub run_pause_ns: Nanos,
    /// The handling of an IO error.
    pub on_error: OnError,
    /// The quantities that the measurement determines itself.
    #[serde(default)]
    pub methodology: Methodology,
    /// The rule of a test in rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Rounds>,
    /// The rule for the runs of a grid of uniform writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<GridRule>,
    /// The spare space that a steady state assumes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare: Option<SpareSpace>,
}

/// The progress of enforcing a drive state, from which an interrupted enforcement resumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Enforcing {
    /// Completed IOs of the fill, from its start.
    pub ios: u64,
    /// The bytes of these IOs.
    pub bytes: Bytes,
}

/// The cost of a measurement, including drive states and pauses.
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
    /// Unchanged.
    Keep,
    /// Trimmed completely, without any write.
    Purged,
    /// Formatted completely by the drive (NVMe Format NVM with user data erase).
    Formatted,
    /// Sanitized completely by the drive (NVMe Sanitize with block erase).
    Sanitized,
    /// Written once from start to end.
    Sequential,
    /// Each part written once, in random order, in IOs of random size.
    Random,
    /// Trimmed, then written in an order that brings the flash into the steady state of uniform
    /// random writes.
    Steady,
}

/// The effect of an IO error on the rest of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// The run is marked as failed, and the next one begins.
    Continue,
    /// The run is marked as failed, and the plan ends.
    Stop,
}

/// The progress of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// In progress, or interrupted without notice (a crash or a power cut).
    Running,
    /// All possible runs of the plan were executed.
    Complete,
    /// Stopped by the user.
    Interrupted,
    /// Stopped by an error.
    Failed,
}

/// One micro-benchmark of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MicroBenchmark {
    /// The name, such as `granularity`.
    pub name: String,
    /// The display name.
    pub title: String,
    /// The question that the micro-benchmark answers.
    pub question: String,
    /// The name of the varying parameter in uFLIP, such as `IOSize`.
    pub parameter: String,
    /// The unit of the parameter's values.
    pub unit: Unit,
    /// An experiment for each baseline or mix.
    pub experiments: Vec<Experiment>,
}

/// A series of runs of the same reference pattern.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Experiment {
    /// The baseline or mix, such as `RW` or `SR/RW`.
    pub name: String,
    /// The runs by rising value of the parameter, with all repeats of each value.
    pub runs: Vec<Run>,
}

/// One execution of a reference pattern.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// The number in the result, from 1, in the order of the plan; `run` in the records.
    pub id: u32,
    /// The value of the parameter.
    pub value: i64,
    /// The number of the repeat of this value, from 1.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub repeat: u32,
    /// True if the drive state is enforced again before the run, because sequential writes have
    /// covered the whole target space since the last time (uFLIP section 4.1).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reset: bool,
    /// The earlier runs that wrote to the target space of this run. Runs share a space only if no
    /// other space had the required state, and the plan could not enforce that state again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares_space_with: Vec<u32>,
    /// The maximum number of IOs that the run would have in a larger target space; absent if the
    /// target space has room for all IOs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_from_ios: Option<u64>,
    /// The pattern to execute; for an adaptive run length, with the maximum number of IOs.
    pub reference: Reference,
    /// For an adaptive run length: the reason that the run ended. Absent before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<Length>,
    /// For a grid: the steadiness of the drive. Absent before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// The progress.
    pub progress: Progress,
    /// The conditions of the run; for real drives only, and absent before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Conditions>,
}

fn first() -> u32 {
    1
}

// Serde requires a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_first(repeat: &u32) -> bool {
    *repeat == 1
}

impl Run {
    /// Creates a run that was not executed yet.
    pub fn new(id: u32, value: i64, reference: Reference) -> Run {
        Run {
            id,
            value,
            repeat: first(),
            reset: false,
            shares_space_with: Vec::new(),
            cut_from_ios: None,
            reference,
            length: None,
            level: None,
            progress: Progress::Pending,
            conditions: None,
        }
    }
}

/// The progress of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", tag = "status")]
pub enum Progress {
    /// Not executed yet.
    Pending,
    /// Impossible on this drive.
    Skipped {
        /// The reason.
        reason: String,
    },
    /// Completed without an error.
    Done {
        /// IOs recorded.
        ios: u64,
    },
    /// Stopped early by the user; the records are kept.
    Interrupted {
        /// IOs recorded.
        ios: u64,
    },
    /// Ended by a failed IO; the records are kept.
    Failed {
        /// IOs recorded, including failed ones.
        ios: u64,
        /// The number of failed IOs.
        errors: u64,
        /// The error number of the first failed IO.
        errno: Errno,
        /// The error as text.
        error: String,
        /// The address of the first failed IO.
        offset_bytes: Bytes,
    },
}

impl Progress {
    /// Returns the number of IOs recorded.
    pub fn ios(&self) -> u64 {
        match self {
            Progress::Pending | Progress::Skipped { .. } => 0,
            Progress::Done { ios }
            | Progress::Interrupted { ios }
            | Progress::Failed { ios, .. } => *ios,
        }
    }
}

/// Returns all runs of a plan.
pub fn runs_of(plan: &[MicroBenchmark]) -> impl Iterator<Item = &Run> {
    plan.iter().flat_map(|m| &m.experiments).flat_map(|e| &e.runs)
}

/// Returns a run of a plan by its number, with its micro-benchmark and experiment.
pub fn find_run(plan: &[MicroBenchmark], id: u32) -> Option<(&MicroBenchmark, &Experiment, &Run)> {
    plan.iter().find_map(|benchmark| {
        benchmark.experiments.iter().find_map(|experiment| {
            let run = experiment.runs.iter().find(|run| run.id == id)?;
            Some((benchmark, experiment, run))
        })
    })
}

/// Returns an experiment of a plan by its names.
pub fn find_experiment<'a>(
    plan: &'a [MicroBenchmark],
    micro_benchmark: &str,
    experiment: &str,
) -> Option<&'a Experiment> {
    let benchmark = plan.iter().find(|found| found.name == micro_benchmark)?;
    benchmark.experiments.iter().find(|found| found.name == experiment)
}

impl MicroBenchmark {
    /// Returns true for the preparation, whose runs determine parameters of the later runs.
    pub fn prepares(&self) -> bool {
        self.name == PREPARATION.name
    }
}

impl Manifest {
    /// Creates the manifest of a plan without executed runs.
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
            imported: None,
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

    /// Checks the plan: each run has a unique number, which identifies its records, and no run has
    /// too many patterns.
    ///
    /// # Errors
    /// The reason that the plan is invalid.
    pub fn check(&self) -> Result<(), String> {
        let mut known = HashSet::new();
        for run in self.runs() {
            if !known.insert(run.id) {
                return Err(format!("two runs have the number {}", run.id));
            }
            if run.reference.patterns().len() > MAX_PATTERNS {
                return Err(format!("run {} has more than {MAX_PATTERNS} patterns", run.id));
            }
        }
        Ok(())
    }

    /// Returns all runs of the plan.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        runs_of(&self.micro_benchmarks)
    }

    /// Returns mutable references to all runs of the plan.
    pub fn runs_mut(&mut self) -> impl Iterator<Item = &mut Run> {
        self.micro_benchmarks.iter_mut().flat_map(|m| &mut m.experiments).flat_map(|e| &mut e.runs)
    }

    /// Returns a run by its number.
    pub fn run_mut(&mut self, id: u32) -> Option<&mut Run> {
        self.runs_mut().find(|run| run.id == id)
    }
    /// Returns the micro-benchmark that runs in rounds, and its rule.
    pub fn rounds(&self) -> Option<(&Rounds, &MicroBenchmark)> {
        let rule = self.options.rounds.as_ref()?;
        Some((rule, self.micro_benchmarks.iter().find(|test| test.name == rule.test)?))
    }

    /// Returns the values of a tracked experiment in rounds 1, 2, … up to the last round with a
    /// value. A round without a value is `None`.
    pub fn tracked_values(&self, experiment: &str) -> Vec<Option<f64>> {
        let Some((rule, test)) = self.rounds() else { return vec![] };
        let runs = test.experiments.iter().filter(|e| e.name == experiment).flat_map(|e| &e.runs);
        let totals = |id: u32| self.findings.rounds.iter().find(|totals| totals.run == id);
        let mut values: Vec<_> = runs.map(|run| totals(run.id)?.value(rule.metric)).collect();
        let measured = values.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        values.truncate(measured);
        values
    }

    /// Returns the bytes that the completed runs of the rounds before `round` wrote, estimated from
    /// the share of writes in each run.
    pub fn written_before(&self, round: i64) -> Bytes {
        let runs = self.rounds().into_iter().flat_map(|(_, test)| &test.experiments);
        let before = runs.flat_map(|e| &e.runs).filter(|run| run.value < round);
        let written = before.map(|run| match (&run.reference, &run.progress) {
            (Reference::Blend { pattern, reads_percent, .. }, Progress::Done { ios }) => {
                ios * u64::from(100 - reads_percent.min(&100)) / 100 * pattern.io_size.0
            }
            _ => 0,
        });
        Bytes(written.sum())
    }
}

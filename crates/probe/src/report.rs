//! `probe.json`: the findings about a drive, the experiments, and their cost.

use std::fmt;

use flashscope_block::{Bytes, DeviceInfo, Errno, Nanos, Op};
use flashscope_measure::FailedIo;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Budget, Contradiction, Event, Finding, Halt, Knowledge, Parameter, Signal, Unit};

/// `probe.json`: the findings about a drive, with their evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeReport {
    /// The version of the format.
    pub schema_version: u32,
    /// The version of flashscope that probed.
    pub flashscope: String,
    /// The start time as RFC 3339, in UTC.
    pub began: String,
    /// The description of the drive, known without measurement.
    pub drive: DeviceInfo,
    /// The seed of all random choices.
    #[schemars(range(max = u64::MAX))]
    pub seed: u64,
    /// The requested parameters; empty for all.
    pub wanted: Vec<Parameter>,
    /// The way the probe ended.
    pub status: ProbeStatus,
    /// The failed IOs, except those of operations that the drive does not support; absent if there were none. The runs with
    /// errors give no findings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<IoErrors>,
    /// The budget.
    pub budget: BudgetAmount,
    /// The part of the budget used.
    pub used: BudgetAmount,
    /// The statements about each parameter, known or not, in display order.
    pub findings: Vec<StatedFinding>,
    /// The charts, each once.
    pub signals: Vec<Signal>,
    /// The experiments in order.
    pub steps: Vec<Step>,
    /// A profile of a simulated drive with the findings, in TOML; absent if too little is known.
    #[schemars(length(max = 65536))]
    pub profile: Option<String>,
}

/// The way a probe ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProbeStatus {
    /// No further experiment would have given more information within the budget.
    Complete,
    /// The user interrupted the probe; the findings so far are included.
    Interrupted,
    /// The drive was removed or stopped answering; the findings so far are included.
    Failed,
}

/// IOs that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IoErrors {
    /// The number of failed IOs, including those in flight with the one that ended a run.
    pub ios: u64,
    /// The run of the first failed IO, whose records contain it.
    pub run: u32,
    /// The operation of the first failed IO.
    pub op: Op,
    /// The offset of the first failed IO.
    pub offset_bytes: Bytes,
    /// The length of the first failed IO.
    pub len_bytes: Bytes,
    /// The error of the first failed IO.
    pub errno: Errno,
    /// The error as text.
    pub error: String,
}

impl IoErrors {
    /// Creates a summary with a count of 0 and this first failed IO of a run.
    pub(crate) fn new(run: u32, first: FailedIo) -> IoErrors {
        let FailedIo { errno, op, offset, len } = first;
        let error = errno.to_string();
        IoErrors { ios: 0, run, op, offset_bytes: offset, len_bytes: len, errno, error }
    }
}

impl fmt::Display for IoErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let IoErrors { ios, run, op, offset_bytes, len_bytes, error, .. } = self;
        let first = if *ios == 1 { "" } else { ", the first" };
        let ios = if *ios == 1 { "1 IO".into() } else { format!("{ios} IOs") };
        write!(
            f,
            "{ios} failed{first}: {error} at a {op} of {len_bytes} at offset {} in run {run}",
            offset_bytes.0
        )
    }
}

/// An amount of bytes and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetAmount {
    /// Bytes written.
    pub bytes_written: Bytes,
    /// Time on the clock of the drive; absent if unlimited.
    pub time_ns: Option<Nanos>,
}

impl From<Budget> for BudgetAmount {
    fn from(budget: Budget) -> BudgetAmount {
        let time_ns = Some(budget.time).filter(|time| *time != Nanos::MAX);
        BudgetAmount { bytes_written: budget.bytes, time_ns }
    }
}

/// A finding with the description of its parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatedFinding {
    /// The parameter's name for readers.
    pub title: String,
    /// The exact meaning.
    pub summary: String,
    /// The source.
    pub source: String,
    /// The unit of its values.
    pub unit: Unit,
    /// The finding.
    pub finding: Finding,
    /// The charts that show it, as indices into the report's `signals`, from 0.
    pub signals: Vec<usize>,
}

impl StatedFinding {
    /// Describes a finding, and adds its charts to `signals`.
    fn new(finding: &Finding, signals: &mut Vec<Signal>) -> StatedFinding {
        let places = finding.signals.iter().map(|signal| place_in(signals, signal));
        StatedFinding::shown_by(finding.clone(), places.collect())
    }

    /// Describes a finding whose charts are at these indices in the report's `signals`.
    #[must_use]
    pub fn shown_by(finding: Finding, signals: Vec<usize>) -> StatedFinding {
        let spec = finding.parameter.spec();
        StatedFinding {
            title: spec.title.into(),
            summary: spec.summary.into(),
            source: spec.source.into(),
            unit: spec.unit,
            finding,
            signals,
        }
    }
}

/// An experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The name of the probe.
    pub probe: String,
    /// The experiment and its purpose.
    pub summary: String,
    /// The number of earlier attempts.
    pub attempt: u32,
    /// The runs.
    pub runs: Vec<RunSummary>,
    /// The parameters with new findings.
    pub found: Vec<Parameter>,
    /// The earlier findings that it contradicted, with the reasons.
    pub contradicted: Vec<Contradiction>,
}

/// A run; `records` holds its IOs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    /// The number of the run, from 1.
    pub run: u32,
    /// The purpose of the run.
    pub purpose: String,
    /// IOs answered.
    pub ios: u64,
    /// Bytes written.
    pub bytes_written: Bytes,
    /// The time from the first submission to the last answer.
    pub took_ns: Nanos,
}

/// Records the steps of an investigation.
#[derive(Debug, Default)]
pub struct Diary {
    steps: Vec<Step>,
}

impl Diary {
    /// Takes an event.
    pub fn tell(&mut self, event: &Event<'_>) {
        match event {
            Event::Begins { probe, attempt } => self.steps.push(Step {
                probe: probe.name.into(),
                summary: probe.summary.into(),
                attempt: *attempt,
                runs: Vec::new(),
                found: Vec::new(),
                contradicted: Vec::new(),
            }),
            Event::Found(finding) => {
                if let Some(step) = self.steps.last_mut().filter(|_| finding.is_known()) {
                    step.found.push(finding.parameter);
                }
            }
            Event::Contradicted { contradiction, .. } => {
                if let Some(step) = self.steps.last_mut() {
                    step.contradicted.push((*contradiction).clone());
                }
            }
        }
    }

    /// Takes a run that has ended.
    pub fn keep(&mut self, run: RunSummary) {
        if let Some(step) = self.steps.last_mut() {
            step.runs.push(run);
        }
    }

    /// Returns the experiments so far.
    pub fn steps(self) -> Vec<Step> {
        self.steps
    }
}

impl ProbeStatus {
    /// Returns the status for the halt that ended an investigation, if any.
    pub fn of(halt: Option<Halt>) -> ProbeStatus {
        match halt {
            Some(Halt::Gone) => ProbeStatus::Failed,
            Some(_) => ProbeStatus::Interrupted,
            None => ProbeStatus::Complete,
        }
    }
}

/// Describes all findings, and collects their charts.
pub fn stated(knowledge: &Knowledge) -> (Vec<StatedFinding>, Vec<Signal>) {
    let mut signals = Vec::new();
    let stated =
        knowledge.findings().map(|finding| StatedFinding::new(finding, &mut signals)).collect();
    (stated, signals)
}

/// Returns the index of a chart, after adding it if it is new.
fn place_in(signals: &mut Vec<Signal>, signal: &Signal) -> usize {
    signals.iter().position(|known| known == signal).unwrap_or_else(|| {
        signals.push(signal.clone());
        signals.len() - 1
    })
}

//! `probe.json`: what was found of a drive, how, and what it took.

use std::fmt;

use flashscope_block::{Bytes, DeviceInfo, Errno, Nanos, Op};
use flashscope_measure::FailedIo;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Budget, Contradiction, Event, Finding, Halt, Knowledge, Parameter, Signal, Unit};

/// `probe.json`: what was found of a drive, with what shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeReport {
    /// The version of the format.
    pub schema_version: u32,
    /// The version of flashscope that probed.
    pub flashscope: String,
    /// When it began, as in RFC 3339, in UTC.
    pub began: String,
    /// What is known about the drive without measuring it.
    pub drive: DeviceInfo,
    /// Seed of everything random.
    #[schemars(range(max = u64::MAX))]
    pub seed: u64,
    /// What was looked for; empty where that was everything.
    pub wanted: Vec<Parameter>,
    /// How it ended.
    pub status: ProbeStatus,
    /// The IOs that failed though the drive knows such IOs; absent where none did. What such a run was to
    /// tell is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<IoErrors>,
    /// What might be used up.
    pub budget: Spent,
    /// What was.
    pub used: Spent,
    /// What is stated of each parameter, known or not, in the order in which they are shown.
    pub findings: Vec<Stated>,
    /// The pictures that show it, each once.
    pub signals: Vec<Signal>,
    /// The experiments, in the order in which they were made.
    pub steps: Vec<Step>,
    /// A simulated drive with what was found, as a profile in TOML; absent where too little is known
    /// for one.
    #[schemars(length(max = 65536))]
    pub profile: Option<String>,
}

/// How a probe ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProbeStatus {
    /// Nothing was left that would have told more within the budget.
    Complete,
    /// It was interrupted: what was found up to then is here.
    Interrupted,
    /// The drive was removed, or did not answer any more: what was found up to then is here.
    Failed,
}

/// IOs that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IoErrors {
    /// How many, with those in flight with the one that ended a run.
    pub ios: u64,
    /// The run of the first, whose records hold it.
    pub run: u32,
    /// What the first was to do.
    pub op: Op,
    /// Where.
    pub offset_bytes: Bytes,
    /// With how many bytes.
    pub len_bytes: Bytes,
    /// Its error.
    pub errno: Errno,
    /// The error in words.
    pub error: String,
}

impl IoErrors {
    /// None yet, the first of which is such an IO of a run.
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

/// Bytes and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spent {
    /// Bytes that are written.
    pub bytes_written: Bytes,
    /// Time on the clock of the drive; absent where it has no bound.
    pub time_ns: Option<Nanos>,
}

impl From<Budget> for Spent {
    fn from(budget: Budget) -> Spent {
        let time_ns = Some(budget.time).filter(|time| *time != Nanos::MAX);
        Spent { bytes_written: budget.bytes, time_ns }
    }
}

/// What is stated of a parameter, with what it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stated {
    /// The parameter's name for readers.
    pub title: String,
    /// What exactly is meant.
    pub summary: String,
    /// Where it comes from.
    pub source: String,
    /// What its values count.
    pub unit: Unit,
    /// What is stated.
    pub finding: Finding,
    /// The pictures that show it, by their places in the report's `signals`, from 0.
    pub signals: Vec<usize>,
}

impl Stated {
    /// What is stated, with its pictures put to those that there are.
    fn new(finding: &Finding, signals: &mut Vec<Signal>) -> Stated {
        let places = finding.signals.iter().map(|signal| place_in(signals, signal));
        Stated::shown_by(finding.clone(), places.collect())
    }

    /// What is stated, shown by the pictures at these places in the report's `signals`.
    #[must_use]
    pub fn shown_by(finding: Finding, signals: Vec<usize>) -> Stated {
        let spec = finding.parameter.spec();
        Stated {
            title: spec.title.into(),
            summary: spec.summary.into(),
            source: spec.source.into(),
            unit: spec.unit,
            finding,
            signals,
        }
    }
}

/// One experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The name of the probe.
    pub probe: String,
    /// What it does.
    pub summary: String,
    /// How often it was run before.
    pub attempt: u32,
    /// Its runs.
    pub runs: Vec<RunSummary>,
    /// The parameters about which it stated something.
    pub found: Vec<Parameter>,
    /// What it found to be wrong of what had been found before, and why.
    pub contradicted: Vec<Contradiction>,
}

/// A run, whose IOs are in `records`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    /// Its number; they count from 1.
    pub run: u32,
    /// What it was for.
    pub purpose: String,
    /// IOs that were answered.
    pub ios: u64,
    /// Bytes that they wrote.
    pub bytes_written: Bytes,
    /// From the first submission to the last answer.
    pub took_ns: Nanos,
}

/// Puts down what happens in an investigation.
#[derive(Debug, Default)]
pub struct Diary {
    steps: Vec<Step>,
}

impl Diary {
    /// Something happens.
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

    /// A run has ended.
    pub fn keep(&mut self, run: RunSummary) {
        if let Some(step) = self.steps.last_mut() {
            step.runs.push(run);
        }
    }

    /// The experiments so far.
    pub fn steps(self) -> Vec<Step> {
        self.steps
    }
}

impl ProbeStatus {
    /// How an investigation ended, by what ended it.
    pub fn of(halt: Option<Halt>) -> ProbeStatus {
        match halt {
            Some(Halt::Gone) => ProbeStatus::Failed,
            Some(_) => ProbeStatus::Interrupted,
            None => ProbeStatus::Complete,
        }
    }
}

/// What is stated of each parameter, and the pictures that show it.
pub fn stated(knowledge: &Knowledge) -> (Vec<Stated>, Vec<Signal>) {
    let mut signals = Vec::new();
    let stated = knowledge.findings().map(|finding| Stated::new(finding, &mut signals)).collect();
    (stated, signals)
}

/// Where a picture is among others, to which it is put where it is not.
fn place_in(signals: &mut Vec<Signal>, signal: &Signal) -> usize {
    signals.iter().position(|known| known == signal).unwrap_or_else(|| {
        signals.push(signal.clone());
        signals.len() - 1
    })
}

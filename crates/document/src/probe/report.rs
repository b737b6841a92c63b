//! `probe.json`: the findings about a drive, the experiments, and their cost.

use std::fmt;

use flashscope_block::{Bytes, DeviceInfo, Errno, Nanos, Op};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Finding, Parameter, Signal, Unit};
use crate::conclusion::Conclusion;

/// `probe.json`: the findings about a drive, with their evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeReport {
    /// The version of the format.
    pub schema_version: u32,
    /// The conclusions, as sentences with their evidence, the most important first. Absent from
    /// documents of earlier versions of flashscope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conclusions: Vec<Conclusion>,
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
    /// The failed IOs, except those of operations that the drive does not support; absent if there
    /// were none. A run with a failed IO gives no findings.
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
    /// The number of failed IOs. The first failure ends a run; IOs in flight at that time count if
    /// they failed too.
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
    /// The charts that show the evidence, as indices into the report's `signals`, from 0.
    pub signals: Vec<usize>,
}

impl StatedFinding {
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

/// An earlier finding that an experiment relied on and refuted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Contradiction {
    /// The parameter of the earlier finding.
    pub parameter: Parameter,
    /// The evidence against it, as a sentence without a full stop.
    pub because: String,
}

/// An experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The name of the probe.
    pub probe: String,
    /// The experiment and its purpose.
    pub summary: String,
    /// The number of earlier attempts of the same probe.
    pub attempt: u32,
    /// The runs.
    pub runs: Vec<RunSummary>,
    /// The parameters with new findings.
    pub found: Vec<Parameter>,
    /// The earlier findings that the experiment contradicted, with the reasons.
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
    /// The time from the first submission to the last completion.
    pub took_ns: Nanos,
}

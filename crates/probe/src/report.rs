//! Builds the parts of `probe.json`.

use flashscope_block::Nanos;
use flashscope_document::probe::{
    BudgetAmount, Finding, IoErrors, ProbeStatus, RunSummary, Signal, StatedFinding, Step,
};
use flashscope_measure::FailedIo;

use crate::{Budget, Event, Halt, Knowledge};

impl From<Budget> for BudgetAmount {
    fn from(budget: Budget) -> BudgetAmount {
        let time_ns = Some(budget.time).filter(|time| *time != Nanos::MAX);
        BudgetAmount { bytes_written: budget.bytes, time_ns }
    }
}

/// Creates a summary with a count of 0 and this first failed IO of a run.
pub(crate) fn io_errors(run: u32, first: FailedIo) -> IoErrors {
    let FailedIo { errno, op, offset, len } = first;
    let error = errno.to_string();
    IoErrors { ios: 0, run, op, offset_bytes: offset, len_bytes: len, errno, error }
}

/// Records the steps of an investigation.
#[derive(Debug, Default)]
pub struct Diary {
    steps: Vec<Step>,
}

impl Diary {
    /// Records an event.
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

    /// Records a run that has ended.
    pub fn keep(&mut self, run: RunSummary) {
        if let Some(step) = self.steps.last_mut() {
            step.runs.push(run);
        }
    }

    /// Returns the steps so far.
    pub fn steps(self) -> Vec<Step> {
        self.steps
    }
}

/// Returns the status for the halt that ended an investigation, if any.
pub fn status_of(halt: Option<Halt>) -> ProbeStatus {
    match halt {
        Some(Halt::Gone) => ProbeStatus::Failed,
        Some(_) => ProbeStatus::Interrupted,
        None => ProbeStatus::Complete,
    }
}

/// Describes all findings, and collects their charts.
pub fn stated(knowledge: &Knowledge) -> (Vec<StatedFinding>, Vec<Signal>) {
    let mut signals = Vec::new();
    let stated = knowledge.findings().map(|finding| state(finding, &mut signals)).collect();
    (stated, signals)
}

/// Describes a finding, and adds its charts to `signals`.
fn state(finding: &Finding, signals: &mut Vec<Signal>) -> StatedFinding {
    let places = finding.signals.iter().map(|signal| place_in(signals, signal));
    StatedFinding::shown_by(finding.clone(), places.collect())
}

/// Returns the index of a chart, after adding it if it is new.
fn place_in(signals: &mut Vec<Signal>, signal: &Signal) -> usize {
    signals.iter().position(|known| known == signal).unwrap_or_else(|| {
        signals.push(signal.clone());
        signals.len() - 1
    })
}

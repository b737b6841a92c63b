//! The state of a command that runs, as its page shows it.

use flashscope_block::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conclusion::EvidenceUnit;

/// The state of a command that runs or has ended. Each state is complete: a client replaces its
/// view with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunningCommand {
    /// The command as the user typed it.
    pub command: String,
    /// The absolute path of the result that the command writes; absent if it writes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The state of the command.
    pub status: RunningStatus,
    /// The reason why the command failed; absent unless it failed.
    pub error: Option<String>,
    /// The time since the command began.
    pub elapsed_ns: Nanos,
    /// The current phase, in words; empty before the first.
    pub phase: String,
    /// The current part of the phase, in words; may be empty.
    pub now: String,
    /// The work done in the phase, in the unit of `total`, which depends on the phase.
    pub done: u64,
    /// The work in the phase; absent if unknown.
    pub total: Option<u64>,
    /// The estimated time until the phase ends; absent if unknown.
    pub left_ns: Option<Nanos>,
    /// The charts of the results so far.
    pub charts: Vec<RunningChart>,
    /// The latest results, the newest first.
    pub latest: Vec<RunningResult>,
    /// The notes for the user, in their order.
    pub notes: Vec<String>,
}

/// The state of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunningStatus {
    /// The command runs.
    Running,
    /// The command is done.
    Done,
    /// The user interrupted the command; it kept its results.
    Interrupted,
    /// The command failed.
    Failed,
    /// The command has ended, and its outcome is unknown.
    Ended,
}

/// A command that writes to the shelf.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShelfCommand {
    /// The number in addresses.
    pub id: u32,
    /// The name of the result.
    pub name: String,
    /// The state, without charts and results.
    pub state: RunningCommand,
}

/// The commands that write to the shelf, the oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShelfCommands {
    /// The commands.
    pub commands: Vec<ShelfCommand>,
}

/// A chart of results so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunningChart {
    /// The title.
    pub title: String,
    /// The label of the horizontal axis.
    pub x_axis: String,
    /// The unit of the vertical axis.
    pub unit: EvidenceUnit,
    /// The series, in the order of their first points.
    pub series: Vec<RunningSeries>,
}

/// A series of a chart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunningSeries {
    /// The name.
    pub name: String,
    /// The points as x and y, in the order in which they arrived.
    pub points: Vec<[f64; 2]>,
}

/// A result that a command reports while it runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunningResult {
    /// The description.
    pub what: String,
    /// The value.
    pub value: f64,
    /// The unit of the value.
    pub unit: EvidenceUnit,
}

/// The maximum number of points of a series. A longer series keeps every second point.
const MAX_POINTS: usize = 2000;

/// The maximum number of results in [`RunningCommand::latest`].
const MAX_LATEST: usize = 50;

/// The maximum number of notes.
const MAX_NOTES: usize = 100;

impl RunningCommand {
    /// Returns the state of a command that begins.
    pub fn new(command: String) -> RunningCommand {
        RunningCommand {
            command,
            output: None,
            status: RunningStatus::Running,
            error: None,
            elapsed_ns: Nanos(0),
            phase: String::new(),
            now: String::new(),
            done: 0,
            total: None,
            left_ns: None,
            charts: Vec::new(),
            latest: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Adds a point to a series of a chart, and creates the chart and the series if they are new.
    pub fn plot(
        &mut self,
        chart: &str,
        x_axis: &str,
        unit: EvidenceUnit,
        series: &str,
        at: [f64; 2],
    ) {
        let nth = self.charts.iter().position(|one| one.title == chart).unwrap_or_else(|| {
            let (title, x_axis) = (chart.into(), x_axis.into());
            self.charts.push(RunningChart { title, x_axis, unit, series: Vec::new() });
            self.charts.len() - 1
        });
        let all = &mut self.charts[nth].series;
        let nth = all.iter().position(|one| one.name == series).unwrap_or_else(|| {
            all.push(RunningSeries { name: series.into(), points: Vec::new() });
            all.len() - 1
        });
        let points = &mut all[nth].points;
        points.push(at);
        if points.len() > MAX_POINTS {
            let mut is_kept = false;
            points.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
        }
    }

    /// Adds a result, and drops the oldest result if there are more than 50.
    pub fn found(&mut self, result: RunningResult) {
        self.latest.insert(0, result);
        self.latest.truncate(MAX_LATEST);
    }

    /// Adds a note, and drops the oldest note if there are more than 100.
    pub fn note(&mut self, text: &str) {
        self.notes.push(text.into());
        let more = self.notes.len().saturating_sub(MAX_NOTES);
        self.notes.drain(..more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_series_get_thinner_and_keep_their_range() {
        let mut state = RunningCommand::new("simulate".into());
        for x in 0..10_000 {
            let at = [f64::from(x), 1.0];
            state.plot("Latency", "IOs", EvidenceUnit::Nanoseconds, "mean", at);
        }
        let points = &state.charts[0].series[0].points;
        assert!((MAX_POINTS / 2..=MAX_POINTS).contains(&points.len()), "{}", points.len());
        assert_eq!(points[0][0], 0.0);
        assert!(points.last().unwrap()[0] > 9_900.0);
        assert!(points.is_sorted_by(|a, b| a[0] < b[0]));
    }

    #[test]
    fn charts_and_lists_are_bounded() {
        let mut state = RunningCommand::new(String::new());
        for nth in 0..1000 {
            let what = nth.to_string();
            state.found(RunningResult { what, value: 0.0, unit: EvidenceUnit::Number });
            state.note(&nth.to_string());
        }
        assert_eq!((state.latest.len(), state.notes.len()), (MAX_LATEST, MAX_NOTES));
        assert_eq!(
            (state.latest[0].what.as_str(), state.notes.last().unwrap().as_str()),
            ("999", "999")
        );
        for (chart, series) in [("a", "x"), ("a", "y"), ("b", "x"), ("a", "x")] {
            state.plot(chart, "", EvidenceUnit::Number, series, [0.0; 2]);
        }
        let series: Vec<usize> = state.charts.iter().map(|chart| chart.series.len()).collect();
        assert_eq!(series, [2, 1]);
    }
}

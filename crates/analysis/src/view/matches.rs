use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flashscope_block::Record;
use flashscope_block::column::LATENCY;
use flashscope_document::Manifest;
use flashscope_document::manifest::Run;
use flashscope_query::{Expression, Row, Run as RowRun};
use flashscope_result::{Error, ResultFolder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::columns::RecordColumns;

/// The IOs of a result that match an expression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Matches {
    /// The expression in its canonical form.
    pub query: String,
    /// The IOs recorded in all runs.
    pub ios: u64,
    /// The IOs that match.
    pub matched: u64,
    /// The IOs of runs that the expression excludes as a whole, which were not read.
    pub excluded: u64,
    /// The IOs that were not read because of the limit of a request. They may match.
    pub unread: u64,
    /// The runs with IOs that match, in the order of the plan.
    pub runs: Vec<RunMatches>,
    /// The slowest IOs that match, the slowest first. The lists are columns of one table.
    pub slowest: MatchedIos,
}

/// The IOs of a run that match an expression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunMatches {
    /// The number of the run.
    pub run: u32,
    /// The micro-benchmark.
    pub micro_benchmark: String,
    /// The experiment.
    pub experiment: String,
    /// The value of the parameter.
    pub value: i64,
    /// The IOs in the run.
    pub ios: u64,
    /// The IOs that match.
    pub matched: u64,
    /// The longest response time of an IO that matches, in ns.
    pub slowest_ns: u64,
}

/// IOs of any runs, as columns of one table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MatchedIos {
    /// The run of each IO.
    pub run: Vec<u32>,
    /// The position of each IO in its run, from 0, in the order of completion.
    pub position: Vec<u64>,
    /// The columns of the records.
    #[serde(flatten)]
    pub columns: RecordColumns,
}

/// The limits of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatchLimits {
    /// The largest number of IOs to read.
    pub read: u64,
    /// The largest number of IOs to list.
    pub listed: usize,
}

/// Returns the runs that may have IOs that match, with their micro-benchmarks and experiments.
pub fn runs_to_search<'a>(
    manifest: &'a Manifest,
    expression: &'a Expression,
) -> impl Iterator<Item = (&'a str, &'a str, &'a Run)> {
    recorded(manifest).filter(|one| expression.decided_by(&row_run(*one)) != Some(false))
}

/// Finds the IOs of a result that match an expression. Calls `progress` with the number of IOs read
/// so far and the number of IOs to read.
///
/// # Errors
/// The records cannot be read.
pub fn matches(
    folder: &ResultFolder,
    manifest: &Manifest,
    expression: &Expression,
    limits: MatchLimits,
    mut progress: impl FnMut(u64, u64),
) -> Result<Matches, Error> {
    let ios = |runs: &mut dyn Iterator<Item = (&str, &str, &Run)>| {
        runs.map(|(_, _, run)| run.progress.ios()).fold(0, u64::saturating_add)
    };
    let (all, to_read) =
        (ios(&mut recorded(manifest)), ios(&mut runs_to_search(manifest, expression)));
    let total = to_read.min(limits.read);
    let (mut read, mut slowest, mut runs) = (0, Slowest::new(limits.listed), Vec::new());
    for one in runs_to_search(manifest, expression) {
        let rows = folder.records(one.2)?;
        let window = 0..rows.total().min(limits.read.saturating_sub(read));
        let mut found = RunMatches::none(one, rows.total());
        rows.for_each_in(window.clone(), |position, record| {
            let row = Row::new(row_run(one), position, record);
            if expression.matches(&row) {
                found.matched += 1;
                found.slowest_ns = found.slowest_ns.max(record.latency.0);
                slowest.push(one.2.id, position, record);
            }
        })?;
        read += window.end;
        progress(read.min(total), total);
        if found.matched > 0 {
            runs.push(found);
        }
    }
    Ok(Matches {
        query: expression.to_string(),
        ios: all,
        matched: runs.iter().map(|run| run.matched).sum(),
        excluded: all - to_read,
        unread: to_read.saturating_sub(read),
        runs,
        slowest: slowest.finish(),
    })
}

fn recorded(manifest: &Manifest) -> impl Iterator<Item = (&str, &str, &Run)> {
    let experiments = manifest.micro_benchmarks.iter().flat_map(|benchmark| {
        benchmark.experiments.iter().map(|experiment| (benchmark.name.as_str(), experiment))
    });
    let runs = experiments.flat_map(|(benchmark, experiment)| {
        experiment.runs.iter().map(move |run| (benchmark, experiment.name.as_str(), run))
    });
    runs.filter(|(_, _, run)| run.progress.ios() > 0)
}

const fn row_run<'a>((micro_benchmark, experiment, run): (&'a str, &'a str, &Run)) -> RowRun<'a> {
    RowRun { number: run.id, micro_benchmark, experiment }
}

impl RunMatches {
    fn none((micro_benchmark, experiment, run): (&str, &str, &Run), ios: u64) -> RunMatches {
        RunMatches {
            run: run.id,
            micro_benchmark: micro_benchmark.into(),
            experiment: experiment.into(),
            value: run.value,
            ios,
            matched: 0,
            slowest_ns: 0,
        }
    }
}

/// An IO by its response time and its order, with its run, its position and its columns.
type RankedIo = (i64, Reverse<u64>, u32, u64, Vec<i64>);

/// The slowest IOs; of equally slow IOs, the first.
struct Slowest {
    count: usize,
    pushed: u64,
    /// The fastest is removed first.
    kept: BinaryHeap<Reverse<RankedIo>>,
}

impl Slowest {
    const fn new(count: usize) -> Slowest {
        Slowest { count, pushed: 0, kept: BinaryHeap::new() }
    }

    fn push(&mut self, run: u32, position: u64, record: &Record) {
        self.pushed += 1;
        let values = record.values();
        let latency = values[LATENCY];
        let is_full = self.kept.len() >= self.count;
        if is_full && self.kept.peek().is_none_or(|Reverse(fastest)| fastest.0 >= latency) {
            return;
        }
        if is_full {
            self.kept.pop();
        }
        self.kept.push(Reverse((latency, Reverse(self.pushed), run, position, values.to_vec())));
    }

    fn finish(self) -> MatchedIos {
        let mut ios = MatchedIos::default();
        // Ascending by `Reverse`, so the slowest comes first.
        for Reverse((_, _, run, position, values)) in self.kept.into_sorted_vec() {
            ios.run.push(run);
            ios.position.push(position);
            ios.columns.push_values(&values);
        }
        ios
    }
}

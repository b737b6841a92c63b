use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use flashscope_block::Nanos;
use flashscope_block::column::{ERRNO, LATENCY, SUBMITTED};
use flashscope_result::activity::Activity;
use flashscope_result::{Error, ResultFolder, Rows};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::activities::activities;
use super::clamp;
use super::columns::RecordColumns;

/// Successive IOs of a run, exactly as recorded, with the internal activities of the drive at that
/// time.
///
/// The lists are columns of one table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ios {
    /// The number of the run.
    pub run: u32,
    /// The number of IOs in the run.
    pub ios: u64,
    /// The position in the run of the first of these IOs, from 0, in the order of completion.
    pub from: u64,
    /// The columns of the records.
    #[serde(flatten)]
    pub columns: RecordColumns,
    /// The internal activities of the drive while any of these IOs was in flight; for simulated
    /// drives only.
    pub activities: Vec<Activity>,
}

pub(super) fn ios(
    folder: &ResultFolder,
    run: u32,
    rows: &Rows,
    window: Range<u64>,
) -> Result<Ios, Error> {
    let window = clamp(&window, rows.total());
    let mut in_flight = Nanos::MAX..Nanos(0);
    let mut ios = Ios { run, ios: rows.total(), from: window.start, ..Ios::default() };
    rows.for_each_in(window, |_, record| {
        ios.columns.push(record);
        in_flight.start = in_flight.start.min(record.submitted);
        in_flight.end = in_flight.end.max(record.completed());
    })?;
    if in_flight.start <= in_flight.end {
        ios.activities = activities(folder, run, in_flight)?;
    }
    Ok(ios)
}

impl Ios {
    /// Returns the result of [`super::Viewer::slowest`] for `count` and `around`, from an earlier
    /// result `all`. Both arguments must be at most as large as in the earlier call.
    pub fn fewer(all: &[Ios], count: usize, around: u64) -> Vec<Ios> {
        let mut slowest = Slowest::new(count);
        for ios in all {
            for (position, (latency, errno)) in
                (ios.from..).zip(ios.columns[LATENCY].iter().zip(&ios.columns[ERRNO]))
            {
                slowest.push(position, (*errno == 0).then_some(latency.cast_unsigned()));
            }
        }
        let windows = slowest.windows(around);
        windows.iter().filter_map(|window| all.iter().find_map(|ios| ios.part(window))).collect()
    }

    fn end(&self) -> u64 {
        self.from + self.columns[LATENCY].len() as u64
    }

    /// Returns the part of these IOs in `window`, if they include its first one.
    fn part(&self, window: &Range<u64>) -> Option<Ios> {
        if !(self.from..self.end()).contains(&window.start) {
            return None;
        }
        let [skip, end] = [window.start, window.end.min(self.end())]
            .map(|position| usize::try_from(position - self.from).unwrap_or(usize::MAX));
        let columns = self.columns.part(skip..end);
        let times = |column| columns[column].iter().map(|time| time.cast_unsigned());
        let completed =
            times(SUBMITTED).zip(times(LATENCY)).map(|(at, took)| at.saturating_add(took));
        let in_flight = times(SUBMITTED).min()?..completed.max()?;
        let meanwhile = |activity: &&Activity| {
            activity.start_ns.0 < in_flight.end && activity.end_ns.0 > in_flight.start
        };
        Some(Ios {
            run: self.run,
            ios: self.ios,
            from: window.start,
            activities: self.activities.iter().filter(meanwhile).cloned().collect(),
            columns,
        })
    }
}

/// Returns windows around the `count` slowest IOs, in order and without overlaps.
pub(super) fn around_slowest(
    rows: &Rows,
    count: usize,
    around: u64,
) -> Result<Vec<Range<u64>>, Error> {
    let mut slowest = Slowest::new(count);
    let mut position = 0;
    rows.for_each_latency(0..u64::MAX, |latency| {
        slowest.push(position, latency);
        position += 1;
    })?;
    Ok(slowest.windows(around))
}

/// The slowest IOs; of equally slow IOs, the first.
struct Slowest {
    count: usize,
    /// Response times with positions; the fastest is removed first.
    kept: BinaryHeap<(Reverse<u64>, u64)>,
}

impl Slowest {
    fn new(count: usize) -> Slowest {
        Slowest { count, kept: BinaryHeap::new() }
    }

    /// Adds the IO at `position`; `latency` is `None` if it failed.
    fn push(&mut self, position: u64, latency: Option<u64>) {
        let Some(latency) = latency else { return };
        self.kept.push((Reverse(latency), position));
        if self.kept.len() > self.count {
            self.kept.pop();
        }
    }

    /// Returns windows of up to `around` positions on each side, in order and without overlaps.
    fn windows(self, around: u64) -> Vec<Range<u64>> {
        let mut positions: Vec<u64> = self.kept.into_iter().map(|(_, position)| position).collect();
        positions.sort_unstable();
        let mut windows: Vec<Range<u64>> = Vec::new();
        for position in positions {
            let window = position.saturating_sub(around)..position + around + 1;
            match windows.last_mut().filter(|last| last.end >= window.start) {
                Some(last) => last.end = window.end,
                None => windows.push(window),
            }
        }
        windows
    }
}

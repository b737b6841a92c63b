//! Views of records for a screen. The size of a view is limited, whatever the size of the run.

mod activities;
mod colours;
mod columns;
mod histogram;
mod ios;
mod matches;
mod outline;
mod overview;
mod running;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use colours::{ColourRow, Colours};
pub use columns::RecordColumns;
use flashscope_block::Nanos;
use flashscope_document::Manifest;
use flashscope_document::manifest::{Run, find_experiment};
use flashscope_result::activity::Activity;
use flashscope_result::{Error, ResultFolder, Rows};
pub use histogram::{LatencyBin, LatencyHistogram};
pub use ios::Ios;
pub use matches::{MatchLimits, MatchedIos, Matches, RunMatches, matches, runs_to_search};
pub use outline::{OUTLINE_BUCKETS, Outline};
pub use overview::{Overview, Overviews};
pub use running::RunningMeans;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Facts;

/// A view of a window of a run, which the page shows as a chart or a table.
pub trait RunView: Serialize + JsonSchema + Send + 'static {
    /// The name in addresses of the server and in pages. The view has the fields `run`, `from` and
    /// `to`, which name the IOs that it covers.
    const NAME: &'static str;
    /// The summary in the description of the API.
    const SUMMARY: &'static str;

    /// Computes the view.
    ///
    /// # Errors
    /// The records cannot be read.
    fn of(window: RunWindow) -> Result<Self, Error>
    where
        Self: Sized;
}

/// A window of a run.
pub struct RunWindow<'a> {
    /// The number of the run.
    pub run: u32,
    /// The records of the run.
    pub rows: &'a Rows,
    /// The positions in the window, none beyond the end of the run.
    pub window: Range<u64>,
    /// The number of threads to use.
    pub threads: usize,
}

/// Receives the type of every view of a run.
pub trait RunViewVisitor {
    /// Receives a view.
    fn visit<T: RunView>(&mut self);
}

/// Generates the list of views. The endpoints of the server, the data in a page and the types of
/// the page follow from it.
macro_rules! run_views {
    ($($name:ident: $view:ty),+ $(,)?) => {
        /// The views of a run.
        #[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
        pub struct RunViews {
            $(#[doc = concat!("The view `", stringify!($name), "`.")]
            pub $name: $view,)+
        }

        /// The number of views of a run.
        pub const RUN_VIEWS: u64 = [$(stringify!($name)),+].len() as u64;

        /// Calls `visitor` with each view of a run.
        pub fn visit_run_views(visitor: &mut impl RunViewVisitor) {
            $(visitor.visit::<$view>();)+
        }
    };
}

run_views![histogram: LatencyHistogram];

/// Computes the views of one result.
///
/// Windows are positions of IOs in a run, from 0, in the order of completion. The part of a window
/// beyond the end of the run is omitted, so `0..u64::MAX` is the whole run. A view of a run or an
/// experiment without records is `None`.
#[derive(Debug, Clone, Copy)]
pub struct Viewer<'a> {
    /// The folder of the records.
    pub folder: &'a ResultFolder,
    /// The manifest of the result.
    pub manifest: &'a Manifest,
    /// The facts about the result.
    pub facts: &'a Facts,
    /// The cached overviews of long runs.
    pub overviews: &'a Overviews,
}

impl Viewer<'_> {
    /// Returns a window of a run as a chart of `buckets` parts, with at most three IOs of each.
    /// For a whole run, it includes the running mean.
    pub fn outline(
        &self,
        run: u32,
        window: Range<u64>,
        buckets: u64,
    ) -> Result<Option<Outline>, Error> {
        let Some(rows) = self.rows(run)? else { return Ok(None) };
        let overview = match outline::needs_overview(&rows, &window, buckets) {
            true => self.overviews.of(run, &rows)?,
            false => None,
        };
        let facts = self.facts.runs.iter().find(|facts| facts.run == run);
        let ignored = facts.map_or(0, |facts| facts.ignored);
        outline::outline(run, &rows, overview.as_deref(), window, buckets, ignored).map(Some)
    }

    /// Returns a view of [`RunViews`] of a window of a run.
    pub fn run_view<T: RunView>(&self, run: u32, window: Range<u64>) -> Result<Option<T>, Error> {
        let Some(rows) = self.rows(run)? else { return Ok(None) };
        let window = clamp(&window, rows.total());
        T::of(RunWindow { run, rows: &rows, window, threads: self.overviews.threads() }).map(Some)
    }

    /// Returns every IO in a window of a run, with the internal activities of the drive at that
    /// time. If there are more than 1,000 activities, returns only the longest.
    pub fn ios(&self, run: u32, window: Range<u64>) -> Result<Option<Ios>, Error> {
        let Some(rows) = self.rows(run)? else { return Ok(None) };
        ios::ios(self.folder, run, &rows, window).map(Some)
    }

    /// Returns the internal activities of the drive in `window`, in the order of their start.
    /// `window` counts from the start of the run. If there are more than 1,000 activities, returns
    /// only the longest. For simulated drives only.
    pub fn activities(
        &self,
        run: u32,
        window: Range<Nanos>,
    ) -> Result<Option<Vec<Activity>>, Error> {
        if self.recorded(run).is_none() {
            return Ok(None);
        }
        activities::activities(self.folder, run, window).map(Some)
    }

    /// Returns the `count` slowest IOs of a run and up to `around` positions on each side;
    /// overlapping neighbourhoods are joined.
    pub fn slowest(&self, run: u32, count: usize, around: u64) -> Result<Vec<Ios>, Error> {
        let Some(rows) = self.rows(run)? else { return Ok(vec![]) };
        let windows = ios::around_slowest(&rows, count, around)?;
        windows.into_iter().map(|window| ios::ios(self.folder, run, &rows, window)).collect()
    }

    /// Returns a window of every run of an experiment, in at most `columns` columns.
    ///
    /// If a column stands for many IOs, the window begins up to 255 IOs earlier.
    pub fn colours(
        &self,
        micro_benchmark: &str,
        experiment: &str,
        window: Range<u64>,
        columns: u64,
    ) -> Result<Option<Colours>, Error> {
        let plan = &self.manifest.micro_benchmarks;
        let Some(found) = find_experiment(plan, micro_benchmark, experiment) else {
            return Ok(None);
        };
        let mut runs = Vec::new();
        for run in found.runs.iter().filter(|run| run.progress.ios() > 0) {
            runs.push((run.id, self.folder.records(run)?));
        }
        if runs.is_empty() {
            return Ok(None);
        }
        let scale = colours::Scale::of(self.facts, &found.runs);
        let mut colours = colours::Painter::new(&runs, window, columns, scale);
        for (run, rows) in &runs {
            // Computing an overview takes three times as long as reading the response times.
            let overview = self.overviews.kept(*run, rows);
            colours.row(*run, rows, overview.as_deref())?;
        }
        Ok(Some(colours.finish(micro_benchmark, experiment)))
    }

    /// Returns the outlines of all runs with records, each of `buckets` parts.
    pub fn outlines(&self, buckets: u64) -> Result<Vec<Outline>, Error> {
        let runs = self.manifest.runs().filter(|run| run.progress.ios() > 0);
        let outlines = runs.map(|run| self.outline(run.id, 0..u64::MAX, buckets));
        outlines.filter_map(Result::transpose).collect()
    }

    fn rows(&self, run: u32) -> Result<Option<Rows>, Error> {
        self.recorded(run).map(|run| self.folder.records(run)).transpose()
    }

    /// Returns a run, if it has records.
    fn recorded(&self, id: u32) -> Option<&Run> {
        let found = self.manifest.runs().find(|run| run.id == id);
        found.filter(|run| run.progress.ios() > 0)
    }
}

/// Limits `window` to a run of `ios` IOs.
fn clamp(window: &Range<u64>, ios: u64) -> Range<u64> {
    let from = window.start.min(ios);
    from..window.end.clamp(from, ios)
}

use std::ops::Range;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flashscope_block::Nanos;
use flashscope_document::manifest::Run;
use flashscope_result::{Error, Rows};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clamp;
use super::overview::{CHUNK, Overview, whole_chunks};
use crate::Facts;

/// The colour analysis of an experiment (uFLIP's "experiment color analysis"), with a row per run.
/// A column is one IO, or several successive IOs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Colours {
    /// The micro-benchmark.
    pub micro_benchmark: String,
    /// The experiment.
    pub experiment: String,
    /// The position of the first IO shown.
    pub from: u64,
    /// The position after the last IO shown.
    pub to: u64,
    /// The number of successive IOs per column, which shows the slowest of them.
    pub ios_per_column: u64,
    /// The response time of code 1: the fastest counted IO of the experiment. It does not depend on
    /// the window, so that a colour keeps its meaning; faster IOs have the same code.
    pub low_ns: f64,
    /// The response time of code 255: the slowest counted IO of the experiment.
    pub high_ns: f64,
    /// The runs, in the order of the plan.
    pub rows: Vec<ColourRow>,
}

/// A run as a row of colours.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ColourRow {
    /// The number of the run.
    pub run: u32,
    /// The number of IOs in the run.
    pub ios: u64,
    /// A byte per column, in base64. Codes 1 to 255 divide the logarithm of the response time
    /// evenly between `low_ns` and `high_ns`; 0 is a column in which every IO failed.
    pub codes: String,
}

impl Colours {
    /// Returns the colours at half the resolution: each pair of columns becomes one column, which
    /// shows the slower of the two. A last column without a partner remains.
    pub fn halved(&self) -> Colours {
        let rows = self.rows.iter().map(|row| {
            // Invalid base64 cannot come from this crate.
            let codes = BASE64_STANDARD.decode(&row.codes).unwrap_or_default();
            let codes: Vec<u8> =
                codes.chunks(2).map(|pair| pair.iter().copied().max().unwrap_or(0)).collect();
            ColourRow { codes: BASE64_STANDARD.encode(codes), ..row.clone() }
        });
        Colours {
            micro_benchmark: self.micro_benchmark.clone(),
            experiment: self.experiment.clone(),
            ios_per_column: self.ios_per_column.saturating_mul(2),
            rows: rows.collect(),
            ..*self
        }
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> u64 {
        (self.to - self.from).div_ceil(self.ios_per_column.max(1))
    }
}

/// The response times of codes 1 and 255.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    #[allow(clippy::cast_precision_loss)] // far below 2⁵³ ns
    pub(super) fn of(facts: &Facts, runs: &[Run]) -> Scale {
        let of_run = |run: &Run| facts.runs.iter().find(|facts| facts.run == run.id);
        let found = || runs.iter().filter_map(of_run).map(|facts| &facts.latency_ns);
        let low = found().map(|latency| latency.min).min().unwrap_or(1).max(1) as f64;
        let high = found().map(|latency| latency.max).max().unwrap_or(1) as f64;
        Scale { low, high: high.max(low) }
    }

    // The code is between 1 and 255.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn code(self, latency: Nanos) -> u8 {
        let range = (self.high / self.low).ln();
        let position = (latency.0 as f64 / self.low).max(1.0).ln() / range;
        if range > 0.0 { 1 + (254.0 * position.min(1.0)).round() as u8 } else { 1 }
    }
}

/// Fills the rows one by one.
pub(super) struct Painter {
    window: Range<u64>,
    ios_per_column: u64,
    scale: Scale,
    rows: Vec<ColourRow>,
}

impl Painter {
    pub(super) fn new(
        runs: &[(u32, Rows)],
        window: Range<u64>,
        columns: u64,
        scale: Scale,
    ) -> Painter {
        let longest = runs.iter().map(|(_, rows)| rows.total()).max().unwrap_or(0);
        let mut window = clamp(&window, longest);
        let count = window.end - window.start;
        let mut ios_per_column = count.div_ceil(columns.max(1)).max(1);
        if let Some(whole) = whole_chunks(ios_per_column) {
            window.start = window.start / CHUNK * CHUNK;
            let count = window.end - window.start;
            ios_per_column = whole_chunks(count.div_ceil(columns.max(1))).unwrap_or(whole);
        }
        Painter { window, ios_per_column, scale, rows: vec![] }
    }

    pub(super) fn row(
        &mut self,
        run: u32,
        rows: &Rows,
        overview: Option<&Overview>,
    ) -> Result<(), Error> {
        let window = clamp(&self.window, rows.total());
        let mut columns = Columns::new(self.ios_per_column, self.scale);
        let mut read = window.clone();
        if let Some(overview) = overview.filter(|_| whole_chunks(self.ios_per_column).is_some()) {
            let covered = overview.covered(&window);
            for (_, chunk) in overview.chunks(&window) {
                columns.push(CHUNK, chunk.slowest_answered);
            }
            // The window begins at a chunk boundary.
            read = covered.end..window.end;
        }
        rows.for_each_latency(read, |latency| columns.push(1, latency.map(Nanos)))?;
        let codes = BASE64_STANDARD.encode(columns.finish());
        self.rows.push(ColourRow { run, ios: rows.total(), codes });
        Ok(())
    }

    pub(super) fn finish(self, micro_benchmark: &str, experiment: &str) -> Colours {
        Colours {
            micro_benchmark: micro_benchmark.into(),
            experiment: experiment.into(),
            from: self.window.start,
            to: self.window.end,
            ios_per_column: self.ios_per_column,
            low_ns: self.scale.low,
            high_ns: self.scale.high,
            rows: self.rows,
        }
    }
}

/// The codes of a row.
struct Columns {
    ios_per_column: u64,
    scale: Scale,
    codes: Vec<u8>,
    slowest: Option<Nanos>,
    ios: u64,
}

impl Columns {
    fn new(ios_per_column: u64, scale: Scale) -> Columns {
        Columns { ios_per_column, scale, codes: vec![], slowest: None, ios: 0 }
    }

    /// Adds `ios` IOs with the slowest of them; they do not extend beyond the end of a column.
    #[inline]
    fn push(&mut self, ios: u64, slowest: Option<Nanos>) {
        self.slowest = self.slowest.max(slowest);
        self.ios += ios;
        if self.ios >= self.ios_per_column {
            self.end_column();
        }
    }

    fn end_column(&mut self) {
        self.codes.push(self.slowest.take().map_or(0, |slowest| self.scale.code(slowest)));
        self.ios = 0;
    }

    fn finish(mut self) -> Vec<u8> {
        if self.ios > 0 {
            self.end_column();
        }
        self.codes
    }
}

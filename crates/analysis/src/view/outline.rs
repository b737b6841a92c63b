use std::ops::Range;

use flashscope_block::{Bytes, Errno, Nanos, Op, Record};
use flashscope_result::{Error, Rows};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clamp;
use super::overview::{CHUNK, Extremes, OutlinePoint, Overview, whole_chunks};
use super::running::{RunningMeanBuilder, RunningMeans};

/// The number of buckets (segments with equally many IOs) in the chart of a whole run in a
/// report.
pub const OUTLINE_BUCKETS: u64 = 400;

/// A run, or a window of it, reduced for a chart. It has all IOs in order of completion. If there
/// are too many, it has the fastest, the slowest and the first failed IO of each segment of
/// successive IOs. The IOs shown are measured IOs, not averages.
///
/// The lists are columns of one table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outline {
    /// The number of the run.
    pub run: u32,
    /// The number of IOs in the run.
    pub ios: u64,
    /// The position in the run of each IO shown, from 0.
    pub index: Vec<u64>,
    /// The time of submission of each IO, from the start of the run.
    pub submitted_ns: Vec<u64>,
    /// The response time of each IO.
    pub latency_ns: Vec<u64>,
    /// The offset of each IO.
    pub offset_bytes: Vec<u64>,
    /// The operation of each IO: 0 read, 1 write, 2 trim, 3 flush.
    pub op: Vec<u8>,
    /// The error of each IO, 0 for success.
    pub errno: Vec<i32>,
    /// The running mean, if the outline is that of a whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_means: Option<RunningMeans>,
}

/// Returns the length of buckets such that there are at most `buckets` of them in `count` IOs;
/// 1 if all IOs can be shown.
fn bucket_length(count: u64, buckets: u64) -> u64 {
    // A bucket without failures shows two IOs. All IOs fit if there are at most two per bucket.
    if count <= buckets.saturating_mul(2) {
        return 1;
    }
    let length = count.div_ceil(buckets.max(1));
    // The first bucket may begin within a chunk.
    let whole = whole_chunks((count + CHUNK).div_ceil(buckets.max(1)));
    whole.filter(|_| whole_chunks(length).is_some()).unwrap_or(length)
}

impl Outline {
    /// Reduces this outline of a whole run from `buckets` buckets to at most `fewer` buckets.
    /// Each new bucket consists of complete old buckets. The result is therefore the same as
    /// from the records.
    pub fn coarser(&self, buckets: u64, fewer: u64) -> Outline {
        let made = bucket_length(self.ios, buckets);
        let bucket = match bucket_length(self.ios, fewer) {
            1 => 1,
            _ => self.ios.div_ceil(fewer.max(1)).next_multiple_of(made),
        };
        let mut outliner = Outliner {
            outline: Outline {
                run: self.run,
                ios: self.ios,
                running_means: self.running_means.clone(),
                ..Outline::default()
            },
            bucket,
            end: 0,
            extremes: Extremes::default(),
            running: None,
        };
        for shown in self.shown() {
            outliner.push_shown(shown);
        }
        outliner.finish()
    }

    fn shown(&self) -> impl Iterator<Item = OutlinePoint> {
        (0..self.index.len()).filter_map(|i| {
            Some(OutlinePoint {
                index: self.index[i],
                submitted: Nanos(self.submitted_ns[i]),
                latency: Nanos(self.latency_ns[i]),
                offset: Bytes(self.offset_bytes[i]),
                op: Op::from_code(self.op[i])?,
                result: if self.errno[i] == 0 { Ok(()) } else { Err(Errno(self.errno[i])) },
            })
        })
    }
}

/// Returns true if the outline of a window would use an overview.
pub(super) fn needs_overview(rows: &Rows, window: &Range<u64>, buckets: u64) -> bool {
    let window = clamp(window, rows.total());
    whole_chunks(bucket_length(window.end - window.start, buckets)).is_some()
}

/// Returns the outline of a window of a run whose statistics ignore the first `ignored` IOs. The
/// result does not depend on the overview.
pub(super) fn outline(
    run: u32,
    rows: &Rows,
    overview: Option<&Overview>,
    window: Range<u64>,
    buckets: u64,
    ignored: u64,
) -> Result<Outline, Error> {
    let window = clamp(&window, rows.total());
    let bucket = bucket_length(window.end - window.start, buckets);
    let first = match whole_chunks(bucket) {
        Some(_) => window.start / CHUNK * CHUNK,
        None => window.start,
    };
    let overview = overview.filter(|_| whole_chunks(bucket).is_some());
    let step = whole_chunks(bucket).map_or(1, |_| CHUNK);
    let whole = window == (0..rows.total());
    let mut outliner = Outliner {
        outline: Outline { run, ios: rows.total(), ..Outline::default() },
        bucket,
        end: first + bucket,
        extremes: Extremes::default(),
        running: whole
            .then(|| RunningMeanBuilder::of(rows, ignored, step, overview.is_some()))
            .transpose()?,
    };
    let covered = match overview {
        Some(overview) => overview.covered(&window),
        None => window.start..window.start,
    };
    rows.for_each_in(window.start..covered.start, |index, record| outliner.push(index, record))?;
    for (index, chunk) in overview.iter().flat_map(|overview| overview.chunks(&covered)) {
        outliner.push_chunk(index, chunk);
    }
    rows.for_each_in(covered.end..window.end, |index, record| outliner.push(index, record))?;
    Ok(outliner.finish())
}

struct Outliner {
    outline: Outline,
    bucket: u64,
    /// The end of the current bucket.
    end: u64,
    extremes: Extremes,
    /// The running mean, for a whole run.
    running: Option<RunningMeanBuilder>,
}

impl Outliner {
    #[inline]
    fn push(&mut self, index: u64, record: &Record) {
        if index == self.end {
            self.end_bucket();
        }
        self.extremes.push(index, record);
        if let Some(running) = &mut self.running {
            running.push(record.result.is_ok().then_some(record.latency.0));
        }
    }

    /// Adds a chunk, which does not extend beyond the end of a bucket.
    fn push_chunk(&mut self, index: u64, chunk: &Extremes) {
        if index == self.end {
            self.end_bucket();
        }
        self.extremes.join(chunk);
        if let Some(running) = &mut self.running {
            let ios = CHUNK.min(self.outline.ios - index);
            running.push_chunk(ios, &chunk.answered);
        }
    }

    /// Adds an IO of an earlier outline, which omits the IOs in between.
    fn push_shown(&mut self, shown: OutlinePoint) {
        while shown.index >= self.end {
            self.end_bucket();
        }
        self.extremes.join(&Extremes::of(shown));
    }

    fn end_bucket(&mut self) {
        self.end += self.bucket;
        for shown in std::mem::take(&mut self.extremes).shown() {
            self.outline.index.push(shown.index);
            self.outline.submitted_ns.push(shown.submitted.0);
            self.outline.latency_ns.push(shown.latency.0);
            self.outline.offset_bytes.push(shown.offset.0);
            self.outline.op.push(shown.op.code());
            self.outline.errno.push(shown.result.map_or_else(|errno| errno.0, |()| 0));
        }
    }

    fn finish(mut self) -> Outline {
        self.end_bucket();
        if let Some(running) = self.running {
            self.outline.running_means = Some(running.finish());
        }
        self.outline
    }
}

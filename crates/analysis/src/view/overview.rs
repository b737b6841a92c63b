use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use flashscope_block::{Bytes, Errno, Nanos, Op, Record};
use flashscope_result::{Error, Rows};

/// The number of successive IOs that an [`Overview`] summarizes together.
pub(super) const CHUNK: u64 = 256;

/// The shortest bucket that is built from whole chunks; rounding to chunks lengthens it by at most
/// a quarter.
const MIN_BUCKET: u64 = 4 * CHUNK;

/// Minimum length of a run with an overview; reading a shorter run takes less than 10 ms.
const MIN_IOS: u64 = 1 << 18;

/// The rows in a row group. A thread's part ends with a row group, so that no row group is read
/// twice.
const ROW_GROUP: u64 = 1 << 16;

/// An IO of an outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OutlinePoint {
    pub index: u64,
    pub submitted: Nanos,
    pub latency: Nanos,
    pub offset: Bytes,
    pub op: Op,
    pub result: Result<(), Errno>,
}

impl OutlinePoint {
    fn new(index: u64, record: &Record) -> OutlinePoint {
        let Record { submitted, latency, offset, op, result, .. } = *record;
        OutlinePoint { index, submitted, latency, offset, op, result }
    }
}

/// The extremes of successive IOs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Extremes {
    pub fastest: Option<OutlinePoint>,
    pub slowest: Option<OutlinePoint>,
    /// The first failed IO.
    pub failed: Option<OutlinePoint>,
    /// The longest response time of a successful IO.
    pub slowest_answered: Option<Nanos>,
    /// The sums over the successful IOs.
    pub answered: LatencySum,
}

/// The number of successful IOs, and the sum of their latencies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LatencySum {
    ios: u64,
    latency_ns: u64,
}

impl LatencySum {
    /// Adds the response time of an IO; `None` if it failed.
    #[inline]
    pub(super) fn push(&mut self, latency: Option<u64>) {
        if let Some(latency) = latency {
            self.ios += 1;
            // Damaged records may hold any value.
            self.latency_ns = self.latency_ns.saturating_add(latency);
        }
    }

    pub(super) fn join(&mut self, next: &LatencySum) {
        self.ios += next.ios;
        self.latency_ns = self.latency_ns.saturating_add(next.latency_ns);
    }

    /// Subtracts the sums over the `first` IOs.
    pub(super) fn since(&self, first: &LatencySum) -> LatencySum {
        LatencySum {
            ios: self.ios.saturating_sub(first.ios),
            latency_ns: self.latency_ns.saturating_sub(first.latency_ns),
        }
    }

    /// Returns the mean response time in ns; `None` without IOs.
    pub(super) fn mean(&self) -> Option<u64> {
        self.latency_ns.checked_div(self.ios)
    }
}

impl Extremes {
    #[inline]
    pub(super) fn push(&mut self, index: u64, record: &Record) {
        if self.fastest.is_none_or(|fastest| record.latency < fastest.latency) {
            self.fastest = Some(OutlinePoint::new(index, record));
        }
        if self.slowest.is_none_or(|slowest| record.latency > slowest.latency) {
            self.slowest = Some(OutlinePoint::new(index, record));
        }
        self.answered.push(record.result.is_ok().then_some(record.latency.0));
        match record.result {
            Ok(()) => self.slowest_answered = self.slowest_answered.max(Some(record.latency)),
            Err(_) if self.failed.is_none() => self.failed = Some(OutlinePoint::new(index, record)),
            Err(_) => {}
        }
    }

    /// Adds the extremes of the IOs after these.
    pub(super) fn join(&mut self, next: &Extremes) {
        let faster = |a: &OutlinePoint, b: &OutlinePoint| a.latency < b.latency;
        if next.fastest.is_some_and(|next| self.fastest.is_none_or(|this| faster(&next, &this))) {
            self.fastest = next.fastest;
        }
        if next.slowest.is_some_and(|next| self.slowest.is_none_or(|this| faster(&this, &next))) {
            self.slowest = next.slowest;
        }
        self.failed = self.failed.or(next.failed);
        self.slowest_answered = self.slowest_answered.max(next.slowest_answered);
        self.answered.join(&next.answered);
    }

    /// Returns the extremes of a single IO of an outline.
    pub(super) fn of(shown: OutlinePoint) -> Extremes {
        let failed = shown.result.is_err().then_some(shown);
        Extremes { fastest: Some(shown), slowest: Some(shown), failed, ..Extremes::default() }
    }

    /// Returns the IOs to show, in order and without duplicates.
    pub(super) fn shown(&self) -> impl Iterator<Item = OutlinePoint> {
        let mut shown = [self.fastest, self.slowest, self.failed];
        shown.sort_by_key(|shown| shown.map(|shown| shown.index));
        let repeated = |i: usize| i > 0 && shown[i] == shown[i - 1];
        let once: [Option<OutlinePoint>; 3] =
            std::array::from_fn(|i| shown[i].filter(|_| !repeated(i)));
        once.into_iter().flatten()
    }
}

/// A summary of a long run, which avoids reading the run again for each view. It holds the extremes
/// of every 256 IOs, in less than a byte per IO.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
    ios: u64,
    chunks: Vec<Extremes>,
}

impl Overview {
    /// Reads a run once, with up to `threads` threads.
    pub fn of(rows: &Rows, threads: usize) -> Result<Overview, Error> {
        let parts = divide(0..rows.total(), threads);
        let chunks = in_threads(parts, |part| chunks(rows, part))?.concat();
        Ok(Overview { ios: rows.total(), chunks })
    }

    /// Returns the chunks entirely within `window`, each with the position of its first IO.
    // There are no more chunks than memory can hold.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn chunks(&self, window: &Range<u64>) -> impl Iterator<Item = (u64, &Extremes)> {
        let whole = self.covered(window);
        let starts = (0..self.ios).step_by(CHUNK as usize).zip(&self.chunks);
        let before = self.chunks.len().min(whole.start.div_ceil(CHUNK) as usize);
        starts.skip(before).take_while(move |(start, _)| *start < whole.end)
    }

    /// Returns the part of `window` that whole chunks cover.
    pub(super) fn covered(&self, window: &Range<u64>) -> Range<u64> {
        let start = window.start.next_multiple_of(CHUNK).min(window.end);
        let end = if window.end == self.ios { self.ios } else { window.end / CHUNK * CHUNK };
        start..end.max(start)
    }
}

fn chunks(rows: &Rows, part: Range<u64>) -> Result<Vec<Extremes>, Error> {
    let mut chunks = Vec::new();
    let mut chunk = Extremes::default();
    let last = part.end.saturating_sub(1);
    rows.for_each_in(part, |position, record| {
        chunk.push(position, record);
        if position % CHUNK == CHUNK - 1 || position == last {
            chunks.push(std::mem::take(&mut chunk));
        }
    })?;
    Ok(chunks)
}

/// Divides a window into up to `parts` parts of similar length, each of whole row groups.
pub(super) fn divide(window: Range<u64>, parts: usize) -> Vec<Range<u64>> {
    let count = window.end.saturating_sub(window.start);
    let length = count.div_ceil(parts.max(1) as u64).next_multiple_of(ROW_GROUP).max(ROW_GROUP);
    let origin = window.start / ROW_GROUP * ROW_GROUP;
    let parts = (origin..window.end).step_by(usize::try_from(length).unwrap_or(usize::MAX));
    parts
        .map(|start| start.max(window.start)..start.saturating_add(length).min(window.end))
        .collect()
}

/// Does `work` for each part in a separate thread; returns the outcomes in the order of the parts.
pub(super) fn in_threads<T: Send>(
    parts: Vec<Range<u64>>,
    work: impl Fn(Range<u64>) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> =
            parts.into_iter().map(|part| scope.spawn(move || work(part))).collect();
        let join = |thread: thread::ScopedJoinHandle<_>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    })
}

/// Returns the next length of whole chunks for buckets of `length` IOs; `None` for short
/// buckets.
pub(super) fn whole_chunks(length: u64) -> Option<u64> {
    (length >= MIN_BUCKET).then(|| length.next_multiple_of(CHUNK))
}

/// A cache of the overviews of a result's long runs. An overview is computed on first use and takes
/// less than a byte per IO.
#[derive(Debug)]
pub struct Overviews {
    threads: usize,
    kept: Mutex<BTreeMap<u32, OverviewSlot>>,
}

/// The slot of an overview. Its lock makes other threads wait while a thread computes the overview.
type OverviewSlot = Arc<Mutex<Option<Arc<Overview>>>>;

impl Overviews {
    /// Creates an empty set, which reads runs with up to `threads` threads.
    pub fn new(threads: usize) -> Overviews {
        Overviews { threads: threads.max(1), kept: Mutex::default() }
    }

    /// Returns the number of threads that may read a run.
    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Returns the overview of a run if it exists already.
    pub(super) fn kept(&self, run: u32, rows: &Rows) -> Option<Arc<Overview>> {
        let kept = Arc::clone(self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(&run)?);
        let kept = kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        kept.filter(|overview| overview.ios == rows.total())
    }

    /// Returns the overview of a run, and computes it if necessary; `None` for a run short enough
    /// to read directly.
    pub(super) fn of(&self, run: u32, rows: &Rows) -> Result<Option<Arc<Overview>>, Error> {
        if rows.total() < MIN_IOS {
            return Ok(None);
        }
        // A thread that panicked while it held the lock has changed nothing.
        let kept = Arc::clone(
            self.kept.lock().unwrap_or_else(PoisonError::into_inner).entry(run).or_default(),
        );
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        // A run that was resumed in the meantime has more IOs.
        if kept.as_ref().is_none_or(|overview| overview.ios != rows.total()) {
            *kept = Some(Arc::new(Overview::of(rows, self.threads)?));
        }
        Ok(kept.clone())
    }
}

//! Runs experiments: the only part that touches the drive.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Device, DeviceInfo, Errno, Io, Nanos, Op, Record};
use flashscope_measure::{FailedIo, RunEnd, execute};
use flashscope_workload::Stream;

use crate::report::io_errors;
use crate::{Request, Run, Scene};
use flashscope_document::probe::{IoErrors, RunSummary};

/// The length of the writes that fill the drive, in bytes.
const FILL_SIZE: u64 = 128 << 10;

/// The pause between pairs of requests, which is longer than two reads of a flash page.
const PAIR_REST: Nanos = Nanos::millis(1);

/// Maximum length of a request of an experiment.
pub const MAX_REQUEST: Bytes = Bytes::mib(4);

/// Maximum number of requests in flight of an experiment.
pub const DEEPEST: u32 = 64;

/// The reason why an experiment ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halt {
    /// The user interrupted it.
    Interrupted,
    /// The remaining budget is too small for the next request.
    Budget,
    /// The experiment would write, but only reads are allowed.
    ReadOnly,
    /// The drive refused an IO.
    Failed {
        /// The error.
        errno: Errno,
        /// The offset of the IO.
        offset: Bytes,
    },
    /// The drive was removed, or no longer answers.
    Gone,
}

/// The budget of an investigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Bytes that may be written; 0 for a drive that must only be read.
    pub bytes: Bytes,
    /// Time that may pass on the clock of the drive.
    pub time: Nanos,
}

/// Receives each IO when it completes, and each run with a completed IO when it ends, for any
/// reason.
pub trait Keeper {
    /// Receives a completed IO of a run, with the progress of the run.
    fn io(&mut self, run: &RunInProgress<'_>, record: &Record);

    /// Receives a run that has ended.
    fn end(&mut self, run: RunSummary);
}

/// Discards everything.
impl Keeper for () {
    fn io(&mut self, _: &RunInProgress<'_>, _: &Record) {}

    fn end(&mut self, _: RunSummary) {}
}

/// The progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunInProgress<'r> {
    /// The number of the run, from 1.
    pub number: u32,
    /// The purpose of the run, in a few words.
    pub purpose: &'r str,
    /// The number of completed IOs.
    pub ios: u64,
    /// The total number of IOs, if it is known.
    pub of: Option<u64>,
}

/// The runs that filled the drive in order. Stores only the costs, because filling a large drive
/// takes millions of writes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fill {
    /// The numbers of the runs.
    pub runs: Vec<u32>,
    /// The bytes of each write.
    pub len: u64,
    /// The latency of each write, in nanoseconds.
    pub costs: Vec<f64>,
    /// The bytes that other runs wrote before the end of the fill. They may have gone to an SLC
    /// cache.
    pub before: Bytes,
}

impl Fill {
    /// Creates a fill from a run of writes in order, all of the same length; for an empty run the
    /// length is 0.
    #[must_use]
    pub fn of(run: &Run) -> Fill {
        let len = run.records.first().map_or(0, |record| record.len.0);
        Fill { runs: vec![run.number], len, costs: run.latencies(), before: Bytes(0) }
    }

    /// Returns the bytes written.
    fn written(&self) -> u64 {
        self.costs.len() as u64 * self.len
    }
}

/// Runs experiments on a drive, within a budget.
pub struct Lab<'a> {
    device: &'a mut dyn Device,
    stop: &'a AtomicBool,
    keeper: &'a mut dyn Keeper,
    budget: Budget,
    began: Nanos,
    written: Bytes,
    runs: u32,
    fill: Fill,
    costs: [MeanCost; 2],
    errors: Option<IoErrors>,
    gone: bool,
    /// The random numbers of the experiments, from the seed of the investigation.
    pub rng: fastrand::Rng,
    /// The number of earlier attempts of the running probe. Each attempt should take more samples,
    /// or use another method.
    pub attempt: u32,
}

/// The mean latency of IOs so far.
#[derive(Debug, Clone, Copy, Default)]
struct MeanCost {
    ios: u64,
    nanos: u64,
}

impl MeanCost {
    fn add(&mut self, latency: Nanos) {
        self.ios += 1;
        self.nanos += latency.0;
    }
}

impl<'a> Lab<'a> {
    /// Creates a lab around a drive. The keeper receives every IO and every run.
    pub fn new(
        device: &'a mut dyn Device,
        budget: Budget,
        seed: u64,
        stop: &'a AtomicBool,
        keeper: &'a mut dyn Keeper,
    ) -> Lab<'a> {
        let began = device.now();
        let rng = fastrand::Rng::with_seed(seed);
        let (written, costs) = (Bytes(0), Default::default());
        Lab {
            device,
            stop,
            keeper,
            budget,
            began,
            written,
            runs: 0,
            fill: Fill::default(),
            costs,
            errors: None,
            gone: false,
            rng,
            attempt: 0,
        }
    }

    /// Returns the description of the drive, known without measurement.
    pub fn info(&self) -> &DeviceInfo {
        self.device.info()
    }

    /// Returns the addressable bytes, rounded down to whole writes of a fill, if one fits.
    pub fn capacity(&self) -> u64 {
        let capacity = self.info().capacity.0;
        if capacity < FILL_SIZE { capacity } else { capacity / FILL_SIZE * FILL_SIZE }
    }

    /// Returns true if nothing may be written.
    pub fn is_read_only(&self) -> bool {
        self.budget.bytes == Bytes(0)
    }

    /// Returns the part of the budget used so far.
    pub fn used(&self) -> Budget {
        Budget { bytes: self.written, time: self.device.now().since(self.began) }
    }

    /// Returns the remaining budget.
    pub fn left(&self) -> Budget {
        let used = self.used();
        Budget {
            bytes: Bytes(self.budget.bytes.0.saturating_sub(used.bytes.0)),
            time: Nanos(self.budget.time.0.saturating_sub(used.time.0)),
        }
    }

    /// Returns the quantities from which probes calculate their costs.
    pub(crate) fn scene(&self) -> Scene {
        let mean = |cost: MeanCost, guess| match cost.ios {
            0 => Nanos(guess),
            ios => Nanos(cost.nanos / ios),
        };
        Scene {
            capacity: Bytes(self.capacity()),
            // A read-only drive is never filled, see `ensure_filled`.
            is_filled: self.fill().is_some() || self.is_read_only(),
            queue_depth: self.info().queue_depth,
            read: mean(self.costs[0], 200_000),
            write: mean(self.costs[1], 500_000),
        }
    }

    /// Returns the failed IOs, except those of operations that the drive does not support; `None`
    /// if there were none.
    pub fn errors(&self) -> Option<&IoErrors> {
        self.errors.as_ref()
    }

    /// Returns a random offset for a request of `len` bytes within `space`, at a multiple of
    /// `align` from the start of `space`.
    pub(crate) fn random_offset(&mut self, space: &Range<u64>, len: u64, align: u64) -> u64 {
        let places = (space.end - space.start).saturating_sub(len) / align + 1;
        space.start + self.rng.u64(0..places) * align
    }

    /// Runs requests one after the other.
    ///
    /// # Errors
    /// The reason why the run ended early; the keeper has received the completed IOs.
    pub fn run(
        &mut self,
        purpose: &str,
        requests: impl IntoIterator<Item = Request>,
    ) -> Result<Run, Halt> {
        self.run_at(purpose, 1, requests)
    }

    /// Runs requests with up to `depth` of them in flight, limited to the queue depth of the drive.
    ///
    /// # Errors
    /// See [`Lab::run`].
    pub(crate) fn run_at(
        &mut self,
        purpose: &str,
        depth: u32,
        requests: impl IntoIterator<Item = Request>,
    ) -> Result<Run, Halt> {
        self.kept(purpose, depth, false, requests)
    }

    /// Runs requests in pairs: submits both requests of a pair together, and the next pair
    /// [`PAIR_REST`] after the first answer. If the second answer takes longer than this pause, the
    /// requests of the next pair are submitted at different times; see [`Record::submitted`].
    ///
    /// # Errors
    /// See [`Lab::run`].
    pub(crate) fn run_in_pairs(
        &mut self,
        purpose: &str,
        requests: impl IntoIterator<Item = Request>,
    ) -> Result<Run, Halt> {
        self.kept(purpose, 2, true, requests)
    }

    /// Runs requests and returns their records.
    fn kept(
        &mut self,
        purpose: &str,
        depth: u32,
        in_pairs: bool,
        requests: impl IntoIterator<Item = Request>,
    ) -> Result<Run, Halt> {
        let mut records = Vec::new();
        let ended =
            self.execute(purpose, depth, in_pairs, requests, |record| records.push(*record))?;
        Ok(Run { number: ended.run, purpose: ended.purpose, records, took: ended.took_ns })
    }

    fn execute(
        &mut self,
        purpose: &str,
        depth: u32,
        in_pairs: bool,
        requests: impl IntoIterator<Item = Request>,
        mut each: impl FnMut(&Record),
    ) -> Result<RunSummary, Halt> {
        if self.gone {
            return Err(Halt::Gone);
        }
        let start = self.device.now();
        let requests = requests.into_iter();
        // Report a total only if the iterator has an upper bound.
        let of = requests.size_hint().1.map(|most| most as u64);
        let mut script = Script {
            requests,
            bytes_left: self.left().bytes.0,
            deadline: Nanos(self.began.0.saturating_add(self.budget.time.0)),
            read_only: self.is_read_only(),
            pair: in_pairs.then_some(Pair { first: true, due: start }),
            halt: None,
        };
        let depth = depth.min(self.device.info().queue_depth).max(1);
        let streams = std::slice::from_mut(&mut script);
        let mut run = RunInProgress { number: self.runs + 1, purpose, ios: 0, of };
        let (mut written, costs, keeper) = (Bytes(0), &mut self.costs, &mut *self.keeper);
        let Ok(ended) = execute(self.device, streams, depth, self.stop, |_, completion| {
            let record = Record::new(completion, start);
            run.ios += 1;
            if let Op::Read | Op::Write = record.op
                && record.result.is_ok()
            {
                costs[usize::from(record.op.code())].add(record.latency);
            }
            if record.op == Op::Write {
                written += record.len;
            }
            keeper.io(&run, &record);
            each(&record);
            Ok::<(), std::convert::Infallible>(())
        });
        let summary = RunSummary {
            run: run.number,
            purpose: purpose.into(),
            ios: run.ios,
            bytes_written: written,
            took_ns: self.device.now().since(start),
        };
        let halt = script.halt;
        self.conclude(summary, ended, halt)
    }

    /// Counts a run, and returns its summary or the reason why the investigation ends.
    fn conclude(
        &mut self,
        summary: RunSummary,
        ended: RunEnd,
        halt: Option<Halt>,
    ) -> Result<RunSummary, Halt> {
        // A run that ended before its first IO does not count.
        if summary.ios > 0 {
            self.runs += 1;
            self.written += summary.bytes_written;
            self.keeper.end(summary.clone());
        }
        if let RunEnd::Failed { errors, first, gone } = ended {
            self.gone = gone;
            // A drive may reject an operation that it does not support. The rejection is a result,
            // not an error.
            if !matches!(first.errno, Errno::EOPNOTSUPP | Errno::EINVAL) {
                let first = io_errors(summary.run, first);
                self.errors.get_or_insert(first).ios += errors;
            }
        }
        match (ended, halt) {
            (RunEnd::Failed { gone: true, .. }, _) => Err(Halt::Gone),
            (RunEnd::Failed { first: FailedIo { errno, offset, .. }, .. }, _) => {
                Err(Halt::Failed { errno, offset })
            }
            (RunEnd::Interrupted, _) => Err(Halt::Interrupted),
            (RunEnd::Complete, Some(halt)) => Err(halt),
            (RunEnd::Complete, None) => Ok(summary),
        }
    }

    /// Leaves the drive idle for `time`.
    pub fn idle(&mut self, time: Nanos) {
        if self.gone {
            return;
        }
        let until = self.device.now() + time;
        self.device.idle_until(until);
    }

    /// Writes the whole drive once from the first byte to the last, unless it is already filled.
    /// Later reads then find data that was written in a known order. A read-only drive is not
    /// written.
    ///
    /// # Errors
    /// See [`Lab::run`].
    pub(crate) fn ensure_filled(&mut self) -> Result<(), Halt> {
        self.fill_up_to("fill the drive in order", self.capacity())
    }

    /// Fills the first `bytes` of the drive in order, unless they are already filled.
    /// [`Lab::ensure_filled`] continues after them. Returns the latency of each write so far, in
    /// nanoseconds.
    ///
    /// # Errors
    /// See [`Lab::run`].
    pub(crate) fn begin_fill(&mut self, bytes: u64) -> Result<&[f64], Halt> {
        self.fill_up_to("begin to fill the drive in order", bytes)?;
        Ok(&self.fill.costs)
    }

    /// Continues the fill up to an address. After an error, the next fill starts from the first
    /// byte.
    fn fill_up_to(&mut self, purpose: &str, end: u64) -> Result<(), Halt> {
        let len = FILL_SIZE.min(self.capacity());
        let writes = self.fill.costs.len() as u64..end.min(self.capacity()) / len;
        if writes.is_empty() || self.is_read_only() {
            return Ok(());
        }
        let mut fill = std::mem::take(&mut self.fill);
        fill.before = Bytes(self.written.0 - fill.written());
        fill.len = len;
        let writes = writes.map(|nth| Request::write(nth * len, len));
        let cost = |record: &Record| fill.costs.push(Run::nanos(record));
        let run = self.execute(purpose, 1, false, writes, cost)?.run;
        fill.runs.push(run);
        self.fill = fill;
        Ok(())
    }

    /// Returns the fill, if the whole drive was filled in order.
    pub fn fill(&self) -> Option<&Fill> {
        let written = self.fill.written();
        (written > 0 && written >= self.capacity()).then_some(&self.fill)
    }
}

/// A stream of requests that ends when the remaining budget is too small for the next one.
struct Script<I> {
    requests: I,
    bytes_left: u64,
    deadline: Nanos,
    read_only: bool,
    pair: Option<Pair>,
    halt: Option<Halt>,
}

/// The state of a script that runs in pairs.
struct Pair {
    /// True if the next request is the first of a pair.
    first: bool,
    /// The time at which the pair is due.
    due: Nanos,
}

impl Pair {
    /// Returns the time at which the next request is due, if the previous answer came at
    /// `previous`. Both requests of a pair are due at the same time, [`PAIR_REST`] after the first
    /// answer to the previous pair.
    fn next(&mut self, previous: Nanos) -> Nanos {
        if self.first && previous > self.due {
            self.due = previous + PAIR_REST;
        }
        self.first = !self.first;
        self.due.max(previous)
    }
}

impl<I: Iterator<Item = Request>> Stream for Script<I> {
    fn next(&mut self, previous: Nanos) -> Option<Io> {
        if self.halt.is_some() {
            return None;
        }
        let request = self.requests.next()?;
        let bytes = if request.op == Op::Write { request.len } else { 0 };
        if self.read_only && request.op.modifies() {
            self.halt = Some(Halt::ReadOnly);
        } else if bytes > self.bytes_left || previous >= self.deadline {
            self.halt = Some(Halt::Budget);
        }
        if self.halt.is_some() {
            return None;
        }
        self.bytes_left -= bytes;
        let due = self.pair.as_mut().map_or(previous, |pair| pair.next(previous));
        Some(Io {
            op: request.op,
            stream: 0,
            offset: Bytes(request.offset),
            len: Bytes(request.len),
            data: request.data,
            at: due + request.after,
        })
    }
}

#[cfg(test)]
mod tests {
    use flashscope_block::NullDevice;

    use super::*;

    /// Records the IOs of each run, and the progress reports.
    #[derive(Default)]
    struct Counts {
        runs: Vec<u64>,
        progress: Vec<(u64, Option<u64>)>,
    }

    impl Keeper for Counts {
        fn io(&mut self, run: &RunInProgress<'_>, _: &Record) {
            self.progress.push((run.ios, run.of));
        }

        fn end(&mut self, run: RunSummary) {
            self.runs.push(run.ios);
        }
    }

    #[test]
    fn a_fill_reports_each_io_with_the_total() {
        let mut device = NullDevice::new(Bytes(1 << 20), 1, || Nanos(0));
        let (mut kept, stop) = (Counts::default(), AtomicBool::new(false));
        let budget = Budget { bytes: Bytes(1 << 20), time: Nanos::secs(1) };
        let mut lab = Lab::new(&mut device, budget, 0, &stop, &mut kept);
        lab.ensure_filled().unwrap();
        lab.ensure_filled().unwrap();
        let fill = lab.fill().unwrap();
        assert_eq!((fill.runs.as_slice(), fill.len, fill.costs.len()), (&[1][..], FILL_SIZE, 8));
        assert_eq!(lab.used().bytes, Bytes(1 << 20));
        assert_eq!(kept.runs, [8]);
        assert_eq!(kept.progress, (1..=8).map(|n| (n, Some(8))).collect::<Vec<_>>());
    }

    #[test]
    fn a_fill_continues_where_it_began_and_counts_other_writes() {
        let mut device = NullDevice::new(Bytes(1 << 20), 1, || Nanos(0));
        let (mut kept, stop) = (Counts::default(), AtomicBool::new(false));
        let budget = Budget { bytes: Bytes(2 << 20), time: Nanos::secs(1) };
        let mut lab = Lab::new(&mut device, budget, 0, &stop, &mut kept);
        assert_eq!(lab.begin_fill(3 * FILL_SIZE).unwrap().len(), 3);
        assert_eq!(lab.fill(), None);
        lab.run("test", [Request::write(0, 4096)]).unwrap();
        lab.ensure_filled().unwrap();
        let fill = lab.fill().unwrap();
        assert_eq!((fill.runs.as_slice(), fill.costs.len()), (&[1, 3][..], 8));
        assert_eq!(fill.before, Bytes(4096));
        assert_eq!(kept.runs, [3, 1, 5]);
    }

    fn halted(budget: Budget, requests: Vec<Request>) -> (Result<Run, Halt>, Vec<u64>, Bytes) {
        let mut device = NullDevice::new(Bytes(1 << 20), 1, || Nanos(0));
        let mut kept = Counts::default();
        let stop = AtomicBool::new(false);
        let mut lab = Lab::new(&mut device, budget, 0, &stop, &mut kept);
        let result = lab.run("test", requests);
        let written = lab.used().bytes;
        (result, kept.runs, written)
    }

    #[test]
    fn a_run_ends_before_it_exceeds_the_write_budget() {
        let budget = Budget { bytes: Bytes(10_000), time: Nanos::secs(1) };
        let writes = (0..4).map(|i| Request::write(i * 4096, 4096)).collect();
        let (result, kept, written) = halted(budget, writes);
        assert_eq!((result, kept, written), (Err(Halt::Budget), vec![2], Bytes(8192)));
    }

    #[test]
    fn pairs_are_submitted_at_once() {
        let clock = std::cell::Cell::new(0);
        let tick = || Nanos(clock.replace(clock.get() + 10_000));
        let mut device = NullDevice::new(Bytes(1 << 20), 2, tick);
        let mut nothing = ();
        let stop = AtomicBool::new(false);
        let budget = Budget { bytes: Bytes(0), time: Nanos::secs(1) };
        let mut lab = Lab::new(&mut device, budget, 0, &stop, &mut nothing);
        let reads = (0..20).map(|i| Request::read(i * 4096, 4096));
        let run = lab.run_in_pairs("test", reads).unwrap();
        let pairs: Vec<&[Record]> = run.records.chunks(2).collect();
        assert_eq!(pairs.len(), 10);
        assert!(pairs.iter().all(|pair| pair[0].submitted == pair[1].submitted));
        assert!(pairs.windows(2).all(|two| two[1][0].submitted >= two[0][1].completed()));
    }

    #[test]
    fn a_read_only_drive_is_neither_written_nor_trimmed() {
        let budget = Budget { bytes: Bytes(0), time: Nanos::secs(1) };
        for request in [Request::write(0, 4096), Request::trim(0, 4096)] {
            let (result, kept, written) = halted(budget, vec![Request::read(0, 4096), request]);
            assert_eq!((result, kept, written), (Err(Halt::ReadOnly), vec![1], Bytes(0)));
        }
    }
}

//! Where experiments are run: all that touches the drive.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use flashscope_block::{Bytes, Device, DeviceInfo, Errno, Io, Nanos, Op, Record};
use flashscope_measure::{FailedIo, RunEnd, execute};
use flashscope_workload::Stream;

use crate::{IoErrors, Request, Run, RunSummary, Scene};

/// The length of the writes that fill the drive.
const FILL_SIZE: u64 = 128 << 10;

/// What pairs of requests wait between each other: longer than two reads of a flash page take.
const PAIR_REST: Nanos = Nanos::millis(1);

/// The longest request that an experiment makes.
pub const LONGEST: Bytes = Bytes::mib(4);

/// The most requests that an experiment has in flight.
pub const DEEPEST: u32 = 64;

/// Why an experiment ended before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halt {
    /// The user asked for it.
    Interrupted,
    /// Nothing is left of the budget.
    Budget,
    /// It would have to write, which is not wanted.
    ReadOnly,
    /// The drive refused an IO.
    Failed {
        /// With what error.
        errno: Errno,
        /// Where.
        offset: Bytes,
    },
    /// The drive was removed, or does not answer any more.
    Gone,
}

/// What may be used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Bytes that may be written; 0 for a drive that must only be read.
    pub bytes: Bytes,
    /// Time that may pass on the clock of the drive.
    pub time: Nanos,
}

/// Is told of each IO when it is answered, and of each run when it ends, however it does.
pub trait Keeper {
    /// An IO of a run was answered, which is then so far.
    fn io(&mut self, run: &RunInProgress<'_>, record: &Record);

    /// A run has ended.
    fn end(&mut self, run: RunSummary);
}

/// Keeps nothing.
impl Keeper for () {
    fn io(&mut self, _: &RunInProgress<'_>, _: &Record) {}

    fn end(&mut self, _: RunSummary) {}
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunInProgress<'r> {
    /// Its number; they count from 1.
    pub number: u32,
    /// What it is for, in a few words.
    pub purpose: &'r str,
    /// IOs that were answered.
    pub ios: u64,
    /// How many there will be, where that is known.
    pub of: Option<u64>,
}

/// The run that filled the drive in order, of which only what it cost is kept: a large drive is filled with
/// millions of writes.
#[derive(Debug, Clone, PartialEq)]
pub struct Fill {
    /// The number of the run.
    pub number: u32,
    /// The bytes of each write.
    pub len: u64,
    /// What each took, in nanoseconds.
    pub costs: Vec<f64>,
}

impl Fill {
    /// A run of writes in order, all of the same length; an empty one is of length 0.
    #[must_use]
    pub fn of(run: &Run) -> Fill {
        let len = run.records.first().map_or(0, |record| record.len.0);
        Fill { number: run.number, len, costs: run.latencies() }
    }
}

/// The place where experiments are run on a drive, with a budget.
pub struct Lab<'a> {
    device: &'a mut dyn Device,
    stop: &'a AtomicBool,
    keeper: &'a mut dyn Keeper,
    budget: Budget,
    began: Nanos,
    written: Bytes,
    runs: u32,
    fill: Option<Fill>,
    costs: [MeanCost; 2],
    errors: Option<IoErrors>,
    gone: bool,
    /// Randomness of experiments, from the seed of the investigation.
    pub rng: fastrand::Rng,
    /// How often the probe that runs was tried before: each time it should take more samples, or
    /// look another way.
    pub attempt: u32,
}

/// What IOs took so far.
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
    /// A lab around a drive. The keeper is told of everything that is done to it.
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
            fill: None,
            costs,
            errors: None,
            gone: false,
            rng,
            attempt: 0,
        }
    }

    /// What is known about the drive without measuring it.
    pub fn info(&self) -> &DeviceInfo {
        self.device.info()
    }

    /// Addressable bytes, rounded down to whole units of a fill.
    pub fn capacity(&self) -> u64 {
        let capacity = self.info().capacity.0;
        if capacity < FILL_SIZE { capacity } else { capacity / FILL_SIZE * FILL_SIZE }
    }

    /// Whether nothing may be written.
    pub fn is_read_only(&self) -> bool {
        self.budget.bytes == Bytes(0)
    }

    /// What was used up so far.
    pub fn used(&self) -> Budget {
        Budget { bytes: self.written, time: self.device.now().since(self.began) }
    }

    /// What is left of the budget.
    pub fn left(&self) -> Budget {
        let used = self.used();
        Budget {
            bytes: Bytes(self.budget.bytes.0.saturating_sub(used.bytes.0)),
            time: Nanos(self.budget.time.0.saturating_sub(used.time.0)),
        }
    }

    /// What the costs of experiments are reckoned from.
    pub fn scene(&self) -> Scene {
        let mean = |cost: MeanCost, guess| match cost.ios {
            0 => Nanos(guess),
            ios => Nanos(cost.nanos / ios),
        };
        Scene {
            capacity: Bytes(self.capacity()),
            // What must only be read is not filled, see `ensure_filled`.
            is_filled: self.fill.is_some() || self.is_read_only(),
            queue_depth: self.info().queue_depth,
            read: mean(self.costs[0], 200_000),
            write: mean(self.costs[1], 500_000),
        }
    }

    /// The IOs that failed though the drive knows such IOs; `None` where there was none.
    pub fn errors(&self) -> Option<&IoErrors> {
        self.errors.as_ref()
    }

    /// Offsets of requests of `len` bytes at random places of a part of the address space, each a
    /// multiple of `align` from its start.
    pub fn random_offset(&mut self, space: &Range<u64>, len: u64, align: u64) -> u64 {
        let places = (space.end - space.start).saturating_sub(len) / align + 1;
        space.start + self.rng.u64(0..places) * align
    }

    /// Runs requests one after the other.
    ///
    /// # Errors
    /// What ended the run before its end; what was done is kept as evidence.
    pub fn run(
        &mut self,
        purpose: &str,
        requests: impl IntoIterator<Item = Request>,
    ) -> Result<Run, Halt> {
        self.run_at(purpose, 1, requests)
    }

    /// Runs requests with up to `depth` of them in flight, but not more than the drive accepts.
    ///
    /// # Errors
    /// As [`Lab::run`].
    pub fn run_at(
        &mut self,
        purpose: &str,
        depth: u32,
        requests: impl IntoIterator<Item = Request>,
    ) -> Result<Run, Halt> {
        self.kept(purpose, depth, false, requests)
    }

    /// Runs requests two by two: both at once, and the next two a while after the first was answered. Where
    /// the second took longer than that, the next two are not handed over at once: see
    /// [`Record::submitted`].
    ///
    /// # Errors
    /// As [`Lab::run`].
    pub fn run_in_pairs(
        &mut self,
        purpose: &str,
        requests: impl IntoIterator<Item = Request>,
    ) -> Result<Run, Halt> {
        self.kept(purpose, 2, true, requests)
    }

    /// Runs requests and keeps the record of each.
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
        // What is not bounded is not told, and what is ends no later.
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
        // What ended before its first IO was no run.
        if run.ios > 0 {
            self.runs += 1;
            self.written += written;
            self.keeper.end(summary.clone());
        }
        if let RunEnd::Failed { errors, first, gone } = ended {
            self.gone = gone;
            // What a drive does not know is an answer.
            if !matches!(first.errno, Errno::EOPNOTSUPP | Errno::EINVAL) {
                let first = IoErrors::new(run.number, first);
                self.errors.get_or_insert(first).ios += errors;
            }
        }
        match (ended, script.halt) {
            (RunEnd::Failed { gone: true, .. }, _) => Err(Halt::Gone),
            (RunEnd::Failed { first: FailedIo { errno, offset, .. }, .. }, _) => {
                Err(Halt::Failed { errno, offset })
            }
            (RunEnd::Interrupted, _) => Err(Halt::Interrupted),
            (RunEnd::Complete, Some(halt)) => Err(halt),
            (RunEnd::Complete, None) => Ok(summary),
        }
    }

    /// Lets the drive rest.
    pub fn rest(&mut self, time: Nanos) {
        if self.gone {
            return;
        }
        let until = self.device.now() + time;
        self.device.idle_until(until);
    }

    /// Writes the whole drive once from the first byte to the last, unless that was done before:
    /// what is read must have been written, in an order that is known. A drive that must only be
    /// read stays as it is.
    ///
    /// # Errors
    /// As [`Lab::run`].
    pub fn ensure_filled(&mut self) -> Result<(), Halt> {
        if self.fill.is_some() || self.is_read_only() {
            return Ok(());
        }
        let len = FILL_SIZE.min(self.capacity());
        let writes = (0..self.capacity() / len).map(|i| Request::write(i * len, len));
        let mut costs = Vec::new();
        let cost = |record: &Record| costs.push(Run::nanos(record));
        let number = self.execute("fill the drive in order", 1, false, writes, cost)?.run;
        self.fill = Some(Fill { number, len, costs });
        Ok(())
    }

    /// The run that filled the drive in order, where there was one.
    pub fn fill(&self) -> Option<&Fill> {
        self.fill.as_ref()
    }
}

/// Requests as a stream that ends with the budget.
struct Script<I> {
    requests: I,
    bytes_left: u64,
    deadline: Nanos,
    read_only: bool,
    pair: Option<Pair>,
    halt: Option<Halt>,
}

/// Where a script stands that goes two by two.
struct Pair {
    /// Whether the next request is the first of a pair.
    first: bool,
    /// When the pair is due.
    due: Nanos,
}

impl Pair {
    /// When the next request is due, where the one before was answered at `previous`: both of a pair
    /// are due at once, a while after the first of the pair before.
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

    /// Keeps how many IOs each run had, and how far each was.
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

    // Is each IO of the fill told when it is answered, with how many there will be, and does what it cost stay?
    #[test]
    fn fills_are_told_as_they_go() {
        let mut device = NullDevice::new(Bytes(1 << 20), 1, || Nanos(0));
        let (mut kept, stop) = (Counts::default(), AtomicBool::new(false));
        let budget = Budget { bytes: Bytes(1 << 20), time: Nanos::secs(1) };
        let mut lab = Lab::new(&mut device, budget, 0, &stop, &mut kept);
        lab.ensure_filled().unwrap();
        lab.ensure_filled().unwrap();
        let fill = lab.fill().unwrap();
        assert_eq!((fill.number, fill.len, fill.costs.len()), (1, FILL_SIZE, 8));
        assert_eq!(lab.used().bytes, Bytes(1 << 20));
        assert_eq!(kept.runs, [8]);
        assert_eq!(kept.progress, (1..=8).map(|n| (n, Some(8))).collect::<Vec<_>>());
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

    // Does a run end before it would write more than the budget allows, and keep what was done?
    #[test]
    fn budget_of_bytes() {
        let budget = Budget { bytes: Bytes(10_000), time: Nanos::secs(1) };
        let writes = (0..4).map(|i| Request::write(i * 4096, 4096)).collect();
        let (result, kept, written) = halted(budget, writes);
        assert_eq!((result, kept, written), (Err(Halt::Budget), vec![2], Bytes(8192)));
    }

    // Are the two of each pair handed over at once, and the next two after them?
    #[test]
    fn pairs_are_handed_over_at_once() {
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

    // Is nothing written, and nothing trimmed, to a drive that must only be read?
    #[test]
    fn read_only() {
        let budget = Budget { bytes: Bytes(0), time: Nanos::secs(1) };
        for request in [Request::write(0, 4096), Request::trim(0, 4096)] {
            let (result, kept, written) = halted(budget, vec![Request::read(0, 4096), request]);
            assert_eq!((result, kept, written), (Err(Halt::ReadOnly), vec![1], Bytes(0)));
        }
    }
}

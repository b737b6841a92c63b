use flashscope_block::{DeviceInfo, Errno, Flash, Nanos, Op};
use hdrhistogram::Histogram;

/// What takes longer is counted as this: 1000 s.
const LONGEST_NS: u64 = 1_000_000_000_000;

/// Times in nanoseconds, to three digits.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(LONGEST_NS, 3).expect("the bounds are in order")
}

/// What was done of one operation.
#[derive(Debug, Clone)]
pub struct OpStatistics {
    /// The operation.
    pub op: Op,
    /// Requests answered, failed ones included.
    pub requests: u64,
    /// Bytes of those that did not fail.
    pub bytes: u64,
    /// Requests that failed.
    pub errors: u64,
    /// From when a request arrived to when it was due to be answered, in nanoseconds on the clock
    /// of the drive.
    pub latency_ns: Histogram<u64>,
}

/// How much later than due requests were answered, in nanoseconds of the machine.
pub type Lateness = Histogram<u64>;

/// What an attached drive did so far, and does now.
#[derive(Debug)]
pub struct Snapshot {
    /// The drive.
    pub info: DeviceInfo,
    /// The time on the clock of the drive.
    pub now: Nanos,
    /// What was done, by operation in the order of [`Op::ALL`].
    pub ops: Vec<OpStatistics>,
    /// Requests that arrived and were not answered yet.
    pub in_flight: usize,
    /// By how much answers came late. Empty where nothing is held back.
    pub lateness_ns: Lateness,
    /// What the drive tells of its flash.
    pub flash: Option<Flash>,
}

/// Counts what goes on.
pub(crate) struct Statistics {
    ops: Vec<OpStatistics>,
}

impl Statistics {
    pub(crate) fn new() -> Statistics {
        let op =
            |op| OpStatistics { op, requests: 0, bytes: 0, errors: 0, latency_ns: histogram() };
        Statistics { ops: Op::ALL.into_iter().map(op).collect() }
    }

    /// A request of `len` bytes was answered after `took`.
    pub(crate) fn count(&mut self, op: Op, len: u64, result: Result<(), Errno>, took: Nanos) {
        let op = &mut self.ops[usize::from(op.code())];
        op.requests += 1;
        match result {
            Ok(()) => op.bytes += len,
            Err(_) => op.errors += 1,
        }
        op.latency_ns.saturating_record(took.0);
    }

    pub(crate) fn ops(&self) -> Vec<OpStatistics> {
        self.ops.clone()
    }
}

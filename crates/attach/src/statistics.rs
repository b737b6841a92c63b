use flashscope_block::{Bytes, DeviceInfo, Errno, Flash, Nanos, Op};
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
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The drive.
    pub info: DeviceInfo,
    /// The time on the clock of the drive.
    pub now: Nanos,
    /// The time on the clock of the machine, since the drive was attached.
    pub machine: Nanos,
    /// For how long requests were in flight, on the clock of the drive.
    pub busy: Nanos,
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
    in_flight: usize,
    /// Without what is in flight.
    busy: Nanos,
    /// When the first of what is in flight arrived.
    busy_since: Nanos,
}

impl Statistics {
    pub(crate) fn new() -> Statistics {
        let op =
            |op| OpStatistics { op, requests: 0, bytes: 0, errors: 0, latency_ns: histogram() };
        let ops = Op::ALL.into_iter().map(op).collect();
        Statistics { ops, in_flight: 0, busy: Nanos(0), busy_since: Nanos(0) }
    }

    /// A request arrived at `at`.
    pub(crate) fn arrived(&mut self, at: Nanos) {
        if self.in_flight == 0 {
            self.busy_since = at;
        }
        self.in_flight += 1;
    }

    /// A request of `len` bytes that arrived at `arrived` is answered at `at`.
    pub(crate) fn answered(
        &mut self,
        (op, len): (Op, Bytes),
        result: Result<(), Errno>,
        arrived: Nanos,
        at: Nanos,
    ) {
        let op = &mut self.ops[usize::from(op.code())];
        op.requests += 1;
        match result {
            Ok(()) => op.bytes += len.0,
            Err(_) => op.errors += 1,
        }
        op.latency_ns.saturating_record((at - arrived).0);
        self.in_flight -= 1;
        if self.in_flight == 0 {
            self.busy = self.busy_at(at);
        }
    }

    pub(crate) fn ops(&self) -> Vec<OpStatistics> {
        self.ops.clone()
    }

    /// Requests that arrived and were not answered yet.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// For how long requests were in flight until `now`.
    pub(crate) fn busy_until(&self, now: Nanos) -> Nanos {
        if self.in_flight == 0 { self.busy } else { self.busy_at(now) }
    }

    fn busy_at(&self, now: Nanos) -> Nanos {
        Nanos(self.busy.0 + now.0.saturating_sub(self.busy_since.0))
    }
}

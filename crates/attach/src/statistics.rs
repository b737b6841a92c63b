use flashscope_block::{Bytes, DeviceInfo, Errno, Flash, Nanos, Op};
use hdrhistogram::Histogram;

/// The maximum of the histograms in nanoseconds, 1000 s; longer times count as this maximum.
const LONGEST_NS: u64 = 1_000_000_000_000;

/// Creates a histogram of times in nanoseconds with three significant digits.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(LONGEST_NS, 3).expect("the bounds are in order")
}

/// The counters of one operation.
#[derive(Debug, Clone)]
pub struct OpStatistics {
    /// The operation.
    pub op: Op,
    /// Completed requests, including failed ones.
    pub requests: u64,
    /// The bytes of successful requests.
    pub bytes: u64,
    /// Failed requests.
    pub errors: u64,
    /// The time from the arrival of a request until its reply is due, in nanoseconds on the clock
    /// of the drive.
    pub latency_ns: Histogram<u64>,
}

/// The delay of replies past their due time, in nanoseconds on the machine's clock.
pub type Lateness = Histogram<u64>;

/// The counters and the present state of an attached drive.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The drive.
    pub info: DeviceInfo,
    /// The time on the clock of the drive.
    pub now: Nanos,
    /// The time on the clock of the machine, since the drive was attached.
    pub machine: Nanos,
    /// The time during which requests were in flight, on the clock of the drive.
    pub busy: Nanos,
    /// The counters of each operation, in the order of [`Op::ALL`].
    pub ops: Vec<OpStatistics>,
    /// Requests that wait for a reply.
    pub in_flight: usize,
    /// The delay of replies past their due time; empty if replies are not delayed.
    pub lateness_ns: Lateness,
    /// The state of the drive's flash, if the drive reports it.
    pub flash: Option<Flash>,
    /// The number of requests that each rule of a fault plan affected, by the name of the rule.
    pub faults: Vec<(String, u64)>,
}

impl Snapshot {
    /// Returns the write amplification over the life of the drive.
    pub(crate) fn write_amplification(&self) -> Option<f64> {
        let flash = self.flash?;
        ratio(flash.programmed, flash.host_written)
    }
}

/// Returns the quotient of two byte counts; `None` if the divisor is 0.
#[allow(clippy::cast_precision_loss, reason = "exact up to 2^53 bytes")]
pub(crate) fn ratio(bytes: Bytes, each: Bytes) -> Option<f64> {
    (each.0 > 0).then(|| bytes.0 as f64 / each.0 as f64)
}

/// The counters of requests.
pub(crate) struct Statistics {
    ops: Vec<OpStatistics>,
    in_flight: usize,
    /// The busy time up to the end of the previous busy period.
    busy: Nanos,
    /// The arrival time of the first request of the present busy period.
    busy_since: Nanos,
}

impl Statistics {
    pub(crate) fn new() -> Statistics {
        let op =
            |op| OpStatistics { op, requests: 0, bytes: 0, errors: 0, latency_ns: histogram() };
        let ops = Op::ALL.into_iter().map(op).collect();
        Statistics { ops, in_flight: 0, busy: Nanos(0), busy_since: Nanos(0) }
    }

    /// Counts a request that arrived at `at`.
    pub(crate) fn arrived(&mut self, at: Nanos) {
        if self.in_flight == 0 {
            self.busy_since = at;
        }
        self.in_flight += 1;
    }

    /// Counts the completion at `at` of a request of `len` bytes that arrived at `arrived`.
    pub(crate) fn completed(
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

    /// Returns the number of requests that wait for a reply.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Returns the time until `now` during which requests were in flight.
    pub(crate) fn busy_until(&self, now: Nanos) -> Nanos {
        if self.in_flight == 0 { self.busy } else { self.busy_at(now) }
    }

    fn busy_at(&self, now: Nanos) -> Nanos {
        Nanos(self.busy.0 + now.0.saturating_sub(self.busy_since.0))
    }
}

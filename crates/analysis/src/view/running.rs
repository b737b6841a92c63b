use flashscope_result::{Error, Rows};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::overview::LatencySum;

/// Maximum number of points of a running mean. A smooth curve needs no more.
const POINTS: u64 = 128;

/// The running mean of a run's response time: at some of its IOs, the mean of all IOs so far.
///
/// The lists are columns of one table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunningMeans {
    /// The position in the run of each of these IOs, from 0.
    pub index: Vec<u64>,
    /// The mean of the IOs up to that position, in ns; `null` while all have failed.
    pub all_ns: Vec<Option<u64>>,
    /// The mean without the IOs ignored as start-up, in ns; `null` while there are no other IOs.
    pub after_start_up_ns: Vec<Option<u64>>,
}

/// Computes the running means of a whole run, one IO after the other.
pub(super) struct RunningMeanBuilder {
    means: RunningMeans,
    total: u64,
    /// The number of IOs between points; the last point is after all IOs.
    every: u64,
    /// The number of IOs at the next point.
    next: u64,
    /// The number of IOs ignored as start-up.
    ignored: u64,
    /// The sums over the start-up, once it is complete.
    start_up: LatencySum,
    seen: u64,
    so_far: LatencySum,
}

impl RunningMeanBuilder {
    /// Starts for a run whose statistics ignore the first `ignored` IOs. Points come after
    /// multiples of `step` IOs, and at the end of the run. With an overview, a start-up may end
    /// within a chunk, so this function reads the start-up from the rows.
    pub(super) fn of(
        rows: &Rows,
        ignored: u64,
        step: u64,
        overview: bool,
    ) -> Result<RunningMeanBuilder, Error> {
        let mut start_up = LatencySum::default();
        if overview {
            rows.for_each_latency(0..ignored, |latency| start_up.push(latency))?;
        }
        let total = rows.total();
        let every = total.div_ceil(POINTS).next_multiple_of(step).max(step);
        Ok(RunningMeanBuilder {
            means: RunningMeans::default(),
            total,
            every,
            next: every.min(total),
            ignored,
            start_up,
            seen: 0,
            so_far: LatencySum::default(),
        })
    }

    /// Adds an IO; `latency` is `None` if it failed.
    #[inline]
    pub(super) fn push(&mut self, latency: Option<u64>) {
        self.so_far.push(latency);
        self.seen += 1;
        if self.seen == self.ignored {
            self.start_up = self.so_far;
        }
        self.tell_if_due();
    }

    /// Adds a chunk of `ios` IOs.
    pub(crate) fn push_chunk(&mut self, ios: u64, answered: &LatencySum) {
        self.so_far.join(answered);
        self.seen += ios;
        self.tell_if_due();
    }

    #[inline]
    fn tell_if_due(&mut self) {
        if self.seen == self.next {
            self.next = (self.seen + self.every).min(self.total);
            let after = || self.so_far.since(&self.start_up).mean();
            self.means.index.push(self.seen - 1);
            self.means.all_ns.push(self.so_far.mean());
            self.means.after_start_up_ns.push((self.seen > self.ignored).then(after).flatten());
        }
    }

    pub(super) fn finish(self) -> RunningMeans {
        self.means
    }
}

use flashscope_result::{Error, Rows};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::overview::Answered;

/// How many points the means of a run are told at, at most: they are smooth.
const POINTS: u64 = 128;

/// How the mean response time of a run settles: at some of its IOs, the mean of all up to there.
///
/// The lists are columns of one table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunningMeans {
    /// The position of each of these IOs in the run, from 0.
    pub index: Vec<u64>,
    /// The mean of the IOs up to it, in ns; `null` as long as all have failed.
    pub all_ns: Vec<Option<u64>>,
    /// The mean of those of them that are not left out as start-up; `null` as long as there is none.
    pub after_start_up_ns: Vec<Option<u64>>,
}

/// Finds the running means of a whole run as its IOs come along.
pub(super) struct Running {
    means: RunningMeans,
    total: u64,
    /// The mean is told after every so many IOs, and after all.
    every: u64,
    /// After how many it is told next.
    next: u64,
    /// How many of the first IOs are left out as start-up.
    ignored: u64,
    /// Those of them that were answered, once they were all seen.
    start_up: Answered,
    seen: u64,
    so_far: Answered,
}

impl Running {
    /// For a run whose first `ignored` IOs are left out of its statistics; means are told after
    /// multiples of `step` IOs, and after all. Where the IOs come in the chunks of an `overview`,
    /// within which a start-up may end, it is read here.
    pub fn of(rows: &Rows, ignored: u64, step: u64, overview: bool) -> Result<Running, Error> {
        let mut start_up = Answered::default();
        if overview {
            rows.for_each_latency(0..ignored, |latency| start_up.push(latency))?;
        }
        let total = rows.total();
        let every = total.div_ceil(POINTS).next_multiple_of(step).max(step);
        Ok(Running {
            means: RunningMeans::default(),
            total,
            every,
            next: every.min(total),
            ignored,
            start_up,
            seen: 0,
            so_far: Answered::default(),
        })
    }

    /// Adds an IO, with its response time if it did not fail.
    #[inline]
    pub fn push(&mut self, latency: Option<u64>) {
        self.so_far.push(latency);
        self.seen += 1;
        if self.seen == self.ignored {
            self.start_up = self.so_far;
        }
        self.tell_if_due();
    }

    /// Adds a chunk of `ios` IOs.
    pub fn push_chunk(&mut self, ios: u64, answered: &Answered) {
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

    pub fn finish(self) -> RunningMeans {
        self.means
    }
}

//! Decides when a run is long enough.

use flashscope_block::{Bytes, Completion, Flash, Nanos};
use flashscope_document::methodology::{EndedBy, Length, Methodology, Precision};
use flashscope_stats::{Rule, Statistic};

use crate::level::{LevelDetector, LevelOutcome};

/// The limits of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Time since the start of the run.
    pub time: Nanos,
    /// Bytes written.
    pub bytes: Bytes,
}

impl Limits {
    /// Returns the limits of one run, within `left`, the remaining limits of the plan.
    pub(crate) fn of(methodology: &Methodology, left: Limits) -> Limits {
        Limits {
            time: methodology.most_run_time_ns.map_or(left.time, |most| most.min(left.time)),
            bytes: methodology.most_run_bytes.map_or(left.bytes, |most| most.min(left.bytes)),
        }
    }
}

/// The quantity that decides when a run ends.
pub(crate) enum Aim {
    /// No quantity: the length of the run is given.
    Given,
    /// A statistic of the response times.
    Statistic(flashscope_stats::Length),
    /// The cost of a byte once the drive has settled.
    Level(Box<LevelDetector>),
}

impl Aim {
    /// Returns the aim to estimate a statistic with the `wanted` precision, from at least `least`
    /// IOs of a run with a period of `period` IOs. Without a precision, returns [`Aim::Given`].
    pub(crate) fn statistic(wanted: Option<Precision>, period: u64, least: u64) -> Aim {
        wanted.map_or(Aim::Given, |wanted| {
            Aim::Statistic(flashscope_stats::Length::new(rule(wanted, period, least)))
        })
    }
}

/// Watches a run and decides when it has reached its aim or its limits.
pub(crate) struct Watch {
    /// IOs at the start that do not count.
    ignored: u64,
    seen: u64,
    period: u64,
    aim: Aim,
    limits: Limits,
    start: Nanos,
    written: Bytes,
    ended_by: Option<EndedBy>,
    /// True if the target space holds fewer IOs than were planned.
    pub is_cut: bool,
}

impl Watch {
    /// Watches a run that begins at `start`, ignores `ignored` IOs and oscillates with a period of
    /// `period` IOs.
    pub(crate) fn new(
        aim: Aim,
        limits: Limits,
        (ignored, period): (u64, u64),
        start: Nanos,
    ) -> Watch {
        Watch {
            ignored,
            seen: 0,
            period,
            aim,
            limits,
            start,
            written: Bytes(0),
            ended_by: None,
            is_cut: false,
        }
    }

    /// Counts a completed IO and returns true if the run is over. `flash` returns the drive's flash
    /// counters at that moment.
    pub(crate) fn take(
        &mut self,
        completion: &Completion,
        flash: impl FnOnce() -> Option<Flash>,
    ) -> bool {
        self.seen += 1;
        if completion.io.op.modifies() {
            self.written += completion.io.len;
        }
        if self.ended_by.is_some() {
            return true;
        }
        let counts = self.seen > self.ignored && completion.result.is_ok();
        #[allow(clippy::cast_precision_loss)] // far below 2^53 ns
        let latency = completion.latency().0 as f64;
        self.ended_by = match &mut self.aim {
            Aim::Statistic(length) => {
                let known = counts && length.push(latency);
                known.then_some(EndedBy::Precision)
            }
            Aim::Level(level) => level.take(completion, flash),
            Aim::Given => None,
        };
        if self.ended_by.is_some() {
            return true;
        }
        if completion.completed.since(self.start) >= self.limits.time {
            self.ended_by = Some(EndedBy::Time);
        } else if self.written >= self.limits.bytes {
            self.ended_by = Some(EndedBy::Bytes);
        }
        self.ended_by.is_some()
    }

    /// Returns the level that the drive reached, for a run that waits for one. `flash` holds the
    /// drive's flash counters at the end of the run.
    pub(crate) fn level(&self, flash: Option<Flash>) -> Option<LevelOutcome> {
        match &self.aim {
            Aim::Level(level) => Some(level.outcome(flash)),
            Aim::Given | Aim::Statistic(_) => None,
        }
    }

    /// Returns the bytes written.
    pub(crate) fn written(&self) -> Bytes {
        self.written
    }

    /// Returns the condition that ended the run, and its precision; `None` for a run of given
    /// length that was not cut short.
    pub(crate) fn length(&self) -> Option<Length> {
        let limited = !matches!(self.aim, Aim::Given) || self.ended_by.is_some() || self.is_cut;
        let last = if self.is_cut { EndedBy::Space } else { EndedBy::Ios };
        let interval = match &self.aim {
            Aim::Given => None,
            Aim::Statistic(length) => length.interval(),
            Aim::Level(level) => level.interval(),
        };
        limited.then(|| Length {
            ended_by: self.ended_by.unwrap_or(last),
            relative_precision: interval
                .map(|interval| interval.relative_precision())
                .filter(|precision| precision.is_finite()),
            period_ios: self.period,
        })
    }
}

fn rule(wanted: Precision, period: u64, least: u64) -> Rule {
    let least_periods = u64::from(wanted.least_periods).max(least.div_ceil(period.max(1)));
    Rule {
        statistic: wanted.quantile.map_or(Statistic::Mean, Statistic::Quantile),
        precision: wanted.relative,
        confidence: wanted.confidence,
        period: usize::try_from(period).unwrap_or(usize::MAX),
        least_periods: usize::try_from(least_periods).unwrap_or(usize::MAX),
    }
}

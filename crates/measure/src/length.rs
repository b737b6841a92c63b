//! When a run is long enough.

use flashscope_block::{Bytes, Completion, Nanos};
use flashscope_result::methodology::{EndedBy, Length, Methodology, Precision};
use flashscope_stats::{Rule, Statistic};

/// What a run may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Time from its start on.
    pub time: Nanos,
    /// Bytes written.
    pub bytes: Bytes,
}

impl Limits {
    /// Those of each run, within what is left for all.
    pub(crate) fn of(methodology: &Methodology, left: Limits) -> Limits {
        Limits {
            time: methodology.most_run_time_ns.map_or(left.time, |most| most.min(left.time)),
            bytes: methodology.most_run_bytes.map_or(left.bytes, |most| most.min(left.bytes)),
        }
    }
}

/// Watches a run: whether it knows what it is to know, or has taken what it may take.
pub(crate) struct Watch {
    /// IOs at the start that do not count.
    ignored: u64,
    seen: u64,
    period: u64,
    precise: Option<flashscope_stats::Length>,
    limits: Limits,
    start: Nanos,
    written: Bytes,
    ended_by: Option<EndedBy>,
}

impl Watch {
    /// For a run that begins at `start`, leaves out `ignored` IOs and oscillates with `period` IOs.
    pub(crate) fn new(
        precision: Option<Precision>,
        limits: Limits,
        (ignored, period): (u64, u64),
        start: Nanos,
    ) -> Watch {
        Watch {
            ignored,
            seen: 0,
            period,
            precise: precision.map(|wanted| flashscope_stats::Length::new(rule(wanted, period))),
            limits,
            start,
            written: Bytes(0),
            ended_by: None,
        }
    }

    /// Takes an IO that was answered; whether the run is over.
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn take(&mut self, completion: &Completion) -> bool {
        self.seen += 1;
        if completion.io.op.modifies() {
            self.written += completion.io.len;
        }
        if self.ended_by.is_some() {
            return true;
        }
        let counts = self.seen > self.ignored && completion.result.is_ok();
        let latency = (completion.completed - completion.submitted).0 as f64;
        if counts && self.precise.as_mut().is_some_and(|length| length.push(latency)) {
            self.ended_by = Some(EndedBy::Precision);
        } else if completion.completed - self.start >= self.limits.time {
            self.ended_by = Some(EndedBy::Time);
        } else if self.written >= self.limits.bytes {
            self.ended_by = Some(EndedBy::Bytes);
        }
        self.ended_by.is_some()
    }

    /// Bytes written.
    pub(crate) fn written(&self) -> Bytes {
        self.written
    }

    /// How the run came to its length; `None` where that was given and kept.
    pub(crate) fn length(&self) -> Option<Length> {
        let limited = self.precise.is_some() || self.ended_by.is_some();
        let interval = self.precise.as_ref().and_then(flashscope_stats::Length::interval);
        limited.then(|| Length {
            ended_by: self.ended_by.unwrap_or(EndedBy::Ios),
            relative_precision: interval
                .map(|interval| interval.relative_precision())
                .filter(|precision| precision.is_finite()),
            period_ios: self.period,
        })
    }
}

fn rule(wanted: Precision, period: u64) -> Rule {
    Rule {
        statistic: wanted.quantile.map_or(Statistic::Mean, Statistic::Quantile),
        precision: wanted.relative,
        confidence: wanted.confidence,
        period: usize::try_from(period).unwrap_or(usize::MAX),
        least_periods: wanted.least_periods as usize,
    }
}

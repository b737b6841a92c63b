//! Tests that repeat the same runs in rounds until the drive is in steady state, as the Solid State
//! Storage Performance Test Specification (SNIA SSS PTS 2.0) requires.

use flashscope_block::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The rule of a test in rounds. The micro-benchmark of the test has an experiment for each run of
/// a round. The parameter of the experiment is the number of the round, from 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rounds {
    /// The micro-benchmark that runs in rounds, such as `pts-iops`.
    pub test: String,
    /// The experiments that must all be steady.
    pub tracked: Vec<String>,
    /// The metric that must be steady.
    pub metric: Metric,
    /// The number of rounds in the measurement window.
    pub window: u32,
    /// The maximum range of the values in the window, relative to their mean.
    #[schemars(range(min = 0.0))]
    pub range: f64,
    /// The maximum rise or fall of the fitted line over the window, relative to the mean of the
    /// values.
    #[schemars(range(min = 0.0))]
    pub slope: f64,
    /// True if the test ends as soon as the drive is steady.
    pub until_steady: bool,
    /// The number of written bytes after which the test ends, at the end of the current round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_bytes: Option<Bytes>,
    /// The duration of each run of a round.
    pub round_ns: Nanos,
    /// The duration that the specification requires.
    pub specified_round_ns: Nanos,
}

/// The metric of a run that must be steady.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// IOs per second.
    Iops,
    /// Bytes per second.
    Throughput,
    /// The mean response time in ns.
    Latency,
}

/// The totals over the successful IOs of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// The number of the run.
    pub run: u32,
    /// The number of IOs.
    pub ios: u64,
    /// The bytes of these IOs.
    pub bytes: Bytes,
    /// The time from the first submission to the last completion.
    pub duration_ns: Nanos,
    /// The sum of the response times of these IOs.
    pub latency_ns: Nanos,
}

/// The minimum number of IOs for a meaningful result of a run.
const MIN_IOS: u64 = 30;

impl Totals {
    /// Returns the value of a metric; `None` for fewer than 30 IOs, or if no time passed.
    #[allow(clippy::cast_precision_loss)]
    pub fn value(&self, metric: Metric) -> Option<f64> {
        if self.ios < MIN_IOS || self.duration_ns == Nanos(0) {
            return None;
        }
        let seconds = self.duration_ns.as_secs_f64();
        Some(match metric {
            Metric::Iops => self.ios as f64 / seconds,
            Metric::Throughput => self.bytes.0 as f64 / seconds,
            Metric::Latency => self.latency_ns.0 as f64 / self.ios as f64,
        })
    }
}

impl Rounds {
    /// Returns the values of the measurement window that ends with `round`, given the values of
    /// rounds 1, 2, …; `None` if one is missing.
    pub fn window_of(&self, values: &[Option<f64>], round: u32) -> Option<Vec<f64>> {
        let first = round.checked_sub(self.window)?;
        let [first, end] = [first, round].map(|round| usize::try_from(round).unwrap_or(usize::MAX));
        values.get(first..end)?.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_fewer_than_30_ios_tells_nothing() {
        let duration_ns = Nanos::secs(1);
        let of = |ios| Totals { ios, duration_ns, ..Totals::default() }.value(Metric::Iops);
        assert_eq!((of(0), of(29), of(30)), (None, None, Some(30.0)));
    }
}

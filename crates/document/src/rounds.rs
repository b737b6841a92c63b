//! Tests that repeat the same runs round after round until the drive is in its steady state, as the
//! Solid State Storage Performance Test Specification (SNIA SSS PTS 2.0) asks for.

use flashscope_block::{Bytes, Nanos};
use flashscope_workload::pattern::Reference;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Manifest;
use crate::manifest::{MicroBenchmark, Progress};

/// The rule of a test in rounds. Its micro-benchmark has an experiment for each run of a round; the
/// value of the parameter is the round, from 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rounds {
    /// The micro-benchmark that is run in rounds, such as `pts-iops`.
    pub test: String,
    /// The experiments that have to be steady, all of them.
    pub tracked: Vec<String>,
    /// What of them.
    pub metric: Metric,
    /// How many rounds are looked at together: the measurement window.
    pub window: u32,
    /// How far the largest value in the window may be from the smallest, relative to their mean.
    #[schemars(range(min = 0.0))]
    pub range: f64,
    /// How far the line fitted to the values may rise or fall over the window, relative to their
    /// mean.
    #[schemars(range(min = 0.0))]
    pub slope: f64,
    /// Whether the test ends as soon as the drive is steady.
    pub until_steady: bool,
    /// The test ends after the round in which so many bytes are written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_bytes: Option<Bytes>,
    /// How long each run of a round is.
    pub round_ns: Nanos,
    /// How long it is by the specification.
    pub specified_round_ns: Nanos,
}

/// What of a run has to be steady.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// IOs a second.
    Iops,
    /// Bytes a second.
    Throughput,
    /// The mean response time in ns.
    Latency,
}

/// What the IOs of a run come to that were answered without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// The number of the run.
    pub run: u32,
    /// How many there are.
    pub ios: u64,
    /// Their bytes.
    pub bytes: Bytes,
    /// From the first submission to the last completion.
    pub duration_ns: Nanos,
    /// The sum of their response times.
    pub latency_ns: Nanos,
}

/// With fewer IOs, what a run comes to says nothing about how steady a drive is.
const LEAST_IOS: u64 = 30;

impl Totals {
    /// The value of a metric; `None` where there are fewer IOs than 30 to tell it.
    #[allow(clippy::cast_precision_loss)]
    pub fn value(&self, metric: Metric) -> Option<f64> {
        if self.ios < LEAST_IOS || self.duration_ns == Nanos(0) {
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
    /// Of values in rounds 1, 2, … those of the measurement window that ends with `round`; `None`
    /// where one is missing.
    pub fn window_of(&self, values: &[Option<f64>], round: u32) -> Option<Vec<f64>> {
        let first = round.checked_sub(self.window)?;
        let [first, end] = [first, round].map(|round| usize::try_from(round).unwrap_or(usize::MAX));
        values.get(first..end)?.iter().copied().collect()
    }
}

impl Manifest {
    /// The micro-benchmark that is run in rounds, and its rule.
    pub fn rounds(&self) -> Option<(&Rounds, &MicroBenchmark)> {
        let rule = self.options.rounds.as_ref()?;
        Some((rule, self.micro_benchmarks.iter().find(|test| test.name == rule.test)?))
    }

    /// The values of a tracked experiment in rounds 1, 2, … up to the last that has one; `None` for
    /// those that were not run to their end.
    pub fn tracked_values(&self, experiment: &str) -> Vec<Option<f64>> {
        let Some((rule, test)) = self.rounds() else { return vec![] };
        let runs = test.experiments.iter().filter(|e| e.name == experiment).flat_map(|e| &e.runs);
        let totals = |id: u32| self.findings.rounds.iter().find(|totals| totals.run == id);
        let mut values: Vec<_> = runs.map(|run| totals(run.id)?.value(rule.metric)).collect();
        let measured = values.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        values.truncate(measured);
        values
    }

    /// Bytes that the rounds before `round` have written, by the shares of their runs.
    pub fn written_before(&self, round: i64) -> Bytes {
        let runs = self.rounds().into_iter().flat_map(|(_, test)| &test.experiments);
        let before = runs.flat_map(|e| &e.runs).filter(|run| run.value < round);
        let written = before.map(|run| match (&run.reference, &run.progress) {
            (Reference::Blend { pattern, reads_percent, .. }, Progress::Done { ios }) => {
                ios * u64::from(100 - reads_percent.min(&100)) / 100 * pattern.io_size.0
            }
            _ => 0,
        });
        Bytes(written.sum())
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

use super::{Baseline, Experiment, MicroBenchmark, Setup, Unit};
use super::{powers_of_two, unsigned, vary};
use crate::pattern::Timing;

/// Measures how much deferred work accumulates in a burst.
///
/// Table 1: Burst in [2⁰, …, 2⁶] × 10, with a fixed pause, "e.g., 100 ms".
pub(crate) const BURSTS: MicroBenchmark = MicroBenchmark {
    name: "bursts",
    title: "Bursts",
    question: "How does deferred work accumulate in a burst?",
    source: "uFLIP section 3.2 (9) and Table 1",
    parameter: "Burst",
    unit: Unit::Count,
    experiments,
};

fn experiments(setup: &Setup) -> Vec<Experiment> {
    let experiment = |baseline| {
        vary(setup, baseline, powers_of_two(6).map(|n| n * 10), |pattern, burst| {
            pattern.timing = Timing::Burst { pause: setup.burst_pause, burst: unsigned(burst) };
        })
    };
    Baseline::ALL.into_iter().map(experiment).collect()
}

use flashscope_block::Nanos;

use super::{Baseline, Experiment, MicroBenchmark, Setup, Unit};
use super::{powers_of_two, unsigned, vary};
use crate::pattern::Timing;

/// Measures whether the drive uses idle time between IOs for background work.
///
/// Table 1: Pause in [2⁰, …, 2⁸] × 0.1 ms.
pub(super) const PAUSE: MicroBenchmark = MicroBenchmark {
    name: "pause",
    title: "Pause",
    question: "Does the drive profit from idle time between IOs?",
    source: "uFLIP section 3.2 (8) and Table 1",
    parameter: "Pause",
    unit: Unit::Nanoseconds,
    experiments,
};

fn experiments(setup: &Setup) -> Vec<Experiment> {
    let experiment = |baseline| {
        vary(setup, baseline, powers_of_two(8).map(|n| n * 100_000), |pattern, pause| {
            pattern.timing = Timing::Pause { pause: Nanos(unsigned(pause)) };
        })
    };
    Baseline::ALL.into_iter().map(experiment).collect()
}

use flashscope_block::Bytes;

use super::{Address, Baseline, Experiment, MicroBenchmark, Setup, Unit};
use super::{powers_of_two, signed, unsigned, vary};

/// Measures whether IOs cost less when they stay in a small area.
///
/// Table 1: TargetSize in [2⁰, …, 2¹⁶] × IOSize for random patterns, [2⁰, …, 2⁸] × IOSize for
/// sequential patterns, which start over at the end of the target space.
pub(super) const LOCALITY: MicroBenchmark = MicroBenchmark {
    name: "locality",
    title: "Locality",
    question: "What do IOs cost within a small area?",
    source: "uFLIP section 3.2 (3) and Table 1",
    parameter: "TargetSize",
    unit: Unit::Bytes,
    experiments,
};

fn experiments(setup: &Setup) -> Vec<Experiment> {
    let experiment = |baseline| {
        let random = setup.baseline(baseline).address == Address::Random;
        let sizes = powers_of_two(if random { 16 } else { 8 }).map(|n| n * signed(setup.io_size.0));
        vary(setup, baseline, sizes, |pattern, size| pattern.target_size = Bytes(unsigned(size)))
    };
    Baseline::ALL.into_iter().map(experiment).collect()
}

use flashscope_block::Bytes;

use super::{Address, Baseline, Experiment, MicroBenchmark, Setup, Unit};
use super::{powers_of_two, unsigned, vary};

/// Measures the fixed cost per IO, and the most efficient IO size.
///
/// Table 1: IOSize in [2⁰, …, 2⁹] × 512 B "plus some non-powers of 2", which it does not name. This
/// code adds 12, 24, 48, 96 and 192 KiB, about halfway between powers of 2 on a log axis, in the
/// range of flash pages and blocks.
pub(crate) const GRANULARITY: MicroBenchmark = MicroBenchmark {
    name: "granularity",
    title: "Granularity",
    question: "What does an IO cost, and which size is most efficient?",
    source: "uFLIP section 3.2 (1) and Table 1",
    parameter: "IOSize",
    unit: Unit::Bytes,
    experiments,
};

fn experiments(setup: &Setup) -> Vec<Experiment> {
    let sectors = powers_of_two(9).chain([3, 6, 12, 24, 48].map(|n| n * 8));
    let mut sizes: Vec<i64> = sectors.map(|sectors| sectors * 512).collect();
    sizes.sort_unstable();
    let experiment = |baseline| {
        vary(setup, baseline, sizes.iter().copied(), |pattern, size| {
            pattern.io_size = Bytes(unsigned(size));
            if pattern.address == Address::Sequential {
                pattern.target_size = setup.span(pattern.io_count, pattern.io_size);
            }
        })
    };
    Baseline::ALL.into_iter().map(experiment).collect()
}
